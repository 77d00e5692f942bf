//! A run of a study with two variants. The study is a sweep of six thread counts, with 5 s of
//! warm-up and 30 s of measurement in each trial. In each block, one trial is invalid and one is
//! suspect. The run contains real histograms, so that all numbers agree with each other. Every
//! execution of the tests builds the same run.
//!
//! This file is long, because it builds one complete run.

use crate::requests::{counts, request};
use analysis::procedure::Point;
use analysis::procedure::Role;
use measure::outcome::OutcomeCounts;
use measure::{
    ClientCount, ClientCounts, ClientInterval, Histogram, Interval, KindInterval, Outcome,
};
use store::record::{SettleEnd, Verdict, WarmupEnd};
#[expect(
    dead_code,
    reason = "a file of workload, and this test uses only a part of it"
)]
#[path = "../../../workload/src/random.rs"]
mod random;

pub use random::Draws;
use report::{Curve, FileView, NodeView, PointView, ProbeSeries, RunView, TrialView};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use store::record::*;

pub const KINDS: [&str; 2] = ["read", "write"];
const WARMUP_S: u64 = 5;
const MEASURE_S: u64 = 30;

/// Returns a lognormal value with this median. The normal value is the sum of twelve uniform
/// values, minus 6.
fn lognormal(chance: &mut Draws, median: f64, spread: f64) -> f64 {
    let normal: f64 = (0..12).map(|_| chance.unit()).sum::<f64>() - 6.0;
    median * (normal * spread).exp()
}

#[derive(Clone, Copy)]
pub struct Shape {
    pub variant: &'static str,
    pub threads: u64,
    pub block: usize,
    pub verdict: &'static str,
}

/// Returns the intervals of one trial in order, each with the name of its phase. The measured
/// intervals come last.
pub fn intervals(shape: Shape, seed: u64) -> Vec<(&'static str, Interval)> {
    let mut chance = Draws::sequence(seed);
    let gain = if shape.variant == "on" { 1.18 } else { 1.0 };
    let capacity = 52_000.0 * gain;
    let threads = shape.threads as f64;
    let rate = capacity * threads / (threads + 14.0 * gain);
    let median_ns = threads / rate * 1e9;
    let interval = |index: u64| {
        let phase = if index < WARMUP_S {
            "warmup"
        } else {
            "measure"
        };
        let warm = if index < WARMUP_S {
            0.4 + 0.12 * index as f64
        } else {
            1.0
        };
        let dip = if index % 11 == 9 { 0.82 } else { 1.0 };
        let ops = rate * warm * dip * (0.97 + 0.06 * chance.unit());
        let slow = 1.0 / (warm * dip);
        let kinds = KINDS.map(|kind| {
            let share = if kind == "read" { 0.1 } else { 0.9 };
            kind_interval(&mut chance, shape, ops * share, median_ns * slow, index)
        });
        let client = ClientInterval {
            cpu_ns: (ops * 2_100.0) as u64,
            counts: ClientCounts::from([
                (ClientCount::InFlight, shape.threads),
                (ClientCount::Connections, 4),
            ]),
            ..ClientInterval::default()
        };
        let interval = Interval {
            client,
            ..Interval::second(index, kinds.into())
        };
        (phase, interval)
    };
    (0..WARMUP_S + MEASURE_S).map(interval).collect()
}

fn kind_interval(
    chance: &mut Draws,
    shape: Shape,
    ops: f64,
    median_ns: f64,
    index: u64,
) -> KindInterval {
    let mut kind = KindInterval::default();
    // The fixture records only a fiftieth of the operations, so that the tests are faster. The
    // shape of the distribution remains the same.
    for _ in 0..(ops / 50.0) as u64 {
        let tail = if chance.unit() < 0.003 { 6.0 } else { 1.0 };
        let ns = lognormal(chance, median_ns * tail, 0.45);
        kind.latency.record(ns as u64);
        kind.service.record((ns * 0.94) as u64);
        kind.outcomes.add_one(Outcome::Ok);
    }
    if shape.verdict == "invalid" && index > 20 {
        for _ in 0..(index - 20) * 3 {
            kind.outcomes.add_one(Outcome::ClientTimeout);
            kind.errors.record(2_000_000_000);
        }
        if index.is_multiple_of(3) {
            kind.outcomes.add_one(Outcome::WriteTimeout);
        }
    }
    kind
}

fn quantiles(histogram: &Histogram) -> QuantilesRecord {
    let mut record = store::convert::quantiles_ms(histogram);
    for (name, value, q) in [
        ("p50", record.p50, 0.5),
        ("p95", record.p95, 0.95),
        ("p99", record.p99, 0.99),
        ("p999", record.p999, 0.999),
    ] {
        if record.count as f64 * (1.0 - q) >= 100.0 {
            let value = value.least();
            record.ci95.insert(name.into(), [value * 0.96, value * 1.05]);
        }
    }
    record
}

