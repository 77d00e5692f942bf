//! The measured window of a trial, divided into intervals, and the records of periods in the
//! window.
//!
//! Invariants: percentiles of a period come from the merged histograms of its intervals. The module
//! reads the log line by line, regardless of its length.

use super::DIGITS;
use analysis::recovery::{FaultTimes, Recovery, Slice};
use anyhow::Result;
use measure::number::round;
use measure::{ClientCount, ClientCounts, Histogram, KindCount, KindCounts, Times};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use store::record::{IntervalRecord, StretchRecord};
use store::{HistogramKind, Trial, convert};

pub struct Window {
    /// Intervals in the form that the analysis uses.
    pub slices: Vec<Slice>,
    /// Other facts about each interval.
    seconds: Vec<Second>,
    /// Names of the kinds of operations that are not parts of other operations.
    kinds: BTreeSet<String>,
    /// Index of each interval, by its start in ms.
    at_ms: BTreeMap<i64, usize>,
}

/// Counters of an interval that its [`Slice`] does not contain.
#[derive(Default)]
struct Second {
    errors: BTreeMap<String, BTreeMap<String, u64>>,
    counts: KindCounts,
    client: ClientCounts,
}

/// Period of the window, given by the indexes of its intervals in ascending order.
pub enum Stretch {
    These(Vec<usize>),
    All(Range<usize>),
}

impl Stretch {
    fn holds(&self, at: usize) -> bool {
        match self {
            Stretch::These(these) => these.binary_search(&at).is_ok(),
            Stretch::All(range) => range.contains(&at),
        }
    }

    fn numbers(&self) -> Vec<usize> {
        match self {
            Stretch::These(these) => these.clone(),
            Stretch::All(range) => range.clone().collect(),
        }
    }
}

/// Converts a time in seconds to ms, which is the precision of the logs.
fn ms(seconds: f64) -> i64 {
    (seconds * 1000.0).round() as i64
}

impl Window {
    /// Reads the window of a trial. `parts` contains the kinds of operations that are parts of
    /// other operations.
    ///
    /// # Errors
    /// A line is damaged.
    pub fn read(trial: &Trial, parts: &[String]) -> Result<Window> {
        let mut window = Window {
            slices: Vec::new(),
            seconds: Vec::new(),
            kinds: BTreeSet::new(),
            at_ms: BTreeMap::new(),
        };
        for line in trial.intervals()? {
            let line = line?;
            if line.phase == "measure" && !parts.contains(&line.kind) {
                window.push(line);
            }
        }
        let mut of: Option<(usize, Histogram)> = None;
        for entry in trial.log(HistogramKind::Latency)? {
            let entry = entry?;
            let Some(at) = window.number(&entry.tag, entry.start_s) else {
                continue;
            };
            match &mut of {
                Some((number, all)) if *number == at => all.add(&entry.histogram()?),
                _ => {
                    window.put_p99(of.replace((at, entry.histogram()?)));
                }
            }
        }
        window.put_p99(of);
        Ok(window)
    }

    fn push(&mut self, line: IntervalRecord) {
        let key = ms(line.t_s);
        let at = *self.at_ms.entry(key).or_insert_with(|| {
            self.slices.push(Slice {
                from_s: line.t_s,
                to_s: line.t_s + line.seconds,
                ..Slice::default()
            });
            self.seconds.push(Second::default());
            self.slices.len() - 1
        });
        let (slice, second) = (&mut self.slices[at], &mut self.seconds[at]);
        slice.ok += line.ok;
        slice.failed += line.errors.values().sum::<u64>();
        slice.retries += line.counts[KindCount::Retries];
        second.counts.add(&line.counts);
        match line.client {
            Some(client) => {
                slice.connections_lost += client.counts[ClientCount::ConnectionsLost];
                second.client.add(&client.counts);
            }
            None => {
                if !line.errors.is_empty() {
                    second.errors.insert(line.kind.clone(), line.errors);
                }
                self.kinds.insert(line.kind);
            }
        }
    }

