//! Adds up the part of the measured window that each of several clients performed.

use analysis::rules::Window;
use fleet::{ClientEnd, ClientSecond};
use measure::{Histogram, Interval, IntervalConsumer, KindInterval, SummedInterval};

/// Clients of a trial during the measurement.
#[derive(Debug, Default)]
pub struct ClientTallies {
    /// True while the measured load is offered.
    pub is_main: bool,
    /// Tallies, by the client's place in the fleet.
    pub each: Vec<ClientTally>,
}

/// Tally of one client.
#[derive(Debug, Default)]
pub struct ClientTally {
    /// Counts of this client in the measured window, without latencies.
    pub window: Window,
    /// Release lag of this client in the window.
    pub lag: Histogram,
    /// Facts about the client, which the end of the load completes.
    pub end: ClientEnd,
}

impl ClientTally {
    /// Adds a second of the measured load, without latencies: the rules judge only the latencies of
    /// a single client.
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
        self.window.push(&SummedInterval::new(interval.into()));
    }
}
