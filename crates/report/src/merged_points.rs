//! Points, which merge all trials of one variant at one position on the axes.
//!
//! A point lists an invalid trial, but does not use its numbers. If all trials of a point are
//! invalid, the point uses them and is itself invalid. Percentiles of several blocks come from
//! merged histograms, and are never averaged.

use crate::number;
use crate::page::{Table, TableBuilder, Verdict};
use crate::run_view::{PointView, RunView};
use analysis::VariantName;
use analysis::autocorrelation;
use analysis::procedure;
use measure::Known;
use std::collections::BTreeMap;
use store::record::{CostComparisonRecord, PointRecord, QuantilesRecord, TrialFinding};

/// Name of the series that merges all kinds of operations.
pub const ALL: &str = "all";

pub struct Point<'a> {
    pub variant: &'a VariantName,
    pub variant_index: usize,
    pub at: Option<procedure::Point>,
    /// Trials of the point, including invalid trials.
    pub trials: Vec<&'a TrialFinding>,
    /// Trials from which the results of the point are computed, as in the findings. If the findings
    /// name no trials, these are the trials that are not invalid or, if there are none, all trials.
    pub used: Vec<&'a TrialFinding>,
    /// Worst verdict of the trials in `used`.
    pub verdict: Verdict,
    /// True if the target did less than the client offered, because it could not do more.
    pub saturated: bool,
}

pub fn variants(view: &RunView) -> Vec<&VariantName> {
    let planned = view.plan.trials.iter().map(|t| &t.variant);
    let found = view.findings.trials.iter().map(|t| &t.variant);
    let mut names = Vec::new();
    for name in planned.chain(found) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns all points that have a finding, ordered by variant as in the plan, and then along the
/// axes.
pub fn points(view: &RunView) -> Vec<Point<'_>> {
    let mut points: Vec<Point<'_>> = Vec::new();
    for trial in &view.findings.trials {
        let known = points.iter_mut().find(|p| *p.variant == trial.variant && p.at == trial.point);
        match known {
            Some(point) => point.trials.push(trial),
            None => points.push(Point {
                variant: &trial.variant,
                variant_index: variant_index(view, &trial.variant),
                at: trial.point,
                trials: vec![trial],
                used: Vec::new(),
                verdict: Verdict::Unknown,
                saturated: is_saturated(view, trial),
            }),
        }
    }
    for point in &mut points {
        let here = |p: &&PointRecord| p.variant == *point.variant && p.point == point.at;
        let record = view.findings.usable_points().find(here);
        point.judge(record.map_or(&[], |record| &record.trials));
    }
    points.sort_by(|a, b| {
        let order = a.variant_index.cmp(&b.variant_index);
        order.then_with(|| compare_places(a.at, b.at))
    });
    points
}

fn is_saturated(view: &RunView, trial: &TrialFinding) -> bool {
    let here = |p: &&PointRecord| p.variant == trial.variant && p.point == trial.point;
    view.findings.usable_points().find(here).is_some_and(|p| p.saturated)
}

/// Compares two points by the names of their axes, and then by their values.
pub fn compare_places(
    a: Option<procedure::Point>,
    b: Option<procedure::Point>,
) -> std::cmp::Ordering {
    let value = |at: Option<procedure::Point>| at.map_or(0.0, procedure::Point::value);
    let axes = [a, b].map(|at| at.map(procedure::Point::axis));
    axes[0].cmp(&axes[1]).then(value(a).total_cmp(&value(b)))
}

impl<'a> Point<'a> {
    /// Selects the trials that the run's findings used, so that the page and the findings have the
    /// same numbers. If the findings name no trials, selects the trials that are not invalid.
    fn judge(&mut self, used: &[usize]) {
        let verdict = |t: &TrialFinding| Verdict::from_record(Some(t.verdict));
        let usable = |t: &&&TrialFinding| match used {
            [] => verdict(t) != Verdict::Invalid,
            used => used.contains(&t.index),
        };
        self.used = self.trials.iter().filter(usable).copied().collect();
        if self.used.is_empty() {
            self.used.clone_from(&self.trials);
        }
        let worst = self.used.iter().map(|t| verdict(t)).max();
        self.verdict = worst.unwrap_or(Verdict::Unknown);
    }

    pub fn ops_per_s(&self) -> f64 {
        let sum: f64 = self.used.iter().map(|t| t.all.ops_per_s).sum();
        sum / self.used.len().max(1) as f64
    }

    /// Returns the 95 % confidence interval of the throughput. For one block, this function takes
    /// the interval from batch means. For several blocks, it computes the interval from the spread
    /// between the blocks.
    pub fn ops_per_s_ci95(&self) -> Option<[f64; 2]> {
        match self.used.as_slice() {
            [] => None,
            [one] => one.all.ops_per_s_ci95,
            many => {
                let values: Vec<f64> = many.iter().map(|t| t.all.ops_per_s).collect();
                autocorrelation::mean_of_blocks_ci95(&values)
            }
        }
    }

