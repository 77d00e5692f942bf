//! Plots a search, with the percentile over the load, the limit of the percentile, and the result.

use crate::merged_points::{axis_value, variant_name, variants};
use crate::number;
use crate::page::{
    AxisScale, ColorRole, CurvePlot, LeadFigure, LeadMark, Plot, PlotAxis, RowsPlot, ValueRow,
};
use crate::run_view::RunView;
use crate::sections::search::{block_of, result_color};
use analysis::procedure::Point;
use measure::Known;
use store::record::{SearchOutcome, SearchRangeRecord, SearchRecord, SearchStepRecord};

/// Maximum number of variants whose steps are drawn side by side.
const SEARCHES_MAX: usize = 2;
const ROWS_MAX: usize = 10;

/// Returns the figure of the searches. Returns `None` if the run has no searches, or if no trial
/// can be drawn.
pub(super) fn figure(view: &RunView) -> Option<LeadFigure> {
    let searches = &view.findings.searches;
    let first = searches.first()?;
    let by_variant = |at: usize| searches[..at].iter().all(|s| s.variant != searches[at].variant);
    let firsts: Vec<usize> = (0..searches.len()).filter(|at| by_variant(*at)).collect();
    let left_out = firsts.len().saturating_sub(SEARCHES_MAX);
    if left_out > 0
        && let Some(figure) = many_searches_figure(view, &firsts)
    {
        return Some(figure);
    }
    let shown = firsts.iter().take(SEARCHES_MAX);
    let plots: Vec<Plot> = shown.filter_map(|at| plot(view, &searches[*at])).collect();
    if plots.is_empty() {
        return None;
    }
    let more = match left_out {
        0 => String::new(),
        left_out => format!(" ({left_out} more below)"),
    };
    let is_band = first.within_ms.iter().all(Option::is_some);
    Some(LeadFigure {
        title: format!("Every trial of the search for {}{more}", first.goal),
        what: searches.iter().map(|search| search.words.clone()).collect::<Vec<_>>().join(" "),
        plots,
        legend: legend(searches, is_band),
        ..LeadFigure::default()
    })
}

fn legend(searches: &[SearchRecord], is_band: bool) -> Vec<(ColorRole, String)> {
    let meanings = if is_band {
        [
            (ColorRole::Good, "between the limits"),
            (
                ColorRole::GoodHollow,
                "between the limits despite other programs",
            ),
            (ColorRole::Bad, "not between the limits"),
            (ColorRole::Muted, "no answer"),
        ]
    } else {
        [
            (ColorRole::Good, "within the limit"),
            (
                ColorRole::GoodHollow,
                "within the limit despite other programs",
            ),
            (ColorRole::Bad, "beyond the limit"),
            (ColorRole::Muted, "no answer"),
        ]
    };
    let is_drawn = |paint| {
        let mut steps = searches.iter().flat_map(|search| &search.steps);
        steps.any(|step| step.latency_ms.is_some() && result_color(step.result) == paint)
    };
    let drawn = meanings.into_iter().filter(|(paint, _)| is_drawn(*paint));
    drawn.map(|(paint, meaning)| (paint, meaning.to_owned())).collect()
}

/// Plots the results of many variants. Returns `None` if no variant has a result.
fn many_searches_figure(view: &RunView, firsts: &[usize]) -> Option<LeadFigure> {
    let searches = &view.findings.searches;
    let names = variants(view);
    let row = |at: &usize| {
        let of_variant = || searches.iter().filter(|s| s.variant == searches[*at].variant);
        let rates: Vec<Known> = of_variant().filter_map(SearchRecord::found_ops_per_s).collect();
        let values = || rates.iter().map(|rate| rate.least());
        let ends = [values().reduce(f64::min)?, values().reduce(f64::max)?];
        let sign = if rates.iter().any(|rate| rate.is_at_least()) {
            "≥ "
        } else {
            ""
        };
        Some(ValueRow {
            label: variant_name(&searches[*at].variant, view).to_owned(),
            value: Some(values().sum::<f64>() / rates.len() as f64),
            ci95: None,
            other: (ends[0] < ends[1]).then_some(ends),
            text: format!("{sign}{} op/s", number::range(ends)),
            paint: ColorRole::Category(
                names.iter().position(|n| **n == searches[*at].variant).unwrap_or(0),
            ),
        })
    };
    let rows: Vec<ValueRow> = firsts.iter().filter_map(row).take(ROWS_MAX).collect();
    let found = rows.iter().map(|row| format!("{}: {}", row.label, row.text));
    let what = found.collect::<Vec<_>>().join("; ");
    let goal = &searches.first()?.goal;
    (!rows.is_empty()).then(|| LeadFigure {
        title: format!("Highest load of each variant with {goal}"),
        what,
        plots: vec![Plot::Rows(RowsPlot {
            title: "op/s; a bar spans the results of several searches".into(),
            rows,
            ..RowsPlot::default()
        })],
        ..LeadFigure::default()
    })
}

