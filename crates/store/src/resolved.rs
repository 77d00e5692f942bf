//! What stands under `resolved` in `plan.json`: the study with every default filled in, for
//! resuming and for the report.
//!
//! What is absent was not recorded, or not stated: every field has a default. Settings of a variant
//! are a tree, as in its study.

use crate::effects::AxisRecord;
use analysis::VariantName;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The study, resolved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResolvedRecord {
    /// What the study was called where it was named.
    pub source: String,
    /// Name of the published figures that are shown beside.
    pub published: Option<String>,
    /// What the command line has changed.
    pub overrides: OverridesRecord,
    /// How often each trial is repeated.
    pub repeat: RepeatRecord,
    /// The one comparison that keeps its whole level.
    pub primary: PrimaryRecord,
    /// What was adapted, and what an import does differently here.
    pub notes: Vec<String>,
    /// Settings of each variant, without the values of secrets.
    pub variants: Map<String, Value>,
    /// Every statement of each variant.
    pub requests: BTreeMap<VariantName, Vec<RequestRecord>>,
    /// The combinations that the variants are; none of other studies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub combinations: Option<CombinationsRecord>,
    /// What is broken in each variant, random faults too.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub faults: BTreeMap<VariantName, Vec<PlannedFaultRecord>>,
    /// The variant without faults that one with them is measured against.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub without_faults: BTreeMap<VariantName, VariantName>,
    /// What other versions have recorded.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// A fault as it is planned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlannedFaultRecord {
    /// `node-pause`, …
    pub kind: String,
    /// What is broken: `node2`, `host1 from host2 and host3`.
    pub place: String,
    /// All of it in words.
    pub what: String,
    /// When, since the begin of the measured window, s.
    pub at_s: f64,
    /// For how long; none of what is over at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_s: Option<f64>,
}

/// The variants of a matrix or a grid as combinations of values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CombinationsRecord {
    /// The axes, in the study's order.
    pub axes: Vec<AxisRecord>,
    /// By variant, the number of its value on each axis.
    pub cells: BTreeMap<VariantName, Vec<usize>>,
}

/// What the command line has changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OverridesRecord {
    /// `--target`.
    pub target: Option<String>,
    /// `--scale`.
    pub scale: Option<String>,
    /// `--set`, in order.
    pub set: Vec<String>,
    /// `--seed`.
    pub seed: Option<u64>,
    /// The files that the study names, as they were read.
    pub inputs: BTreeMap<String, String>,
    /// Whether the study was trusted. It is not trusted again for that.
    pub trust: bool,
    /// The study's folder.
    pub folder: Option<PathBuf>,
}

/// How often each trial is repeated, and in which order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RepeatRecord {
    /// How often everything is measured, at most.
    pub blocks: usize,
    /// From how many blocks on the primary comparison may end it; none: all are measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_look: Option<usize>,
    /// The difference that it is to find, as a share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detect: Option<f64>,
    /// `interleaved` or `sequential`.
    pub order: Order,
}

measure::word_enum! {
    /// In which order trials of several variants come.
    #[derive(Default)]
    pub enum Order {
        /// They take turns.
        #[default]
        Interleaved = "interleaved",
        /// One variant after the other.
        Sequential = "sequential",
    }
}

/// The primary comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PrimaryRecord {
    /// Its metric; `auto`.
    pub metric: String,
    /// At which value of the axis.
    pub point: Option<f64>,
}

/// A statement, with all that decides how it is sent and judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestRecord {
    /// Kind of operation.
    pub kind: String,
    /// Its text.
    pub cql: String,
    /// Consistency level.
    pub consistency: Option<String>,
    /// That of a condition.
    pub serial_consistency: Option<String>,
    /// Whether doing it twice is the same as once.
    pub idempotent: Option<bool>,
    /// Whether it is prepared.
    pub prepared: Option<bool>,
    /// Kind of the batch that it is sent in.
    pub batch: Option<String>,
    /// Whether it has a condition.
    pub conditional: bool,
    /// Whether it reads.
    pub returns_rows: Option<bool>,
    /// Rows of a page.
    pub page_size: Option<u64>,
    /// Most pages that are read.
    pub pages_max: Option<u64>,
    /// Who states them: `client` or `server`.
    pub timestamps: Option<String>,
    /// Time-out of a try, ms.
    pub timeout_ms: Option<f64>,
    /// Tries after the first.
    pub retries: Option<u64>,
    /// After how long another try is made beside the first, ms.
    pub speculate_after_ms: Option<f64>,
    /// Of frames: `none`, `lz4`, ….
    pub compression: Option<String>,
}
