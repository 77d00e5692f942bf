//! Queries the series of probes: their names, their places, and their values in the measured
//! window.
//!
//! New probes may add series, so callers select series by patterns, which may contain one `*`. A
//! place is a host, a node, or a part of either after a slash, such as `host1` or `host1/vda`.

use crate::run_view::{ProbeSeries, RunView, TrialView};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use store::record::PhaseTimeRecord;

/// Returns true if `name` matches `pattern`, which may contain one `*`.
pub fn is_like(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((head, tail)) => {
            let rest = name.strip_prefix(head);
            rest.is_some_and(|rest| rest.ends_with(tail))
        }
    }
}

/// Returns the part of `name` that matches the `*` of `pattern`. Returns the whole name if the
/// pattern has no `*` or does not match.
pub fn wildcard<'a>(name: &'a str, pattern: &str) -> &'a str {
    let found = pattern.split_once('*').and_then(|(head, tail)| {
        let rest = name.strip_prefix(head)?;
        rest.strip_suffix(tail)
    });
    found.unwrap_or(name)
}

/// Returns the series of a trial that match the first pattern with a match. Ignores series without
/// values.
pub fn first_of<'a>(trial: &'a TrialView, patterns: &[&str]) -> Vec<&'a ProbeSeries> {
    let of = |pattern: &&str| -> Vec<&ProbeSeries> {
        let named = trial.probes.iter().filter(|s| is_like(&s.name, pattern));
        named.filter(|s| !s.values.is_empty()).collect()
    };
    let mut found = patterns.iter().map(of);
    found.find(|series| !series.is_empty()).unwrap_or_default()
}

/// Returns the host or node of a place, such as `host1` for `host1/vda`.
pub fn owner(place: &str) -> &str {
    place.split_once('/').map_or(place, |(owner, _)| owner)
}

/// Compares two names in natural order, so `node2` precedes `node10`.
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let (left, right) = (digits(a), digits(b));
        if left > 0 && right > 0 {
            let number = |text: &str| text.trim_start_matches('0').to_owned();
            let (x, y) = (number(&a[..left]), number(&b[..right]));
            let order = x.len().cmp(&y.len()).then_with(|| x.cmp(&y));
            if order.is_ne() {
                return order;
            }
            (a, b) = (&a[left..], &b[right..]);
            continue;
        }
        let (mut left, mut right) = (a.chars(), b.chars());
        match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (x, y) if x != y => return x.cmp(&y),
            _ => (a, b) = (left.as_str(), right.as_str()),
        }
    }
}

fn digits(text: &str) -> usize {
    let end = text.find(|c: char| !c.is_ascii_digit());
    end.unwrap_or(text.len())
}

pub fn owners(trial: &TrialView) -> Vec<&str> {
    let named = trial.probes.iter().map(|s| owner(&s.place));
    let all: BTreeSet<&str> = named.filter(|name| !name.is_empty()).collect();
    let mut all: Vec<&str> = all.into_iter().collect();
    all.sort_by(|a, b| natural(a, b));
    all
}

/// Returns the phases of a trial, from its finding. If the finding contains no phases, derives them
/// from the trial's intervals.
pub fn phases(view: &RunView, trial: &TrialView) -> Vec<PhaseTimeRecord> {
    let finding = view.findings.trials.iter().find(|t| t.index == trial.index);
    match finding {
        Some(finding) if !finding.phases.is_empty() => finding.phases.clone(),
        _ => phases_of_intervals(trial),
    }
}

fn phases_of_intervals(trial: &TrialView) -> Vec<PhaseTimeRecord> {
    let mut phases: Vec<PhaseTimeRecord> = Vec::new();
    for record in trial.intervals.iter().filter(|i| i.kind == "client") {
        let end = record.t_s + record.seconds;
        match phases.last_mut() {
            Some(phase) if phase.name == record.phase => phase.to_s = end,
            _ => phases.push(PhaseTimeRecord {
                name: record.phase.clone(),
                from_s: record.t_s,
                to_s: end,
            }),
        }
    }
    phases
}

