//! All kinds of operations of an interval together, read from the histogram logs one interval at a
//! time.
//!
//! The lines of intervals have the percentiles of each kind by itself, and percentiles of kinds do
//! not add. A day has half a million histograms of 290 kB: so a line is not made a [`Histogram`], but
//! the list of its buckets that hold a value. What must hold: the figures are those that
//! [`convert::times_ms`](crate::convert::times_ms) has of the same histograms, added.

use crate::hlog::{Entry, HlogReader, V2Room};
use crate::record::QuantilesRecord;
use anyhow::Result;
use measure::{Histogram, Known};
use std::cmp::Ordering;
use std::iter::Peekable;

/// Values below this have a bucket each: HdrHistogram keeps 2 × 10^3 values apart, rounded up to a
/// power of two.
const SINGLE: u64 = 2048;
/// Buckets of each further power of two.
const HALF_BITS: u32 = 10;
const HALF: u64 = 1 << HALF_BITS;
/// What stands before the kind in the tag of what is no part of the measured population.
const PHASES: [&str; 5] = ["warmup.", "drain.", "load.", "verify.", "measure."];
/// Lines whose begins differ by less, in seconds, are of one interval: they have three digits.
const SAME_S: f64 = 0.0011;

/// The intervals of a log, all kinds of each together.
pub struct Together {
    all: Peekable<HlogReader>,
    censored: Peekable<HlogReader>,
    parts: Vec<String>,
    room: V2Room,
}

impl Together {
    /// Of the log of all values and the log of those that are lower bounds; kinds in `parts` are
    /// left out, since they are parts of operations of other kinds.
    pub(crate) fn new(all: HlogReader, censored: HlogReader, parts: &[String]) -> Together {
        Together {
            all: all.peekable(),
            censored: censored.peekable(),
            parts: parts.to_vec(),
            room: V2Room::default(),
        }
    }

    fn read(&mut self) -> Result<Option<(f64, QuantilesRecord)>> {
        loop {
            let Some(first) = self.all.next().transpose()? else {
                return Ok(None);
            };
            let start_s = first.start_s;
            let mut all = Buckets::default();
            let mut next = Some(first);
            while let Some(entry) = next {
                if !self.is_part(&entry) {
                    all = all.with(entry.buckets(&mut self.room)?);
                }
                next = next_of(&mut self.all, start_s)?;
            }
            let mut censored = Buckets::default();
            while let Some(entry) = next_of(&mut self.censored, start_s)? {
                if !self.is_part(&entry) {
                    censored = censored.with(entry.buckets(&mut self.room)?);
                }
            }
            if all.count > 0 {
                return Ok(Some((start_s, all.quantiles_ms(&censored))));
            }
        }
    }

    fn is_part(&self, entry: &Entry) -> bool {
        let named = |phase: &&str| entry.tag.strip_prefix(*phase);
        let kind = PHASES.iter().find_map(|phase| named(&phase));
        let kind = kind.unwrap_or(&entry.tag);
        self.parts.iter().any(|part| part == kind || *part == entry.tag)
    }
}

/// The next line, if it is of the interval that begins at `start_s`. One that is damaged is of any.
fn next_of(log: &mut Peekable<HlogReader>, start_s: f64) -> Result<Option<Entry>> {
    let is_of_it = |entry: &Result<Entry>| match entry {
        Ok(entry) => entry.start_s < start_s + SAME_S,
        Err(_) => true,
    };
    log.next_if(is_of_it).transpose()
}

impl Iterator for Together {
    /// Begin of an interval in seconds since the trial's start line, to three digits, and the
    /// figures of all kinds together. Intervals without a value are left out.
    type Item = Result<(f64, QuantilesRecord)>;

    fn next(&mut self) -> Option<Result<(f64, QuantilesRecord)>> {
        self.read().transpose()
    }
}

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

    /// Both together.
    fn with(self, other: Buckets) -> Buckets {
        if self.count == 0 {
            return other;
        }
        let mut held = Vec::with_capacity(self.held.len() + other.held.len());
        let (mut mine, mut others) = (self.held.as_slice(), other.held.as_slice());
        while let ([a, rest_a @ ..], [b, rest_b @ ..]) = (mine, others) {
            match a.0.cmp(&b.0) {
                Ordering::Less => {
                    held.push(*a);
                    mine = rest_a;
                }
                Ordering::Greater => {
                    held.push(*b);
                    others = rest_b;
                }
                Ordering::Equal => {
                    held.push((a.0, a.1 + b.1));
                    (mine, others) = (rest_a, rest_b);
                }
            }
        }
        held.extend(mine.iter().chain(others));
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
    fn quantiles_ms(&self, censored: &Buckets) -> QuantilesRecord {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::times_ms;
    use crate::hlog::HlogWriter;
    use measure::Times;
    use proptest::prelude::*;

    fn histogram(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    /// What is in the logs of one interval: a kind each.
    fn read(kinds: &[(&str, Histogram, Histogram)], parts: &[&str]) -> Vec<(f64, QuantilesRecord)> {
        let folder = tempfile::tempdir().unwrap();
        let [all, some] = ["all.hlog", "some.hlog"].map(|name| folder.path().join(name));
        let (mut log, mut bounds) = (
            HlogWriter::create(&all, "test", 0).unwrap(),
            HlogWriter::create(&some, "test", 0).unwrap(),
        );
        for second in [0.0, 1.000_4] {
            for (tag, known, censored) in kinds {
                let mut both = known.clone();
                both.add(censored);
                log.append(tag, second, 1.0, &both).unwrap();
                bounds.append(tag, second, 1.0, censored).unwrap();
            }
        }
        let open = |path| HlogReader::open(path).unwrap();
        let parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
        let together = Together::new(open(&all), open(&some), &parts);
        together.map(Result::unwrap).collect()
    }

    #[test]
    fn parts_are_left_out_in_every_phase_and_seconds_are_kept_apart() {
        let none = Histogram::new;
        let kinds = [
            ("change", histogram(&[5_000]), none()),
            ("read", histogram(&[1_000, 2_000]), none()),
            ("warmup.read", histogram(&[9_000]), none()),
            ("warmup.write", histogram(&[7_000_000]), none()),
        ];
        let seen = read(&kinds, &["read"]);
        let starts: Vec<f64> = seen.iter().map(|(start_s, _)| *start_s).collect();
        assert_eq!(starts, [0.0, 1.0]);
        let expected = times_ms(&Times::from_logs(histogram(&[5_000, 7_000_000]), none()));
        assert_eq!(seen[1].1.count, 2);
        assert_eq!(seen[1].1.p99, expected.p99);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn the_figures_are_those_of_the_histograms_added(
            a in prop::collection::vec(1u64..measure::histogram::HIGHEST_NS, 1..60),
            b in prop::collection::vec(1u64..5_000, 0..60),
            bounds in prop::collection::vec(1u64..10_000_000_000, 0..6)) {
            let (a, b, bounds) = (histogram(&a), histogram(&b), histogram(&bounds));
            let mut times = Times::default();
            times.add(&a, &Histogram::new());
            times.add(&b, &bounds);
            let expected = times_ms(&times);
            let seen = read(&[("a", a, Histogram::new()), ("b", b, bounds)], &[]);
            prop_assert_eq!(seen.len(), 2);
            for (_, seen) in seen {
                prop_assert_eq!(
                    serde_json::to_value(&seen).unwrap(),
                    serde_json::to_value(&expected).unwrap()
                );
            }
        }
    }
}
