//! Adds up histograms of intervals. A histogram is a list of the counts in HdrHistogram's buckets,
//! for values from 1 with three significant digits. Only the few hundred non-empty buckets are
//! visited, because a whole histogram takes 290 kB. Figures are computed as in HdrHistogram.

use crate::record::QuantilesRecord;
use measure::{Histogram, Known};

/// Each value below this limit has a separate bucket. HdrHistogram distinguishes 2 × 10^3 values,
/// rounded up to a power of two.
const SINGLE: u64 = 2048;
/// Base-2 logarithm of the number of buckets for each power of two from [`SINGLE`] on.
const HALF_BITS: u32 = 10;
const HALF: u64 = 1 << HALF_BITS;
/// Quantiles that [`Buckets::quantiles_ms`] returns.
const QUANTILES: [f64; 4] = [0.5, 0.95, 0.99, 0.999];

const WORD: usize = u64::BITS as usize;

/// A bucket, as its number and the number of values in it.
pub(crate) type BucketCount = (u32, u64);

/// Sum of the histograms that were added.
#[derive(Debug, Default)]
pub(crate) struct Buckets {
    /// Number of values in each bucket, indexed by the number of the bucket.
    counts: Vec<u64>,
    /// A bit set with one bit for each bucket. The bit is set if the bucket contains values.
    held: Vec<u64>,
    count: u64,
}

/// Returns the buckets that contain values, in ascending order. The histogram may have any bounds.
pub(crate) fn from_histogram(values: &Histogram) -> Vec<BucketCount> {
    let recorded = values.hdr().iter_recorded();
    recorded
        .map(|b| (bucket_of(b.value_iterated_to()), b.count_at_value()))
        .collect()
}

impl Buckets {
    pub(crate) fn clear(&mut self) {
        for bucket in bits(&self.held) {
            self.counts[bucket] = 0;
        }
        self.held.fill(0);
        self.count = 0;
    }

    /// Adds the buckets of a histogram. The buckets must be in ascending order.
    pub(crate) fn add(&mut self, histogram: &[BucketCount]) {
        let Some((last, _)) = histogram.last() else {
            return;
        };
        let words = *last as usize / WORD + 1;
        if self.held.len() < words {
            self.held.resize(words, 0);
            self.counts.resize(words * WORD, 0);
        }
        for (bucket, count) in histogram {
            let bucket = *bucket as usize;
            self.held[bucket / WORD] |= 1 << (bucket % WORD);
            self.counts[bucket] += count;
            self.count += count;
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Adds the buckets of another sum.
    pub(crate) fn add_buckets(&mut self, other: &Buckets) {
        let held: Vec<BucketCount> = other.held().collect();
        self.add(&held);
    }

    /// Returns the sum of all values in ns, with the middle of its bucket for each value.
    pub(crate) fn sum_ns(&self) -> f64 {
        self.held().map(|(bucket, count)| count as f64 * middle_of(bucket)).sum()
    }

    /// Returns the number of values up to each bound. A bucket counts if its middle is within the
    /// bound. The bounds must be in ascending order.
    pub(crate) fn counts_at_most(&self, bounds_ns: &[u64]) -> Vec<u64> {
        let mut held = self.held().peekable();
        let mut seen = 0;
        let mut counts = Vec::with_capacity(bounds_ns.len());
        for bound in bounds_ns {
            while let Some((_, count)) =
                held.next_if(|(bucket, _)| middle_of(*bucket) <= *bound as f64)
            {
                seen += count;
            }
            counts.push(seen);
        }
        counts
    }

    fn held(&self) -> impl Iterator<Item = BucketCount> {
        bits(&self.held).map(|bucket| (bucket as u32, self.counts[bucket]))
    }

    /// Returns the values at [`QUANTILES`], the mean and the largest value, in ns.
    fn values(&self) -> ([u64; QUANTILES.len()], f64, u64) {
        let mut ranks = QUANTILES.map(|quantile| self.rank(quantile)).into_iter().enumerate();
        let mut next = ranks.next();
        let total = self.count as f64;
        let mut values = [0; QUANTILES.len()];
        let (mut mean, mut seen, mut last) = (0.0, 0, 0);
        for (bucket, count) in self.held() {
            mean += count as f64 * middle_of(bucket) / total;
            seen += count;
            last = bucket;
            while let Some((which, _)) = next.filter(|(_, rank)| seen >= *rank) {
                values[which] = highest_of(bucket);
                next = ranks.next();
            }
        }
        let max = if self.count == 0 { 0 } else { highest_of(last) };
        (values, mean, max)
    }

    /// Returns the rank that HdrHistogram assigns to a quantile.
    fn rank(&self, quantile: f64) -> u64 {
        ((quantile * self.count as f64).ceil() as u64).max(1)
    }

    /// Returns the number of values up to the end of the bucket that contains `value_ns`.
    fn at_most(&self, value_ns: u64) -> u64 {
        let last = bucket_of(value_ns);
        self.held()
            .take_while(|(bucket, _)| *bucket <= last)
            .map(|(_, count)| count)
            .sum()
    }

    /// Returns the mean, the quantiles and the maximum in ms. The values in `censored` are lower
    /// bounds. If the true values could change a figure, that figure is also a lower bound.
    pub(crate) fn quantiles_ms(&self, censored: &Buckets) -> QuantilesRecord {
        let any = censored.count > 0;
        let known = |is_at_least: bool, ns: f64| {
            if is_at_least {
                Known::AtLeast(ns / 1e6)
            } else {
                Known::Exactly(ns / 1e6)
            }
        };
        let (values, mean, max) = self.values();
        let figure = |which: usize| {
            let ns = values[which];
            let seen = || self.at_most(ns) - censored.at_most(ns).min(self.at_most(ns));
            known(any && seen() < self.rank(QUANTILES[which]), ns as f64)
        };
        QuantilesRecord {
            count: self.count,
            mean: known(any, mean),
            p50: figure(0),
            p95: figure(1),
            p99: figure(2),
            p999: figure(3),
            max: known(any, max as f64),
            censored: censored.count,
            ..QuantilesRecord::default()
        }
    }
}

/// Returns the positions of the set bits, in ascending order.
fn bits(words: &[u64]) -> impl Iterator<Item = usize> {
    words.iter().enumerate().flat_map(|(at, word)| {
        let left = |word: &u64| Some(word & (word - 1)).filter(|left| *left != 0);
        let set = Some(*word).filter(|word| *word != 0);
        std::iter::successors(set, left).map(move |word| at * WORD + word.trailing_zeros() as usize)
    })
}

fn bucket_of(value_ns: u64) -> u32 {
    if value_ns < SINGLE {
        return value_ns as u32;
    }
    let shift = u64::BITS - value_ns.leading_zeros() - (HALF_BITS + 1);
    ((shift + 1) << HALF_BITS) + ((value_ns >> shift) - HALF) as u32
}

/// Returns the number of low bits in which the values of one bucket differ.
fn shift_of(bucket: u32) -> u32 {
    (bucket >> HALF_BITS).saturating_sub(1).min(u64::BITS - HALF_BITS - 2)
}

fn lowest_of(bucket: u32) -> u64 {
    if u64::from(bucket) < SINGLE {
        return bucket.into();
    }
    (u64::from(bucket) % HALF + HALF) << shift_of(bucket)
}

fn highest_of(bucket: u32) -> u64 {
    lowest_of(bucket) + (1 << shift_of(bucket)) - 1
}

fn middle_of(bucket: u32) -> f64 {
    (lowest_of(bucket) + ((1 << shift_of(bucket)) >> 1)) as f64
}
