//! Records under `resolved` in `plan.json`: the study with every default filled in. `resume` and
//! the report read them.
//!
//! Every field has a default, which means that the value was not recorded or not stated. The
//! settings of a variant are a tree, as in the study.

use crate::effects::AxisRecord;
use analysis::VariantName;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The study with every default filled in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResolvedRecord {
    /// Path of the file that contains the study.
    pub source: String,
    /// Name of the published figures that the report shows. `null` if the study does not cite a
    /// publication.
    pub published: Option<String>,
    /// Changes that the command line made to the study.
    pub overrides: OverridesRecord,
    /// Number of blocks, and order of their trials.
    pub repeat: RepeatRecord,
    /// Primary comparison. It does not share its error level with other comparisons.
    pub primary: PrimaryRecord,
    /// Remarks on settings that cassay adapted, and on differences between an import and its
    /// original. Each remark is one sentence.
    pub notes: Vec<String>,
    /// Settings of each variant, without the values of secrets.
    pub variants: Map<String, Value>,
    /// All statements of each variant.
    pub requests: BTreeMap<VariantName, Vec<RequestRecord>>,
    /// Combinations of values that define the variants. Absent if the study has no matrix or grid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub combinations: Option<CombinationsRecord>,
    /// Planned faults of each variant, including randomly chosen faults.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub faults: BTreeMap<VariantName, Vec<PlannedFaultRecord>>,
    /// Maps each variant with faults to the variant without faults that it is compared with.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub without_faults: BTreeMap<VariantName, VariantName>,
    /// Fields that other versions of cassay wrote.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// A planned fault of a variant.
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
    /// For each variant, the index of the variant's value on each axis.
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
    /// Contents of the files that the study refers to, by file name.
    pub inputs: BTreeMap<String, String>,
    /// True if the user declared the study trusted when the run began. Resuming the run does not
    /// make the study trusted.
    pub trust: bool,
    /// Absolute path of the folder that contains the study.
    pub folder: Option<PathBuf>,
}

/// Number of blocks, and order of their trials.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RepeatRecord {
    /// Number of blocks. If the primary comparison may end the study early, this is the maximum
    /// number.
    pub blocks: usize,
    /// Number of blocks after which the primary comparison may end the study early. Absent if
    /// cassay always measures all blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_look: Option<usize>,
    /// Smallest difference that the study must be able to detect, as a share. Absent if the study
    /// does not state a difference.
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
        /// All trials of one variant run before the trials of the next variant.
        Sequential = "sequential",
    }
}

/// The primary comparison of a study.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PrimaryRecord {
    /// Name of the primary comparison's metric, or `auto`.
    pub metric: String,
    /// Load of the primary comparison. `null` if cassay chooses the load.
    pub point: Option<f64>,
}

/// A statement, with all settings that determine how it is sent and judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestRecord {
    /// Kind of operation that executes the statement.
    pub kind: String,
    /// CQL text of the statement.
    pub cql: String,
    /// Consistency level of the statement.
    pub consistency: Option<String>,
    /// Serial consistency level, which applies to the statement's condition.
    pub serial_consistency: Option<String>,
    /// True if executing the statement again has the same effect as executing it once.
    pub idempotent: Option<bool>,
    /// True if the client sends the statement as a prepared statement.
    pub prepared: Option<bool>,
    /// Kind of the batch that contains the statement. `null` if the client sends the statement
    /// alone.
    pub batch: Option<String>,
    /// True if the statement has a condition.
    pub conditional: bool,
    /// True if the statement reads rows.
    pub returns_rows: Option<bool>,
    /// Maximum number of rows in a page.
    pub page_size: Option<u64>,
    /// Maximum number of pages that the client reads.
    pub pages_max: Option<u64>,
    /// Source of the write timestamps: `client` or `server`.
    pub timestamps: Option<String>,
    /// Timeout of an attempt, ms.
    pub timeout_ms: Option<f64>,
    /// Maximum number of attempts after the first attempt.
    pub retries: Option<u64>,
    /// Time after which the client sends a speculative attempt, ms. `null` if the client does not
    /// send speculative attempts.
    pub speculate_after_ms: Option<f64>,
    /// Compression of frames, such as `none` or `lz4`.
    pub compression: Option<String>,
}
