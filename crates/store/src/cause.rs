//! Causes of imprecision that several trials of a run show, and the proposed next run. Both records
//! belong to [`crate::record::FindingsRecord`].

use serde::{Deserialize, Serialize};

measure::word_enum! {
    /// Cause of the scatter of a run, or of the rules that its trials violated.
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
        /// The number of pending compactions increased.
        Backlog = "compaction_backlog",
        /// Garbage collections stopped the nodes.
        Collections = "collections",
        /// One block is an outlier.
        OddBlock = "odd_block",
    }
}

/// A cause of imprecision that several trials of a run show. In the list of causes, a cause comes
/// before its consequences.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CauseRecord {
    /// Kind of the cause.
    pub kind: CauseKind,
    /// Number of trials that show this cause.
    pub trials: usize,
    /// Number of trials that cassay judged.
    pub of: usize,
    /// Share from 0 to 1 in the trial where it was largest. For `others`, it is the share of the
    /// machine's CPU time that other programs used. For `collections`, it is the share of time that
    /// collections took. Absent for other causes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Metric that changed from the first trial to the last: `ops_per_s`, `latency_ms.p50` or
    /// `pending_compactions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// Values of the metric in the first trial and in the last trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<[f64; 2]>,
    /// Number of the outlying block, starting at 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<usize>,
    /// Time after the first trial from which results were close to the last result, s. Absent if no
    /// earlier result was close to the last result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived_s: Option<f64>,
    /// Sentence that describes the cause.
    pub says: String,
}

/// The next run that cassay proposes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NextStepRecord {
    /// Purpose of the next run, such as `4 more blocks to settle it`.
    pub says: String,
    /// Command that starts the next run.
    pub command: String,
    /// Expected duration of the next run, s. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}
