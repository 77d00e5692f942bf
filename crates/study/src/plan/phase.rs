//! Types that describe the phases of a trial.

use crate::settings::Settings;
use analysis::procedure::Point;

/// One phase of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Kind of the phase.
    pub kind: PhaseKind,
    /// Work of the phase.
    pub work: PhaseWork,
    /// Expected length in seconds.
    pub seconds: f64,
}

/// Work of a phase.
#[derive(Clone, Debug, PartialEq)]
pub enum PhaseWork {
    /// Work that is described only in these words.
    Said(String),
    /// It offers load.
    Offer(Offer),
}

impl PhaseWork {
    /// Returns load at a point, with the study's arrival process.
    pub(super) fn offer(at: Option<Point>, settings: &Settings, length: OfferLength) -> PhaseWork {
        PhaseWork::Offer(Offer {
            at,
            is_poisson: settings.poisson,
            recorded_speed: settings.workload.recorded.as_ref().and_then(|one| one.speed),
            length,
        })
    }
}

/// Load that a phase offers.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// Point on the axis; `None` in a plan if the procedure chooses it later.
    pub at: Option<Point>,
    /// True if arrivals at a rate are Poisson, like those of independent users.
    pub is_poisson: bool,
    /// Speed relative to the recording; `None` if arrivals are even or Poisson.
    pub recorded_speed: Option<f64>,
    /// Length of the load.
    pub length: OfferLength,
}

/// Length of offered load.
#[derive(Clone, Debug, PartialEq)]
pub enum OfferLength {
    /// A fixed time, ns.
    For(u64),
    /// Until throughput is steady, and at most this time, ns.
    UntilSteady(u64),
    /// Until this time after the last fault, ns, and at most the second time, ns.
    UntilFaults(u64, u64),
    /// A number of operations, which are not counted.
    Uncounted(u64),
    /// The length that an imported step states.
    Step(String),
}

measure::word_enum! {
    /// The phases, in the order of a trial.
    pub enum PhaseKind {
        /// Starts or attaches the target.
        Target = "target",
        /// Creates or empties keyspace and tables.
        Schema = "schema",
        /// Writes rows.
        Load = "load",
        /// Waits for flushes and compactions.
        Settle = "settle",
        /// Keeps the loaded data as hard links.
        Snapshot = "snapshot",
        /// Changes the nodes' configuration, one node after the other.
        Restart = "restart",
        /// Restores the data from a snapshot.
        Restore = "restore",
        /// Offers load that is not yet counted.
        Warmup = "warmup",
        /// Offers load that is counted.
        Measure = "measure",
        /// Reads rows back and compares them.
        Verify = "verify",
    }
}
