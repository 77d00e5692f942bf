//! Intervals of percentiles, from the histograms of one window, block by block.
//!
//! Operations are not independent (a pause slows thousands at once), so the binomial interval of
//! order statistics is far too short. The method is Woodruff's (1952, "Confidence intervals for
//! medians and other position measures") with the variance of a ratio over clusters. For each
//! block, this module counts the operations that took longer than the estimated quantile. The
//! spread of these counts over the blocks determines the standard error of the *share* of slower
//! operations, autocorrelation included (see [`mod@crate::autocorrelation`]). This error is never
//! taken as less than the binomial error. The interval of the share is computed on the logit scale,
//! because a small share has a skewed error and cannot fall below zero. The merged histogram then
//! converts the two ends of that interval back to latencies.
//!
//! The latencies belong to one population, whose operations are followed beyond the end of the
//! window. Operations that ended in the drain belong to the last block. A percentile has no
//! interval if it is only a lower bound. It also has none if the upper end of its interval would be
//! a lower bound.

use crate::autocorrelation::{self, Estimate, INCIDENTS_MORE, VALUES_MIN};
use measure::{Histogram, Times};
use std::collections::BTreeMap;

/// Percentiles that every series shows, each with its name in records and its quantile.
pub const QUANTILES: [(&str, f64); 4] =
    [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)];
/// Minimum number of values above a quantile for an interval of the quantile. With fewer values,
/// the tail shows individual incidents, not a distribution.
pub const VALUES_ABOVE_MIN: f64 = 100.0;
/// Maximum half-width of an interval on the logit scale. Above this width, the odds of the two ends
/// differ by more than a factor of e⁴. This happens, for example, if one block of twenty contains
/// the whole tail.
const LOGIT_HALF_MAX: f64 = 2.0;
/// Number of blocks at which neighbouring blocks are joined in pairs. The remaining 32 blocks are
/// enough to estimate the spread between blocks (see [`mod@crate::autocorrelation`]). Because of
/// this limit, a run of any length fits in about 3 MB for each kind of histogram.
const BLOCKS_MAX: usize = 64;
const _: () = assert!(
    BLOCKS_MAX.is_multiple_of(2),
    "pairs require an even number of blocks"
);

/// Histograms of one kind of operation in one window, in blocks.
#[derive(Clone, Debug)]
pub struct Blocks {
    times: Times,
    blocks: Vec<Block>,
    /// Number of intervals in each block. The last block may contain fewer intervals.
    intervals_per_block: usize,
    intervals_in_last: usize,
}

/// Pairs of latency in ns and count for the buckets that are not empty, ordered by latency. A
/// [`Histogram`] takes 290 kB, which is too large for each block.
type Block = Vec<(u64, u64)>;

impl Default for Blocks {
    fn default() -> Self {
        Self::new()
    }
}

impl Blocks {
    /// Returns an empty list of blocks.
    pub fn new() -> Blocks {
        Blocks {
            times: Times::default(),
            blocks: Vec::new(),
            intervals_per_block: 1,
            intervals_in_last: 1,
        }
    }

    /// Adds the histogram of the next interval. All intervals must have the same length.
    pub fn push(&mut self, interval: &Histogram) {
        self.push_times(interval, &Histogram::new());
    }

    /// Adds the histograms of the next interval. `known` contains the known values, and `censored`
    /// contains the lower bounds of unknown values.
    pub fn push_times(&mut self, known: &Histogram, censored: &Histogram) {
        self.times.add(known, censored);
        let values = joined(&values_of(known), &values_of(censored));
        if self.intervals_in_last < self.intervals_per_block {
            let last = self.blocks.pop().unwrap_or_default();
            self.blocks.push(joined(&last, &values));
            self.intervals_in_last += 1;
            return;
        }
        if self.blocks.len() == BLOCKS_MAX {
            self.blocks = self.blocks.chunks(2).map(|pair| joined(&pair[0], &pair[1])).collect();
            self.intervals_per_block *= 2;
        }
        self.blocks.push(values);
        self.intervals_in_last = 1;
    }

