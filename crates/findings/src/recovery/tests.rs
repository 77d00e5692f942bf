//! Tests the effects of a known fault, with a trial on disk.

use super::*;
use analysis::recovery::ClientSymptom;
use measure::{Interval, KindCount, KindCounts, KindInterval, Outcome};
use std::path::Path;
use store::RunWriter;
use store::record::{NodeRecord, NodesRecord, PlanRecord, RepairNeed, SampleRecord, TrialRecord};

const MS: u64 = 1_000_000;

/// Returns the number of successes, their latency, and the number of failures in second `at` of the
/// window.
fn second(at: u64) -> (u64, u64, u64) {
    match at {
        20..=24 => (30, 80 * MS, 3),
        _ => (100, 2 * MS, 0),
    }
}

fn interval(index: u64) -> Interval {
    let (ok, latency_ns, failed) = second(index);
    let mut kind = KindInterval {
        counts: KindCounts::from([
            (KindCount::Speculations, u64::from(failed > 0)),
            (KindCount::Retries, failed),
        ]),
        ..KindInterval::default()
    };
    kind.succeed(false, latency_ns, latency_ns, ok);
    for _ in 0..failed {
        kind.fail(false, Outcome::ClientTimeout, 500 * MS, Some(500 * MS));
    }
    // This kind is a part of other operations, so sums do not include it.
    let mut part = KindInterval {
        is_part: true,
        ..KindInterval::default()
    };
    part.succeed(false, 900 * MS, 900 * MS, 50);
    Interval::second(index, vec![kind, part])
}

fn samples() -> Vec<SampleRecord> {
    let mut samples = Vec::new();
    for at in 0..60 {
        let gone = f64::from(u8::from((26..36).contains(&at)));
        for (name, value) in [
            (EVERY_LOOK, 0.0),
            ("gossip.unreachable", gone),
            ("hints.pending", gone),
            ("hints.total/s", 10.0 * gone),
            (
                "hints.delivered/s",
                f64::from(u8::from((36..40).contains(&at))),
            ),
        ] {
            samples.push(SampleRecord {
                t_s: f64::from(at),
                name: name.to_owned(),
                place: "node1".to_owned(),
                unit: String::new(),
                value,
            });
        }
    }
    samples
}

/// Writes a trial of one minute, with the readings of its nodes, to disk.
fn written(folder: &Path) -> Trial {
    written_after(folder, 0)
}

/// Writes the same trial, measured after `warmup` seconds of warm-up.
fn written_after(folder: &Path, warmup: u64) -> Trial {
    let record: TrialRecord = serde_json::from_value(serde_json::json!({
        "format": 1, "index": 0, "slug": "00", "variant": "-", "point": {}, "block": 0,
        "phases": [], "settings": {}
    }))
    .unwrap();
    let plan: PlanRecord = serde_json::from_value(serde_json::json!({
        "format": 1, "cassay": "0", "study": "made-up", "question": "?", "seed": 1, "rerun": "",
        "estimate": {"seconds": 1.0, "disk_bytes": 1, "memory_bytes": 1}, "trials": [],
        "resolved": {}
    }))
    .unwrap();
    let mut run = RunWriter::create(folder, "study: made-up\n", &plan).unwrap();
    let kinds = ["write".to_owned(), "read".to_owned()];
    let mut writer = run.begin_trial(&record, &kinds).unwrap();
    let start_ns = writer.start_ns();
    for index in 0..warmup {
        let base = Interval::second(
            index,
            vec![KindInterval::default(), KindInterval::default()],
        );
        let shifted = Interval {
            start_ns: start_ns + base.start_ns,
            end_ns: start_ns + base.end_ns,
            ..base
        };
        writer.write_interval("warmup", &shifted).unwrap();
    }
    let window_ns = warmup * 1000 * MS;
    for index in 0..60 {
        let base = interval(index);
        let shifted = Interval {
            start_ns: start_ns + window_ns + base.start_ns,
            end_ns: start_ns + window_ns + base.end_ns,
            window_from_ns: start_ns + window_ns,
            ..base
        };
        writer.write_interval("measure", &shifted).unwrap();
    }
    writer.write_samples("cassandra", &samples()).unwrap();
    let node = |name: &str| NodeRecord {
        name: name.to_owned(),
        settings: [("max_hint_window".to_owned(), "3h".to_owned())].into(),
        ..NodeRecord::default()
    };
    let nodes = NodesRecord {
        format: 1,
        nodes: vec![node("node1"), node("node2")],
        ..NodesRecord::default()
    };
    writer.write_nodes(&nodes).unwrap();
    Trial::unverified(writer.path().to_owned(), record)
}

const EVERY_LOOK: &str = "hints.in_progress";

fn finding(faults: Vec<FaultRecord>) -> TrialFinding {
    TrialFinding {
        faults,
        parts: vec!["read".to_owned()],
        ..TrialFinding::default()
    }
}

