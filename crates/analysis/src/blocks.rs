//! The error of percentiles: histograms of one window, block by block.
//!
//! Operations are not independent (a pause slows thousands at once), so the binomial interval of
//! order statistics is far too short. Method (Woodruff 1952, "Confidence intervals for medians and
//! other position measures", with the variance of a ratio over clusters): at the estimated
//! quantile's value, count per block how many operations lie above it; the spread of these counts
//! over the blocks gives the standard error of the *share* above, autocorrelation included
//! (see [`mod@crate::series`]); it is never taken as less than the binomial one. The interval of
//! the share is made on the logit scale, since a small share has a skewed error and cannot fall
//! below zero. The two shares at its ends are read back as values from the merged histogram.
//!
//! The values are those of one population, which is followed beyond the window's end: what ended in
//! the drain belongs to the last block. A percentile that is only a lower bound has no interval,
//! nor has one whose upper end would be.

use crate::series::{self, VALUES_MIN};
use measure::{Histogram, Times};
use std::collections::BTreeMap;

/// The percentiles that every series shows: name in records, quantile.
pub const QUANTILES: [(&str, f64); 4] =
    [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)];
/// Values that must lie above a quantile before it has an interval: with fewer, the tail is a list
/// of incidents.
pub const VALUES_ABOVE_MIN: f64 = 100.0;
/// The interval's half-width on the logit scale above which there is none: the odds of the ends
/// then differ by more than e⁴, as when the whole tail lies in one block of twenty.
const LOGIT_HALF_MAX: f64 = 2.0;
/// Quantile 0.975 of the normal distribution.
const NORMAL_975: f64 = 1.96;
/// Blocks are joined in pairs when there are this many: 32 are enough for their spread (see
/// [`mod@crate::series`]), and a run of any length then fits in about 3 MB a histogram.
const BLOCKS_MAX: usize = 64;
const _: () = assert!(BLOCKS_MAX.is_multiple_of(2), "joined blocks must be whole");

/// The histograms of one kind in one window.
#[derive(Clone, Debug)]
pub struct Blocks {
    times: Times,
    blocks: Vec<Block>,
    /// Intervals in each block but perhaps the last.
    intervals_per_block: usize,
    intervals_in_last: usize,
}

/// (Value in ns, count), by value, for the buckets in use only: a histogram's 290 kB would not do.
type Block = Vec<(u64, u64)>;

impl Default for Blocks {
    fn default() -> Self {
        Self::new()
    }
}

impl Blocks {
    /// No values.
    pub fn new() -> Blocks {
        Blocks {
            times: Times::default(),
            blocks: Vec::new(),
            intervals_per_block: 1,
            intervals_in_last: 1,
        }
    }

    /// Adds the histogram of the next interval; intervals have the same length.
    pub fn push(&mut self, interval: &Histogram) {
        self.push_times(interval, &Histogram::new());
    }

