//! What stands under `requirements` in `findings.json`: what the study requires, and what came of
//! it.

use analysis::VariantName;
use analysis::compare::Bound;
use analysis::procedure::Point;
use analysis::require::{Outcome, RequiredMetric};
use serde::{Deserialize, Serialize};

/// One requirement of one variant at one point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RequirementRecord {
    /// As in the study: `p99_ms`, `error_rate`, `ops_per_s`, `ratio`, ….
    pub metric: RequiredMetric,
    /// Name of the variant.
    pub variant: VariantName,
    /// Where on the axes; empty where nothing was measured.
    #[serde(default, with = "crate::point")]
    pub point: Option<Point>,
    /// `at_most` or `at_least`.
    pub bound: Bound,
    /// The number that may not be passed.
    pub limit: f64,
    /// What was found; none where nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Whether it is only known to be at least so much.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub value_at_least: bool,
    /// Its 95 % confidence interval, which decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
    /// `met`, `missed`, or `untold` where the interval holds the limit or there is none.
    pub outcome: Outcome,
    /// Whether it counts as missed where it cannot be told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untold_is_missed: bool,
    /// What was measured of the metric itself where `value` is a ratio: op/s, or ms; the geometric
    /// mean of the blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<f64>,
    /// What it is compared with, where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<BesideRecord>,
    /// What was found and what is required, as a clause; empty in runs of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub clause: String,
    /// The same in a sentence, with what came of it.
    #[serde(default)]
    pub says: String,
}

/// What a number is compared with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BesideRecord {
    /// The earlier run, by study and stamp.
    pub run: String,
    /// What it measured there, in the unit of `measured`: their quotient is the ratio.
    pub value: f64,
}

impl RequirementRecord {
    /// Whether the run ends with the exit code of a missed requirement because of it.
    pub fn is_missed(&self) -> bool {
        match self.outcome {
            Outcome::Met => false,
            Outcome::Untold => self.untold_is_missed,
            Outcome::Missed => true,
        }
    }

    /// The clause about it; of a run of an earlier version the whole sentence.
    pub fn in_short(&self) -> &str {
        match self.clause.as_str() {
            "" => self.says.trim_end_matches('.'),
            clause => clause,
        }
    }

    /// Whether it cannot be told, and is let pass.
    pub fn is_open(&self) -> bool {
        self.outcome == Outcome::Untold && !self.untold_is_missed
    }
}

/// What came of all requirements of a run, in a word; none if it has none.
pub fn outcome_of(requirements: &[RequirementRecord]) -> Option<Outcome> {
    if requirements.is_empty() {
        None
    } else if requirements.iter().any(RequirementRecord::is_missed) {
        Some(Outcome::Missed)
    } else if requirements.iter().any(RequirementRecord::is_open) {
        Some(Outcome::Untold)
    } else {
        Some(Outcome::Met)
    }
}
