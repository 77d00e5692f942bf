//! Handles operations with more than one attempt. The worker sends a further attempt after a failed
//! attempt (retries), or in parallel with an unanswered attempt (speculation).
//!
//! Invariants: an operation has at most `1 + retries` successive attempts. At most two attempts
//! wait for a response at a time, and each of the two then refers to the other. The first response
//! ends the operation, and the result of the other attempt does not count.

use super::Worker;
use super::operation_state::OperationState;
use crate::inflight::{NONE, Slot, State};
use crate::statement_facts::{did_nothing, may_be_tried_again};
use crate::worker_io::World;
use measure::{KindCount, Outcome};
use std::fmt::Display;
use workload::Operation;

pub(crate) struct Again {
    operation: Operation,
    class: u8,
    intended_ns: u64,
    /// Connection of the failed attempt. The worker prefers any other connection.
    avoid: u16,
    failed_ns: u64,
    outcome: Outcome,
    course: OperationState,
}

impl<W: World> Worker<W> {
    /// Returns the number of operations that the worker has sent and that have not ended.
    #[inline]
    pub(super) fn operations_count(&self) -> u32 {
        self.in_flight.waiting_count() - self.twins_count + self.again.len() as u32
    }

    /// Handles the failed attempt of `slot`. The slot must already be free or orphaned. The
    /// operation ends unless another attempt of it waits for a response or may follow.
    pub(super) fn fail_try(
        &mut self,
        id: u16,
        slot: &Slot,
        outcome: Outcome,
        now_ns: u64,
        message: &impl Display,
    ) {
        if slot.is_plain() || !self.outlives(id, slot, outcome, now_ns) {
            return self.note_failure(id, slot, outcome, now_ns, message);
        }
        let kind = &mut self.recorder.part.kinds[usize::from(slot.operation.kind)];
        kind.extra_uncertain += u64::from(!did_nothing(outcome));
        let node = usize::from(slot.connection) / self.connections_per_node;
        self.note_first(outcome, node, message);
    }

    /// Returns true if the operation continues after the attempt in slot `id` has failed.
    fn outlives(&mut self, id: u16, slot: &Slot, outcome: Outcome, now_ns: u64) -> bool {
        let twin = std::mem::replace(&mut self.courses[usize::from(id)].twin, NONE);
        if twin != NONE {
            self.courses[usize::from(twin)].twin = NONE;
            self.twins_count -= 1;
            return true;
        }
        let retries_max = self.facts.kinds[usize::from(slot.operation.kind)].retries;
        if self.courses[usize::from(id)].retries >= retries_max
            || !may_be_tried_again(outcome, self.is_idempotent(slot.operation))
        {
            return false;
        }
        let mut course = self.spare_courses.pop().unwrap_or_default();
        std::mem::swap(&mut course, &mut self.courses[usize::from(id)]);
        course.retries += 1;
        course.is_repeated = true;
        course.speculative = false;
        self.again.push_back(Again {
            operation: slot.operation,
            class: slot.class,
            intended_ns: slot.intended_ns,
            avoid: slot.connection,
            failed_ns: now_ns,
            outcome,
            course,
        });
        true
    }

    fn is_idempotent(&mut self, operation: Operation) -> bool {
        let statements = &self.facts.statements;
        let statement = usize::from(operation.statement);
        if self.batches[statement].is_none() {
            return statements[statement].idempotent;
        }
        self.generator.seek(operation);
        (0..self.generator.entries()).all(|entry| {
            let statement = self.generator.entry_statement(entry);
            statements[usize::from(statement)].idempotent
        })
    }

    pub(super) fn try_again(&mut self, now_ns: u64) {
        while let Some(again) = self.again.front() {
            let (operation, avoid) = (again.operation, again.avoid);
            self.generator.seek(operation);
            let other = self.pick_other(avoid);
            let index = other.or(self.has_room(usize::from(avoid)).then_some(avoid));
            let Some(index) = index.filter(|_| self.in_flight.has_room()) else {
                if self.open_count > 0 {
                    self.unblock(now_ns);
                    return;
                }
                if !self.give_up(now_ns) {
                    return;
                }
                continue;
            };
            let Some(again) = self.again.pop_front() else {
                return;
            };
            let inserted =
                self.in_flight.insert(operation, index, again.class, again.intended_ns, now_ns);
            let Some(id) = inserted else { return };
            let spare = std::mem::replace(&mut self.courses[usize::from(id)], again.course);
            self.spare_courses.push(spare);
            self.recorder.part.kinds[usize::from(operation.kind)].counts[KindCount::Retries] += 1;
            self.send_other(id, now_ns);
        }
    }

