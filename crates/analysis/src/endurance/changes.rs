//! Finds change points within a window, at which one level of a series ends and the next begins.
//!
//! The method is that of Killick, Fearnhead and Eckley 2012, "Optimal detection of changepoints
//! with a linear computational cost" (arXiv 1101.1438). The method finds the partition with the
//! least squares around the means of its segments, with a penalty for each further segment. The
//! penalty, 3 σ² ln n for n blocks, is not from the paper. Its σ comes from first differences,
//! which a change of level hardly affects.
//!
//! Consecutive blocks are correlated. If they counted as independent, nine in ten series without a
//! change would appear to have one (60 values with a correlation of 0.6). So σ is the deviation of
//! independent values whose mean is as uncertain as the mean of the AR(1) series of blocks.

use crate::autocorrelation;
use crate::trend::{line, spaced};

/// Maximum number of reported changes. If a series has more changes, the function reports those
/// with the largest gain.
pub const CHANGES_MAX: usize = 5;
/// Minimum number of blocks between two changes.
const SEGMENT_MIN: usize = 5;
/// Penalty of a change, in units of σ² ln n for n blocks.
const PENALTY: f64 = 3.0;
/// Smallest assumed σ, as a share of the mean. Without this minimum, a change of one ten-thousandth
/// of an exactly constant rate would be certain, but such a change is irrelevant.
const SIGMA_MIN: f64 = 1e-3;
/// Limit at which steps between neighbouring blocks are clipped, in multiples of the typical step.
const CLIPPED_AT: f64 = 2.5;
/// Maximum assumed correlation, because a few dozen blocks cannot show a higher one.
const CORRELATION_MAX: f64 = 0.8;

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Index of the first block after the change.
    pub at: usize,
    /// Mean of the blocks between the previous change and this one.
    pub before: f64,
    /// Mean of the blocks between this change and the next one.
    pub after: f64,
}

/// Returns the changes of level, in order of time. The result is empty if a straight line explains
/// the series as well as the changes do. Without this exception, a steady slope would appear as
/// many small steps.
pub fn changes(blocks: &[f64]) -> Vec<Change> {
    let cost = Cost::for_blocks(blocks);
    let penalty = penalty(blocks);
    let mut at = pelt(&cost, blocks.len(), penalty);
    if at.is_empty()
        || slope_cost(blocks) + penalty <= total(&cost, &at) + penalty * at.len() as f64
    {
        return Vec::new();
    }
    while at.len() > CHANGES_MAX {
        let gain = |index: &usize| {
            let (from, to) = around(&at, *index, blocks.len());
            cost.part(from, to) - cost.part(from, at[*index]) - cost.part(at[*index], to)
        };
        let least = (0..at.len()).min_by(|a, b| gain(a).total_cmp(&gain(b)));
        at.remove(least.unwrap_or(0));
    }
    let change = |index: usize| {
        let (from, to) = around(&at, index, blocks.len());
        Change {
            at: at[index],
            before: autocorrelation::mean(&blocks[from..at[index]]),
            after: autocorrelation::mean(&blocks[at[index]..to]),
        }
    };
    (0..at.len()).map(change).collect()
}

fn around(at: &[usize], index: usize, end: usize) -> (usize, usize) {
    let before = index.checked_sub(1).map_or(0, |before| at[before]);
    (before, at.get(index + 1).copied().unwrap_or(end))
}

/// Returns the minimum gain that a change must have.
fn penalty(blocks: &[f64]) -> f64 {
    let sigma = sigma(blocks).max(autocorrelation::mean(blocks).abs() * SIGMA_MIN);
    PENALTY * sigma * sigma * (blocks.len().max(2) as f64).ln()
}

