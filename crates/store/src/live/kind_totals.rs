//! Counts and latencies of one kind of operation in the measured windows of a variant's trials.

use crate::histogram_buckets::Buckets;

/// Sums over measured windows.
#[derive(Debug, Default)]
pub(super) struct KindTotals {
    /// Number of operations that succeeded within the windows.
    pub ops: u64,
    /// Number of failed operations that were due in the windows.
    pub errors: u64,
    /// Latencies of operations that were due in the windows. They contain lower bounds for
    /// operations that the client gave up, as the percentiles of the findings do.
    pub latency: Buckets,
}

/// Counts and latencies of one kind of operation of a variant, for a metrics endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct KindMetrics {
    /// Name of the variant in files.
    pub variant: String,
    /// Kind of operation.
    pub kind: String,
    /// Number of operations that succeeded within the measured windows.
    pub ops: u64,
    /// Number of failed operations that were due in the measured windows.
    pub errors: u64,
    /// Number of latencies up to each bound, in the order of the bounds.
    pub at_most: Vec<u64>,
    /// Number of all latencies.
    pub count: u64,
    /// Sum of all latencies, ns.
    pub sum_ns: f64,
}

impl KindTotals {
    pub(super) fn add(&mut self, other: &KindTotals) {
        self.ops += other.ops;
        self.errors += other.errors;
        self.latency.add_buckets(&other.latency);
    }

    pub(super) fn metrics(&self, variant: &str, kind: &str, bounds_ns: &[u64]) -> KindMetrics {
        KindMetrics {
            variant: variant.to_owned(),
            kind: kind.to_owned(),
            ops: self.ops,
            errors: self.errors,
            at_most: self.latency.counts_at_most(bounds_ns),
            count: self.latency.count(),
            sum_ns: self.latency.sum_ns(),
        }
    }
}