    /// Returns true if the interval comes from a single window that is too short for an interval.
    /// The interval of several blocks comes from the spread between the blocks instead.
    pub fn is_short_window(&self) -> bool {
        match self.used.as_slice() {
            [one] => one.short_window || autocorrelation::is_short_window(one.seconds),
            _ => false,
        }
    }

    /// Returns labels that warn of a short window, or of an interval that depends on few incidents.
    pub fn interval_labels(&self) -> Vec<&'static str> {
        let is_of_few = matches!(self.used.as_slice(), [one] if one.all.few_incidents);
        let labels = [
            (self.is_short_window(), "short"),
            (is_of_few, "few incidents"),
        ];
        let said = labels.iter().filter(|(is_so, _)| *is_so);
        said.map(|(_, label)| *label).collect()
    }

    /// Returns the latency of one kind of operation (or [`ALL`]). Latency counts from the intended
    /// start.
    pub fn latency<'b>(&'b self, view: &'b RunView, kind: &str) -> Option<&'b QuantilesRecord> {
        match self.used.as_slice() {
            [one] => series_of(one, kind).map(|s| &s.latency_ms),
            _ => self.curves(view, kind).map(|c| &c.latency.quantiles),
        }
    }

    /// Returns the service time of one kind of operation (or [`ALL`]). Service time counts from the
    /// send.
    pub fn service<'b>(&'b self, view: &'b RunView, kind: &str) -> Option<&'b QuantilesRecord> {
        match self.used.as_slice() {
            [one] => series_of(one, kind).map(|s| &s.service_ms),
            _ => self.curves(view, kind).map(|c| &c.service.quantiles),
        }
    }

    /// Returns the merged distributions of one kind of operation (or [`ALL`]).
    pub fn curves<'b>(&self, view: &'b RunView, kind: &str) -> Option<&'b PointView> {
        view.points
            .iter()
            .find(|p| p.variant == *self.variant && p.point == self.at && p.kind == kind)
    }

    /// Returns the number of failed operations by outcome, over the trials in `used`.
    pub fn errors(&self) -> BTreeMap<&'a str, u64> {
        let mut errors = BTreeMap::new();
        for trial in &self.used {
            for (name, count) in &trial.errors {
                *errors.entry(name.as_str()).or_default() += count;
            }
        }
        errors
    }

    pub fn sum(&self, counter: impl Fn(&TrialFinding) -> u64) -> u64 {
        self.used.iter().map(|t| counter(t)).sum()
    }

    /// Returns the CPU time per operation in µs, over all operations of the trials in `used`.
    pub fn cpu_us_per_op(&self) -> f64 {
        let ops: f64 = self.used.iter().map(|t| t.ops_total as f64).sum();
        let cpu = |t: &&TrialFinding| t.client.cpu_us_per_op * t.ops_total as f64;
        self.used.iter().map(cpu).sum::<f64>() / ops
    }

    pub fn label(&self) -> String {
        place(self.at)
    }

    /// Returns the reasons for the verdicts of all trials of the point, including invalid trials,
    /// without duplicates.
    pub fn reasons(&self) -> Vec<&'a str> {
        let mut reasons = Vec::new();
        for reason in self.trials.iter().flat_map(|t| &t.reasons) {
            if !reasons.contains(&reason.as_str()) {
                reasons.push(reason.as_str());
            }
        }
        reasons
    }
}

fn series_of<'a>(trial: &'a TrialFinding, kind: &str) -> Option<&'a store::record::SeriesRecord> {
    if kind == ALL {
        Some(&trial.all)
    } else {
        trial.kinds.get(kind)
    }
}

/// Names a position on the axes in the words of the answer, such as `28 threads` or `10,000 op/s`.
/// Returns `–` for a study without axes.
pub fn place(at: Option<procedure::Point>) -> String {
    at.map_or_else(|| number::ABSENT.into(), procedure::Point::words)
}

/// Names a position for other programs, such as `threads 28` or `rate 10,000`. Names of files and
/// of test cases contain this text, so it must remain the same. Returns `–` for a study without
/// axes.
pub fn place_key(at: Option<procedure::Point>) -> String {
    match at {
        None => number::ABSENT.into(),
        Some(at) => format!("{} {}", at.axis(), axis_value(at.value())),
    }
}