    /// If all connections are closed, ends the operation of the oldest failed attempt once its
    /// timeout has elapsed. Returns true if the function has ended an operation.
    fn give_up(&mut self, now_ns: u64) -> bool {
        let Some(again) = self.again.front() else {
            return false;
        };
        let timeout_ns = self.facts.kinds[usize::from(again.operation.kind)].timeout_ns;
        now_ns.saturating_sub(again.failed_ns) >= timeout_ns && self.end_failed(now_ns)
    }

    /// Ends the operation of the oldest failed attempt without a retry. Returns false if the list
    /// of failed attempts is empty.
    pub(super) fn end_failed(&mut self, now_ns: u64) -> bool {
        let Some(again) = self.again.pop_front() else {
            return false;
        };
        let (operation, outcome) = (again.operation, again.outcome);
        let begun = again.course.begun(again.intended_ns, again.avoid);
        self.spare_courses.push(again.course);
        self.note_end(&operation, &begun, outcome, now_ns);
        true
    }

    /// Sends a second attempt in parallel, because the attempt in slot `id` has waited too long.
    /// Does nothing if a second attempt is not permitted.
    pub(super) fn speculate(&mut self, id: u16, now_ns: u64) {
        let slot = *self.in_flight.slot(id);
        let course = &self.courses[usize::from(id)];
        let is_free = slot.state == State::Waiting && course.twin == NONE && !course.speculative;
        if slot.is_plain() || !is_free || !self.is_idempotent(slot.operation) {
            return;
        }
        // Second attempts must leave the streams that upcoming operations need.
        let to_come = self.in_flight_max.saturating_sub(self.operations_count());
        if self.in_flight.free_count() <= to_come as usize {
            return;
        }
        self.generator.seek(slot.operation);
        let Some(index) = self.pick_other(slot.connection) else {
            return;
        };
        let (operation, class) = (slot.operation, slot.class);
        let inserted = self.in_flight.insert(operation, index, class, slot.intended_ns, now_ns);
        let Some(twin) = inserted else { return };
        let mut course = std::mem::take(&mut self.courses[usize::from(twin)]);
        self.courses[usize::from(id)].is_repeated = true;
        self.courses[usize::from(id)].is_speculated = true;
        course.copy_from(&self.courses[usize::from(id)]);
        course.speculative = true;
        course.twin = id;
        self.courses[usize::from(id)].twin = twin;
        self.courses[usize::from(twin)] = course;
        self.twins_count += 1;
        self.recorder.part.kinds[usize::from(operation.kind)].counts[KindCount::Speculations] += 1;
        self.send_other(twin, now_ns);
    }

    /// Encodes a further attempt of an operation. The generator must be set to this operation.
    fn send_other(&mut self, id: u16, now_ns: u64) {
        self.sockets.unsent = true;
        if let Err(why) = self.send_special(id) {
            let slot = *self.in_flight.slot(id);
            self.in_flight.release(id);
            self.fail_try(id, &slot, Outcome::ClientRefused, now_ns, &why);
        }
    }

    /// Returns a connection other than `avoid` for the operation to which the generator is set. The
    /// function prefers the next replica, then any other node, then the same node.
    fn pick_other(&mut self, avoid: u16) -> Option<u16> {
        let per_node = self.connections_per_node;
        let nodes = self.connections.len() / per_node;
        let avoided = usize::from(avoid) / per_node;
        let replica = self
            .router
            .as_ref()
            .and_then(|router| router.other_node(self.generator.token()?, avoided as u16));
        let first = replica.map_or((avoided + 1) % nodes, usize::from);
        self.rotor = self.rotor.wrapping_add(1);
        let others = (0..nodes).map(|step| (first + step) % nodes).filter(|&node| node != avoided);
        others
            .chain([avoided])
            .flat_map(|node| (0..per_node).map(move |step| (node, step)))
            .map(|(node, step)| node * per_node + (self.rotor + step) % per_node)
            .find(|&index| index != usize::from(avoid) && self.has_room(index))
            .map(|index| index as u16)
    }
}
