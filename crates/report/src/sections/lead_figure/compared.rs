//! Compares variants by throughput and p99, with intervals. If all variants kept up with a rate,
//! compares p99 and a second metric: the cost that differs most, or else the median.

use crate::merged_points::{
    ALL, Point, best, compared_value, is_kept_up, most_different_cost, moved_ends, place,
    variant_name, variants,
};
use crate::number;
use crate::page::{ColorRole, LeadFigure, Plot, RowsPlot, ValueRow, Verdict};
use crate::run_view::RunView;
use measure::Known;
use store::record::{CostKind, CostRecord, QuantilesRecord};

const ROWS_MAX: usize = 10;

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
    let first = first(view, &shown);
    let second = latencies(view, &shown, "p99", |known| known.p99);
    let are_means = shown.iter().any(|point| {
        let is_compared = |metric| compared_value(view, point, metric).is_some();
        point.used.len() > 1 && (is_compared("ops_per_s") || is_compared("latency_ms.p99"))
    });
    let means = if are_means {
        " A value is the geometric mean of the blocks."
    } else {
        ""
    };
    let what = format!("Left: {}. Right: {}.{means}", first.title, second.title);
    let invalid = shown.iter().map(|point| paint(point)).find(|paint| paint.is_hollow());
    Some(LeadFigure {
        title: format!("Results of each variant{at}"),
        what,
        plots: vec![Plot::Rows(first), Plot::Rows(second)],
        legend: invalid.map(|paint| (paint, "hollow: invalid".into())).into_iter().collect(),
        ..LeadFigure::default()
    })
}

/// Returns the plot next to the plot of p99. At a rate with which all variants kept up, throughput
/// equals the offered rate, so another plot replaces the plot of throughput.
fn first(view: &RunView, shown: &[&Point<'_>]) -> RowsPlot {
    if !shown.iter().all(|point| is_kept_up(view, point)) {
        return rows(("op/s", "more is better; "), view, shown, |point| {
            let mean = point.ops_per_s();
            let value = compared_value(view, point, "ops_per_s").unwrap_or(mean);
            let ci95 = point.ops_per_s_ci95().map(|ends| moved_ends(ends, mean, value));
            (Some(value), ci95, number::rate(value))
        });
    }
    let Some(cost) = most_different_cost(view).map(|one| one.cost) else {
        return latencies(view, shown, "p50", |known| known.p50);
    };
    rows((cost.words(), ""), view, shown, |point| {
        let known = cost_of(view, point, cost);
        let text = known.map_or_else(|| number::ABSENT.into(), |c| cost.written(c.mean));
        (known.map(|c| c.mean), known.and_then(|c| c.ci95), text)
    })
}

fn latencies(
    view: &RunView,
    shown: &[&Point<'_>],
    name: &str,
    of: fn(&QuantilesRecord) -> Known,
) -> RowsPlot {
    let title = format!("{name} latency, ms");
    rows((&title, "less is better; "), view, shown, |point| {
        let known = point.latency(view, ALL);
        let ci95 = known.and_then(|known| known.ci95.get(name).copied());
        let Some(known) = known.map(of) else {
            return (None, ci95, number::ABSENT.into());
        };
        match compared_value(view, point, &format!("latency_ms.{name}")) {
            Some(value) => {
                let ends = ci95.map(|ends| moved_ends(ends, known.least(), value));
                (Some(value), ends, number::ms(value))
            }
            None => (Some(known.least()), ci95, number::known_ms(known)),
        }
    })
}

type Value = (Option<f64>, Option<[f64; 2]>, String);

/// Returns a row for each variant.
fn rows(
    (title, better): (&str, &str),
    view: &RunView,
    shown: &[&Point<'_>],
    of: impl Fn(&Point<'_>) -> Value,
) -> RowsPlot {
    let row = |point: &&Point<'_>| {
        let (value, ci95, text) = of(point);
        ValueRow {
            label: variant_name(point.variant, view).to_owned(),
            value,
            // The spread between blocks may lead to an interval that extends below zero. The value
            // itself cannot be negative, so the interval ends at zero.
            ci95: ci95.map(|ends| ends.map(|end| end.max(0.0))),
            other: None,
            text,
            paint: paint(point),
        }
    };
    let rows: Vec<ValueRow> = shown.iter().map(row).collect();
    RowsPlot {
        title: format!("{title} ({better}{})", RowsPlot::intervals_note(&rows)),
        rows,
        ..RowsPlot::default()
    }
}

fn cost_of<'v>(view: &'v RunView, point: &Point<'_>, cost: CostKind) -> Option<&'v CostRecord> {
    let mut points = view.findings.usable_points();
    let of = points.find(|one| one.variant == *point.variant && one.point == point.at)?;
    of.costs.iter().find(|one| one.cost == cost)
}

/// Returns the point of a variant at which the primary comparison was made. If the variant lacks
/// this point, returns its best point. If all points of the variant are invalid, returns the point
/// with the highest throughput, so that the figure shows every variant.
fn primary<'p, 'a>(
    view: &RunView,
    points: &'p [Point<'a>],
    variant: usize,
) -> Option<&'p Point<'a>> {
    let asked = view.findings.comparisons.iter().find(|c| c.primary).map(|c| c.point);
    let at = |point: &&Point<'_>| point.variant_index == variant && Some(point.at) == asked;
    let of_variant = points.iter().filter(|point| point.variant_index == variant);
    let most = |a: &&Point<'_>, b: &&Point<'_>| a.ops_per_s().total_cmp(&b.ops_per_s());
    let found = points.iter().find(at).or_else(|| best(view, points, variant));
    found.or_else(|| of_variant.max_by(most))
}

fn paint(point: &Point<'_>) -> ColorRole {
    if point.verdict == Verdict::Invalid {
        ColorRole::Hollow(point.variant_index)
    } else {
        ColorRole::Category(point.variant_index)
    }
}
