//! Records under `resolved` in `plan.json`: the study with every default filled in, for resuming
//! the run and for the report.
//!
//! Every field has a default, which means that the value was not recorded or not stated. The
//! settings of a variant are a tree, as in the study.

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
    /// Path of the file that contains the study.
    pub source: String,
    /// Name of the published figures that the report shows. `null` if the study names none.
    pub published: Option<String>,
    /// Changes that the command line made to the study.
    pub overrides: OverridesRecord,
    /// Number and order of the blocks.
    pub repeat: RepeatRecord,
    /// Primary comparison. Its error level is not shared with other comparisons.
    pub primary: PrimaryRecord,
    /// Adapted settings, and differences between imports and their originals, one sentence each.
    pub notes: Vec<String>,
    /// Settings of each variant, without the values of secrets.
    pub variants: Map<String, Value>,
    /// Every statement of each variant.
    pub requests: BTreeMap<VariantName, Vec<RequestRecord>>,
    /// Combinations of values that define the variants. Absent without a matrix or grid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub combinations: Option<CombinationsRecord>,
    /// Planned faults of each variant, including random faults.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub faults: BTreeMap<VariantName, Vec<PlannedFaultRecord>>,
    /// For each variant with faults, the variant without faults that it is compared with.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub without_faults: BTreeMap<VariantName, VariantName>,
    /// Fields that other versions wrote.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// A planned fault.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlannedFaultRecord {
    /// Kind of the fault, such as `node-pause`.
    pub kind: String,
    /// Target of the fault, such as `node2` or `host1 from host2 and host3`.
    pub place: String,
    /// Description of the whole fault.
    pub what: String,
    /// Time of the injection, s since the start of the measured window.
    pub at_s: f64,
    /// Duration of the fault, s. Absent if the fault has no duration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_s: Option<f64>,
}

/// The variants of a matrix or a grid as combinations of values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CombinationsRecord {
    /// Axes of the matrix or grid, in the study's order.
    pub axes: Vec<AxisRecord>,
    /// For each variant, the index of its value on each axis.
    pub cells: BTreeMap<VariantName, Vec<usize>>,
}

/// Changes that the command line made to the study.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OverridesRecord {
    /// Value of the option `--target`.
    pub target: Option<String>,
    /// Value of the option `--scale`.
    pub scale: Option<String>,
    /// Values of the option `--set`, in order.
    pub set: Vec<String>,
    /// Value of the option `--seed`.
    pub seed: Option<u64>,
    /// Texts of the files that the study names, by the name of the file.
    pub inputs: BTreeMap<String, String>,
    /// True if the user trusted the study when the run began. Resuming the run does not make the
    /// study trusted.
    pub trust: bool,
    /// Absolute path of the study's folder.
    pub folder: Option<PathBuf>,
}

/// Number and order of the blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RepeatRecord {
    /// Number of blocks. If the primary comparison may end the study early, the largest number of
    /// blocks.
    pub blocks: usize,
    /// Number of blocks from which on the primary comparison may end the study. Absent if all
    /// blocks are always measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_look: Option<usize>,
    /// Difference that the study must be able to detect, as a share. Absent if the study does not
    /// state it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detect: Option<f64>,
    /// Order of the variants: `interleaved` or `sequential`.
    pub order: Order,
}

measure::word_enum! {
    /// Order of the trials of several variants.
    #[derive(Default)]
    pub enum Order {
        /// The trials of the variants are interleaved.
        #[default]
        Interleaved = "interleaved",
        /// One variant runs after the other.
        Sequential = "sequential",
    }
}

/// The primary comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PrimaryRecord {
    /// Name of the primary comparison's metric, or `auto`.
    pub metric: String,
    /// Load of the primary comparison on the axis. `null` if cassay chooses it.
    pub point: Option<f64>,
}

/// A statement, with all settings for sending and judging it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestRecord {
    /// Kind of operation.
    pub kind: String,
    /// CQL text of the statement.
    pub cql: String,
    /// Consistency level.
    pub consistency: Option<String>,
    /// Consistency level of the statement's condition.
    pub serial_consistency: Option<String>,
    /// True if executing the statement again has the same effect as executing it once.
    pub idempotent: Option<bool>,
    /// True if it is a prepared statement.
    pub prepared: Option<bool>,
    /// Kind of the batch that contains the statement. `null` if it is sent alone.
    pub batch: Option<String>,
    /// True if the statement has a condition.
    pub conditional: bool,
    /// True if the statement reads rows.
    pub returns_rows: Option<bool>,
    /// Number of rows in a page.
    pub page_size: Option<u64>,
    /// Maximum number of pages to read.
    pub pages_max: Option<u64>,
    /// Source of the write timestamps: `client` or `server`.
    pub timestamps: Option<String>,
    /// Timeout of an attempt, ms.
    pub timeout_ms: Option<f64>,
    /// Number of attempts after the first.
    pub retries: Option<u64>,
    /// Time after which a speculative attempt is sent, ms. `null` if there are no speculative
    /// attempts.
    pub speculate_after_ms: Option<f64>,
    /// Compression of frames, such as `none` or `lz4`.
    pub compression: Option<String>,
}
