//! Shows the comparisons as tables, the throughput and p99 latency of all runs in one chart, and
//! their latency distributions in further charts.

use super::pairs::Pair;
use super::side::Side;
use crate::merged_points::{ALL, Point, bound_labels, variant_name};
use crate::number;
use crate::page::{
    Axis, Block, Chart, Color, Panel, Scale, Section, Series, Shape, Verdict, XValues,
};
use crate::run_view::RunView;
use crate::sections::comparisons::comparison_table;
use crate::sections::latency::curve_series;
use analysis::Metric;

const CURVES_MAX: usize = 24;

pub(super) fn results(sides: &[Side<'_>], left: &[Point<'_>], pairs: &[Pair<'_, '_>]) -> Section {
    let baseline = sides[0].run;
    let mut blocks = Vec::new();
    for pair in pairs.iter().filter(|pair| !pair.comparisons.is_empty()) {
        let caption = match pairs.len() {
            1 => "Contender against baseline".to_owned(),
            _ => format!("{} against {}", pair.run.name, baseline.name),
        };
        let mut table = comparison_table(&pair.comparisons, &caption, |table| {
            table.text("Variant", |c| variant_name(&c.baseline, baseline))
        });
        table.foot = foot();
        blocks.push(Block::Table(table));
    }
    let rows = rows(left, pairs);
    if rows.len() > 1 {
        blocks.push(Block::Chart(chart(sides, &rows)));
    }
    let curves = curves(sides, &rows);
    if !curves.is_empty() {
        blocks.push(Block::Choice("Latency distribution of".into(), curves));
    }
    Section {
        id: "results",
        title: "Results".into(),
        lead: String::new(),
        blocks,
    }
}

fn foot() -> String {
    format!(
        "Separate runs differ by more than the blocks of one run. The interval therefore allows \
         for a standard deviation from run to run of {} for throughput and {} for latency. If the \
         deviation between the blocks is larger, the interval uses that deviation. The verdict \
         “looks different” means that the interval excludes 1, but the machine may be the cause. \
         The verdict “inconclusive” means that the interval contains 1, or that one run has only \
         one block. The column “Detects differences from” shows the smallest difference that four \
         of five comparisons of this kind would find. The report does not compare invalid points.",
        number::percent(Metric::THROUGHPUT.between_runs),
        number::percent(Metric::LATENCY.between_runs)
    )
}

/// One point in all runs, with the baseline first. An item is `None` if its run does not contain
/// this point.
pub(super) type Row<'p, 'a> = Vec<Option<&'p Point<'a>>>;

/// Returns the points that the baseline shares with at least one contender.
pub(super) fn rows<'p, 'a>(left: &'p [Point<'a>], pairs: &[Pair<'p, 'a>]) -> Vec<Row<'p, 'a>> {
    let row = |point: &'p Point<'a>| {
        let of = |pair: &Pair<'p, 'a>| {
            let mut matched = pair.matched.iter();
            matched.find(|(a, _)| std::ptr::eq(*a, point)).map(|(_, b)| *b)
        };
        let others: Vec<Option<&Point<'a>>> = pairs.iter().map(of).collect();
        let is_common = others.iter().any(Option::is_some);
        is_common.then(|| std::iter::once(Some(point)).chain(others).collect())
    };
    left.iter().filter_map(row).collect()
}

/// Formats a point, such as `mixed, 8 threads`. The text contains the variant only if the runs have
/// several variants.
pub(super) fn labels(rows: &[Row<'_, '_>], baseline: &RunView) -> Vec<String> {
    let points: Vec<&Point<'_>> = rows.iter().filter_map(|row| row[0]).collect();
    let several = points.iter().any(|p| p.variant != points[0].variant);
    let name = |p: &&Point<'_>| {
        let variant = several.then(|| format!("{}, ", variant_name(p.variant, baseline)));
        variant.unwrap_or_default() + &p.label()
    };
    points.iter().map(name).collect()
}

fn chart(sides: &[Side<'_>], rows: &[Row<'_, '_>]) -> Chart {
    let names = labels(rows, sides[0].run);
    let mut series = Vec::new();
    for (index, run) in sides.iter().map(|side| side.run).enumerate() {
        let of: Vec<Option<&Point<'_>>> = rows.iter().map(|row| row[index]).collect();
        let there: Vec<&Point<'_>> = of.iter().flatten().copied().collect();
        let bars = Series {
            name: run.name.clone(),
            group: index.to_string(),
            in_legend: true,
            shape: Shape::Bars,
            color: Color::Category(index),
            x: XValues::Names(names.clone()),
            y: of.iter().map(|p| p.map(Point::ops_per_s)).collect(),
            y_ci: of.iter().map(|p| p.and_then(Point::ops_per_s_ci95)).collect(),
            unit: "op/s".into(),
            ..Series::default()
        };
        let p99 = |p: &Point<'_>| p.latency(run, ALL).map(|q| q.p99.least());
        let is_whole = there.len() == of.len();
        let line = Series {
            name: format!("{}, p99", run.name),
            group: String::new(),
            shape: Shape::Points,
            on_right: true,
            y: of.iter().map(|p| p.and_then(p99)).collect(),
            labels: if is_whole {
                bound_labels(&there, run, |q| q.p99)
            } else {
                Vec::new()
            },
            y_ci: Vec::new(),
            unit: "ms".into(),
            ..bars.clone()
        };
        series.extend([bars, line]);
    }
    Chart {
        title: "Throughput, with p99 latency".into(),
        what: "Bars: operations per second (left). Line: p99 latency (right, logarithmic).".into(),
        height_px: 420,
        x: Axis {
            title: String::new(),
            scale: Scale::Names,
            names,
        },
        panels: vec![Panel {
            share: 1.0,
            left: Axis::new("op/s", Scale::Linear),
            right: Some(Axis::new("p99 latency, ms", Scale::Log)),
            series,
            ..Panel::default()
        }],
        ..Chart::default()
    }
}

fn curves(sides: &[Side<'_>], rows: &[Row<'_, '_>]) -> Vec<(String, Chart)> {
    let chart = |(row, label): (&Row<'_, '_>, String)| {
        let mut series = Vec::new();
        for (index, (side, point)) in sides.iter().zip(row).enumerate() {
            let usable = point.filter(|point| point.verdict != Verdict::Invalid);
            if let Some(found) = usable.and_then(|point| point.curves(side.run, ALL)) {
                let color = Color::Category(index);
                series.extend(curve_series(&found.latency, &side.run.name, color));
            }
        }
        let chart = Chart {
            what: "Each step to the right omits nine tenths of the rest: 90 %, 99 %, 99.9 %. A \
                 curve is dotted where it has fewer than 100 values."
                .into(),
            height_px: 440,
            x: Axis::new("percentile", Scale::Percentile),
            panels: vec![Panel {
                share: 1.0,
                left: Axis::new("latency, ms", Scale::Log),
                series,
                ..Panel::default()
            }],
            ..Chart::default()
        };
        (!chart.panels[0].series.is_empty()).then_some((label, chart))
    };
    let labelled = rows.iter().zip(labels(rows, sides[0].run));
    labelled.filter_map(chart).take(CURVES_MAX).collect()
}