#[test]
fn effects_of_a_fault_are_read_back_from_the_files_of_a_trial() {
    let folder = tempfile::tempdir().unwrap();
    let trial = written(folder.path());
    let fault = FaultRecord {
        kind: "node-pause".to_owned(),
        place: Some("node2".to_owned()),
        injected_s: Some(19.5),
        seen_s: Some(20.5),
        healing_s: Some(24.0),
        whole_s: Some(24.5),
        ..FaultRecord::default()
    };
    let never = FaultRecord::default();
    let mut finding = finding(vec![never, fault]);
    measure(&trial, &mut finding, LoadSchedule::Closed).unwrap();
    let [never, fault] = &finding.faults[..] else {
        panic!("two")
    };
    assert!(never.recovery.is_none(), "it was not injected");
    assert_eq!(
        (fault.detect_s, fault.dip, fault.recover_s),
        (Some(1.5), Some(0.7), Some(1.0))
    );
    let found = fault.recovery.as_ref().unwrap();
    let level = found.ops_per_s.unwrap();
    assert_eq!(
        (level.middle, level.intervals, level.within),
        (100.0, 19, 0.05)
    );
    let [before, during, after] =
        [&found.before, &found.during, &found.after].map(|stretch| stretch.as_ref().unwrap());
    assert_eq!(
        (before.seconds, before.ops, before.failed()),
        (19.0, 1900, 0)
    );
    // Second 19 contains the injection. Second 24 contains the observation that all nodes are up.
    assert_eq!(
        (during.seconds, during.ops, during.failed()),
        (6.0, 250, 15)
    );
    assert_eq!(during.errors["write"]["client_timeout"], 15);
    let counts = [KindCount::Retries, KindCount::Speculations].map(|count| during.counts[count]);
    assert_eq!(counts, [15, 5]);
    assert_eq!((after.seconds, after.ops, after.failed()), (35.0, 3500, 0));
    // The percentile includes timeouts as lower bounds of latencies, and excludes parts of
    // operations.
    let p99_ms = during.latency_ms.p99;
    assert!(
        p99_ms.is_at_least() && (p99_ms.least() - 500.0).abs() < 1.0,
        "{p99_ms:?}"
    );
    assert_eq!(
        (during.latency_ms.count, before.latency_ms.count),
        (265, 1900)
    );
    assert!((after.latency_ms.p99.least() - 2.0).abs() < 0.01);
    assert!((found.p99_ms.unwrap().middle - 2.0).abs() < 0.01);
    assert_eq!(found.noticed.client_by, Some(ClientSymptom::Errors));
    assert_eq!(
        (found.noticed.gossip_s, found.noticed.gossip_by.as_str()),
        (Some(6.5), "node1")
    );
    let hints = found.hints.unwrap();
    assert_eq!(
        (hints.stored, hints.delivered, hints.drained_s),
        (100.0, 4.0, Some(15.0))
    );
    let repair = (found.repair, &found.repair_why);
    assert_eq!(repair.0, Some(RepairNeed::NotNeeded), "{repair:?}");
}

#[test]
fn a_fault_without_a_baseline_keeps_its_stretches_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let trial = written(folder.path());
    let fault = FaultRecord {
        injected_s: Some(3.0),
        ..FaultRecord::default()
    };
    let mut finding = finding(vec![fault]);
    measure(&trial, &mut finding, LoadSchedule::Rate).unwrap();
    let fault = &finding.faults[0];
    assert_eq!((fault.dip, fault.recover_s), (None, None));
    let found = fault.recovery.as_ref().unwrap();
    assert!(
        found.unseen[0].contains("the window has 3 intervals"),
        "{:?}",
        found.unseen
    );
    assert!(found.before.is_none() && found.after.is_none());
    assert_eq!(found.during.as_ref().unwrap().seconds, 57.0);
}

/// The windows of the two trials begin at different seconds, because the warm-ups differ.
#[test]
fn the_stretches_of_a_fault_are_found_in_a_trial_without_it() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (with, without) = (written(folder.path()), written_after(other.path(), 7));
    let fault = FaultRecord {
        injected_s: Some(19.5),
        healing_s: Some(24.0),
        whole_s: Some(24.5),
        ..FaultRecord::default()
    };
    let mut finding = finding(vec![FaultRecord::default(), fault]);
    measure(&with, &mut finding, LoadSchedule::Closed).unwrap();
    let found = stretches_without(&with, &finding.faults, &without, &finding.parts).unwrap();
    assert!(found[0].iter().all(Option::is_none), "it never was");
    let [during, after] = found[1].each_ref().map(|one| one.as_ref().unwrap());
    let here = finding.faults[1].recovery.as_ref().unwrap();
    let [with_during, with_after] =
        [&here.during, &here.after].map(|one| one.as_ref().unwrap().seconds);
    assert_eq!((during.seconds, after.seconds), (with_during, with_after));
    // The period is at the same time in the window, although it is seven seconds later in the
    // trial.
    assert_eq!((during.ops, during.failed()), (250, 15));
    assert_eq!(during.latency_ms.count, 265);
    assert_eq!((after.ops, after.failed()), (3500, 0));
}