fn series(kinds: &[&KindInterval]) -> SeriesRecord {
    let (mut latency, mut service, mut errors) =
        (Histogram::new(), Histogram::new(), Histogram::new());
    for kind in kinds {
        latency.add(&kind.latency);
        service.add(&kind.service);
        errors.add(&kind.errors);
    }
    let ops = latency.count();
    // Each recorded operation represents fifty operations, so this function multiplies the rate by
    // fifty.
    let rate = 50.0 * ops as f64 / MEASURE_S as f64;
    SeriesRecord {
        ops,
        ops_per_s: rate,
        ops_per_s_ci95: Some([rate * 0.985, rate * 1.015]),
        few_incidents: false,
        latency_ms: quantiles(&latency),
        service_ms: quantiles(&service),
        error_ms: store::convert::quantiles_ms(&errors),
    }
}

fn rules(verdict: &str) -> Vec<RuleRecord> {
    let rule = |number: usize| {
        let (result, detail) = match (number, verdict) {
            (8, "invalid") => (
                "fail",
                "297 of 26,431 operations failed (1.1 %), limit 0.1 %",
            ),
            (3, "suspect") => ("warn", "client used 74 % of its core, limit 70 %"),
            (4 | 5, _) => ("unknown", "one client: nothing to compare"),
            (13, _) => ("unknown", "no faults were asked for"),
            (7, _) => (
                "pass",
                "server counted 0.02 % more than the client, limit 1 %",
            ),
            _ => ("pass", "within its limit"),
        };
        RuleRecord {
            rule: format!("V{number}"),
            result: store::record::RuleOutcome::from_name(result).expect("a word"),
            detail: detail.into(),
            measured: Vec::new(),
        }
    };
    (1..=19).map(rule).collect()
}

fn reasons(verdict: &str) -> Vec<String> {
    match verdict {
        "invalid" => vec!["V8: 297 of 26,431 operations failed (1.1 %), limit 0.1 %.".into()],
        "suspect" => vec!["V3: client used 74 % of its core, limit 70 %.".into()],
        _ => Vec::new(),
    }
}

fn point(threads: u64) -> Option<Point> {
    Some(Point::Threads(threads as u32))
}

fn finding(index: usize, shape: Shape, intervals: &[(&str, Interval)]) -> TrialFinding {
    let measured: Vec<&Interval> = intervals
        .iter()
        .filter(|(phase, _)| *phase == "measure")
        .map(|(_, i)| i)
        .collect();
    let of = |k: usize| -> Vec<&KindInterval> { measured.iter().map(|i| &i.kinds[k]).collect() };
    let all: Vec<&KindInterval> = measured.iter().flat_map(|i| &i.kinds).collect();
    let mut outcomes = OutcomeCounts::default();
    all.iter().for_each(|k| outcomes.add(&k.outcomes));
    let series_all = series(&all);
    let reads = series(&of(0));
    let client_ops = series_all.ops + 8_000;
    TrialFinding {
        index,
        variant: shape.variant.into(),
        point: point(shape.threads),
        block: shape.block,
        phase: "measure".into(),
        verdict: store::record::Verdict::from_name(shape.verdict).expect("a word"),
        reasons: reasons(shape.verdict),
        rules: rules(shape.verdict),
        seconds: MEASURE_S as f64,
        ops_total: outcomes.total(),
        errors: store::convert::errors(&outcomes),
        warmup: WarmupRecord {
            seconds: WARMUP_S as f64,
            steady: WarmupEnd::Detected,
        },
        kinds: BTreeMap::from([
            (KINDS[0].to_string(), reads.clone()),
            (KINDS[1].to_string(), series(&of(1))),
        ]),
        client: ClientRecord {
            cpu_us_per_op: 2.1 + shape.threads as f64 * 0.004,
            cpu_share: cpu_share(shape.verdict),
            ceiling_ops_per_s: 1_640_000.0,
            workers: 1,
            connections: 4,
            memory_bytes: 31 << 20,
            ceilings_ops_per_s: vec![1_702_000.0, 1_640_000.0, 1_911_000.0],
            stall_ms_longest: Some(3.2),
            wait_share: Some(0.012),
            quiet_ms_longest: 41.0,
            ..ClientRecord::default()
        },
        machine: Some(MachineRecord {
            cpu_others: Some(0.06),
            ..MachineRecord::default()
        }),
        verify: VerifyRecord {
            checked: 2_000,
            stale: u64::from(shape.verdict == "invalid"),
            ..VerifyRecord::default()
        },
        server: Some(server(client_ops)),
        counts: counts(shape, reads.ops),
        load: Some(LoadRecord {
            operations: 200_000,
            seconds: 4.7,
            settle: SettleEnd::Settled,
            settle_seconds: 6.2,
            ..LoadRecord::default()
        }),
        all: series_all,
        ..TrialFinding::default()
    }
}