/// Returns the standard deviation of independent values whose mean is as certain as the mean of the
/// blocks. In an AR(1) series with correlation ρ, the differences have the variance 2 σ² (1 − ρ)
/// and the correlation −(1 − ρ) / 2. The means of the series have (1 + ρ) / (1 − ρ) times the
/// variance of means of independent values.
fn sigma(blocks: &[f64]) -> f64 {
    let steps: Vec<f64> = blocks.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let (middle, usual) = autocorrelation::median_and_deviation(&steps);
    // A change of level is one large step, which would look like a correlation if it were not
    // clipped.
    let most = CLIPPED_AT * usual;
    let clipped: Vec<f64> = steps.iter().map(|step| (step - middle).clamp(-most, most)).collect();
    let raw = 1.0 + 2.0 * autocorrelation::autocorrelation(&clipped, 1);
    let rho = autocorrelation::unbiased(raw, steps.len()).min(CORRELATION_MAX);
    usual * ((1.0 + rho) / 2.0).sqrt() / (1.0 - rho)
}

/// Returns the sum of squares around a straight line through all blocks.
fn slope_cost(blocks: &[f64]) -> f64 {
    let slope = line(&spaced(blocks)).slope;
    let left: Vec<f64> = spaced(blocks).into_iter().map(|(at, value)| value - slope * at).collect();
    autocorrelation::variance(&left) * left.len().saturating_sub(1) as f64
}

fn total(cost: &Cost, at: &[usize]) -> f64 {
    let ends = || at.iter().copied().chain([cost.len()]);
    let begins = [0].into_iter().chain(at.iter().copied());
    begins.zip(ends()).map(|(from, to)| cost.part(from, to)).sum()
}

/// Returns the indices of the blocks at which the segments of the best partition begin, except for
/// the first segment.
fn pelt(cost: &Cost, count: usize, penalty: f64) -> Vec<usize> {
    if count < 2 * SEGMENT_MIN {
        return Vec::new();
    }
    // For each index: the least cost of the blocks before the index, and the start of the last
    // segment of these blocks.
    let mut best = vec![(f64::INFINITY, 0); count + 1];
    best[0] = (-penalty, 0);
    let mut candidates = vec![0];
    for end in SEGMENT_MIN..=count {
        let with = |from: &usize| best[*from].0 + cost.part(*from, end) + penalty;
        let least = candidates
            .iter()
            .map(|from| (with(from), *from))
            .reduce(|a, b| if b.0 < a.0 { b } else { a })
            .unwrap_or((f64::INFINITY, 0));
        // A candidate cannot be the best at a later end if its cost exceeds the least cost even
        // without the penalty of its last segment. This is the pruning of PELT.
        candidates.retain(|from| best[*from].0 + cost.part(*from, end) <= least.0);
        best[end] = least;
        let next = end + 1 - SEGMENT_MIN;
        if next >= SEGMENT_MIN {
            candidates.push(next);
        }
    }
    let mut at = Vec::new();
    let mut end = count;
    while best[end].1 > 0 {
        end = best[end].1;
        at.push(end);
    }
    at.reverse();
    at
}

/// Running sums, from which the sum of squares around the mean of any segment follows.
struct Cost {
    /// Sums of the values before each index, and sums of the squared values. The mean is subtracted
    /// first, so that large values lose no digits.
    sums: Vec<(f64, f64)>,
}

impl Cost {
    fn for_blocks(blocks: &[f64]) -> Cost {
        let mean = autocorrelation::mean(blocks);
        let mut sums = vec![(0.0, 0.0)];
        let (mut sum, mut squares) = (0.0, 0.0);
        for value in blocks {
            let beside = value - mean;
            sum += beside;
            squares += beside * beside;
            sums.push((sum, squares));
        }
        Cost { sums }
    }

    fn len(&self) -> usize {
        self.sums.len() - 1
    }

    fn part(&self, from: usize, to: usize) -> f64 {
        let ((sum_from, squares_from), (sum_to, squares_to)) = (self.sums[from], self.sums[to]);
        let sum = sum_to - sum_from;
        let count = to.saturating_sub(from).max(1) as f64;
        (squares_to - squares_from - sum * sum / count).max(0.0)
    }
}
