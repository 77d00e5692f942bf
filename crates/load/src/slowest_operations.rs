//! Keeps the slowest operations of a worker's window, so that a report can match them with events
//! of the nodes.
//!
//! The worker compares each operation that ends with a threshold, and adds only slower operations.
//! The buffer has room for several times the operations that are kept. When the buffer is full, the
//! module keeps the slowest operations and raises the threshold. An operation that is added
//! therefore costs a constant time on average, even if every operation is slower than those before.
//! The module allocates all memory before the start line.

use measure::Outcome;

/// Maximum number of slow operations that a run keeps. Of 100,000 operations, these are the
/// operations above the p99.9. A table of this length is still readable.
pub const SLOWEST_MAX: usize = 100;

/// Room of the buffer, in operations. With four times the kept operations, each selection drops 300
/// of 400 operations, and the buffer of a worker takes 20 KB.
const ROOM: usize = 4 * SLOWEST_MAX;

/// One of the slowest operations of a window. Times are those of the client's monotonic clock, in
/// ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowOperation<N = u16> {
    pub number: u64,
    /// Index of the operation's kind in the program.
    pub kind: u8,
    /// Node to which the client sent the last request of the operation. `None` if the client sent
    /// none.
    pub node: Option<N>,
    /// Time at which the operation was due.
    pub due_ns: u64,
    /// Time at which the client sent the first request. `None` if it sent none.
    pub sent_ns: Option<u64>,
    /// Time at which the operation ended for the client. If the outcome does not tell when the
    /// target ended the operation, the time since `due_ns` is a lower bound of the latency.
    pub end_ns: u64,
    /// Outcome of the operation. `None` if the client had not sent the operation by the end of the
    /// drain.
    pub outcome: Option<Outcome>,
    /// Number of retries after a failed attempt.
    pub retries: u8,
    /// True if the client sent a speculative attempt in parallel with an unanswered attempt.
    pub is_speculated: bool,
}

impl<N> SlowOperation<N> {
    /// Returns the latency from the due time, in ns.
    pub fn latency_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.due_ns)
    }

    /// Returns the same operation with another description of its node.
    pub fn with_node<M>(self, node: Option<M>) -> SlowOperation<M> {
        SlowOperation {
            number: self.number,
            kind: self.kind,
            node,
            due_ns: self.due_ns,
            sent_ns: self.sent_ns,
            end_ns: self.end_ns,
            outcome: self.outcome,
            retries: self.retries,
            is_speculated: self.is_speculated,
        }
    }
}

/// Keeps the slowest operations of several workers or clients in `all`, slowest first. Of equally
/// slow operations, those with the lowest numbers come first.
pub fn keep_slowest<N>(all: &mut Vec<SlowOperation<N>>) {
    all.sort_by_key(|one| (u64::MAX - one.latency_ns(), one.number));
    all.truncate(SLOWEST_MAX);
}

/// Slowest operations of one worker so far.
#[derive(Debug)]
pub(crate) struct Slowest {
    /// Latency that an operation must exceed to be kept, in ns. The value is [`u64::MAX`] before
    /// the window.
    threshold_ns: u64,
    kept: Vec<SlowOperation>,
}

impl Default for Slowest {
    fn default() -> Slowest {
        Slowest {
            threshold_ns: u64::MAX,
            kept: Vec::new(),
        }
    }
}

impl Slowest {
    pub fn with_room() -> Slowest {
        Slowest {
            kept: Vec::with_capacity(ROOM),
            ..Slowest::default()
        }
    }

    /// Marks that the window has begun. Does nothing if it had begun before.
    #[inline]
    pub fn begin(&mut self) {
        if self.threshold_ns == u64::MAX {
            self.threshold_ns = 0;
        }
    }

    #[inline]
    pub fn is_slow(&self, latency_ns: u64) -> bool {
        latency_ns > self.threshold_ns
    }

    #[cold]
    pub fn add(&mut self, operation: SlowOperation) {
        if !self.is_slow(operation.latency_ns()) {
            return;
        }
        self.kept.push(operation);
        if self.kept.len() == ROOM {
            let slowest_first = |one: &SlowOperation| u64::MAX - one.latency_ns();
            let (_, last, _) = self.kept.select_nth_unstable_by_key(SLOWEST_MAX - 1, slowest_first);
            self.threshold_ns = last.latency_ns();
            self.kept.truncate(SLOWEST_MAX);
        }
    }

    pub fn finish(mut self) -> Vec<SlowOperation> {
        keep_slowest(&mut self.kept);
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn operation(number: u64, latency_ns: u64) -> SlowOperation {
        SlowOperation {
            number,
            kind: 0,
            node: Some(0),
            due_ns: 1_000,
            sent_ns: Some(1_000),
            end_ns: 1_000 + latency_ns,
            outcome: Some(Outcome::Ok),
            retries: 0,
            is_speculated: false,
        }
    }

    fn latencies(kept: &[SlowOperation]) -> Vec<u64> {
        kept.iter().map(SlowOperation::latency_ns).collect()
    }

    proptest! {
        #[test]
        fn the_kept_operations_are_those_of_a_sort(
            times in prop::collection::vec(0u64..500, 0..1_500)) {
            let mut slowest = Slowest::with_room();
            slowest.begin();
            let room = slowest.kept.capacity();
            for (number, latency_ns) in (0..).zip(&times) {
                slowest.add(operation(number, *latency_ns));
            }
            prop_assert_eq!(slowest.kept.capacity(), room);
            let kept = latencies(&slowest.finish());
            let mut expected: Vec<u64> = times.into_iter().filter(|ns| *ns > 0).collect();
            expected.sort_unstable_by(|one, other| other.cmp(one));
            expected.truncate(SLOWEST_MAX);
            prop_assert_eq!(kept, expected);
        }
    }

    #[test]
    fn nothing_is_kept_before_the_window_begins() {
        let mut slowest = Slowest::with_room();
        slowest.add(operation(0, 7));
        slowest.begin();
        slowest.add(operation(1, 5));
        slowest.begin();
        assert_eq!(latencies(&slowest.finish()), [5]);
    }

    #[test]
    fn equally_slow_operations_have_the_order_of_their_numbers() {
        let mut all = vec![operation(9, 5), operation(2, 5), operation(4, 6)];
        keep_slowest(&mut all);
        let numbers: Vec<u64> = all.iter().map(|one| one.number).collect();
        assert_eq!(numbers, [4, 2, 9]);
    }
}
