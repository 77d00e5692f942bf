//! What each client of several saw of the measured window, summed up.

use analysis::rules::Window;
use fleet::{ClientEnd, ClientSecond};
use measure::{Histogram, Interval, KindInterval, Summed};

/// The clients of a trial, while it is measured.
#[derive(Debug, Default)]
pub struct ClientTallies {
    /// Of the load that goes on: whether it is the one that is measured.
    pub is_main: bool,
    /// By their places in the fleet.
    pub each: Vec<ClientTally>,
}

/// One of them.
#[derive(Debug, Default)]
pub struct ClientTally {
    /// Its own part of the measured window, without latencies.
    pub window: Window,
    /// Its release lag in it.
    pub lag: Histogram,
    /// What is known of it, and at the end what it came to.
    pub end: ClientEnd,
}

impl ClientTally {
    /// Adds a second of the load that is measured. Its operations have no latencies here: what the
    /// rules ask of one client is its time.
    pub fn push(&mut self, second: ClientSecond, window_from_ns: u64) {
        let kind = KindInterval {
            outcomes: second.outcomes,
            ..KindInterval::default()
        };
        let interval = Interval {
            index: second.index,
            start_ns: second.start_ns,
            end_ns: second.end_ns,
            window_from_ns,
            draining: second.draining,
            kinds: vec![kind],
            client: second.figures,
        };
        if interval.is_measured() {
            self.lag.add(&interval.client.lag);
        }
        self.window.push(&Summed::new(interval.into()));
    }
}
