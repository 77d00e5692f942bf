//! The phases of a trial, as facts.

use crate::settings::Settings;
use analysis::procedure::Point;

/// One phase of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Which one.
    pub kind: PhaseKind,
    /// What it does.
    pub work: PhaseWork,
    /// Expected length in seconds.
    pub seconds: f64,
}

/// What a phase does.
#[derive(Clone, Debug, PartialEq)]
pub enum PhaseWork {
    /// What these words say.
    Said(String),
    /// It offers load.
    Offer(Offer),
}

impl PhaseWork {
    /// Load at a point, with the arrivals that a study asks for.
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
    /// Where on the axis; none in a plan: where the procedure asks.
    pub at: Option<Point>,
    /// Whether operations come like those of independent users, where they come at a rate.
    pub is_poisson: bool,
    /// How many times as fast as they were recorded operations come; none: evenly or by chance.
    pub recorded_speed: Option<f64>,
    /// For how long.
    pub length: OfferLength,
}

/// For how long load is offered.
#[derive(Clone, Debug, PartialEq)]
pub enum OfferLength {
    /// So long, ns.
    For(u64),
    /// Until it is steady, and at most so long, ns.
    UntilSteady(u64),
    /// For so many operations, which are not counted.
    Uncounted(u64),
    /// As an imported step says.
    Step(String),
}

measure::word_enum! {
    /// The phases, in the order of a trial.
    pub enum PhaseKind {
        /// The target is started or attached.
        Target = "target",
        /// Keyspace and tables are created or emptied.
        Schema = "schema",
        /// Rows are written.
        Load = "load",
        /// Flushes and compactions are awaited.
        Settle = "settle",
        /// The loaded data is kept as hard links.
        Snapshot = "snapshot",
        /// Nodes get another configuration, one after the other.
        Restart = "restart",
        /// The data is brought back to a snapshot.
        Restore = "restore",
        /// Load is offered, and not yet counted.
        Warmup = "warmup",
        /// Load is offered and counted.
        Measure = "measure",
        /// Rows are read back and compared.
        Verify = "verify",
    }
}
