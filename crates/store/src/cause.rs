//! Why the trials of a run say less than they were to say, and what to do next: parts of
//! [`crate::record::FindingsRecord`].

use serde::{Deserialize, Serialize};

measure::word_enum! {
    /// What lies behind the scatter of a run, or behind the rules that its trials broke.
    #[derive(Default)]
    pub enum CauseKind {
        /// Other programs used the machine.
        #[default]
        Others = "others",
        /// The client was near its own limit.
        Client = "client",
        /// The target became faster over the run.
        Warming = "warming_up",
        /// The target became slower over the run.
        Slowing = "slowing_down",
        /// Compactions piled up.
        Backlog = "compaction_backlog",
        /// Garbage collections stopped the nodes.
        Collections = "collections",
        /// One block differs from all others.
        OddBlock = "odd_block",
    }
}

/// A cause that all trials of a run together show; causes stand before what follows from them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CauseRecord {
    /// What it is.
    pub kind: CauseKind,
    /// The trials that show it.
    pub trials: usize,
    /// Of how many.
    pub of: usize,
    /// What of the machine others used, or of the time collections took: the most of a trial, as a
    /// share of 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// What went from the first trial to the last: `ops_per_s`, `latency_ms.p50` or
    /// `pending_compactions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// What that was in the first trial, and in the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<[f64; 2]>,
    /// Which block differs, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<usize>,
    /// Seconds after the first trial from which on trials came to what the last ones came to; none
    /// where they never did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived_s: Option<f64>,
    /// The same in a few words: a sentence.
    pub says: String,
}

/// What to run next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NextStepRecord {
    /// What for: `With a longer warm-up`.
    pub says: String,
    /// The command.
    pub command: String,
    /// What that is expected to take, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}
