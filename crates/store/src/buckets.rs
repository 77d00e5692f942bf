//! A histogram as the list of its buckets that hold a value: some hundred numbers where the whole
//! has 290 kB.
//!
//! The buckets are those of HdrHistogram at three digits from 1 on, and the figures are read from
//! them as it reads them.

use crate::record::QuantilesRecord;
use measure::{Histogram, Known};

/// Values below this have a bucket each: HdrHistogram keeps 2 × 10^3 values apart, rounded up to a
/// power of two.
const SINGLE: u64 = 2048;
/// Buckets of each further power of two.
const HALF_BITS: u32 = 10;
const HALF: u64 = 1 << HALF_BITS;
/// The buckets of a histogram that hold a value, by number, with how many each holds.
#[derive(Debug, Default)]
pub(crate) struct Buckets {
    held: Vec<(u32, u64)>,
    count: u64,
}

impl Buckets {
    /// Buckets in ascending order.
    pub(crate) fn of(held: Vec<(u32, u64)>) -> Buckets {
        let count = held.iter().map(|(_, count)| count).sum();
        Buckets { held, count }
    }

    /// The same of a histogram with whatever bounds.
    pub(crate) fn of_histogram(values: &Histogram) -> Buckets {
        let recorded = values.hdr().iter_recorded();
        let held = recorded.map(|b| (bucket_of(b.value_iterated_to()), b.count_at_value()));
        Buckets::of(held.collect())
    }

    /// How many values they hold.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Both together. Which of two lists has the next bucket is as good as random: a branch on it
    /// would be guessed wrong every other time, so there is none.
    pub(crate) fn with(self, other: Buckets) -> Buckets {
        if self.count == 0 {
            return other;
        }
        let mut held = Vec::with_capacity(self.held.len() + other.held.len());
        let (mine, others) = (self.held.as_slice(), other.held.as_slice());
        let (mut at, mut at_other) = (0, 0);
        while let (Some(a), Some(b)) = (mine.get(at), others.get(at_other)) {
            let (is_mine, is_other) = (a.0 <= b.0, b.0 <= a.0);
            let count = a.1 * u64::from(is_mine) + b.1 * u64::from(is_other);
            held.push((a.0.min(b.0), count));
            at += usize::from(is_mine);
            at_other += usize::from(is_other);
        }
        held.extend_from_slice(&mine[at..]);
        held.extend_from_slice(&others[at_other..]);
        Buckets {
            held,
            count: self.count + other.count,
        }
    }

    /// The value at a quantile, in ns.
    fn at(&self, quantile: f64) -> u64 {
        let rank = self.rank(quantile);
        let mut seen = 0;
        for (bucket, count) in &self.held {
            seen += count;
            if seen >= rank {
                return highest_of(*bucket);
            }
        }
        0
    }

    /// The rank that HdrHistogram gives to a quantile.
    fn rank(&self, quantile: f64) -> u64 {
        ((quantile * self.count as f64).ceil() as u64).max(1)
    }

    /// How many are at most so long.
    fn at_most(&self, value_ns: u64) -> u64 {
        let last = bucket_of(value_ns);
        let held = self.held.iter().take_while(|(bucket, _)| *bucket <= last);
        held.map(|(_, count)| count).sum()
    }

    fn mean(&self) -> f64 {
        let total = self.count as f64;
        let held = self.held.iter();
        held.fold(0.0, |sum, (bucket, count)| {
            sum + *count as f64 * middle_of(*bucket) / total
        })
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
        let figure = |quantile: f64| {
            let ns = self.at(quantile);
            let seen = || self.at_most(ns) - censored.at_most(ns).min(self.at_most(ns));
            known(any && seen() < self.rank(quantile), ns as f64)
        };
        let max = self.held.last().map_or(0, |(bucket, _)| highest_of(*bucket));
        QuantilesRecord {
            count: self.count,
            mean: known(any, self.mean()),
            p50: figure(0.5),
            p95: figure(0.95),
            p99: figure(0.99),
            p999: figure(0.999),
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