/// Returns the start and the end of the measured window, in seconds since the start line of the
/// trial. Returns `None` if `phases` contains no measured window, or if the window is empty.
pub fn window(phases: &[PhaseTimeRecord]) -> Option<[f64; 2]> {
    let measured = phases.iter().find(|phase| phase.name == "measure")?;
    (measured.to_s > measured.from_s).then_some([measured.from_s, measured.to_s])
}

/// Returns the mean of the values in the window, with equal weights. Returns `None` if the window
/// contains no value.
pub fn mean(series: &ProbeSeries, window: [f64; 2]) -> Option<f64> {
    let (count, sum) = in_window(series, window);
    (count > 0).then(|| sum / count as f64)
}

/// Returns the sum of the values in the window. The sum is meaningful for series with one value for
/// each event.
pub fn sum(series: &ProbeSeries, window: [f64; 2]) -> f64 {
    in_window(series, window).1
}

/// Returns the number and the sum of the values in `window`. In a long run, the series contains
/// both only for the measured window, and `window` has no effect.
fn in_window(series: &ProbeSeries, window: [f64; 2]) -> (u64, f64) {
    let of_values = || {
        let inside = values_in(series, window);
        (inside.len() as u64, inside.iter().map(|v| v.1).sum())
    };
    series.in_window.unwrap_or_else(of_values)
}

fn values_in(series: &ProbeSeries, [from, to]: [f64; 2]) -> &[(f64, f64)] {
    let begin = series.values.partition_point(|v| v.0 < from);
    let end = series.values.partition_point(|v| v.0 < to);
    &series.values[begin..end.max(begin)]
}

/// Adds several series, value by value. Readings within [`LOOK_S`] count as simultaneous. If the
/// values are summaries of bins, the extremes of the sum are unknown, so the result contains
/// bounds.
pub fn added(series: &[&ProbeSeries]) -> Vec<(f64, f64)> {
    if let [only] = series {
        return only.values.clone();
    }
    if series.iter().any(|one| !one.means.is_empty()) {
        return stretches(series).into_values().flat_map(Sum::ends).collect();
    }
    let mut sums: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
    for (t_s, value) in series.iter().flat_map(|s| &s.values) {
        sums.entry(reading_number(*t_s)).or_insert((*t_s, 0.0)).1 += value;
    }
    sums.into_values().collect()
}

/// Returns the number of the reading at a time.
pub fn reading_number(t_s: f64) -> i64 {
    (t_s / LOOK_S).round() as i64
}

/// Adds several series for a stacked chart. For bins, adds up their means and places each sum in
/// the middle of its bin.
pub fn added_means(series: &[&ProbeSeries]) -> Vec<(f64, f64)> {
    if series.iter().all(|one| one.means.is_empty()) {
        return added(series);
    }
    let sums = stretches(series).into_values();
    sums.map(|sum| ((sum.at[0] + sum.at[1]) / 2.0, sum.mean)).collect()
}

#[derive(Default)]
struct Sum {
    /// Times of the two values of the bin, in seconds.
    at: [f64; 2],
    mean: f64,
    lows: f64,
    highs: f64,
    /// Largest range of a single series in this bin.
    range: f64,
    rises: bool,
}

impl Sum {
    /// Returns two times and values to draw: a lower bound of the maximum of the sum, and an upper
    /// bound of its minimum. When the series with the largest range was at its maximum, each other
    /// series was at least at its minimum.
    fn ends(self) -> [(f64, f64); 2] {
        let high = (self.lows + self.range).max(self.mean);
        let low = (self.highs - self.range).min(self.mean);
        let [first, second] = if self.rises { [low, high] } else { [high, low] };
        [(self.at[0], first), (self.at[1], second)]
    }
}

fn stretches(series: &[&ProbeSeries]) -> BTreeMap<i64, Sum> {
    let mut sums: BTreeMap<i64, Sum> = BTreeMap::new();
    for series in series {
        let (pairs, _) = series.values.as_chunks::<2>();
        for ([first, second], mean) in pairs.iter().zip(&series.means) {
            let sum = sums.entry(reading_number(first.0)).or_default();
            let range = (second.1 - first.1).abs();
            sum.at = [first.0, second.0];
            sum.mean += mean;
            sum.lows += first.1.min(second.1);
            sum.highs += first.1.max(second.1);
            if range >= sum.range {
                (sum.range, sum.rises) = (range, second.1 > first.1);
            }
        }
    }
    sums
}

