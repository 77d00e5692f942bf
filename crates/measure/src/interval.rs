//! One interval of a run, which is one second long by default. It contains the results of every
//! kind of operation, and the client's own figures.
//!
//! Long because the file defines and explains every counter.
//!
//! Invariant: the measured *population* is every operation whose intended start is in the window,
//! regardless of when it ends. Operations that were due before the window are *early*, and an
//! interval counts them separately. So no later step has to separate them.

use crate::Histogram;
use crate::clock::SECOND_NS;
use crate::counts::counters;
use crate::outcome::{Outcome, OutcomeCounts};
use std::sync::Arc;

/// Results of one interval, merged over all workers.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Number of the interval, counted from 0 at the start line.
    pub index: u64,
    /// Start of the interval on the monotonic clock, in ns.
    pub start_ns: u64,
    /// End of the interval on the monotonic clock, in ns. The last interval of a run (the drain)
    /// may be shorter or longer than the others.
    pub end_ns: u64,
    /// Start of the measured window on the monotonic clock, in ns. It is 0 if the window begins
    /// with the run, and [`u64::MAX`] while the start is not known yet.
    pub window_from_ns: u64,
    /// True in the drain. No further operation becomes due. The client only sends operations that
    /// are already due, and waits for responses.
    pub draining: bool,
    /// Results of each kind of operation, in the order of the program.
    pub kinds: Vec<KindInterval>,
    /// Figures of the client itself.
    pub client: ClientInterval,
}

impl Interval {
    /// Returns second `index` of a run that began at 0 and is measured from the beginning. Tests
    /// change single fields of this interval.
    pub fn second(index: u64, kinds: Vec<KindInterval>) -> Interval {
        Interval {
            index,
            start_ns: index * SECOND_NS,
            end_ns: (index + 1) * SECOND_NS,
            window_from_ns: 0,
            draining: false,
            kinds,
            client: ClientInterval::default(),
        }
    }

    /// Returns the length of the interval in seconds.
    pub fn seconds(&self) -> f64 {
        (self.end_ns - self.start_ns) as f64 / 1e9
    }

    /// Returns true if the whole interval is in the measured window.
    pub fn is_measured(&self) -> bool {
        !self.draining && self.start_ns >= self.window_from_ns
    }

    /// Returns the number of operations that ended in the interval, with any outcome. A part of an
    /// operation does not count in addition to the whole operation.
    pub fn ended(&self) -> u64 {
        self.whole_kinds().map(|kind| kind.outcomes.total()).sum()
    }

    /// Returns the kinds that count whole operations. A sum over kinds must use only these kinds,
    /// because the figures of a whole operation already include its parts.
    pub fn whole_kinds(&self) -> impl Iterator<Item = &KindInterval> {
        self.kinds.iter().filter(|kind| !kind.is_part)
    }
}

/// An interval with the sum over its kinds. The sum is computed once, and then used several times.
#[derive(Clone, Debug)]
pub struct SummedInterval {
    /// The interval, with its separate kinds.
    pub interval: Arc<Interval>,
    /// Sum over the kinds that count whole operations.
    pub all: KindInterval,
}

impl SummedInterval {
    /// Adds up the kinds of an interval that count whole operations.
    pub fn new(interval: Arc<Interval>) -> SummedInterval {
        let mut all = KindInterval::default();
        interval.whole_kinds().for_each(|kind| all.add(kind));
        SummedInterval { interval, all }
    }

    /// Returns the number of successful operations per second. Returns 0 for an interval without
    /// length.
    pub fn ok_per_s(&self) -> f64 {
        let seconds = self.interval.seconds();
        let ok = self.all.outcomes.get(Outcome::Ok) as f64;
        if seconds > 0.0 { ok / seconds } else { 0.0 }
    }

    /// Returns the p99 of the latencies of all successes in ms.
    pub fn p99_ms(&self) -> f64 {
        self.all.latency_of_all().quantile_ns(0.99) as f64 / 1e6
    }
}

/// A reader of the intervals of a load, such as a sum or a series.
pub trait IntervalConsumer {
    /// Takes the next interval. The caller passes each interval once, in order of time.
    fn push(&mut self, summed: &SummedInterval);
}

