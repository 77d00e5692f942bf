//! Records under `requirements` in `findings.json`: the requirements of the study, and their
//! outcomes.

use analysis::VariantName;
use analysis::compare::Bound;
use analysis::procedure::Point;
use analysis::requirements::{RequiredMetric, RequirementResult};
use serde::{Deserialize, Serialize};

/// One requirement of one variant at one point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RequirementRecord {
    /// Name of the metric as in the study, such as `p99_ms`, `error_rate`, `ops_per_s` or `ratio`.
    pub metric: RequiredMetric,
    /// Name of the variant.
    pub variant: VariantName,
    /// Load of the point. `{}` if the requirement is not about a measured point.
    #[serde(default, with = "crate::point")]
    pub point: Option<Point>,
    /// Direction of the limit: `at_most` or `at_least`.
    pub bound: Bound,
    /// Limit that the study requires for the value.
    pub limit: f64,
    /// Measured value of the metric. Absent if the metric was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// True if the value is only a lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub value_at_least: bool,
    /// 95 % confidence interval of the value. The outcome depends on this interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
    /// Outcome: `met`, `missed` or `inconclusive`. It is `inconclusive` if the interval contains
    /// the limit, or if the value has no interval.
    pub outcome: RequirementResult,
    /// True if an `inconclusive` outcome counts as missed.
    #[serde(
        default,
        alias = "untold_is_missed",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub inconclusive_is_missed: bool,
    /// Value of the metric in this run, in op/s or ms, if `value` is a ratio. It is the geometric
    /// mean over the blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<f64>,
    /// Value of an earlier run, if the requirement compares this run with an earlier run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<BesideRecord>,
    /// Clause with the measured and the required value. Empty in runs of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub clause: String,
    /// Sentence with the measured and the required value, and the outcome.
    #[serde(default)]
    pub says: String,
}

/// Value of an earlier run with which a requirement compares this run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BesideRecord {
    /// Study and stamp of the earlier run.
    pub run: String,
    /// Value in the earlier run, in the unit of `measured`. The ratio in the requirement is
    /// `measured` ÷ this value.
    pub value: f64,
}

impl RequirementRecord {
    /// Returns true if this requirement leads to the exit code for missed requirements.
    pub fn is_missed(&self) -> bool {
        match self.outcome {
            RequirementResult::Met => false,
            RequirementResult::Inconclusive => self.inconclusive_is_missed,
            RequirementResult::Missed => true,
        }
    }

    /// Returns the clause about the requirement. In a run of an earlier version, which has no
    /// clause, returns the whole sentence.
    pub fn in_short(&self) -> &str {
        match self.clause.as_str() {
            "" => self.says.trim_end_matches('.'),
            clause => clause,
        }
    }

    /// Returns true if the outcome is unknown and does not count as missed.
    pub fn is_open(&self) -> bool {
        self.outcome == RequirementResult::Inconclusive && !self.inconclusive_is_missed
    }
}

/// Returns the combined outcome of all requirements of a run. `None` if the run has no
/// requirements.
pub fn outcome_of(requirements: &[RequirementRecord]) -> Option<RequirementResult> {
    if requirements.is_empty() {
        None
    } else if requirements.iter().any(RequirementRecord::is_missed) {
        Some(RequirementResult::Missed)
    } else if requirements.iter().any(RequirementRecord::is_open) {
        Some(RequirementResult::Inconclusive)
    } else {
        Some(RequirementResult::Met)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_an_earlier_version_is_read_and_written_anew() {
        let mut earlier = serde_json::to_value(RequirementRecord::default()).unwrap();
        earlier["outcome"] = "untold".into();
        earlier["untold_is_missed"] = true.into();
        let read: RequirementRecord = serde_json::from_value(earlier).unwrap();
        assert!(read.is_missed() && !read.is_open(), "{read:?}");
        let written = serde_json::to_value(read).unwrap();
        assert_eq!(written["outcome"], "inconclusive");
        assert_eq!(written["inconclusive_is_missed"], true);
    }
}