/// Length, in seconds, of the intervals within which readings count as simultaneous. Readings of
/// different samples are at least a tenth of a second apart.
pub const LOOK_S: f64 = 0.05;

/// Returns a factor that converts values in `unit` to a more readable unit, and this unit.
pub fn scaled(unit: &str) -> (f64, &str) {
    const KIB: f64 = 1024.0;
    match unit {
        "bytes" | "B" => (1.0 / (KIB * KIB), "MiB"),
        "bytes/s" | "B/s" => (1.0 / (KIB * KIB), "MiB/s"),
        "kB" | "KiB" => (1.0 / KIB, "MiB"),
        "kB/s" | "KiB/s" => (1.0 / KIB, "MiB/s"),
        other => (1.0, other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_names_what_its_star_may_stand_for() {
        let cases = [
            ("iostat.%util", "iostat.%util", true),
            ("iostat.%util", "iostat.util", false),
            ("dropped.READ/s", "dropped.*/s", true),
            ("dropped.READ", "dropped.*/s", false),
            (
                "client_request.Read.timeouts/s",
                "client_request.*.timeouts/s",
                true,
            ),
            ("dropped.", "dropped.*/s", false),
        ];
        for (name, pattern, like) in cases {
            assert_eq!(is_like(name, pattern), like, "{name} {pattern}");
        }
        assert_eq!(wildcard("dropped.READ/s", "dropped.*/s"), "READ");
        assert_eq!(wildcard("x", "dropped.*/s"), "x");
    }

    #[test]
    fn names_are_ordered_by_their_numbers() {
        let mut names = [
            "node10",
            "node2",
            "10.0.0.2",
            "10.0.0.10",
            "node1",
            "host1/vda",
            "host1",
        ];
        names.sort_by(|a, b| natural(a, b));
        let expected = [
            "10.0.0.2",
            "10.0.0.10",
            "host1",
            "host1/vda",
            "node1",
            "node2",
            "node10",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn the_mean_covers_the_window_only_and_needs_a_sample_in_it() {
        let series = ProbeSeries {
            values: vec![(0.0, 100.0), (10.0, 2.0), (11.0, 4.0), (12.0, 100.0)],
            ..ProbeSeries::default()
        };
        assert_eq!(mean(&series, [10.0, 12.0]), Some(3.0));
        assert_eq!(mean(&series, [20.0, 30.0]), None);
        assert_eq!(sum(&series, [10.0, 12.0]), 6.0);
    }

    #[test]
    fn a_sum_of_stretches_is_drawn_within_what_it_can_have_been() {
        let of = |values: &[(f64, f64)], means: &[f64]| ProbeSeries {
            values: values.to_vec(),
            means: means.to_vec(),
            in_window: Some((20, 60.0)),
            ..ProbeSeries::default()
        };
        // One series rises to 100 for a moment, while the other series is between 1 and 3.
        let a = of(&[(2.0, 0.0), (6.0, 100.0)], &[10.0]);
        let b = of(&[(2.0, 3.0), (6.0, 1.0)], &[2.0]);
        assert_eq!(added(&[&a, &b]), [(2.0, 3.0), (6.0, 101.0)]);
        assert_eq!(added(&[&a]), a.values);
        assert_eq!(added_means(&[&a, &b]), [(4.0, 12.0)]);
        assert_eq!(added_means(&[&b]), [(4.0, 2.0)]);
        // The values cover the whole trial. For the window, the series has only the number and the
        // sum of the values.
        assert_eq!(mean(&a, [0.0, 1.0]), Some(3.0));
    }

    #[test]
    fn readings_of_one_sample_are_summed_despite_small_time_gaps() {
        let of = |values: &[(f64, f64)]| ProbeSeries {
            values: values.to_vec(),
            ..ProbeSeries::default()
        };
        let (a, b) = (
            of(&[(1.0, 1.0), (2.0, 2.0)]),
            of(&[(1.003, 10.0), (2.001, 20.0)]),
        );
        assert_eq!(added(&[&a, &b]), [(1.0, 11.0), (2.0, 22.0)]);
    }
}
