//! Results of the validity rules and reasons for verdicts, with their numbers. The records belong
//! to [`crate::record::FindingsRecord`].
//!
//! Runs of earlier versions contain their reasons only as sentences. This is the only module that
//! derives a rule from a sentence. All other code uses [`TrialFinding::reasons_as_data`].

use crate::record::{FindingsRecord, RuleOutcome, TrialFinding};
use analysis::rules::{Measurement, Quantity, Rule, is_beyond, title};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Result of one validity rule.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RuleRecord {
    /// Name of the rule, from `V1` to `V21`.
    pub rule: String,
    /// Outcome of the rule: `pass`, `warn`, `fail` or `unknown`.
    pub result: RuleOutcome,
    /// Sentence with the observed value and the limit.
    pub detail: String,
    /// Numbers in `detail`. Numbers beyond their limits come first. Empty for rules without
    /// numbers, and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<MeasurementRecord>,
}

/// A measured number from which the result of a rule follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasurementRecord {
    /// Quantity that was measured.
    pub quantity: Quantity,
    /// Measured value, in `unit`. The limits apply to the absolute value.
    pub value: f64,
    /// Limit that the sentence states, in `unit`. It is the limit at which the rule warns, or else
    /// the limit at which the rule fails. Absent if the rule has no limit for this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
    /// Limit at which the rule fails, in `unit`. Absent if this value alone cannot fail the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail_limit: Option<f64>,
    /// True if `limit` and `fail_limit` are minima. Otherwise, they are maxima.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub minimum: bool,
    /// Unit of the value and the limits, such as `share` (of 1), `s` or `operations`.
    pub unit: String,
    /// Client, node or kind of operation that the value belongs to. Absent if the value belongs to
    /// the whole trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// Reason for a verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReasonRecord {
    /// Name of the rule, from `V1` to `V21`. Absent if the reason is a failed trial or a stopped
    /// run instead of a rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Worst result of the rule in the trials with this reason: `warn` or `fail`. Absent if the
    /// reason is not a rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<RuleOutcome>,
    /// Numbers of the trials to which the reason applies. Empty for a reason of the whole run, and
    /// in the findings of a single trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<usize>,
    /// Numbers in the sentence of the reason. Numbers beyond their limits come first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<MeasurementRecord>,
}

impl From<&Measurement> for MeasurementRecord {
    fn from(measurement: &Measurement) -> MeasurementRecord {
        let quantity = measurement.quantity;
        MeasurementRecord {
            quantity,
            value: measurement.value,
            limit: measurement.limit,
            fail_limit: measurement.fail_limit,
            minimum: quantity.has_minimum(),
            unit: quantity.unit().to_owned(),
            place: measurement.place.clone(),
        }
    }
}

impl MeasurementRecord {
    /// Returns true if the value has reached the limit that the sentence states. A value of 0 never
    /// reaches a limit.
    pub fn is_beyond_limit(&self) -> bool {
        is_beyond(self.quantity, self.value, self.limit)
    }
}

impl From<&Rule> for RuleRecord {
    fn from(rule: &Rule) -> RuleRecord {
        RuleRecord {
            rule: rule.id.to_owned(),
            result: rule.outcome,
            detail: rule.detail.clone(),
            measured: numbers(rule),
        }
    }
}

impl From<&Rule> for ReasonRecord {
    fn from(rule: &Rule) -> ReasonRecord {
        ReasonRecord {
            rule: Some(rule.id.to_owned()),
            result: Some(rule.outcome),
            trials: Vec::new(),
            measured: numbers(rule),
        }
    }
}

/// Returns the measured numbers of a rule. Omits numbers that are not finite, because JSON cannot
/// contain them.
fn numbers(rule: &Rule) -> Vec<MeasurementRecord> {
    let finite = rule.measured.iter().filter(|one| one.value.is_finite());
    finite.map(MeasurementRecord::from).collect()
}

impl TrialFinding {
    /// Returns the reasons as data, in the order of their sentences. For runs of earlier versions,
    /// the reasons contain no numbers.
    pub fn reasons_as_data(&self) -> Cow<'_, [ReasonRecord]> {
        if self.reason_records.len() == self.reasons.len() {
            return Cow::Borrowed(&self.reason_records);
        }
        let from_words = |words: &String| {
            let rule = rule_in(words)?;
            let record = self.rules.iter().find(|record| record.rule == rule);
            Some(ReasonRecord {
                rule: Some(rule.to_owned()),
                result: record.map(|record| record.result),
                ..ReasonRecord::default()
            })
        };
        let reasons = self.reasons.iter().map(|words| from_words(words).unwrap_or_default());
        Cow::Owned(reasons.collect())
    }
}