    /// Adds the values of operations that ended after the last interval but belong to the window.
    pub fn push_drain(&mut self, known: &Histogram, censored: &Histogram) {
        self.times.add(known, censored);
        let values = joined(&values_of(known), &values_of(censored));
        match self.blocks.last_mut() {
            Some(last) => *last = joined(last, &values),
            None => self.blocks.push(values),
        }
    }

    /// Returns all values of the window in one histogram.
    pub fn histogram(&self) -> &Histogram {
        self.times.all()
    }

    /// Returns all values of the window. Values that are only lower bounds are marked.
    pub fn times(&self) -> &Times {
        &self.times
    }

    /// Returns the 95 % confidence interval of quantile `q`, in ns. Returns `None` with fewer than
    /// [`VALUES_ABOVE_MIN`] values above the quantile, or with fewer than five blocks. Also returns
    /// `None` if so few blocks contain the tail, or may contain it, that the interval has no upper
    /// bound. It is also `None` if the quantile, or the upper end of its interval, is only a lower
    /// bound.
    pub fn quantile_ci95_ns(&self, q: f64) -> Option<[u64; 2]> {
        let merged = self.times.all();
        let count = merged.count() as f64;
        if self.blocks.len() < VALUES_MIN || (1.0 - q) * count < VALUES_ABOVE_MIN {
            return None;
        }
        let value = merged.quantile_ns(q);
        let share = merged.count_above(value) as f64 / count;
        let excess = self.excess(value, share);
        let spread = autocorrelation::mean_estimate(&excess);
        if spread.has_few_incidents() && self.may_lie_in_an_incident(&excess, q) {
            return None;
        }
        let [fewer, more] = self.half_widths(&spread, share);
        if share <= 0.0 || share >= 1.0 || fewer.max(more) > LOGIT_HALF_MAX {
            return None;
        }
        // The buckets of the histogram can shift the actual share above the value, so the interval
        // is centred on the share that belongs to `q`.
        let logit = ((1.0 - q) / q).ln();
        let below = |logit_above: f64| 1.0 / (1.0 + logit_above.exp());
        // If the true share above the estimate is larger, the true quantile is higher.
        let [low, high] = [below(logit + fewer), below(logit - more)];
        let is_at_least = |q: f64| self.times.quantile_ns(q).is_at_least();
        if is_at_least(q) || is_at_least(high) {
            return None;
        }
        Some([merged.quantile_ns(low), merged.quantile_ns(high)])
    }

    /// Returns true if the interval of quantile `q` depends on few incidents. An incident is a
    /// block whose number of values above the quantile differs far from that of most other blocks.
    pub fn has_few_incidents(&self, q: f64) -> bool {
        let all = self.times.all();
        let value = all.quantile_ns(q);
        let share = all.count_above(value) as f64 / all.count().max(1) as f64;
        autocorrelation::mean_estimate(&self.excess(value, share)).has_few_incidents()
    }

    /// Returns true if the worst incident alone, at the highest plausible rate of incidents, could
    /// contribute all values above quantile `q`. Then the true quantile may be as long as an
    /// incident.
    fn may_lie_in_an_incident(&self, excess: &[f64], q: f64) -> bool {
        let worst = excess.iter().copied().fold(0.0, f64::max);
        let often = worst * (1.0 + INCIDENTS_MORE) / self.times.all().count().max(1) as f64;
        often > 1.0 - q
    }

    /// Returns the distances, on the logit scale, by which the true share of values above `value`
    /// may be smaller and larger.
    fn half_widths(&self, spread: &Estimate, share: f64) -> [f64; 2] {
        let count = self.times.all().count() as f64;
        let per_block = count / self.blocks.len() as f64;
        let odds = share * (1.0 - share);
        let binomial = autocorrelation::NORMAL_975 * (odds / count).sqrt();
        let [low, high] = spread.ci95.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
        [spread.mean - low, high - spread.mean]
            .map(|clustered| (clustered / per_block).max(binomial) / odds)
    }

