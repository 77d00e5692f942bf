//! Finds the runs at which a series has changed: change points with means and p values.
//!
//! The method is that of Fleming et al., "Hunter: Using Change Point Detection to Hunt for
//! Performance Regressions" (ICPE 2023, arXiv 2301.03034), as Apache Otava implements it. It is the
//! divisive search by energy distance of Matteson and James (arXiv 1306.4933). Student's t replaces
//! their permutation test, so the same series always has the same result. Windows overlap by at
//! most half. The first pass uses ten times the level. The second pass removes changes that are
//! weak once their neighbours are known.
//!
//! One detail differs. Otava passes deviations that divide by n to a t test that expects n − 1,
//! where n is the number of values. For example, for two samples of 4 and 3 values, Otava's p is
//! 0.00093, but the correct p is 0.00195. This module passes the correct deviations, so it finds
//! fewer changes in series of few runs.

use crate::autocorrelation;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Minimum size and significance of a change, and size of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Number of values in a window.
    pub window: usize,
    /// Maximum p value of a change: the probability of a difference of this size if nothing has
    /// changed.
    pub p_max: f64,
    /// Minimum size of a change, as a share of the smaller mean.
    pub magnitude_min: f64,
}

impl Limits {
    /// Limits that Otava uses for its own test vectors.
    pub const OTAVA: Limits = Limits {
        window: 50,
        p_max: 0.001,
        magnitude_min: 0.0,
    };

    /// Returns Otava's limits, but with `magnitude_min` as the minimum size of a change.
    pub fn with_magnitude(magnitude_min: f64) -> Limits {
        Limits {
            magnitude_min,
            ..Limits::OTAVA
        }
    }
}

/// Minimum number of runs in a series. The first few runs on a machine show only the noise of the
/// machine.
pub const RUNS_MIN: usize = 10;

/// Number of runs before a change, and of runs after the change, that confirm it. A single run may
/// be an outlier.
pub const CONFIRMED_BY: usize = 3;

/// A change of a series from one level to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// Index of the first value after the change.
    pub at: usize,
    /// Mean of the values between the previous change and this one.
    pub before: f64,
    /// Mean of the values between this change and the next one.
    pub after: f64,
    /// Number of values in `before`.
    pub before_count: usize,
    /// Number of values in `after`.
    pub after_count: usize,
    /// p value of the change: the probability of a difference of this size if nothing has changed.
    pub p: f64,
}

impl Shift {
    /// Returns the size of the change as a share of the mean before the change.
    pub fn change(&self) -> f64 {
        self.after / self.before - 1.0
    }

    /// Returns true if enough runs before and after the change confirm it.
    pub fn is_confirmed(&self) -> bool {
        self.after_count >= CONFIRMED_BY && self.before_count >= CONFIRMED_BY
    }

    /// Returns the size of the change relative to the smaller mean. Both directions count the same:
    /// a change from 10 to 9 is as large as a change from 9 to 10.
    fn magnitude(&self) -> f64 {
        let back = self.before / self.after - 1.0;
        self.change().abs().max(back.abs())
    }
}

/// Returns the changes of a series, in the order in which they occur.
pub fn shifts(values: &[f64], limits: Limits) -> Vec<Shift> {
    let mut at = weak(values, limits);
    loop {
        let found = described(values, &at);
        let by = |key: fn(&Shift) -> f64| {
            move |a: &(usize, &Shift), b: &(usize, &Shift)| key(a.1).total_cmp(&key(b.1))
        };
        let weakest = found.iter().enumerate().max_by(by(|shift| shift.p));
        let Some((index, shift)) = weakest else {
            return Vec::new();
        };
        let remove = if shift.p >= limits.p_max {
            Some(index)
        } else {
            let smallest = found
                .iter()
                .enumerate()
                .min_by(by(Shift::magnitude))
                .filter(|(_, s)| s.magnitude() <= limits.magnitude_min);
            smallest.map(|(index, _)| index)
        };
        match remove {
            Some(index) => at.remove(index),
            None => return found,
        };
    }
}

