//! Input of a page, which is one run as read from its folder.
//!
//! A `RunView` is plain data without paths or handles. So a page can show a finished run, a running
//! one, or an artificial one from a test.

use crate::history::History;
use analysis::VariantName;
use analysis::procedure;
use measure::{Histogram, Times};
use std::collections::BTreeMap;
use store::record::{
    FindingsRecord, IntervalRecord, JournalRecord, NodesRecord, PlanRecord, QuantilesRecord,
    SlowOperationRecord, Verdict,
};

/// One run, as a page shows it.
#[derive(Clone, Debug)]
pub struct RunView {
    /// Name of the run that commands accept, in the form `study/stamp`.
    pub name: String,
    /// Folder of the run, in the form in which a user would type it.
    pub folder: String,
    /// Content of `plan.json`.
    pub plan: PlanRecord,
    /// Verdict of the run. `None` until the run has findings.
    pub verdict: Option<Verdict>,
    /// Content of `findings.json`.
    pub findings: FindingsRecord,
    /// Records of `journal.ndjson`, in order of time.
    pub journal: Vec<JournalRecord>,
    /// Records of each trial that has any records.
    pub trials: Vec<TrialView>,
    /// Percentile curves for each variant and point, with blocks merged.
    pub points: Vec<PointView>,
    /// Nodes of the target, with their effective settings.
    pub nodes: Vec<NodeView>,
    /// Facts about the machine, versions and more, as pairs of name and value.
    pub facts: Vec<(String, String)>,
    /// Files of the run. The most useful files come first.
    pub files: Vec<FileView>,
    /// Remarks on the files, such as omitted lines, and files that could not be verified.
    pub notes: Vec<String>,
    /// Runs of the same study, up to this run.
    pub history: History,
}

/// Records of one trial, in addition to its finding.
#[derive(Clone, Debug, Default)]
pub struct TrialView {
    /// Number of the trial.
    pub index: usize,
    /// Lines of `intervals.ndjson`, in order of time.
    pub intervals: Vec<IntervalRecord>,
    /// Series from `probes/*.ndjson`, ordered by name, then by place.
    pub probes: Vec<ProbeSeries>,
    /// Series about other programs on the client's machine, from the probe `others`, which runs in
    /// every trial.
    pub others: Vec<ProbeSeries>,
    /// Hosts and nodes of the trial, from `nodes.json`. `None` in runs that did not record them.
    pub nodes: Option<NodesRecord>,
    /// Slowest operations of the window, from `slowest.json`.
    pub slowest: Vec<SlowOperationRecord>,
}

/// Series of a probe at one place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeSeries {
    /// Name of the series, such as `mpstat.%usr` or `jvm.heap_used`.
    pub name: String,
    /// Node, host or a part of it that was measured, such as `host1`, `host1/vda` or `node1`. Empty
    /// for the client.
    pub place: String,
    /// Unit of the values, as the probe wrote it.
    pub unit: String,
    /// Pairs of time, in seconds since the start line, and value, in order of time. In a long run,
    /// each bin has two values: the smallest and the largest, in the order in which they occurred.
    /// Empty if the page has no space for the series.
    pub values: Vec<(f64, f64)>,
    /// Mean of each bin of the series, in a long run.
    pub means: Vec<f64>,
    /// Number of values in the measured window and the sum of these values, in a long run.
    pub in_window: Option<(u64, f64)>,
}

/// Latencies of one kind of operation at one point of one variant, merged over the blocks that
/// count.
#[derive(Clone, Debug, Default)]
pub struct PointView {
    /// Name of the variant.
    pub variant: VariantName,
    /// Position of the point on the axes.
    pub point: Option<procedure::Point>,
    /// Kind of operation, or `all` for all kinds together.
    pub kind: String,
    /// Distribution of times since the intended start.
    pub latency: Curve,
    /// Distribution of times since the send.
    pub service: Curve,
}

/// One merged distribution.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// Summary of the distribution, in ms.
    pub quantiles: QuantilesRecord,
    /// Curve as pairs of quantile (0 to 1) and value in ms, in ascending order.
    pub values: Vec<(f64, f64)>,
}

/// One node of the target.
#[derive(Clone, Debug, Default)]
pub struct NodeView {
    /// Name of the node.
    pub name: String,
    /// Facts such as the node's address, version and rack.
    pub facts: Vec<(String, String)>,
    /// Effective settings of the node, as the node itself reports them.
    pub settings: BTreeMap<String, String>,
}

/// One file of the run.
#[derive(Clone, Debug)]
pub struct FileView {
    /// Path relative to the run's folder.
    pub path: String,
    /// Description of the file.
    pub what: String,
}

/// Number of points of a percentile curve for each halving of the distance to 1. It is enough for a
/// smooth line, and results in about 100 points for a million values.
const CURVE_TICKS: u32 = 5;

impl Curve {
    /// Returns the distribution of a histogram in ns.
    pub fn new(histogram: &Histogram) -> Curve {
        Curve::from_times(&Times::from_logs(histogram.clone(), Histogram::new()))
    }

    /// Returns the distribution of times in ns, which may include lower bounds.
    pub fn from_times(times: &Times) -> Curve {
        let values = times.all().curve(CURVE_TICKS).into_iter();
        Curve {
            quantiles: store::convert::times_ms(times),
            values: values.map(|(quantile, ns)| (quantile, ns as f64 / 1e6)).collect(),
        }
    }
}
