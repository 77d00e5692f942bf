//! Model of one run, as read from its folder.

use crate::history::History;
use analysis::VariantName;
use analysis::procedure;
use measure::{Histogram, Times};
use std::collections::BTreeMap;
use store::record::{
    FindingsRecord, IntervalRecord, JournalRecord, NodesRecord, PlanRecord, QuantilesRecord,
    SlowOperationRecord, Verdict,
};

#[derive(Clone, Debug)]
pub struct RunView {
    /// Name of the run in the form `study/stamp`, which commands accept.
    pub name: String,
    /// Path of the run's folder as a user would type it.
    pub folder: String,
    pub plan: PlanRecord,
    /// `None` until the run has findings.
    pub verdict: Option<Verdict>,
    pub findings: FindingsRecord,
    pub journal: Vec<JournalRecord>,
    /// Trials that have records.
    pub trials: Vec<TrialView>,
    /// Latency distributions of each variant, point and kind of operation, merged over the blocks.
    pub points: Vec<PointView>,
    pub nodes: Vec<NodeView>,
    pub facts: Vec<(String, String)>,
    pub files: Vec<FileView>,
    /// Remarks on the files, for example on omitted lines.
    pub notes: Vec<String>,
    pub history: History,
}

/// Records of one trial, in addition to its finding.
#[derive(Clone, Debug, Default)]
pub struct TrialView {
    pub index: usize,
    pub intervals: Vec<IntervalRecord>,
    /// Series from `probes/*.ndjson`, ordered by name and then by place.
    pub probes: Vec<ProbeSeries>,
    /// Series, from the probe `others`, on other programs on the client's machine.
    pub others: Vec<ProbeSeries>,
    /// Hosts and nodes of the trial, from `nodes.json`. `None` if the run did not record them.
    pub nodes: Option<NodesRecord>,
    pub slowest: Vec<SlowOperationRecord>,
}

/// One series of a probe at one place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeSeries {
    /// Name of the series, such as `mpstat.%usr` or `jvm.heap_used`.
    pub name: String,
    /// Node, host, or part of either that the probe measured, such as `host1` or `host1/vda`. Empty
    /// for the client.
    pub place: String,
    pub unit: String,
    /// Pairs of time, in seconds since the start line, and value, in order of time. In a long run,
    /// each bin has two values: the smallest and the largest, in the order in which they occurred.
    /// Empty if the page has no space for the series.
    pub values: Vec<(f64, f64)>,
    /// Mean of each bin, in the order of `values`, in a long run. Empty in other runs.
    pub means: Vec<f64>,
    /// Number and sum of the values in the measured window, in a long run. `None` in other runs,
    /// for which `values` contains all values.
    pub in_window: Option<(u64, f64)>,
}

/// Latency distributions of one kind of operation, at one point of one variant. The distributions
/// are merged over the blocks that the results include.
#[derive(Clone, Debug, Default)]
pub struct PointView {
    pub variant: VariantName,
    pub point: Option<procedure::Point>,
    /// Kind of operation, or `all` for all kinds together.
    pub kind: String,
    /// Latencies from the intended start.
    pub latency: Curve,
    /// Latencies from the send.
    pub service: Curve,
}

#[derive(Clone, Debug, Default)]
pub struct Curve {
    pub quantiles: QuantilesRecord,
    /// Percentile curve, as pairs of a quantile (0 to 1) and a latency in ms, in ascending order.
    pub values: Vec<(f64, f64)>,
}

#[derive(Clone, Debug, Default)]
pub struct NodeView {
    pub name: String,
    /// Facts such as the node's address, version and rack, as pairs of name and value.
    pub facts: Vec<(String, String)>,
    /// Effective settings by name, as the node itself reports them.
    pub settings: BTreeMap<String, String>,
}

#[derive(Clone, Debug)]
pub struct FileView {
    pub path: String,
    pub what: String,
}

/// Number of points of a percentile curve for each halving of the distance to 1, like
/// HdrHistogram's ticks per half-distance. Five points make a smooth line.
const CURVE_TICKS: u32 = 5;

impl Curve {
    /// Converts a histogram of latencies in ns to a distribution in ms.
    pub fn new(histogram: &Histogram) -> Curve {
        Curve::from_times(&Times::from_logs(histogram.clone(), Histogram::new()))
    }

    /// Converts latencies in ns, which may include lower bounds, to a distribution in ms.
    pub fn from_times(times: &Times) -> Curve {
        let values = times.all().curve(CURVE_TICKS).into_iter();
        Curve {
            quantiles: store::convert::times_ms(times),
            values: values.map(|(quantile, ns)| (quantile, ns as f64 / 1e6)).collect(),
        }
    }
}