/// Results of one kind of operation in one interval.
#[derive(Clone, Debug, Default)]
pub struct KindInterval {
    /// True if this kind only counts parts of other kinds' operations, such as the read within a
    /// read-modify-write. Sums over kinds must exclude such a kind.
    pub is_part: bool,
    /// Latencies of successes of the population, from the intended start to the response, in ns.
    pub latency: Histogram,
    /// Service times of successes of the population, from the actual send to the response, in ns.
    pub service: Histogram,
    /// Latencies of failures of the population, from the intended start to the time at which the
    /// client noticed the failure, in ns.
    pub errors: Histogram,
    /// Operations of the population that the client stopped following before they ended.
    pub censored: CensoredCounts,
    /// Results of operations that were due before the window and ended in this interval.
    pub early: Early,
    /// Outcomes of all operations that ended in this interval, including early operations.
    pub outcomes: OutcomeCounts,
    /// Other counters of the same operations.
    pub counts: KindCounts,
    /// Number of additional reads that servers answered, beyond one for each successful operation
    /// of a kind that reads. Examples are further pages, reads within a chain, and conditions. The
    /// client's count plus this number can be compared with the servers' counts.
    pub extra_reads: i64,
    /// Number of writes that servers answered in addition to one for each successful operation of a
    /// kind that writes. The number is negative if the server counted conditional writes as reads.
    pub extra_writes: i64,
    /// Number of attempts without a separate outcome that a server may have executed. These are
    /// failed attempts that were retried, and attempts that were slower than a speculative attempt.
    pub extra_uncertain: u64,
    /// Results of comparing reads with the rows that the seed predicts.
    pub checks: CheckCounts,
}

crate::word_enum! {
    /// A counter of a kind of operation, in addition to outcomes and times. The word of the variant
    /// is its name in records.
    pub enum KindCount {
        /// Number of rows read.
        Rows = "rows",
        /// Number of pages read by statements that read in pages.
        Pages = "pages",
        /// Number of statements in successful batches, in addition to one for each batch.
        Batched = "batched",
        /// Number of conditional statements whose condition was met.
        Applied = "applied",
        /// Number of conditional statements whose condition was not met. Each is a success that
        /// wrote nothing.
        NotApplied = "not_applied",
        /// Number of attempts of an operation after a failed attempt.
        Retries = "retries",
        /// Number of speculative attempts, which the client sends if an earlier attempt has no
        /// response for too long.
        Speculations = "speculations",
        /// Number of speculative attempts that were answered first.
        SpeculationsWon = "speculations_won",
        /// Number of reads that ended without a row.
        RowsMissing = "rows_missing",
        /// Number of requests sent again because the server no longer had the prepared statement.
        Reprepared = "reprepared",
    }
}

counters! {
    /// Counters of a kind of operation, in addition to outcomes and times.
    pub struct KindCounts([u64; KindCount]);
}

/// Operations of the population that the client stopped waiting for, or never sent. Their times are
/// lower bounds.
#[derive(Clone, Debug, Default)]
pub struct CensoredCounts {
    /// Time since the intended start, in ns.
    pub latency: Histogram,
    /// Time since the actual send, in ns. Operations that were never sent are not included.
    pub service: Histogram,
}

/// Operations that were due before the measured window. Until the start of the window is known, all
/// operations count as early.
#[derive(Clone, Debug, Default)]
pub struct Early {
    /// Latencies of successes, from the intended start to the response, in ns.
    pub latency: Histogram,
    /// Service times of successes, from the actual send to the response, in ns.
    pub service: Histogram,
    /// Latencies of failures, from the intended start to the time at which the client noticed the
    /// failure, in ns.
    pub errors: Histogram,
    /// Outcomes of the early operations.
    pub outcomes: OutcomeCounts,
}

impl KindInterval {
    /// Allocates the histograms of successes, so that recording a success never allocates. The
    /// first failure and the first censored operation still allocate memory.
    pub fn make_room(&mut self) {
        self.latency = Histogram::with_room();
        self.service = Histogram::with_room();
        self.early.latency = Histogram::with_room();
        self.early.service = Histogram::with_room();
    }