impl FindingsRecord {
    /// Returns the reasons as data, in the order of their sentences. Runs of earlier versions
    /// recorded only sentences, so their reasons contain no numbers. The trials of such a reason
    /// are those whose sentences the reason quotes.
    pub fn reasons_as_data(&self) -> Cow<'_, [ReasonRecord]> {
        if self.reason_records.len() == self.reasons.len() {
            return Cow::Borrowed(&self.reason_records);
        }
        let from_words = |words: &String| {
            let quoted = |trial: &TrialFinding| {
                let records = trial.reasons_as_data();
                let mut own = trial.reasons.iter().zip(records.iter());
                let (_, record) = own.find(|(own, _)| words.ends_with(own.as_str()))?;
                Some((trial.index, record.clone()))
            };
            let quoted: Vec<(usize, ReasonRecord)> =
                self.trials.iter().filter_map(quoted).collect();
            let trials = quoted.iter().map(|(index, _)| *index).collect();
            let first = quoted.into_iter().next().map(|(_, record)| record);
            ReasonRecord {
                trials,
                ..first.unwrap_or_default()
            }
        };
        Cow::Owned(self.reasons.iter().map(from_words).collect())
    }
}

/// Returns the rule that a sentence of an earlier version names, such as `V18` for `V18: others
/// used 33 %`.
fn rule_in(words: &str) -> Option<&str> {
    let rule = words.split(':').next()?;
    title(rule).map(|_| rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::rules::{Evidence, Limits, OfferedLoad, judge};

    /// Returns findings as earlier versions wrote them, with reasons only as sentences.
    fn earlier() -> FindingsRecord {
        let trial = |index: usize, reasons: &[&str]| TrialFinding {
            index,
            reasons: reasons.iter().map(|words| (*words).to_owned()).collect(),
            rules: vec![RuleRecord {
                rule: "V18".to_owned(),
                result: RuleOutcome::Fail,
                detail: "others used 33 %".to_owned(),
                measured: Vec::new(),
            }],
            ..TrialFinding::default()
        };
        FindingsRecord {
            reasons: [
                "the run ended before its last trial: no room",
                "a at 4 threads: V18: others used 33 %",
                "b at 4 threads: the trial failed: node1: has died",
            ]
            .map(str::to_owned)
            .into(),
            trials: vec![
                trial(0, &["V18: others used 33 %"]),
                trial(1, &["the trial failed: node1: has died"]),
            ],
            ..FindingsRecord::default()
        }
    }

    #[test]
    fn a_record_without_the_data_is_read_by_its_sentences() {
        let text = serde_json::to_string(&earlier()).unwrap();
        assert!(
            !text.contains("reason_records") && !text.contains("measured"),
            "{text}"
        );
        let read: FindingsRecord = serde_json::from_str(&text).unwrap();
        let of_v18 = ReasonRecord {
            rule: Some("V18".to_owned()),
            result: Some(RuleOutcome::Fail),
            ..ReasonRecord::default()
        };
        assert_eq!(read.trials[0].reasons_as_data().first(), Some(&of_v18));
        assert_eq!(*read.trials[1].reasons_as_data(), [ReasonRecord::default()]);
        let of = |trials: &[usize], of: ReasonRecord| ReasonRecord {
            trials: trials.to_vec(),
            ..of
        };
        assert_eq!(
            *read.reasons_as_data(),
            [
                ReasonRecord::default(),
                of(&[0], of_v18),
                of(&[1], ReasonRecord::default()),
            ]
        );
    }

    /// Returns the finding of a trial that sent 90 of 100 scheduled operations.
    fn judged() -> TrialFinding {
        let mut evidence = Evidence {
            offered: Some(OfferedLoad {
                operations: 100.0,
                is_random: false,
            }),
            ..Evidence::default()
        };
        evidence.window.ok = 90;
        let judgement = judge(&evidence, &Limits::default());
        let reasons = judgement.reasons();
        TrialFinding {
            reasons: reasons.iter().map(ToString::to_string).collect(),
            reason_records: reasons.into_iter().map(ReasonRecord::from).collect(),
            rules: judgement.rules.iter().map(RuleRecord::from).collect(),
            ..TrialFinding::default()
        }
    }

    #[test]
    fn a_reason_has_value_limit_and_unit_beside_its_sentence() {
        let text = serde_json::to_string(&judged()).unwrap();
        let trial: TrialFinding = serde_json::from_str(&text).unwrap();
        let records = trial.reasons_as_data();
        let mut reasons = trial.reasons.iter().zip(records.iter());
        let (words, record) = reasons.find(|(words, _)| words.starts_with("V1:")).unwrap();
        assert!(
            words.starts_with("V1: 90 % of the 100 scheduled"),
            "{words}"
        );
        assert_eq!(record.rule.as_deref(), Some("V1"));
        assert_eq!(record.result, Some(RuleOutcome::Fail));
        let sent = MeasurementRecord {
            quantity: Quantity::SentInWindow,
            value: 0.9,
            limit: Some(0.99),
            fail_limit: Some(0.99),
            minimum: true,
            unit: "share".to_owned(),
            place: None,
        };
        assert_eq!(record.measured, [sent]);
        let rule = trial.rules.iter().find(|rule| rule.rule == "V1").unwrap();
        assert_eq!(rule.measured, record.measured);
    }
}
