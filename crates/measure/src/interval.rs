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

    /// Operations that ended in it, whatever their outcome.
    pub fn ended(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.outcomes.total()).sum()
    }
}

/// What one kind of operation saw in one interval, counted when the operation *ended*.
#[derive(Clone, Debug, Default)]
pub struct KindInterval {
    /// Successes: from the intended start to the answer, in ns.
    pub latency: Histogram,
    /// Successes: from the actual send to the answer, in ns.
    pub service: Histogram,
    /// Failures: from the intended start to the moment it was known, in ns.
    pub errors: Histogram,
    /// How the operations ended.
    pub outcomes: OutcomeCounts,
    /// Read answers without a row.
    pub rows_missing: u64,
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
        self.rows_missing += other.rows_missing;
        self.checks.add(&other.checks);
        self.reprepared += other.reprepared;
    }

    /// Forgets everything; keeps the memory.
    pub fn clear(&mut self) {
        self.latency.clear();
        self.service.clear();
        self.errors.clear();
        self.outcomes = OutcomeCounts::default();
        self.rows_missing = 0;
        self.checks = CheckCounts::default();
        self.reprepared = 0;
    }
}

/// Verified reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckCounts {
    /// Answers that were compared.
    pub checked: u64,
    /// No row where one must be.
    pub missing: u64,
    /// A row that was right once, and should have been overwritten.
    pub stale: u64,
    /// A row that was never right.
    pub wrong: u64,
}

impl CheckCounts {
    /// Adds all of `other`'s.
    pub fn add(&mut self, other: &CheckCounts) {
        self.checked += other.checked;
        self.missing += other.missing;
        self.stale += other.stale;
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
