//! Evidence on one client of several, for the rules.

use super::evidence::Window;

/// Measurements and facts of one client of several.
#[derive(Clone, Debug, Default)]
pub struct ClientSeen {
    /// Name of the client, and its machine: `client2 (db7)`.
    pub name: String,
    /// True if it runs on this machine.
    pub is_here: bool,
    /// Its own part of the window, without latencies.
    pub window: Window,
    /// Number of cores that its workers had.
    pub cores: f64,
    /// Its ceiling on a null target of its own, op/s, one for each measurement.
    pub ceilings_ops_per_s: Vec<f64>,
    /// Delay with which it learned of the start line, s.
    pub late_s: f64,
    /// Largest uncertainty of its clock, s.
    pub clock_bound_s: f64,
    /// Steps of its measuring clock, which was set or stood still.
    pub clock_breaks: Vec<ClockStep>,
    /// The same for its wall clock.
    pub clock_set: Vec<ClockStep>,
    /// Time for which a quota kept it from its CPUs, s. `None` if that is not counted.
    pub throttled_s: Option<f64>,
    /// Sentence on how and when it was lost. `None` if it was there to the end.
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
