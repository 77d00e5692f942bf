//! Tests the page of a trial that lasts for hours under one load, and the page of every combination
//! of a grid.

use crate::fixture;
use analysis::procedure::Role;
use report::{Block, html, page, text};
use store::record::Verdict;
use store::record::*;

fn shown() -> EnduranceRecord {
    let drift = |of: &str, course: &str| DriftRecord {
        of: of.into(),
        change: -0.112,
        ci95: Some([-0.114, -0.108]),
        within: 0.04,
        z: -4.4,
        blocks: 60,
        course: analysis::endurance::DriftDirection::from_name(course).expect("a word"),
    };
    let growth = |of: &str, growing: &str| GrowthRecord {
        of: of.into(),
        place: "node1".into(),
        unit: "bytes".into(),
        last: 216e6,
        per_day: 3e8,
        per_day_ci95: Some([2e8, 4e8]),
        limit: Some(512e6),
        reaches_days: Some(0.99),
        horizon_days: 30.0,
        growing: analysis::endurance::Growing::from_name(growing).expect("a word"),
    };
    let course = |of: &str, unit: &str| CourseRecord {
        of: of.into(),
        unit: unit.into(),
        width_s: 1.0,
        bins: (0..60).map(|at| [f64::from(at) + 0.5, 5.0, 4.0, 6.0]).collect(),
        ..CourseRecord::default()
    };
    EnduranceRecord {
        block_s: 1.0,
        drifts: vec![
            drift("ops_per_s", "falling"),
            drift("latency_ms.p99", "inconclusive"),
        ],
        changes: vec![ChangeRecord {
            of: "ops_per_s".into(),
            at_s: 21.0,
            before: 466.0,
            after: 317.0,
            coincides: Some("a pause of 812 ms (full) of <node1>".into()),
        }],
        cycles: Some(CyclesRecord {
            of: "compactions.pending".into(),
            state: store::record::CyclesState::Few,
            period_s: 40.0,
            count: 1.5,
        }),
        growths: vec![
            growth("gc.heap_after", "leaks"),
            growth("jvm.threads", "no"),
        ],
        unseen: vec!["open files: no probe recorded the series jvm.file_descriptors".into()],
        events: vec![HappenedRecord {
            at_s: 21.4,
            what: "a pause of 812 ms (full) of <node1>".into(),
        }],
        courses: vec![
            course("ops_per_s", "op/s"),
            course("gc.heap_after", "bytes"),
        ],
    }
}

pub fn view() -> report::RunView {
    let mut view = fixture::run(1);
    view.findings.trials[0].endurance = Some(shown());
    view.findings.endured = vec![EnduredRecord {
        variant: view.findings.trials[0].variant.clone(),
        turns: ["beside-1", "endurance"]
            .map(|role| TurnRecord {
                role: Role::parse(role),
                seconds: 3600.0,
                ops_per_s: 1000.0,
                error: Some(5.0),
                mean_ms: 2.0,
                trials: vec![0],
            })
            .into(),
        apart: Some(0.0374),
        apart_ci95: Some([0.03, 0.05]),
        within: 0.04,
        agreed: Some(analysis::endurance::MarginResult::Inconclusive),
        mean_ms_change: Some(0.23),
        ..EnduredRecord::default()
    }];
    view
}

#[test]
fn hours_have_a_series_and_name_drift_growth_and_coincidence() {
    let page = page(&view());
    let said = text(&page);
    for part in [
        "the data does not show whether the throughputs are within 4.00 % of each other",
        "falling",
        "unknown",
        "coincides with a pause of 812 ms",
        "The window is shorter than three cycles of compaction",
        "would reach its limit",
        "does not grow",
        "by chance alone, one of them is within",
    ] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
    let section = page.sections().find(|section| section.id == "endurance");
    let blocks = &section.expect("the section").blocks;
    let chart = blocks
        .iter()
        .find_map(|block| match block {
            Block::Chart(chart) => Some(chart),
            _ => None,
        })
        .expect("the course");
    // The panels show throughput, heap, and events.
    assert_eq!((chart.panels.len(), chart.bands.len()), (3, 1));
    assert!(
        html(&page).contains("of &lt;node1&gt;"),
        "text of others is text"
    );
}

#[test]
fn combinations_form_a_matrix_and_the_rest_a_table() {
    let mut view = fixture::run(1);
    let axis = |name: &str, values: &[&str]| AxisRecord {
        name: name.into(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    view.plan.resolved.combinations = Some(CombinationsRecord {
        axes: vec![
            axis("heap", &["8GiB", "16GiB"]),
            axis("level", &["ONE", "QUORUM"]),
        ],
        cells: [("a", [0, 0]), ("b", [0, 1]), ("c", [1, 0])]
            .map(|(name, cell)| (name.into(), cell.to_vec()))
            .into(),
    });
    let point = |variant: &str, threads: f64, ops_per_s: f64| PointRecord {
        variant: variant.into(),
        point: Some(Point::Threads(threads as u32)),
        verdict: Verdict::Valid,
        ops_per_s,
        ..PointRecord::default()
    };
    view.plan.trials.clear();
    view.findings.points = vec![
        point("a", 4.0, 1234.0),
        point("a", 8.0, 2345.0),
        point("b", 4.0, 3456.0),
        point("c", 8.0, 4567.0),
    ];
    let page = page(&view);
    let section = page.sections().find(|section| section.id == "combinations");
    let tables: Vec<_> = section.expect("the section").blocks.iter().collect();
    let cells = |number: usize| match tables[number] {
        Block::Table(table) => {
            let rows = table.rows.iter();
            let row = |row: &report::Row| {
                row.cells.iter().map(|cell| cell.text.clone()).collect::<Vec<_>>()
            };
            (table.caption.clone(), rows.map(row).collect::<Vec<_>>())
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(tables.len(), 2);
    let (caption, rows) = cells(0);
    assert_eq!(caption, "threads by heap with level ONE");
    assert_eq!(rows, [["4", "1,234", "–"], ["8", "2,345", "4,567"]]);
    let (caption, rows) = cells(1);
    assert_eq!(caption, "threads by heap with level QUORUM");
    assert_eq!(rows[0], ["4", "3,456", "–"]);
}
