//! Tests the history of a study, from runs written through the store.

use crate::fixture;
use analysis::procedure::Point;
use measure::Known;
use report::{History, history, json, otava, text};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use store::record::{FindingsRecord, JournalEvent, MachineFacts, PointRecord, QuantilesRecord};
use store::{Run, RunWriter};

struct RunDifferences<'a> {
    ops_per_s: f64,
    cassay: &'a str,
    heap: &'a str,
    cpus: usize,
    verdict: &'a str,
}

const USUAL: RunDifferences<'_> = RunDifferences {
    ops_per_s: 10_000.0,
    cassay: "0.1.0",
    heap: "1GiB",
    cpus: 2,
    verdict: "valid",
};

const SLOWER: RunDifferences<'_> = RunDifferences {
    ops_per_s: 8_500.0,
    heap: "512MiB",
    cassay: "0.2.0",
    ..USUAL
};

fn write(results: &Path, told: &RunDifferences<'_>) -> PathBuf {
    let shapes = &fixture::shapes(1)[..1];
    let mut plan = fixture::plan(shapes);
    plan.cassay = told.cassay.to_owned();
    let settings = json!({ "target": { "local": { "heap": told.heap } }, "require": told.verdict });
    plan.resolved.variants = [("off".to_owned(), settings)].into_iter().collect();
    let mut writer = RunWriter::create(results, "study: vtopology\n", &plan).expect("a run");
    let started = JournalEvent::RunStarted {
        cassay: told.cassay.to_owned(),
        machine: MachineFacts {
            cpus: told.cpus,
            ..MachineFacts::default()
        },
        finished_before: Vec::new(),
    };
    writer.journal(None, started).expect("a line");
    let point = PointRecord {
        variant: "off".into(),
        point: Some(Point::Threads(28)),
        verdict: store::record::Verdict::from_name(told.verdict).expect("a word"),
        blocks: 1,
        ops_per_s: told.ops_per_s,
        latency_ms: QuantilesRecord {
            count: 1000,
            p50: 1.0.into(),
            p99: (30_000.0 / told.ops_per_s).into(),
            p999: Known::AtLeast(9.0),
            ..QuantilesRecord::default()
        },
        ..PointRecord::default()
    };
    let findings = FindingsRecord {
        verdict: store::record::Verdict::from_name(told.verdict).expect("a word"),
        points: vec![point],
        trials: Vec::new(),
        comparisons: Vec::new(),
        ..fixture::findings(&[], &[])
    };
    writer.finish(&findings, told.cassay, None).expect("findings");
    writer.path().to_owned()
}

/// Writes twelve runs around 10,000 op/s. The last four runs are slower, and have another heap
/// size.
fn twelve(results: &Path, slower: &RunDifferences<'_>) -> Vec<PathBuf> {
    let run = |index: usize| {
        let told = if index < 8 { &USUAL } else { slower };
        let wobble = 1.0 + (index % 3) as f64 * 0.004;
        let ops_per_s = told.ops_per_s * wobble;
        write(results, &RunDifferences { ops_per_s, ..*told })
    };
    (0..12).map(run).collect()
}

fn read_history(results: &Path) -> History {
    History::new(
        "vtopology",
        store::past(results, "vtopology").expect("runs"),
    )
}

/// Returns the page of twelve runs, of which the last four are slower.
pub fn slower_page() -> report::Page {
    let folder = tempfile::tempdir().expect("a folder");
    twelve(folder.path(), &SLOWER);
    history(&read_history(folder.path()))
}

fn data(of: &History) -> Value {
    serde_json::from_str(&json(&history(of))).expect("JSON")
}

fn series<'v>(data: &'v Value, metric: &str) -> &'v Value {
    let all = data["series"].as_array().expect("series");
    let found = all.iter().find(|line| line["metric"] == metric);
    found.unwrap_or_else(|| panic!("no {metric} in {data:#}"))
}

#[test]
fn a_change_is_named_with_its_run_and_what_differs_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = twelve(folder.path(), &SLOWER);
    let of = read_history(folder.path());
    let stamp = runs[8].file_name().unwrap().to_str().unwrap();
    let data = data(&of);
    for metric in ["ops_per_s", "p99_ms"] {
        let changes = series(&data, metric)["changes"].as_array().unwrap();
        assert_eq!(changes.len(), 1, "{metric}: {data:#}");
        assert_eq!(changes[0]["since"], stamp);
        assert_eq!(changes[0]["kind"], "worse");
        let differs = json!(["cassay: 0.1.0 → 0.2.0", "target.local.heap: 1GiB → 512MiB"]);
        assert_eq!(changes[0]["differs"], differs);
    }
    assert_eq!(series(&data, "p50_ms")["changes"], json!([]));
    let all = data["series"].as_array().unwrap();
    assert!(
        all.iter().all(|l| l["metric"] != "p999_ms"),
        "a lower bound is not a number"
    );
    // The history reports one sentence on throughput and one on p99. If the change is already
    // known, the history reports no sentence.
    assert_eq!(of.regressions("").len(), 2);
    assert_eq!(of.regressions("9").len(), 0);
    let shown = text(&history(&of));
    assert!(
        shown.contains("throughput of “off” at 28 threads is 14.9 % worse"),
        "{shown}"
    );
}

