//! A run of one trial, written through the store. The trial has one second of warm-up and three
//! seconds of measurement, and no operations in the last second. The trial has two kinds of
//! operations, and reads that are parts of one of these kinds.

use measure::{Interval, KindInterval, Times};
use std::collections::BTreeMap;
use std::path::PathBuf;
use store::record::{
    ComparisonRecord, CostKind, EstimateRecord, FORMAT, FaultRecord, FindingsRecord,
    FrameDifferenceRecord, MeasurementRecord, PhaseTimeRecord, PlanRecord, Point, PointRecord,
    ProfileDifferenceRecord, ProfilesRecord, Quantity, ReasonRecord, ResolvedRecord, Role,
    RuleOutcome, RuleRecord, SampleRecord, SeriesRecord, TrialFinding, TrialRecord, VariantName,
};
use store::{RunWriter, TrialWriter, convert};
use tempfile::TempDir;

/// Kinds of operations. A `read` is a part of a `change`.
pub const KINDS: [&str; 3] = ["change", "read", "write"];

pub struct TestRun {
    /// Folder of the run. Dropping this value deletes the run.
    pub folder: TempDir,
    pub path: PathBuf,
    pub findings: FindingsRecord,
}

pub fn made() -> TestRun {
    let (folder, mut run) = begun();
    let mut writer = trial(&mut run);
    let found = fill(&mut writer);
    writer.write_overview(&found).expect("an overview");
    run.finish_trial(0, "00-a", &found).expect("a finding");
    let findings = findings(found);
    run.finish(&findings, "0.1.0", None).expect("findings");
    TestRun {
        path: run.path().to_owned(),
        folder,
        findings,
    }
}

pub fn interrupted() -> TestRun {
    let (folder, mut run) = begun();
    let mut writer = trial(&mut run);
    fill(&mut writer);
    TestRun {
        path: run.path().to_owned(),
        folder,
        findings: FindingsRecord::default(),
    }
}

fn begun() -> (TempDir, RunWriter) {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = PlanRecord {
        format: FORMAT,
        cassay: "0.1.0".to_owned(),
        study: "made".to_owned(),
        question: "What leaves?".to_owned(),
        seed: 1,
        scale: None,
        rerun: String::new(),
        estimate: EstimateRecord::default(),
        trials: vec![record()],
        resolved: ResolvedRecord::default(),
    };
    let run = RunWriter::create(folder.path(), "study: made\n", &plan).expect("a run");
    (folder, run)
}

/// Returns a name that a spreadsheet might interpret as a formula.
fn variant() -> VariantName {
    "=1+2,\"a\"\nb".into()
}

fn record() -> TrialRecord {
    TrialRecord {
        format: FORMAT,
        index: 0,
        slug: "00-a".to_owned(),
        variant: variant(),
        point: Some(Point::Threads(8)),
        role: Role::Probe,
        block: 0,
        phases: Vec::new(),
        settings: serde_json::Value::Null,
    }
}

fn trial(run: &mut RunWriter) -> TrialWriter {
    run.begin_trial(&record(), &KINDS.map(str::to_owned)).expect("a trial")
}

/// Returns 60 changes of 2 ms and 40 writes of 8 ms, each sent 1 ms late. Also returns reads that
/// do not count in any sum.
fn kinds(is_still: bool) -> Vec<KindInterval> {
    let of = |count: u64, latency_ns: u64| {
        let mut kind = KindInterval::default();
        if !is_still {
            kind.succeed(false, latency_ns, latency_ns - 1_000_000, count);
        }
        kind
    };
    vec![of(60, 2_000_000), of(60, 1_500_000), of(40, 8_000_000)]
}

fn fill(writer: &mut TrialWriter) -> TrialFinding {
    let start_ns = writer.start_ns();
    let (mut latency, mut service) = (Times::default(), Times::default());
    for second in 0..4 {
        let mut interval = Interval::second(second, kinds(second == 3));
        interval.start_ns += start_ns;
        interval.end_ns += start_ns;
        let phase = if second == 0 { "warmup" } else { "measure" };
        if second > 0 {
            for kind in [&interval.kinds[0], &interval.kinds[2]] {
                latency.add(&kind.latency, &kind.censored.latency);
                service.add(&kind.service, &kind.censored.service);
            }
        }
        writer.write_interval(phase, &interval).expect("an interval");
    }
    let sample = SampleRecord {
        t_s: 1.5,
        name: "jvm.threads".to_owned(),
        place: "node1".to_owned(),
        unit: "count".to_owned(),
        value: 3.0,
    };
    writer.write_samples("jvm", &[sample]).expect("a sample");
    found(writer.start_unix_ns(), [&latency, &service])
}

