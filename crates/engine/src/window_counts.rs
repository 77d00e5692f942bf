//! Adds up the measured window of a trial, and counts the operations for the comparison with the
//! server.

use analysis::autocorrelation;
use analysis::percentile_interval::Blocks;
use analysis::rules::{PresentRows, Window};
use measure::interval::CheckCounts;
use measure::outcome::OutcomeCounts;
use measure::{
    Histogram, Interval, IntervalConsumer, KindCount, KindCounts, KindInterval, Outcome,
    SummedInterval, Times,
};
use store::convert;
use store::record::{QuantilesRecord, SeriesRecord};

/// Errors that leave open whether the server executed the operation.
const UNCERTAIN: [Outcome; 7] = [
    Outcome::ClientTimeout,
    Outcome::ConnectionLost,
    Outcome::WriteTimeout,
    Outcome::ReadTimeout,
    Outcome::WriteFailure,
    Outcome::ReadFailure,
    Outcome::Unavailable,
];

/// Sums over a run of the load generator. Only this type adds up the intervals of a run. Latencies
/// and errors belong to the population: all operations that were due in the window, regardless of
/// when they ended. Throughput and the figures of the client belong to the operations that ended
/// within the window.
#[derive(Debug, Default)]
pub struct WindowCounts {
    /// Sums over the window, in the form that the rules need.
    pub window: Window,
    /// Sums by kind of operation, in the order of the program.
    pub kinds: Vec<Series>,
    /// Sums over all kinds of operations.
    pub all: Series,
    /// Release lag of the client in the window.
    pub lag: Histogram,
    /// Number of operations that ended in the window, regardless of their outcome.
    pub ended: u64,
    /// Number of operations by outcome in the whole run, including operations before the window.
    pub outcomes: OutcomeCounts,
    /// Counts of the operations that the server answered, over the whole run.
    pub answered: AnsweredCounts,
    /// For each kind of operation, true if it writes.
    is_write: Vec<bool>,
    /// Start of the first interval and end of the last one, on the monotonic clock in ns.
    span_ns: Option<(u64, u64)>,
}

/// Sums for one kind of operation, or for all kinds, in the window.
#[derive(Debug, Default)]
pub struct Series {
    latency: Blocks,
    service: Times,
    errors: Histogram,
    ok: u64,
    ops_per_s: Vec<f64>,
    /// Sum of the counts of all intervals. The histograms of this sum remain empty.
    counts: KindInterval,
}

impl WindowCounts {
    /// Returns zero counts for a program. For each kind of operation, `is_write` is true if the
    /// kind writes.
    pub fn new(is_write: &[bool]) -> WindowCounts {
        WindowCounts {
            kinds: is_write.iter().map(|_| Series::default()).collect(),
            is_write: is_write.to_vec(),
            ..WindowCounts::default()
        }
    }

    /// Returns the verified reads of the population.
    pub fn checks(&self) -> &CheckCounts {
        &self.all.counts.checks
    }

    /// Returns the number of retries of the operations in the population.
    pub fn retries(&self) -> u64 {
        self.all.counts.counts[KindCount::Retries]
    }

    /// Returns the successful operations per second in the second half of the window, plus the
    /// failed operations per second in the whole window.
    pub fn later_ended_per_s(&self) -> f64 {
        let rates = &self.window.ops_per_s;
        let failed: u64 = self.window.errors.iter().map(|(_, count)| count).sum();
        autocorrelation::mean(&rates[rates.len() / 2..])
            + failed as f64 / self.window.seconds.max(1e-9)
    }

    /// Returns the number of reads of the kinds that `finds` selects, and how many of these reads
    /// did not find a row.
    pub fn found(&self, finds: &[bool]) -> PresentRows {
        let kinds = self.kinds.iter().zip(finds).filter(|(_, finds)| **finds);
        kinds.fold(PresentRows::default(), |sum, (kind, _)| PresentRows {
            reads: sum.reads + kind.ok,
            nothing: sum.nothing + kind.counts.counts[KindCount::RowsMissing].min(kind.ok),
        })
    }

