//! One slice of a run, one second by default: what every kind of operation saw, and what the
//! instrument itself cost.

use crate::Histogram;
use crate::outcome::OutcomeCounts;

/// One interval, merged over all workers.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Number of the interval since the start line, from 0.
    pub index: u64,
    /// Begin, monotonic clock.
    pub start_ns: u64,
    /// End, monotonic clock. The last interval of a run (the drain) may be shorter or longer.
    pub end_ns: u64,
    /// Whether new operations were no longer issued: only answers were awaited.
    pub draining: bool,
    /// One entry per kind of operation, in the program's order.
    pub kinds: Vec<KindInterval>,
    /// The instrument's own figures.
    pub client: ClientInterval,
}

impl Interval {
    /// Length in seconds.
    pub fn seconds(&self) -> f64 {
        (self.end_ns - self.start_ns) as f64 / 1e9
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

/// What one kind of operation saw in one interval, counted when the operation *ended*.
#[derive(Clone, Debug, Default)]
pub struct KindInterval {
    /// Whether this kind only counts parts of other kinds' operations (the read within a
    /// read-modify-write), which sums over kinds must leave out.
    pub is_part: bool,
    /// Successes: from the intended start to the answer, in ns.
    pub latency: Histogram,
    /// Successes: from the actual send to the answer, in ns.
    pub service: Histogram,
    /// Failures: from the intended start to the moment it was known, in ns.
    pub errors: Histogram,
    /// How the operations ended.
    pub outcomes: OutcomeCounts,
    /// Rows read.
    pub rows: u64,
    /// Pages read, of statements that are read in pages.
    pub pages: u64,
    /// Statements sent in batches, beyond one for each operation.
    pub batched: u64,
    /// Reads that ended without a row.
    pub rows_missing: u64,
    /// Conditional statements whose condition held.
    pub applied: u64,
    /// Conditional statements whose condition did not hold: answered, and nothing was written.
    pub not_applied: u64,
    /// Tries after the first one of an operation that failed.
    pub retries: u64,
    /// Reads that servers have answered, beyond one for each successful operation of a kind that
    /// reads: further pages, reads within a chain, conditions. With it the client's count can be
    /// compared with the servers'.
    pub extra_reads: i64,
    /// As `extra_reads`, of writes; below zero where conditions were counted as reads.
    pub extra_writes: i64,
    /// Tries that are no outcome and that a server may or may not have done: those that failed and
    /// were followed by another, and those that another was faster than.
    pub extra_uncertain: u64,
    /// Tries beside one that had not been answered for too long.
    pub speculations: u64,
    /// Such tries that were answered first.
    pub speculations_won: u64,
    /// Reads compared with what the seed says must be there.
    pub checks: CheckCounts,
    /// Requests sent again because the server had forgotten the prepared statement.
    pub reprepared: u64,
}

impl KindInterval {
    /// Adds another worker's part of the same interval.
    pub fn add(&mut self, other: &KindInterval) {
        self.latency.add(&other.latency);
        self.service.add(&other.service);
        self.errors.add(&other.errors);
        self.outcomes.add(&other.outcomes);
        self.add_counts(other);
    }

    /// Adds another's counts, and leaves latencies and outcomes alone.
    pub fn add_counts(&mut self, other: &KindInterval) {
        self.rows += other.rows;
        self.pages += other.pages;
        self.batched += other.batched;
        self.rows_missing += other.rows_missing;
        self.applied += other.applied;
        self.not_applied += other.not_applied;
        self.retries += other.retries;
        self.extra_reads += other.extra_reads;
        self.extra_writes += other.extra_writes;
        self.extra_uncertain += other.extra_uncertain;
        self.speculations += other.speculations;
        self.speculations_won += other.speculations_won;
        self.checks.add(&other.checks);
        self.reprepared += other.reprepared;
    }

    /// Forgets everything but what kind it is; keeps the memory.
    pub fn clear(&mut self) {
        self.latency.clear();
        self.service.clear();
        self.errors.clear();
        self.outcomes = OutcomeCounts::default();
        self.rows = 0;
        self.pages = 0;
        self.batched = 0;
        self.rows_missing = 0;
        self.applied = 0;
        self.not_applied = 0;
        self.retries = 0;
        self.extra_reads = 0;
        self.extra_writes = 0;
        self.extra_uncertain = 0;
        self.speculations = 0;
        self.speculations_won = 0;
        self.checks = CheckCounts::default();
        self.reprepared = 0;
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
    /// Operations sent more than 1 ms after they were due.
    pub late: u64,
    /// Operations that had to wait because the limit of in-flight operations was reached.
    pub limited: u64,
    /// Operations given up before they were sent (time-out passed while they waited).
    pub dropped: u64,
    /// Operations that were due and never sent, when the run ended. Only in the last interval.
    pub due_never_sent: u64,
    /// Operations in flight at the end of the interval.
    pub in_flight: u64,
    /// Connections open at the end of the interval.
    pub connections: u64,
    /// Connections lost in the interval.
    pub connections_lost: u64,
    /// Calls that sent bytes.
    pub sends: u64,
    /// Calls that received bytes.
    pub receives: u64,
}

impl ClientInterval {
    /// Adds another worker's part of the same interval.
    pub fn add(&mut self, other: &ClientInterval) {
        self.lag.add(&other.lag);
        self.cpu_ns += other.cpu_ns;
        self.late += other.late;
        self.limited += other.limited;
        self.dropped += other.dropped;
        self.due_never_sent += other.due_never_sent;
        self.in_flight += other.in_flight;
        self.connections += other.connections;
        self.connections_lost += other.connections_lost;
        self.sends += other.sends;
        self.receives += other.receives;
    }

    /// Forgets everything; keeps the memory.
    pub fn clear(&mut self) {
        self.lag.clear();
        self.cpu_ns = 0;
        self.late = 0;
        self.limited = 0;
        self.dropped = 0;
        self.due_never_sent = 0;
        self.in_flight = 0;
        self.connections = 0;
        self.connections_lost = 0;
        self.sends = 0;
        self.receives = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;

    /// A merger that assigned instead of adding once lost the errors of all workers but one.
    #[test]
    fn the_counts_of_all_workers_are_added_and_none_is_assigned() {
        let part = |n: u64| {
            let mut kind = KindInterval {
                rows: n,
                pages: n,
                batched: n,
                rows_missing: n,
                applied: n,
                not_applied: n,
                retries: n,
                extra_reads: n as i64,
                extra_writes: -(n as i64),
                extra_uncertain: n,
                speculations: n,
                speculations_won: n,
                reprepared: n,
                ..KindInterval::default()
            };
            kind.checks = CheckCounts {
                checked: n,
                missing: n,
                lost: n,
                never_written: n,
                stale: n,
                overwritten: n,
                wrong: n,
            };
            kind.outcomes.add_many(Outcome::Overloaded, n);
            kind.errors.record_n(1000, n);
            kind.latency.record_n(1000, n);
            kind.service.record_n(1000, n);
            kind
        };
        let mut sum = part(2);
        [3, 5].map(part).iter().for_each(|other| sum.add(other));
        let histograms = |kind: &KindInterval| {
            [&kind.errors, &kind.latency, &kind.service].map(|values| values.count())
        };
        let text = |kind: &KindInterval| {
            format!(
                "{:?}",
                KindInterval {
                    latency: Histogram::default(),
                    service: Histogram::default(),
                    errors: Histogram::default(),
                    ..kind.clone()
                }
            )
        };
        assert_eq!(text(&sum), text(&part(10)));
        assert_eq!(histograms(&sum), [10; 3]);
        sum.clear();
        assert_eq!(text(&sum), text(&KindInterval::default()));
        assert_eq!(histograms(&sum), [0; 3]);
    }

    #[test]
    fn a_part_of_an_operation_is_not_counted_beside_its_whole() {
        let mut kinds = vec![KindInterval::default(), KindInterval::default()];
        kinds[1].is_part = true;
        kinds
            .iter_mut()
            .for_each(|kind| kind.outcomes.add_many(Outcome::Ok, 7));
        let interval = Interval {
            index: 0,
            start_ns: 0,
            end_ns: 1,
            draining: false,
            kinds,
            client: ClientInterval::default(),
        };
        assert_eq!(interval.ended(), 7);
    }
}
