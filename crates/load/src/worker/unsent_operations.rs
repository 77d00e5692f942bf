//! Records operations that were due before the stop and that the worker will never send, with the
//! lower bound of their latency.
//!
//! A rate above the target's capacity can leave a huge number of such operations: 10^10 in ten
//! seconds at the highest rate. Only the generator can determine their kinds. For a limited time,
//! the worker calls the generator for each operation. After this time, the worker counts operations
//! in groups whose latencies a histogram cannot distinguish, and assumes the same mix of kinds as
//! before.
//!
//! Invariant: every operation that was due in the window and not sent is counted once, in one kind,
//! and with at most its waiting time.

use super::{DueTimes, Worker};
use crate::slowest_operations::SLOWEST_MAX;
use crate::statement_facts::KINDS_MAX;
use crate::worker_io::World;
use measure::{Histogram, clock};

/// Time limit for generating unsent operations to determine their kinds, in ns.
const KINDS_ASKED_NS: u64 = 100 * clock::MILLISECOND_NS;

/// Minimum number of unsent operations that the worker generates, even if this takes longer. Only
/// these operations can be among the slowest.
const KINDS_ASKED_MIN: u64 = SLOWEST_MAX as u64;

/// Number of operations of each kind. Further operations are distributed to the kinds in the same
/// proportions.
struct Mix {
    seen: [u64; KINDS_MAX],
    total: u64,
    /// Remainder of each kind that has not been distributed yet, in fractions of `total`.
    owed: [u128; KINDS_MAX],
    left: u64,
}

impl Mix {
    fn new() -> Mix {
        Mix {
            seen: [0; KINDS_MAX],
            total: 0,
            owed: [0; KINDS_MAX],
            left: 0,
        }
    }

    fn add(&mut self, kind: u8) {
        self.seen[usize::from(kind)] += 1;
        self.total += 1;
    }

    /// Distributes `count` further operations, and the remainders of earlier calls, over the kinds.
    /// Fractions of an operation remain for the next call.
    fn share_out(&mut self, count: u64) -> [u64; KINDS_MAX] {
        let total = u128::from(self.total.max(1));
        let mut given = [0; KINDS_MAX];
        for (kind, given) in given.iter_mut().enumerate() {
            let owed = self.owed[kind] + u128::from(count) * u128::from(self.seen[kind]);
            *given = (owed / total) as u64;
            self.owed[kind] = owed % total;
        }
        self.left = self.left + count - given.iter().sum::<u64>();
        given
    }

    /// Distributes the remaining operations to the kinds with the largest remainders.
    fn share_out_rest(&mut self) -> [u64; KINDS_MAX] {
        let mut given = [0; KINDS_MAX];
        while self.left > 0 {
            let most = (0..KINDS_MAX).max_by_key(|kind| self.owed[*kind]).unwrap_or_default();
            given[most] += 1;
            self.owed[most] = 0;
            self.left -= 1;
        }
        given
    }
}

impl<W: World> Worker<W> {
    #[cold]
    pub(super) fn leave_unsent(&mut self, now_ns: u64, stop_ns: u64) {
        let (mut mix, mut number) = (Mix::new(), self.number);
        while let Some(due_ns) = self.due_ns().filter(|due_ns| *due_ns < stop_ns) {
            if number >= self.number_end {
                return;
            }
            let is_over =
                mix.total >= KINDS_ASKED_MIN && self.world.now_ns() >= now_ns + KINDS_ASKED_NS;
            if is_over && let DueTimes::Open { .. } = self.source {
                return self.leave_rest_unsent(now_ns, stop_ns, number, mix);
            }
            let operation = self.generator.begin(number);
            let kind = operation.kind;
            mix.add(kind);
            if !self.recorder.is_early(due_ns) {
                self.recorder.leave_unsent(kind, now_ns - due_ns, 1);
                self.keep_slow_unsent(operation, due_ns, now_ns, None);
            }
            self.source.advance();
            number += self.number_step;
        }
    }

    /// Records the unsent operations whose kinds are unknown. They were due later than those whose
    /// kinds are known, so they are not among the slowest.
    fn leave_rest_unsent(&mut self, now_ns: u64, stop_ns: u64, number: u64, mut mix: Mix) {
        let mut left = (self.number_end - number).div_ceil(self.number_step);
        let window_from_ns = self.recorder.window_from_ns();
        let mut latency_ns = 0;
        while left > 0
            && let Some(due_ns) = self.due_ns().filter(|due_ns| *due_ns < stop_ns)
        {
            let is_early = due_ns < window_from_ns;
            latency_ns = Histogram::lowest_equivalent_ns(now_ns - due_ns);
            let until_ns = if is_early {
                window_from_ns
            } else {
                now_ns - latency_ns + 1
            };
            let count = self.skip_until(until_ns.min(stop_ns)).min(left);
            left -= count;
            if !is_early {
                self.note_unsent(&mix.share_out(count), latency_ns);
            }
        }
        self.note_unsent(&mix.share_out_rest(), latency_ns);
    }

    fn note_unsent(&mut self, counts: &[u64; KINDS_MAX], latency_ns: u64) {
        for (kind, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.recorder.leave_unsent(kind as u8, latency_ns, *count);
        }
    }

    fn skip_until(&mut self, until_ns: u64) -> u64 {
        match &mut self.source {
            DueTimes::Open { arrivals, start_ns } => arrivals.skip_until(until_ns - *start_ns),
            DueTimes::Closed { .. } => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_operation_has_one_kind_and_the_mix_is_unchanged(
            kinds in prop::collection::vec(0u8..5, 1..200),
            counts in prop::collection::vec(1u64..5_000_000_000, 1..40)) {
            let mut mix = Mix::new();
            kinds.iter().for_each(|kind| mix.add(*kind));
            let mut given = [0u64; KINDS_MAX];
            let mut add = |more: [u64; KINDS_MAX]| {
                given.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
            };
            counts.iter().for_each(|count| add(mix.share_out(*count)));
            add(mix.share_out_rest());
            let all: u64 = counts.iter().sum();
            prop_assert_eq!(given.iter().sum::<u64>(), all);
            for kind in 0..5u8 {
                let seen = kinds.iter().filter(|seen| **seen == kind).count() as f64;
                let expected = all as f64 * seen / kinds.len() as f64;
                prop_assert!((given[usize::from(kind)] as f64 - expected).abs() <= 5.0);
            }
        }
    }
}
