//! Tests the effects of a matrix, a screening, a throughput curve and a price on the page.

use crate::fixture;
use report::{Block, Chart, RunView, html, page, text};
use store::record::*;

fn level(axis: &str, value: &str, against: &str) -> LevelRecord {
    LevelRecord {
        axis: axis.into(),
        value: value.into(),
        against: against.into(),
    }
}

fn effect(kind: &str, of: LevelRecord, with: Option<LevelRecord>, ratio: f64) -> EffectRecord {
    EffectRecord {
        kind: store::record::EffectKind::from_name(kind).expect("a word"),
        of,
        with,
        ratio,
        ci95: Some([ratio * 0.99, ratio * 1.01]),
        verdict: if kind == "interaction" {
            store::record::EffectVerdict::Interaction(analysis::effects::Interaction::Matters)
        } else {
            store::record::EffectVerdict::Ratio(store::record::Finding::Faster)
        },
        blocks: 5,
        p: Some(0.0001),
        p_adjusted: Some(0.0003),
        scaled: ratio.ln().abs(),
        ..EffectRecord::default()
    }
}

/// Returns effects of a study with two heap sizes and two modes of commit log sync, which interact.
fn effects() -> EffectsRecord {
    let axis = |name: &str, values: [&str; 2]| AxisRecord {
        name: name.into(),
        values: values.map(str::to_owned).into(),
    };
    let (heap, sync) = (
        level("heap", "large", "small"),
        level("sync", "batch", "periodic"),
    );
    let cell = |a: &str, b: &str, mean: f64| CellRecord {
        values: vec![a.into(), b.into()],
        variant: format!("{a}-{b}").into(),
        mean: Some(mean),
        blocks: 5,
        ..CellRecord::default()
    };
    EffectsRecord {
        metric: "ops_per_s".into(),
        point: Some(Point::Threads(32)),
        primary: true,
        axes: vec![
            axis("heap", ["small", "large"]),
            axis("sync", ["periodic", "batch"]),
        ],
        cells: vec![
            cell("small", "periodic", 70_923.0),
            cell("small", "batch", 68_682.0),
            cell("large", "periodic", 80_284.0),
            cell("large", "batch", 74_852.0),
        ],
        blocks_planned: 5,
        looks: None,
        margin: 0.03,
        effects: vec![
            effect("main", heap.clone(), None, 1.11),
            effect("main", sync.clone(), None, 0.95),
            effect("interaction", heap.clone(), Some(sync), 0.963),
            effect(
                "simple",
                heap.clone(),
                Some(level("sync", "periodic", "")),
                1.132,
            ),
            effect("simple", heap, Some(level("sync", "batch", "")), 1.09),
        ],
        ..EffectsRecord::default()
    }
}

fn charts(view: &RunView, section: &str) -> Vec<Chart> {
    let page = page(view);
    let section = page.sections().find(|s| s.id == section).cloned().expect("the section");
    let charts = section.blocks.into_iter().flat_map(|block| match block {
        Block::Chart(chart) => vec![chart],
        Block::Choice(_, charts) => charts.into_iter().map(|(_, chart)| chart).collect(),
        _ => Vec::new(),
    });
    charts.collect()
}

#[test]
fn effects_stand_in_the_order_in_which_they_are_to_be_read() {
    let mut view = fixture::run(1);
    view.findings.effects = vec![effects()];
    let said = text(&page(&view));
    let at = |what: &str| said.find(what).unwrap_or_else(|| panic!("{what} is not in\n{said}"));
    let interaction = at("they interact");
    let simple = at("where sync is periodic");
    let main = at("\n  sync: batch ÷ periodic");
    assert!(interaction < simple && simple < main, "{said}");
    let charts = charts(&view, "effects");
    let titles: Vec<&str> = charts.iter().map(|chart| chart.title.as_str()).collect();
    assert_eq!(titles.len(), 1 + 2 + 1, "{titles:?}");
    // Every effect must have a position and a name in the forest plot.
    let panel = &charts[0].panels[0];
    assert_eq!(panel.left.names.len(), 5);
    let places = panel.series.iter().map(|series| series.y.len()).sum::<usize>();
    assert_eq!(places, 5);
    assert!((charts[0].bands[0].to - 3.0).abs() < 1e-9);
    let page = html(&page(&view));
    assert!(page.contains("error_x"), "intervals lie on their side");
}

