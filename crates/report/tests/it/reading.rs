//! Tests that the page shows exactly the run that the store wrote.

use crate::fixture;
use report::{RunView, html, page};
use std::path::{Path, PathBuf};
use store::RunWriter;
use store::record::{JournalEvent, NodeRecord, PhaseTimeRecord, SampleRecord};

#[test]
fn a_run_on_disk_becomes_the_same_curves_and_findings() {
    let folder = tempfile::tempdir().expect("a folder");
    let shapes = &fixture::shapes(1)[..2];
    let trials: Vec<_> = shapes.iter().map(|s| fixture::intervals(*s, 7)).collect();
    let plan = fixture::plan(shapes);
    let mut writer = RunWriter::create(folder.path(), "study: vtopology\n", &plan).expect("run");
    let node = NodeRecord {
        name: "node1".to_owned(),
        rack: "r1".to_owned(),
        settings: [("commitlog_sync".to_owned(), "batch".to_owned())].into(),
        ..NodeRecord::default()
    };
    let ready = JournalEvent::TargetReady {
        kind: "local".to_owned(),
        nodes: vec![node],
    };
    writer.journal(None, ready).expect("a line");
    let kinds = fixture::KINDS.map(str::to_string);
    for (record, intervals) in plan.trials.iter().zip(&trials) {
        let mut trial = writer.begin_trial(record, &kinds).expect("a trial");
        for (phase, interval) in intervals {
            trial.write_interval(phase, interval).expect("an interval");
        }
    }
    let findings = fixture::findings(shapes, &trials);
    writer.finish(&findings, "0.1.0", None).expect("findings");

    let run = store::Run::open(writer.path()).expect("the run opens");
    let view = RunView::read(&run).expect("the run reads");
    assert_eq!(view.nodes[0].name, "node1");
    assert_eq!(
        view.nodes[0].facts,
        [("rack".to_string(), "r1".to_string())]
    );
    assert_eq!(view.nodes[0].settings["commitlog_sync"], "batch");
    // The view has curves for two points. Each point has curves for two kinds of operations and for
    // all kinds together. The curves do not contain the warm-up.
    assert_eq!(view.points.len(), 2 * 3);
    for point in &view.points {
        let trial = findings.trials.iter().find(|t| t.variant == point.variant).expect("known");
        let series = if point.kind == "all" {
            &trial.all
        } else {
            &trial.kinds[&point.kind]
        };
        assert_eq!(point.latency.quantiles.count, series.ops);
        assert_eq!(point.latency.quantiles.p99, series.latency_ms.p99);
        assert_eq!(point.service.quantiles.p50, series.service_ms.p50);
    }
    assert_eq!(view.trials[0].intervals.len(), 35 * 3);
    assert!(html(&page(&view)).contains("class=\"plot\""));
}

/// Writes a run of one trial with two probes into `folder`, and returns its path. A further file
/// has `more_bytes` bytes, which can make the run long.
fn with_probe(folder: &Path, more_bytes: u64) -> PathBuf {
    let shapes = &fixture::shapes(1)[..1];
    let intervals = fixture::intervals(shapes[0], 7);
    let plan = fixture::plan(shapes);
    let mut writer = RunWriter::create(folder, "study: vtopology\n", &plan).expect("run");
    let mut findings = fixture::findings(shapes, std::slice::from_ref(&intervals));
    let finding = &mut findings.trials[0];
    finding.phases = vec![PhaseTimeRecord {
        name: "measure".into(),
        from_s: 5.0,
        to_s: 35.0,
    }];
    let kinds = fixture::KINDS.map(str::to_string);
    let mut trial = writer.begin_trial(&plan.trials[0], &kinds).expect("trial");
    let start_ns = trial.start_ns();
    for (phase, mut interval) in intervals {
        interval.start_ns += start_ns;
        interval.end_ns += start_ns;
        trial.write_interval(phase, &interval).expect("interval");
    }
    for second in 0..35 {
        let sample = |name: &str, value: f64| SampleRecord {
            t_s: f64::from(second) + 0.5,
            name: name.into(),
            place: "host1".into(),
            unit: "%".into(),
            value,
        };
        let samples = [
            sample("mpstat.%usr", f64::from(second)),
            sample("mpstat.%nice", 1.0),
            sample("iostat.%util", if second == 20 { 99.0 } else { 3.0 }),
        ];
        trial.write_samples("hosts", &samples).expect("samples");
        let others = [sample("cpu.others", 7.0)];
        trial.write_samples("others", &others).expect("samples");
    }
    trial.write_overview(finding).expect("overview");
    let more = std::fs::File::create(trial.path().join("more.hlog")).expect("file");
    more.set_len(more_bytes).expect("length");
    writer.finish_trial(0, &plan.trials[0].slug, finding).expect("trial");
    writer.finish(&findings, "0.1.0", None).expect("findings");
    writer.path().to_owned()
}

/// In an earlier version, cassay read every line of a run for its page. The page of a run of one
/// day needed minutes and gigabytes of memory.
#[test]
fn a_long_run_has_the_page_that_its_lines_would_have() {
    let folder = tempfile::tempdir().expect("a folder");
    let view = |folder: &str, bytes| {
        let path = tempfile::tempdir_in(folder).expect("a folder").keep();
        let run = store::Run::open(&with_probe(&path, bytes)).expect("the run opens");
        (run.is_long, RunView::read(&run).expect("the run reads"))
    };
    let root = folder.path().display().to_string();
    let ((false, lines), (true, long)) = (view(&root, 0), view(&root, 101 << 20)) else {
        panic!("one of them is long");
    };
    let of = |view: &RunView| {
        let trial = &view.trials[0];
        let ok: u64 = trial.intervals.iter().map(|line| line.ok).sum();
        let peaks: Vec<f64> = trial
            .probes
            .iter()
            .map(|series| series.values.iter().map(|v| v.1).fold(0.0, f64::max))
            .collect();
        let names: Vec<String> = trial.probes.iter().map(|s| s.name.clone()).collect();
        let others: Vec<f64> = trial.others[0].values.iter().map(|v| v.1).collect();
        (ok, names, peaks, others.into_iter().fold(0.0, f64::max))
    };
    assert_eq!(of(&long), of(&lines));
    let p99 = |view: &RunView| view.points[0].latency.quantiles.p99;
    assert_eq!(p99(&long), p99(&lines));
    assert_eq!(long.trials[0].probes[2].in_window, Some((30, 30.0 * 19.5)));
    let titles = |view: &RunView| {
        let page = page(view);
        page.sections().map(|s| s.title.clone()).collect::<Vec<_>>()
    };
    assert_eq!(titles(&long), titles(&lines));
    let made = html(&page(&long));
    assert!(made.contains("only the lengths") && made.contains("of each period of 1 s or more"));
}
