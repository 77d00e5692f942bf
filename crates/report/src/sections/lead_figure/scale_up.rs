//! Plots the speed-up over the number of units of the machine, next to the ideal speed-up.

use crate::number;
use crate::page::{AxisScale, ColorRole, CurvePlot, LeadFigure, LeadMark, Plot, PlotAxis};
use crate::run_view::RunView;
use std::collections::BTreeSet;
use store::record::{ScalePointRecord, ScaleUpRecord};

pub(super) fn figure(view: &RunView) -> Option<LeadFigure> {
    let arms = &view.findings.scale_ups;
    let first = arms.first()?;
    let points = arms.iter().flat_map(|arm| &arm.points);
    let units: BTreeSet<u32> = points.map(|point| point.units).collect();
    let most = units.last().map_or(1.0, |most| f64::from(*most).max(1.0));
    let mut marks = vec![LeadMark::Line {
        points: vec![(1.0, Some(1.0)), (most, Some(most))],
        paint: ColorRole::Muted,
        is_dashed: true,
        label: "ideal".into(),
    }];
    for (index, arm) in arms.iter().enumerate() {
        marks.extend(arm_marks(arm, ColorRole::Category(index)));
    }
    Some(LeadFigure {
        title: format!("Speed-up by {}", first.unit),
        what: arms.iter().flat_map(|arm| arm.sentences.clone()).collect::<Vec<_>>().join(" "),
        plots: vec![Plot::Curve(CurvePlot {
            x: PlotAxis {
                title: first.unit.clone(),
                ticks: units.into_iter().map(f64::from).collect(),
                ..PlotAxis::default()
            },
            y: PlotAxis {
                title: "times the throughput of one unit (95 %)".into(),
                scale: AxisScale::FromZero,
                ..PlotAxis::default()
            },
            marks,
            ..CurvePlot::default()
        })],
        ..LeadFigure::default()
    })
}

fn arm_marks(arm: &ScaleUpRecord, paint: ColorRole) -> Vec<LeadMark> {
    // All speed-ups are relative to the throughput of one unit, so the record contains no speed-up
    // for one unit. The figure uses 1 instead.
    let speed_up = |point: &ScalePointRecord| match &point.speed_up {
        Some(ratio) => Some((ratio.value, ratio.ci95)),
        None => (point.units == 1 && point.ops_per_s.is_some()).then_some((1.0, None)),
    };
    let line = arm.points.iter().map(|point| {
        (
            f64::from(point.units),
            speed_up(point).map(|(value, _)| value),
        )
    });
    let dot = |point: &ScalePointRecord| {
        let (value, ci95) = speed_up(point)?;
        let ops = point.ops_per_s.map_or_else(|| number::ABSENT.into(), number::rate);
        Some(LeadMark::Dot {
            x: f64::from(point.units),
            y: value,
            ci95,
            paint,
            hint: format!(
                "{} units: {ops} op/s, {} times",
                point.units,
                number::ratio(value)
            ),
        })
    };
    let line = LeadMark::Line {
        points: line.collect(),
        paint,
        is_dashed: false,
        label: arm.arm.clone().unwrap_or_default(),
    };
    std::iter::once(line).chain(arm.points.iter().filter_map(dot)).collect()
}
