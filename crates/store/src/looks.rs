//! How a comparison was looked at while its blocks came, and what stands beside its ratio where one
//! block differs: parts of [`crate::record::ComparisonRecord`].

use crate::record::ComparisonRecord;
use analysis::Looks;
use serde::{Deserialize, Serialize};

measure::word_enum! {
    /// How somebody looked at blocks as they came.
    #[derive(Default)]
    pub enum LooksHow {
        /// Least and most were stated before the first block.
        #[default]
        Repeated = "repeated",
        /// Blocks were added to what had been seen.
        Anytime = "anytime",
    }
}

/// How often a comparison was looked at, and why no more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LooksRecord {
    /// `repeated`: least and most were stated before the first block. `anytime`: blocks were added
    /// to what had been seen.
    pub how: LooksHow,
    /// Pairs before the first look; 0 of `anytime`.
    pub min: usize,
    /// Pairs at the last look; 0 of `anytime`.
    pub max: usize,
    /// Blocks that were added to a run which had come to its end.
    pub added: usize,
    /// Level of each interval by itself, so that all together have 95 %; none of `anytime`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<f64>,
    /// How many comparisons share those 95 %.
    pub among: usize,
    /// How often it was looked at.
    pub count: usize,
    /// Why no more: `answered after 6 of at most 12 blocks`.
    pub ended: String,
    /// Look by look; of the primary comparison.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub grew: Vec<LookRecord>,
}

/// One look.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LookRecord {
    /// After which block, from 1.
    pub block: usize,
    /// Pairs until then.
    pub pairs: usize,
    /// Contender ÷ baseline.
    pub ratio: f64,
    /// Interval of the ratio, as the comparison's; none where it had no end, or of a bound.
    pub ci95: Option<[f64; 2]>,
}

/// Beside a ratio of which one block differs from the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RobustRecord {
    /// Which, from 1.
    pub block: usize,
    /// By how many deviations, robustly measured.
    pub z: f64,
    /// The ratio without its weight (Hodges and Lehmann).
    pub ratio: f64,
    /// Interval of that by signed ranks, for it alone and one look.
    pub interval: [f64; 2],
    /// With which probability that holds the true ratio.
    pub covers: f64,
}

impl ComparisonRecord {
    /// How it was looked at, as far as its blocks are counted by it.
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
