//! Variants beside each other: throughput and p99 of each, with intervals.

use crate::number;
use crate::page::{LeadFigure, Paint, Plot, RowsPlot, ValueRow, Verdict};
use crate::summary::{ALL, Point, best, place, variant_name, variants};
use crate::view::RunView;

/// Rows that a first screen has room for.
const ROWS_MAX: usize = 10;

/// The figure; none of a study with one variant.
pub(super) fn figure(view: &RunView, points: &[Point<'_>]) -> Option<LeadFigure> {
    let names = variants(view);
    if names.len() < 2 {
        return None;
    }
    let shown: Vec<&Point<'_>> = (0..names.len())
        .filter_map(|index| primary(view, points, index))
        .take(ROWS_MAX)
        .collect();
    if shown.is_empty() {
        return None;
    }
    let at = shown[0].at.filter(|at| shown.iter().all(|point| point.at == Some(*at)));
    let at = at.map_or(String::new(), |at| format!(", at {}", place(Some(at))));
    // An interval from the spread between blocks may go below zero, which no value can.
    let possible = |ends: [f64; 2]| ends.map(|end| end.max(0.0));
    let row = |point: &&Point<'_>, value: Option<f64>, ci95: Option<[f64; 2]>, text| ValueRow {
        label: variant_name(point.variant, view).to_owned(),
        value,
        ci95: ci95.map(possible),
        other: None,
        text,
        paint: paint(point),
    };
    let rates = shown.iter().map(|point| {
        let value = point.ops_per_s();
        row(
            point,
            Some(value),
            point.ops_per_s_ci95(),
            number::rate(value),
        )
    });
    let latencies = shown.iter().map(|point| {
        let known = point.latency(view, ALL);
        let ci95 = known.and_then(|known| known.ci95.get("p99").copied());
        let value = known.map(|known| known.p99);
        let text = value.map_or_else(|| number::ABSENT.into(), number::known_ms);
        row(point, value.map(measure::Known::least), ci95, text)
    });
    let plot = |title: &str, rows: Vec<ValueRow>| {
        Plot::Rows(RowsPlot {
            title: title.into(),
            rows,
            ..RowsPlot::default()
        })
    };
    Some(LeadFigure {
        title: format!("Throughput and p99 latency of each variant{at}"),
        what: "Left: operations per second, more is better. Right: p99 latency in milliseconds, \
               less is better. With 95 % intervals."
            .into(),
        plots: vec![
            plot("op/s (more is better)", rates.collect()),
            plot("p99 latency, ms (less is better)", latencies.collect()),
        ],
        ..LeadFigure::default()
    })
}

/// The point of a variant that the question is about, or its best.
fn primary<'p, 'a>(
    view: &RunView,
    points: &'p [Point<'a>],
    variant: usize,
) -> Option<&'p Point<'a>> {
    let asked = view.findings.comparisons.iter().find(|c| c.primary).map(|c| c.point);
    let at = |point: &&Point<'_>| point.variant_index == variant && Some(point.at) == asked;
    points.iter().find(at).or_else(|| best(view, points, variant))
}

fn paint(point: &Point<'_>) -> Paint {
    if point.verdict == Verdict::Invalid {
        Paint::Muted
    } else {
        Paint::Category(point.variant_index)
    }
}
