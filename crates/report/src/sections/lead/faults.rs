//! Faults: throughput over the time of each, the outage shaded, and what it cost.

use super::course;
use crate::number;
use crate::page::{CurvePlot, LeadFigure, LeadMark, Paint, Plot, PlotAxis};
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
    let left_out = faults.len().saturating_sub(STRIPS_MAX);
    let more = if left_out > 0 {
        format!(" ({left_out} more below)")
    } else {
        String::new()
    };
    Some(LeadFigure {
        title: format!("Throughput around each fault{more}"),
        what: faults.iter().map(|one| words(one)).collect::<Vec<_>>().join(" "),
        plots,
        legend: vec![
            (Paint::Bad, "broken".into()),
            (Paint::Warn, "until throughput was as before".into()),
        ],
    })
}

fn strip(view: &RunView, fault: &FaultRecord) -> Option<Plot> {
    let trial = view.trials.iter().find(|trial| Some(trial.index) == fault.trial)?;
    let injected = fault.injected_s?;
    let whole = fault.whole_s.or(fault.healing_s).unwrap_or(injected);
    let back = whole + fault.recover_s.unwrap_or(0.0).max(0.0);
    let around = ((back - injected) * AROUND).max(AROUND_MIN_S);
    let shown = [injected - around, back + around];
    let rates = course::rates(trial, shown);
    if rates.is_empty() {
        return None;
    }
    let mut marks = vec![LeadMark::Band {
        from: injected,
        to: whole,
        label: String::new(),
        paint: Paint::Bad,
    }];
    if back > whole {
        marks.push(LeadMark::Band {
            from: whole,
            to: back,
            label: String::new(),
            paint: Paint::Warn,
        });
    }
    marks.push(LeadMark::Line {
        points: rates,
        paint: Paint::Category(0),
        is_dashed: false,
        label: String::new(),
    });
    let before = fault.recovery.as_ref().and_then(|recovery| recovery.ops_per_s);
    marks.extend(before.map(|before| LeadMark::Across {
        y: before.middle,
        label: String::new(),
        paint: Paint::Muted,
    }));
    Some(Plot::Curve(CurvePlot {
        x: PlotAxis {
            title: "seconds since the start line".into(),
            ..PlotAxis::default()
        },
        y: PlotAxis {
            title: words(fault),
            from_zero: true,
            ..PlotAxis::default()
        },
        marks,
    }))
}

/// `node-kill of node2: 50 % less for 13 s, 3 errors`.
fn words(fault: &FaultRecord) -> String {
    let mut parts = Vec::new();
    let recovery = fault.recovery.as_ref();
    if let Some(dip) = recovery.and_then(|recovery| recovery.dip).filter(|dip| dip.depth > 0.0) {
        parts.push(format!(
            "{:.0} % less, for {}",
            dip.depth * 100.0,
            number::duration(dip.seconds)
        ));
    } else {
        parts.push("throughput held".to_owned());
    }
    let failed = recovery.map_or(0, failed);
    parts.push(match failed {
        0 => "no errors".to_owned(),
        count => measure::number::counted(count, "error"),
    });
    format!("{}: {}", fault.name(), parts.join(", "))
}

/// Operations that failed from the injection on.
fn failed(recovery: &store::record::RecoveryRecord) -> u64 {
    let stretches = [&recovery.during, &recovery.after];
    stretches
        .into_iter()
        .flatten()
        .map(|stretch| {
            stretch
                .errors
                .values()
                .flat_map(std::collections::BTreeMap::values)
                .sum::<u64>()
        })
        .sum()
}