#[test]
fn a_screening_has_what_confirms_it_to_paste() {
    let mut view = fixture::run(1);
    let effect = |setting: &str, ln_ratio: f64, activity: &str| ScreenedRecord {
        setting: setting.into(),
        value: "high".into(),
        against: "low".into(),
        ln_ratio,
        activity: analysis::screening::Activity::from_name(activity).expect("a word"),
    };
    let screen = ScreenRecord {
        metric: "ops_per_s".into(),
        design: "2^(7-4)".into(),
        runs: 8,
        me: 0.03,
        sme: 0.06,
        effects: vec![
            effect("heap", 0.113, "active"),
            effect("<b>sync</b>", -0.031, "possible"),
            effect("", 0.004, "silent"),
        ],
        confirm: vec!["heap".into()],
        matrix: "matrix:\n  heap: {low: {}, high: {}}\n".into(),
        ..ScreenRecord::default()
    };
    view.findings.screens = vec![screen.clone()];
    let said = text(&page(&view));
    assert!(said.contains("heap: {low: {}, high: {}}"), "{said}");
    assert!(
        !html(&page(&view)).contains("<b>sync"),
        "text of a study is text"
    );
    assert_eq!(charts(&view, "screen").len(), 1);
    view.findings.screens = vec![ScreenRecord {
        refused: Some("run-03 has no usable trial".into()),
        ..ScreenRecord::default()
    }];
    assert!(text(&page(&view)).contains("No answer: run-03"));
}

#[test]
fn a_curve_is_drawn_with_its_points_and_a_refused_one_says_why() {
    let mut view = fixture::run(1);
    let curve = CurveRecord {
        variant: "off".into(),
        lambda: Some(3600.0),
        sigma: Some(0.05),
        sigma_ci95: Some([0.04, 0.06]),
        kappa: Some(8e-4),
        kappa_ci95: Some([Some(7e-4), Some(9e-4)]),
        off: Some(0.01),
        peak: Some(PeakRecord {
            threads: 34.5,
            threads_ci95: [Some(30.0), None],
            ops_per_s: 34_000.0,
        }),
        ..CurveRecord::default()
    };
    let refused = CurveRecord {
        variant: "on".into(),
        refused: Some("throughput does not yet flatten".into()),
        ..CurveRecord::default()
    };
    view.findings.curves = vec![curve, refused];
    let said = text(&page(&view));
    assert!(said.contains("(30 to ∞)"), "{said}");
    assert!(said.contains("not yet flatten"), "{said}");
    let charts = charts(&view, "curves");
    assert_eq!(
        charts[0].panels[0].series.len(),
        2,
        "points and curve of the one"
    );
}

#[test]
fn nodes_and_prices_stand_with_what_they_take_for_granted() {
    let mut view = fixture::run(1);
    view.findings.capacities = vec![CapacityRecord {
        variant: "off".into(),
        ops_per_s: 100_000.0,
        p99_ms: 10.0,
        failures: 1,
        skew: 1.1,
        copies: 3,
        held_at: Some(30_000.0),
        nodes_measured: Some(3),
        per_node: Some(9_867.0),
        nodes: Some(13),
        assumptions: vec!["compactions are settled".into()],
        ..CapacityRecord::default()
    }];
    view.findings.prices = vec![PriceRecord {
        variant: "off".into(),
        per_hour: 1.5,
        currency: Some("USD".into()),
        ops_per_price: 72e6,
        ..PriceRecord::default()
    }];
    let said = text(&page(&view));
    for part in ["13", "9,867", "compactions are settled", "1.5 USD", "72.0"] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
}
