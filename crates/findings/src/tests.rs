//! Tests the findings of runs of artificial trials.

use super::*;
use analysis::procedure::Point;
use expect_test::{Expect, expect};
use measure::Known;
use measure::{KindCount, KindCounts};
use std::collections::BTreeMap;
use store::record::QuantilesRecord;
use study::resolve::resolve;
use study::settings::Overrides;

fn study(blocks: usize) -> Study {
    let text = format!(
        "study: s\nquestion: q\ntarget: {{null: {{}}}}\nworkload: {{use: standard1}}\n\
         procedure: {{sweep: {{threads: [4, 8]}}}}\nvariants: {{a: {{}}, b: {{}}}}\n\
         repeat: {{blocks: {blocks}}}\n"
    );
    resolve("s", &text, &Overrides::default()).unwrap()
}

fn trial(variant: &str, threads: f64, block: usize, ops: f64, verdict: &str) -> TrialFinding {
    let mut finding = TrialFinding {
        variant: variant.into(),
        point: Some(Point::Threads(threads as u32)),
        block,
        verdict: store::record::Verdict::from_name(verdict).unwrap(),
        ..TrialFinding::default()
    };
    finding.all.ops_per_s = ops;
    finding.all.latency_ms.p50 = (threads / ops * 500.0).into();
    finding.all.latency_ms.p99 = (threads / ops * 1000.0).into();
    finding
}

/// Merges trials into their worst p99. A test can recognize this value, because a mean of
/// percentiles would be lower.
fn worst(trials: &[&TrialFinding]) -> Option<QuantilesRecord> {
    let all = trials.iter().map(|trial| trial.all.latency_ms.clone());
    all.max_by(|a, b| a.p99.least().total_cmp(&b.p99.least()))
}

fn reason_words(trials: &[&TrialFinding]) -> Vec<String> {
    sentences::trials::reasons(trials)
        .into_iter()
        .map(|reason| reason.words)
        .collect()
}

#[test]
fn a_reason_of_several_trials_stands_once_with_all_their_names() {
    let because = |variant: &str, block: usize, reasons: &[&str]| TrialFinding {
        reasons: reasons.iter().map(|reason| (*reason).to_owned()).collect(),
        ..trial(variant, 4.0, block, 1000.0, "suspect")
    };
    let trials = [
        because("a", 0, &["V12: short"]),
        because("b", 0, &["V12: short", "V4: late"]),
        because("a", 2, &["V12: short"]),
        because("a", 1, &["V12: short"]),
        because("a", 4, &["V12: short"]),
    ];
    assert_eq!(
        reason_words(&trials.each_ref()),
        [
            "b at 4 threads (block 1): V4: late",
            "a at 4 threads (blocks 1 to 3, 5), b at 4 threads (block 1): V12: short",
        ]
    );
    assert_eq!(reason_words(&[&trials[0]]), ["a at 4 threads: V12: short"]);
}

/// In an earlier version, twelve trials on a busy machine produced two screens of reasons before
/// the first figure.
#[test]
fn a_rule_with_many_reasons_is_said_once_with_the_first_of_them() {
    let because = |at: f64| TrialFinding {
        reasons: vec![format!("V18: others used {at} %"), "V4: away".to_owned()],
        ..trial("a", at, 0, 1000.0, "invalid")
    };
    let trials = [1.0, 2.0, 3.0, 4.0].map(because);
    assert_eq!(
        reason_words(&trials.each_ref()),
        [
            "in 4 of 4 trials, as a at 1 thread: V18: others used 1 %",
            "a at 1 thread, a at 2 threads, a at 3 threads, a at 4 threads: V4: away",
        ]
    );
    let short = |at: f64| TrialFinding {
        reasons: vec!["V12: short".to_owned()],
        ..trial("a", at, 0, 1000.0, "suspect")
    };
    let trials = [1.0, 2.0, 3.0, 4.0, 5.0].map(short);
    assert_eq!(
        reason_words(&trials.each_ref()),
        ["in 5 of 5 trials, as a at 1 thread: V12: short"]
    );
}

fn answers(study: &Study, trials: Vec<TrialFinding>, expect: Expect) {
    let found = combine(study, trials, &worst, None);
    expect.assert_eq(&format!(
        "{}\n{}\n",
        found.verdict,
        found.answer.join("\n").replace("; ", ";\n  ").replace(" (", "\n  (")
    ));
}

