//! Input of a page: one run, as read from its folder.
//!
//! It is plain data without paths or handles. So a page can show a finished run, a running one, or
//! one that a test invents.

use crate::history::History;
use analysis::VariantName;
use analysis::procedure;
use measure::{Histogram, Times};
use std::collections::BTreeMap;
use store::record::{
    FindingsRecord, IntervalRecord, JournalRecord, NodesRecord, PlanRecord, QuantilesRecord,
    Verdict,
};

/// One run.
#[derive(Clone, Debug)]
pub struct RunView {
    /// Name that commands accept: `study/stamp`.
    pub name: String,
    /// Folder of the run, as the user would type it.
    pub folder: String,
    /// `plan.json`.
    pub plan: PlanRecord,
    /// Verdict of the run. `None` until the run has findings.
    pub verdict: Option<Verdict>,
    /// `findings.json`.
    pub findings: FindingsRecord,
    /// `journal.ndjson`, in order.
    pub journal: Vec<JournalRecord>,
    /// One entry per trial that left records.
    pub trials: Vec<TrialView>,
    /// Percentile curves per variant and point, blocks merged.
    pub points: Vec<PointView>,
    /// The nodes and their effective settings.
    pub nodes: Vec<NodeView>,
    /// Machine, versions and other facts: name and value.
    pub facts: Vec<(String, String)>,
    /// Files of the run, the most useful first.
    pub files: Vec<FileView>,
    /// Remarks on the files: omitted lines, and files that could not be verified.
    pub notes: Vec<String>,
    /// Runs of its study up to this one.
    pub history: History,
}

/// Records of one trial, in addition to its finding.
#[derive(Clone, Debug, Default)]
pub struct TrialView {
    /// Number of the trial.
    pub index: usize,
    /// `intervals.ndjson`, in order of time.
    pub intervals: Vec<IntervalRecord>,
    /// `probes/*.ndjson`, as series; by name, then by place.
    pub probes: Vec<ProbeSeries>,
    /// Other programs on the client's machine: the probe `others`, which runs in every trial.
    pub others: Vec<ProbeSeries>,
    /// `nodes.json`: the hosts and nodes of the trial. `None` in runs that did not record them.
    pub nodes: Option<NodesRecord>,
}

/// Series of a probe at one place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeSeries {
    /// Name of the series: `mpstat.%usr`, `jvm.heap_used`.
    pub name: String,
    /// Node, host or a part of it (`host1`, `host1/vda`, `node1`); empty for the client.
    pub place: String,
    /// Unit of the values, as the probe wrote it.
    pub unit: String,
    /// Seconds since the start line and value, in order of time. In a long run, there are two
    /// values for each stretch of time: the smallest and the largest, in the order of their times.
    /// There are none if the page has no space for the series.
    pub values: Vec<(f64, f64)>,
    /// In a long run, the mean of each of these stretches.
    pub means: Vec<f64>,
    /// In a long run, the number of values in the measured window, and their sum.
    pub in_window: Option<(u64, f64)>,
}

/// Latencies of one kind at one point of one variant, merged over the blocks that count.
#[derive(Clone, Debug, Default)]
pub struct PointView {
    /// Name of the variant.
    pub variant: VariantName,
    /// Point on the axes.
    pub point: Option<procedure::Point>,
    /// Kind of operation; `all` for all together.
    pub kind: String,
    /// Times from the intended start.
    pub latency: Curve,
    /// Times from the send.
    pub service: Curve,
}

/// One merged distribution.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// Summary of the distribution, in ms.
    pub quantiles: QuantilesRecord,
    /// Quantile (0 to 1) and value in ms, ascending.
    pub values: Vec<(f64, f64)>,
}

/// One node of the target.
#[derive(Clone, Debug, Default)]
pub struct NodeView {
    /// Name of the node.
    pub name: String,
    /// Address, version, rack and similar facts.
    pub facts: Vec<(String, String)>,
    /// Effective settings, as the node itself reports them.
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

/// Number of points of a percentile curve for each halving of the distance to 1: enough for a
/// smooth line, and about 100 points for a million values.
const CURVE_TICKS: u32 = 5;

impl Curve {
    /// Returns the distribution of a histogram in ns.
    pub fn new(histogram: &Histogram) -> Curve {
        Curve::from_times(&Times::from_logs(histogram.clone(), Histogram::new()))
    }

    /// Returns the distribution of times in ns, including lower bounds.
    pub fn from_times(times: &Times) -> Curve {
        let values = times.all().curve(CURVE_TICKS).into_iter();
        Curve {
            quantiles: store::convert::times_ms(times),
            values: values.map(|(quantile, ns)| (quantile, ns as f64 / 1e6)).collect(),
        }
    }
}