fn plot(view: &RunView, first: &SearchRecord) -> Option<Plot> {
    let of_variant = || view.findings.searches.iter().filter(|s| s.variant == first.variant);
    let steps = || of_variant().flat_map(|search| &search.steps);
    let mut tried: Vec<f64> = steps().filter_map(|step| Some(step.point?.value())).collect();
    tried.sort_by(f64::total_cmp);
    tried.dedup();
    let is_rate = steps().any(|step| matches!(step.point, Some(Point::Rate(_))));
    let mut marks: Vec<LeadMark> = found(&of_variant().collect::<Vec<_>>());
    let limits = first.within_ms.iter().flatten();
    marks.extend(limits.map(|ms| LeadMark::Across {
        y: *ms,
        label: format!("{} ms", number::ms(*ms)),
        paint: ColorRole::Bad,
    }));
    let dots: Vec<LeadMark> = steps().filter_map(dot).collect();
    if dots.is_empty() {
        return None;
    }
    marks.extend(dots);
    let name = if view.plan.trials.iter().any(|trial| trial.variant != first.variant) {
        format!("{}: ", variant_name(&first.variant, view))
    } else {
        String::new()
    };
    Some(Plot::Curve(CurvePlot {
        x: PlotAxis {
            title: if is_rate { "op/s" } else { "threads" }.into(),
            scale: AxisScale::Logarithmic,
            ticks: tried,
        },
        y: PlotAxis {
            title: format!("{name}{} latency, ms", first.percentile.words()),
            scale: AxisScale::Logarithmic,
            ..PlotAxis::default()
        },
        marks,
        ..CurvePlot::default()
    }))
}

/// Marks the results of searches. Each range gets a separate mark, because the ranges of several
/// blocks differ. If no search found a range, one mark covers the loads of all searches.
fn found(searches: &[&SearchRecord]) -> Vec<LeadMark> {
    let ranges: Vec<LeadMark> = searches.iter().filter_map(|one| range(one, searches)).collect();
    if ranges.is_empty() {
        found_loads(searches).into_iter().collect()
    } else {
        ranges
    }
}

/// Marks the range of one of `searches`. If the run has several blocks, the name of the mark states
/// the block.
fn range(search: &SearchRecord, searches: &[&SearchRecord]) -> Option<LeadMark> {
    let SearchRangeRecord {
        at_least, below, ..
    } = search.range?;
    let [from, to] = [at_least?, below?].map(Point::value);
    let block = block_of(searches.iter().copied(), search);
    let block = block.map(|block| format!("{block}: ")).unwrap_or_default();
    Some(LeadMark::Band {
        from,
        to,
        label: format!("{block}between {} and {}", axis_value(from), axis_value(to)),
        paint: ColorRole::Good,
    })
}

/// Marks the load that one search found, or the range of the loads that several searches found.
fn found_loads(searches: &[&SearchRecord]) -> Option<LeadMark> {
    let is_found = |search: &&&SearchRecord| {
        matches!(search.outcome, SearchOutcome::Held | SearchOutcome::Found)
    };
    let at: Vec<f64> =
        searches.iter().filter(is_found).filter_map(|s| Some(s.at?.value())).collect();
    let [low, high] = [
        at.iter().copied().reduce(f64::min)?,
        at.iter().copied().reduce(f64::max)?,
    ];
    Some(LeadMark::Band {
        from: low,
        to: high,
        label: if low < high {
            format!("{} to {}", axis_value(low), axis_value(high))
        } else {
            axis_value(low)
        },
        paint: ColorRole::Good,
    })
}

fn dot(step: &SearchStepRecord) -> Option<LeadMark> {
    let (x, y) = (step.point?.value(), step.latency_ms?);
    Some(LeadMark::Dot {
        x,
        y,
        ci95: step.ci95_ms,
        paint: result_color(step.result),
        hint: format!(
            "trial {}: {} ms at {}",
            step.trial,
            number::ms(y),
            axis_value(x)
        ),
    })
}
