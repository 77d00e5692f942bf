//! Keeps operations that may be among the slowest of the window. This code is not on the hot path,
//! because almost every operation is faster than the threshold of [`crate::slowest_operations`].

use super::Worker;
use super::operation_state::StartTimes;
use crate::inflight::Slot;
use crate::slowest_operations::SlowOperation;
use crate::worker_io::World;
use measure::Outcome;
use workload::Operation;

impl<W: World> Worker<W> {
    /// Keeps a successful operation whose response has just arrived.
    #[cold]
    pub(super) fn keep_slow_success(&mut self, id: u16, slot: &Slot) {
        let begun = if slot.is_plain() {
            StartTimes::once(slot)
        } else {
            self.courses[usize::from(id)].begun(slot.intended_ns, slot.connection)
        };
        self.keep_slow(
            &slot.operation,
            &begun,
            Outcome::Ok,
            self.sockets.arrived_ns,
        );
    }

    /// Keeps an operation that the worker never sent. The outcome is `None` if the operation waited
    /// until the end of the drain.
    #[cold]
    pub(super) fn keep_slow_unsent(
        &mut self,
        operation: Operation,
        due_ns: u64,
        now_ns: u64,
        outcome: Option<Outcome>,
    ) {
        if self.recorder.is_early(due_ns) {
            return;
        }
        self.end.slowest.add(SlowOperation {
            number: operation.number,
            kind: operation.kind,
            node: None,
            due_ns,
            sent_ns: None,
            end_ns: now_ns,
            outcome,
            retries: 0,
            is_speculated: false,
        });
    }

    /// Keeps an operation of the window that ended at `end_ns`, if it may be among the slowest.
    pub(super) fn keep_slow(
        &mut self,
        operation: &Operation,
        begun: &StartTimes,
        outcome: Outcome,
        end_ns: u64,
    ) {
        if self.recorder.is_early(begun.intended_ns) {
            return;
        }
        let node = usize::from(begun.connection) / self.connections_per_node;
        self.end.slowest.add(SlowOperation {
            number: operation.number,
            kind: operation.kind,
            node: begun.sent_ns.map(|_| node as u16),
            due_ns: begun.intended_ns,
            sent_ns: begun.sent_ns,
            end_ns,
            outcome: Some(outcome),
            retries: begun.retries,
            is_speculated: begun.is_speculated,
        });
    }
}
