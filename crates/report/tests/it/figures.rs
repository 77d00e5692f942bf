//! Tests that figures show measured values only, and that the same colour has the same meaning in
//! all figures of a page.

use crate::{faults, fixture, lead};
use report::{Block, Chart, Color, ColorRole, RunView, html, page};
use store::record::{
    IntervalRecord, Point, SearchOutcome, SearchRangeRecord, SearchResult, Verdict,
};

/// Returns a run with a fault at a rate, during which the target answered nothing for five seconds.
fn frozen() -> RunView {
    let mut view = faults::view(vec![faults::killed()]);
    view.findings.trials[0].point = Some(Point::Rate(10_000));
    for record in &mut view.trials[0].intervals {
        if (61.0..66.0).contains(&record.t_s) {
            record.ok = 0;
            record.latency_ms = None;
        }
    }
    view
}

/// In an earlier version, a straight line through the freeze showed latencies that did not occur.
#[test]
fn a_latency_line_has_a_gap_without_answers() {
    let figure = faults::said_in_figure(&frozen());
    let wide = &figure[..figure.find("</svg>").expect("its end")];
    let lines: Vec<&str> = wide.split("<path class=\"line p0\" d=\"").skip(1).collect();
    let begins = |line: &str| line[..line.find('"').expect("its end")].matches('M').count();
    let [throughput, p99] = lines[..] else {
        panic!("{} lines", lines.len())
    };
    assert_eq!(begins(throughput), 1);
    assert_eq!(begins(p99), 2);
}

/// In an earlier version, the line of every fault had the colour of the first variant.
#[test]
fn a_fault_has_the_colour_and_name_of_its_variant() {
    let mut view = frozen();
    view.findings.trials[0].variant = "frozen".into();
    let figure = faults::said_in_figure(&view);
    for part in [
        "class=\"line p1\"",
        "op/s of frozen: ",
        "p99, ms of frozen: ",
    ] {
        assert!(figure.contains(part), "{part} is not in\n{figure}");
    }
    assert!(!figure.contains("class=\"line p0\""), "{figure}");
}

fn first_chart(view: &RunView, id: &str) -> Chart {
    let page = page(view);
    let section = page.sections().find(|section| section.id == id).expect(id);
    let charts = section.blocks.iter().find_map(|block| match block {
        Block::Choice(_, charts) => charts.first().map(|(_, chart)| chart.clone()),
        Block::Chart(chart) => Some(chart.clone()),
        _ => None,
    });
    charts.expect("a chart")
}

/// In an earlier version, the legend had four entries for every kind, also for unused kinds. A
/// last interval of a few milliseconds was drawn as thousands of operations per second.
#[test]
fn the_time_chart_omits_unused_kinds_and_tiny_intervals() {
    let mut view = faults::view(vec![faults::killed()]);
    let of = |kind: &str, seconds: f64, ok: u64| IntervalRecord {
        t_s: 180.0,
        seconds,
        phase: "drain".into(),
        kind: kind.into(),
        ok,
        ..IntervalRecord::default()
    };
    let drain = [of("write", 0.001, 40), of("delete", 0.001, 0)];
    view.trials[0].intervals.extend(drain);
    let chart = first_chart(&view, "time");
    let rates = &chart.panels[0];
    let names: Vec<&str> = rates.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["write"]);
    assert_eq!(rates.series[0].y.last(), Some(&None));
    assert_eq!(rates.fit, Some([10.0, 180.0]));
    let in_legend = chart.panels[..2].iter().flat_map(|panel| &panel.series);
    assert_eq!(in_legend.filter(|series| series.in_legend).count(), 1);
}

/// In an earlier version, green meant a good result in one figure, and no answer in the other.
#[test]
fn both_figures_of_a_search_have_the_same_colours() {
    let chart = first_chart(&lead::searched(), "search");
    let color = |result: SearchResult| {
        let mut series = chart.panels[0].series.iter();
        series.find(|series| series.name == result.name()).map(|series| series.color)
    };
    for (result, role) in [
        (SearchResult::Pass, ColorRole::Good),
        (SearchResult::Fail, ColorRole::Bad),
        (SearchResult::NoAnswer, ColorRole::Muted),
        (SearchResult::PassDisturbed, ColorRole::GoodHollow),
    ] {
        assert_eq!(color(result), Some(Color::Role(role)), "{result}");
    }
}

/// In an earlier version, the figure marked only the range of the first block.
#[test]
fn a_search_shows_the_range_of_each_block() {
    let mut view = lead::searched();
    let first = view.findings.searches[0].clone();
    view.findings.searches = [(1_000, 1_022), (1_500, 1_600)]
        .into_iter()
        .enumerate()
        .map(|(block, (low, high))| {
            let mut search = first.clone();
            search.block = block;
            search.outcome = SearchOutcome::Inconclusive;
            search.range = Some(SearchRangeRecord {
                at_least: Some(Point::Rate(low)),
                below: Some(Point::Rate(high)),
                ..SearchRangeRecord::default()
            });
            search
        })
        .collect();
    let figure = faults::said_in_figure(&view);
    let wide = &figure[..figure.find("</svg>").expect("its end")];
    for part in [
        "block 1: between 1,000 and 1,022",
        "block 2: between 1,500 and 1,600",
    ] {
        assert!(wide.contains(part), "{part} is not in\n{wide}");
    }
}

/// In an earlier version, the figure omitted a variant whose trials were all invalid.
#[test]
fn an_invalid_variant_is_hollow_in_the_comparison() {
    let mut view = fixture::run(1);
    let at = view.findings.trials[0].point;
    view.findings.trials.retain(|trial| trial.point == at);
    view.findings.points.retain(|point| point.point == at);
    view.findings.points.retain(|point| *point.variant.as_str() == *"off");
    view.findings.comparisons.clear();
    view.findings.sweeps.clear();
    for trial in &mut view.findings.trials {
        trial.verdict = if trial.variant.as_str() == "on" {
            Verdict::Invalid
        } else {
            Verdict::Valid
        };
    }
    let figure = faults::said_in_figure(&view);
    for part in [
        "Results of each variant",
        "dot hollow p1",
        ">on<",
        "hollow: invalid",
    ] {
        assert!(figure.contains(part), "{part} is not in\n{figure}");
    }
    assert!(html(&page(&view)).contains("95 % intervals"));
}