/// Returns the candidates: the changes in overlapping windows, at ten times the level. A window
/// starts half a window after the previous start, or at the last change, whichever is later.
fn weak(values: &[f64], limits: Limits) -> Vec<usize> {
    let (window, step) = (limits.window.max(2), (limits.window / 2).max(1));
    let (mut found, mut start) = (Vec::new(), 0);
    while start < values.len() {
        let end = (start + window).min(values.len());
        let inner = divisive(&values[start..end], limits.p_max * 10.0);
        let new: Vec<usize> = inner.iter().map(|at| at + start).collect();
        let last = new.last().copied().unwrap_or(0);
        start = last.max(start + step);
        found.extend(new);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Divides the series repeatedly at the index where the values before and after differ most, as
/// long as the difference is significant.
fn divisive(values: &[f64], p_max: f64) -> Vec<usize> {
    let distances = Distances::from_values(values);
    let mut found: Vec<usize> = Vec::new();
    loop {
        let parts = parts(&found, values.len());
        let best = parts.filter_map(|part| distances.best_split(part));
        let Some(best) = best.reduce(|a, b| if b.gain > a.gain { b } else { a }) else {
            return found;
        };
        let [from, to] = best.part;
        if p_of_difference(&values[from..best.at], &values[best.at..to]) > p_max {
            return found;
        }
        found.push(best.at);
        found.sort_unstable();
    }
}

/// Returns the segments between changes. A segment is given by its first index and the index after
/// its last value.
fn parts(at: &[usize], len: usize) -> impl Iterator<Item = [usize; 2]> {
    let begins = std::iter::once(0).chain(at.iter().copied());
    let ends = at.iter().copied().chain(std::iter::once(len));
    begins.zip(ends).map(|(from, to)| [from, to])
}

/// Describes each change by the values before and after it. The values extend to the neighbouring
/// changes.
fn described(values: &[f64], at: &[usize]) -> Vec<Shift> {
    let parts: Vec<[usize; 2]> = parts(at, values.len()).collect();
    let shift = |two: &[[usize; 2]]| {
        let [before, after] = [two[0], two[1]].map(|[from, to]| &values[from..to]);
        Shift {
            at: two[1][0],
            before: autocorrelation::mean(before),
            after: autocorrelation::mean(after),
            before_count: before.len(),
            after_count: after.len(),
            p: p_of_difference(before, after),
        }
    };
    parts.windows(2).map(shift).collect()
}

/// Sums of the distances between values, so that any two segments can be compared in constant time.
struct Distances {
    /// `sums[i][j]` is the sum of the distances of all pairs of values. The first value of each
    /// pair is one of the first i values, and the second is one of the first j values.
    sums: Vec<Vec<f64>>,
}

#[derive(Clone, Copy)]
struct Split {
    at: usize,
    gain: f64,
    part: [usize; 2],
}

impl Distances {
    fn from_values(values: &[f64]) -> Distances {
        let count = values.len();
        let mut sums = vec![vec![0.0; count + 1]; count + 1];
        for i in 0..count {
            for j in 0..count {
                let distance = (values[i] - values[j]).abs();
                sums[i + 1][j + 1] = distance + sums[i][j + 1] + sums[i + 1][j] - sums[i][j];
            }
        }
        Distances { sums }
    }

    /// Returns the sum of the distances of all pairs with one value in each segment.
    fn between(&self, [a, b]: [usize; 2], [c, d]: [usize; 2]) -> f64 {
        let sums = &self.sums;
        sums[b][d] - sums[a][d] - sums[b][c] + sums[a][c]
    }

    /// Divides a segment into two parts. The first part may have any length. The second part
    /// directly follows the first part and may end at any index. Returns the division with the
    /// largest energy distance. If several divisions have the largest distance, the function
    /// returns the first of them.
    fn best_split(&self, part: [usize; 2]) -> Option<Split> {
        let [from, to] = part;
        let mut best: Option<Split> = None;
        for at in from + 1..to {
            for end in at + 1..=to {
                let gain = self.gain([from, at], [at, end]);
                if best.is_none_or(|best| gain > best.gain) {
                    best = Some(Split { at, gain, part });
                }
            }
        }
        best
    }

    /// Returns Matteson and James' Q: the distance between the segments, reduced by the spread
    /// within each segment.
    fn gain(&self, left: [usize; 2], right: [usize; 2]) -> f64 {
        let [n, m] = [left, right].map(|[from, to]| (to - from) as f64);
        let within = |stretch: [usize; 2], own: f64, other: f64| {
            if own < 2.0 {
                return 0.0;
            }
            // Each pair occurs twice in the square of distances, so the sum is halved.
            let pairs = self.between(stretch, stretch) / 2.0;
            2.0 * other / (n + m) / (own - 1.0) * pairs
        };
        2.0 / (n + m) * self.between(left, right) - within(left, n, m) - within(right, m, n)
    }
}

/// Returns the p value of Student's two-sided t test with a common variance. This is the
/// probability that the means of two samples of one distribution differ by at least as much as
/// these means.
fn p_of_difference(left: &[f64], right: &[f64]) -> f64 {
    let (n, m) = (left.len() as f64, right.len() as f64);
    let freedom = n + m - 2.0;
    if left.is_empty() || right.is_empty() || freedom <= 0.0 {
        return 1.0;
    }
    let (mean_left, mean_right) = (autocorrelation::mean(left), autocorrelation::mean(right));
    let squares = |values: &[f64], mean: f64| {
        let squares = values.iter().map(|value| (value - mean).powi(2));
        squares.sum::<f64>()
    };
    let variance = (squares(left, mean_left) + squares(right, mean_right)) / freedom;
    let difference = (mean_left - mean_right).abs();
    if variance <= 0.0 {
        return if difference > 0.0 { 0.0 } else { 1.0 };
    }
    let t = difference / (variance * (1.0 / n + 1.0 / m)).sqrt();
    let distribution = StudentsT::new(0.0, 1.0, freedom);
    distribution.map_or(1.0, |t_of| 2.0 * t_of.sf(t))
}

#[cfg(test)]
mod tests;
