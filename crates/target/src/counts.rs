//! The server's own counts of operations.

use crate::cluster::Cluster;
use anyhow::Result;

/// Where the counts are from.
pub(crate) const HOW: &str = "system_views.coordinator_*_latency";

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

pub(crate) fn read(_cluster: &Cluster, _keyspace: &str) -> Result<Option<OperationCounts>> {
    Ok(None)
}
