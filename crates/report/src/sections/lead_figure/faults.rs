//! Plots throughput, p99 or both in a period around each fault, with the outage shaded. States the
//! effect of the fault, and any loss of acknowledged data.

use super::{fault_words, trial_over_time};
use crate::merged_points::{variant_index, variant_name, variants};
use crate::page::{
    AxisScale, Band, ColorRole, CurvePlot, LeadFigure, LeadMark, Plot, PlotAxis, Tone,
};
use crate::run_view::RunView;
use crate::sections::faults::fault_bands;
use analysis::procedure::Point;
use store::record::FaultRecord;

const STRIPS_MAX: usize = 4;
/// Time shown before the injection and after the return to normal, as a multiple of the length of
/// the outage.
const AROUND: f64 = 0.6;
/// Minimum length of the time shown before the injection and after the return to normal, in
/// seconds.
const AROUND_MIN_S: f64 = 15.0;

/// Returns the figure of the first [`STRIPS_MAX`] injected faults. Returns `None` if the run
/// injected no faults.
pub(super) fn figure(view: &RunView) -> Option<LeadFigure> {
    let faults: Vec<&FaultRecord> =
        view.findings.faults.iter().filter(|fault| fault.injected_s.is_some()).collect();
    let shown = faults.iter().take(STRIPS_MAX);
    let has_both = faults.len() * 2 <= STRIPS_MAX;
    let plots: Vec<Plot> =
        shown.flat_map(|fault| strips(view, fault, has_both)).flatten().collect();
    if plots.is_empty() {
        return None;
    }
    let more = match faults.len().saturating_sub(STRIPS_MAX) {
        0 => String::new(),
        left_out => format!(" ({left_out} more below)"),
    };
    let what = |fault: &&FaultRecord| {
        format!(
            "{}. {}",
            fault_words::title(fault),
            fault_words::effect(fault, is_at_rate(view, fault))
        )
    };
    let is_any_at_rate = faults.iter().any(|fault| is_at_rate(view, fault));
    let title = match (is_any_at_rate, has_both) {
        (true, true) => "Throughput and p99 around each fault, in the measured window",
        (true, false) => "p99 around each fault, in the measured window",
        (false, _) => "Throughput around each fault, in the measured window",
    };
    let legend = [
        (ColorRole::Bad, "broken"),
        (ColorRole::Warn, "intact, but not yet back to normal"),
    ];
    let is_drawn = |(color, _): &(ColorRole, &str)| plots.iter().any(|plot| has_band(plot, *color));
    let legend = legend.into_iter().filter(is_drawn);
    Some(LeadFigure {
        title: format!("{title}{more}"),
        what: faults.iter().map(what).collect::<Vec<_>>().join(" "),
        legend: legend.map(|(color, words)| (color, words.into())).collect(),
        plots,
        says: fault_words::losses(view),
    })
}

fn has_band(plot: &Plot, color: ColorRole) -> bool {
    let Plot::Curve(plot) = plot else {
        return false;
    };
    let is_of_color =
        |mark: &LeadMark| matches!(mark, LeadMark::Band { paint, .. } if *paint == color);
    plot.marks.iter().any(is_of_color)
}

fn is_at_rate(view: &RunView, fault: &FaultRecord) -> bool {
    let mut trials = view.findings.trials.iter();
    let trial = trials.find(|trial| Some(trial.index) == fault.trial);
    trial.and_then(|trial| trial.point).is_some_and(Point::is_rate)
}

/// Returns the panels of a fault. At a rate, a panel shows p99, because a fault then increases
/// latency. A second panel shows throughput if the screen has space. In a closed loop, a panel
/// shows throughput.
fn strips(view: &RunView, fault: &FaultRecord, has_both: bool) -> [Option<Plot>; 2] {
    match (is_at_rate(view, fault), has_both) {
        (true, true) => [
            strip(view, fault, Series::Throughput, true),
            strip(view, fault, Series::P99, false),
        ],
        (true, false) => [strip(view, fault, Series::P99, true), None],
        (false, _) => [strip(view, fault, Series::Throughput, true), None],
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Series {
    Throughput,
    P99,
}

/// Returns one panel with the measured window around a fault. No panel shows the read-back of rows
/// after the window, because it is not user load.
fn strip(view: &RunView, fault: &FaultRecord, of: Series, is_first: bool) -> Option<Plot> {
    let trial = view.trials.iter().find(|trial| Some(trial.index) == fault.trial)?;
    let finding = view.findings.trials.iter().find(|one| Some(one.index) == fault.trial)?;
    let [begin, end] = trial_over_time::window_of(finding);
    let injected = fault.injected_s?;
    let inside = |at: f64| at.clamp(begin, end);
    let bands = fault_bands(fault);
    let last = bands.iter().map(|band| band.to).fold(injected, f64::max);
    let around = ((inside(last) - injected) * AROUND).max(AROUND_MIN_S);
    let shown = [inside(injected - around), inside(last + around)];
    let points = match of {
        Series::Throughput => trial_over_time::rates(trial, shown),
        Series::P99 => trial_over_time::latencies(trial, shown),
    };
    if points.iter().all(|(_, value)| value.is_none()) {
        return None;
    }
    let band = |band: &Band| LeadMark::Band {
        from: inside(band.from),
        to: inside(band.to),
        label: String::new(),
        paint: if band.tone == Tone::Bad {
            ColorRole::Bad
        } else {
            ColorRole::Warn
        },
    };
    let mut marks: Vec<LeadMark> = bands.iter().filter(|one| one.from < end).map(band).collect();
    marks.push(LeadMark::Line {
        points,
        paint: ColorRole::Category(variant_index(view, &finding.variant)),
        is_dashed: false,
        label: String::new(),
    });
    let found = fault.recovery.as_ref();
    let before = found.and_then(|found| match of {
        Series::Throughput => found.ops_per_s,
        Series::P99 => found.p99_ms,
    });
    marks.extend(before.map(|before| LeadMark::Across {
        y: before.middle,
        label: "median second before".into(),
        paint: ColorRole::Muted,
    }));
    let unit = match of {
        Series::Throughput => "op/s",
        Series::P99 => "p99, ms",
    };
    // With several variants, the title names the variant whose trial had the fault.
    let variant = if variants(view).len() > 1 {
        format!(" of {}", variant_name(&finding.variant, view))
    } else {
        String::new()
    };
    Some(Plot::Curve(CurvePlot {
        x: PlotAxis {
            title: "seconds since the start line".into(),
            ..PlotAxis::default()
        },
        y: PlotAxis {
            title: format!("{unit}{variant}: {}", fault_words::title(fault)),
            scale: AxisScale::log_or_zero(of == Series::P99),
            ..PlotAxis::default()
        },
        says: if is_first {
            fault_words::effect(fault, is_at_rate(view, fault))
        } else {
            String::new()
        },
        marks,
    }))
}
