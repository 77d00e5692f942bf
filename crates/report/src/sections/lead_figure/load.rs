//! Plots the throughput and the p99 latency of a sweep over its load, and marks the knee.

use crate::merged_points::{ALL, Point, only_axis, variant_name, variants};
use crate::number;
use crate::page::{AxisScale, ColorRole, CurvePlot, LeadFigure, LeadMark, Plot, PlotAxis, Verdict};
use crate::run_view::RunView;

/// Minimum number of loads that at least one variant must have for the figure.
const PLACES_MIN: usize = 3;
/// Maximum number of variants in the figure. Readers cannot distinguish more curves at a glance.
const VARIANTS_MAX: usize = 6;

/// Returns the figure of throughput and p99 latency over the load. Returns `None` if no variant has
/// at least three loads, the study has more than six variants, or the points have no common axis.
pub fn figure(view: &RunView, points: &[Point<'_>]) -> Option<LeadFigure> {
    let axis = only_axis(points)?;
    let names = variants(view);
    let places = |index: usize| points.iter().filter(|p| p.variant_index == index).count();
    if (0..names.len()).all(|index| places(index) < PLACES_MIN) || names.len() > VARIANTS_MAX {
        return None;
    }
    let (mut rates, mut latencies) = (knees(view), Vec::new());
    for index in 0..names.len() {
        let paint = ColorRole::Category(index);
        let label = if names.len() > 1 {
            variant_name(names[index], view)
        } else {
            ""
        };
        let of = || points.iter().filter(|p| p.variant_index == index);
        rates.extend(marks(
            of(),
            paint,
            label,
            |point| Some(point.ops_per_s()),
            |point| point.ops_per_s_ci95(),
        ));
        // The latency of a saturated point is the latency of a growing queue. So the plot of
        // latency omits saturated points.
        let p99 = |point: &Point<'_>| {
            let known = point.latency(view, ALL).filter(|_| !point.saturated)?;
            Some(known.p99.least())
        };
        let ci95 = |point: &Point<'_>| point.latency(view, ALL)?.ci95.get("p99").copied();
        latencies.extend(marks(of(), paint, label, p99, ci95));
    }
    Some(LeadFigure {
        title: "Throughput and p99 latency by load".into(),
        what: format!(
            "Left: successful operations per second over {}, with 95 % intervals. Right: p99 \
             latency in milliseconds.",
            axis_title(axis)
        ),
        plots: vec![
            plot(axis, points, ("op/s", false), rates),
            plot(axis, points, ("p99 latency, ms", true), latencies),
        ],
        legend: if points.iter().any(|point| point.verdict == Verdict::Invalid) {
            vec![(ColorRole::Hollow(usize::MAX), "hollow: invalid".into())]
        } else {
            Vec::new()
        },
        ..LeadFigure::default()
    })
}

/// Returns a plot over the load, with a tick for each load of the sweep. `y` is the title of the
/// vertical axis, which is logarithmic if `is_log` is true.
fn plot(axis: &str, points: &[Point<'_>], (y, is_log): (&str, bool), marks: Vec<LeadMark>) -> Plot {
    let value = analysis::procedure::Point::value;
    let mut ticks: Vec<f64> = points.iter().filter_map(|point| point.at).map(value).collect();
    ticks.sort_by(f64::total_cmp);
    ticks.dedup();
    Plot::Curve(CurvePlot {
        x: PlotAxis {
            title: axis_title(axis).into(),
            scale: AxisScale::Logarithmic,
            ticks,
        },
        y: PlotAxis {
            title: y.into(),
            scale: AxisScale::log_or_zero(is_log),
            ..PlotAxis::default()
        },
        marks,
        ..CurvePlot::default()
    })
}

fn axis_title(axis: &str) -> &str {
    if axis == "threads" {
        "threads (operations in flight)"
    } else {
        "op/s offered"
    }
}

/// Returns the marks of one variant: its points, and a line through them. Invalid points are
/// hollow, and the line skips them. If all points of the variant are invalid, a dashed line
/// connects them.
fn marks<'p, 'a: 'p>(
    points: impl Iterator<Item = &'p Point<'a>> + Clone,
    paint: ColorRole,
    label: &str,
    value: impl Fn(&Point<'_>) -> Option<f64>,
    ci95: impl Fn(&Point<'_>) -> Option<[f64; 2]>,
) -> Vec<LeadMark> {
    let at = |point: &Point<'_>| point.at.map(analysis::procedure::Point::value);
    let is_used = |point: &Point<'_>| point.verdict != Verdict::Invalid;
    let is_dashed = !points.clone().any(is_used);
    let line = points.clone().filter(|point| is_dashed || is_used(point));
    let line = LeadMark::Line {
        points: line.filter_map(|point| Some((at(point)?, value(point)))).collect(),
        paint,
        is_dashed,
        label: label.to_owned(),
    };
    let dot = |point: &Point<'_>| {
        let y = value(point)?;
        Some(LeadMark::Dot {
            x: at(point)?,
            y,
            ci95: ci95(point),
            paint: match paint {
                ColorRole::Category(index) if !is_used(point) => ColorRole::Hollow(index),
                paint => paint,
            },
            hint: format!("{} at {}", number::rate(y), point.label()),
        })
    };
    std::iter::once(line).chain(points.filter_map(dot)).collect()
}

fn knees(view: &RunView) -> Vec<LeadMark> {
    let names = variants(view);
    let knee = |sweep: &store::record::SweepRecord| {
        let index = names.iter().position(|name| **name == sweep.variant)?;
        Some(LeadMark::Upright {
            x: sweep.knee?.value(),
            label: "knee".into(),
            paint: ColorRole::Category(index),
        })
    };
    view.findings.sweeps.iter().filter_map(knee).collect()
}
