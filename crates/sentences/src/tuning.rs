//! Describes the result of a tuning.

use crate::result_place::{metric_words, point_words};
use measure::number::{change, changes, counted};
use store::record::{TuningOutcome, TuningRecord, TuningResultRecord, tuned_names as names};

/// Returns the sentences about a tuning.
pub fn sentences(tuning: &TuningRecord) -> Vec<String> {
    let mut said = vec![result(tuning)];
    let not_run = tuning.tests.iter().filter(|test| test.outcome == TuningOutcome::NotRun);
    if let Some(first) = not_run.clone().next() {
        said.push(format!(
            "{} did not run. {}: {}.",
            counted(not_run.count() as u64, "test"),
            names(&first.settings),
            first.reason
        ));
    }
    if !tuning.reason.is_empty() {
        let what = if tuning.kept.is_empty() {
            "cassay did not tune the settings"
        } else {
            "cassay did not compare the tuned settings with the defaults"
        };
        said.push(format!("{what}: {}.", tuning.reason));
    }
    said
}

fn result(tuning: &TuningRecord) -> String {
    let at = point_words(tuning.point);
    let tests = tuning.tests.iter().filter(|test| test.outcome != TuningOutcome::NotRun).count();
    let tests = counted(tests as u64, "test");
    let all = tuning.settings;
    if tuning.kept.is_empty() {
        return format!(
            "At {at}, tuning found no better value for {all} settings in {tests}: keep the study \
             as written."
        );
    }
    let kept = names(&tuning.kept);
    let Some(default) = tuning.results.first() else {
        return format!("At {at}, tuning kept {kept} of {all} settings after {tests}.");
    };
    let metric = metric_words(&tuning.metric);
    let others: String = tuning.results[1..]
        .iter()
        .map(|other| format!("; {}", compared(other)))
        .collect();
    if default.better {
        format!(
            "At {at}, tuning improved {metric} with {kept} of {all} settings: {}{others} \
             ({tests}).",
            compared(default)
        )
    } else {
        format!(
            "At {at}, tests kept {kept}, but the final comparison does not show better {metric}: \
             {}{others}. Keep the study as written.",
            compared(default)
        )
    }
}

/// Describes a comparison with a default, such as `+12.3 % against the study as written (95 %: +8.1
/// to +16.7 %)`.
fn compared(result: &TuningResultRecord) -> String {
    let interval = result
        .ci95
        .map_or_else(String::new, |ends| format!(" (95 %: {})", changes(ends)));
    let against = match result.against.as_str() {
        "latest" => "cassandra_latest.yaml",
        _ => "the study as written",
    };
    format!("{} against {against}{interval}", change(result.ratio))
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::procedure::Point;
    use store::record::{TunedSettingRecord, TuningTestRecord};

    fn heap() -> TunedSettingRecord {
        TunedSettingRecord {
            setting: "heap".to_owned(),
            value: "large".to_owned(),
        }
    }

    fn tuning(better: bool) -> TuningRecord {
        let result = |against: &str, ratio: f64, better| TuningResultRecord {
            against: against.to_owned(),
            ratio,
            ci95: Some([ratio - 0.05, ratio + 0.05]),
            better,
        };
        TuningRecord {
            metric: "ops_per_s".to_owned(),
            point: Some(Point::Threads(8)),
            settings: 7,
            tests: vec![TuningTestRecord {
                settings: vec![heap()],
                outcome: TuningOutcome::Kept,
                ..TuningTestRecord::default()
            }],
            kept: vec![heap()],
            results: vec![
                result("default", 1.12, better),
                result("latest", 1.03, false),
            ],
            ..TuningRecord::default()
        }
    }

    #[test]
    fn kept_settings_stand_with_their_gain_against_both_defaults() {
        assert_eq!(
            sentences(&tuning(true)),
            [
                "At 8 threads, tuning improved throughput with heap “large” of 7 settings: +12.0 % \
                 against the study as written (95 %: +7.0 to +17.0 %); +3.0 % against \
                 cassandra_latest.yaml (95 %: -2.0 to +8.0 %) (1 test)."
            ]
        );
    }

    #[test]
    fn settings_that_the_final_comparison_refutes_are_not_advised() {
        let said = sentences(&tuning(false)).join(" ");
        assert!(said.contains("does not show better throughput"), "{said}");
        assert!(said.ends_with("Keep the study as written."), "{said}");
    }

    #[test]
    fn a_tuning_names_the_tests_that_did_not_run() {
        let record = TuningRecord {
            kept: Vec::new(),
            results: Vec::new(),
            tests: vec![TuningTestRecord {
                settings: vec![heap(), heap()],
                reason: "it needs 2 min, but only 1 min of `tune.minutes` remain".to_owned(),
                ..TuningTestRecord::default()
            }],
            ..tuning(false)
        };
        assert_eq!(
            sentences(&record),
            [
                "At 8 threads, tuning found no better value for 7 settings in 0 tests: keep the \
                 study as written.",
                "1 test did not run. heap “large” and heap “large”: it needs 2 min, but only 1 min \
                 of `tune.minutes` remain.",
            ]
        );
    }
}
