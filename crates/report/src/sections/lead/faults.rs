//! Faults: throughput over the time of each, the outage shaded, what it cost, and whether anything
//! that was acknowledged was lost.

use super::{course, fault_words};
use crate::page::{CurvePlot, LeadFigure, LeadMark, Paint, Plot, PlotAxis, Tone};
use crate::sections::faults::of_fault;
use crate::view::RunView;
use store::record::FaultRecord;

/// Strips that a first screen has room for.
const STRIPS_MAX: usize = 4;
/// What is shown before the injection and after all is as before, in lengths of the outage.
const AROUND: f64 = 0.6;
/// And at least so many seconds.
const AROUND_MIN_S: f64 = 15.0;

/// The figure; none of a run in which nothing was broken.
pub(super) fn figure(view: &RunView) -> Option<LeadFigure> {
    let faults: Vec<&FaultRecord> =
        view.findings.faults.iter().filter(|fault| fault.injected_s.is_some()).collect();
    let plots: Vec<Plot> =
        faults.iter().take(STRIPS_MAX).filter_map(|one| strip(view, one)).collect();
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
            fault_words::effect(fault)
        )
    };
    Some(LeadFigure {
        title: format!("Throughput around each fault, op/s{more}"),
        what: faults.iter().map(what).collect::<Vec<_>>().join(" "),
        plots,
        legend: vec![
            (Paint::Bad, "broken".into()),
            (Paint::Warn, "whole, and not yet as before".into()),
        ],
        says: fault_words::losses(view),
    })
}

fn strip(view: &RunView, fault: &FaultRecord) -> Option<Plot> {
    let trial = view.trials.iter().find(|trial| Some(trial.index) == fault.trial)?;
    let injected = fault.injected_s?;
    let bands = of_fault(fault);
    let end = bands.iter().map(|band| band.to).fold(injected, f64::max);
    let around = ((end - injected) * AROUND).max(AROUND_MIN_S);
    let rates = course::rates(trial, [injected - around, end + around]);
    if rates.is_empty() {
        return None;
    }
    let mut marks: Vec<LeadMark> = bands
        .iter()
        .map(|band| LeadMark::Band {
            from: band.from,
            to: band.to,
            label: String::new(),
            paint: if band.tone == Tone::Bad {
                Paint::Bad
            } else {
                Paint::Warn
            },
        })
        .collect();
    marks.push(LeadMark::Line {
        points: rates,
        paint: Paint::Category(0),
        is_dashed: false,
        label: String::new(),
    });
    let before = fault.recovery.as_ref().and_then(|recovery| recovery.ops_per_s);
    marks.extend(before.map(|before| LeadMark::Across {
        y: before.middle,
        label: "before".into(),
        paint: Paint::Muted,
    }));
    Some(Plot::Curve(CurvePlot {
        x: PlotAxis {
            title: "seconds since the start line".into(),
            ..PlotAxis::default()
        },
        y: PlotAxis {
            title: fault_words::title(fault),
            from_zero: true,
            ..PlotAxis::default()
        },
        says: fault_words::effect(fault),
        marks,
    }))
}
