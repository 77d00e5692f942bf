//! Results of a screening, in `findings.json`.

use analysis::procedure::Point;
use analysis::screening::Activity;
use serde::{Deserialize, Serialize};

/// Settings that have an effect, among many settings, at one point and measured by one metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScreenRecord {
    /// Metric: `ops_per_s`, `latency_ms.p99`, ….
    pub metric: String,
    /// Load that the procedure used.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// Step of the import, in a study of imports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Name of the design, such as `2^(7-4)` or `Plackett-Burman 12`.
    pub design: String,
    /// Description of the effects that the design cannot separate.
    pub mixed: String,
    /// Number of runs in the design.
    pub runs: usize,
    /// Reason why there is no answer. The effects are then absent. Absent if there is an answer.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub refused: Option<String>,
    /// Lenth's pseudo standard error of the effects, which are logarithms.
    #[serde(default)]
    pub pse: f64,
    /// Margin of error: an effect of 0 exceeds it in 5 % of cases.
    #[serde(default)]
    pub me: f64,
    /// Simultaneous margin of error: in 5 % of screenings, at least one effect of 0 exceeds it.
    #[serde(default)]
    pub sme: f64,
    /// Effects of all contrasts: those of the settings in the study's order, then those without a
    /// setting.
    #[serde(default)]
    pub effects: Vec<ScreenedRecord>,
    /// Metric of the original study ÷ geometric mean of the runs. Absent if the original study has
    /// no usable trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_ratio: Option<f64>,
    /// Settings to confirm, the largest effect first.
    #[serde(default)]
    pub confirm: Vec<String>,
    /// Keys of a study that confirms the settings in `confirm`. They replace `screen`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub matrix: String,
}

/// An effect of a screening.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScreenedRecord {
    /// Name of the setting. Empty for a contrast without a setting.
    pub setting: String,
    /// Second value of the setting.
    pub value: String,
    /// First value of the setting.
    pub against: String,
    /// Logarithm of the ratio of the second value to the first.
    pub ln_ratio: f64,
    /// Judgement of the effect: `active`, `possible` or `silent`.
    pub activity: Activity,
}
