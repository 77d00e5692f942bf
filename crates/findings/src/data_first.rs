//! Tests that the answer begins with losses of data in every kind of study. The losses are planted
//! in artificial trials.

use crate::{combine, next_step, test_runs};
use analysis::procedure::Point;
use std::path::Path;
use store::record::{
    FaultRecord, MissedRowRecord, PromiseKind, ReadBackRecord, RuleOutcome, RuleRecord,
    TrialFinding, Verdict,
};
use study::resolve::resolve;
use study::settings::{Overrides, Study};

/// Lines of a study file, for each kind of study whose trials may lose data.
const KINDS: [&str; 8] = [
    "procedure: {fixed: {threads: 4}}",
    "procedure: {fixed: {rate: 300}}",
    "procedure: {sweep: {threads: [4, 8]}}\nvariants: {a: {}, b: {}}\nrepeat: {blocks: 3}",
    "procedure: {sweep: {threads: [4, 8]}}",
    "procedure: {peak: {rate: {from: 1000, to: 4000}, p99_ms: 10}}",
    "procedure: {fixed: {threads: 4}}\nrequire: {p99_ms: 10, ops_per_s: 1000}",
    "procedure: {fixed: {threads: 4}}\nvariants: {a: {}, b: {}}\nrepeat: {blocks: 5}",
    "procedure: {fixed: {threads: 4}}\n\
     matrix: {heap: {small: {}, large: {client: {timeout: 9s}}}, side: {a: {}, b: {}}}",
];

fn study(kind: &str) -> Study {
    let text =
        format!("study: s\nquestion: q\ntarget: {{null: {{}}}}\nworkload: {{use: kv}}\n{kind}\n");
    resolve("s", &text, &Overrides::default()).unwrap_or_else(|no| panic!("{kind}: {no:?}"))
}

/// Returns the trials of a study. For a search, whose points are chosen during the run, returns the
/// first trial.
fn made(study: &Study) -> Vec<TrialFinding> {
    let made = test_runs::trials(study, |_| (1000.0, 5.0.into()));
    if !made.is_empty() {
        return made;
    }
    vec![TrialFinding {
        variant: study.variants[0].name.clone(),
        point: Some(Point::Rate(1000)),
        verdict: Verdict::Valid,
        ..TrialFinding::default()
    }]
}

fn rule(name: &str, result: RuleOutcome) -> RuleRecord {
    RuleRecord {
        rule: name.to_owned(),
        result,
        detail: String::new(),
        measured: Vec::new(),
    }
}

/// Returns a trial of a variant that has lost rows, on a machine that other programs also used at
/// that time.
fn lossy(trial: TrialFinding, verdict: Verdict) -> TrialFinding {
    TrialFinding {
        verdict,
        reasons: vec!["V14: 7 lost".to_owned(), "V18: others".to_owned()],
        rules: vec![
            rule("V14", RuleOutcome::Fail),
            rule("V18", RuleOutcome::Fail),
        ],
        read_back: Some(ReadBackRecord {
            promise: PromiseKind::Kept,
            why: "one copy".to_owned(),
            rows: 5000,
            lost: 7,
            missed_rows: vec![MissedRowRecord {
                row: 41,
                read_by: "SELECT value FROM kv WHERE key = ? (key = 0x29)".to_owned(),
                ..MissedRowRecord::default()
            }],
            ..ReadBackRecord::default()
        }),
        ..trial
    }
}

#[test]
fn lost_data_is_the_first_sentence_in_every_kind_of_study() {
    let mut tried = 0;
    for kind in KINDS {
        let study = study(kind);
        for (verdict, has_fault) in [
            (Verdict::Invalid, false),
            (Verdict::Valid, false),
            (Verdict::Invalid, true),
        ] {
            let made = made(&study);
            let last = made.len() - 1;
            let trials = made.into_iter().map(|mut trial| {
                if has_fault {
                    trial.faults = vec![FaultRecord::default()];
                }
                if trial.index == last {
                    lossy(trial, verdict)
                } else {
                    trial
                }
            });
            let found = combine(&study, trials.collect(), &|_| None, None);
            let first = &found.answer[0];
            assert!(
                first.starts_with("Data was lost: of 5,000 rows that cassay read back, 7 are lost"),
                "{kind}: {:?}",
                found.answer
            );
            assert!(first.contains("41"), "{first}");
            assert_eq!(found.alarms.first(), Some(first), "{kind}");
            let count = found.answer.iter().filter(|one| one.contains("7 are lost")).count();
            assert_eq!(count, 1, "{:?}", found.answer);
            let next = next_step::suggest(&study, &found, Path::new("results/s/1")).unwrap();
            assert_eq!(next.command, "cassay show --trials results/s/1", "{kind}");
            assert!(next.says.contains("read row 41: SELECT"), "{}", next.says);
            tried += 1;
        }
    }
    assert_eq!(tried, KINDS.len() * 3);
}

#[test]
fn without_a_loss_no_answer_begins_with_one() {
    for kind in KINDS {
        let study = study(kind);
        let trials = made(&study);
        let found = combine(&study, trials, &|_| None, None);
        let is_loss = |sentence: &String| sentence.starts_with("Data was lost");
        assert!(!found.answer.iter().any(is_loss), "{:?}", found.answer);
        assert!(!found.alarms.iter().any(is_loss), "{:?}", found.alarms);
    }
}
