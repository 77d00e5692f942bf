//! Percentile curves, which show the whole distribution of latency. The page draws the unreliable
//! part of a curve as a dotted line.

use crate::merged_points::{ALL, Point, variant_name, variants};
use crate::number;
use crate::page::{
    Axis, Block, Chart, Color, Dash, Panel, Scale, Section, Series, Shape, Verdict, XValues,
};
use crate::run_view::{Curve, RunView};
use analysis::VariantName;

/// Returns one chart for each variant, kind of operation and clock, from which the reader chooses.
/// Returns `None` if the run has no curves.
pub fn section(view: &RunView, points: &[Point<'_>]) -> Option<Section> {
    let mut charts = Vec::new();
    for (index, variant) in variants(view).into_iter().enumerate() {
        let of: Vec<&Point<'_>> = points
            .iter()
            .filter(|p| p.variant_index == index && p.verdict != Verdict::Invalid)
            .collect();
        let name = variant_name(variant, view);
        for kind in kinds(view, variant) {
            let kind_name = if kind == ALL { "all kinds" } else { kind };
            for clock in [Clock::Latency, Clock::Service] {
                let chart = chart(view, &of, kind, clock);
                let label = format!("{name}: {kind_name}, {}", clock.name());
                charts.extend(chart.map(|chart| (label, chart)));
            }
        }
    }
    (!charts.is_empty()).then(|| Section {
        id: "latency",
        title: "Latency distribution".into(),
        lead: "Each step to the right omits nine tenths of the rest: 90 %, 99 %, 99.9 %. A curve \
             is dotted where it has fewer than 100 values."
            .into(),
        blocks: vec![Block::Choice("Show".into(), charts)],
    })
}

/// Clock of a chart. Latency counts from the intended start of an operation, and service time from
/// the send.
#[derive(Clone, Copy)]
enum Clock {
    Latency,
    Service,
}

impl Clock {
    fn name(self) -> &'static str {
        match self {
            Clock::Latency => "latency",
            Clock::Service => "service time",
        }
    }
}

/// Returns the kinds of operations of a variant that have curves. The kind [`ALL`] comes first.
fn kinds<'a>(view: &'a RunView, variant: &VariantName) -> Vec<&'a str> {
    let mut kinds: Vec<&str> = Vec::new();
    for point in view.points.iter().filter(|p| p.variant == *variant) {
        if !kinds.contains(&point.kind.as_str()) {
            kinds.push(&point.kind);
        }
    }
    kinds.sort_by_key(|kind| *kind != ALL);
    // If the variant has only one kind, its curve equals the curve of all kinds together. The
    // section then shows only the latter.
    if kinds.len() == 2 && kinds.first() == Some(&ALL) {
        kinds.truncate(1);
    }
    kinds
}

fn chart(view: &RunView, points: &[&Point<'_>], kind: &str, clock: Clock) -> Option<Chart> {
    let mut series = Vec::new();
    for (index, point) in points.iter().enumerate() {
        let Some(found) = point.curves(view, kind) else {
            continue;
        };
        let curve = match clock {
            Clock::Latency => &found.latency,
            Clock::Service => &found.service,
        };
        let label = match point.label() {
            label if label == number::ABSENT => variant_name(point.variant, view).to_string(),
            label => label,
        };
        series.extend(curve_series(
            curve,
            &label,
            Color::Ramp(index, points.len()),
        ));
    }
    (!series.is_empty()).then(|| Chart {
        title: String::new(),
        what: String::new(),
        height_px: 440,
        x: Axis::new("percentile", Scale::Percentile),
        panels: vec![Panel {
            share: 1.0,
            left: Axis {
                title: format!("{}, ms", clock.name()),
                scale: Scale::Log,
                ..Axis::default()
            },
            right: None,
            series,
            ..Panel::default()
        }],
        ..Chart::default()
    })
}

/// Returns a solid curve up to the last quantile with at least 100 values above it, and a dotted
/// curve for the rest. Both curves contain the point at which they meet. The horizontal values are
/// 1 ÷ (1 − quantile), and the vertical values are milliseconds.
pub fn curve_series(curve: &Curve, label: &str, color: Color) -> Vec<Series> {
    let count = curve.quantiles.count as f64;
    let (mut sure, mut unsure) = (Vec::new(), Vec::new());
    for &(quantile, ms) in &curve.values {
        // The maximum is one of `count` values, so its position 1 ÷ (1 − q) is `count`.
        let x = (1.0 / (1.0 - quantile)).min(count);
        if !(x >= 1.0 && ms > 0.0) {
            continue;
        }
        if x <= count / number::COUNT_ABOVE_MIN {
            sure.push((x, ms));
        } else {
            if unsure.is_empty() {
                unsure.extend(sure.last().copied());
            }
            unsure.push((x, ms));
        }
    }
    let line = |values: Vec<(f64, f64)>, dash: Dash, in_legend: bool| Series {
        name: label.into(),
        group: label.into(),
        in_legend,
        shape: Shape::Line,
        color,
        dash,
        x: XValues::Numbers(values.iter().map(|v| v.0).collect()),
        y: values.iter().map(|v| Some(v.1)).collect(),
        unit: "ms".into(),
        ..Series::default()
    };
    let mut series = Vec::new();
    if !sure.is_empty() {
        series.push(line(sure, Dash::Solid, true));
    }
    if !unsure.is_empty() {
        let first = series.is_empty();
        series.push(line(unsure, Dash::Dot, first));
    }
    series
}
