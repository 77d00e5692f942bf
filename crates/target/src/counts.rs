//! The server's own counts of operations.

/// How many client operations the coordinators have counted since their start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationCounts {
    /// Where the counts are from, for the report.
    pub source: String,
    /// Reads: single partitions and ranges.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
}
