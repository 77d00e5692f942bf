//! The error of percentiles: histograms of one window, block by block.
//!
//! Operations are not independent (a pause slows thousands at once), so the binomial interval of
//! order statistics is far too short. Method (Woodruff 1952, "Confidence intervals for medians and
//! other position measures", with the variance of a ratio over clusters): at the estimated
//! quantile's value, count per block how many operations lie above it; the spread of these counts
//! over the blocks gives the standard error of the *share* above, autocorrelation included
//! (see [`mod@crate::series`]); it is never taken as less than the binomial one. The two shares at
//! the ends of that interval are read back as values from the merged histogram.

use crate::series::{self, VALUES_MIN};
use measure::Histogram;
use std::collections::BTreeMap;

/// The percentiles that every series shows: name in records, quantile.
pub const QUANTILES: [(&str, f64); 4] =
    [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)];
/// Values that must lie above a quantile before it has an interval: with fewer, the tail is a list
/// of incidents.
pub const VALUES_ABOVE_MIN: f64 = 100.0;
/// Blocks are joined in pairs when there are this many, so that a run of any length fits.
const BLOCKS_MAX: usize = 256;

/// The histograms of one kind in one window.
#[derive(Clone, Debug)]
pub struct Blocks {
    merged: Histogram,
    blocks: Vec<Block>,
    /// Intervals in each block but perhaps the last.
    intervals_per_block: usize,
    intervals_in_last: usize,
}

/// Value in ns → count, for the buckets in use only.
type Block = BTreeMap<u64, u64>;

impl Default for Blocks {
    fn default() -> Self {
        Self::new()
    }
}

impl Blocks {
    /// No values.
    pub fn new() -> Blocks {
        Blocks {
            merged: Histogram::new(),
            blocks: Vec::new(),
            intervals_per_block: 1,
            intervals_in_last: 1,
        }
    }

    /// Adds the histogram of the next interval; intervals have the same length.
    pub fn push(&mut self, interval: &Histogram) {
        self.merged.add(interval);
        if self.intervals_in_last == self.intervals_per_block {
            self.join_if_full();
        }
        if self.intervals_in_last == self.intervals_per_block {
            self.blocks.push(Block::new());
            self.intervals_in_last = 0;
        }
        self.intervals_in_last += 1;
        let block = self.blocks.last_mut().expect("one was pushed");
        for bucket in interval.hdr().iter_recorded() {
            *block.entry(bucket.value_iterated_to()).or_default() +=
                bucket.count_since_last_iteration();
        }
    }

    fn join_if_full(&mut self) {
        if self.blocks.len() < BLOCKS_MAX {
            return;
        }
        let mut joined = Vec::with_capacity(BLOCKS_MAX);
        let mut blocks = std::mem::take(&mut self.blocks).into_iter();
        while let Some(mut left) = blocks.next() {
            for (value, count) in blocks.next().unwrap_or_default() {
                *left.entry(value).or_default() += count;
            }
            joined.push(left);
        }
        // BLOCKS_MAX is even: every block is whole again.
        self.blocks = joined;
        self.intervals_per_block *= 2;
        self.intervals_in_last = self.intervals_per_block;
    }

    /// All values of the window in one histogram.
    pub fn histogram(&self) -> &Histogram {
        &self.merged
    }

    /// 95 % confidence interval of quantile `q`, in ns. None with fewer than
    /// [`VALUES_ABOVE_MIN`] values above it, with fewer than five blocks, or when the tail lies in
    /// so few blocks that its end cannot be bounded.
    pub fn quantile_ci95_ns(&self, q: f64) -> Option<[u64; 2]> {
        let count = self.merged.count() as f64;
        if self.blocks.len() < VALUES_MIN || (1.0 - q) * count < VALUES_ABOVE_MIN {
            return None;
        }
        let value = self.merged.quantile_ns(q);
        let share = self.merged.count_above(value) as f64 / count;
        let half = self.share_half_width(value, share);
        // Centred on q itself: the histogram's steps can put the share above some way below.
        let (low, high) = (q - half, q + half);
        if high >= 1.0 {
            return None;
        }
        Some([
            self.merged.quantile_ns(low.max(0.0)),
            self.merged.quantile_ns(high),
        ])
    }

    /// Half the 95 % interval of the share of values above `value`.
    fn share_half_width(&self, value: u64, share: f64) -> f64 {
        let counts: Vec<(f64, f64)> = self
            .blocks
            .iter()
            .map(|block| {
                let above: u64 = block.range(value + 1..).map(|(_, count)| count).sum();
                (above as f64, block.values().sum::<u64>() as f64)
            })
            .collect();
        let excess: Vec<f64> = counts
            .iter()
            .map(|(above, all)| above - share * all)
            .collect();
        let per_block = self.merged.count() as f64 / counts.len() as f64;
        let spread = series::mean_estimate(&excess);
        let clustered = series::t_quantile(0.975, spread.freedom) * spread.standard_error;
        let binomial = (share * (1.0 - share) / self.merged.count() as f64).sqrt();
        (clustered / per_block).max(series::t_quantile(0.975, f64::from(u16::MAX)) * binomial)
    }

    /// The intervals of [`QUANTILES`] in ms, as records hold them; without those that have none.
    pub fn ci95_ms(&self) -> BTreeMap<String, [f64; 2]> {
        QUANTILES
            .iter()
            .filter_map(|&(name, q)| {
                let [low, high] = self.quantile_ci95_ns(q)?;
                Some((name.to_owned(), [low as f64 / 1e6, high as f64 / 1e6]))
            })
            .collect()
    }
}
