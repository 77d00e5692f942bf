//! What hours under one load have shown: of one trial, and of the trials of a variant together.

use analysis::VariantName;
use analysis::endurance::{Agreed, Course, Growing};
use analysis::procedure::{Point, Role};
use serde::{Deserialize, Serialize};

/// What a long trial showed over its window: a part of [`crate::record::TrialFinding`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EnduranceRecord {
    /// Length of the blocks that the rate was joined to, s.
    pub block_s: f64,
    /// Where throughput and latency went.
    pub drifts: Vec<DriftRecord>,
    /// Where a level gave way to another, at most five of each series.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeRecord>,
    /// What compaction repeats; none if nobody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<CyclesRecord>,
    /// What may grow: compactions that are owed, memory, files, threads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub growths: Vec<GrowthRecord>,
    /// What was not seen, and why: a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
    /// What the probes saw happen that happens rarely: the longest pauses, when compactions began.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<HappenedRecord>,
    /// The series that are worth drawing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub courses: Vec<CourseRecord>,
}

impl EnduranceRecord {
    /// The drift of a series.
    pub fn drift(&self, of: &str) -> Option<&DriftRecord> {
        self.drifts.iter().find(|drift| drift.of == of)
    }

    /// What would reach its limit within the horizon.
    pub fn leaks(&self) -> impl Iterator<Item = &GrowthRecord> {
        self.growths.iter().filter(|growth| growth.growing == Growing::Leaks)
    }
}

/// Where a series went over the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DriftRecord {
    /// `ops_per_s`, `latency_ms.mean`, `latency_ms.p50` or `latency_ms.p99`.
    pub of: String,
    /// From the window's begin to its end, as a share of the median block.
    pub change: f64,
    /// Its 95 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
    /// Within which share it does not matter.
    pub within: f64,
    /// Mann and Kendall's z.
    pub z: f64,
    /// Blocks of the window.
    pub blocks: usize,
    /// `steady`, `rising`, `falling` or `untold`.
    pub course: Course,
}

/// A change of level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChangeRecord {
    /// As in [`DriftRecord`].
    pub of: String,
    /// When it was, s since the window's begin; to half a block.
    pub at_s: f64,
    /// Mean of the blocks before it.
    pub before: f64,
    /// Mean of the blocks after it.
    pub after: f64,
    /// What it coincides with, of what the probes saw; none if there is nothing.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub coincides: Option<String>,
}

measure::word_enum! {
    /// Whether compactions come in cycles.
    #[derive(Default)]
    pub enum CyclesState {
        /// Three of them and more.
        Seen = "seen",
        /// Fewer than three in the window.
        Few = "few",
        /// Nobody looked.
        #[default]
        Unseen = "unseen",
        /// Nothing was compacted.
        Quiet = "quiet",
    }
}

/// What compaction repeats.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CyclesRecord {
    /// Of which series: `compactions.pending` or `compactions.bytes/s`.
    pub of: String,
    /// `seen`, `few` (fewer than three in the window), `unseen` or `quiet` (nothing was compacted).
    pub state: CyclesState,
    /// Length of one, s; 0 if none is seen.
    pub period_s: f64,
    /// How many the window has; 0 if none is seen.
    pub count: f64,
}

/// How something grows, on one node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GrowthRecord {
    /// The series of the probe.
    pub of: String,
    /// The node.
    pub place: String,
    /// The unit of its values.
    pub unit: String,
    /// The least of the last block.
    pub last: f64,
    /// By how much in a day.
    pub per_day: f64,
    /// Its 95 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_day_ci95: Option<[f64; 2]>,
    /// The most that there is room for, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
    /// After how many days it would reach that, if it went on like this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reaches_days: Option<f64>,
    /// How many days ahead a window of this length tells.
    pub horizon_days: f64,
    /// `no`, `grows`, `leaks` (to its limit within the horizon) or `untold`.
    pub growing: Growing,
}

/// Something that happened once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HappenedRecord {
    /// When, s since the window's begin.
    pub at_s: f64,
    /// What, and where.
    pub what: String,
}

/// A series of the whole window, however long that was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CourseRecord {
    /// As in [`DriftRecord`] or of a probe.
    pub of: String,
    /// The node; empty for what the client saw.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// The unit of its values.
    pub unit: String,
    /// How wide a bin is, s.
    pub width_s: f64,
    /// The middle of each bin, s since the window's begin; mean, least and most of its values.
    pub bins: Vec<[f64; 4]>,
}

/// What the long trials of a variant did beside its shorter ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EnduredRecord {
    /// Name of the variant.
    pub variant: VariantName,
    /// The load it was at.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// The turns, the shorter ones first.
    pub turns: Vec<TurnRecord>,
    /// The largest throughput of a turn over the least, less one; none where one of them has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apart: Option<f64>,
    /// Its interval, of 95 % for all pairs at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apart_ci95: Option<[f64; 2]>,
    /// Within which share they do the same.
    pub within: f64,
    /// `inside`, `outside`, `untold`; empty where there is nothing beside the long turn.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub agreed: Option<Agreed>,
    /// By which share mean latency was more in the long turn than in the shorter ones, each alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_ms_change: Option<f64>,
}

/// A turn of an endurance study: its trials in all blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnRecord {
    /// `beside-1`, …, `endurance`.
    pub role: Role,
    /// The trials that may be believed.
    pub trials: Vec<usize>,
    /// Length of its window, s.
    pub seconds: f64,
    /// Mean throughput.
    pub ops_per_s: f64,
    /// Its standard error: of the blocks of the window, or of the blocks of the study where these
    /// are three or more. None where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// Mean latency, ms.
    pub mean_ms: f64,
}