    /// Returns the length of the whole run, in seconds.
    pub fn run_s(&self) -> f64 {
        let (begin_ns, end_ns) = self.span_ns.unwrap_or_default();
        (end_ns - begin_ns) as f64 / 1e9
    }
}

impl IntervalConsumer for WindowCounts {
    /// Adds the next interval of the run. The first interval begins at the start line.
    fn push(&mut self, summed: &SummedInterval) {
        let interval = &*summed.interval;
        self.window.push(summed);
        for (series, kind) in self.kinds.iter_mut().zip(&interval.kinds) {
            series.push(kind, interval);
        }
        self.all.push(&summed.all, interval);
        self.outcomes.add(&summed.all.outcomes);
        self.answered.push(interval, &self.is_write);
        let (begin_ns, _) = self.span_ns.unwrap_or((interval.start_ns, 0));
        self.span_ns = Some((begin_ns, interval.end_ns));
        if interval.is_measured() {
            self.lag.add(&interval.client.lag);
            self.ended += summed.all.outcomes.total();
        }
    }
}

impl Series {
    fn push(&mut self, kind: &KindInterval, interval: &Interval) {
        let (latency, censored) = (&kind.latency, &kind.censored);
        self.errors.add(&kind.errors);
        self.service.add(&kind.service, &censored.service);
        if interval.is_measured() {
            self.latency.push_times(latency, &censored.latency);
        } else if !latency.is_empty() || !censored.latency.is_empty() {
            self.latency.push_drain(latency, &censored.latency);
        }
        if interval.is_measured() || interval.draining {
            self.counts.add_counts(kind);
        }
        if !interval.is_measured() {
            return;
        }
        let ok = kind.outcomes.get(Outcome::Ok);
        self.ok += ok;
        if interval.seconds() > 0.0 {
            self.ops_per_s.push(ok as f64 / interval.seconds());
        }
    }

    /// Returns true if no operation of this kind was due or ended in the window. An operation that
    /// was due in the window may end later, or never.
    pub fn is_empty(&self) -> bool {
        self.ok == 0 && self.errors.is_empty() && self.latency.histogram().is_empty()
    }

    /// Returns the latencies, by block.
    pub fn latency(&self) -> &Blocks {
        &self.latency
    }

    /// Returns the counts of events, such as retries. Returns `None` if all counts are zero.
    pub fn counts(&self) -> Option<KindCounts> {
        let counts = self.counts.counts;
        (counts != KindCounts::default()).then_some(counts)
    }

    /// Returns the record for `findings.json`. `seconds` is the length of the window.
    pub fn record(&self, seconds: f64) -> SeriesRecord {
        let latency = convert::times_ms(self.latency.times());
        let rate = autocorrelation::mean_estimate(&self.ops_per_s);
        SeriesRecord {
            ops: self.ok,
            ops_per_s: if seconds > 0.0 {
                self.ok as f64 / seconds
            } else {
                0.0
            },
            ops_per_s_ci95: rate.ci95,
            few_incidents: rate.has_few_incidents(),
            latency_ms: QuantilesRecord {
                ci95: self.latency.ci95_ms(),
                few_incidents: self.latency.few_incidents(),
                ..latency
            },
            service_ms: convert::times_ms(&self.service),
            error_ms: convert::quantiles_ms(&self.errors),
        }
    }
}

/// Counts of the operations that the server has executed or may have executed, over all phases of a
/// trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnsweredCounts {
    /// Number of reads that the server executed successfully.
    pub reads: u64,
    /// Number of writes that the server executed successfully.
    pub writes: u64,
    /// Number of operations that the server may or may not have executed.
    pub uncertain: u64,
}

impl AnsweredCounts {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: &AnsweredCounts) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.uncertain += other.uncertain;
    }

    /// Adds an interval. `is_write` contains a flag for each kind of operation, in the order of the
    /// program.
    pub fn push(&mut self, interval: &Interval, is_write: &[bool]) {
        for (kind, is_write) in interval.kinds.iter().zip(is_write) {
            if kind.is_part {
                continue;
            }
            let ok = kind.outcomes.get(Outcome::Ok);
            *(if *is_write {
                &mut self.writes
            } else {
                &mut self.reads
            }) += ok;
            let uncertain = UNCERTAIN.iter().map(|outcome| kind.outcomes.get(*outcome));
            self.uncertain += uncertain.sum::<u64>() + kind.extra_uncertain;
            self.reads = self.reads.saturating_add_signed(kind.extra_reads);
            self.writes = self.writes.saturating_add_signed(kind.extra_writes);
        }
    }
}

