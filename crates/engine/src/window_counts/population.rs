//! Tests that findings and logs describe the same population. The tests invent operations, record
//! them as the load generator does, add them up and write them to disk.

use super::WindowCounts;
use analysis::VariantName;
use analysis::procedure::Role;
use measure::{
    ClientCount, Histogram, Interval, IntervalConsumer, KindInterval, Outcome, SummedInterval,
    Times,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use store::record::{EstimateRecord, FORMAT, PlanRecord, QuantilesRecord, TrialRecord};
use store::{HistogramKind, RunWriter, Trial, convert};

const SECOND: u64 = 1_000_000_000;
const KINDS: [&str; 2] = ["read", "write"];

#[derive(Clone, Copy, Debug)]
struct Operation {
    kind: usize,
    intended_ns: u64,
    waited_ns: u64,
    service_ns: u64,
    /// Outcome of the operation. `None` if the operation was never sent.
    outcome: Option<Outcome>,
}

/// Returns the intervals of a run of these operations. All operations must be due before `stop_ns`.
fn intervals(operations: &[Operation], from_ns: u64, stop_ns: u64) -> Vec<Interval> {
    let ends = operations.iter().map(end_ns).chain([stop_ns]);
    let count = ends.max().unwrap_or(0) / SECOND + 1;
    let interval = |index: u64| Interval {
        window_from_ns: from_ns,
        draining: index * SECOND >= stop_ns,
        ..Interval::second(index, vec![KindInterval::default(); KINDS.len()])
    };
    let mut all: Vec<Interval> = (0..count).map(interval).collect();
    for operation in operations {
        let interval = &mut all[(end_ns(operation) / SECOND) as usize];
        let kind = &mut interval.kinds[operation.kind];
        let is_early = operation.intended_ns < from_ns;
        let latency_ns = operation.waited_ns + operation.service_ns;
        match operation.outcome {
            Some(Outcome::Ok) => kind.succeed(is_early, latency_ns, operation.service_ns, 1),
            Some(outcome) => {
                kind.fail(is_early, outcome, latency_ns, Some(operation.service_ns));
            }
            None if is_early => {}
            None => {
                kind.leave_unsent(latency_ns, 1);
                interval.client.counts[ClientCount::DueNeverSent] += 1;
            }
        }
    }
    all
}

fn end_ns(operation: &Operation) -> u64 {
    operation.intended_ns + operation.waited_ns + operation.service_ns
}

fn window_counts(intervals: &[Interval]) -> WindowCounts {
    let mut counts = WindowCounts::new(&[false; KINDS.len()]);
    let intervals = intervals.iter().cloned();
    intervals.for_each(|interval| counts.push(&SummedInterval::new(interval.into())));
    counts
}

/// Simulates a closed loop of 128 operations in flight, with 10 s of warm-up and 60 s of window.
/// The service time is exponential with a mean of 1 s. The client gives up an operation that takes
/// longer than `timeout_s`.
fn exponential(timeout_s: f64) -> WindowCounts {
    let (from_ns, stop_ns) = (10 * SECOND, 70 * SECOND);
    let mut draws = workload::random::Draws::sequence(7);
    let mut operations = Vec::new();
    for _thread in 0..128 {
        let mut due_ns = 0;
        while due_ns < stop_ns {
            let seconds = -draws.unit().ln();
            let outcome = if seconds > timeout_s {
                Outcome::ClientTimeout
            } else {
                Outcome::Ok
            };
            operations.push(Operation {
                kind: 0,
                intended_ns: due_ns,
                waited_ns: 0,
                service_ns: (seconds.min(timeout_s) * SECOND as f64) as u64,
                outcome: Some(outcome),
            });
            due_ns += operations.last().map_or(0, |last| last.service_ns);
        }
    }
    window_counts(&intervals(&operations, from_ns, stop_ns))
}

/// An earlier version counted operations in flight both at the start and at the end of the window.
/// So it counted long operations too often, and its median was 857 ms.
#[test]
fn long_operations_are_counted_as_often_as_they_were_begun() {
    let counts = exponential(1e9);
    let record = counts.all.record(counts.window.seconds);
    let latency = &record.latency_ms;
    let (p50_ms, p99_ms) = (latency.p50.least(), latency.p99.least());
    println!(
        "p50 {p50_ms} ms, p99 {p99_ms} ms, {} op/s",
        record.ops_per_s
    );
    // Each tolerance is two and a half standard errors for about 7,700 values.
    assert!((p50_ms / 693.1 - 1.0).abs() < 0.04, "p50 {p50_ms} ms");
    assert!((p99_ms / 4605.2 - 1.0).abs() < 0.065, "p99 {p99_ms} ms");
    assert!(
        (record.ops_per_s / 128.0 - 1.0).abs() < 0.03,
        "{}",
        record.ops_per_s
    );
    assert_eq!((counts.window.seconds, latency.at_least().len()), (60.0, 0));
}

#[test]
fn a_percentile_beyond_the_time_out_is_at_least_the_time_out() {
    let counts = exponential(3.0);
    let record = counts.all.record(counts.window.seconds);
    let (latency, service) = (&record.latency_ms, &record.service_ms);
    assert!(
        (latency.p50.least() / 693.1 - 1.0).abs() < 0.04,
        "{latency:?}"
    );
    // One operation in twenty takes longer than 3 s, so the p99 is a lower bound.
    assert!(
        (2999.0..=3004.0).contains(&latency.p99.least()),
        "{latency:?}"
    );
    assert_eq!(latency.at_least(), ["p99", "p999", "mean", "max"]);
    assert_eq!(latency.censored, record.error_ms.count);
    assert_eq!(
        (service.at_least().len(), service.censored),
        (4, latency.censored)
    );
    assert!(!latency.ci95.contains_key("p99") && latency.ci95.contains_key("p50"));
}

/// Removes the confidence intervals and the data behind them from a record, because a merged
/// histogram has no confidence intervals.
fn comparable(record: &QuantilesRecord) -> Value {
    let without = QuantilesRecord {
        ci95: BTreeMap::new(),
        few_incidents: Vec::new(),
        ..record.clone()
    };
    serde_json::to_value(without).unwrap()
}

/// Writes the intervals as a trial does, and reads the trial back from disk.
fn written(folder: &std::path::Path, intervals: &[Interval]) -> Trial {
    let record = TrialRecord {
        format: FORMAT,
        index: 0,
        slug: "00-made-up".to_owned(),
        variant: VariantName::default(),
        point: None,
        role: Role::Probe,
        block: 0,
        phases: Vec::new(),
        settings: json!({}),
    };
    let plan = PlanRecord {
        format: FORMAT,
        cassay: "0.0.0".to_owned(),
        study: "made-up".to_owned(),
        question: "?".to_owned(),
        seed: 1,
        scale: None,
        rerun: String::new(),
        estimate: EstimateRecord::default(),
        trials: vec![record.clone()],
        resolved: Default::default(),
    };
    let mut run = RunWriter::create(folder, "study: made-up\n", &plan).unwrap();
    let kinds = KINDS.map(str::to_owned);
    let mut trial = run.begin_trial(&record, &kinds).unwrap();
    for interval in intervals {
        let phase = match (interval.draining, interval.is_measured()) {
            (true, _) => "drain",
            (_, true) => "measure",
            _ => "warmup",
        };
        trial.write_interval(phase, interval).unwrap();
    }
    let path = trial.path().to_owned();
    Trial::unverified(path, record)
}

fn operation() -> impl Strategy<Value = Operation> {
    let outcome = prop_oneof![
        8 => Just(Some(Outcome::Ok)),
        1 => Just(Some(Outcome::Overloaded)),
        1 => Just(Some(Outcome::ClientTimeout)),
        1 => Just(Some(Outcome::ConnectionLost)),
        1 => Just(None),
    ];
    let times = (0..4 * SECOND, 0..SECOND, 1_000..2 * SECOND);
    (0..KINDS.len(), times, outcome).prop_map(
        |(kind, (intended_ns, waited_ns, service_ns), outcome)| Operation {
            kind,
            intended_ns,
            waited_ns,
            service_ns,
            outcome,
        },
    )
}

/// Returns the population by its definition: the latencies and service times of one kind.
fn truth(operations: &[Operation], kind: usize, from_ns: u64) -> [Times; 2] {
    let mut times = [Times::default(), Times::default()];
    for operation in operations {
        let is_known = match operation.outcome {
            Some(Outcome::Ok) => true,
            Some(outcome) if !outcome.is_censored() => continue,
            _ => false,
        };
        if operation.kind != kind || operation.intended_ns < from_ns {
            continue;
        }
        let latency_ns = operation.waited_ns + operation.service_ns;
        let is_sent = operation.outcome.is_some();
        let both = [(latency_ns, true), (operation.service_ns, is_sent)];
        for (times, (value_ns, counts)) in times.iter_mut().zip(both) {
            let (mut one, none) = (Histogram::new(), Histogram::new());
            if counts {
                one.record(value_ns);
            }
            if is_known {
                times.add(&one, &none)
            } else {
                times.add(&none, &one)
            }
        }
    }
    times
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// A tool that merges a log by tag gets the same values as the finding, and both describe the
    /// population.
    #[test]
    fn findings_and_logs_have_the_population(
        operations in prop::collection::vec(operation(), 1..60), warmup_s in 0u64..3) {
        let (from_ns, stop_ns) = (warmup_s * SECOND, 4 * SECOND);
        let intervals = intervals(&operations, from_ns, stop_ns);
        let counts = window_counts(&intervals);
        let folder = tempfile::tempdir().unwrap();
        let trial = written(folder.path(), &intervals);
        for (kind, name) in KINDS.iter().enumerate() {
            let found = counts.kinds[kind].record(counts.window.seconds);
            let [latency, service] = truth(&operations, kind, from_ns);
            for (service, found, truth) in
                [(false, &found.latency_ms, latency), (true, &found.service_ms, service)] {
                let logged = trial.times(service, "measure", name).unwrap();
                let [found, truth, logged] = [
                    comparable(found),
                    comparable(&convert::times_ms(&truth)),
                    comparable(&convert::times_ms(&logged)),
                ];
                prop_assert_eq!(&found, &truth);
                prop_assert_eq!(&logged, &truth);
            }
            let errors = trial.histogram(HistogramKind::Errors, "measure", name).unwrap();
            let errors = comparable(&convert::quantiles_ms(&errors));
            prop_assert_eq!(errors, comparable(&found.error_ms));
        }
        let due = operations.iter().filter(|operation| operation.intended_ns >= from_ns);
        let window = &counts.window;
        let unsent = window.client[ClientCount::DueNeverSent];
        prop_assert_eq!(window.ended() + unsent, due.count() as u64);
    }
}