    /// Records `count` successful operations with the same latency and service time.
    #[inline]
    pub fn succeed(&mut self, is_early: bool, latency_ns: u64, service_ns: u64, count: u64) {
        self.outcomes.add_many(Outcome::Ok, count);
        if is_early {
            self.early.outcomes.add_many(Outcome::Ok, count);
            self.early.latency.record_n(latency_ns, count);
            self.early.service.record_n(service_ns, count);
        } else {
            self.latency.record_n(latency_ns, count);
            self.service.record_n(service_ns, count);
        }
    }

    /// Records a failed operation. `service_ns` is `None` if the operation was never sent.
    pub fn fail(
        &mut self,
        is_early: bool,
        outcome: Outcome,
        latency_ns: u64,
        service_ns: Option<u64>,
    ) {
        self.outcomes.add_one(outcome);
        if is_early {
            self.early.outcomes.add_one(outcome);
            self.early.errors.record(latency_ns);
            return;
        }
        self.errors.record(latency_ns);
        if outcome.is_censored() {
            self.censored.latency.record(latency_ns);
            if let Some(service_ns) = service_ns {
                self.censored.service.record(service_ns);
            }
        }
    }

    /// Records `count` operations of the population that were not sent, `latency_ns` after they
    /// were due.
    pub fn leave_unsent(&mut self, latency_ns: u64, count: u64) {
        self.censored.latency.record_n(latency_ns, count);
    }

    /// Returns the number of operations of the population with this outcome.
    pub fn outcomes_of_population(&self, outcome: Outcome) -> u64 {
        self.outcomes.get(outcome) - self.early.outcomes.get(outcome)
    }

    /// Returns the latencies of all successes of the interval, including early operations. Time
    /// series use these latencies.
    pub fn latency_of_all(&self) -> Histogram {
        let mut all = self.latency.clone();
        all.add(&self.early.latency);
        all
    }

    /// Adds the results of another worker in the same interval.
    pub fn add(&mut self, other: &KindInterval) {
        self.latency.add(&other.latency);
        self.service.add(&other.service);
        self.errors.add(&other.errors);
        self.censored.latency.add(&other.censored.latency);
        self.censored.service.add(&other.censored.service);
        self.early.latency.add(&other.early.latency);
        self.early.service.add(&other.early.service);
        self.early.errors.add(&other.early.errors);
        self.early.outcomes.add(&other.early.outcomes);
        self.outcomes.add(&other.outcomes);
        self.add_counts(other);
    }

    /// Adds the counters of `other`, but not its latencies and outcomes.
    pub fn add_counts(&mut self, other: &KindInterval) {
        self.counts.add(&other.counts);
        self.extra_reads += other.extra_reads;
        self.extra_writes += other.extra_writes;
        self.extra_uncertain += other.extra_uncertain;
        self.checks.add(&other.checks);
    }

    /// Removes all results, but keeps the memory. `is_part` does not change.
    pub fn clear(&mut self) {
        self.latency.clear();
        self.service.clear();
        self.errors.clear();
        self.censored.latency.clear();
        self.censored.service.clear();
        self.early.latency.clear();
        self.early.service.clear();
        self.early.errors.clear();
        self.early.outcomes = OutcomeCounts::default();
        self.outcomes = OutcomeCounts::default();
        self.counts = KindCounts::default();
        self.extra_reads = 0;
        self.extra_writes = 0;
        self.extra_uncertain = 0;
        self.checks = CheckCounts::default();
    }
}

/// Results of verified reads, as numbers of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckCounts {
    /// Number of responses that were compared with the expected rows.
    pub checked: u64,
    /// Number of rows that must exist but were not found. With a ledger of acknowledged writes,
    /// rows without an acknowledged write are omitted.
    pub missing: u64,
    /// Number of missing rows whose write was acknowledged according to a ledger. Their data was
    /// lost.
    pub lost: u64,
    /// Number of rows that were missing or outdated because the expected write was never
    /// acknowledged. According to a ledger, this write was never sent, or it failed. This is not an
    /// error.
    pub never_written: u64,
    /// Number of rows with a value that was once right, but should have been overwritten.
    pub stale: u64,
    /// Number of right rows that an operation later than the first one wrote. This is not an error.
    pub overwritten: u64,
    /// Number of rows with a value that was never written.
    pub wrong: u64,
    /// Number of rows that exist although they were deleted after their last write, according to a
    /// ledger.
    pub resurrected: u64,
    /// Number of rows that were not found and, according to a ledger, were deleted or may have been
    /// deleted. This is not an error.
    pub deleted: u64,
    /// Number of right rows without an acknowledged write, according to a ledger. This is not an
    /// error.
    pub unconfirmed: u64,
    /// Number of counters below every possible value, because acknowledged additions were lost.
    pub too_low: u64,
    /// Number of counters above every possible value, because an addition was applied more than
    /// once.
    pub too_high: u64,
}

