//! Tests the page on the scaling of a machine over its units.

use crate::fixture;
use report::{Block, Chart, RunView, XValues, html, json, page, text};
use store::record::Verdict;
use store::record::*;

fn ratio(value: f64) -> ScaleRatioRecord {
    ScaleRatioRecord {
        value,
        ci95: Some([value - 0.01, value + 0.01]),
        blocks: 5,
    }
}

fn point(split: &[u32], share: f64) -> ScalePointRecord {
    let units: u32 = split.iter().sum();
    let ops = 10_000.0 * f64::from(units) * share;
    ScalePointRecord {
        units,
        sockets: split.len() as u32,
        split: Some(split.to_vec()),
        variant: format!("numa-{units}").into(),
        ops_per_s_blocks: vec![Some(ops); 5],
        ops_per_s: Some(ops),
        ops_per_s_ci95: Some([ops * 0.99, ops * 1.01]),
        speed_up: Some(ratio(f64::from(units) * share)),
        efficiency: Some(ratio(share)),
        verdict: Verdict::Valid,
        ..ScalePointRecord::default()
    }
}

fn coefficient(name: &str, value: f64, ci95: Option<[f64; 2]>) -> CoefficientRecord {
    CoefficientRecord {
        name: name.into(),
        value,
        ci95: ci95.map(|ends| ends.map(|end: f64| end.is_finite().then_some(end))),
        told: ci95.is_some_and(|[low, _]| low > 0.0),
        held: ci95.is_none(),
    }
}

fn fit(model: &str, coefficients: Vec<CoefficientRecord>, aicc: f64) -> ScaleFitRecord {
    ScaleFitRecord {
        model: analysis::scale_up::models::Model::from_name(model).expect("a word"),
        x1: Some(10_000.0),
        coefficients,
        points: 4,
        from_blocks: true,
        off: Some(0.004),
        left_out_off: Some(0.01),
        aicc: Some(aicc),
        without_peak: Some(store::record::WithoutPeak::None),
        ..ScaleFitRecord::default()
    }
}

/// Returns three curves. The first could not be fitted, the second has a peak, and the third is the
/// best curve.
fn fits() -> Vec<ScaleFitRecord> {
    let amdahl = ScaleFitRecord {
        model: analysis::scale_up::models::Model::Amdahl,
        refused: Some(
            "the points deviate from the best such curve by 8.1 %, but the limit is 5 %".into(),
        ),
        ..ScaleFitRecord::default()
    };
    let usl = ScaleFitRecord {
        peak: Some(ScalePeakRecord {
            units: 22.4,
            units_ci95: [Some(15.2), None],
            ops_per_s: 120_000.0,
        }),
        without_peak: None,
        near_best: true,
        ..fit(
            "usl",
            vec![
                coefficient("sigma", 0.0, Some([0.0, 0.002])),
                coefficient("kappa", 0.002, Some([0.001, f64::INFINITY])),
            ],
            -51.5,
        )
    };
    let two = ScaleFitRecord {
        best: true,
        ..fit(
            "two_level",
            vec![
                coefficient("sigma_1", 0.0068, Some([0.004, 0.009])),
                coefficient("kappa_1", 0.0, None),
                coefficient("kappa_2", 0.0889, Some([0.07, 0.11])),
            ],
            -53.0,
        )
    };
    vec![amdahl, usl, two]
}

/// Returns the record of a machine with two sockets of four NUMA nodes each. The best curve has two
/// levels.
fn planned() -> ScaleUpRecord {
    let missing = ScalePointRecord {
        ops_per_s: None,
        speed_up: None,
        efficiency: None,
        missing: Some("V3: the client was busy".into()),
        verdict: Verdict::Invalid,
        ..point(&[3], 1.0)
    };
    let efficiency = |name, value: f64| EfficiencyRecord {
        name,
        ratio: Some(ratio(value)),
        missing: None,
    };
    ScaleUpRecord {
        arm: Some("planned".into()),
        unit: "numa".into(),
        instances: "numa".into(),
        units_per_socket: 4,
        sockets: 2,
        points: vec![
            point(&[1], 1.0),
            point(&[2], 0.993),
            missing,
            point(&[4], 0.98),
            point(&[3, 3], 0.91),
            point(&[4, 4], 0.90),
        ],
        efficiencies: vec![
            efficiency(EfficiencyOf::Socket, 0.98),
            efficiency(EfficiencyOf::System, 0.90),
            efficiency(EfficiencyOf::Cross, 0.918),
        ],
        fits: fits(),
        improvements: vec![ImprovementRecord {
            against: "usual".into(),
            units: 8,
            sockets: 2,
            baseline_sockets: 2,
            fills: Some(SaturatedResource::System),
            ratio: Some(ratio(2.55)),
            missing: None,
        }],
        sentences: vec!["κ₁ is fixed at 0.".into()],
        ..ScaleUpRecord::default()
    }
}

/// Returns the record of the arm `usual` with two points, to which no curve could be fitted.
fn usual() -> ScaleUpRecord {
    let inconclusive = |name| EfficiencyRecord {
        name,
        ratio: None,
        missing: Some("the machine has only one socket".into()),
    };
    ScaleUpRecord {
        arm: Some("usual".into()),
        points: vec![point(&[1], 1.0), point(&[4], 0.6)],
        efficiencies: EfficiencyOf::ALL.map(inconclusive).into(),
        fits: ["amdahl", "usl", "two_level"]
            .map(|model| ScaleFitRecord {
                model: analysis::scale_up::models::Model::from_name(model).expect("a word"),
                refused: Some("only 2 points are usable, but the curve needs 3".into()),
                ..ScaleFitRecord::default()
            })
            .into(),
        without_best: "the report has no curve to choose from".into(),
        improvements: Vec::new(),
        sentences: vec!["2 points determine an efficiency and no curve.".into()],
        ..planned()
    }
}

