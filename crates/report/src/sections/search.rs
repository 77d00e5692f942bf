//! The searches, with the trials and the end of each search.

use crate::merged_points::axis_value;
use crate::number;
use crate::page::{
    Axis, Block, Cell, Chart, Color, ColorRole, Dash, Panel, Scale, Section, Series, Shape, Table,
    Tone, XValues,
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
            " A search ends with a result if longer trials confirm the result twice in a row."
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

/// Names the block of a search. Returns `None` if the variant has no other search.
pub(super) fn block_of<'s>(
    searches: impl IntoIterator<Item = &'s SearchRecord>,
    search: &SearchRecord,
) -> Option<String> {
    let mut of_variant = searches.into_iter().filter(|one| one.variant == search.variant);
    of_variant.nth(1).map(|_| format!("block {}", search.block + 1))
}

fn name(view: &RunView, search: &SearchRecord) -> String {
    let variant = search.variant.name().map(str::to_owned);
    let block = block_of(&view.findings.searches, search);
    match (variant, block) {
        (Some(variant), Some(block)) => format!("{variant}, {block}"),
        (variant, block) => variant.or(block).unwrap_or_else(|| "the search".to_owned()),
    }
}

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
        .wide_number("confirming trials", "", |search| {
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

fn tone(result: SearchResult) -> Tone {
    match result {
        SearchResult::Pass | SearchResult::Within => Tone::Good,
        SearchResult::Fail | SearchResult::Above => Tone::Bad,
        SearchResult::PassDisturbed | SearchResult::NoAnswer => Tone::Warn,
        SearchResult::Below | SearchResult::Expected => Tone::Plain,
    }
}

fn steps_table(search: &SearchRecord) -> Table {
    let caption = format!("In the order of the search: {}", search.words);
    Table::from_records(caption, &search.steps)
        .number("trial", "", |step| step.trial.to_string())
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
    let steps = || search.steps.iter().map(|step| (step.trial.to_string(), step));
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
    let mut results: Vec<SearchResult> = Vec::new();
    for (_, step) in steps() {
        if !results.contains(&step.result) {
            results.push(step.result);
        }
    }
    series.extend(results.into_iter().map(|result| {
        let of: Vec<(String, &SearchStepRecord)> =
            steps().filter(|(_, step)| step.result == result).collect();
        let role = result_color(result);
        Series {
            name: match result {
                SearchResult::Expected => "expected load".to_owned(),
                result => result.name().to_owned(),
            },
            in_legend: true,
            shape: if role.is_hollow() {
                Shape::HollowMarks
            } else {
                Shape::Marks
            },
            color: Color::Role(role),
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
            ..Axis::new(
                "numbers of the trials, in the order of the search",
                Scale::Names,
            )
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

/// Returns the text next to a mark. The text states the latency that decided the result, and the
/// purpose of a trial that was not a probe.
fn label(step: &SearchStepRecord) -> String {
    let sign = if step.at_least { "≥ " } else { "" };
    let latency = step.latency_ms.map(|ms| format!("{sign}{} ms", number::ms(ms)));
    let role = match step.role {
        Role::Probe | Role::Expected => None,
        role => Some(role.name().to_owned()),
    };
    let parts: Vec<String> = role.into_iter().chain(latency).collect();
    parts.join(": ")
}

/// Returns the colour of a trial's result, in all figures of searches.
pub(super) fn result_color(result: SearchResult) -> ColorRole {
    match result {
        SearchResult::Pass | SearchResult::Within | SearchResult::Expected => ColorRole::Good,
        SearchResult::PassDisturbed => ColorRole::GoodHollow,
        SearchResult::Fail | SearchResult::Above | SearchResult::Below => ColorRole::Bad,
        SearchResult::NoAnswer => ColorRole::Muted,
    }
}
