//! The searches, with the trials and the end of each search.

use crate::merged_points::axis_value;
use crate::number;
use crate::page::{
    Axis, Block, Cell, Chart, Color, Dash, Panel, Scale, Section, Series, Shape, Table, Tone,
    XValues,
};
use crate::run_view::RunView;
use analysis::procedure::Point;
use analysis::procedure::Role;
use store::record::{SearchOutcome, SearchProcedure, SearchRecord, SearchResult, SearchStepRecord};

/// Maximum number of searches with a chart. The tables contain all searches.
const CHARTS_MAX: usize = 24;

/// Returns the section on all searches. `None` if the run has no searches.
pub fn section(view: &RunView) -> Option<Section> {
    let searches = &view.findings.searches;
    let first = searches.first()?;
    let mut blocks = vec![Block::Table(found_table(view))];
    let charts: Vec<(String, Chart)> = searches
        .iter()
        .take(CHARTS_MAX)
        .filter_map(|search| Some((name(view, search), chart(search)?)))
        .collect();
    match charts.len() {
        0 => {}
        1 => blocks.extend(charts.into_iter().map(|(_, chart)| Block::Chart(chart))),
        _ => blocks.push(Block::Choice("Search".into(), charts)),
    }
    let tables = searches.iter().map(|search| {
        let table = Block::Table(steps_table(search));
        Block::Details(
            format!("Every trial of {}", name(view, search)),
            vec![table],
        )
    });
    blocks.extend(tables);
    let held = match first.procedure {
        SearchProcedure::Peak => {
            " The search measured its result again, three times as long, until it was confirmed \
             twice in a row."
        }
        _ => "",
    };
    Some(Section {
        id: "search",
        title: "Search".into(),
        lead: format!(
            "The goal was {}. Each trial decided the next point.{held} The trials of a search are \
             not independent: later trials begin with the data that earlier trials left.",
            first.goal
        ),
        blocks,
    })
}

fn name(view: &RunView, search: &SearchRecord) -> String {
    let searches = view.findings.searches.iter();
    let of_variant = searches.filter(|one| one.variant == search.variant).count();
    let block = match of_variant {
        1 => String::new(),
        _ => format!("block {}", search.block + 1),
    };
    let variant = search.variant.name().unwrap_or_default().to_owned();
    let parts = [variant, block].into_iter().filter(|part| !part.is_empty());
    let name = parts.collect::<Vec<_>>().join(", ");
    if name.is_empty() {
        "the search".to_owned()
    } else {
        name
    }
}

/// Lists the end of each search.
fn found_table(view: &RunView) -> Table {
    let searches = &view.findings.searches;
    Table::from_records("Results of the searches", searches)
        .text("search", |search| name(view, search))
        .number(axis(&searches[0]), "", |search| {
            search.at.map(|at| axis_value(at.value()))
        })
        .text("outcome", |search| {
            let words = search.outcome.name().replace('_', " ");
            Cell::new(words).tone(match search.outcome {
                SearchOutcome::Held | SearchOutcome::Found => Tone::Good,
                _ => Tone::Warn,
            })
        })
        .wide_number("trials", "", |search| search.steps.len().to_string())
        .wide_number("holds", "", |search| {
            let holds = search.steps.iter().filter(|step| step.role == Role::Hold);
            holds.count().to_string()
        })
        .wide_text("in words", |search| &search.words)
        .build()
}

fn axis(search: &SearchRecord) -> &'static str {
    let first = search.steps.first();
    match first.and_then(|step| step.point) {
        Some(Point::Rate(_)) => "op/s",
        Some(Point::Threads(_)) => "threads",
        None => "point",
    }
}

fn value(step: &SearchStepRecord) -> f64 {
    step.point.map_or(0.0, Point::value)
}

