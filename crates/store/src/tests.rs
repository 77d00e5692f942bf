//! Tests all stages of a run: created, written, interrupted, resumed, finished, found and read.

mod added;
mod damage;
mod profiles;
mod slowest;

use crate::record::Verdict;
use crate::record::{
    EstimateRecord, FORMAT, FindingsRecord, JournalEvent, MachineFacts, PlanRecord, Point,
    ResolvedRecord, Role, SampleRecord, TrialFinding, TrialRecord, VariantName,
};
use crate::{HistogramKind, Run, RunState, RunWriter, find, list};
use measure::{Interval, KindCount, KindInterval, Outcome};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

pub(crate) fn trial(index: usize) -> TrialRecord {
    TrialRecord {
        format: FORMAT,
        index,
        slug: format!("{index:02}-threads-{}", 4 << index),
        variant: VariantName::default(),
        point: Some(Point::Threads(4 << index)),
        role: Role::Probe,
        block: 0,
        phases: Vec::new(),
        settings: json!({"threads": 4 << index}),
    }
}

pub(crate) fn plan(study: &str) -> PlanRecord {
    PlanRecord {
        format: FORMAT,
        cassay: "0.0.0".to_owned(),
        study: study.to_owned(),
        question: "What can it take?".to_owned(),
        seed: 7,
        scale: None,
        rerun: format!("cassay run {study}.yaml"),
        estimate: EstimateRecord::default(),
        trials: vec![trial(0), trial(1)],
        resolved: ResolvedRecord::default(),
    }
}

fn findings(verdict: Verdict) -> FindingsRecord {
    FindingsRecord {
        format: FORMAT,
        study: "first".to_owned(),
        verdict,
        reasons: Vec::new(),
        answer: Vec::new(),
        trials: Vec::new(),
        points: Vec::new(),
        searches: Vec::new(),
        sweeps: Vec::new(),
        comparisons: Vec::new(),
        multiplicity: None,
        faults: Vec::new(),
        without_faults: Vec::new(),
        ..FindingsRecord::default()
    }
}

/// Returns an interval of one second with one failure and 100 writes. Each write took 2 ms, and was
/// sent 1 ms after it was due.
fn interval(start_ns: u64, index: u64) -> Interval {
    let mut kind = KindInterval::default();
    for _ in 0..100 {
        kind.succeed(false, 3_000_000, 2_000_000, 1);
    }
    kind.fail(false, Outcome::Overloaded, 9_000_000, Some(8_000_000));
    let mut interval = Interval::second(index, vec![kind]);
    interval.start_ns += start_ns;
    interval.end_ns += start_ns;
    interval
}

fn start(results: &Path, study: &str) -> RunWriter {
    RunWriter::create(results, "study: first\n", &plan(study)).unwrap()
}

fn started() -> JournalEvent {
    JournalEvent::RunStarted {
        cassay: "0.1.0".to_owned(),
        machine: MachineFacts {
            cpus: 8,
            ..MachineFacts::default()
        },
        finished_before: Vec::new(),
    }
}

fn write_trial(run: &mut RunWriter, index: usize) {
    let mut trial = run.begin_trial(&trial(index), &["write".to_owned()]).unwrap();
    let start_ns = trial.start_ns();
    trial.write_interval("warmup", &interval(start_ns, 0)).unwrap();
    trial.write_interval("measure", &interval(start_ns, 1)).unwrap();
    trial.write_interval("measure", &interval(start_ns, 2)).unwrap();
    let sample = SampleRecord {
        t_s: 1.5,
        name: "cassandra.compactions_pending".to_owned(),
        place: "node1".to_owned(),
        unit: "count".to_owned(),
        value: 3.0,
    };
    trial.write_samples("nodes", &[sample]).unwrap();
    fs::write(
        trial.logs_dir("node1").unwrap().join("system.log"),
        "started\n",
    )
    .unwrap();
}

#[test]
fn a_finished_run_gives_back_what_was_written() {
    let results = tempfile::tempdir().unwrap();
    let mut writer = start(results.path(), "first");
    writer.journal(None, started()).unwrap();
    write_trial(&mut writer, 0);
    let finding = TrialFinding::default();
    writer.finish_trial(0, &trial(0).slug, &finding).unwrap();
    writer.write_report("<html>", Some("<svg>")).unwrap();
    writer.finish(&findings(Verdict::Valid), "0.1.0", None).unwrap();

    let run = Run::open(writer.path()).unwrap();
    assert_eq!((run.state, run.plan.seed), (RunState::Finished, 7));
    assert_eq!(run.study_yaml().unwrap(), "study: first\n");
    assert_eq!(fs::read_to_string(run.report().unwrap()).unwrap(), "<html>");
    assert_eq!(
        run.journal.iter().map(|j| j.event.name()).collect::<Vec<_>>(),
        [
            "run_planned",
            "run_started",
            "trial_finished",
            "run_finished"
        ]
    );
    assert_eq!(run.findings.as_ref().unwrap().verdict, Verdict::Valid);
    assert_eq!((run.finished_trials(), run.notes.len()), (vec![0], 0));
    let trial = run.trial(0).unwrap().unwrap();
    assert!(run.trial(1).unwrap().is_none());
    assert_eq!(trial.probes().unwrap(), ["nodes"]);
    assert_eq!(
        trial.samples("nodes").unwrap().next().unwrap().unwrap().value,
        3.0
    );
    assert!(trial.logs_dir().join("node1/system.log").is_file());
}