impl CheckCounts {
    pub fn add(&mut self, other: &CheckCounts) {
        self.checked += other.checked;
        self.missing += other.missing;
        self.lost += other.lost;
        self.never_written += other.never_written;
        self.stale += other.stale;
        self.overwritten += other.overwritten;
        self.wrong += other.wrong;
        self.resurrected += other.resurrected;
        self.deleted += other.deleted;
        self.unconfirmed += other.unconfirmed;
        self.too_low += other.too_low;
        self.too_high += other.too_high;
    }
}

/// Figures of the client itself in one interval.
#[derive(Clone, Debug, Default)]
pub struct ClientInterval {
    /// Release lag in ns, which is the time from the intended start to the send. The histogram
    /// includes only operations that waited for the clock, and not for a free slot. It is empty in
    /// a closed loop.
    pub lag: Histogram,
    /// CPU time (user and system) of the workers, in ns.
    pub cpu_ns: u64,
    /// Counters of operations before they were sent, and counters of connections.
    pub counts: ClientCounts,
    /// Number of system calls that sent bytes.
    pub sends: u64,
    /// Number of system calls that received bytes.
    pub receives: u64,
    /// Time in which the workers were runnable but had no CPU, in ns. `None` if the kernel does not
    /// measure this time.
    pub wait_ns: Option<u64>,
    /// Longest time for which a worker waited for responses and received none, in ns. The time
    /// belongs to the interval in which the wait ended.
    pub quiet_ns: u64,
    /// Delays of timers, which separate threads measure by sleeping.
    pub hiccups: Hiccups,
}

crate::word_enum! {
    /// A counter of the client. The word of the variant is its name in records.
    pub enum ClientCount {
        /// Number of operations sent more than 1 ms after they were due.
        Late = "late",
        /// Number of operations that waited because the limit of operations in flight was reached.
        Limited = "limited",
        /// Number of operations given up before they were sent, because their timeout expired while
        /// they waited.
        Dropped = "dropped",
        /// Number of operations of the population that were due before the drain, but sent only
        /// during the drain.
        SentInDrain = "sent_in_drain",
        /// Number of operations of the population that were due before the drain, but had not been
        /// sent when the client stopped sending.
        DueNeverSent = "due_never_sent",
        /// Number of operations in flight at the end of the interval, summed over workers but not
        /// over time.
        InFlight = "in_flight",
        /// Number of connections open at the end of the interval, summed over workers but not over
        /// time.
        Connections = "connections",
        /// Number of connections lost in the interval.
        ConnectionsLost = "connections_lost",
    }
}

counters! {
    /// Counters of operations before they were sent, and counters of connections.
    pub struct ClientCounts([u64; ClientCount]);
}

/// Delays of timers on the client's cores. Separate threads measure the delays by repeatedly
/// sleeping for a millisecond. Anything that prevents these threads from running also prevents the
/// workers from running.
#[derive(Clone, Debug, Default)]
pub struct Hiccups {
    /// Delay of each wake-up, in ns. `None` in the intervals of single workers.
    pub late: Option<Box<Histogram>>,
    /// Sum of the delays of at least [`STALL_NS`], in ns. The client was stalled during these
    /// delays. A stall that spans several intervals is divided among them.
    pub stalled_ns: u64,
    /// CPU time that the measurement of the delays used, in ns.
    pub cpu_ns: u64,
}

/// Minimum delay of a timer that counts as a stall, in ns. It is longer than the time slice that a
/// scheduler grants to one of several tasks on a core. This slice is 3 ms, doubled on machines with
/// many cores.
pub const STALL_NS: u64 = 10 * crate::clock::MILLISECOND_NS;

impl Hiccups {
    /// Adds delays that another thread has measured, or delays of a later interval.
    pub fn add(&mut self, other: &Hiccups) {
        if let Some(late) = &other.late {
            self.late.get_or_insert_default().add(late);
        }
        self.stalled_ns += other.stalled_ns;
        self.cpu_ns += other.cpu_ns;
    }

