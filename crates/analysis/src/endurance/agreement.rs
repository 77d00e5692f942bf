//! Compares the throughputs of runs of different lengths: the ratio of the largest to the smallest.

use crate::autocorrelation;

/// Throughput of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Mean of the throughput.
    pub mean: f64,
    /// Standard error of the mean.
    pub error: f64,
}

/// Difference between the throughputs of runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// Relative difference: largest throughput ÷ smallest, minus 1.
    pub apart: f64,
    /// Interval of `apart`. It covers all pairs of runs at once with 95 % confidence (Bonferroni).
    pub ci95: [f64; 2],
    /// Judgement that follows from the interval.
    pub agreed: MarginResult,
}

measure::word_enum! {
    /// Agreement of runs within a margin.
    pub enum MarginResult {
        /// The whole interval is within the margin.
        Inside = "inside",
        /// The whole interval is beyond the margin.
        Outside = "outside",
        /// The interval includes the margin, so it contains values within the margin and beyond it.
        Inconclusive = "inconclusive" | "untold",
    }
}

/// Returns the difference between the throughputs of runs. A difference up to the share `within` is
/// not important. Returns `None` with fewer than two runs, or if one of the runs did no operations.
pub fn agreement(loads: &[Load], within: f64) -> Option<Agreement> {
    let done: Vec<Load> = loads.iter().copied().filter(|load| load.mean > 0.0).collect();
    let count = done.len();
    if count < 2 || count < loads.len() {
        return None;
    }
    let pairs = (count * (count - 1) / 2) as f64;
    let z = autocorrelation::normal_quantile(1.0 - 0.05 / 2.0 / pairs);
    // Throughputs are compared by their logarithms, whose errors are the relative errors of the
    // throughputs.
    let (mut apart, mut low, mut high) = (0.0_f64, 0.0_f64, 0.0_f64);
    for (number, one) in done.iter().enumerate() {
        for other in &done[number + 1..] {
            let distance = (one.mean / other.mean).ln().abs();
            let half = z * (one.error / one.mean).hypot(other.error / other.mean);
            apart = apart.max(distance);
            low = low.max(distance - half);
            high = high.max(distance + half);
        }
    }
    let ci95 = [low, high].map(f64::exp_m1);
    Some(Agreement {
        apart: apart.exp_m1(),
        ci95,
        agreed: match ci95 {
            [_, high] if high <= within => MarginResult::Inside,
            [low, _] if low > within => MarginResult::Outside,
            _ => MarginResult::Inconclusive,
        },
    })
}
