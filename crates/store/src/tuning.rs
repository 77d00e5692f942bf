//! Results of tuning, in `findings.json`: the tests of single settings and of pairs, and the
//! comparison of the tuned settings with the defaults.

use crate::child_run::folder_in;
use analysis::procedure::Point;
use serde::{Deserialize, Serialize};

/// Folder of the runs of a tuning, in the folder of the run.
pub const TUNING_FOLDER: &str = "tune";

measure::word_enum! {
    /// Outcome of a test of changed settings.
    #[derive(Default)]
    pub enum TuningOutcome {
        /// The changed settings were better, so the tuning kept them.
        Kept = "kept",
        /// The changed settings were worse, or equivalent.
        Refused = "refused",
        /// The changed settings were better, but p99 exceeded the bound of the study.
        BeyondBound = "beyond_bound",
        /// The difference was smaller than the noise.
        Inconclusive = "inconclusive",
        /// The test did not run.
        #[default]
        NotRun = "not_run",
    }
}

/// A setting of a screening with one of its values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunedSettingRecord {
    /// Name of the setting.
    pub setting: String,
    /// Name of its value.
    pub value: String,
}

/// Lists settings with their values, such as `heap “large” and compaction “ucs”`.
pub fn tuned_names(settings: &[TunedSettingRecord]) -> String {
    let of = |one: &TunedSettingRecord| format!("{} “{}”", one.setting, one.value);
    let all: Vec<String> = settings.iter().map(of).collect();
    measure::number::listed(&all)
}

/// A test of one or two changed settings against the best settings so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TuningTestRecord {
    /// The changed settings.
    pub settings: Vec<TunedSettingRecord>,
    /// Outcome: `kept`, `refused`, `beyond_bound`, `inconclusive` or `not_run`.
    pub outcome: TuningOutcome,
    /// Ratio of the metric: changed settings ÷ best settings so far. Absent if the test did not
    /// run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// 95 % confidence interval of the ratio. It remains valid although the test may stop after
    /// each block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
    /// p99 with the changed settings, in ms. Absent if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<f64>,
    /// Number of blocks.
    #[serde(default)]
    pub blocks: usize,
    /// Folder of the test's run, relative to the folder of this run. Empty if the test did not run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// Reason why the test did not run or has no ratio. Empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// The tuned settings, compared with one of the defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TuningResultRecord {
    /// The default: `default` (the study as written) or `latest` (`cassandra_latest.yaml`).
    pub against: String,
    /// Ratio of the metric: tuned settings ÷ default.
    pub ratio: f64,
    /// 95 % confidence interval of the ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
    /// True if the tuned settings are better.
    pub better: bool,
}

/// Result of tuning the settings of a screening.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TuningRecord {
    /// Name of the metric: `ops_per_s`, `latency_ms.p50` or `latency_ms.p99`.
    pub metric: String,
    /// Load of all tests.
    #[serde(default, with = "crate::point")]
    pub point: Option<Point>,
    /// Upper bound of p99, in ms. Absent without a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ms_max: Option<f64>,
    /// Number of settings that the study names.
    pub settings: usize,
    /// Tests in the order in which they ran.
    pub tests: Vec<TuningTestRecord>,
    /// Settings that the tests kept.
    pub kept: Vec<TunedSettingRecord>,
    /// Kept settings as a part of a study, in one line of YAML. Empty if no setting was kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub overlay: String,
    /// Comparisons of the kept settings with the defaults. Empty if no setting was kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<TuningResultRecord>,
    /// Number of blocks of the comparison with the defaults.
    #[serde(default)]
    pub blocks: usize,
    /// Folder of the comparison's run, relative to the folder of this run. Empty without a
    /// comparison.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// Reason why the tuning ended early, or has no comparison with the defaults. Empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl TuningTestRecord {
    /// Returns the folder of the test's run, relative to the folder of this run. `None` if the test
    /// has no run, or if the record contains any other path.
    pub fn run_folder(&self) -> Option<&str> {
        folder_in(TUNING_FOLDER, &self.run)
    }
}

impl TuningRecord {
    /// Returns the folder of the comparison's run, relative to the folder of this run. `None`
    /// without a comparison, or if the record contains any other path.
    pub fn run_folder(&self) -> Option<&str> {
        folder_in(TUNING_FOLDER, &self.run)
    }

    /// Returns true if the comparison with the study as written shows that the kept settings are
    /// better.
    pub fn is_confirmed(&self) -> bool {
        self.results.first().is_some_and(|result| result.better)
    }
}
