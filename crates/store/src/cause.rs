//! Causes of imprecision that the trials of a run show together, and the proposed next run. Both
//! are parts of [`crate::record::FindingsRecord`].

use serde::{Deserialize, Serialize};

measure::word_enum! {
    /// Cause of the scatter of a run, or of broken rules of its trials.
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

/// A cause that the trials of a run show together. Each cause is listed before its consequences.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CauseRecord {
    /// Kind of the cause.
    pub kind: CauseKind,
    /// Number of trials that show it.
    pub trials: usize,
    /// Number of trials that were judged.
    pub of: usize,
    /// Largest share in a trial, 0 to 1: of the machine's CPU time that others used, or of the time
    /// that collections took. Absent for other causes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Metric that changed from the first trial to the last: `ops_per_s`, `latency_ms.p50` or
    /// `pending_compactions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// Value of that metric in the first trial, and in the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<[f64; 2]>,
    /// Number of the block that differs, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<usize>,
    /// Time after the first trial from which on results were near the last ones, s. Absent if only
    /// the last result was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived_s: Option<f64>,
    /// Sentence that describes the cause.
    pub says: String,
}

/// Proposed next run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NextStepRecord {
    /// Reason for it: `4 more blocks to settle it`.
    pub says: String,
    /// Command that runs it.
    pub command: String,
    /// Expected duration, s. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}
