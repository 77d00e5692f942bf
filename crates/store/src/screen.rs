//! What a screening found, in `findings.json`.

use analysis::procedure::Point;
use analysis::screen::Activity;
use serde::{Deserialize, Serialize};

/// Which of many settings do anything, at one point, by one metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScreenRecord {
    /// `ops_per_s`, `latency_ms.p99`, …
    pub metric: String,
    /// Where on the axes of the procedure.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// Of a study of imports, which of their steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// `2^(7-4)`, `Plackett-Burman 12`, …
    pub design: String,
    /// What it cannot tell apart.
    pub mixed: String,
    /// Its runs.
    pub runs: usize,
    /// Why there is no answer; none if there is one. Effects are then absent.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub refused: Option<String>,
    /// Lenth's pseudo standard error, of ln.
    #[serde(default)]
    pub pse: f64,
    /// What one effect that is none exceeds in 5 % of cases.
    #[serde(default)]
    pub me: f64,
    /// What any effect that is none exceeds in 5 % of screenings.
    #[serde(default)]
    pub sme: f64,
    /// Every contrast: the settings in the study's order, then those that are no setting's.
    #[serde(default)]
    pub effects: Vec<ScreenedRecord>,
    /// The study as it is written ÷ the mean of the runs; none if it has no usable trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_ratio: Option<f64>,
    /// Settings to confirm, the largest effect first.
    #[serde(default)]
    pub confirm: Vec<String>,
    /// What to put in place of `screen` for that.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub matrix: String,
}

/// One effect of a screening.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScreenedRecord {
    /// The setting; empty of a contrast that is no setting's.
    pub setting: String,
    /// Its second value.
    pub value: String,
    /// Its first value.
    pub against: String,
    /// ln of the ratio of the second to the first.
    pub ln_ratio: f64,
    /// `active`, `possible` or `silent`.
    pub activity: Activity,
}
