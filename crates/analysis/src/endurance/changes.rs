//! Change points within a window: where a level gave way to another.
//!
//! Killick, Fearnhead and Eckley 2012, "Optimal detection of changepoints with a linear
//! computational cost" (arXiv 1101.1438): the partition with the least squares beside the means of
//! its parts, each further part at a price. The price is ours, 3 σ² ln n, with σ from first
//! differences, which a level that changes hardly moves. Blocks that follow each other swing: taken
//! as independent, nine in ten series without a change are told to have one (60 values that follow
//! each other by 0.6). So σ is that of their sums, as of an AR(1) series.

use crate::series;
use crate::trend::{line, spaced};

/// Changes that are told, at most: those with the largest gain.
pub const CHANGES_MAX: usize = 5;
/// The least blocks of a level.
const SEGMENT_MIN: usize = 5;
/// The price of a change, in σ² ln n.
const PENALTY: f64 = 3.0;
/// As a share of the mean: of a rate that is held to the operation, a change of a ten-thousandth
/// is one for certain, and nobody's question.
const SIGMA_MIN: f64 = 1e-3;
/// Steps are taken as no larger than so many of their usual ones.
const CLIPPED_AT: f64 = 2.5;
/// More than this a few dozen blocks cannot show.
const CORRELATION_MAX: f64 = 0.8;

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Index of the first block after it.
    pub at: usize,
    /// Mean of the blocks since the change before.
    pub before: f64,
    /// Mean of the blocks until the change after.
    pub after: f64,
}

/// The changes of level, in order; none where one even slope says as much: it would be told as a
/// flight of stairs.
pub fn changes(blocks: &[f64]) -> Vec<Change> {
    let cost = Cost::of(blocks);
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
            cost.of_part(from, to) - cost.of_part(from, at[*index]) - cost.of_part(at[*index], to)
        };
        let least = (0..at.len()).min_by(|a, b| gain(a).total_cmp(&gain(b)));
        at.remove(least.unwrap_or(0));
    }
    let change = |index: usize| {
        let (from, to) = around(&at, index, blocks.len());
        Change {
            at: at[index],
            before: series::mean(&blocks[from..at[index]]),
            after: series::mean(&blocks[at[index]..to]),
        }
    };
    (0..at.len()).map(change).collect()
}

/// From the change before one of `at` to the change after it.
fn around(at: &[usize], index: usize, end: usize) -> (usize, usize) {
    let before = index.checked_sub(1).map_or(0, |before| at[before]);
    (before, at.get(index + 1).copied().unwrap_or(end))
}

/// What a change has to gain.
fn penalty(blocks: &[f64]) -> f64 {
    let sigma = sigma(blocks).max(series::mean(blocks).abs() * SIGMA_MIN);
    PENALTY * sigma * sigma * (blocks.len().max(2) as f64).ln()
}

/// The standard deviation of independent values whose means are as sure as those of the blocks. Of
/// an AR(1) series with correlation ρ the differences have the variance 2 σ² (1 − ρ) and follow
/// each other by −(1 − ρ) / 2; means have (1 + ρ) / (1 − ρ) times the variance of independent
/// values.
fn sigma(blocks: &[f64]) -> f64 {
    let steps: Vec<f64> = blocks.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let (middle, usual) = series::median_and_deviation(&steps);
    // A level that changes is one large step, which would look as if all followed each other.
    let most = CLIPPED_AT * usual;
    let clipped: Vec<f64> = steps.iter().map(|step| (step - middle).clamp(-most, most)).collect();
    let raw = 1.0 + 2.0 * series::autocorrelation(&clipped, 1);
    let rho = series::unbiased(raw, steps.len()).min(CORRELATION_MAX);
    usual * ((1.0 + rho) / 2.0).sqrt() / (1.0 - rho)
}

/// Squares beside the line through all blocks.
fn slope_cost(blocks: &[f64]) -> f64 {
    let slope = line(&spaced(blocks)).slope;
    let left: Vec<f64> = spaced(blocks).into_iter().map(|(at, value)| value - slope * at).collect();
    series::variance(&left) * left.len().saturating_sub(1) as f64
}

/// Squares beside the means of the parts between changes.
fn total(cost: &Cost, at: &[usize]) -> f64 {
    let ends = || at.iter().copied().chain([cost.len()]);
    let begins = [0].into_iter().chain(at.iter().copied());
    begins.zip(ends()).map(|(from, to)| cost.of_part(from, to)).sum()
}

/// Where the parts of the best partition begin, but the first.
fn pelt(cost: &Cost, count: usize, penalty: f64) -> Vec<usize> {
    if count < 2 * SEGMENT_MIN {
        return Vec::new();
    }
    // The least cost of the blocks before each place, and where its last part begins.
    let mut best = vec![(f64::INFINITY, 0); count + 1];
    best[0] = (-penalty, 0);
    let mut candidates = vec![0];
    for end in SEGMENT_MIN..=count {
        let with = |from: &usize| best[*from].0 + cost.of_part(*from, end) + penalty;
        let least = candidates
            .iter()
            .map(|from| (with(from), *from))
            .reduce(|a, b| if b.0 < a.0 { b } else { a })
            .unwrap_or((f64::INFINITY, 0));
        // What is already dearer without a price for the next change can never be the best.
        candidates.retain(|from| best[*from].0 + cost.of_part(*from, end) <= least.0);
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

/// Squares beside the mean of any part, from sums.
struct Cost {
    /// Sums of the values before each place, and of their squares; of what lies beside the mean, so
    /// that large values lose no digits.
    sums: Vec<(f64, f64)>,
}

impl Cost {
    fn of(blocks: &[f64]) -> Cost {
        let mean = series::mean(blocks);
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

    fn of_part(&self, from: usize, to: usize) -> f64 {
        let ((sum_from, squares_from), (sum_to, squares_to)) = (self.sums[from], self.sums[to]);
        let sum = sum_to - sum_from;
        let count = to.saturating_sub(from).max(1) as f64;
        (squares_to - squares_from - sum * sum / count).max(0.0)
    }
}
