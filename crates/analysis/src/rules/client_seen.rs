//! What the rules are told of one client of several.

use super::evidence::Window;

/// What one client of several saw of itself, and what is known of it.
#[derive(Clone, Debug, Default)]
pub struct ClientSeen {
    /// Its name, and where it ran: `client2 (db7)`.
    pub name: String,
    /// Whether that is this machine.
    pub is_here: bool,
    /// Its own part of the window, without latencies.
    pub window: Window,
    /// Cores that its workers had.
    pub cores: f64,
    /// What it reaches by itself on a null target of its own, op/s, each time that it was measured.
    pub ceilings_ops_per_s: Vec<f64>,
    /// By how much it was told too late of the start line, s.
    pub late_s: f64,
    /// How well its clock was known at the worst, s.
    pub clock_bound_s: f64,
    /// When the clock by which it measures was set or stood still, in seconds since the trial's
    /// start line, and by how much, s.
    pub clock_breaks: Vec<(f64, f64)>,
    /// The same of its clock of the day.
    pub clock_set: Vec<(f64, f64)>,
    /// Time for which a quota kept it from its CPUs, s; none where that is not counted.
    pub throttled_s: Option<f64>,
    /// That it was lost, how and when: a sentence; none if it was there to the end.
    pub lost: Option<String>,
}