/// Returns the tone of a step's result.
fn tone(result: SearchResult) -> Tone {
    match result {
        SearchResult::Pass | SearchResult::Within => Tone::Good,
        SearchResult::Fail | SearchResult::Above => Tone::Bad,
        SearchResult::PassDisturbed | SearchResult::NoAnswer => Tone::Warn,
        SearchResult::Below | SearchResult::Expected => Tone::Plain,
    }
}

fn steps_table(search: &SearchRecord) -> Table {
    let caption = format!("In their order: {}", search.words);
    Table::from_records(caption, &search.steps)
        .number("trial", "", |step| (step.trial + 1).to_string())
        .text("for", |step| step.role.name())
        .number(axis(search), "", |step| axis_value(value(step)))
        .number("latency", "ms", |step| {
            let sign = if step.at_least { "≥ " } else { "" };
            let latency = step.latency_ms.map(|ms| format!("{sign}{}", number::ms(ms)));
            let ci95 = step
                .ci95_ms
                .map(|[low, high]| format!("{} to {}", number::ms(low), number::ms(high)));
            Cell::from(latency).detail(ci95.unwrap_or_default())
        })
        .text("result", |step| {
            let near = if step.near { ", near" } else { "" };
            Cell::new(format!("{}{near}", step.result)).tone(tone(step.result))
        })
        .wide_text("why", |step| &step.why)
        .build()
}

/// Draws the load against the number of the trial. The mark of each point shows the result of the
/// trial.
fn chart(search: &SearchRecord) -> Option<Chart> {
    if search.steps.len() < 2 {
        return None;
    }
    let steps = || (1..).map(|n: usize| n.to_string()).zip(&search.steps);
    let numbers: Vec<String> = steps().map(|(n, _)| n).collect();
    let line = |name: &str, dash: Dash, y: Vec<Option<f64>>| Series {
        name: name.to_owned(),
        in_legend: true,
        color: Color::Neutral,
        dash,
        x: XValues::Names(numbers.clone()),
        y,
        ..Series::default()
    };
    let path = steps().map(|(_, step)| Some(value(step))).collect();
    let mut series = vec![line("path", Dash::Solid, path)];
    if let Some(at) = search.at {
        series.push(line(
            "end of the search",
            Dash::Dot,
            vec![Some(at.value()); search.steps.len()],
        ));
    }
    let mut kinds: Vec<(Role, SearchResult)> = Vec::new();
    for (_, step) in steps() {
        let kind = (step.role, step.result);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    series.extend(kinds.iter().enumerate().map(|(index, &(role, result))| {
        let of: Vec<(String, &SearchStepRecord)> =
            steps().filter(|(_, step)| (step.role, step.result) == (role, result)).collect();
        let name = match role {
            Role::Probe => result.name().to_owned(),
            Role::Expected => "expected load".to_owned(),
            role => format!("{}, {result}", role.name()),
        };
        Series {
            name,
            in_legend: true,
            shape: Shape::Marks,
            color: Color::Category(index),
            x: XValues::Names(of.iter().map(|(n, _)| n.clone()).collect()),
            y: of.iter().map(|(_, step)| Some(value(step))).collect(),
            labels: of.iter().map(|(_, step)| label(step)).collect(),
            unit: axis(search).to_owned(),
            ..Series::default()
        }
    }));
    Some(Chart {
        title: "The path of the search".into(),
        what: format!("{}.", search.words),
        height_px: 340,
        x: Axis {
            names: numbers.clone(),
            ..Axis::new("trials of the search, in their order", Scale::Names)
        },
        panels: vec![Panel {
            share: 1.0,
            left: Axis::new(axis(search), Scale::Log),
            series,
            ..Panel::default()
        }],
        ..Chart::default()
    })
}

/// Returns the text next to a mark. The text states the latency that decided the result.
fn label(step: &SearchStepRecord) -> String {
    let sign = if step.at_least { "≥ " } else { "" };
    step.latency_ms
        .map_or(String::new(), |ms| format!("{sign}{} ms", number::ms(ms)))
}
