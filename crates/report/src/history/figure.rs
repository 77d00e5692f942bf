//! Draws the figure at the top of the page of a history. The figure shows the value of each run at
//! a point, and the changes of this value.

use super::page::{self, name};
use super::{Change, ChangeKind, History, Line};
use crate::page::{
    AxisScale, ColorRole, CurvePlot, Headline, LeadFigure, LeadMark, Page, Plot, PlotAxis,
};

const PLOTS_MAX: usize = 2;

pub fn history(history: &History) -> Page {
    let page = page::history(history);
    let lead = figure(history);
    Page {
        headline: Headline {
            lead,
            ..page.headline
        },
        ..page
    }
}

/// Returns the figure of the lines with values of at least two runs. `None` if no line has such
/// values.
fn figure(history: &History) -> Option<LeadFigure> {
    let lines = lines(history);
    if lines.is_empty() {
        return None;
    }
    let first = history.runs.first()?;
    let last = history.runs.last()?;
    let what: Vec<String> = lines.iter().map(|line| name(history, line)).collect();
    Some(LeadFigure {
        title: format!("Run after run, from {} to {}", first.stamp, last.stamp),
        what: format!(
            "{}: a point for each run with its 95 % interval; dashed, the mean between changes.",
            what.join("; ")
        ),
        legend: legend(&lines),
        plots: lines.into_iter().map(|line| Plot::Curve(plot(history, line))).collect(),
        ..LeadFigure::default()
    })
}

/// Selects at most [`PLOTS_MAX`] lines with at least two values. The line with the latest confirmed
/// change determines the variant and the point. If any line shows throughput or p99 latency, omits
/// the other metrics.
fn lines(history: &History) -> Vec<&Line> {
    let mut lines: Vec<&Line> = history.lines.iter().filter(|line| line.values.len() > 1).collect();
    let changed = |line: &&Line| {
        let told = line.changes.iter().filter(|change| change.kind != ChangeKind::Unconfirmed);
        std::cmp::Reverse(told.map(|change| change.run).max())
    };
    lines.sort_by_key(changed);
    // The second plot shows the other metric of the same point, which is more useful than a metric
    // of another point.
    if let Some(first) = lines.first().copied() {
        let is_other = |line: &&Line| line.variant != first.variant || line.point != first.point;
        lines.sort_by_key(is_other);
    }
    let metrics = |line: &&Line| matches!(line.metric.key, "ops_per_s" | "p99_ms");
    let mut known: Vec<&Line> = lines.iter().copied().filter(metrics).collect();
    if known.is_empty() {
        known = lines;
    }
    known.truncate(PLOTS_MAX);
    known
}

fn plot(history: &History, line: &Line) -> CurvePlot {
    let number = |run: usize| (run + 1) as f64;
    let mut marks: Vec<LeadMark> = line.changes.iter().map(upright).collect();
    if !line.changes.is_empty() {
        marks.push(levels(line));
    }
    let values = line.values.iter().zip(&line.ci95);
    marks.push(LeadMark::Line {
        points: line.values.iter().map(|(run, value)| (number(*run), Some(*value))).collect(),
        paint: ColorRole::Category(0),
        is_dashed: false,
        label: String::new(),
    });
    marks.extend(values.map(|((run, value), ci95)| LeadMark::Dot {
        x: number(*run),
        y: *value,
        ci95: *ci95,
        paint: ColorRole::Category(0),
        hint: history.runs[*run].stamp.clone(),
    }));
    CurvePlot {
        x: PlotAxis {
            title: "run (1 is the oldest)".into(),
            ticks: ticks(history.runs.len()),
            ..PlotAxis::default()
        },
        y: PlotAxis {
            title: format!("{}, {}", name(history, line), line.metric.unit),
            scale: AxisScale::FromZero,
            ..PlotAxis::default()
        },
        marks,
        ..CurvePlot::default()
    }
}

/// Returns ticks at the numbers of runs. At most 10 ticks fit on the axis.
fn ticks(runs: usize) -> Vec<f64> {
    let step = runs.div_ceil(10).max(1);
    (1..=runs).step_by(step).map(|run| run as f64).collect()
}

fn upright(change: &Change) -> LeadMark {
    LeadMark::Upright {
        x: (change.run + 1) as f64 - 0.5,
        label: change.kind.name().to_owned(),
        paint: paint(change.kind),
    }
}

fn paint(kind: ChangeKind) -> ColorRole {
    match kind {
        ChangeKind::Worse => ColorRole::Bad,
        ChangeKind::Better => ColorRole::Good,
        ChangeKind::Unconfirmed | ChangeKind::OtherMachine => ColorRole::Warn,
    }
}

/// Draws the mean of the values between two changes as a horizontal, dashed line.
fn levels(line: &Line) -> LeadMark {
    let mut points = Vec::new();
    let first = line.changes.first().map(|change| change.shift.before);
    for (at, (run, _)) in line.values.iter().enumerate() {
        let last = line.changes.iter().rfind(|change| change.shift.at <= at);
        if last.is_some_and(|change| change.shift.at == at) {
            // A value of `None` leaves a gap between two levels.
            points.push(((run + 1) as f64 - 0.5, None));
        }
        let level = last.map(|change| change.shift.after).or(first);
        points.push(((run + 1) as f64, level));
    }
    LeadMark::Line {
        points,
        paint: ColorRole::Text,
        is_dashed: true,
        label: String::new(),
    }
}

fn legend(lines: &[&Line]) -> Vec<(ColorRole, String)> {
    let has = |kind: ChangeKind| lines.iter().flat_map(|l| &l.changes).any(|c| c.kind == kind);
    let mut keys = vec![(ColorRole::Category(0), "a run".to_owned())];
    let kinds = ChangeKind::ALL.into_iter().filter(|kind| has(*kind));
    keys.extend(kinds.map(|kind| (paint(kind), kind.name().to_owned())));
    keys
}
