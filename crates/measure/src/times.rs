//! Times of a population of which some are only known to be at least so long (right-censored).
//!
//! What must hold: a quantile of all values, the censored ones at their lower bounds, is a lower
//! bound of the true quantile. It *is* the true one if it stays where it is when every censored
//! value is taken as infinite; otherwise it is shown as "at least".

use crate::{Histogram, Known};

/// Times, in ns.
#[derive(Clone, Debug, Default)]
pub struct Times {
    all: Histogram,
    censored: Histogram,
}

impl Times {
    /// Adds times that are known, and lower bounds of times that are not.
    pub fn add(&mut self, known: &Histogram, censored: &Histogram) {
        self.all.add(known);
        self.all.add(censored);
        self.censored.add(censored);
    }

    /// Adds all of `other`'s.
    pub fn merge(&mut self, other: &Times) {
        self.all.add(&other.all);
        self.censored.add(&other.censored);
    }

    /// Takes over what a log has: of `all` values, those that are lower bounds.
    pub fn from_logs(all: Histogram, censored: Histogram) -> Times {
        Times { all, censored }
    }

    /// Every value, the censored ones at their lower bounds.
    pub fn all(&self) -> &Histogram {
        &self.all
    }

    /// The lower bounds alone.
    pub fn censored(&self) -> &Histogram {
        &self.censored
    }

    /// Value in nanoseconds at quantile `q` (0 to 1): the true one, or a lower bound of it.
    pub fn quantile_ns(&self, q: f64) -> Known {
        let value = self.all.quantile_ns(q);
        self.known(self.is_at_least(q, value), value as f64)
    }

    /// Arithmetic mean in nanoseconds: a lower bound as soon as one value is.
    pub fn mean_ns(&self) -> Known {
        let mean = if self.all.is_empty() {
            0.0
        } else {
            self.all.mean_ns()
        };
        self.known(!self.censored.is_empty(), mean)
    }

    /// Largest value in nanoseconds: a lower bound as soon as one value is.
    pub fn max_ns(&self) -> Known {
        self.known(!self.censored.is_empty(), self.all.max_ns() as f64)
    }

    fn known(&self, is_at_least: bool, value: f64) -> Known {
        if is_at_least {
            Known::AtLeast(value)
        } else {
            Known::Exactly(value)
        }
    }

    /// Whether `value`, which is that of [`Times::all`] at quantile `q`, is only a lower bound.
    fn is_at_least(&self, q: f64, value: u64) -> bool {
        if self.censored.is_empty() {
            return false;
        }
        let at_most = |values: &Histogram| values.count() - values.count_above(value);
        // The rank that HdrHistogram gives to a quantile.
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
        // Of 4 values the two missing ones may be anything above 1: the median is 20 or more.
        let times = times(&[20, 30], &[1, 1]);
        assert_eq!(times.quantile_ns(0.5), Known::AtLeast(1.0));
        assert_eq!(Times::default().quantile_ns(0.5), Known::Exactly(0.0));
    }

    proptest! {
        /// Against the definition: every missing value at its bound, and every one at infinity.
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