#[test]
fn another_machine_is_no_regression() {
    let folder = tempfile::tempdir().expect("a folder");
    let slower = RunDifferences {
        ops_per_s: 8_500.0,
        cpus: 1,
        ..USUAL
    };
    twelve(folder.path(), &slower);
    let of = read_history(folder.path());
    let data = data(&of);
    assert_eq!(
        series(&data, "ops_per_s")["changes"][0]["kind"],
        "another machine"
    );
    assert_eq!(of.regressions("").len(), 0);
}

#[test]
fn damaged_and_invalid_runs_are_reported_and_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = twelve(folder.path(), &USUAL);
    write(
        folder.path(),
        &RunDifferences {
            verdict: "invalid",
            ..USUAL
        },
    );
    let findings = runs[3].join("findings.json");
    let whole = std::fs::read_to_string(&findings).unwrap();
    std::fs::write(&findings, whole.replace("10000.0", "90000.0")).unwrap();
    let of = read_history(folder.path());
    assert_eq!((of.runs_count(), of.left_out.len()), (11, 2));
    assert!(of.left_out[0].1.contains("is damaged"), "{:?}", of.left_out);
    assert_eq!(of.left_out[1].1, "invalid");
    let shown = text(&history(&of));
    assert!(
        shown.contains("left out:") && shown.contains("No change over"),
        "{shown}"
    );
}

#[test]
fn the_page_of_a_run_shows_its_past_and_not_what_came_after() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = twelve(folder.path(), &USUAL);
    for (index, expected) in [(0, 1), (4, 5), (11, 12)] {
        let run = Run::open(&runs[index]).expect("a run");
        let past = store::past_of(&run).expect("its past");
        assert_eq!(past.len(), expected);
    }
    let view = report::RunView::read(&Run::open(&runs[11]).unwrap()).unwrap();
    let page = report::page(&view);
    assert!(page.sections().any(|section| section.id == "history"));
    let view = report::RunView::read(&Run::open(&runs[0]).unwrap()).unwrap();
    let page = report::page(&view);
    assert!(
        !page.sections().any(|section| section.id == "history"),
        "it has no past"
    );
}

/// The expected keys are those that `otava/importer.py` and `otava/test_config.py` read.
#[test]
fn otava_gets_a_file_for_each_point_with_directions() {
    let folder = tempfile::tempdir().expect("a folder");
    twelve(folder.path(), &USUAL);
    let files = otava(&read_history(folder.path()), "out/");
    let names: Vec<&String> = files.keys().collect();
    assert_eq!(names, ["otava.yaml", "vtopology.off.threads-28.csv"]);
    let csv: Vec<&str> = files["vtopology.off.threads-28.csv"].lines().collect();
    assert_eq!(csv[0], "time,run,cassay,cassandra,ops_per_s,p50_ms,p99_ms");
    assert_eq!(csv.len(), 13);
    assert!(csv[1].ends_with(",0.1.0,,10000,1,3"), "{}", csv[1]);
    let yaml = &files["otava.yaml"];
    for part in [
        "  \"vtopology.off.threads-28\":\n    type: csv\n",
        "    file: \"out/vtopology.off.threads-28.csv\"",
        "      ops_per_s: {column: ops_per_s, direction: 1}",
        "      p99_ms: {column: p99_ms, direction: -1}",
    ] {
        assert!(yaml.contains(part), "{yaml}");
    }
}

#[test]
fn few_runs_are_shown_and_nothing_is_called() {
    let folder = tempfile::tempdir().expect("a folder");
    for ops_per_s in [10_000.0, 5_000.0, 5_000.0, 5_000.0] {
        write(folder.path(), &RunDifferences { ops_per_s, ..USUAL });
    }
    let shown = text(&history(&read_history(folder.path())));
    assert!(
        shown.contains("after 10 runs; so far, there are 4"),
        "{shown}"
    );
    assert!(shown.contains('█'), "{shown}");
}
