//! Exports the figures of a run as files, for slides and pull requests.
//!
//! The same code draws these figures and the figure at the top of a page. An exported figure has a
//! light background and its legend, and needs no other file.

use crate::merged_points::{ALL, Point, points, variant_name, variants};
use crate::page::{ColorRole, CurvePlot, LeadFigure, LeadMark, Page, Plot, Verdict};
use crate::run_view::RunView;
use crate::sections::lead_figure::{course_of, load_figure};
use crate::svg;
use std::collections::BTreeSet;

/// Minimum number of latencies above a point of a percentile curve.
const ABOVE_MIN: f64 = 10.0;

#[derive(Clone, Debug)]
pub struct FigureFile {
    /// Name of the file without its extension. It consists of letters, digits and `-_.+=`.
    pub name: String,
    pub svg: String,
}

/// Returns the figures of a run: the figure at the top of its page, throughput and p99 by load, and
/// the latency distributions of each variant. Also returns a figure over time for each trial with a
/// time series.
pub fn figures(view: &RunView, page: &Page) -> Vec<FigureFile> {
    let points = points(view);
    let mut all: Vec<(String, LeadFigure)> = Vec::new();
    all.extend(page.headline.lead.clone().map(|figure| ("answer".to_owned(), figure)));
    all.extend(load_figure(view, &points).map(|figure| ("load".to_owned(), figure)));
    for (index, variant) in variants(view).into_iter().enumerate() {
        let name = match variant.name() {
            Some(name) => format!("latency-{}", plain_name(name)),
            None => "latency".to_owned(),
        };
        let of: Vec<&Point<'_>> = points.iter().filter(|p| p.variant_index == index).collect();
        all.extend(distributions(view, &of).map(|figure| (name, figure)));
    }
    for trial in &view.findings.trials {
        let slug = view.plan.trials.iter().find(|planned| planned.index == trial.index);
        let name = slug.map_or_else(|| trial.index.to_string(), |planned| planned.slug.clone());
        let figure = course_of(view, trial).filter(is_course).map(|figure| LeadFigure {
            title: format!("{} ({name})", figure.title),
            ..figure
        });
        all.extend(figure.map(|figure| (format!("course-{name}"), figure)));
    }
    let mut used = BTreeSet::new();
    let file = |(name, figure): (String, LeadFigure)| FigureFile {
        name: unused_name(name, &mut used),
        svg: svg::plain_file(&figure),
    };
    all.into_iter().map(file).collect()
}

/// Returns `name`, or `name` with a number if it is in `used`. Adds the returned name to `used`.
fn unused_name(name: String, used: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut candidates = std::iter::once(name.clone()).chain(numbered);
    candidates.find(|one| used.insert(one.clone())).expect("numbers do not end")
}

/// Returns true if any line of the figure has at least two points.
fn is_course(figure: &LeadFigure) -> bool {
    let has_line = |plot: &Plot| match plot {
        Plot::Curve(plot) => plot
            .marks
            .iter()
            .any(|mark| matches!(mark, LeadMark::Line { points, .. } if points.len() > 1)),
        Plot::Rows(_) => false,
    };
    figure.plots.iter().any(has_line)
}

/// Replaces the characters of a variant's name that a file name must not contain by `_`.
fn plain_name(name: &str) -> String {
    let plain = |c: char| {
        if c.is_alphanumeric() || "-_.+=".contains(c) {
            c
        } else {
            '_'
        }
    };
    name.chars().map(plain).collect()
}

fn distributions(view: &RunView, points: &[&Point<'_>]) -> Option<LeadFigure> {
    let usable = points.iter().filter(|point| point.verdict != Verdict::Invalid);
    let (mut marks, mut legend) = (Vec::new(), Vec::new());
    for (index, point) in usable.enumerate() {
        let Some(found) = point.curves(view, ALL) else {
            continue;
        };
        let count = found.latency.quantiles.count as f64;
        let values = found.latency.values.iter().map(|(q, ms)| (1.0 / (1.0 - q), *ms));
        let shown = values.filter(|(x, ms)| *x <= count / ABOVE_MIN && *ms > 0.0);
        marks.push(LeadMark::Line {
            points: shown.map(|(x, ms)| (x, Some(ms))).collect(),
            paint: ColorRole::Category(index),
            is_dashed: false,
            label: String::new(),
        });
        legend.push((ColorRole::Category(index), point.label()));
    }
    let first = points.first()?;
    (!marks.is_empty()).then(|| LeadFigure {
        title: format!("Latency of {}", variant_name(first.variant, view)),
        what: "Latency from the intended start, by percentile.".into(),
        plots: vec![Plot::Curve(CurvePlot::for_percentiles(marks))],
        legend,
        ..LeadFigure::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_whose_plain_names_are_equal_have_two_files() {
        let mut used = BTreeSet::new();
        let names = ["a b", "a/b", "a_b"].map(|name| unused_name(plain_name(name), &mut used));
        assert_eq!(names, ["a_b", "a_b-2", "a_b-3"]);
    }
}
