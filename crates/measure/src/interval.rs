//! One slice of a run, one second by default: what every kind of operation saw, and what the
//! instrument itself cost.
//!
//! Long because every counter is explained where it is defined.
//!
//! What must hold: the measured *population* is every operation whose intended time lies in the
//! window, however late it ends. An interval keeps it apart from the *early* operations, which were
//! due before the window, so that nobody downstream has to choose.

use crate::Histogram;
use crate::clock::SECOND_NS;
use crate::counts::counters;
use crate::outcome::{Outcome, OutcomeCounts};
use std::sync::Arc;

/// One interval, merged over all workers.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Number of the interval since the start line, from 0.
    pub index: u64,
    /// Begin, monotonic clock.
    pub start_ns: u64,
    /// End, monotonic clock. The last interval of a run (the drain) may be shorter or longer.
    pub end_ns: u64,
    /// When the measured window begins, monotonic clock; 0: with the run; [`u64::MAX`]: nobody has
    /// said it yet.
    pub window_from_ns: u64,
    /// Whether nothing became due any more: what was due was still sent, and answers were awaited.
    pub draining: bool,
    /// One entry per kind of operation, in the program's order.
    pub kinds: Vec<KindInterval>,
    /// The instrument's own figures.
    pub client: ClientInterval,
}

impl Interval {
    /// Second `index` of a run that began at 0 and is measured from there on: what tests change.
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

    /// Length in seconds.
    pub fn seconds(&self) -> f64 {
        (self.end_ns - self.start_ns) as f64 / 1e9
    }

    /// Whether it lies in the measured window, from begin to end.
    pub fn is_measured(&self) -> bool {
        !self.draining && self.start_ns >= self.window_from_ns
    }

    /// Operations that ended in it, whatever their outcome. Parts of operations are not counted
    /// again.
    pub fn ended(&self) -> u64 {
        self.whole_kinds().map(|kind| kind.outcomes.total()).sum()
    }

    /// The kinds whose operations are whole: what a sum over kinds must be made of, since a part
    /// of an operation is in the figures of its whole already.
    pub fn whole_kinds(&self) -> impl Iterator<Item = &KindInterval> {
        self.kinds.iter().filter(|kind| !kind.is_part)
    }
}

/// An interval, and what its operations came to together: added up once, for whoever needs it.
#[derive(Clone, Debug)]
pub struct Summed {
    /// The interval.
    pub interval: Arc<Interval>,
    /// All of its whole kinds.
    pub all: KindInterval,
}

impl Summed {
    /// Adds up.
    pub fn new(interval: Arc<Interval>) -> Summed {
        let mut all = KindInterval::default();
        interval.whole_kinds().for_each(|kind| all.add(kind));
        Summed { interval, all }
    }

    /// Successful operations per second; 0 in an interval without length.
    pub fn ok_per_s(&self) -> f64 {
        let seconds = self.interval.seconds();
        let ok = self.all.outcomes.get(Outcome::Ok) as f64;
        if seconds > 0.0 { ok / seconds } else { 0.0 }
    }

    /// p99 of the latencies of all successes, ms.
    pub fn p99_ms(&self) -> f64 {
        self.all.latency_of_all().quantile_ns(0.99) as f64 / 1e6
    }
}

/// What one kind of operation saw in one interval.
#[derive(Clone, Debug, Default)]
pub struct KindInterval {
    /// Whether this kind only counts parts of other kinds' operations (the read within a
    /// read-modify-write), which sums over kinds must leave out.
    pub is_part: bool,
    /// Successes of the population: from the intended start to the answer, in ns.
    pub latency: Histogram,
    /// Successes of the population: from the actual send to the answer, in ns.
    pub service: Histogram,
    /// Failures of the population: from the intended start to the moment it was known, in ns.
    pub errors: Histogram,
    /// Of the population, what nobody followed to its end.
    pub censored: Censored,
    /// What was due before the window and ended in this interval.
    pub early: Early,
    /// How the operations ended that ended in this interval, early ones too.
    pub outcomes: OutcomeCounts,
    /// What else came of them.
    pub counts: KindCounts,
    /// Reads that servers have answered, beyond one for each successful operation of a kind that
    /// reads: further pages, reads within a chain, conditions. With it the client's count can be
    /// compared with the servers'.
    pub extra_reads: i64,
    /// As `extra_reads`, of writes; below zero where conditions were counted as reads.
    pub extra_writes: i64,
    /// Tries that are no outcome and that a server may or may not have done: those that failed and
    /// were followed by another, and those that another was faster than.
    pub extra_uncertain: u64,
    /// Reads compared with what the seed says must be there.
    pub checks: CheckCounts,
}

