//! Waiting until memtables are flushed and compactions have come to rest.

/// How waiting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettleOutcome {
    /// Nothing runs and nothing is pending, or what is pending does not move.
    Settled,
    /// Work is said to be pending, but nothing runs and no byte is compacted. Worth a warning.
    Stalled,
    /// Compactions were still running at the limit.
    Timeout,
    /// The target cannot tell.
    Unknown,
}

/// Result of waiting for compactions.
#[derive(Clone, Debug, PartialEq)]
pub struct Settle {
    /// How it ended.
    pub outcome: SettleOutcome,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// What was seen: pending estimate, running tasks, SSTables, per node.
    pub detail: String,
}
