//! Histograms of an interval, added: the counts of HdrHistogram's buckets at three digits from 1 on,
//! of which only those between the lowest and the highest value are looked at: some thousand where
//! the whole has 290 kB. The figures are read from them as HdrHistogram reads them.

use crate::record::QuantilesRecord;
use measure::{Histogram, Known};
use std::ops::Range;

/// Values below this have a bucket each: HdrHistogram keeps 2 × 10^3 values apart, rounded up to a
/// power of two.
const SINGLE: u64 = 2048;
/// Buckets of each further power of two.
const HALF_BITS: u32 = 10;
const HALF: u64 = 1 << HALF_BITS;
/// The quantiles of which figures are given.
const QUANTILES: [f64; 4] = [0.5, 0.95, 0.99, 0.999];

/// A bucket's number, and how many values it holds.
pub(crate) type Held = (u32, u64);

/// The sum of histograms.
#[derive(Debug, Default)]
pub(crate) struct Buckets {
    /// By number; all outside of `held` are 0.
    counts: Vec<u64>,
    held: Range<usize>,
    count: u64,
}

/// The buckets of a histogram with whatever bounds that hold a value, in ascending order.
pub(crate) fn of_histogram(values: &Histogram) -> Vec<Held> {
    let recorded = values.hdr().iter_recorded();
    recorded
        .map(|b| (bucket_of(b.value_iterated_to()), b.count_at_value()))
        .collect()
}

impl Buckets {
    /// Makes it the sum of nothing.
    pub(crate) fn clear(&mut self) {
        self.counts[self.held.clone()].fill(0);
        self.held = 0..0;
        self.count = 0;
    }

    /// Adds a histogram's buckets, in ascending order.
    pub(crate) fn add(&mut self, histogram: &[Held]) {
        let ([(first, _), ..], [.., (last, _)]) = (histogram, histogram) else {
            return;
        };
        let (first, end) = (*first as usize, *last as usize + 1);
        self.held = if self.held.is_empty() {
            first..end
        } else {
            self.held.start.min(first)..self.held.end.max(end)
        };
        if self.counts.len() < end {
            self.counts.resize(end, 0);
        }
        for (bucket, count) in histogram {
            self.counts[*bucket as usize] += count;
            self.count += count;
        }
    }

    /// How many values they hold.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The buckets that hold a value, in ascending order.
    fn held(&self) -> impl Iterator<Item = Held> {
        let counts = self.held.clone().zip(&self.counts[self.held.clone()]);
        let held = counts.filter(|(_, count)| **count > 0);
        held.map(|(bucket, count)| (bucket as u32, *count))
    }

    /// The values at [`QUANTILES`] and the mean, in ns.
    fn values(&self) -> ([u64; QUANTILES.len()], f64) {
        let ranks = QUANTILES.map(|quantile| self.rank(quantile));
        let total = self.count as f64;
        let mut values = [0; QUANTILES.len()];
        let (mut mean, mut seen, mut reached) = (0.0, 0, 0);
        for (bucket, count) in self.held() {
            mean += count as f64 * middle_of(bucket) / total;
            seen += count;
            while reached < ranks.len() && seen >= ranks[reached] {
                values[reached] = highest_of(bucket);
                reached += 1;
            }
        }
        (values, mean)
    }

    /// The rank that HdrHistogram gives to a quantile.
    fn rank(&self, quantile: f64) -> u64 {
        ((quantile * self.count as f64).ceil() as u64).max(1)
    }

    /// How many are at most so long.
    fn at_most(&self, value_ns: u64) -> u64 {
        let last = bucket_of(value_ns);
        self.held()
            .take_while(|(bucket, _)| *bucket <= last)
            .map(|(_, count)| count)
            .sum()
    }

    /// The figures in ms, of which those that `censored` could move are lower bounds.
    pub(crate) fn quantiles_ms(&self, censored: &Buckets) -> QuantilesRecord {
        let any = censored.count > 0;
        let known = |is_at_least: bool, ns: f64| {
            if is_at_least {
                Known::AtLeast(ns / 1e6)
            } else {
                Known::Exactly(ns / 1e6)
            }
        };
        let (values, mean) = self.values();
        let figure = |which: usize| {
            let ns = values[which];
            let seen = || self.at_most(ns) - censored.at_most(ns).min(self.at_most(ns));
            known(any && seen() < self.rank(QUANTILES[which]), ns as f64)
        };
        let max = if self.held.is_empty() {
            0
        } else {
            highest_of(self.held.end as u32 - 1)
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

/// The number of the bucket that holds a value in ns.
fn bucket_of(value_ns: u64) -> u32 {
    if value_ns < SINGLE {
        return value_ns as u32;
    }
    let shift = u64::BITS - value_ns.leading_zeros() - (HALF_BITS + 1);
    ((shift + 1) << HALF_BITS) + ((value_ns >> shift) - HALF) as u32
}

/// How many bits the values of a bucket differ in.
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