    /// Removes all values, but keeps the memory.
    pub fn clear(&mut self) {
        if let Some(late) = &mut self.late {
            late.clear();
        }
        self.stalled_ns = 0;
        self.cpu_ns = 0;
    }

    /// Returns the longest delay in ns. Returns `None` if no delay was measured.
    pub fn longest_ns(&self) -> Option<u64> {
        let late = self.late.as_ref().filter(|late| !late.is_empty());
        late.map(|late| late.max_ns())
    }
}

impl ClientInterval {
    /// Adds the figures of another worker in the same interval.
    pub fn add(&mut self, other: &ClientInterval) {
        self.lag.add(&other.lag);
        self.cpu_ns += other.cpu_ns;
        self.counts.add(&other.counts);
        self.sends += other.sends;
        self.receives += other.receives;
        self.wait_ns = match (self.wait_ns, other.wait_ns) {
            (Some(one), Some(more)) => Some(one + more),
            (one, more) => one.or(more),
        };
        self.quiet_ns = self.quiet_ns.max(other.quiet_ns);
        self.hiccups.add(&other.hiccups);
    }

    /// Removes all values, but keeps the memory.
    pub fn clear(&mut self) {
        self.lag.clear();
        self.cpu_ns = 0;
        self.counts = ClientCounts::default();
        self.sends = 0;
        self.receives = 0;
        self.wait_ns = None;
        self.quiet_ns = 0;
        self.hiccups.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;

    fn checks(n: u64) -> CheckCounts {
        CheckCounts {
            checked: n,
            missing: n,
            lost: n,
            never_written: n,
            stale: n,
            overwritten: n,
            wrong: n,
            resurrected: n,
            deleted: n,
            unconfirmed: n,
            too_low: n,
            too_high: n,
        }
    }

    /// An earlier version assigned the counters instead of adding them, and so lost the errors of
    /// all workers except one.
    #[test]
    fn the_counts_of_all_workers_are_added_and_none_is_assigned() {
        let part = |n: u64| {
            let mut kind = KindInterval {
                counts: KindCount::ALL.map(|counter| (counter, n)).into(),
                extra_reads: n as i64,
                extra_writes: -(n as i64),
                extra_uncertain: n,
                ..KindInterval::default()
            };
            kind.checks = checks(n);
            kind.succeed(true, 1000, 1000, n);
            kind.succeed(false, 1000, 1000, n);
            for _ in 0..n {
                kind.fail(true, Outcome::Overloaded, 1000, None);
                kind.fail(false, Outcome::ClientTimeout, 1000, Some(1000));
            }
            kind
        };
        let mut sum = part(2);
        [3, 5].map(part).iter().for_each(|other| sum.add(other));
        let histograms = |kind: &KindInterval| {
            let population = [&kind.errors, &kind.latency, &kind.service];
            let early = [&kind.early.errors, &kind.early.latency, &kind.early.service];
            let censored = [&kind.censored.latency, &kind.censored.service];
            let all = population.into_iter().chain(early).chain(censored);
            all.map(Histogram::count).collect::<Vec<_>>()
        };
        let text = |kind: &KindInterval| {
            format!(
                "{:?}",
                KindInterval {
                    latency: Histogram::default(),
                    service: Histogram::default(),
                    errors: Histogram::default(),
                    censored: CensoredCounts::default(),
                    early: Early {
                        outcomes: kind.early.outcomes,
                        ..Early::default()
                    },
                    ..kind.clone()
                }
            )
        };
        assert_eq!(text(&sum), text(&part(10)));
        assert_eq!(histograms(&sum), [10; 8]);
        sum.clear();
        assert_eq!(text(&sum), text(&KindInterval::default()));
        assert_eq!(histograms(&sum), [0; 8]);
    }

    #[test]
    fn a_part_of_an_operation_is_not_counted_beside_its_whole() {
        let mut kinds = vec![KindInterval::default(), KindInterval::default()];
        kinds[1].is_part = true;
        kinds.iter_mut().for_each(|kind| kind.outcomes.add_many(Outcome::Ok, 7));
        assert_eq!(Interval::second(0, kinds).ended(), 7);
    }
}
