//! Limits that end the load, in order to protect a cluster that other users share.

use super::Warmup;
use crate::units;
use measure::clock::{MILLISECOND_NS, SECOND_NS};

/// Limits that end the load early, and the length of the ramp at the start of the load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guard {
    /// Clusters on which the guard is active.
    pub when: GuardedClusters,
    pub limits: GuardLimits,
    /// Time in which the load ramps up from zero to its full rate, in ns.
    pub rise_ns: u64,
}

/// Clusters on which the guard is active.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GuardedClusters {
    /// The guard is active on clusters that cassay did not start and that have other clients.
    #[default]
    Auto,
    /// The guard is active on every cluster.
    Always,
    /// The guard is never active.
    Never,
}

/// Limits of the figures of one second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GuardLimits {
    /// Maximum p99 of service time (from the send of a request to its response), in ms.
    pub p99_ms: f64,
    /// Maximum share of failed operations.
    pub error_rate: f64,
}

impl GuardLimits {
    /// Returns the limit of p99, in ns.
    pub fn p99_ns(&self) -> u64 {
        (self.p99_ms * MILLISECOND_NS as f64) as u64
    }
}

impl Guard {
    /// Describes the guard for users.
    pub fn words(&self) -> String {
        format!(
            "the load ramps up over {}. cassay ends the load and the run after a second with a p99 \
             above {} ms or with more than {} errors",
            units::format_duration_ns(self.rise_ns),
            self.limits.p99_ms,
            units::format_share(self.limits.error_rate)
        )
    }

    /// Returns the warm-up. It lasts for a fixed time in ns, or until throughput is steady. If the
    /// guard is always active, a fixed warm-up lasts at least as long as the ramp, in whole
    /// seconds.
    pub(crate) fn warmup(&self, fixed_ns: Option<u64>, max_ns: u64) -> Warmup {
        match (fixed_ns, self.when) {
            (Some(ns), GuardedClusters::Always) => {
                Warmup::Fixed(ns.max(self.rise_ns.next_multiple_of(SECOND_NS)))
            }
            (Some(ns), GuardedClusters::Auto | GuardedClusters::Never) => Warmup::Fixed(ns),
            (None, _) => Warmup::Auto(max_ns),
        }
    }
}

impl Default for Guard {
    fn default() -> Guard {
        Guard {
            when: GuardedClusters::Auto,
            limits: GuardLimits {
                p99_ms: 500.0,
                error_rate: 0.01,
            },
            rise_ns: 10 * SECOND_NS,
        }
    }
}
