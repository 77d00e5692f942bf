//! Tests the rules on evidence that is healthy except for one property.

use super::RuleOutcome::{Fail, Warn};
use super::*;
use crate::warmup_end::SteadyState;
use measure::ClientCount::{DueNeverSent, Late, Limited};
use measure::interval::{CheckCounts, ClientInterval};
use measure::{Interval, IntervalConsumer, KindInterval, Outcome, SummedInterval};

mod causes;
mod measurements;
mod schedule;
mod seriousness;
mod words;

const SECOND: u64 = 1_000_000_000;

/// Returns the second with the number `index` of a trial. The second has `count` operations of
/// about 1 ms. `failed` contains the numbers of failed operations, by outcome.
fn second(index: u64, count: u64, failed: &[(Outcome, u64)]) -> Interval {
    let mut kind = KindInterval::default();
    for n in 0..count {
        kind.succeed(false, 1_000_000 + n * 1000, 900_000 + n * 1000, 1);
    }
    for &(outcome, times) in failed {
        for _ in 0..times {
            kind.fail(false, outcome, 5_000_000, Some(4_000_000));
        }
    }
    let mut interval = Interval {
        client: ClientInterval {
            cpu_ns: SECOND / 10,
            ..ClientInterval::default()
        },
        ..Interval::second(index, vec![kind])
    };
    interval.start_ns += SECOND;
    interval.end_ns += SECOND;
    interval
}

fn push(window: &mut Window, interval: Interval) {
    window.push(&SummedInterval::new(interval.into()));
}

fn window(failed: &[(Outcome, u64)]) -> Window {
    let mut window = Window::default();
    (0..10).for_each(|index| push(&mut window, second(index, 2000, failed)));
    window
}

/// Returns the evidence of a good short run on a laptop.
pub(super) fn healthy() -> Evidence {
    Evidence {
        window: window(&[]),
        planned_s: 10.0,
        warmup: Some(SteadyState::Detected),
        client_cores: 1.0,
        shares_cores: true,
        ceilings_ops_per_s: vec![1_500_000.0],
        server: Some(Ok(ServerCounts {
            source: "system_views".to_owned(),
            server: [0, 20_003],
            client: [0, 20_000],
            uncertain: 0,
        })),
        settle: Some(Settle::Settled),
        not_recorded: Some(Vec::new()),
        checks: CheckCounts {
            checked: 500,
            ..CheckCounts::default()
        },
        ..Evidence::default()
    }
}

