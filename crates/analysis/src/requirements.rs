//! Judges whether a number meets a requirement, by its interval.
//!
//! A requirement is met or missed only if the whole 95 % interval is on one side of the limit. So a
//! requirement that is just met counts as missed with a probability of at most 2.5 %. If the
//! interval contains the limit, or if the interval is unknown, the result is
//! [`RequirementResult::Inconclusive`].

use crate::autocorrelation;
use crate::compare::Bound;
use measure::Known;

/// Two-sided 5 % point of the standard normal distribution.
const NORMAL_Z: f64 = 1.959_964;

measure::word_enum! {
    /// Metric to which a requirement applies. The string is the key of the metric in a study.
    #[derive(Default, PartialOrd, Ord)]
    pub enum RequiredMetric {
        /// Median of latency, in ms.
        P50Ms = "p50_ms",
        /// 95th percentile of latency, in ms.
        P95Ms = "p95_ms",
        /// 99th percentile of latency, in ms.
        P99Ms = "p99_ms",
        /// 99.9th percentile of latency, in ms.
        P999Ms = "p999_ms",
        /// Share of the operations that failed.
        ErrorRate = "error_rate",
        /// Throughput, in operations per second.
        #[default]
        OpsPerS = "ops_per_s",
        /// Ratio of the metric of a variant to that of the baseline. Higher is better.
        Ratio = "ratio",
        /// Ratio of this run's throughput to that of an earlier run. Higher is better.
        NotWorseOpsPerS = "not_worse_than.ops_per_s",
        /// Ratio of an earlier run's p99 to this run's p99. Higher is better.
        NotWorseP99Ms = "not_worse_than.p99_ms",
    }
}

impl RequiredMetric {
    /// Returns true for a percentile of latency, whose unit is ms.
    pub fn is_latency(self) -> bool {
        use RequiredMetric::{P50Ms, P95Ms, P99Ms, P999Ms};
        matches!(self, P50Ms | P95Ms | P99Ms | P999Ms)
    }
}

/// Limit that a requirement sets for a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// The number must not be above this limit.
    AtMost(f64),
    /// The number must not be below this limit.
    AtLeast(f64),
}

measure::word_enum! {
    /// Result of judging a requirement.
    #[derive(Default)]
    pub enum RequirementResult {
        /// The requirement is met, because the whole interval is within the limit.
        Met = "met",
        /// The requirement is missed, because the whole interval is beyond the limit.
        Missed = "missed",
        /// The interval contains the limit, or no interval could be computed.
        #[default]
        Inconclusive = "inconclusive" | "untold",
    }
}

impl Limit {
    /// Returns the direction of the limit.
    pub fn bound(self) -> Bound {
        match self {
            Limit::AtMost(_) => Bound::AtMost,
            Limit::AtLeast(_) => Bound::AtLeast,
        }
    }

    /// Returns the value of the limit.
    pub fn value(self) -> f64 {
        match self {
            Limit::AtMost(value) | Limit::AtLeast(value) => value,
        }
    }

    /// Judges a number by its interval. If the number is only a lower bound, the interval has no
    /// upper end.
    pub fn judge(self, value: Known, interval: Option<[f64; 2]>) -> RequirementResult {
        let [low, high] = match (value, interval) {
            (Known::Exactly(_), Some(interval)) => interval,
            (Known::Exactly(_), None) => return RequirementResult::Inconclusive,
            (Known::AtLeast(least), None) => [least, f64::INFINITY],
            (Known::AtLeast(_), Some([low, _])) => [low, f64::INFINITY],
        };
        match self {
            Limit::AtMost(limit) if high <= limit => RequirementResult::Met,
            Limit::AtMost(limit) if low > limit => RequirementResult::Missed,
            Limit::AtLeast(limit) if low >= limit => RequirementResult::Met,
            Limit::AtLeast(limit) if high < limit => RequirementResult::Missed,
            Limit::AtMost(_) | Limit::AtLeast(_) => RequirementResult::Inconclusive,
        }
    }
}

/// Returns the 95 % interval of a share, observed as `part` of `all` (Wilson 1927, "Probable
/// inference, the law of succession, and statistical inference"). Returns `None` if `all` is 0. The
/// interval assumes independent operations. So for several blocks, [`block_interval`] is needed as
/// well.
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

/// Returns the 95 % interval over blocks, each of which is one observation. The function uses
/// Student's t on logarithms, because latencies vary by factors. Returns `None` with fewer than
/// three blocks, or if a value is not above 0.
pub fn block_interval(values: &[f64]) -> Option<[f64; 2]> {
    if values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    autocorrelation::mean_of_blocks_ci95(&logs).map(|ends| ends.map(f64::exp))
}

/// Returns the shortest interval that contains both intervals.
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
            (most, exactly, Some([8.0, 10.0]), RequirementResult::Met),
            (
                most,
                exactly,
                Some([8.0, 10.1]),
                RequirementResult::Inconclusive,
            ),
            (most, exactly, Some([10.1, 12.0]), RequirementResult::Missed),
            (most, exactly, None, RequirementResult::Inconclusive),
            (least, exactly, Some([10.0, 12.0]), RequirementResult::Met),
            (
                least,
                exactly,
                Some([9.0, 12.0]),
                RequirementResult::Inconclusive,
            ),
            (least, exactly, Some([8.0, 9.9]), RequirementResult::Missed),
            // If the value is only a lower bound, it may certainly exceed a maximum, but it can
            // never certainly be below a maximum.
            (
                Limit::AtMost(9.0),
                at_least,
                None,
                RequirementResult::Missed,
            ),
            (
                Limit::AtMost(11.0),
                at_least,
                None,
                RequirementResult::Inconclusive,
            ),
            (
                most,
                at_least,
                Some([8.0, 9.0]),
                RequirementResult::Inconclusive,
            ),
        ] {
            let seen = limit.judge(value, interval);
            assert_eq!(seen, expected, "{limit:?} {value:?} {interval:?}");
        }
    }

    #[test]
    fn shares_have_the_interval_of_the_tables() {
        // The expected values come from Newcombe 1998, "Two-sided confidence intervals for the
        // single proportion", table I, method 3.
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
        assert_eq!(block_interval(&[1.0, 2.0]), None);
        assert_eq!(block_interval(&[1.0, 0.0, 2.0]), None);
        let [low, high] = block_interval(&[9.0, 10.0, 11.0]).unwrap();
        // The interval is ±4.303 × 0.1006 ÷ √3 around the logarithm of 9.966, with Student's t for
        // two degrees of freedom.
        assert!(
            (low - 7.76).abs() < 0.02 && (high - 12.80).abs() < 0.02,
            "{low} {high}"
        );
        assert_eq!(hull([1.0, 3.0], [2.0, 4.0]), [1.0, 4.0]);
    }
}
