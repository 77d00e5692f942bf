//! Types that describe the phases of a trial.

use crate::settings::Settings;
use analysis::procedure::Point;

/// A phase of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    pub kind: PhaseKind,
    pub work: PhaseWork,
    /// Expected length of the phase, in seconds.
    pub seconds: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PhaseWork {
    /// Work that the plan describes only by this text.
    Said(String),
    /// The phase applies this load.
    Offer(Offer),
}

impl PhaseWork {
    pub(super) fn offer(at: Option<Point>, settings: &Settings, length: OfferLength) -> PhaseWork {
        PhaseWork::Offer(Offer {
            at,
            is_poisson: settings.poisson,
            recorded_speed: settings.workload.recorded.as_ref().and_then(|one| one.speed),
            length,
        })
    }
}

/// Load that a phase applies.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// Point on the load axis. In a plan, `None` if the procedure chooses the point later.
    pub at: Option<Point>,
    /// True if the arrivals of operations at a rate form a Poisson process, like those of
    /// independent users.
    pub is_poisson: bool,
    /// Speed of the replay relative to the recording. `None` if arrivals are regular or Poisson.
    pub recorded_speed: Option<f64>,
    /// Length of the load.
    pub length: OfferLength,
}

/// Length of a load.
#[derive(Clone, Debug, PartialEq)]
pub enum OfferLength {
    /// The load lasts for a fixed time, in ns.
    For(u64),
    /// The load lasts until throughput is steady, but at most for this time, in ns.
    UntilSteady(u64),
    /// The load lasts until the first time has passed after the last fault, but at most for the
    /// second time. The times are in ns.
    UntilFaults(u64, u64),
    /// The load consists of this number of operations.
    Uncounted(u64),
    /// The load has the length that an imported step states. The text describes this length.
    Step(String),
}

measure::word_enum! {
    /// Kinds of phases, in the order in which a trial runs them.
    pub enum PhaseKind {
        /// Starts or attaches the target.
        Target = "target",
        /// Creates or empties keyspace and tables.
        Schema = "schema",
        /// Writes the rows of the load phase.
        Load = "load",
        /// Waits for flushes and compactions.
        Settle = "settle",
        /// Creates a snapshot of the loaded data by hard links.
        Snapshot = "snapshot",
        /// Restarts the nodes with another configuration.
        Restart = "restart",
        /// Restores the data from a snapshot.
        Restore = "restore",
        /// Applies load before the measured window.
        Warmup = "warmup",
        /// Applies load and measures it.
        Measure = "measure",
        /// Reads rows back and compares them with the written values.
        Verify = "verify",
    }
}
