//! Plots one trial over time. The trial is an endurance trial with its changes of level, or the
//! first usable trial.

use crate::merged_points::variant_index;
use crate::page::{AxisScale, ColorRole, CurvePlot, LeadFigure, LeadMark, Plot, PlotAxis};
use crate::run_view::{RunView, TrialView};
use store::record::TrialFinding;

/// Maximum number of bins on the time axis of the first screen.
const PLACES_MAX: usize = 240;
/// Minimum length of an interval for which a rate is drawn. The last interval of a window may be
/// too short.
pub(in crate::sections) const SECONDS_MIN: f64 = 0.5;
/// Kind of the interval lines that describe the client and not operations.
const CLIENT: &str = "client";

pub(super) fn endurance_figure(view: &RunView) -> Option<LeadFigure> {
    let long = view.findings.trials.iter().find(|trial| trial.endurance.is_some())?;
    let found = long.endurance.as_ref()?;
    let begins = window_of(long)[0];
    let changes = |of: &str| {
        let of = of.to_owned();
        let mine = found.changes.iter().filter(move |change| change.of == of);
        mine.map(move |change| LeadMark::Upright {
            x: begins + change.at_s,
            label: change.coincides.clone().unwrap_or_else(|| "change".into()),
            paint: ColorRole::Warn,
        })
    };
    let mut figure = trial_figure(view, long)?;
    for (plot, of) in figure.plots.iter_mut().zip(["ops_per_s", "latency_ms.p99"]) {
        if let Plot::Curve(plot) = plot {
            plot.marks.extend(changes(of));
        }
    }
    figure.title = "Throughput and p99 latency over the hours, with changes of level".into();
    Some(figure)
}

/// Plots throughput and p99 of the first usable trial, or of the first trial if none is usable.
pub(super) fn first_trial_figure(view: &RunView) -> Option<LeadFigure> {
    let trials = &view.findings.trials;
    let used = trials.iter().find(|t| t.verdict != store::record::Verdict::Invalid);
    trial_figure(view, used.or(trials.first())?)
}

/// Plots throughput and p99 of a trial over its window. Returns `None` without intervals.
pub fn trial_figure(view: &RunView, finding: &TrialFinding) -> Option<LeadFigure> {
    let trial = view.trials.iter().find(|trial| trial.index == finding.index)?;
    let [from, to] = window_of(finding);
    let rates = rates(trial, [from, to]);
    if rates.is_empty() {
        return None;
    }
    let curve = |y: &str, is_log: bool, points: Vec<(f64, Option<f64>)>| {
        Plot::Curve(CurvePlot {
            x: PlotAxis {
                title: "seconds since the start line".into(),
                ..PlotAxis::default()
            },
            y: PlotAxis {
                title: y.into(),
                scale: AxisScale::log_or_zero(is_log),
                ..PlotAxis::default()
            },
            marks: vec![LeadMark::Line {
                points,
                paint: ColorRole::Category(variant_index(view, &finding.variant)),
                is_dashed: false,
                label: String::new(),
            }],
            ..CurvePlot::default()
        })
    };
    Some(LeadFigure {
        title: "Throughput and p99 latency over the measured window".into(),
        what: "Left: operations per second. Right: p99 latency in milliseconds, of each second \
               separately."
            .into(),
        plots: vec![
            curve("op/s", false, rates),
            curve("p99 latency, ms", true, latencies(trial, [from, to])),
        ],
        ..LeadFigure::default()
    })
}

/// Returns the measured window of a trial, in seconds since the start line of the trial. If the
/// window is not recorded, returns the whole trial.
pub(in crate::sections) fn window_of(finding: &TrialFinding) -> [f64; 2] {
    let window = finding.phases.iter().find(|phase| phase.name == "measure");
    window.map_or([0.0, f64::INFINITY], |phase| [phase.from_s, phase.to_s])
}

/// Returns the rate of all kinds together, in operations per second. Neighbouring intervals are
/// joined, so that at most [`PLACES_MAX`] values remain.
pub(super) fn rates(trial: &TrialView, [from, to]: [f64; 2]) -> Vec<(f64, Option<f64>)> {
    let seconds = seconds(trial, [from, to], |record| {
        record.ok as f64 / record.seconds.max(1e-9)
    });
    joined(&seconds, |values| {
        values.iter().sum::<f64>() / values.len() as f64
    })
}

/// Returns the p99 of the slowest kind, or the worst p99 of joined intervals. The value is `None`
/// for an interval without any response, because a line through this interval would show invented
/// values.
pub(super) fn latencies(trial: &TrialView, window: [f64; 2]) -> Vec<(f64, Option<f64>)> {
    let mut worst: Vec<(f64, Option<f64>)> = Vec::new();
    for record in in_window(trial, window) {
        let latency = record.latency_ms.as_ref().filter(|latency| latency.count > 0);
        let p99 = latency.map(|latency| latency.p99.least());
        match worst.last_mut() {
            Some((at, known)) if *at == record.t_s => *known = larger(*known, p99),
            _ => worst.push((record.t_s, p99)),
        }
    }
    joined(&worst, |values| values.iter().copied().fold(0.0, f64::max))
}

fn larger(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::max)
}

fn in_window(
    trial: &TrialView,
    [from, to]: [f64; 2],
) -> impl Iterator<Item = &store::record::IntervalRecord> {
    let is_inside = move |t_s: f64| t_s >= from && t_s < to;
    trial
        .intervals
        .iter()
        .filter(move |one| one.kind != CLIENT && one.seconds >= SECONDS_MIN && is_inside(one.t_s))
}

/// Returns, for each interval, the sum of `value` over all kinds of operations.
fn seconds(
    trial: &TrialView,
    window: [f64; 2],
    value: impl Fn(&store::record::IntervalRecord) -> f64,
) -> Vec<(f64, Option<f64>)> {
    let mut sums: Vec<(f64, f64)> = Vec::new();
    for record in in_window(trial, window) {
        match sums.last_mut() {
            Some((at, sum)) if *at == record.t_s => *sum += value(record),
            _ => sums.push((record.t_s, value(record))),
        }
    }
    sums.into_iter().map(|(at, sum)| (at, Some(sum))).collect()
}

/// Joins neighbouring values, so that at most [`PLACES_MAX`] values remain. The result is `None`
/// where all joined values are unknown.
fn joined(values: &[(f64, Option<f64>)], join: impl Fn(&[f64]) -> f64) -> Vec<(f64, Option<f64>)> {
    let step = values.len().div_ceil(PLACES_MAX).max(1);
    let of = |chunk: &[(f64, Option<f64>)]| {
        let known: Vec<f64> = chunk.iter().filter_map(|(_, value)| *value).collect();
        (chunk[0].0, (!known.is_empty()).then(|| join(&known)))
    };
    values.chunks(step).map(of).collect()
}