crate::word_enum! {
    /// What is counted of a kind of operation beside outcomes and times: a line for each counter,
    /// by which it is in the records too.
    pub enum KindCount {
        /// Rows read.
        Rows = "rows",
        /// Pages read, of statements that are read in pages.
        Pages = "pages",
        /// Statements of batches that were answered with success, beyond one for each.
        Batched = "batched",
        /// Conditional statements whose condition held.
        Applied = "applied",
        /// Conditional statements whose condition did not hold: answered, and nothing was written.
        NotApplied = "not_applied",
        /// Tries after the first one of an operation that failed.
        Retries = "retries",
        /// Tries beside one that had not been answered for too long.
        Speculations = "speculations",
        /// Such tries that were answered first.
        SpeculationsWon = "speculations_won",
        /// Reads that ended without a row.
        RowsMissing = "rows_missing",
        /// Requests sent again because the server had forgotten the prepared statement.
        Reprepared = "reprepared",
    }
}

counters! {
    /// What the operations of a kind came to beside outcomes and times.
    pub struct KindCounts([u64; KindCount]);
}

/// Operations of the population whose end nobody saw: the client stopped waiting for them, or never
/// sent them. They would have taken at least as long as stands here.
#[derive(Clone, Debug, Default)]
pub struct Censored {
    /// From the intended start, in ns.
    pub latency: Histogram,
    /// From the actual send, in ns; without those that were never sent.
    pub service: Histogram,
}

/// Operations that were due before the measured window and ended later than that was known.
#[derive(Clone, Debug, Default)]
pub struct Early {
    /// Successes, from the intended start, in ns.
    pub latency: Histogram,
    /// Successes, from the actual send, in ns.
    pub service: Histogram,
    /// Failures, from the intended start to the moment it was known, in ns.
    pub errors: Histogram,
    /// How they ended.
    pub outcomes: OutcomeCounts,
}

impl KindInterval {
    /// Allocates what successes are recorded in, so that recording one does not. The first failure
    /// and the first operation that is censored do.
    pub fn make_room(&mut self) {
        self.latency = Histogram::with_room();
        self.service = Histogram::with_room();
        self.early.latency = Histogram::with_room();
        self.early.service = Histogram::with_room();
    }

    /// `count` operations ended well, all of them so long after they were due and sent.
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

    /// An operation failed so long after it was due, and after it was sent if it was.
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

    /// `count` operations of the population were not sent, `latency_ns` after they were due.
    pub fn leave_unsent(&mut self, latency_ns: u64, count: u64) {
        self.censored.latency.record_n(latency_ns, count);
    }

    /// How often an operation of the population ended so.
    pub fn outcomes_of_population(&self, outcome: Outcome) -> u64 {
        self.outcomes.get(outcome) - self.early.outcomes.get(outcome)
    }

    /// Latencies of all successes of the interval, early ones too: a series over time.
    pub fn latency_of_all(&self) -> Histogram {
        let mut all = self.latency.clone();
        all.add(&self.early.latency);
        all
    }

    /// Adds another worker's part of the same interval.
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

    /// Adds another's counts, and leaves latencies and outcomes alone.
    pub fn add_counts(&mut self, other: &KindInterval) {
        self.counts.add(&other.counts);
        self.extra_reads += other.extra_reads;
        self.extra_writes += other.extra_writes;
        self.extra_uncertain += other.extra_uncertain;
        self.checks.add(&other.checks);
    }

    /// Forgets everything but what kind it is; keeps the memory.
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

/// Verified reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckCounts {
    /// Answers that were compared.
    pub checked: u64,
    /// No row where one must be. Who has a ledger of acknowledged writes leaves out the rows whose
    /// write was never acknowledged.
    pub missing: u64,
    /// Of the missing, those whose write a ledger says was acknowledged: data that was lost.
    pub lost: u64,
    /// No row, or only an older one, and a ledger says that nobody was told otherwise: the write
    /// was never sent, or it failed. Not an error.
    pub never_written: u64,
    /// A row that was right once, and should have been overwritten.
    pub stale: u64,
    /// A right row that a later operation than the first one on it has written. Not an error.
    pub overwritten: u64,
    /// A row that was never right.
    pub wrong: u64,
    /// A row that is there, and was deleted after it was written last, as a ledger says.
    pub resurrected: u64,
    /// No row, and a ledger says that it was deleted, or may have been. Not an error.
    pub deleted: u64,
    /// A right row of which a ledger says that none of its writes was acknowledged. Not an error.
    pub unconfirmed: u64,
    /// A counter that is below all that it may be: what was added and acknowledged was lost.
    pub too_low: u64,
    /// A counter that is above all that it may be: something was added more than once.
    pub too_high: u64,
}

