//! Tests of tuning with simulated runs, whose true effects are known.

use super::*;
use measure::Known;
use std::cell::RefCell;
use std::path::PathBuf;
use store::record::{ComparisonRecord, PointRecord, QuantilesRecord, ScreenedRecord};
use study::resolve::resolve;
use study::settings::{Overrides, Variant};

const STUDY: &str = "\
study: tune-it
question: Which settings are better?
target: {null: {}}
workload: {use: standard1}
procedure: {fixed: {threads: 4}}
window: {measure: 2s}
screen:
  settings:
    timeout: {low: {}, high: {client: {timeout: 20s}}}
    compression: {low: {}, high: {client: {compression: lz4}}}
    connections: {low: {}, high: {client: {connections_per_node: 4}}}
    in_flight: {low: {}, high: {client: {in_flight_max: 64}}}
";

/// Effects of the screening, as ln ratios, in the order of the settings.
const EFFECTS: [(&str, f64); 4] = [
    ("timeout", 0.01),
    ("compression", 0.02),
    ("connections", 0.15),
    ("in_flight", -0.03),
];

fn screened() -> FindingsRecord {
    let effect = |(setting, ln_ratio): (&str, f64)| ScreenedRecord {
        setting: setting.to_owned(),
        ln_ratio,
        ..ScreenedRecord::default()
    };
    FindingsRecord {
        screens: vec![ScreenRecord {
            metric: "ops_per_s".to_owned(),
            point: Some(analysis::procedure::Point::Threads(4)),
            effects: EFFECTS.map(effect).into(),
            ..ScreenRecord::default()
        }],
        answer: vec!["The screening says so.".to_owned()],
        ..FindingsRecord::default()
    }
}

/// True throughput of a variant, relative to the study as written.
type Truth = fn(&Variant) -> f64;

fn findings(study: &Study, truth: Truth, p99_ms: f64) -> FindingsRecord {
    let baseline = truth(&study.variants[0]);
    let compared = |variant: &Variant| {
        let ratio = truth(variant) / baseline;
        ComparisonRecord {
            baseline: study.variants[0].name.clone(),
            contender: variant.name.clone(),
            metric: "ops_per_s".to_owned(),
            verdict: match ratio {
                ratio if ratio > 1.01 => Finding::Faster,
                ratio if ratio < 0.99 => Finding::Slower,
                _ => Finding::Equivalent,
            },
            ratio,
            ci95: Some([ratio * 0.98, ratio * 1.02]),
            primary: variant.name == study.variants[1].name,
            ..ComparisonRecord::default()
        }
    };
    let point = |variant: &Variant| PointRecord {
        variant: variant.name.clone(),
        latency_ms: QuantilesRecord {
            p99: Known::Exactly(p99_ms),
            ..QuantilesRecord::default()
        },
        ..PointRecord::default()
    };
    FindingsRecord {
        comparisons: study.variants[1..].iter().map(compared).collect(),
        points: study.variants.iter().map(point).collect(),
        ..FindingsRecord::default()
    }
}

/// Tunes the settings of the study on a target with a known truth, and returns the findings and the
/// questions of the runs.
fn tuned(rest: &str, truth: Truth, p99_ms: f64) -> (FindingsRecord, Vec<String>) {
    let study = resolve("s", &format!("{STUDY}{rest}"), &Overrides::default())
        .unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let asked = RefCell::new(Vec::new());
    let mut conduct = |study: &Study, _: &Plan, folder: PathBuf| {
        asked.borrow_mut().push(study.question.clone());
        Ok(Some((
            folder.join(&study.name).join("1"),
            findings(study, truth, p99_ms),
        )))
    };
    let mut found = screened();
    let mut runs = ChildRuns {
        study: &study,
        path: Path::new("run"),
        conduct: &mut conduct,
        say: &mut |_| {},
    };
    assert_eq!(tune(&mut runs, &mut found).unwrap(), ChildRunsEnd::Done);
    (found, asked.into_inner())
}

fn connections_help(variant: &Variant) -> f64 {
    if variant.settings.client.connections_per_node == 4 {
        1.2
    } else {
        1.0
    }
}

#[test]
fn a_planted_better_setting_is_kept_and_confirmed() {
    let (found, asked) = tuned("tune: {minutes: 60}\n", connections_help, 1.0);
    let tuning = found.tuning.unwrap();
    assert_eq!(
        asked[0], "Is connections: high better?",
        "largest effect first"
    );
    // The value `low` of in_flight is the better one, and the study already has it.
    assert_eq!(
        asked[1..],
        [
            "Is compression: high better?",
            "Is timeout: high better?",
            "Is compression: high with timeout: high better?",
            "Are the tuned settings better than the defaults?",
        ]
    );
    let outcomes: Vec<TuningOutcome> = tuning.tests.iter().map(|test| test.outcome).collect();
    use TuningOutcome::{Kept, Refused};
    assert_eq!(outcomes, [Kept, Refused, Refused, Refused]);
    assert_eq!(tuning.tests[0].run_folder(), Some("tune/01/tune-it-tune/1"));
    assert!(tuning.is_confirmed(), "{tuning:?}");
    assert_eq!(
        tuning.results.len(),
        1,
        "the null target has no cassandra_latest.yaml"
    );
    assert_eq!(tuning.overlay, "{client: {connections_per_node: 4}}");
    assert!(found.answer[0].contains("improved throughput with connections “high” of 4 settings"));
    assert_eq!(found.answer[1], "The screening says so.");
}

#[test]
fn nothing_is_kept_where_nothing_is_better() {
    let (found, asked) = tuned("tune: {minutes: 60}\n", |_| 1.0, 1.0);
    let tuning = found.tuning.unwrap();
    assert!(tuning.kept.is_empty() && tuning.results.is_empty());
    assert_eq!(asked.len(), 4, "no final comparison: {asked:?}");
    assert!(found.answer[0].contains("found no better value for 4 settings in 4 tests"));
}

#[test]
fn two_settings_that_help_only_together_are_found() {
    let (found, _) = tuned(
        "tune: {minutes: 60}\n",
        |variant| {
            let client = &variant.settings.client;
            let both = client.compression.is_some() && client.connections_per_node == 4;
            if both { 1.3 } else { 1.0 }
        },
        1.0,
    );
    let kept = found.tuning.unwrap().kept;
    let names: Vec<&str> = kept.iter().map(|one| one.setting.as_str()).collect();
    assert_eq!(names, ["connections", "compression"]);
}

#[test]
fn a_faster_setting_beyond_the_bound_of_p99_is_not_kept() {
    let bound = "tune: {minutes: 60, p99_ms: 10}\n";
    let (within, _) = tuned(bound, connections_help, 9.0);
    assert_eq!(within.tuning.unwrap().kept.len(), 1);
    let (beyond, _) = tuned(bound, connections_help, 11.0);
    let tuning = beyond.tuning.unwrap();
    assert_eq!(tuning.tests[0].outcome, TuningOutcome::BeyondBound);
    assert!(tuning.kept.is_empty());
}

#[test]
fn tests_that_do_not_fit_into_the_time_name_both_times() {
    let (found, asked) = tuned("tune: {minutes: 1}\n", connections_help, 1.0);
    let tuning = found.tuning.unwrap();
    assert!(asked.is_empty(), "{asked:?}");
    let reason = &tuning.tests[0].reason;
    assert!(reason.contains("of `tune.minutes` remain"), "{reason}");
}
