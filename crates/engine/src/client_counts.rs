//! Adds up the counts of each of several clients over the measured window.

use analysis::rules::Window;
use fleet::{ClientEnd, ClientSecond};
use measure::{Histogram, Interval, IntervalConsumer, KindInterval, SummedInterval};

/// Counts of the clients of a trial during the measurement.
#[derive(Debug, Default)]
pub struct FleetCounts {
    /// True while the clients offer the measured load.
    pub is_main: bool,
    /// Counts of each client, in the order of the fleet.
    pub each: Vec<ClientCounts>,
}

#[derive(Debug, Default)]
pub struct ClientCounts {
    /// Counts of this client in the measured window, without latencies.
    pub window: Window,
    /// Release lag of this client in the window.
    pub lag: Histogram,
    /// Facts about the client, which are complete when the load has ended.
    pub end: ClientEnd,
}

impl ClientCounts {
    /// Adds the counts of one second of the measured load, without latencies. The rules judge
    /// latencies only for trials with a single client.
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
