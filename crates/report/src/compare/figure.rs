//! Draws the figure at the top of a comparison. One plot shows all runs, and another plot shows
//! their ratios to the baseline.

use super::pairs::{Pair, metric_of, primary};
use super::results::{Row, labels, rows};
use super::side::Side;
use crate::merged_points::{ALL, Point, only_axis, variant_name};
use crate::page::{
    AxisScale, ColorRole, CurvePlot, LeadFigure, LeadMark, Plot, PlotAxis, RowsPlot, ValueRow,
    Verdict,
};
use crate::sections::comparisons::ratio_words;
use crate::sections::results::metric_name;
use analysis::procedure;
use store::record::{ComparisonRecord, Finding};

/// Minimum number of loads for a curve over the load.
const PLACES_MIN: usize = 3;
const RATIOS_MAX: usize = 12;
/// Minimum number of latencies above a point of a percentile curve.
const ABOVE_MIN: f64 = 10.0;

/// Returns the figure at the top of a comparison. `None` if the runs have no point in common, or if
/// the figure would show latency distributions, but no run has any.
pub(super) fn figure(
    sides: &[Side<'_>],
    left: &[Point<'_>],
    pairs: &[Pair<'_, '_>],
) -> Option<LeadFigure> {
    let rows = rows(left, pairs);
    let asked = pairs
        .iter()
        .find_map(|pair| Some(pair.matched[primary(&pair.matched)?].0))
        .or_else(|| rows.first().and_then(|row| row[0]))?;
    let of_variant: Vec<&Row<'_, '_>> = rows
        .iter()
        .filter(|row| row[0].is_some_and(|point| point.variant == asked.variant))
        .collect();
    let (plot, title) = if of_variant.len() >= PLACES_MIN && only_axis(left).is_some() {
        over_load(sides, &of_variant, metric_of(asked))
    } else {
        distributions(sides, &of_variant, asked)?
    };
    let metric = metric_of(asked);
    let mut plots = vec![Plot::Curve(plot)];
    plots.extend(ratios(sides, pairs, &rows, metric).map(Plot::Rows));
    let several = left.iter().any(|point| point.variant != asked.variant);
    let of = if several {
        format!(" of {}", variant_name(asked.variant, sides[0].run))
    } else {
        String::new()
    };
    let keys = sides.iter().enumerate();
    Some(LeadFigure {
        title: format!("{title}{of}, compared with {}", sides[0].run.name),
        what: "Left: every run. Right: ratios to the baseline with their 95 % intervals; 1 means \
             no difference."
            .into(),
        plots,
        legend: keys
            .map(|(index, side)| (ColorRole::Category(index), side.run.name.clone()))
            .collect(),
        ..LeadFigure::default()
    })
}

fn over_load(sides: &[Side<'_>], rows: &[&Row<'_, '_>], metric: &str) -> (CurvePlot, &'static str) {
    let is_throughput = metric == "ops_per_s";
    let mut marks = Vec::new();
    let mut ticks = Vec::new();
    for (index, side) in sides.iter().enumerate() {
        let value = |point: &Point<'_>| {
            if is_throughput {
                return Some((point.ops_per_s(), point.ops_per_s_ci95()));
            }
            let known = point.latency(side.run, ALL).filter(|_| !point.saturated)?;
            Some((known.p99.least(), known.ci95.get("p99").copied()))
        };
        let there = rows.iter().filter_map(|row| row[index]);
        let usable = there.filter(|point| point.verdict != Verdict::Invalid);
        let mut line = Vec::new();
        for point in usable {
            let (Some(at), Some((y, ci95))) = (point.at, value(point)) else {
                continue;
            };
            ticks.push(at.value());
            line.push((at.value(), Some(y)));
            marks.push(LeadMark::Dot {
                x: at.value(),
                y,
                ci95,
                paint: ColorRole::Category(index),
                hint: format!("{}, {}", side.run.name, point.label()),
            });
        }
        marks.push(unnamed_line(line, index));
    }
    ticks.sort_by(f64::total_cmp);
    ticks.dedup();
    let is_rate = rows
        .iter()
        .any(|row| row[0].and_then(|point| point.at).is_some_and(procedure::Point::is_rate));
    let plot = CurvePlot {
        x: PlotAxis {
            title: if is_rate {
                "op/s offered"
            } else {
                "threads (operations in flight)"
            }
            .into(),
            scale: AxisScale::Logarithmic,
            ticks,
        },
        y: PlotAxis {
            title: if is_throughput {
                "op/s"
            } else {
                "p99 latency, ms"
            }
            .into(),
            scale: AxisScale::log_or_zero(!is_throughput),
            ..PlotAxis::default()
        },
        marks,
        ..CurvePlot::default()
    };
    let title = if is_throughput {
        "Throughput by load"
    } else {
        "p99 latency by load"
    };
    (plot, title)
}

/// Plots the latency distributions of all runs at the point `asked`. Returns the plot and its
/// title, or `None` if no run has a distribution at this point.
fn distributions(
    sides: &[Side<'_>],
    rows: &[&Row<'_, '_>],
    asked: &Point<'_>,
) -> Option<(CurvePlot, &'static str)> {
    let row = rows.iter().find(|row| row[0].is_some_and(|point| point.at == asked.at))?;
    let mut marks = Vec::new();
    for (index, (side, point)) in sides.iter().zip(row.iter()).enumerate() {
        let Some(found) = point.and_then(|point| point.curves(side.run, ALL)) else {
            continue;
        };
        let count = found.latency.quantiles.count as f64;
        let one_of = |quantile: f64| 1.0 / (1.0 - quantile);
        let values = found.latency.values.iter().map(|(quantile, ms)| (one_of(*quantile), *ms));
        let shown = values.filter(|(x, ms)| *x <= count / ABOVE_MIN && *ms > 0.0);
        marks.push(unnamed_line(
            shown.map(|(x, ms)| (x, Some(ms))).collect(),
            index,
        ));
    }
    let is_drawn =
        |mark: &LeadMark| matches!(mark, LeadMark::Line { points, .. } if !points.is_empty());
    marks
        .iter()
        .any(is_drawn)
        .then(|| (CurvePlot::for_percentiles(marks), "Latency"))
}

fn unnamed_line(points: Vec<(f64, Option<f64>)>, index: usize) -> LeadMark {
    LeadMark::Line {
        points,
        paint: ColorRole::Category(index),
        is_dashed: false,
        label: String::new(),
    }
}

/// Plots the ratios of a metric to the baseline at the first [`RATIOS_MAX`] points and contenders,
/// with their intervals. Returns `None` if the metric has no ratio.
fn ratios(
    sides: &[Side<'_>],
    pairs: &[Pair<'_, '_>],
    rows: &[Row<'_, '_>],
    metric: &str,
) -> Option<RowsPlot> {
    let names = labels(rows, sides[0].run);
    let mut shown = Vec::new();
    for (row, name) in rows.iter().zip(&names) {
        let Some(point) = row[0] else { continue };
        for pair in pairs {
            let here = |c: &&ComparisonRecord| {
                c.metric == metric && c.point == point.at && c.baseline == *point.variant
            };
            let found = pair.comparisons.iter().find(here);
            shown.extend(found.map(|c| ValueRow {
                label: name.clone(),
                value: Some(c.ratio),
                ci95: c.ci95,
                text: format!("{} ×, {}", ratio_words(c), label(c)),
                paint: ColorRole::Category(pair.index),
                ..ValueRow::default()
            }));
        }
    }
    shown.truncate(RATIOS_MAX);
    (!shown.is_empty()).then(|| RowsPlot {
        title: format!("{} ÷ baseline's", metric_name(metric)),
        baseline: Some(1.0),
        is_log: true,
        rows: shown,
    })
}

fn label(c: &ComparisonRecord) -> &'static str {
    match c.verdict {
        Finding::LooksDifferent => "looks different",
        Finding::Equivalent => "equivalent",
        _ => "unknown",
    }
}