impl CheckCounts {
    /// Adds all of `other`'s.
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

/// The instrument's own figures in one interval.
#[derive(Clone, Debug, Default)]
pub struct ClientInterval {
    /// Release lag: from the intended start to the send, in ns, of operations that were waiting
    /// for nothing but the clock (no slot was missing). Empty in a closed loop.
    pub lag: Histogram,
    /// CPU time of the workers, user and system, in ns.
    pub cpu_ns: u64,
    /// What happened to operations before they were sent, and to connections.
    pub counts: ClientCounts,
    /// Calls that sent bytes.
    pub sends: u64,
    /// Calls that received bytes.
    pub receives: u64,
    /// Time in which the workers could have run and had no CPU, in ns; none where the kernel does
    /// not count it.
    pub wait_ns: Option<u64>,
    /// The longest time in which a worker waited for answers and none came, in ns; counted where
    /// it ended.
    pub quiet_ns: u64,
    /// What a thread saw that only sleeps and looks how late it wakes.
    pub hiccups: Hiccups,
}

crate::word_enum! {
    /// What is counted of the instrument: a line for each counter, by which it is in the records
    /// too.
    pub enum ClientCount {
        /// Operations sent more than 1 ms after they were due.
        Late = "late",
        /// Operations that had to wait because the limit of in-flight operations was reached.
        Limited = "limited",
        /// Operations given up before they were sent (time-out passed while they waited).
        Dropped = "dropped",
        /// Operations of the population that were due before issuing stopped and sent only after.
        SentInDrain = "sent_in_drain",
        /// Operations of the population that were due before issuing stopped and not sent when the
        /// drain gave up sending.
        DueNeverSent = "due_never_sent",
        /// Operations in flight at the end of the interval: added over workers, not over time.
        InFlight = "in_flight",
        /// Connections open at the end of the interval: added over workers, not over time.
        Connections = "connections",
        /// Connections lost in the interval.
        ConnectionsLost = "connections_lost",
    }
}

counters! {
    /// What happened to operations before they were sent, and to connections.
    pub struct ClientCounts([u64; ClientCount]);
}

/// How late timers were on the client's cores: what threads saw that sleep a millisecond, again and
/// again, and do nothing else. Whatever keeps them from running keeps the workers from it too.
#[derive(Clone, Debug, Default)]
pub struct Hiccups {
    /// How much later than asked for they woke, in ns; absent in the parts of workers.
    pub late: Option<Box<Histogram>>,
    /// Of that, what came in pieces of at least [`STALL_NS`]: the time in which the client was not
    /// there, in ns. One that spans intervals is shared out to them.
    pub stalled_ns: u64,
    /// CPU time of looking, in ns.
    pub cpu_ns: u64,
}

/// From here on a late timer is a stall: longer than the slices that schedulers give to one of
/// several tasks on one core (3 ms, doubled on machines with many).
pub const STALL_NS: u64 = 10 * crate::clock::MILLISECOND_NS;

impl Hiccups {
    /// Adds what was seen elsewhere or later.
    pub fn add(&mut self, other: &Hiccups) {
        if let Some(late) = &other.late {
            self.late.get_or_insert_default().add(late);
        }
        self.stalled_ns += other.stalled_ns;
        self.cpu_ns += other.cpu_ns;
    }

    /// Forgets everything; keeps the memory.
    pub fn clear(&mut self) {
        if let Some(late) = &mut self.late {
            late.clear();
        }
        self.stalled_ns = 0;
        self.cpu_ns = 0;
    }

    /// The longest, in ns; none if nobody looked.
    pub fn longest_ns(&self) -> Option<u64> {
        let late = self.late.as_ref().filter(|late| !late.is_empty());
        late.map(|late| late.max_ns())
    }
}

impl ClientInterval {
    /// Adds another worker's part of the same interval.
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

    /// Forgets everything; keeps the memory.
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

    /// A merger that assigned instead of adding once lost the errors of all workers but one.
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
                    censored: Censored::default(),
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
