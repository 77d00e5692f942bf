//! Finds cycles, by the period after which the autocorrelation of a series peaks.

use crate::autocorrelation;

/// Minimum number of cycles in a window. With fewer cycles, a cycle cannot be distinguished from a
/// trend.
pub const CYCLES_MIN: f64 = 3.0;
const LAG_MIN: usize = 3;
/// Minimum autocorrelation at a lag of one cycle. Of series of 300 values without a cycle, but with
/// an autocorrelation of 0.9 at lag 1, about 3 % reach this value.
const CORRELATION_MIN: f64 = 0.5;
/// Share of the highest peak that the first peak must reach. Later peaks are at multiples of the
/// cycle, so the first peak counts.
const FIRST_PEAK_SHARE_MIN: f64 = 0.9;

/// Cycles of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cycles {
    /// The series is constant.
    Quiet,
    /// The series does not repeat.
    Unseen,
    /// The series repeats.
    Seen {
        /// Number of values in a cycle.
        period: usize,
        /// Number of cycles in the series.
        count: f64,
    },
}

/// Finds the cycles of a series of equally spaced values.
pub fn cycles(values: &[f64]) -> Cycles {
    if autocorrelation::variance(values) <= 0.0 {
        return Cycles::Quiet;
    }
    let count = values.len();
    let correlation = |lag: usize| {
        // At this lag, fewer pairs than values contribute to the sum, so the result is scaled up.
        autocorrelation::autocorrelation(values, lag) * count as f64 / (count - lag) as f64
    };
    let all: Vec<f64> = (0..=count / 2).map(correlation).collect();
    let Some(first) = all.iter().position(|rho| *rho <= 0.0) else {
        return Cycles::Unseen;
    };
    let later = &all[first..];
    let highest = later.iter().copied().fold(0.0, f64::max);
    if highest < CORRELATION_MIN {
        return Cycles::Unseen;
    }
    let is_peak = |at: &usize| {
        let next = all.get(at + 1).copied().unwrap_or(f64::NEG_INFINITY);
        *at >= LAG_MIN
            && all[*at] >= FIRST_PEAK_SHARE_MIN * highest
            && all[*at] >= all[at - 1]
            && all[*at] >= next
    };
    match (first.max(1)..all.len()).find(is_peak) {
        Some(period) => Cycles::Seen {
            period,
            count: count as f64 / period as f64,
        },
        None => Cycles::Unseen,
    }
}