fn cpu_share(verdict: &str) -> f64 {
    if verdict == "suspect" { 0.74 } else { 0.31 }
}

fn server(client_ops: u64) -> ServerCountsRecord {
    ServerCountsRecord {
        source: "system_views.coordinator_write_latency".into(),
        writes: client_ops * 9 / 10 + 41,
        reads: client_ops / 10,
        client_writes: client_ops * 9 / 10,
        client_reads: client_ops / 10,
    }
}

/// Returns the trials of the fixture, with two variants, six thread counts and `blocks` blocks.
pub fn shapes(blocks: usize) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for block in 0..blocks {
        for threads in [4, 8, 16, 32, 64, 128] {
            for variant in ["off", "on"] {
                let verdict = match (variant, threads) {
                    ("off", 128) => "invalid",
                    ("on", 128) => "suspect",
                    _ => "valid",
                };
                shapes.push(Shape {
                    variant,
                    threads,
                    block,
                    verdict,
                });
            }
        }
    }
    shapes
}

pub fn plan(shapes: &[Shape]) -> PlanRecord {
    let trial = |(index, shape): (usize, &Shape)| TrialRecord {
        format: FORMAT,
        index,
        slug: format!(
            "{index:02}-{}-threads-{}-{}",
            shape.variant, shape.threads, shape.block
        ),
        variant: shape.variant.into(),
        point: point(shape.threads),
        role: Role::Probe,
        block: shape.block,
        phases: Vec::new(),
        settings: json!({
            "workload": { "use": "cql-iot", "consistency": "ONE" },
            "topology": if shape.variant == "on" { "auto" } else { "one-socket-per-vcpu" },
            "heap": "1GiB",
        }),
    };
    PlanRecord {
        format: FORMAT,
        cassay: "0.1.0".into(),
        study: "vtopology".into(),
        question: "Does one virtual socket per node beat one socket per vCPU?".into(),
        seed: 42,
        scale: Some("laptop".into()),
        rerun: "./cassay run studies/vtopology.yaml --scale laptop --seed 42".into(),
        estimate: EstimateRecord::default(),
        trials: shapes.iter().enumerate().map(trial).collect(),
        resolved: serde_json::from_value(json!({
            "study": "vtopology",
            "target": { "local": { "cassandra": "5.0.8", "nodes": 2, "heap": "1GiB" } },
            "workload": { "use": "cql-iot", "mix": { "write": 9, "read": 1 } },
            "procedure": { "sweep": { "threads": [4, 8, 16, 32, 64, 128] } },
            "notes": ["`-graph` has no effect: the report contains the graphs."],
            "requests": {
                "off": [request("write"), request("read")],
                "on": [request("write"), request("read")],
            },
        }))
        .expect("a plan"),
    }
}

fn comparisons(blocks: usize) -> Vec<ComparisonRecord> {
    let mut records = Vec::new();
    for (threads, ratio, low, high, verdict) in [
        (16, 1.09, 1.05, 1.13, "faster"),
        (32, 1.12, 1.09, 1.15, "faster"),
        (64, 1.01, 0.99, 1.02, "equivalent"),
        (8, 1.04, 0.96, 1.13, "inconclusive"),
    ] {
        records.push(ComparisonRecord {
            metric: "ops_per_s".into(),
            point: point(threads),
            baseline: "off".into(),
            contender: "on".into(),
            ratio,
            ci95: (blocks > 1).then_some([low, high]),
            verdict: if blocks > 1 {
                store::record::Finding::from_name(verdict).expect("a word")
            } else {
                store::record::Finding::Inconclusive
            },
            primary: threads == 32,
            could_see: (blocks > 1).then_some(0.041),
            blocks_to_settle: (blocks > 1).then_some(23),
            ..ComparisonRecord::default()
        });
    }
    records
}

