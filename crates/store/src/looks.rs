//! Looks at a comparison while its blocks are measured, and the ratio without a block that differs.
//! Both are parts of [`crate::record::ComparisonRecord`].

use crate::record::ComparisonRecord;
use analysis::Looks;
use serde::{Deserialize, Serialize};

measure::word_enum! {
    /// Plan of the looks at blocks while they are measured.
    #[derive(Default)]
    pub enum LooksHow {
        /// The minimum and maximum of blocks were stated before the first block.
        #[default]
        Repeated = "repeated",
        /// Blocks were added after the result was visible.
        Anytime = "anytime",
    }
}

/// Number of looks at a comparison, and the reason for their end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LooksRecord {
    /// `repeated`: the minimum and maximum of blocks were stated before the first block. `anytime`:
    /// blocks were added after the result was visible.
    pub how: LooksHow,
    /// Number of pairs before the first look; 0 for `anytime`.
    pub min: usize,
    /// Number of pairs at the last look; 0 for `anytime`.
    pub max: usize,
    /// Number of blocks that were added to the finished run.
    pub added: usize,
    /// Error level of each interval. At this level, the confidence that all intervals contain their
    /// true values is 95 %.
    /// Absent for `anytime`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<f64>,
    /// Number of comparisons that share those 95 %.
    pub among: usize,
    /// Number of looks.
    pub count: usize,
    /// Reason for the end: `answered after 6 of at most 12 blocks`.
    pub ended: String,
    /// Results look by look, for the primary comparison.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub grew: Vec<LookRecord>,
}

/// One look.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LookRecord {
    /// Last block that the look includes, from 1.
    pub block: usize,
    /// Number of pairs up to that block.
    pub pairs: usize,
    /// Contender ÷ baseline.
    pub ratio: f64,
    /// Interval of the ratio, as in the comparison. `null` if it was unbounded, or if the ratio is
    /// a bound.
    pub ci95: Option<[f64; 2]>,
}

/// Ratio without the influence of one block that differs from the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RobustRecord {
    /// Number of the differing block, from 1.
    pub block: usize,
    /// Distance of that block from the median, in robust standard deviations (1.4826 MAD).
    pub z: f64,
    /// Ratio without the influence of that block (Hodges and Lehmann).
    pub ratio: f64,
    /// Interval of that ratio by signed ranks, for that ratio alone and for one look.
    pub interval: [f64; 2],
    /// Coverage of the interval: at least 0.95.
    pub covers: f64,
}

impl ComparisonRecord {
    /// Returns the part of the plan of its looks that affects the number of its blocks.
    pub fn looks_in(&self) -> Looks {
        match &self.looks {
            None => Looks::Once,
            Some(looks) if looks.how == LooksHow::Anytime => Looks::Anytime,
            Some(looks) => Looks::Repeated {
                min: looks.min,
                max: looks.max,
            },
        }
    }
}
