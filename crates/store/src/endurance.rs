//! Findings of endurance trials, which last for hours at one load. A record covers one trial, or
//! all trials of a variant.

use analysis::VariantName;
use analysis::endurance::{DriftDirection, Growing, MarginResult};
use analysis::procedure::{Point, Role};
use serde::{Deserialize, Serialize};

/// Findings about the window of a long trial. This record belongs to
/// [`crate::record::TrialFinding`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EnduranceRecord {
    /// Length of the blocks into which the window is divided for throughput, s.
    pub block_s: f64,
    /// Drift of throughput and of latency over the window.
    pub drifts: Vec<DriftRecord>,
    /// Changes in the level of throughput and of p99, at most five for each of the two series.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeRecord>,
    /// Cycles of compaction. Absent if no probe read compactions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<CyclesRecord>,
    /// Growth of pending compactions, memory, open files, threads and SSTables, node by node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub growths: Vec<GrowthRecord>,
    /// One sentence for each series that the probes did not read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
    /// Rare events that the probes observed: the longest pauses, and compactions that began.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<HappenedRecord>,
    /// Series of the window, for charts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub courses: Vec<CourseRecord>,
}

impl EnduranceRecord {
    /// Returns the drift of a series.
    pub fn drift(&self, of: &str) -> Option<&DriftRecord> {
        self.drifts.iter().find(|drift| drift.of == of)
    }

    /// Returns the growths that would reach their limit within the horizon.
    pub fn leaks(&self) -> impl Iterator<Item = &GrowthRecord> {
        self.growths.iter().filter(|growth| growth.growing == Growing::Leaks)
    }
}

/// Drift of a series over the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DriftRecord {
    /// Name of the series: `ops_per_s`, `latency_ms.mean`, `latency_ms.p50` or `latency_ms.p99`.
    pub of: String,
    /// Change from the start of the window to its end, as a share of the median block (from the
    /// Theil-Sen slope).
    pub change: f64,
    /// 95 % confidence interval of the change, by Sen's method. Absent if the window has too few
    /// blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
    /// Largest change that does not matter, as a share.
    pub within: f64,
    /// z value of the Mann-Kendall test, corrected for correlated blocks.
    pub z: f64,
    /// Number of blocks in the window.
    pub blocks: usize,
    /// Direction of the drift: `steady`, `rising`, `falling` or `inconclusive`.
    pub course: DriftDirection,
}

/// A change in the level of a series.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChangeRecord {
    /// Name of the series, as in [`DriftRecord`].
    pub of: String,
    /// Time of the change in seconds since the start of the window, accurate to half a block.
    pub at_s: f64,
    /// Mean of the blocks from the previous change (or the start of the window) to this change.
    pub before: f64,
    /// Mean of the blocks from this change to the next change (or the end of the window).
    pub after: f64,
    /// The rare event nearest to the change. Absent if no rare event occurred within one block of
    /// the change.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub coincides: Option<String>,
}

measure::word_enum! {
    /// Result of the search for cycles of compaction in a window.
    #[derive(Default)]
    pub enum CyclesState {
        /// The window contains at least three cycles.
        Seen = "seen",
        /// The window contains cycles, but fewer than three.
        Few = "few",
        /// The series does not repeat in cycles.
        #[default]
        Unseen = "unseen",
        /// The series is constant, because no compaction ran.
        Quiet = "quiet",
    }
}

/// Cycles of compaction, on the node whose series varies most.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CyclesRecord {
    /// Name of the series: `compactions.pending` or `compactions.bytes/s`.
    pub of: String,
    /// Result of the search: `seen`, `few` (fewer than three cycles in the window), `unseen` (no
    /// cycles) or `quiet` (no compaction ran).
    pub state: CyclesState,
    /// Length of a cycle, s. 0 if the series has no cycles.
    pub period_s: f64,
    /// Number of cycles in the window. 0 if the series has no cycles.
    pub count: f64,
}

/// Growth of a series on one node. The growth is computed from the lowest value of each block in
/// the last two thirds of the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GrowthRecord {
    /// Name of the series, as the probe reports it.
    pub of: String,
    /// Name of the node.
    pub place: String,
    /// Unit of the values.
    pub unit: String,
    /// Lowest value in the last block.
    pub last: f64,
    /// Growth of the lowest values per day (Theil-Sen slope).
    pub per_day: f64,
    /// 95 % confidence interval of the growth per day. Absent if the window has too few blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_day_ci95: Option<[f64; 2]>,
    /// Limit of the values. Absent if the series has no limit, or if the limit is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
    /// Time until the values would reach the limit at this growth, in days. Absent if the growth is
    /// uncertain, or if the series has no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reaches_days: Option<f64>,
    /// Horizon of the forecast in days. It is 30 times the length of the window, but at most 30
    /// days.
    pub horizon_days: f64,
    /// Judgement of the growth: `no`, `grows`, `leaks` (the series reaches its limit within the
    /// horizon) or `inconclusive`.
    pub growing: Growing,
}

/// A rare event in the window of a long trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HappenedRecord {
    /// Time of the event, s since the start of the window.
    pub at_s: f64,
    /// Description of the event, with the node where it occurred.
    pub what: String,
}

/// A series over the whole window, in at most 512 bins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CourseRecord {
    /// Name of the series: a name as in [`DriftRecord`], or the name of a probe's series.
    pub of: String,
    /// Name of the node. Empty for the client's figures.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// Unit of the values in the bins.
    pub unit: String,
    /// Width of a bin, s.
    pub width_s: f64,
    /// Four numbers for each bin. The first is the time of its middle in seconds since the start of
    /// the window. The others are the mean, the smallest and the largest value.
    pub bins: Vec<[f64; 4]>,
}

/// Comparison of the long trials of a variant with the shorter trials of the same variant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EnduredRecord {
    /// Name of the variant.
    pub variant: VariantName,
    /// Load at which the trials ran.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// Turns of the study. The shorter turns come first.
    pub turns: Vec<TurnRecord>,
    /// Ratio of the largest throughput of a turn to the smallest, minus 1. Absent if a turn has no
    /// throughput, or if the error of a turn is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apart: Option<f64>,
    /// Confidence interval of `apart`. It covers all pairs of turns simultaneously with 95 %
    /// confidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apart_ci95: Option<[f64; 2]>,
    /// Largest difference at which the throughputs of turns count as equal, as a share.
    pub within: f64,
    /// Result of comparing the interval of `apart` with the share `within`: `inside`, `outside` or
    /// `inconclusive`. Absent if the study has no shorter turn.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub agreed: Option<MarginResult>,
    /// Mean latency of the long turn ÷ mean latency of the shorter turns, minus 1. Each shorter
    /// turn has the same weight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_ms_change: Option<f64>,
}

/// A turn of an endurance study, with its trials in all blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnRecord {
    /// Name of the turn: `beside-1`, …, or `endurance`.
    pub role: Role,
    /// Numbers of the usable trials.
    pub trials: Vec<usize>,
    /// Mean length of the measured windows of the turn's trials, s.
    pub seconds: f64,
    /// Mean throughput of the turn's trials, op/s.
    pub ops_per_s: f64,
    /// Standard error of the throughput. With three or more blocks, it is computed from the scatter
    /// between the blocks; otherwise, from the intervals of the windows. Absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// Mean latency of the turn's trials, ms.
    pub mean_ms: f64,
}
