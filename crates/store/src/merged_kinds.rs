//! Merges all kinds of operations of an interval, reading the histogram logs one interval at a
//! time.
//!
//! The lines of intervals have separate percentiles for each kind, and percentiles cannot be added.
//! A trial of one day has half a million histograms of 290 kB each. So this module does not decode
//! lines to histograms, but adds the counts in each line to the counts of the interval
//! ([`Buckets`]). Invariant: the figures equal those of
//! [`convert::times_ms`](crate::convert::times_ms) for the sum of the same histograms.

use crate::histogram_buckets::Buckets;
use crate::hlog::{Entry, HlogReader, V2Room};
use crate::record::QuantilesRecord;
use anyhow::Result;
use std::iter::Peekable;

/// Tag prefixes of operations outside the measured population.
const PHASES: [&str; 5] = ["warmup.", "drain.", "load.", "verify.", "measure."];
/// Largest difference between the start times of two lines of the same interval, s. Start times
/// have three decimals.
const SAME_S: f64 = 0.0011;

/// Iterator over the intervals of a log. In each interval, all kinds of operations are merged.
pub struct MergedKinds {
    all: Peekable<HlogReader>,
    censored: Peekable<HlogReader>,
    parts: Vec<String>,
    room: V2Room,
    /// Sums of the current interval. The first sum contains all values, the second only the lower
    /// bounds.
    sums: [Buckets; 2],
}

impl MergedKinds {
    /// Reads the log of all values and the log of the lower bounds. Omits the kinds in `parts`,
    /// because their operations are parts of other operations.
    pub(crate) fn new(all: HlogReader, censored: HlogReader, parts: &[String]) -> MergedKinds {
        MergedKinds {
            all: all.peekable(),
            censored: censored.peekable(),
            parts: parts.to_vec(),
            room: V2Room::default(),
            sums: Default::default(),
        }
    }

    fn read(&mut self) -> Result<Option<(f64, QuantilesRecord)>> {
        loop {
            let Some(first) = self.all.next().transpose()? else {
                return Ok(None);
            };
            let start_s = first.start_s;
            self.sums.iter_mut().for_each(Buckets::clear);
            let mut next = Some(first);
            while let Some(entry) = next {
                self.add(0, &entry)?;
                next = next_of(&mut self.all, start_s)?;
            }
            while let Some(entry) = next_of(&mut self.censored, start_s)? {
                self.add(1, &entry)?;
            }
            let [all, censored] = &self.sums;
            if all.count() > 0 {
                return Ok(Some((start_s, all.quantiles_ms(censored))));
            }
        }
    }

    fn add(&mut self, which: usize, entry: &Entry) -> Result<()> {
        if self.is_part(entry) {
            return Ok(());
        }
        entry.add_to(&mut self.sums[which], &mut self.room)
    }

    fn is_part(&self, entry: &Entry) -> bool {
        let kind = kind_in_tag(&entry.tag);
        self.parts.iter().any(|part| part == kind || *part == entry.tag)
    }
}

/// Returns the kind of operation in a tag. It equals the tag for operations of the measured
/// population.
pub(crate) fn kind_in_tag(tag: &str) -> &str {
    PHASES.iter().find_map(|phase| tag.strip_prefix(*phase)).unwrap_or(tag)
}

/// Returns the next line if it belongs to the interval that begins at `start_s`. Returns a damaged
/// line regardless of the interval.
fn next_of(log: &mut Peekable<HlogReader>, start_s: f64) -> Result<Option<Entry>> {
    let is_of_it = |entry: &Result<Entry>| match entry {
        Ok(entry) => entry.start_s < start_s + SAME_S,
        Err(_) => true,
    };
    log.next_if(is_of_it).transpose()
}

impl Iterator for MergedKinds {
    /// The start of an interval and the figures of all kinds together. The start is in seconds
    /// since the trial's start line, with three decimals. Intervals without values are left out.
    type Item = Result<(f64, QuantilesRecord)>;

    fn next(&mut self) -> Option<Result<(f64, QuantilesRecord)>> {
        self.read().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::times_ms;
    use crate::hlog::HlogWriter;
    use measure::{Histogram, Times};
    use proptest::prelude::*;

    fn histogram(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    /// Writes logs of two equal intervals and reads them. Each entry of `kinds` contains the
    /// histograms of one kind of operation.
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
        let together = MergedKinds::new(open(&all), open(&some), &parts);
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
