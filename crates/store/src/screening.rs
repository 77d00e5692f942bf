//! Results of a screening, in `findings.json`.

use analysis::procedure::Point;
use analysis::screening::Activity;
use serde::{Deserialize, Serialize};

/// Result of a screening for one point and one metric. A screening identifies the settings that
/// have an effect among many settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScreenRecord {
    /// Name of the metric: `ops_per_s`, `latency_ms.p99`, ….
    pub metric: String,
    /// Load that the procedure used.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// Step of the import. Present only in a study of imports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Name of the design, such as `2^(7-4)` or `Plackett-Burman 12`.
    pub design: String,
    /// Description of the effects that the design cannot distinguish from each other.
    pub mixed: String,
    /// Number of runs in the design.
    pub runs: usize,
    /// Reason why the screening has no answer. The effects are then absent. This field is absent if
    /// the screening has an answer.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub refused: Option<String>,
    /// Lenth's pseudo standard error of the effects, which are logarithms.
    #[serde(default)]
    pub pse: f64,
    /// Lenth's margin of error. In 5 % of cases, the estimate of an effect that is truly 0 exceeds
    /// it.
    #[serde(default)]
    pub me: f64,
    /// Lenth's simultaneous margin of error. In 5 % of screenings, the estimate of at least one
    /// effect that is truly 0 exceeds it.
    #[serde(default)]
    pub sme: f64,
    /// Effects of all contrasts. The settings come first, in the study's order, then contrasts
    /// without a setting.
    #[serde(default)]
    pub effects: Vec<ScreenedRecord>,
    /// Value of the metric for the original study ÷ geometric mean over the runs of the design.
    /// Absent if the original study has no usable trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_ratio: Option<f64>,
    /// Names of the settings whose effect a further study should confirm. The largest effect comes
    /// first.
    #[serde(default)]
    pub confirm: Vec<String>,
    /// Text of a study section that confirms the settings in `confirm`. It replaces the key
    /// `screen` of the study.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub matrix: String,
}

/// An effect of a screening.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScreenedRecord {
    /// Name of the setting. Empty for a contrast without a setting.
    pub setting: String,
    /// Second value of the setting. It is compared with the first value.
    pub value: String,
    /// First value of the setting.
    pub against: String,
    /// Natural logarithm of a ratio: the metric with the second value of the setting ÷ the metric
    /// with the first value.
    pub ln_ratio: f64,
    /// Judgement of the effect: `active`, `possible` or `silent`.
    pub activity: Activity,
}
