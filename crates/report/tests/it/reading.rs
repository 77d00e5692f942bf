//! A run that was written through the store is the run that the page shows.

use crate::fixture;
use report::{RunView, html, page};
use store::RunWriter;
use store::record::{JournalEvent, NodeRecord};

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
    // Two points, two kinds and all together; warm-up is not in them.
    assert_eq!(view.points.len(), 2 * 3);
    for point in &view.points {
        let trial = findings
            .trials
            .iter()
            .find(|t| t.variant == point.variant)
            .expect("known");
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