    fn put_p99(&mut self, of: Option<(usize, Histogram)>) {
        if let Some((at, all)) = of.filter(|(_, all)| !all.is_empty()) {
            self.slices[at].p99_ms = Some(all.quantile_ns(0.99) as f64 / 1e6);
        }
    }

    /// Returns the index of the interval to which a log line belongs. Returns `None` for lines
    /// outside the measured window, and for parts of operations.
    fn number(&self, tag: &str, start_s: f64) -> Option<usize> {
        // In tags of operations outside the measured population, the phase precedes the kind.
        let is_whole = self.kinds.contains(tag);
        is_whole.then(|| self.at_ms.get(&ms(start_s)).copied())?
    }

    /// Returns the three periods before, during and after a fault.
    pub fn stretches(&self, found: &Recovery, fault: &FaultTimes) -> [Stretch; 3] {
        let before = found.before.as_ref().map(|before| before.slices.clone());
        let [during, after] = self.since_injection(fault, found.until_s);
        [Stretch::These(before.unwrap_or_default()), during, after]
    }

    /// Returns two periods: from the injection until all nodes were up again, and from that time
    /// until `until_s`. If not all nodes came up again, the start of the healing replaces that
    /// time.
    pub fn since_injection(&self, fault: &FaultTimes, until_s: f64) -> [Stretch; 2] {
        let over_s = fault.whole_s.or(fault.healing_s).unwrap_or(until_s);
        let past = |at_s: f64| self.slices.partition_point(|slice| slice.to_s <= at_s);
        let end = past(until_s);
        let (begin, over) = (
            past(fault.injected_s),
            past(over_s).saturating_add(1).min(end),
        );
        [
            Stretch::All(begin..over.max(begin)),
            Stretch::All(over.max(begin)..end.max(over)),
        ]
    }

    /// Returns the records of the periods. An element is `None` if its period contains no interval
    /// of the log.
    ///
    /// # Errors
    /// A log is damaged.
    pub fn records(
        &self,
        trial: &Trial,
        stretches: Vec<Stretch>,
    ) -> Result<Vec<Option<StretchRecord>>> {
        let mut sums: Vec<[Histogram; 2]> = Vec::new();
        sums.resize_with(stretches.len(), Default::default);
        let logs = [HistogramKind::Latency, HistogramKind::LatencyCensored];
        for (log, which) in logs.into_iter().enumerate() {
            for entry in trial.log(which)? {
                let entry = entry?;
                let Some(at) = self.number(&entry.tag, entry.start_s) else {
                    continue;
                };
                let of = stretches.iter().zip(&mut sums);
                let mut of = of.filter(|(stretch, _)| stretch.holds(at)).peekable();
                if of.peek().is_some() {
                    let values = entry.histogram()?;
                    of.for_each(|(_, sums)| sums[log].add(&values));
                }
            }
        }
        let records = stretches.iter().zip(sums);
        let record = |(stretch, [all, censored]): (&Stretch, [Histogram; 2])| {
            let numbers = stretch.numbers();
            (!numbers.is_empty()).then(|| StretchRecord {
                latency_ms: convert::times_ms(&Times::from_logs(all, censored)),
                ..self.counts(&numbers)
            })
        };
        Ok(records.map(record).collect())
    }

    /// Returns the record of some intervals, but without latencies.
    fn counts(&self, numbers: &[usize]) -> StretchRecord {
        let mut record = StretchRecord::default();
        for at in numbers {
            let (slice, second) = (&self.slices[*at], &self.seconds[*at]);
            record.seconds += slice.seconds();
            record.ops += slice.ok;
            record.counts.add(&second.counts);
            record.client.add(&second.client);
            for (kind, errors) in &second.errors {
                let of_kind = record.errors.entry(kind.clone()).or_default();
                for (outcome, count) in errors {
                    *of_kind.entry(outcome.clone()).or_default() += count;
                }
            }
        }
        record.ops_per_s = match record.seconds {
            seconds if seconds > 0.0 => round(record.ops as f64 / seconds, DIGITS),
            _ => 0.0,
        };
        record.seconds = round(record.seconds, DIGITS);
        record
    }
}