fn found(started_unix_ns: u64, [latency, service]: [&Times; 2]) -> TrialFinding {
    // The client stopped following some operations before they ended, so their latencies are lower
    // bounds.
    let mut bounds = Times::default();
    let mut one = measure::Histogram::new();
    one.record(9_000_000);
    bounds.merge(latency);
    bounds.add(&measure::Histogram::new(), &one);
    let series = SeriesRecord {
        ops: latency.all().count(),
        ops_per_s: latency.all().count() as f64 / 3.0,
        latency_ms: convert::times_ms(&bounds),
        service_ms: convert::times_ms(service),
        ..SeriesRecord::default()
    };
    TrialFinding {
        started_unix_ns,
        reasons: vec!["V12: the measured window is 3.0 s long (minimum 5 s)".to_owned()],
        reason_records: vec![ReasonRecord {
            rule: Some("V12".to_owned()),
            result: Some(RuleOutcome::Warn),
            trials: Vec::new(),
            measured: vec![short_window()],
        }],
        rules: vec![
            rule("V9", RuleOutcome::Pass, Vec::new()),
            rule("V12", RuleOutcome::Warn, vec![short_window()]),
        ],
        variant: variant(),
        point: Some(Point::Threads(8)),
        seconds: 3.0,
        phase: "measure".to_owned(),
        kinds: KINDS.map(|kind| (kind.to_owned(), series.clone())).into(),
        all: series,
        parts: vec!["read".to_owned()],
        costs: BTreeMap::from([(CostKind::ServerCpu, 0.25)]),
        phases: vec![PhaseTimeRecord {
            name: "measure".to_owned(),
            from_s: 1.0,
            to_s: 4.0,
        }],
        faults: vec![FaultRecord {
            kind: "node-pause".to_owned(),
            injected_s: Some(1.5),
            ..FaultRecord::default()
        }],
        ..TrialFinding::default()
    }
}

/// Returns the measurement of a window of 3 s, for which the rule requires at least 5 s.
fn short_window() -> MeasurementRecord {
    MeasurementRecord {
        quantity: Quantity::WindowLength,
        value: 3.0,
        limit: Some(5.0),
        fail_limit: None,
        minimum: true,
        unit: "s".to_owned(),
        place: None,
    }
}

fn rule(name: &str, result: RuleOutcome, measured: Vec<MeasurementRecord>) -> RuleRecord {
    RuleRecord {
        rule: name.to_owned(),
        result,
        detail: "in words".to_owned(),
        measured,
    }
}

fn findings(found: TrialFinding) -> FindingsRecord {
    FindingsRecord {
        format: FORMAT,
        study: "made".to_owned(),
        points: vec![PointRecord {
            variant: found.variant.clone(),
            point: found.point,
            blocks: 1,
            trials: vec![0],
            ops_per_s: found.all.ops_per_s,
            latency_ms: found.all.latency_ms.clone(),
            ..PointRecord::default()
        }],
        comparisons: vec![ComparisonRecord {
            metric: "ops_per_s".to_owned(),
            point: found.point,
            ratio: 1.0 / 3.0,
            ..ComparisonRecord::default()
        }],
        trials: vec![found],
        profiles: Some(profiles()),
        ..FindingsRecord::default()
    }
}

fn profiles() -> ProfilesRecord {
    ProfilesRecord {
        differences: vec![ProfileDifferenceRecord {
            baseline: "a".into(),
            contender: "b".into(),
            blocks: 4,
            frames: vec![FrameDifferenceRecord {
                frame: "lab/SlowStage.burn".to_owned(),
                difference: 50.5,
                ci95: Some([48.0, 53.0]),
                named: true,
                ..FrameDifferenceRecord::default()
            }],
            ..ProfileDifferenceRecord::default()
        }],
        ..ProfilesRecord::default()
    }
}