#[test]
fn interval_lines_have_seconds_and_ms_and_a_line_for_the_client() {
    let results = tempfile::tempdir().unwrap();
    let mut writer = start(results.path(), "first");
    write_trial(&mut writer, 0);
    let trial = Run::open(writer.path()).unwrap().trial(0).unwrap().unwrap();
    let lines: Vec<_> = trial.intervals().unwrap().map(Result::unwrap).collect();
    let ids: Vec<_> =
        lines.iter().map(|l| (l.t_s, l.phase.as_str(), l.kind.as_str(), l.ok)).collect();
    assert_eq!(
        ids,
        [
            (0.0, "warmup", "write", 100),
            (0.0, "warmup", "client", 0),
            (1.0, "measure", "write", 100),
            (1.0, "measure", "client", 0),
            (2.0, "measure", "write", 100),
            (2.0, "measure", "client", 0),
        ]
    );
    let line = &lines[2];
    let near = |seen: f64, ms: f64| (seen - ms).abs() <= ms * 0.001;
    assert!(near(line.latency_ms.as_ref().unwrap().p99.least(), 3.0));
    assert!(near(line.service_ms.as_ref().unwrap().p50.least(), 2.0));
    assert!(near(line.error_ms.as_ref().unwrap().max.least(), 9.0));
    assert_eq!(line.errors, BTreeMap::from([("overloaded".to_owned(), 1)]));
    assert!(lines[3].client.is_some() && lines[3].latency_ms.is_none());
}

#[test]
fn histograms_of_the_measured_window_do_not_hold_the_warm_up() {
    let results = tempfile::tempdir().unwrap();
    let mut writer = start(results.path(), "first");
    write_trial(&mut writer, 0);
    let trial = Run::open(writer.path()).unwrap().trial(0).unwrap().unwrap();
    for (which, phase, count) in [
        (HistogramKind::Latency, "measure", 200),
        (HistogramKind::Latency, "warmup", 100),
        (HistogramKind::Service, "measure", 200),
        (HistogramKind::Errors, "measure", 2),
        (HistogramKind::Errors, "verify", 0),
    ] {
        let seen = trial.histogram(which, phase, "write").unwrap();
        assert_eq!(seen.count(), count, "{which:?} {phase}");
    }
}

#[test]
fn runs_of_one_second_have_unique_stamps_and_latest_is_the_last() {
    let results = tempfile::tempdir().unwrap();
    let runs: Vec<RunWriter> = (0..12).map(|_| start(results.path(), "first")).collect();
    let listed = list(results.path()).unwrap();
    let made: Vec<&str> = runs.iter().map(RunWriter::stamp).collect();
    assert_eq!(
        listed.iter().map(|l| l.stamp.as_str()).collect::<Vec<_>>(),
        made
    );
    let latest = find(results.path(), "latest").unwrap();
    assert_eq!(latest.stamp, made[11]);
    let target = fs::read_link(results.path().join("latest")).unwrap();
    assert_eq!(target, Path::new("first").join(made[11]));
    let left_over = fs::read_dir(results.path()).unwrap().count();
    assert_eq!(left_over, 2, "only the study's folder and the link");
}

#[test]
fn a_run_is_running_with_a_writer_then_interrupted() {
    let results = tempfile::tempdir().unwrap();
    let mut writer = start(results.path(), "first");
    writer.journal(None, started()).unwrap();
    let finished = JournalEvent::TrialFinished {
        verdict: Some(Verdict::Valid),
        ops_per_s: 0.0,
        finding: None,
    };
    writer.journal(Some(0), finished).unwrap();
    write_trial(&mut writer, 1);
    let path = writer.path().to_owned();
    assert_eq!(Run::open(&path).unwrap().state, RunState::Running);
    let refused = RunWriter::resume(&path).unwrap_err().to_string();
    assert!(refused.contains("another process is writing"), "{refused}");

    drop(writer);
    let journal = path.join("journal.ndjson");
    let mut text = fs::read_to_string(&journal).unwrap();
    text += "{\"unix_ns\":1,\"eve";
    fs::write(&journal, text).unwrap();
    let run = Run::open(&path).unwrap();
    assert_eq!((run.state, run.journal.len()), (RunState::Interrupted, 3));
    assert!(
        run.notes[0].contains("journal.ndjson line 4"),
        "{:?}",
        run.notes
    );

    let mut writer = RunWriter::resume(&path).unwrap();
    writer.journal(None, started()).unwrap();
    write_trial(&mut writer, 1);
    let run = Run::open(&path).unwrap();
    assert_eq!((run.journal.len(), run.notes.len()), (4, 0));
    assert_eq!(run.finished_trials(), [0]);
    // The folder of the interrupted attempt is renamed. The new attempt does not append to the old
    // files.
    assert!(path.join("trials/01-threads-8.attempt-1/intervals.ndjson").is_file());
    assert_eq!(
        run.trial(1).unwrap().unwrap().intervals().unwrap().count(),
        6
    );
}

