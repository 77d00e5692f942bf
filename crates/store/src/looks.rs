//! Looks at a comparison (interim evaluations while its blocks are measured), and the ratio without
//! the influence of an outlying block. Both records belong to [`crate::record::ComparisonRecord`].

use crate::record::ComparisonRecord;
use analysis::Looks;
use serde::{Deserialize, Serialize};

measure::word_enum! {
    /// Method by which the looks at a comparison were planned.
    #[derive(Default)]
    pub enum LooksHow {
        /// The study stated the minimum and the maximum number of blocks before the first block.
        #[default]
        Repeated = "repeated",
        /// Blocks were added after the result was known.
        Anytime = "anytime",
    }
}

/// Looks at a comparison, and the reason why they ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LooksRecord {
    /// Method by which the looks were planned. `repeated`: the study stated the minimum and maximum
    /// number of blocks before the first block. `anytime`: blocks were added after the result was
    /// known.
    pub how: LooksHow,
    /// Number of pairs at the first look. 0 for `anytime`.
    pub min: usize,
    /// Number of pairs at the last look. 0 for `anytime`.
    pub max: usize,
    /// Number of blocks that were added to the finished run.
    pub added: usize,
    /// Error level of each single interval. It is chosen so that all intervals together contain
    /// their true values with 95 % confidence. Absent for `anytime`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<f64>,
    /// Number of comparisons that share the confidence of 95 %.
    pub among: usize,
    /// Number of looks at the comparison.
    pub count: usize,
    /// Reason why the looks ended, such as `answered after 6 of at most 12 blocks`.
    pub ended: String,
    /// Results of each look at the primary comparison.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub grew: Vec<LookRecord>,
}

/// Result of one look at a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LookRecord {
    /// Last block that the look includes, starting at 1.
    pub block: usize,
    /// Number of pairs that the look includes.
    pub pairs: usize,
    /// Ratio contender ÷ baseline at this look.
    pub ratio: f64,
    /// Confidence interval of the ratio at this look, computed like the interval of the comparison.
    /// `null` if an end is infinite, or if the ratio is a bound.
    pub ci95: Option<[f64; 2]>,
}

/// Ratio without the influence of an outlying block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RobustRecord {
    /// Number of the outlying block, starting at 1.
    pub block: usize,
    /// Distance of the outlying block from the median, in robust standard deviations (1.4826 MAD).
    pub z: f64,
    /// Ratio without the influence of the outlying block (Hodges and Lehmann).
    pub ratio: f64,
    /// Confidence interval of the robust ratio, by signed ranks. The interval is not adjusted for
    /// other comparisons or looks.
    pub interval: [f64; 2],
    /// Coverage probability of the interval, which is at least 0.95.
    pub covers: f64,
}

impl ComparisonRecord {
    /// Returns the schedule of the looks at this comparison.
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