    /// Adds the next interval: values that are known, and lower bounds of those that are not.
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
            self.blocks = self
                .blocks
                .chunks(2)
                .map(|pair| joined(&pair[0], &pair[1]))
                .collect();
            self.intervals_per_block *= 2;
        }
        self.blocks.push(values);
        self.intervals_in_last = 1;
    }

    /// Adds what ended after the last interval and belongs to the window all the same.
    pub fn push_drain(&mut self, known: &Histogram, censored: &Histogram) {
        self.times.add(known, censored);
        let values = joined(&values_of(known), &values_of(censored));
        match self.blocks.last_mut() {
            Some(last) => *last = joined(last, &values),
            None => self.blocks.push(values),
        }
    }

    /// All values of the window in one histogram.
    pub fn histogram(&self) -> &Histogram {
        self.times.all()
    }

    /// All values of the window, and which of them are lower bounds.
    pub fn times(&self) -> &Times {
        &self.times
    }

    /// 95 % confidence interval of quantile `q`, in ns. None with fewer than
    /// [`VALUES_ABOVE_MIN`] values above it, with fewer than five blocks, or when the tail lies in
    /// so few blocks that its end cannot be bounded.
    pub fn quantile_ci95_ns(&self, q: f64) -> Option<[u64; 2]> {
        let merged = self.times.all();
        let count = merged.count() as f64;
        if self.blocks.len() < VALUES_MIN || (1.0 - q) * count < VALUES_ABOVE_MIN {
            return None;
        }
        let value = merged.quantile_ns(q);
        let share = merged.count_above(value) as f64 / count;
        let [fewer, more] = self.half_widths(value, share);
        if share <= 0.0 || share >= 1.0 || fewer.max(more) > LOGIT_HALF_MAX {
            return None;
        }
        // Centred on q itself: the histogram's steps can put the share above some way below.
        let logit = ((1.0 - q) / q).ln();
        let below = |logit_above: f64| 1.0 / (1.0 + logit_above.exp());
        // More above the value that was read as the quantile: the true one lies higher.
        let [low, high] = [below(logit + fewer), below(logit - more)];
        if self.times.is_at_least(q) || self.times.is_at_least(high) {
            return None;
        }
        Some([merged.quantile_ns(low), merged.quantile_ns(high)])
    }

    /// How much smaller and larger the share of values above `value` may be, on the logit scale.
    fn half_widths(&self, value: u64, share: f64) -> [f64; 2] {
        let counts: Vec<(f64, f64)> = self
            .blocks
            .iter()
            .map(|block| {
                let all: u64 = block.iter().map(|(_, count)| count).sum();
                let from = block.partition_point(|(bucket, _)| *bucket <= value);
                let above: u64 = block[from..].iter().map(|(_, count)| count).sum();
                (above as f64, all as f64)
            })
            .collect();
        let excess: Vec<f64> = counts
            .iter()
            .map(|(above, all)| above - share * all)
            .collect();
        let count = self.times.all().count() as f64;
        let per_block = count / counts.len() as f64;
        let spread = series::mean_estimate(&excess);
        let odds = share * (1.0 - share);
        let binomial = NORMAL_975 * (odds / count).sqrt();
        let [low, high] = spread.ci95.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
        [spread.mean - low, high - spread.mean]
            .map(|clustered| (clustered / per_block).max(binomial) / odds)
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

/// The values of both, by value.
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
mod tests {
    use super::*;
    use crate::synthetic::Chance;

    /// Sixty seconds of 500 exponential latencies whose scale drifts from second to second.
    fn window(chance: &mut Chance, phi: f64, swing: f64) -> Blocks {
        let mut blocks = Blocks::new();
        for level in chance.autocorrelated(60, phi) {
            let mut second = Histogram::new();
            for _ in 0..500 {
                let value_ms = -chance.uniform().ln() * (swing * level).exp();
                second.record((value_ms * 1e6) as u64);
            }
            blocks.push(&second);
        }
        blocks
    }

    /// The true quantile of that mixture, from far more values than any window has.
    fn truth(q: f64, swing: f64) -> f64 {
        let mut chance = Chance(99);
        let mut all = Histogram::new();
        for _ in 0..8_000 {
            let scale = (swing * chance.normal()).exp();
            (0..100).for_each(|_| all.record((-chance.uniform().ln() * scale * 1e6) as u64));
        }
        all.quantile_ns(q) as f64
    }

    #[test]
    fn coverage_of_percentiles_is_near_95_percent() {
        let mut chance = Chance(11);
        for (phi, swing, least) in [(0.0, 0.0, 0.92), (0.0, 0.2, 0.90), (0.5, 0.2, 0.87)] {
            let windows = 100;
            let made: Vec<Blocks> = (0..windows)
                .map(|_| window(&mut chance, phi, swing))
                .collect();
            for q in [0.5, 0.99] {
                let truth = truth(q, swing);
                let intervals: Vec<[u64; 2]> = made
                    .iter()
                    .filter_map(|blocks| blocks.quantile_ci95_ns(q))
                    .collect();
                // Rarely does a window look so correlated that nothing can be said.
                assert!(
                    intervals.len() * 20 >= made.len() * 19,
                    "{}",
                    intervals.len()
                );
                let hits = intervals.iter().filter(|[low, high]| {
                    *low as f64 <= truth * 1.001 && truth <= *high as f64 * 1.001
                });
                let coverage = hits.count() as f64 / intervals.len() as f64;
                println!("phi {phi} swing {swing} q {q}: coverage {coverage:.3}");
                assert!(
                    coverage >= least,
                    "phi {phi} swing {swing} q {q}: {coverage}"
                );
            }
        }
    }

    #[test]
    fn swings_between_seconds_make_the_interval_longer() {
        let width = |swing: f64| {
            let [low, high] = window(&mut Chance(5), 0.5, swing)
                .quantile_ci95_ns(0.5)
                .unwrap();
            high - low
        };
        assert!(width(0.2) > 2 * width(0.0), "{} {}", width(0.2), width(0.0));
    }

    #[test]
    fn a_percentile_with_under_100_values_above_it_has_no_interval() {
        let mut blocks = Blocks::new();
        let mut chance = Chance(1);
        for _ in 0..10 {
            let mut second = Histogram::new();
            (0..2000).for_each(|_| second.record((chance.uniform() * 1e6) as u64));
            blocks.push(&second);
        }
        // 20,000 values: 200 above p99, 20 above p99.9.
        let intervals = blocks.ci95_ms();
        assert_eq!(intervals.keys().collect::<Vec<_>>(), ["p50", "p95", "p99"]);
    }

    #[test]
    fn a_tail_that_lies_in_one_second_cannot_be_bounded() {
        let mut blocks = Blocks::new();
        for second in 0..20u64 {
            let mut values = Histogram::new();
            (0..1000).for_each(|n| values.record(1_000_000 + n));
            (0..u64::from(second == 7) * 300).for_each(|n| values.record((900 + n) * 1_000_000));
            blocks.push(&values);
        }
        assert!(blocks.quantile_ci95_ns(0.5).is_some());
        assert_eq!(blocks.quantile_ci95_ns(0.99), None);
    }

    #[test]
    fn a_long_run_keeps_few_blocks_and_every_value() {
        let mut blocks = Blocks::new();
        for second in 0..1000u64 {
            let mut values = Histogram::new();
            (0..10).for_each(|n| values.record(1000 + second * 7 + n * 100));
            blocks.push(&values);
            assert!(blocks.blocks.len() <= BLOCKS_MAX);
        }
        let kept: u64 = blocks.blocks.iter().flatten().map(|(_, count)| count).sum();
        assert_eq!((kept, blocks.histogram().count()), (10_000, 10_000));
        // Every block but the last holds as many intervals as any other.
        let sizes: Vec<u64> = blocks
            .blocks
            .iter()
            .map(|block| block.iter().map(|(_, n)| n).sum())
            .collect();
        assert!(
            sizes[..sizes.len() - 1]
                .iter()
                .all(|size| *size == sizes[0]),
            "{sizes:?}"
        );
    }
}
