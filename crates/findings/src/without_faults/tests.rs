//! Tests periods of artificial trials, with and without faults.

use super::*;
use crate::combine;
use crate::test_runs::trials;
use store::record::{QuantilesRecord, RecoveryRecord};
use study::resolve::resolve;
use study::settings::Overrides;

fn study(blocks: usize, procedure: &str) -> Study {
    let text = format!(
        "study: s\nquestion: q\ntarget: {{local: {{nodes: 3}}}}\n\
         workload: {{use: standard1, mix: {{write: 1}}}}\ndata: {{load: {{operations: 10k}}}}\n\
         procedure: {{fixed: {{{procedure}}}}}\nwindow: {{measure: 60s}}\n\
         faults: [{{at: 20s, kind: node-pause, where: {{node: 2}}, for: 10s}}]\n\
         repeat: {{blocks: {blocks}, without_faults: true}}\n"
    );
    resolve("s", &text, &Overrides::default()).unwrap()
}

fn stretch(ops_per_s: f64, p99_ms: f64, failed: u64) -> StretchRecord {
    StretchRecord {
        seconds: 10.0,
        ops: (ops_per_s * 10.0) as u64,
        ops_per_s,
        latency_ms: QuantilesRecord {
            p50: (p99_ms / 2.0).into(),
            p99: p99_ms.into(),
            ..QuantilesRecord::default()
        },
        errors: [(
            "write".to_owned(),
            [("overloaded".to_owned(), failed)].into(),
        )]
        .into(),
        ..StretchRecord::default()
    }
}

/// Returns a factor for a block, which affects both trials of a pair.
fn drift(block: usize) -> f64 {
    [1.0, 1.3, 0.8, 1.1, 0.9][block % 5]
}

/// Returns a factor for the ratio of a pair, which differs between blocks.
fn scatter(block: usize) -> f64 {
    [1.0, 1.01, 0.99, 1.005, 0.995][block % 5]
}

/// Returns the findings of a run in which throughput drops to the share `kept` during the fault.
fn run(study: &Study, kept: f64) -> FindingsRecord {
    let mut trials = trials(study, |_| (1000.0, Known::Exactly(2.0)));
    for trial in trials.iter_mut().filter(|one| one.variant.as_str() == "with-faults") {
        let own = drift(trial.block) * scatter(trial.block);
        let broken = stretch(1000.0 * own * kept, 2.0 * own / kept.max(0.01), 3);
        trial.faults = vec![FaultRecord {
            kind: "node-pause".to_owned(),
            place: Some("node2".to_owned()),
            recovery: Some(RecoveryRecord {
                during: Some(broken),
                after: Some(stretch(1000.0 * own, 2.0 * own, 0)),
                ..RecoveryRecord::default()
            }),
            ..FaultRecord::default()
        }];
    }
    let mut found = combine(study, trials, &|_| None, None);
    let mut read = |with: &TrialFinding, without: &TrialFinding| {
        assert_eq!(with.block, without.block);
        assert_eq!(without.variant.as_str(), "without-faults");
        let usual = || stretch(1000.0 * drift(without.block), 2.0 * drift(without.block), 0);
        Ok(vec![[Some(usual()), Some(usual())]])
    };
    add(study, &mut found, &mut read).unwrap();
    found
}

fn ratio<'a>(record: &'a WithoutFaultsRecord, metric: &str) -> &'a ComparisonRecord {
    let mut all = record.comparisons.iter();
    all.find(|one| one.metric == metric).unwrap()
}