/// Returns a run with two arms.
pub fn view() -> RunView {
    run(vec![planned(), usual()])
}

fn run(arms: Vec<ScaleUpRecord>) -> RunView {
    let mut view = fixture::run(1);
    view.findings.scale_ups = arms;
    view
}

fn charts(view: &RunView) -> Vec<Chart> {
    let page = page(view);
    let section = page.sections().find(|s| s.id == "scale-up").cloned();
    let blocks = section.expect("the section").blocks.into_iter();
    let charts = blocks.filter_map(|block| match block {
        Block::Chart(chart) => Some(chart),
        _ => None,
    });
    charts.collect()
}

#[test]
fn efficiencies_curves_and_what_cannot_be_shown_are_said() {
    let said = text(&page(&run(vec![planned(), usual()])));
    for part in [
        "“planned”: one full socket has 98.0 % (95 %: 97.0 to 99.0 %) of 4 times the",
        "the full machine has 91.8 %",
        "of 2 times the",
        "I₂: the full machine",
        "2.550",
        "The two-level model",
        "κ₁ 0 (held)",
        "more) from the best",
        "the best",
        "15 to ∞",
        "V3: the client was busy",
        "only 2 points",
        "2 points determine an efficiency and no curve.",
    ] {
        let squeezed = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(squeezed.contains(part), "{part} is not in\n{said}");
    }
    for line in said.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn a_figure_has_both_arms_their_ideal_lines_and_the_best_curve() {
    let charts = charts(&run(vec![planned(), usual()]));
    assert_eq!(charts.len(), 1, "both arms in one figure");
    let series = &charts[0].panels[0].series;
    let names: Vec<&str> = series.iter().map(|of| of.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "planned",
            "planned, N times one unit",
            "planned, the two-level model, one socket",
            "planned, the two-level model, 2 sockets",
            "usual",
            "usual, N times one unit",
        ]
    );
    // The figure omits points that were not measured. The measured points have intervals.
    assert_eq!(series[0].y.len(), 5);
    assert!(series[0].y_ci.iter().all(Option::is_some));
    assert_eq!(series[1].y, [Some(10_000.0), Some(80_000.0)]);
    // A line begins at the first measured point. With two sockets, this point has three units on
    // each socket.
    let XValues::Numbers(units) = &series[3].x else {
        panic!("{:?}", series[3].x);
    };
    assert_eq!((units[0], units[units.len() - 1]), (6.0, 8.0));
    // The curve goes through the points to which it was fitted.
    let last = |index: usize| series[index].y.last().unwrap().unwrap();
    assert!((last(2) / 39_200.0 - 1.0).abs() < 1e-3, "{}", last(2));
    assert!((last(3) / 72_000.0 - 1.0).abs() < 1e-3, "{}", last(3));
}

#[test]
fn loads_are_apart_and_uneven_sockets_have_their_own_line() {
    let mut reads = planned();
    reads.load = "reads".into();
    reads.points.retain(|point| point.units != 6);
    reads.points.push(point(&[4, 1], 0.93));
    let mut writes = planned();
    writes.load = "writes".into();
    writes.fits.retain(|fit| fit.model == analysis::scale_up::models::Model::Usl);
    let mut full = planned();
    full.load = "full".into();
    full.points.retain(|point| point.units != 6);
    let charts = charts(&run(vec![reads, writes, full]));
    assert_eq!(charts.len(), 3);
    let line = |chart: &Chart, name: &str| {
        let all = &chart.panels[0].series;
        let found = all.iter().find(|of| of.name.ends_with(name));
        found.map(|of| of.y.len())
    };
    // Two points are on two sockets, so the line goes from one point to the other.
    assert_eq!(line(&charts[0], "2 sockets"), Some(2));
    // Only one point is on two sockets, so the chart has no line for two sockets.
    assert_eq!(line(&charts[2], "2 sockets"), None);
    // No curve is the best, so the figure shows the curve that predicts best.
    assert!(line(&charts[1], "the Universal Scalability Law").is_some());
}

#[test]
fn only_a_run_with_units_has_the_section_and_all_of_it_as_json() {
    let none = page(&fixture::run(1));
    assert!(none.sections().all(|section| section.id != "scale-up"));
    assert!(none.data.get("scale_ups").is_none());
    let printed: serde_json::Value =
        serde_json::from_str(&json(&page(&run(vec![planned(), usual()])))).expect("JSON");
    let again: FindingsRecord = serde_json::from_value(printed).expect("findings");
    // The arms keep their order, although numbers may differ in the last digit.
    let names: Vec<&str> = again.scale_ups.iter().map(|of| of.arm.as_deref().unwrap()).collect();
    assert_eq!(names, ["planned", "usual"]);
    assert_eq!(again.scale_ups[0].fits, planned().fits);
    assert_eq!(again.scale_ups[1].sentences, usual().sentences);
}

#[test]
fn numbers_and_names_that_make_no_sense_are_shown_as_they_are() {
    let mut odd = planned();
    odd.unit = "<b>shelf</b>".into();
    odd.units_per_socket = u32::MAX;
    odd.sockets = u32::MAX;
    odd.points[1].split = Some(Vec::new());
    odd.points[0].units = 0;
    // The law has too few coefficients, so the page must not compute values from it.
    odd.fits[2].coefficients.truncate(1);
    odd.fits[1].best = true;
    let view = run(vec![odd, ScaleUpRecord::default()]);
    let written = html(&page(&view));
    assert!(!written.contains("<b>shelf") && !written.contains("<i>law"));
    assert!(written.contains("&lt;b&gt;shelf"));
    assert!(!text(&page(&view)).contains("NaN"));
}