/// Returns the findings of the trials in `shapes`. `trials` contains the intervals of each trial.
pub fn findings(shapes: &[Shape], trials: &[Vec<(&'static str, Interval)>]) -> FindingsRecord {
    let each = shapes.iter().zip(trials).enumerate();
    let blocks = shapes.iter().map(|s| s.block + 1).max().unwrap_or(1);
    FindingsRecord {
        format: FORMAT,
        study: "vtopology".into(),
        verdict: Verdict::Invalid,
        reasons: vec![
            "Trial 10 (off, threads 128) is invalid. V8: 297 of 26,431 operations failed \
             (1.1 %), limit 0.1 %."
                .into(),
            "Trial 11 (on, threads 128) is suspect. V3: client used 74 % of its core, limit 70 %."
                .into(),
        ],
        answer: Vec::new(),
        trials: each.map(|(index, (shape, trial))| finding(index, *shape, trial)).collect(),
        points: Vec::new(),
        searches: Vec::new(),
        sweeps: Vec::new(),
        comparisons: comparisons(blocks),
        multiplicity: None,
        faults: Vec::new(),
        without_faults: Vec::new(),
        ..FindingsRecord::default()
    }
}

fn point_views(shapes: &[Shape], trials: &[Vec<(&'static str, Interval)>]) -> Vec<PointView> {
    let mut merged: BTreeMap<(&str, u64, &str), (Histogram, Histogram)> = BTreeMap::new();
    for (shape, trial) in shapes.iter().zip(trials) {
        for (_, interval) in trial.iter().filter(|(phase, _)| *phase == "measure") {
            for (name, kind) in KINDS.into_iter().zip(&interval.kinds) {
                for name in [name, "all"] {
                    let both = merged.entry((shape.variant, shape.threads, name)).or_default();
                    both.0.add(&kind.latency);
                    both.1.add(&kind.service);
                }
            }
        }
    }
    let view = |((variant, threads, kind), (latency, service)): ((&str, u64, &str), _)| PointView {
        variant: variant.into(),
        point: point(threads),
        kind: kind.into(),
        latency: Curve::new(&latency),
        service: Curve::new(&service),
    };
    merged.into_iter().map(view).collect()
}

fn trial_view(index: usize, trial: &[(&'static str, Interval)]) -> TrialView {
    let kinds = KINDS.map(str::to_string);
    let records = trial
        .iter()
        .flat_map(|(phase, interval)| store::convert::interval_records(phase, 0, &kinds, interval));
    let samples = (0..WARMUP_S + MEASURE_S).map(|second| (second as f64, (second % 7) as f64));
    TrialView {
        index,
        intervals: records.collect(),
        probes: vec![ProbeSeries {
            name: "compactions.pending".into(),
            place: "node1".into(),
            unit: "count".into(),
            values: samples.collect(),
            ..ProbeSeries::default()
        }],
        others: vec![ProbeSeries {
            name: "cpu.others".into(),
            place: "machine".into(),
            unit: "%".into(),
            values: vec![(0.5, 3.0), (1.5, 11.0)],
            ..ProbeSeries::default()
        }],
        nodes: None,
        slowest: Vec::new(),
    }
}

fn node(name: &str, address: &str) -> NodeView {
    let facts = [("address", address), ("rack", "r1"), ("version", "5.0.8")];
    let settings = [("commitlog_sync", "periodic"), ("concurrent_writes", "32")];
    let owned = |(key, value): (&str, &str)| (key.to_string(), value.to_string());
    NodeView {
        name: name.into(),
        facts: facts.map(owned).into(),
        settings: settings.map(owned).into(),
    }
}

/// Returns the whole run with this number of blocks. Builds the runs with one and with three blocks
/// only once.
pub fn run(blocks: usize) -> RunView {
    static ONE: LazyLock<RunView> = LazyLock::new(|| make(1));
    static THREE: LazyLock<RunView> = LazyLock::new(|| make(3));
    match blocks {
        1 => ONE.clone(),
        3 => THREE.clone(),
        other => make(other),
    }
}

fn make(blocks: usize) -> RunView {
    let shapes = shapes(blocks);
    let trials: Vec<_> = shapes.iter().enumerate().map(|(i, s)| intervals(*s, i as u64)).collect();
    let line = |unix_ns: u64| JournalRecord {
        unix_ns,
        trial: None,
        event: JournalEvent::RunInterrupted,
    };
    RunView {
        name: "vtopology/20261120T230500Z".into(),
        folder: "results/vtopology/20261120T230500Z".into(),
        plan: plan(&shapes),
        verdict: Some(findings(&shapes, &trials).verdict),
        findings: findings(&shapes, &trials),
        journal: vec![line(0), line(731_000_000_000)],
        points: point_views(&shapes, &trials),
        trials: trials.iter().enumerate().map(|(i, t)| trial_view(i, t)).collect(),
        nodes: vec![
            node("node1", "127.0.0.1:9042"),
            node("node2", "127.0.0.2:9042"),
        ],
        facts: vec![
            ("CPU".into(), "AMD EPYC 7R13, 2 cores".into()),
            ("memory".into(), "24 GiB".into()),
            ("kernel".into(), "6.8.0".into()),
            ("Java".into(), "17.0.12".into()),
        ],
        files: vec![FileView {
            path: "findings.json".into(),
            what: "every number on this page, as JSON".into(),
        }],
        notes: Vec::new(),
        history: report::History::default(),
    }
}
