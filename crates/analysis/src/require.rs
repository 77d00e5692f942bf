//! Whether a stated requirement is met, by a number with its error.
//!
//! A number is missed or met only where its whole 95 % interval says so, so that of requirements
//! that are just met at most 2.5 in 100 are called missed. Where the interval holds the limit, or
//! where there is no interval, nobody can tell: [`Outcome::Untold`].

use crate::autocorrelation;
use crate::compare::Bound;
use measure::Known;

/// Two-sided 5 % point of the normal distribution.
const NORMAL_Z: f64 = 1.959_964;

measure::word_enum! {
    /// What something is required of, by its key in a study.
    #[derive(Default, PartialOrd, Ord)]
    pub enum RequiredMetric {
        /// The median of latency, ms.
        P50Ms = "p50_ms",
        /// Its 95th percentile, ms.
        P95Ms = "p95_ms",
        /// Its 99th percentile, ms.
        P99Ms = "p99_ms",
        /// Its 99.9th percentile, ms.
        P999Ms = "p999_ms",
        /// The share of the operations that failed.
        ErrorRate = "error_rate",
        /// Throughput, operations per second.
        #[default]
        OpsPerS = "ops_per_s",
        /// How good a variant is beside its baseline.
        Ratio = "ratio",
        /// How good a run's throughput is beside that of an earlier one.
        NotWorseOpsPerS = "not_worse_than.ops_per_s",
        /// How good its p99 is beside that of an earlier one.
        NotWorseP99Ms = "not_worse_than.p99_ms",
    }
}

impl RequiredMetric {
    /// Whether it is a percentile of latency, in ms.
    pub fn is_latency(self) -> bool {
        use RequiredMetric::{P50Ms, P95Ms, P99Ms, P999Ms};
        matches!(self, P50Ms | P95Ms | P99Ms | P999Ms)
    }
}

/// What is required of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// It may not be above this.
    AtMost(f64),
    /// It may not be below this.
    AtLeast(f64),
}

measure::word_enum! {
    /// What can be said of a requirement.
    #[derive(Default)]
    pub enum Outcome {
        /// The whole interval is within the limit.
        Met = "met",
        /// The whole interval is beyond it.
        Missed = "missed",
        /// The interval holds the limit, or there is none.
        #[default]
        Untold = "untold",
    }
}

impl Limit {
    /// Which way it bounds.
    pub fn bound(self) -> Bound {
        match self {
            Limit::AtMost(_) => Bound::AtMost,
            Limit::AtLeast(_) => Bound::AtLeast,
        }
    }

    /// The number that may not be passed.
    pub fn value(self) -> f64 {
        match self {
            Limit::AtMost(value) | Limit::AtLeast(value) => value,
        }
    }

    /// Judges a number. One that is only known to be at least so large has no upper end.
    pub fn judge(self, value: Known, interval: Option<[f64; 2]>) -> Outcome {
        let [low, high] = match (value, interval) {
            (Known::Exactly(_), Some(interval)) => interval,
            (Known::Exactly(_), None) => return Outcome::Untold,
            (Known::AtLeast(least), None) => [least, f64::INFINITY],
            (Known::AtLeast(_), Some([low, _])) => [low, f64::INFINITY],
        };
        match self {
            Limit::AtMost(limit) if high <= limit => Outcome::Met,
            Limit::AtMost(limit) if low > limit => Outcome::Missed,
            Limit::AtLeast(limit) if low >= limit => Outcome::Met,
            Limit::AtLeast(limit) if high < limit => Outcome::Missed,
            Limit::AtMost(_) | Limit::AtLeast(_) => Outcome::Untold,
        }
    }
}

/// 95 % interval of a share of which `part` of `all` were seen (Wilson 1927, "Probable inference,
/// the law of succession, and statistical inference"); none of nothing. It takes the operations for
/// independent, so several blocks have [`of_blocks`] beside it.
pub fn share_interval(part: u64, all: u64) -> Option<[f64; 2]> {
    if all == 0 {
        return None;
    }
    let (n, z2) = (all as f64, NORMAL_Z * NORMAL_Z);
    let share = part as f64 / n;
    let middle = share + z2 / (2.0 * n);
    let half = NORMAL_Z * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    let end = |sign: f64| ((middle + sign * half) / (1.0 + z2 / n)).clamp(0.0, 1.0);
    let low = if part == 0 { 0.0 } else { end(-1.0) };
    Some([low, end(1.0)])
}

/// 95 % interval over blocks, each of which is one observation: by Student's t on logarithms, since
/// a latency varies by a share of itself; none with fewer than three, or where one is not above 0.
pub fn of_blocks(values: &[f64]) -> Option<[f64; 2]> {
    if values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    autocorrelation::mean_of_blocks_ci95(&logs).map(|ends| ends.map(f64::exp))
}

/// The shortest interval that holds both.
pub fn hull(one: [f64; 2], other: [f64; 2]) -> [f64; 2] {
    [one[0].min(other[0]), one[1].max(other[1])]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_interval_that_lies_beside_the_limit_decides() {
        let exactly = Known::Exactly(10.0);
        let at_least = Known::AtLeast(10.0);
        let (most, least) = (Limit::AtMost(10.0), Limit::AtLeast(10.0));
        for (limit, value, interval, expected) in [
            (most, exactly, Some([8.0, 10.0]), Outcome::Met),
            (most, exactly, Some([8.0, 10.1]), Outcome::Untold),
            (most, exactly, Some([10.1, 12.0]), Outcome::Missed),
            (most, exactly, None, Outcome::Untold),
            (least, exactly, Some([10.0, 12.0]), Outcome::Met),
            (least, exactly, Some([9.0, 12.0]), Outcome::Untold),
            (least, exactly, Some([8.0, 9.9]), Outcome::Missed),
            // Nobody knows how large it is: it can be missed for certain, and never be met.
            (Limit::AtMost(9.0), at_least, None, Outcome::Missed),
            (Limit::AtMost(11.0), at_least, None, Outcome::Untold),
            (most, at_least, Some([8.0, 9.0]), Outcome::Untold),
        ] {
            let seen = limit.judge(value, interval);
            assert_eq!(seen, expected, "{limit:?} {value:?} {interval:?}");
        }
    }

    #[test]
    fn shares_have_the_interval_of_the_tables() {
        // Newcombe 1998, "Two-sided confidence intervals for the single proportion", table I,
        // method 3.
        for (part, all, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let [seen_low, seen_high] = share_interval(part, all).unwrap();
            assert!((seen_low - low).abs() < 5e-5, "{part}/{all}: {seen_low}");
            assert!((seen_high - high).abs() < 5e-5, "{part}/{all}: {seen_high}");
        }
        assert_eq!(share_interval(0, 0), None);
    }

    #[test]
    fn blocks_give_an_interval_from_three_on() {
        assert_eq!(of_blocks(&[1.0, 2.0]), None);
        assert_eq!(of_blocks(&[1.0, 0.0, 2.0]), None);
        let [low, high] = of_blocks(&[9.0, 10.0, 11.0]).unwrap();
        // Student's t with two degrees of freedom: 4.303 × 0.1006 ÷ √3 around the log of 9.966.
        assert!(
            (low - 7.76).abs() < 0.02 && (high - 12.80).abs() < 0.02,
            "{low} {high}"
        );
        assert_eq!(hull([1.0, 3.0], [2.0, 4.0]), [1.0, 4.0]);
    }
}