/// Returns the axis that all points have in common. Returns `None` if the points have different
/// axes or no axis.
pub fn only_axis(points: &[Point<'_>]) -> Option<&'static str> {
    let axis = points.first()?.at?.axis();
    let same = |p: &Point<'_>| p.at.is_some_and(|at| at.axis() == axis);
    points.iter().all(same).then_some(axis)
}

/// Returns true if the target kept up with a rate that no search chose. The throughput then equals
/// the rate, and does not show the limit of the target.
pub fn is_kept_up(view: &RunView, point: &Point<'_>) -> bool {
    let is_rate = matches!(point.at, Some(procedure::Point::Rate(_)));
    is_rate && !point.saturated && !is_searched(view, point)
}

pub fn is_searched(view: &RunView, point: &Point<'_>) -> bool {
    view.findings.searches.iter().any(|search| search.variant == *point.variant)
}

/// Returns the cost comparison with the largest ratio in either direction, among the costs that
/// differ.
pub fn most_different_cost(view: &RunView) -> Option<&CostComparisonRecord> {
    let differing = view.findings.cost_comparisons.iter().filter(|one| one.differs);
    differing.max_by(|a, b| a.ratio.ln().abs().total_cmp(&b.ratio.ln().abs()))
}

/// Formats a value on an axis. A whole number has thousands separators.
pub fn axis_value(value: f64) -> String {
    if value.fract() == 0.0 && (0.0..1e15).contains(&value) {
        number::count(value as u64)
    } else {
        number::short(value, 6)
    }
}

/// Returns a label for each point of a figure. The label of a lower bound is its sign, and other
/// labels are empty. The list is empty if no value is a lower bound.
pub fn bound_labels(
    points: &[&Point<'_>],
    view: &RunView,
    figure: fn(&QuantilesRecord) -> Known,
) -> Vec<String> {
    let label = |point: &&Point<'_>| {
        let sign = point.latency(view, ALL).map_or("", |q| figure(q).sign());
        sign.trim().to_owned()
    };
    let labels: Vec<String> = points.iter().map(label).collect();
    if labels.iter().all(String::is_empty) {
        Vec::new()
    } else {
        labels
    }
}

/// Returns the best point of a variant. If the findings contain searches of the variant, the best
/// point is the result of the first search that has a point. If they contain a sweep, the best
/// point is the point that the answer names. Otherwise, the unsaturated point with the highest
/// throughput is the best. If all points are saturated, the saturated point with the highest
/// throughput is the best. These two cases omit invalid points.
pub fn best<'p, 'a>(
    view: &RunView,
    points: &'p [Point<'a>],
    variant: usize,
) -> Option<&'p Point<'a>> {
    let of_variant = || points.iter().filter(|p| p.variant_index == variant);
    let name = of_variant().next()?.variant;
    let sweep = view.findings.sweeps.iter().find(|s| s.variant == *name);
    let said = sweep.and_then(|sweep| sweep.best_within_bound.or(sweep.best));
    let of_sweep = || of_variant().find(|point| said.is_some() && point.at == said);
    // A point beyond the result of a search cannot be the best, because its load was too high.
    let mut searches = view.findings.searches.iter().filter(|s| s.variant == *name);
    if searches.clone().next().is_some() {
        let found = searches.find_map(|s| of_variant().find(|point| point.at == s.at));
        return found.or_else(of_sweep);
    }
    let most = |saturated: bool| {
        of_variant()
            .filter(|p| p.verdict <= Verdict::Suspect && p.saturated == saturated)
            .max_by(|a, b| a.ops_per_s().total_cmp(&b.ops_per_s()))
    };
    of_sweep().or_else(|| most(false)).or_else(|| most(true))
}

/// Returns the value of a metric at a point, if the comparison of this metric at the point has an
/// interval. See [`store::record::compared_value`].
pub fn compared_value(view: &RunView, point: &Point<'_>, metric: &str) -> Option<f64> {
    let found = &view.findings;
    let place = (point.variant, point.at);
    store::record::compared_value(&found.comparisons, &found.trials, place, metric)
}

/// Scales the ends of an interval by the ratio of `to` to `from`.
pub fn moved_ends(ends: [f64; 2], from: f64, to: f64) -> [f64; 2] {
    ends.map(|end| end * to / from)
}

/// Returns the index of a variant in the order of the plan, which determines the variant's colour.
pub fn variant_index(view: &RunView, variant: &VariantName) -> usize {
    variants(view).iter().position(|name| *name == variant).unwrap_or(0)
}

/// Returns the name of a variant. If the study has only one variant, returns the name of the study.
pub fn variant_name<'a>(variant: &'a VariantName, view: &'a RunView) -> &'a str {
    variant.name().unwrap_or(&view.plan.study)
}

/// Begins a table with a row for each pair of a trial and an item. The first columns name the
/// trial.
pub fn trial_table<'a, T: Copy>(
    view: &RunView,
    caption: &str,
    trials: impl IntoIterator<Item = (&'a TrialFinding, T)>,
) -> TableBuilder<(&'a TrialFinding, T)> {
    Table::from_records(caption, trials)
        .number("Trial", "", |(trial, _)| trial.index.to_string())
        .text("Variant", |(trial, _)| variant_name(&trial.variant, view))
        .text("Point", |(trial, _)| place(trial.point))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_ordered_by_number_and_written_as_given() {
        let at = |threads: u32| Some(procedure::Point::Threads(threads));
        assert!(compare_places(at(8), at(16)).is_lt());
        assert_eq!(place(at(1024)), "1,024 threads");
        assert_eq!(place(at(1)), "1 thread");
        assert_eq!(place_key(at(1024)), "threads 1,024");
        assert_eq!(axis_value(0.25), "0.25");
        assert_eq!(place(None), "–");
    }
}
