//! Evidence from one of several clients, for the validity rules.

use super::evidence::Window;

/// Measurements of one of several clients, and facts about it.
#[derive(Clone, Debug, Default)]
pub struct ClientSeen {
    /// Name of the client with the name of its machine, such as `client2 (db7)`.
    pub name: String,
    /// True if the client runs on the same machine as cassay itself.
    pub is_here: bool,
    /// Measurements of this client in the window, without latencies.
    pub window: Window,
    /// Number of cores of the client's workers.
    pub cores: f64,
    /// Throughput ceiling of the client on a separate null target, in op/s. The list contains one
    /// value for each measurement.
    pub ceilings_ops_per_s: Vec<f64>,
    /// Delay with which the client learned of the start line, in seconds.
    pub late_s: f64,
    /// Largest uncertainty of the client's clock, in seconds.
    pub clock_bound_s: f64,
    /// Steps of the clock with which the client measures. A step means that the clock was set or
    /// stopped.
    pub clock_breaks: Vec<ClockStep>,
    /// Steps of the client's wall clock. A step means that the clock was set or stopped.
    pub clock_set: Vec<ClockStep>,
    /// Time for which a quota denied CPU time to the client, in seconds. `None` if the kernel does
    /// not measure this time.
    pub throttled_s: Option<f64>,
    /// Sentence on how and when the client was lost. `None` if the client ran to the end.
    pub lost: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockStep {
    /// Time of the step, in seconds since the trial's start line.
    pub at_s: f64,
    /// Size of the step, in seconds.
    pub by_s: f64,
}
