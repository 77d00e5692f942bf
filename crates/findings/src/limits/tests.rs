//! Tests the explanations of limits with artificial runs.

use crate::test_runs::{FixtureTrial, trials};
use analysis::limits::LimitKind;
use analysis::procedure::Point;
use measure::Known;
use store::record::{
    FindingsRecord, LimitEvent, LimitReadingRecord, LimitSpan, NodeCpuRecord, TrialFinding,
    TrialLimitsRecord,
};

fn reading(kind: LimitKind, value: f64) -> LimitReadingRecord {
    let limit = kind.row().limit;
    LimitReadingRecord {
        kind,
        place: "host1".to_owned(),
        value,
        limit,
        full: value >= limit,
    }
}

fn part(span: LimitSpan, cpu: f64, tombstones: f64) -> TrialLimitsRecord {
    TrialLimitsRecord {
        span,
        fault: (span == LimitSpan::Fault).then_some(1),
        readings: vec![
            reading(LimitKind::Cpu, cpu),
            reading(LimitKind::Tombstones, tombstones),
        ],
        unobserved: vec![LimitKind::Network],
        nodes: vec![NodeCpuRecord {
            node: "node1".to_owned(),
            used: 2.0 * cpu,
            available: 2.0,
        }],
    }
}

/// Returns the findings of a study with these lines in its text. The trials have the throughput
/// that the caller states.
fn findings(
    lines: &str,
    ops_per_s: impl Fn(&FixtureTrial<'_>) -> f64,
    limits: impl Fn(&TrialFinding) -> Vec<TrialLimitsRecord>,
) -> FindingsRecord {
    let text = format!(
        "study: s\nquestion: q?\ntarget: {{null: {{}}}}\nworkload: {{use: kv}}\n\
         window: {{warmup: 0s, measure: 10s}}\n{lines}"
    );
    let study =
        study::resolve::resolve("s", &text, &study::settings::Overrides::default()).unwrap();
    // In a closed loop, the latency follows from the throughput by Little's law.
    let mut all = trials(&study, |made| {
        let ops_per_s = ops_per_s(made);
        (
            ops_per_s,
            Known::Exactly(1e3 * made.point.value() / ops_per_s),
        )
    });
    for trial in &mut all {
        trial.limits = limits(trial);
    }
    crate::combine(&study, all, &|_| None, None)
}

fn threads(trial: &TrialFinding) -> f64 {
    trial.point.map_or(0.0, Point::value)
}

const LADDER: &str = "procedure: {sweep: {threads: [1, 4, 16, 64]}}\n";

fn levelling(made: &FixtureTrial<'_>) -> f64 {
    // Throughput stops rising at 16 operations in flight.
    1000.0 * made.point.value().min(16.0)
}

#[test]
fn a_knee_is_explained_by_what_is_full_above_it() {
    let cpu = |trial: &TrialFinding| if threads(trial) > 4.0 { 0.97 } else { 0.5 };
    let found = findings(LADDER, levelling, |trial| {
        vec![part(LimitSpan::Window, cpu(trial), 2000.0)]
    });
    let limit = &found.limits[0];
    assert_eq!(limit.event, LimitEvent::Knee);
    assert_eq!(limit.point, Some(Point::Threads(16)));
    // Tombstones do not explain the knee, because their number is the same at every load.
    let kinds: Vec<_> = limit.candidates.iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [LimitKind::Cpu]);
    assert_eq!(limit.unobserved, [LimitKind::Network]);
    assert!(
        found
            .answer
            .iter()
            .any(|sentence| sentence.contains("coincides with the CPU of host1")),
        "{:?}",
        found.answer
    );
    assert!(
        limit.says.ends_with("The node used 1.9 of 2 CPUs (97 %)."),
        "{}",
        limit.says
    );
}

#[test]
fn a_difference_is_explained_by_what_is_full_on_the_slower_side() {
    let lines = "procedure: {fixed: {threads: 8}}\nrepeat: {blocks: 6}\n\
                 variants: {plain: {}, other: {workload: {mix: {read: 1}}}}\n";
    let is_slow = |name: &str| name == "other";
    let found = findings(
        lines,
        |made| {
            let speed = if is_slow(made.variant.name.as_str()) {
                700.0
            } else {
                1000.0
            };
            speed + made.one_of([0.0, 3.0, -2.0, 1.0, -3.0])
        },
        |trial| {
            let scanned = if is_slow(trial.variant.as_str()) {
                4000.0
            } else {
                10.0
            };
            vec![part(LimitSpan::Window, 0.5, scanned)]
        },
    );
    let limit = &found.limits[0];
    assert_eq!(limit.event, LimitEvent::Difference);
    assert_eq!(limit.variant.as_str(), "other");
    assert_eq!(limit.candidates[0].kind, LimitKind::Tombstones);
    assert_eq!(limit.candidates[0].before, Some(10.0));
}

#[test]
fn a_fault_and_a_drift_are_explained_by_their_parts() {
    let found = findings(
        "procedure: {fixed: {rate: 500}}\n",
        |_| 500.0,
        |_| {
            vec![
                part(LimitSpan::Window, 0.5, 1.0),
                part(LimitSpan::BeforeFaults, 0.3, 1.0),
                part(LimitSpan::Fault, 0.99, 1.0),
            ]
        },
    );
    // The target kept up with the only rate, so this rate has no explanation.
    let events: Vec<_> = found.limits.iter().map(|limit| limit.event).collect();
    assert_eq!(events, [LimitEvent::Fault]);
    assert_eq!(found.limits[0].candidates[0].before, Some(0.3));
    assert!(!found.answer.iter().any(|sentence| sentence.contains("no observed resource")));
}

#[test]
fn trials_without_readings_have_no_explanation() {
    let found = findings(LADDER, levelling, |_| Vec::new());
    assert!(found.limits.is_empty());
}

/// In a user's run, the answer explained the only rate of a study as if it were a limit.
#[test]
fn the_only_rate_of_a_study_is_no_limit() {
    let full = |_: &TrialFinding| vec![part(LimitSpan::Window, 0.97, 10.0)];
    let events = |lines: &str, ops_per_s: f64| {
        let found = findings(lines, |_| ops_per_s, full);
        found.limits.iter().map(|limit| limit.event).collect::<Vec<_>>()
    };
    assert_eq!(events("procedure: {fixed: {rate: 500}}\n", 500.0), []);
    // A target that does not keep up with the only rate has reached its limit.
    assert_eq!(
        events("procedure: {fixed: {rate: 500}}\n", 400.0),
        [LimitEvent::OnlyLoad]
    );
    // A closed loop offers as much as the target accepts.
    assert_eq!(
        events("procedure: {fixed: {threads: 8}}\n", 400.0),
        [LimitEvent::OnlyLoad]
    );
}