#[test]
fn the_answer_names_the_peak_and_the_differences() {
    let trials = (0..3).flat_map(|block| {
        let wobble = 1.0 + block as f64 / 1000.0;
        [
            trial("a", 4.0, block, 1000.0 * wobble, "valid"),
            trial("b", 4.0, block, 1201.0, "valid"),
            trial("a", 8.0, block, 1010.0 * wobble, "valid"),
            trial("b", 8.0, block, 1010.5, "suspect"),
        ]
    });
    answers(
        &study(3),
        trials.collect(),
        expect![[r#"
            suspect
            At 4 threads, “b” is faster than “a”: +20.0 % throughput
              (95 %: +19.7 to +20.3 %).
            At 8 threads, “b” and “a” are equivalent: -0.1 % throughput
              (95 %: -0.3 to +0.2 %).
            “a” achieved 1,011 op/s
              (± 0.248 %, geometric mean of 3 blocks) at 8 threads, with a p99 of 7.91 ms
              (geometric mean of 3 blocks);
              beyond 4 threads, more load only increased latency.
            “b” achieved 1,201 op/s
              (geometric mean of 3 blocks) at 4 threads, with a p99 of 3.33 ms
              (geometric mean of 3 blocks).
            Corrected for 6 comparisons
              (Holm's method).
        "#]],
    );
}

/// The run was interrupted within the second block, and cassay then loaded the data again.
#[test]
fn trials_on_different_data_are_no_pair() {
    let on = |generation: u64, trial: TrialFinding| TrialFinding {
        generation: Some(generation),
        ..trial
    };
    let trials = vec![
        on(1, trial("a", 4.0, 0, 1000.0, "valid")),
        on(1, trial("b", 4.0, 0, 1000.0, "valid")),
        on(1, trial("a", 4.0, 1, 1000.0, "valid")),
        on(2, trial("b", 4.0, 1, 9000.0, "valid")),
    ];
    let found = combine(&study(2), trials, &worst, None);
    let compared = &found.comparisons[0];
    assert_eq!((compared.ratio, compared.ci95), (1.0, None), "one pair");
    let answer = found.answer.join("\n");
    assert!(answer.contains("was interrupted"), "{answer}");
}

#[test]
fn one_block_is_never_conclusive_nor_an_invalid_trial_compared() {
    let trials = vec![
        trial("a", 4.0, 0, 1000.0, "valid"),
        trial("b", 4.0, 0, 5000.0, "valid"),
        trial("a", 8.0, 0, 9000.0, "invalid"),
        trial("b", 8.0, 0, 6000.0, "valid"),
    ];
    answers(
        &study(1),
        trials,
        expect![[r#"
            invalid
            “a” achieved 1,000 op/s at 4 threads, with a p99 of 4.00 ms.
            “b” achieved 6,000 op/s at 8 threads, with a p99 of 1.33 ms;
              throughput still grew at the end, so the peak may be at a higher load.
            With one block each, cassay does not judge the difference between “a” and “b”;
              begin with five
              (`repeat.blocks: 5`).
        "#]],
    );
}

/// Only two of five blocks are usable. For such a run, an earlier version reported `b` as ten times
/// faster, although the variants were equal, and other programs used the machine.
#[test]
fn two_blocks_of_five_decide_nothing() {
    let trials = (0..5).flat_map(|block| {
        let verdict = if block < 3 { "invalid" } else { "valid" };
        let wobble = 1.0 + block as f64 / 1000.0;
        [
            trial("a", 4.0, block, 1000.0 * wobble, verdict),
            trial("b", 4.0, block, 9000.0, "valid"),
        ]
    });
    let found = combine(&study(5), trials.collect(), &worst, None);
    for compared in &found.comparisons {
        assert_eq!(
            compared.verdict,
            store::record::Finding::Inconclusive,
            "{compared:?}"
        );
        assert_eq!((compared.blocks, compared.blocks_planned), (2, 5));
    }
    let answer = found.answer.join("\n");
    assert!(answer.contains("only 2 of 5 blocks"), "{answer}");
}

fn at_rates(blocks: usize) -> Study {
    let text = format!(
        "study: s\nquestion: q\ntarget: {{null: {{}}}}\nworkload: {{use: standard1}}\n\
         procedure: {{sweep: {{rate: [1000, 2000]}}}}\nvariants: {{a: {{}}, b: {{}}}}\n\
         repeat: {{blocks: {blocks}}}\n"
    );
    resolve("s", &text, &Overrides::default()).unwrap()
}

/// Returns three blocks at a rate, with these throughputs and p99s.
fn rated(variant: &str, rate: f64, ops: [f64; 3], p99_ms: [Known; 3]) -> Vec<TrialFinding> {
    let one = |block: usize| {
        let mut one = trial(variant, rate, block, ops[block], "valid");
        one.point = Some(Point::Rate(rate as u64));
        (one.all.ops, one.seconds) = (1, 10.0);
        one.all.latency_ms.p99 = p99_ms[block];
        one
    };
    (0..3).map(one).collect()
}

/// In an earlier version, the throughputs at offered rates were two of six comparisons, which
/// weakened the other comparisons.
#[test]
fn throughput_at_a_rate_is_compared_only_if_it_was_not_kept_up() {
    let known = [9.0, 10.0, 11.0].map(Known::Exactly);
    let ops = |rate: f64| [rate, rate * 0.999, rate * 1.001];
    let trials = [
        rated("a", 1000.0, ops(1000.0), known),
        rated("b", 1000.0, ops(1000.0), known),
        rated("a", 2000.0, ops(2000.0), known),
        rated("b", 2000.0, ops(1500.0), known),
    ];
    let found = combine(&at_rates(3), trials.concat(), &worst, None);
    let compared = |rate: f64| -> Vec<&str> {
        let here = found.comparisons.iter().filter(|c| c.point == Some(Point::Rate(rate as u64)));
        here.map(|c| c.metric.as_str()).collect()
    };
    assert_eq!(compared(1000.0), ["latency_ms.p50", "latency_ms.p99"]);
    assert_eq!(compared(2000.0), ["ops_per_s"]);
    let many = found.multiplicity.unwrap();
    assert_eq!((many.comparisons, many.primary), (3, 1));
    // If no variant kept up with a rate, the answer compares throughput.
    let trials = [
        rated("a", 1000.0, ops(800.0), known),
        rated("b", 1000.0, ops(700.0), known),
    ];
    let found = combine(&at_rates(3), trials.concat(), &worst, None);
    let primary: Vec<&str> = found
        .comparisons
        .iter()
        .filter(|c| c.primary)
        .map(|c| c.metric.as_str())
        .collect();
    assert_eq!(primary, ["ops_per_s"]);
}

/// An earlier version compared 9 ms with 'at least 20 ms' and reported exactly "+122 %". It
/// compared 9 ms with 'at least 5 ms' and reported the latter as faster.
#[test]
fn a_comparison_with_a_lower_bound_holds_for_all_larger_values() {
    let known = [9.0, 9.1, 9.2].map(Known::Exactly);
    let ops = [1000.0; 3];
    let answer = |contender: [f64; 3], baseline: [Known; 3]| {
        let contender = contender.map(Known::AtLeast);
        let trials = [
            rated("a", 1000.0, ops, baseline),
            rated("b", 1000.0, ops, contender),
        ];
        let found = combine(&at_rates(3), trials.concat(), &worst, None);
        let p99 = found.comparisons.into_iter().filter(|c| c.metric == "latency_ms.p99");
        (p99.collect::<Vec<_>>(), found.answer.join("\n"))
    };
    let (compared, said) = answer([20.0, 20.1, 20.2], known);
    assert_eq!(compared[0].verdict, store::record::Finding::Slower);
    assert_eq!(
        (compared[0].bound, compared[0].ci95),
        (Some(store::record::Bound::AtLeast), None)
    );
    assert!(compared[0].ci95_end.is_some_and(|end| end > 2.0));
    assert!(
        said.contains("“b” is slower than “a”: at least +120.9 % p99"),
        "{said}"
    );
    let (compared, said) = answer([5.0, 5.1, 5.2], known);
    assert_eq!(compared[0].verdict, store::record::Finding::Inconclusive);
    assert!(said.contains("“b” is only a lower bound"), "{said}");
    let (compared, said) = answer([20.0; 3], [Known::AtLeast(5.0); 3]);
    assert!(compared.is_empty());
    assert!(
        said.contains("cassay cannot compare “b” and “a” by p99"),
        "{said}"
    );
}

#[test]
fn a_point_that_may_be_within_the_bound_is_named_and_not_chosen() {
    let text = "study: s\nquestion: q\ntarget: {null: {}}\nworkload: {use: standard1}\n\
                procedure: {sweep: {threads: [4, 8], until: {p99_ms: 10}}}\n";
    let study = resolve("s", text, &Overrides::default()).unwrap();
    let said = |p99_ms: [Known; 2]| {
        let of = |at: usize, threads: f64, ops: f64| {
            let mut one = trial("-", threads, 0, ops, "valid");
            one.all.latency_ms.p99 = p99_ms[at];
            one
        };
        let trials = vec![of(0, 4.0, 1000.0), of(1, 8.0, 1900.0)];
        combine(&study, trials, &worst, None).answer[0].clone()
    };
    let known = said([Known::Exactly(5.0), Known::Exactly(6.0)]);
    assert!(
        known.contains("8 threads, with a p99 of 6.00 ms, the highest within 10 ms"),
        "{known}"
    );
    let inconclusive = said([Known::Exactly(5.0), Known::AtLeast(6.0)]);
    assert!(
        inconclusive
            .contains("4 threads, with a p99 of 5.00 ms, the highest that certainly stayed"),
        "{inconclusive}"
    );
    assert!(
        inconclusive.contains("it is unclear whether 8 threads (1,900 op/s) did"),
        "{inconclusive}"
    );
    let neither = said([Known::AtLeast(11.0), Known::AtLeast(6.0)]);
    assert!(
        neither.contains("no point certainly stayed within 10 ms"),
        "{neither}"
    );
}

#[test]
fn retries_and_unapplied_conditions_are_reported_by_kind() {
    let mut trials = vec![
        trial("a", 4.0, 0, 1000.0, "valid"),
        trial("b", 4.0, 0, 1000.0, "valid"),
    ];
    assert_eq!(sentences::trials::besides(&trials), None);
    for trial in &mut trials {
        let read = KindCounts::from([
            (KindCount::Rows, 4_000),
            (KindCount::Retries, 600),
            (KindCount::Speculations, 20),
            (KindCount::SpeculationsWon, 7),
        ]);
        let claim = KindCounts::from([(KindCount::Applied, 9), (KindCount::NotApplied, 1)]);
        trial.counts = BTreeMap::from([("read".into(), read), ("claim".into(), claim)]);
    }
    assert_eq!(
        sentences::trials::besides(&trials).as_deref(),
        Some(
            "All trials together: retries: read 1,200; speculative executions: read 40 \
             (14 answered first); conditions (LWT) not applied: claim 2 of 20."
        )
    );
}

#[test]
fn a_run_that_stopped_is_invalid_and_says_why() {
    let found = combine(&study(1), Vec::new(), &worst, Some("node1 has died"));
    assert_eq!(found.verdict, store::record::Verdict::Invalid);
    assert_eq!(
        found.reasons,
        [
            "the run ended before its last trial: node1 has died",
            "no trial finished"
        ]
    );
}

/// In a demo on a busy laptop, the export of an earlier version silently omitted the points without
/// a usable trial.
#[test]
fn points_of_invalid_trials_keep_verdicts_and_conclude_nothing() {
    let study = study(2);
    let trials = |verdict: &str| -> Vec<TrialFinding> {
        let mut all = Vec::new();
        for (index, (variant, block)) in
            [("a", 0), ("b", 0), ("a", 1), ("b", 1)].into_iter().enumerate()
        {
            for threads in [4.0, 8.0] {
                let mut one = trial(variant, threads, block, threads * 250.0, verdict);
                one.index = index * 2 + usize::from(threads > 4.0);
                one.all.ops = 1000;
                all.push(one);
            }
        }
        all
    };
    let invalid = combine(&study, trials("invalid"), &worst, None);
    assert_eq!(invalid.points.len(), 4);
    for point in &invalid.points {
        assert_eq!(point.verdict, Verdict::Invalid);
        assert_eq!((point.blocks, point.trials.len()), (2, 2));
        assert!(
            point.ops_per_s > 0.0 && point.latency_ms.p99.least() > 0.0,
            "{point:?}"
        );
    }
    assert_eq!(invalid.usable_points().count(), 0);
    assert!(
        invalid.comparisons.iter().all(|one| one.blocks == 0),
        "{:?}",
        invalid.comparisons
    );
    let said = invalid.answer.join(" ");
    assert!(said.contains("has a usable result"), "{said}");
    // If a point also has a valid trial, its invalid trials do not form a separate point.
    let mut mixed = trials("invalid");
    mixed[0].verdict = store::record::Verdict::Valid;
    let mixed = combine(&study, mixed, &worst, None);
    assert_eq!(mixed.points.len(), 4);
    assert_eq!(mixed.usable_points().count(), 1);
}
