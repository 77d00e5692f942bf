//! Whether runs of different lengths did the same: the largest of their throughputs over the least.

use crate::autocorrelation;

/// The throughput of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Its mean.
    pub mean: f64,
    /// The standard error of that.
    pub error: f64,
}

/// How far apart runs are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// The largest throughput over the least, less one.
    pub apart: f64,
    /// Its interval, which holds for all pairs at once with 95 % (Bonferroni).
    pub ci95: [f64; 2],
    /// What it is.
    pub agreed: Agreed,
}

measure::word_enum! {
    /// Whether runs are within a margin of each other.
    pub enum Agreed {
        /// The whole interval is within it.
        Inside = "inside",
        /// The whole interval is beyond it.
        Outside = "outside",
        /// The interval has both sides of it.
        Untold = "untold",
    }
}

/// How far apart the throughputs of runs are, where a share of `within` does not matter; none with
/// fewer than two that did anything.
pub fn agreement(loads: &[Load], within: f64) -> Option<Agreement> {
    let done: Vec<Load> = loads.iter().copied().filter(|load| load.mean > 0.0).collect();
    let count = done.len();
    if count < 2 || count < loads.len() {
        return None;
    }
    let pairs = (count * (count - 1) / 2) as f64;
    let z = autocorrelation::normal_quantile(1.0 - 0.05 / 2.0 / pairs);
    // Ratios are compared by their logarithms, whose errors are the shares.
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
            [_, high] if high <= within => Agreed::Inside,
            [low, _] if low > within => Agreed::Outside,
            _ => Agreed::Untold,
        },
    })
}