    /// Returns, for each block, the number of values above `value` minus the number expected from
    /// `share`.
    fn excess(&self, value: u64, share: f64) -> Vec<f64> {
        let excess = self.blocks.iter().map(|block| {
            let all: u64 = block.iter().map(|(_, count)| count).sum();
            let from = block.partition_point(|(bucket, _)| *bucket <= value);
            let above: u64 = block[from..].iter().map(|(_, count)| count).sum();
            above as f64 - share * all as f64
        });
        excess.collect()
    }

    /// Returns the number of intervals in each block. The last block may contain fewer intervals.
    pub fn intervals_per_block(&self) -> usize {
        self.intervals_per_block
    }

    /// Calls `of` for each complete block that contains values, in order of time. Returns the
    /// results.
    pub fn each(&self, of: impl Fn(&[(u64, u64)]) -> f64) -> Vec<f64> {
        let is_whole = self.intervals_in_last == self.intervals_per_block;
        let whole = self.blocks.len().saturating_sub(usize::from(!is_whole));
        let blocks = self.blocks[..whole].iter();
        blocks.filter(|block| !block.is_empty()).map(|block| of(block)).collect()
    }

    /// Returns the intervals of the [`QUANTILES`] in ms, with their names in records as keys.
    /// Quantiles without an interval are omitted.
    pub fn ci95_ms(&self) -> BTreeMap<String, [f64; 2]> {
        QUANTILES
            .iter()
            .filter_map(|&(name, q)| {
                let [low, high] = self.quantile_ci95_ns(q)?;
                Some((name.to_owned(), [low as f64 / 1e6, high as f64 / 1e6]))
            })
            .collect()
    }

    /// Returns the names of the [`QUANTILES`] whose intervals depend on few incidents.
    pub fn few_incidents(&self) -> Vec<String> {
        let few =
            |&(_, q): &(&str, f64)| self.quantile_ci95_ns(q).is_some() && self.has_few_incidents(q);
        let named = QUANTILES.iter().copied().filter(few);
        named.map(|(name, _)| name.to_owned()).collect()
    }
}

/// Returns quantile `q` of a block, in ms. A block contains values in ns with their counts, in
/// rising order.
pub fn quantile_ms(block: &[(u64, u64)], q: f64) -> f64 {
    let all: u64 = block.iter().map(|(_, count)| count).sum();
    let rank = (all as f64 * q).ceil().max(1.0) as u64;
    let mut below = 0;
    let mut reaches = block.iter().filter(|(_, count)| {
        below += count;
        below >= rank
    });
    reaches.next().map_or(0.0, |(ns, _)| *ns as f64 / 1e6)
}

pub fn mean_ms(block: &[(u64, u64)]) -> f64 {
    let all: u64 = block.iter().map(|(_, count)| count).sum();
    let sum: f64 = block.iter().map(|(ns, count)| *ns as f64 * *count as f64).sum();
    sum / all.max(1) as f64 / 1e6
}

fn values_of(histogram: &Histogram) -> Block {
    let buckets = histogram.hdr().iter_recorded();
    buckets
        .map(|bucket| {
            (
                bucket.value_iterated_to(),
                bucket.count_since_last_iteration(),
            )
        })
        .collect()
}

fn joined(left: &[(u64, u64)], right: &[(u64, u64)]) -> Block {
    let mut all: Block = Vec::with_capacity(left.len() + right.len());
    all.extend_from_slice(left);
    all.extend_from_slice(right);
    all.sort_unstable_by_key(|(value, _)| *value);
    all.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0 };
        same
    });
    all.shrink_to_fit();
    all
}

#[cfg(test)]
mod tests;
