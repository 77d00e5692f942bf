//! Charts of the throughput and latency of the points of a sweep.
//!
//! The chart of throughput hatches the bars of invalid and saturated points. All plots of latency
//! omit these points. The throughput of a saturated point is the capacity of the target, but its
//! latency depends on the length of the trial.

use crate::merged_points::{
    ALL, Point, axis_value, bound_labels, compare_places, only_axis, variant_name, variants,
};
use crate::page::{Axis, Chart, Color, Dash, Panel, Scale, Series, Shape, Verdict, XValues};
use crate::run_view::RunView;
use measure::Known;
use store::record::QuantilesRecord;

/// Returns a chart with bars of throughput and a line of p99.9 latency over the only axis of the
/// study. Returns `None` if the run has fewer than two points.
pub fn throughput_chart(view: &RunView, points: &[Point<'_>]) -> Option<Chart> {
    let axis = only_axis(points);
    // Without a common axis, each variant has one bar.
    if points.len() < 2 {
        return None;
    }
    let of = |index: usize| variant_series(view, points, index, axis);
    let series = (0..variants(view).len()).flat_map(of).collect();
    Some(Chart {
        title: "Throughput, with p99.9 latency".into(),
        what: "Bars: successful operations per second, with their 95 % interval (left). Line: \
               p99.9 latency (right, logarithmic). Hatched: invalid or saturated trials, whose \
               latency the chart omits."
            .into(),
        height_px: 380,
        x: Axis {
            title: axis.unwrap_or("").into(),
            scale: Scale::Names,
            names: places(points, axis, view),
        },
        panels: vec![Panel {
            share: 1.0,
            left: Axis::new("op/s", Scale::Linear),
            right: Some(Axis::new("p99.9 latency, ms", Scale::Log)),
            series,
            ..Panel::default()
        }],
        ..Chart::default()
    })
}

/// Returns the names of the positions on the axis, in numerical order.
fn places(points: &[Point<'_>], axis: Option<&str>, view: &RunView) -> Vec<String> {
    let mut sorted: Vec<&Point<'_>> = points.iter().collect();
    sorted.sort_by(|a, b| compare_places(a.at, b.at));
    let mut names: Vec<String> = sorted.iter().map(|p| place_name(p, axis, view)).collect();
    names.dedup();
    names
}

/// Returns the text below the bar of a point. This text is the value on the axis or, without an
/// axis, the name of the variant.
fn place_name(point: &Point<'_>, axis: Option<&str>, view: &RunView) -> String {
    match axis.and(point.at) {
        Some(at) => axis_value(at.value()),
        None => variant_name(point.variant, view).into(),
    }
}

/// Returns the bars and the line of one variant. Bars of invalid and saturated points are hatched,
/// and the line skips these points.
fn variant_series(
    view: &RunView,
    points: &[Point<'_>],
    index: usize,
    axis: Option<&str>,
) -> Vec<Series> {
    let of = || points.iter().filter(|p| p.variant_index == index);
    let (saturated, rest): (Vec<_>, Vec<_>) = of().partition(|p| p.saturated);
    let (good, bad): (Vec<_>, Vec<_>) =
        rest.into_iter().partition(|p| p.verdict != Verdict::Invalid);
    let Some(variant) = of().next().map(|p| p.variant) else {
        return Vec::new();
    };
    let name = variant_name(variant, view);
    let place = |p: &&Point<'_>| place_name(p, axis, view);
    let bars = |points: &[&Point<'_>], shape: Shape, name: String| Series {
        name,
        group: variant.to_string(),
        in_legend: true,
        shape,
        color: Color::Category(index),
        x: XValues::Names(points.iter().map(place).collect()),
        y: points.iter().map(|p| Some(p.ops_per_s())).collect(),
        y_ci: points.iter().map(|p| p.ops_per_s_ci95()).collect(),
        unit: "op/s".into(),
        ..Series::default()
    };
    let p999 = |p: &&Point<'_>| p.latency(view, ALL).map(|q| q.p999.least());
    let line = Series {
        name: format!("{name}, p99.9"),
        in_legend: true,
        shape: Shape::Points,
        color: Color::Category(index),
        on_right: true,
        x: XValues::Names(good.iter().map(place).collect()),
        y: good.iter().map(p999).collect(),
        labels: bound_labels(&good, view, |q| q.p999),
        unit: "ms".into(),
        ..Series::default()
    };
    let mut series = vec![bars(&good, Shape::Bars, name.into())];
    for (hatched, what) in [(bad, "invalid"), (saturated, "saturated")] {
        if !hatched.is_empty() {
            series.push(bars(
                &hatched,
                Shape::HatchedBars,
                format!("{name}, {what}"),
            ));
        }
    }
    series.push(line);
    series
}

/// Returns p50 and p99 of one variant against the throughput of the variant. Returns an empty list
/// if the variant has fewer than two points that are neither invalid nor saturated.
fn tradeoff_series(view: &RunView, points: &[Point<'_>], index: usize) -> Vec<Series> {
    let of = || {
        let of = points.iter().filter(move |p| p.variant_index == index);
        of.filter(|p| p.verdict != Verdict::Invalid && !p.saturated)
    };
    let Some(variant) = of().nth(1).map(|p| p.variant) else {
        return Vec::new();
    };
    let line = |quantile: &str, dash: Dash, pick: fn(&QuantilesRecord) -> Known| Series {
        name: format!("{}, {quantile}", variant_name(variant, view)),
        group: format!("{variant}.{quantile}"),
        in_legend: true,
        shape: Shape::Points,
        color: Color::Category(index),
        dash,
        x: XValues::Numbers(of().map(Point::ops_per_s).collect()),
        y: of().map(|p| p.latency(view, ALL).map(|q| pick(q).least())).collect(),
        y_ci: of().map(|p| p.latency(view, ALL)?.ci95.get(quantile).copied()).collect(),
        unit: "ms".into(),
        ..Series::default()
    };
    let label = |p: &Point<'_>| {
        let at = p.at.map_or_else(String::new, |at| axis_value(at.value()));
        let sign = p.latency(view, ALL).map_or("", |q| q.p99.sign());
        let sign = if sign.is_empty() { "" } else { " (≥)" };
        format!("{at}{sign}")
    };
    let p50 = line("p50", Dash::Dot, |q| q.p50);
    let mut p99 = line("p99", Dash::Solid, |q| q.p99);
    p99.labels = of().map(label).collect();
    vec![p50, p99]
}

/// Returns a chart of latency against throughput. It shows the point beyond which more load gains
/// little. Returns `None` if no variant has two usable points.
pub fn tradeoff_chart(view: &RunView, points: &[Point<'_>]) -> Option<Chart> {
    let of = |index: usize| tradeoff_series(view, points, index);
    let series: Vec<Series> = (0..variants(view).len()).flat_map(of).collect();
    let axis = only_axis(points).unwrap_or("point");
    (!series.is_empty()).then(|| Chart {
        title: "Latency against throughput".into(),
        what: format!(
            "Next to each point: {axis}. Where the line turns upwards, more load only adds wait \
             time. The chart omits invalid and saturated points."
        ),
        height_px: 380,
        x: Axis::new("throughput, op/s", Scale::Linear),
        panels: vec![Panel {
            share: 1.0,
            left: Axis::new("latency, ms", Scale::Log),
            right: None,
            series,
            ..Panel::default()
        }],
        ..Chart::default()
    })
}
