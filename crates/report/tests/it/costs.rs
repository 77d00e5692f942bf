//! Tests the costs of operations on the page of a run, and in a comparison of two runs.

use crate::fixture;
use analysis::procedure::Point;
use report::{RunView, compare, page, text};
use store::record::{CostComparisonRecord, CostKind, CostRecord, PointRecord};

/// Returns the fixture of three blocks, with two costs at 8 threads and a comparison of disk space.
pub fn view() -> RunView {
    let mut view = fixture::run(3);
    let at = Some(Point::Threads(8));
    let cost = |cost, mean: f64| CostRecord {
        cost,
        mean,
        ci95: Some([mean * 0.9, mean * 1.1]),
        blocks: 3,
    };
    let point = |variant: &str| PointRecord {
        variant: variant.into(),
        point: at,
        verdict: store::record::Verdict::Valid,
        costs: vec![
            cost(CostKind::ServerCpu, 0.25),
            cost(CostKind::DiskSpace, 4096.0),
        ],
        ..PointRecord::default()
    };
    view.findings.points = ["off", "on"].map(point).into();
    view.findings.cost_comparisons = vec![CostComparisonRecord {
        cost: CostKind::DiskSpace,
        point: at,
        baseline: "off".into(),
        contender: "on".into(),
        ratio: 0.62,
        ci95: Some([0.61, 0.63]),
        blocks: 3,
        differs: true,
    }];
    view
}

#[test]
fn costs_stand_at_their_points_and_beside_each_other() {
    let shown = text(&page(&view()));
    let from = shown.find("\nCOSTS\n").expect("the section");
    let shown = &shown[from..];
    for words in [
        "Server CPU per  ",
        "0.250 ms",
        "4 KiB",
        "± 10 %",
        "0.620",
        "0.610 to 0.630",
        "yes",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(
        shown.lines().all(|line| line.chars().count() <= 100),
        "{shown}"
    );
}

/// An engineer who compares compressors needs the ratios of disk space and CPU first, even if one
/// of them is equal.
#[test]
fn the_first_screen_of_a_comparison_has_disk_and_cpu() {
    let mut view = view();
    let disk = view.findings.cost_comparisons[0].clone();
    view.findings.cost_comparisons.push(CostComparisonRecord {
        cost: CostKind::ServerCpu,
        ratio: 1.01,
        ci95: Some([0.97, 1.05]),
        differs: false,
        ..disk
    });
    let figures = page(&view).headline.figures;
    let of = |words: &str| figures.iter().find(|figure| figure.label.contains(words));
    let disk = of("disk space per row").expect("a card");
    assert_eq!(disk.value, "0.62", "{disk:?}");
    let cpu = of("CPU").expect("a card");
    assert!(cpu.detail.contains("0.97 to 1.05"), "{cpu:?}");
    assert!(cpu.detail.contains("no difference shown"), "{cpu:?}");
}

#[test]
fn a_run_whose_target_shows_nothing_has_no_section_of_costs() {
    assert!(!text(&page(&fixture::run(3))).contains("COSTS"));
}

#[test]
fn two_runs_are_compared_by_what_both_know() {
    let run = |factor: f64| {
        let mut view = fixture::run(3);
        for trial in &mut view.findings.trials {
            let block = trial.block as f64;
            trial.costs = [
                (CostKind::Memory, (1e9 + block * 1e6) * factor),
                (CostKind::DiskReads, block),
            ]
            .into();
        }
        view
    };
    let compared = compare(&run(1.0), &run(3.0));
    let records = compared.data["cost_comparisons"].as_array().expect("a list");
    assert!(!records.is_empty());
    for record in records {
        // In the first block, the server read nothing from a disk, so disk reads have no ratio.
        assert_eq!(record["cost"], "memory_bytes");
        assert!((record["ratio"].as_f64().expect("a number") - 3.0).abs() < 1e-6);
        assert_eq!(record["differs"], true);
    }
    assert!(text(&compared).contains("Costs of the contender against the baseline"));
}

#[test]
fn data_of_both_sides_on_disk_stands_side_by_side() {
    let mut view = fixture::run(3);
    for trial in &mut view.findings.trials {
        let is_new = trial.variant == "on".into();
        let format = if is_new { "da" } else { "nb" };
        trial.sstable_formats = [(format.to_owned(), 3)].into();
        trial.costs = [(CostKind::DiskSpace, if is_new { 200.0 } else { 300.0 })].into();
    }
    let shown = text(&page(&view));
    for words in [
        "The variants had SSTables of different formats: off nb; on da.",
        "Data of each variant on disk",
        "200 B",
        "300 B",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    for trial in &mut view.findings.trials {
        trial.sstable_formats = [("nb".to_owned(), 3)].into();
    }
    assert!(text(&page(&view)).contains("All variants had SSTables of the same format: nb."));
}