#[test]
fn an_interrupted_run_has_what_its_finished_trials_found() {
    let results = tempfile::tempdir().unwrap();
    let mut writer = start(results.path(), "first");
    writer.begin_trial(&trial(0), &[]).unwrap();
    let finding = TrialFinding {
        index: 0,
        verdict: Verdict::Valid,
        ops_total: 42,
        ..TrialFinding::default()
    };
    let slug = trial(0).slug;
    writer.finish_trial(0, &slug, &finding).unwrap();
    write_trial(&mut writer, 1);
    let found = Run::open(writer.path()).unwrap().trial_findings();
    assert_eq!(found.iter().map(|f| f.ops_total).collect::<Vec<_>>(), [42]);
    // Once the findings of the run are written, readers ignore the separate findings of the trials.
    writer.finish(&findings(Verdict::Valid), "0.1.0", None).unwrap();
    let run = Run::open(writer.path()).unwrap();
    assert!(run.trial_findings().is_empty());
    assert_eq!(run.findings_by, "0.1.0");
}

#[test]
fn a_run_is_found_by_path_stamp_study_latest_or_a_beginning() {
    let results = tempfile::tempdir().unwrap();
    let first = start(results.path(), "alpha");
    let second = start(results.path(), "alpha");
    let third = start(results.path(), "beta");
    let open = |name: &str| find(results.path(), name).map(|run| run.path);
    let same = |name: &str, run: &RunWriter| {
        let expected = fs::canonicalize(run.path()).unwrap();
        assert_eq!(open(name).unwrap(), expected, "{name}");
    };
    same(first.path().to_str().unwrap(), &first);
    same(first.path().join("plan.json").to_str().unwrap(), &first);
    same(&format!("alpha/{}", first.stamp()), &first);
    same("alpha", &second);
    same("beta", &third);
    same("bet", &third);
    same("latest", &third);
    fs::remove_file(results.path().join("latest")).unwrap();
    open("latest").unwrap();
    let ambiguous = open("alph").unwrap_err().to_string();
    assert!(
        ambiguous.contains(&format!("alpha/{}", second.stamp())),
        "{ambiguous}"
    );
    let unknown = open("gamma").unwrap_err().to_string();
    assert!(
        unknown.contains("no run") && unknown.contains("the newest run is"),
        "{unknown}"
    );
    let nothing = tempfile::tempdir().unwrap();
    assert!(find(nothing.path(), "latest").is_err());
    assert!(list(nothing.path()).unwrap().is_empty());
}

#[test]
fn a_newer_format_is_refused_by_number_and_listed_as_an_error() {
    let results = tempfile::tempdir().unwrap();
    let writer = start(results.path(), "first");
    fs::write(writer.path().join("journal.ndjson"), "").unwrap();
    let path = writer.path().join("plan.json");
    let text = fs::read_to_string(&path).unwrap();
    let newer = text.replace("\"format\": 1", "\"format\": 9").replace("0.0.0", "4.2.0");
    fs::write(&path, newer).unwrap();
    let refused = Run::open(writer.path()).unwrap_err().to_string();
    assert!(
        refused.contains("format 9") && refused.contains("4.2.0"),
        "{refused}"
    );
    let line = list(results.path()).unwrap().remove(0);
    assert_eq!((line.state, line.verdict), (None, None));
    assert!(line.error.unwrap().contains("format 9"));
}

#[test]
fn damaged_files_of_earlier_versions_are_named() {
    let results = tempfile::tempdir().unwrap();
    let writer = start(results.path(), "first");
    fs::write(writer.path().join("journal.ndjson"), "").unwrap();
    fs::write(writer.path().join("findings.json"), "{").unwrap();
    let message = format!("{:#}", Run::open(writer.path()).unwrap_err());
    assert!(message.contains("findings.json is damaged"), "{message}");
    fs::write(writer.path().join("findings.json"), "{\"format\": 1}").unwrap();
    let message = format!("{:#}", Run::open(writer.path()).unwrap_err());
    assert!(message.contains("missing field `study`"), "{message}");
    let message = Run::open(results.path()).unwrap_err().to_string();
    assert!(message.contains("is not the folder of a run"), "{message}");
}

