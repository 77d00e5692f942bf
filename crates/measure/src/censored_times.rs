//! Times of a population of operations. For some operations, only a lower bound of the time is
//! known (right-censored).
//!
//! Invariant: a quantile of all values, with each censored value at its lower bound, is a lower
//! bound of the true quantile. The two are equal if the result would not change when every censored
//! value became infinite. Otherwise, reports show the result as "at least".

use crate::{Histogram, Known};

/// Times in ns. For some of them, only a lower bound is known.
#[derive(Clone, Debug, Default)]
pub struct Times {
    all: Histogram,
    censored: Histogram,
}

impl Times {
    /// Adds known times, and lower bounds of censored times.
    pub fn add(&mut self, known: &Histogram, censored: &Histogram) {
        self.all.add(known);
        self.all.add(censored);
        self.censored.add(censored);
    }

    pub fn merge(&mut self, other: &Times) {
        self.all.add(&other.all);
        self.censored.add(&other.censored);
    }

    /// Builds the times from a log. `all` contains all values, and `censored` contains only the
    /// lower bounds.
    pub fn from_logs(all: Histogram, censored: Histogram) -> Times {
        Times { all, censored }
    }

    /// Returns all values, with censored values at their lower bounds.
    pub fn all(&self) -> &Histogram {
        &self.all
    }

    /// Returns only the lower bounds.
    pub fn censored(&self) -> &Histogram {
        &self.censored
    }

    /// Returns the value at quantile `q` (0 to 1) in ns, which is exact or a lower bound.
    pub fn quantile_ns(&self, q: f64) -> Known {
        let value = self.all.quantile_ns(q);
        self.value(self.is_at_least(q, value), value as f64)
    }

    /// Returns the arithmetic mean in ns. It is a lower bound if at least one of the times is a
    /// lower bound.
    pub fn mean_ns(&self) -> Known {
        let mean = if self.all.is_empty() {
            0.0
        } else {
            self.all.mean_ns()
        };
        self.value(!self.censored.is_empty(), mean)
    }

    /// Returns the largest value in ns. It is a lower bound if at least one of the times is a lower
    /// bound.
    pub fn max_ns(&self) -> Known {
        self.value(!self.censored.is_empty(), self.all.max_ns() as f64)
    }

    fn value(&self, is_at_least: bool, value: f64) -> Known {
        if is_at_least {
            Known::AtLeast(value)
        } else {
            Known::Exactly(value)
        }
    }

    /// Returns true if `value` is only a lower bound of the quantile `q`. `value` must be the value
    /// of [`Times::all`] at this quantile.
    fn is_at_least(&self, q: f64, value: u64) -> bool {
        if self.censored.is_empty() {
            return false;
        }
        let at_most = |values: &Histogram| values.count() - values.count_above(value);
        // HdrHistogram computes the rank of a quantile in the same way.
        let rank = ((q.min(1.0) * self.all.count() as f64).ceil() as u64).max(1);
        at_most(&self.all) - at_most(&self.censored) < rank
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    fn times(known: &[u64], censored: &[u64]) -> Times {
        let mut times = Times::default();
        times.add(&histogram(known), &histogram(censored));
        times
    }

    #[test]
    fn a_quantile_below_all_that_is_missing_is_known() {
        let known: Vec<u64> = (1..=99).collect();
        let times = times(&known, &[500]);
        assert_eq!(times.quantile_ns(0.5), Known::Exactly(50.0));
        assert_eq!(times.quantile_ns(0.99), Known::Exactly(99.0));
        assert_eq!(times.quantile_ns(0.999), Known::AtLeast(500.0));
        assert_eq!(times.max_ns(), Known::AtLeast(500.0));
        assert_eq!(times.mean_ns(), Known::AtLeast(54.5));
    }

    #[test]
    fn a_low_bound_moves_even_the_median() {
        // Two of the four times are censored, and may have any value above 1. So the median is only
        // known to be at least 1.
        let times = times(&[20, 30], &[1, 1]);
        assert_eq!(times.quantile_ns(0.5), Known::AtLeast(1.0));
        assert_eq!(Times::default().quantile_ns(0.5), Known::Exactly(0.0));
    }

    proptest! {
        /// Compares the results with the definition. It uses quantiles of all values, with the
        /// censored values at their bounds, and then at infinity.
        #[test]
        fn at_least_is_said_when_what_is_missing_could_move_the_value(
            known in prop::collection::vec(1u64..2000, 0..60),
            censored in prop::collection::vec(1u64..2000, 0..20),
            q in 0.01f64..1.0) {
            prop_assume!(!known.is_empty() || !censored.is_empty());
            let times = times(&known, &censored);
            let mut infinite = known.clone();
            infinite.extend(vec![1_000_000_000; censored.len()]);
            let most = histogram(&infinite).quantile_ns(q) as f64;
            let seen = times.quantile_ns(q);
            prop_assert!(seen.least() <= most);
            prop_assert_eq!(seen.is_at_least(), seen.least() != most);
        }
    }
}
