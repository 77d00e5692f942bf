//! Evidence for the rules about one client of several.

use super::evidence::Window;

/// Measurements and facts of one client of several.
#[derive(Clone, Debug, Default)]
pub struct ClientSeen {
    /// Name of the client and its machine, such as `client2 (db7)`.
    pub name: String,
    /// True if the client runs on this machine.
    pub is_here: bool,
    /// The client's own part of the window, without latencies.
    pub window: Window,
    /// Number of cores of the client's workers.
    pub cores: f64,
    /// Ceiling of the client on a separate null target, op/s, one value for each measurement.
    pub ceilings_ops_per_s: Vec<f64>,
    /// Delay with which the client learned of the start line, s.
    pub late_s: f64,
    /// Largest uncertainty of the client's clock, s.
    pub clock_bound_s: f64,
    /// Steps of the client's measuring clock, which was set or stood still.
    pub clock_breaks: Vec<ClockStep>,
    /// Steps of the client's wall clock, which was set or stood still.
    pub clock_set: Vec<ClockStep>,
    /// Time for which a quota denied CPU time to the client, s. `None` if the kernel does not count
    /// it.
    pub throttled_s: Option<f64>,
    /// Sentence on how and when the client was lost. `None` if it was there to the end.
    pub lost: Option<String>,
}

/// A step of a clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockStep {
    /// Time of the step, s since the trial's start line.
    pub at_s: f64,
    /// Size of the step, s.
    pub by_s: f64,
}
