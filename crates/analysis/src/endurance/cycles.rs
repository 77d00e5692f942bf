//! Cycles: how long something takes until it comes again, from the autocorrelation of a series.

use crate::series;

/// Cycles that a window must hold: a part of one is a trend.
pub const CYCLES_MIN: f64 = 3.0;
/// Values that a cycle has at least.
const LAG_MIN: usize = 3;
/// The least correlation of a series with itself one cycle later. Of 300 values that follow each
/// other by 0.9 and have no cycle, one series in ten reaches it.
const CORRELATION_MIN: f64 = 0.5;
/// Of peaks that are nearly as high, the first is the cycle, and the others are several of it.
const NEARLY: f64 = 0.9;

/// What a series repeats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cycles {
    /// It is always the same.
    Quiet,
    /// Nothing that comes again.
    Unseen,
    /// A cycle of so many values, of which it has so many.
    Seen {
        /// Values of one.
        period: usize,
        /// How many of them the series has.
        count: f64,
    },
}

/// The cycles of a series of equally spaced values.
pub fn cycles(values: &[f64]) -> Cycles {
    if series::variance(values) <= 0.0 {
        return Cycles::Quiet;
    }
    let count = values.len();
    let correlation = |lag: usize| {
        // The sum has fewer pairs than values.
        series::autocorrelation(values, lag) * count as f64 / (count - lag) as f64
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
            && all[*at] >= NEARLY * highest
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
