//! When load is ended because of what it does to a cluster that others use.

use super::Warmup;
use crate::human;
use measure::clock::{MILLISECOND_NS, SECOND_NS};

/// When the load ends before its plan does, and how slowly it begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guard {
    /// Whether it is looked at all.
    pub when: Guarded,
    /// What is too much.
    pub limits: GuardLimits,
    /// How long the load takes to rise from nothing to all of it, ns.
    pub rise_ns: u64,
}

/// Whether there is a guard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guarded {
    /// On a cluster that cassay did not start and that other clients use.
    #[default]
    Auto,
    /// On every cluster.
    Always,
    /// On no cluster.
    Never,
}

/// What is too much in a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GuardLimits {
    /// Most p99 from the send to the answer, ms.
    pub p99_ms: f64,
    /// Most operations that fail, as a share.
    pub error_rate: f64,
}

impl GuardLimits {
    /// The limit of p99, ns.
    pub fn p99_ns(&self) -> u64 {
        (self.p99_ms * MILLISECOND_NS as f64) as u64
    }
}

impl Guard {
    /// What it does, for people.
    pub fn words(&self) -> String {
        format!(
            "the load rises over {}, and ends with the run after a second with a p99 above {} ms \
             or more than {} of errors",
            human::format_duration_ns(self.rise_ns),
            self.limits.p99_ms,
            human::format_share(self.limits.error_rate)
        )
    }

    /// A warm-up of so long, ns, or until steady; with a rise that is always in it: whole seconds.
    pub(crate) fn warmup(&self, fixed_ns: Option<u64>, max_ns: u64) -> Warmup {
        match (fixed_ns, self.when) {
            (Some(ns), Guarded::Always) => {
                Warmup::Fixed(ns.max(self.rise_ns.next_multiple_of(SECOND_NS)))
            }
            (Some(ns), Guarded::Auto | Guarded::Never) => Warmup::Fixed(ns),
            (None, _) => Warmup::Auto(max_ns),
        }
    }
}

impl Default for Guard {
    fn default() -> Guard {
        Guard {
            when: Guarded::Auto,
            limits: GuardLimits {
                p99_ms: 500.0,
                error_rate: 0.01,
            },
            rise_ns: 10 * SECOND_NS,
        }
    }
}