/// The differences of throughput between blocks are far larger than the effect of the fault, so
/// only pairs show this effect.
#[test]
fn a_stretch_is_compared_in_pairs_and_the_other_is_as_it_was() {
    let found = run(&study(5, "threads: 8"), 0.8);
    let [broken, after] = &found.without_faults[..] else {
        panic!("two stretches: {:?}", found.without_faults)
    };
    assert_eq!(
        (broken.stretch.name(), broken.blocks, broken.failed),
        ("broken", 5, [0, 15])
    );
    let throughput = ratio(broken, "ops_per_s");
    assert!((throughput.ratio - 0.8).abs() < 0.002, "{throughput:?}");
    assert!(throughput.primary && !ratio(broken, "latency_ms.p99").primary);
    let [low, high] = throughput.ci95.unwrap();
    assert!(0.78 < low && low < 0.8 && 0.8 < high && high < 0.82);
    assert_eq!(throughput.verdict, store::record::Finding::Slower);
    let p99 = ratio(broken, "latency_ms.p99");
    assert!((p99.ratio - 1.25).abs() < 0.003 && p99.verdict == store::record::Finding::Slower);
    assert_eq!(after.stretch, store::record::FaultStretch::After);
    assert_eq!(
        ratio(after, "ops_per_s").verdict,
        store::record::Finding::Equivalent
    );
    // A variant that was added without faults does not take part in the study's own comparisons.
    assert!(found.comparisons.is_empty());
    let said = found.answer.last().unwrap();
    assert!(
        said.starts_with(
            "Against the same trials without faults, “node-pause” of node2 in “with-faults”: \
             during the fault -20.0 % throughput (95 %: "
        ),
        "{said}"
    );
    assert!(
        said.contains("15 operations failed, 0 without the fault; after that -0.0 %"),
        "{said}"
    );
}

/// At a rate, latency is the primary metric.
#[test]
fn one_pair_has_a_ratio_and_no_error() {
    let found = run(&study(1, "rate: 100"), 0.8);
    let broken = &found.without_faults[0];
    let p99 = ratio(broken, "latency_ms.p99");
    assert_eq!((p99.blocks, p99.ci95, p99.p), (1, None, None));
    assert!(p99.primary && p99.verdict == store::record::Finding::Inconclusive);
    let said = found.answer.last().unwrap();
    assert!(
        said.contains("throughput (one block: without an interval)"),
        "{said}"
    );
}

#[test]
fn a_stretch_in_which_nothing_was_done_has_no_ratio() {
    let found = run(&study(3, "threads: 8"), 0.0);
    let broken = &found.without_faults[0];
    assert_eq!((broken.ops_per_s[1], broken.blocks), (0.0, 3));
    assert!(broken.ops_per_s[0] > 900.0);
    assert!(broken.comparisons.iter().all(|one| one.metric != "ops_per_s"));
    let said = found.answer.last().unwrap();
    assert!(said.contains("during the fault nothing was done"), "{said}");
}

#[test]
fn a_trial_that_may_not_be_used_is_no_side_of_a_pair() {
    let study = study(2, "threads: 8");
    let mut found = run(&study, 0.8);
    for trial in &mut found.trials {
        if trial.variant.as_str() == "without-faults" && trial.block == 1 {
            trial.verdict = store::record::Verdict::Invalid;
        }
    }
    let mut read =
        |_: &TrialFinding, _: &TrialFinding| Ok(vec![[Some(stretch(1000.0, 2.0, 0)), None]]);
    add(&study, &mut found, &mut read).unwrap();
    let [broken] = &found.without_faults[..] else {
        panic!("no other has a pair")
    };
    assert_eq!(broken.blocks, 1);
}

#[test]
fn many_faults_have_one_sentence() {
    let found = run(&study(5, "threads: 8"), 0.8);
    let each = |fault: usize| {
        let of = |record: &WithoutFaultsRecord| WithoutFaultsRecord {
            fault,
            ..record.clone()
        };
        found.without_faults.iter().map(of).collect::<Vec<_>>()
    };
    let all: Vec<WithoutFaultsRecord> = (0..5).flat_map(each).collect();
    assert_eq!(
        without_faults::sentences(&all),
        [
            "Compared with the same trials without faults, 5 of 5 faults made throughput or \
             latency worse during the fault, and 0 afterwards."
        ]
    );
    assert_eq!(without_faults::sentences(&[]), Vec::<String>::new());
}