#[test]
fn names_that_leave_the_folder_are_refused_before_any_change() {
    let results = tempfile::tempdir().unwrap();
    let mut bad = plan("../elsewhere");
    assert!(RunWriter::create(results.path(), "", &bad).is_err());
    assert_eq!(fs::read_dir(results.path()).unwrap().count(), 0);
    bad.study = "fine".to_owned();
    let mut writer = RunWriter::create(results.path(), "", &bad).unwrap();
    let mut trial = trial(0);
    trial.slug = "a/b".to_owned();
    assert!(writer.begin_trial(&trial, &[]).is_err());
}

#[test]
fn a_line_of_an_older_or_richer_writer_is_read() {
    let results = tempfile::tempdir().unwrap();
    let mut writer = start(results.path(), "first");
    write_trial(&mut writer, 0);
    let trial = Run::open(writer.path()).unwrap().trial(0).unwrap().unwrap();
    let path = trial.path.join("intervals.ndjson");
    let line = r#"{"t_s":0.0,"seconds":1.0,"phase":"load","kind":"write","added_later":[1]}"#;
    fs::write(&path, format!("{line}\n")).unwrap();
    let read: Vec<_> = trial.intervals().unwrap().map(Result::unwrap).collect();
    assert_eq!((read.len(), read[0].ok), (1, 0));
}

/// The first version of format 1 wrote the run under `golden/format-1`. Never write this run again.
/// If this test fails, change the reader, not the files.
#[test]
fn a_run_of_the_first_version_stays_readable() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/format-1");
    let line = list(&golden).unwrap().remove(0);
    let seen = (
        line.study.as_str(),
        line.stamp.as_str(),
        line.verdict.map(Verdict::name),
    );
    assert_eq!(seen, ("first-look", "20261120T232909Z", Some("suspect")));
    assert_eq!(
        (line.trials_finished, line.trials_planned, line.error),
        (2, 2, None)
    );

    let run = find(&golden, "latest").unwrap();
    assert_eq!(
        (run.state, run.notes.len(), run.journal.len()),
        (RunState::Finished, 1, 10)
    );
    assert_eq!((run.plan.seed, run.plan.trials[1].phases.len()), (7, 3));
    let findings = run.findings.as_ref().unwrap();
    let trial = &findings.trials[0];
    assert_eq!((trial.ops_total, trial.errors["overloaded"]), (202, 2));
    assert_eq!(trial.kinds["write"].latency_ms.ci95["p50"], [2.9, 3.1]);
    assert_eq!(trial.all.ops_per_s_ci95, Some([99.0, 101.0]));
    assert_eq!(findings.comparisons[0].ci95, Some([0.9, 1.3]));
    assert_eq!(findings.faults[0].recover_s, Some(12.5));
    assert!(run.report().is_some());

    // The repository contains only the folder of the first trial.
    let trials = run.trials().unwrap();
    assert_eq!(trials.len(), 1);
    let values = trials[0].histogram(HistogramKind::Latency, "measure", "write").unwrap();
    assert_eq!((values.count(), values.quantile_ns(0.5)), (200, 3_000_319));
    assert_eq!(
        trials[0].intervals().unwrap().map(Result::unwrap).count(),
        6
    );
    assert_eq!(
        trials[0].samples("nodes").unwrap().map(Result::unwrap).count(),
        1
    );
}

/// Each counter has a different value, so that this test detects swapped counters.
#[test]
fn every_interval_count_is_in_its_line_and_in_the_trials_sums() {
    let mut seconds = interval(0, 0);
    let mut expected = BTreeMap::new();
    let names = [
        "rows",
        "pages",
        "batched",
        "applied",
        "not_applied",
        "retries",
        "speculations",
        "speculations_won",
        "rows_missing",
        "reprepared",
    ];
    assert_eq!(
        KindCount::ALL.len(),
        names.len(),
        "each has its word on disk here"
    );
    for ((value, counter), name) in (1u64..).zip(KindCount::ALL).zip(names) {
        seconds.kinds[0].counts[counter] = value;
        expected.insert(name, value);
    }
    let counts = serde_json::to_value(seconds.kinds[0].counts).unwrap();
    let kinds = ["write".to_owned()];
    let lines = crate::convert::interval_records("measure", 0, &kinds, &seconds);
    let line = serde_json::to_value(&lines[0]).unwrap();
    for (name, value) in expected {
        assert_eq!(
            (&counts[name], &line[name]),
            (&json!(value), &json!(value)),
            "{name}"
        );
    }
}