/// Judges healthy evidence after the change `change`. Returns the verdict, and the rules that warn
/// or fail.
pub(super) fn after(
    change: impl FnOnce(&mut Evidence),
) -> (Verdict, Vec<(&'static str, RuleOutcome)>) {
    let mut evidence = healthy();
    change(&mut evidence);
    let judgement = judge(&evidence, &Limits::default());
    let bad = judgement.rules.iter().filter(|rule| rule.outcome >= RuleOutcome::Warn);
    (
        judgement.verdict,
        bad.map(|rule| (rule.id, rule.outcome)).collect(),
    )
}

#[test]
fn a_healthy_short_run_is_valid_and_lists_what_nobody_looked_at() {
    let judgement = judge(&healthy(), &Limits::default());
    assert_eq!(
        judgement.verdict,
        Verdict::Valid,
        "{:#?}",
        judgement.reasons()
    );
    assert_eq!(judgement.reasons(), [] as [&Rule; 0]);
    let ids: Vec<&str> = judgement.rules.iter().map(|rule| rule.id).collect();
    let all: Vec<String> = (1..=names().count()).map(|n| format!("V{n}")).collect();
    assert_eq!(ids, all);
    let unknown = judgement.rules.iter().filter(|rule| rule.outcome == RuleOutcome::Unknown);
    assert_eq!(
        unknown.map(|rule| rule.id).collect::<Vec<_>>(),
        ["V10", "V11", "V16", "V17", "V18", "V20", "V21"]
    );
}

#[test]
fn a_trial_of_which_nothing_is_known_is_invalid() {
    let judgement = judge(&Evidence::default(), &Limits::default());
    assert_eq!(judgement.verdict, Verdict::Invalid);
}

type Change = Box<dyn FnOnce(&mut Evidence)>;
type Case = (&'static str, Change, &'static [(&'static str, RuleOutcome)]);

fn schedule_and_client_cases() -> Vec<Case> {
    let open = |operations: f64| {
        Some(OfferedLoad {
            operations,
            is_random: false,
        })
    };
    vec![
        (
            "on schedule",
            Box::new(move |e| e.offered = open(20_000.0)),
            &[],
        ),
        (
            "too slow",
            Box::new(move |e| e.offered = open(21_000.0)),
            &[("V1", Fail)],
        ),
        (
            "some late",
            Box::new(move |e| (e.offered, e.window.client[Late]) = (open(20_000.0), 400)),
            &[("V1", Warn)],
        ),
        (
            "most late",
            Box::new(move |e| (e.offered, e.window.client[Late]) = (open(20_000.0), 15_000)),
            &[("V1", Fail)],
        ),
        (
            "most late, since the target left no slot free",
            Box::new(move |e| {
                e.offered = open(20_000.0);
                (e.window.client[Late], e.window.client[Limited]) = (15_000, 15_000);
            }),
            &[("V1", Warn)],
        ),
        (
            "one clock",
            Box::new(|e| e.window.sums_ns[0] = 0.0),
            &[("V2", Fail)],
        ),
        (
            "busy client, open",
            Box::new(move |e| {
                (e.offered, e.window.cpu_ns) = (open(20_000.0), 8 * SECOND);
            }),
            &[("V3", Warn)],
        ),
        (
            "busy client, closed",
            Box::new(|e| e.window.cpu_ns = 8 * SECOND),
            &[],
        ),
        (
            "half its ceiling",
            Box::new(|e| e.ceilings_ops_per_s = vec![3_900.0]),
            &[("V3", Warn)],
        ),
        (
            "its ceiling",
            Box::new(|e| e.ceilings_ops_per_s = vec![2_050.0]),
            &[("V3", Fail)],
        ),
    ]
}

fn counting_and_window_cases() -> Vec<Case> {
    vec![
        (
            "silence",
            Box::new(|e| push(&mut e.window, second(14, 2000, &[]))),
            &[("V4", Fail)],
        ),
        (
            "lost latencies",
            Box::new(|e| e.window.ok += 1),
            &[("V6", Fail)],
        ),
        (
            "one latency only",
            Box::new(|e| e.window.buckets_used = 2),
            &[("V6", Warn)],
        ),
        (
            "server counted less",
            Box::new(|e| set_server(e, 19_000)),
            &[("V7", Fail)],
        ),
        (
            "server counted a little more",
            Box::new(|e| set_server(e, 20_100)),
            &[("V7", Warn)],
        ),
        (
            "aborted",
            Box::new(|e| e.aborted = Some("node1 died".to_owned())),
            &[("V12", Fail)],
        ),
        (
            "shorter than planned",
            Box::new(|e| e.planned_s = 60.0),
            &[("V12", Warn)],
        ),
        (
            "never steady",
            Box::new(|e| e.warmup = Some(SteadyState::Forced)),
            &[("V12", Warn)],
        ),
        (
            "drift",
            Box::new(|e| {
                e.window.ops_per_s = (0..10).map(|n| 1000.0 - 30.0 * f64::from(n)).collect()
            }),
            &[("V12", Warn)],
        ),
    ]
}

fn target_and_data_cases() -> Vec<Case> {
    vec![
        (
            "not settled",
            Box::new(|e| e.settle = Some(Settle::Timeout)),
            &[("V9", Warn)],
        ),
        (
            "backlog grows",
            Box::new(|e| e.pending_compactions = Some((0..30).map(f64::from).collect())),
            &[("V10", Warn)],
        ),
        (
            "node restarted",
            Box::new(|e| {
                e.environment = Some(Environment {
                    nodes_restarted: vec!["node1".to_owned()],
                    ..Environment::default()
                });
            }),
            &[("V11", Fail)],
        ),
        (
            "fault not seen",
            Box::new(|e| e.faults.push(fault(Some(false), true))),
            &[("V13", Fail)],
        ),
        (
            "fault not healed",
            Box::new(|e| e.faults.push(fault(Some(true), false))),
            &[("V13", Fail)],
        ),
        (
            "wrong data",
            Box::new(|e| e.checks.wrong = 1),
            &[("V14", Fail)],
        ),
        (
            "row missing",
            Box::new(|e| e.checks.missing = 1),
            &[("V14", Fail)],
        ),
        (
            "stale at ONE",
            Box::new(|e| (e.checks.stale, e.weak_consistency) = (1, true)),
            &[("V14", Warn)],
        ),
        (
            "no seed",
            Box::new(|e| e.not_recorded = Some(vec!["seed".to_owned()])),
            &[("V15", Warn)],
        ),
        (
            "dear probes",
            Box::new(|e| e.probes_cpu_share = Some(0.2)),
            &[("V17", Warn)],
        ),
    ]
}

#[test]
fn each_thing_that_goes_wrong_is_found_by_its_rule() {
    let cases = schedule_and_client_cases()
        .into_iter()
        .chain(counting_and_window_cases())
        .chain(target_and_data_cases());
    for (name, change, expected) in cases {
        let (verdict, bad) = after(change);
        assert_eq!(bad, expected, "{name}");
        let worst = expected.iter().map(|(_, outcome)| *outcome).max();
        let due = match worst {
            None => Verdict::Valid,
            Some(Fail) => Verdict::Invalid,
            Some(_) => Verdict::Suspect,
        };
        assert_eq!(verdict, due, "{name}");
    }
}

fn counts(evidence: &mut Evidence) -> &mut ServerCounts {
    evidence.server.as_mut().unwrap().as_mut().unwrap()
}

fn set_server(evidence: &mut Evidence, writes: u64) {
    counts(evidence).server[1] = writes;
}

fn fault(confirmed: Option<bool>, healed: bool) -> FaultEvidence {
    FaultEvidence {
        kind: "node-stop".to_owned(),
        confirmed,
        healed,
    }
}

#[test]
fn one_client_timeout_invalidates_and_few_errors_are_suspect() {
    for (failed, limits, expected) in [
        (
            vec![(Outcome::ClientTimeout, 1)],
            Limits::default(),
            RuleOutcome::Fail,
        ),
        (
            vec![(Outcome::ClientTimeout, 1)],
            Limits {
                timeout_fails: false,
                ..Limits::default()
            },
            RuleOutcome::Warn,
        ),
        (
            vec![(Outcome::Overloaded, 1)],
            Limits::default(),
            RuleOutcome::Warn,
        ),
        (
            vec![(Outcome::Overloaded, 30)],
            Limits::default(),
            RuleOutcome::Fail,
        ),
        (vec![], Limits::default(), RuleOutcome::Pass),
    ] {
        let evidence = Evidence {
            window: window(&failed),
            ..healthy()
        };
        let judgement = judge(&evidence, &limits);
        let rule = judgement.rules.iter().find(|rule| rule.id == "V8").unwrap();
        assert_eq!(rule.outcome, expected, "{}", rule.detail);
    }
}

#[test]
fn the_null_target_measures_the_client_and_needs_no_settling() {
    let (verdict, bad) = after(|e| {
        (e.target_is_null, e.ceilings_ops_per_s) = (true, vec![2_000.0]);
        (e.settle, e.server) = (None, None);
    });
    assert_eq!((verdict, bad), (Verdict::Valid, vec![]));
}

#[test]
fn few_operations_make_the_p99_suspect() {
    for (each_second, expected) in [(999, Verdict::Suspect), (1000, Verdict::Valid)] {
        let mut window = Window::default();
        (0..10).for_each(|index| push(&mut window, second(index, each_second, &[])));
        let evidence = Evidence {
            window,
            server: None,
            ..healthy()
        };
        let judgement = judge(&evidence, &Limits::default());
        assert_eq!(judgement.verdict, expected, "{:?}", judgement.reasons());
        let mut reasons = judgement.reasons().into_iter().map(ToString::to_string);
        let said = reasons.any(|reason| reason.starts_with("V12: the trial has 9,990 latencies"));
        assert_eq!(
            said,
            expected == Verdict::Suspect,
            "{:?}",
            judgement.reasons()
        );
    }
}

#[test]
fn counts_that_cannot_be_compared_accuse_nobody_and_say_why() {
    let mut evidence = healthy();
    evidence.server = Some(Err("`SELECT ...` has IN".to_owned()));
    let judgement = judge(&evidence, &Limits::default());
    assert_eq!(judgement.verdict, Verdict::Valid);
    let rule = judgement.rules.iter().find(|rule| rule.id == "V7").unwrap();
    let said = (rule.outcome, rule.detail.as_str());
    assert_eq!(
        said,
        (RuleOutcome::Unknown, "not compared: `SELECT ...` has IN")
    );
}

#[test]
fn uncertain_operations_may_count_on_the_server_or_not() {
    let (_, bad) = after(|e| {
        set_server(e, 20_400);
        counts(e).uncertain = 400;
    });
    assert_eq!(bad, vec![]);
}

#[test]
fn draining_adds_operations_and_no_time() {
    let mut sums = window(&[]);
    let mut drain = second(10, 5, &[]);
    drain.draining = true;
    drain.client.counts[DueNeverSent] = 3;
    push(&mut sums, drain);
    assert_eq!(
        (sums.seconds, sums.ok, sums.client[DueNeverSent]),
        (10.0, 20_005, 3)
    );
    assert_eq!((sums.ops_per_s.len(), sums.ops_per_s_mean()), (10, 2000.0));
}

#[test]
fn a_fragment_of_an_interval_does_not_weigh_as_a_whole_one() {
    let mut sums = window(&[]);
    for (start_ms, length_ms, count) in [(11_000, 10, 0), (11_010, 90, 200)] {
        let mut fragment = second(10, count, &[]);
        fragment.start_ns = start_ms * 1_000_000;
        fragment.end_ns = fragment.start_ns + length_ms * 1_000_000;
        push(&mut sums, fragment);
    }
    assert_eq!(sums.ops_per_s.len(), 10);
    assert!(
        (sums.ops_per_s[9] - 2200.0 / 1.1).abs() < 1e-9,
        "{:?}",
        sums.ops_per_s
    );
    assert!((sums.ops_per_s_mean() - 20_200.0 / 10.1).abs() < 1e-9);
}

/// An earlier version merged all seconds after a long interval into one value, so that rule V12 had
/// no series.
#[test]
fn seconds_after_a_long_interval_are_no_fragments() {
    let mut sums = Window::default();
    let mut long = second(0, 6000, &[]);
    long.end_ns += 2 * SECOND;
    push(&mut sums, long);
    (3..10).for_each(|index| push(&mut sums, second(index, 2000, &[])));
    assert_eq!((sums.seconds, sums.ops_per_s.len()), (10.0, 8));
    assert!(sums.ops_per_s.iter().all(|rate| (rate - 2000.0).abs() < 1e-9));
}

#[test]
fn a_large_drift_within_chance_is_named_and_is_not_a_pass() {
    let seven = [900.0, 1300.0, 800.0, 1200.0, 1500.0, 900.0, 1400.0];
    let twelve = [1000.0, 900.0, 1300.0, 800.0, 1200.0].into_iter().chain(seven);
    for (series, outcome, said) in [
        (
            twelve.collect(),
            RuleOutcome::Pass,
            "which chance alone can explain (limit 10 %)",
        ),
        (
            seven.to_vec(),
            RuleOutcome::Warn,
            "7 values are too few to exclude chance",
        ),
    ] {
        let mut evidence = healthy();
        evidence.window.ops_per_s = series;
        let judgement = judge(&evidence, &Limits::default());
        let rule = judgement.rules.iter().find(|rule| rule.id == "V12").unwrap();
        assert_eq!(rule.outcome, outcome, "{}", rule.detail);
        assert!(rule.detail.contains(said), "{}", rule.detail);
    }
}

#[test]
fn the_worst_trial_decides_over_a_run() {
    use Verdict::{Invalid, Suspect, Valid};
    assert_eq!(Verdict::worst([Valid, Suspect, Valid]), Suspect);
    assert_eq!(Verdict::worst([Valid, Invalid, Suspect]), Invalid);
    assert_eq!(Verdict::worst([]), Invalid);
}