#[cfg(test)]
mod population;

#[cfg(test)]
mod tests {
    use super::*;

    fn summed(index: u64, draining: bool, ok: u64, failed: u64) -> SummedInterval {
        let mut kind = KindInterval::default();
        kind.succeed(false, 1_000_000, 900_000, ok);
        for _ in 0..failed {
            let (latency_ns, service_ns) = (5_000_000, Some(4_000_000));
            kind.fail(false, Outcome::ClientTimeout, latency_ns, service_ns);
        }
        let interval = Interval {
            draining,
            ..Interval::second(index, vec![kind])
        };
        SummedInterval::new(interval.into())
    }

    #[test]
    fn the_drain_gives_latencies_and_errors_but_no_throughput() {
        let mut counts = WindowCounts::new(&[true]);
        counts.push(&summed(0, false, 100, 0));
        counts.push(&summed(1, false, 100, 1));
        counts.push(&summed(2, true, 7, 2));
        let record = counts.all.record(counts.window.seconds);
        assert_eq!((counts.window.seconds, counts.ended), (2.0, 201));
        assert_eq!((record.ops, record.ops_per_s), (200, 100.0));
        // For an operation that timed out, the timeout is a lower bound of its latency.
        assert_eq!((record.latency_ms.count, record.error_ms.count), (210, 3));
        assert_eq!(
            (record.latency_ms.censored, record.service_ms.censored),
            (3, 3)
        );
        assert_eq!(record.latency_ms.at_least(), ["p99", "p999", "mean", "max"]);
        assert_eq!(counts.window.errors_of(Outcome::ClientTimeout), 3);
    }

    /// In one recording, the only deletion ended a millisecond after the window, so the findings of
    /// an earlier version contained no deletion.
    #[test]
    fn a_kind_with_one_late_operation_is_counted() {
        let mut counts = WindowCounts::new(&[true]);
        counts.push(&summed(0, false, 0, 0));
        assert!(counts.kinds[0].is_empty());
        counts.push(&summed(1, true, 1, 0));
        assert!(!counts.kinds[0].is_empty());
        assert_eq!(counts.kinds[0].record(1.0).ops, 0);

        let mut counts = WindowCounts::new(&[true]);
        let mut never_sent = KindInterval::default();
        never_sent.leave_unsent(7, 1);
        let drain = Interval {
            draining: true,
            ..Interval::second(1, vec![never_sent])
        };
        counts.push(&SummedInterval::new(drain.into()));
        assert!(!counts.kinds[0].is_empty());
    }

    /// The memory of the counts does not grow, because histograms have a fixed size, and the number
    /// of blocks is always 64. See `analysis::percentile_interval`.
    #[test]
    fn of_a_day_a_few_numbers_a_second_are_kept() {
        const DAY_S: usize = 86_400;
        let mut counts = WindowCounts::new(&[true]);
        let seconds = 100;
        for index in 0..seconds {
            counts.push(&summed(index, false, 10, 0));
        }
        let series = counts.kinds.iter().chain([&counts.all]);
        let rates: usize = series.map(|series| series.ops_per_s.len()).sum();
        let window = counts.window.ops_per_s.len() + counts.window.quiet_s.len();
        let a_second = (rates + window) / seconds as usize;
        assert!(
            a_second * DAY_S * size_of::<f64>() < 4_000_000,
            "{a_second}"
        );
    }

    #[test]
    fn uncertain_operations_are_counted_apart() {
        let mut answered = AnsweredCounts::default();
        answered.push(&summed(0, false, 10, 3).interval, &[true]);
        answered.push(&summed(1, true, 5, 0).interval, &[false]);
        let expected = AnsweredCounts {
            reads: 5,
            writes: 10,
            uncertain: 3,
        };
        assert_eq!(answered, expected);
    }
}
