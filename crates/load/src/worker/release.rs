//! Releases due operations. For each operation, this module chooses a connection, encodes the
//! request and sends it.

use super::multi_step::Unsendable;
use super::{DueTimes, Worker};
use crate::connection::Progress;
use crate::inflight::SPECIAL;
use crate::worker_io::{Watch, World};
use measure::{ClientCount, Outcome, clock};
use std::fmt::Display;
use workload::Operation;

/// Maximum number of operations that the worker encodes between two clock readings and sends
/// together. At about 100 ns per operation, a batch takes less than 10 µs. A larger batch would
/// make the send time inaccurate and delay the requests.
const BATCH: u32 = 64;
/// Duration above which a batch counts as too large, in ns. Batches take this long only if
/// operations are costly to generate.
const BATCH_MAX_NS: u64 = clock::MILLISECOND_NS;
/// Longest time without a check for responses and the stop, in ns. The worker exceeds this time
/// only if a single operation takes longer.
const TURN_MAX_NS: u64 = 10 * clock::MILLISECOND_NS;
/// Delay after the due time above which an operation counts as sent late (rule V1), in ns.
const LATE_NS: u64 = clock::MILLISECOND_NS;

/// Number of operations that the worker encodes between two clock readings. The number starts at
/// one, and grows while operations are cheap to generate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch {
    operations: u32,
}

impl Batch {
    pub(crate) fn new() -> Batch {
        Batch { operations: 1 }
    }

    #[inline]
    fn operations(self) -> u32 {
        self.operations
    }

    /// Adapts the size of the batch to the duration `ns` of the last batch.
    #[inline]
    fn took(&mut self, ns: u64) {
        self.operations = if ns > BATCH_MAX_NS {
            1
        } else {
            (self.operations * 2).min(BATCH)
        };
    }
}

impl<W: World> Worker<W> {
    /// Sends due operations, in batches, within the limits.
    pub(super) fn release(&mut self, woken_ns: u64) {
        if woken_ns < self.release_next_ns {
            return;
        }
        if self.operations_count() == 0 {
            self.recorder.nothing_awaited(woken_ns);
        }
        let (mut now_ns, mut unsent) = (woken_ns, 0);
        loop {
            let mut batch = 0;
            let mut more = true;
            let room = self.batch.operations().min(BATCH - unsent);
            while batch < room && more {
                more = self.release_one(now_ns);
                batch += u32::from(more);
            }
            unsent += batch;
            let begun_ns = now_ns;
            if more {
                now_ns = self.world.now_ns();
                self.batch.took(now_ns.saturating_sub(begun_ns));
            }
            // While batches are still growing, the worker sends several of them together.
            let is_full = unsent >= BATCH || self.batch.operations() == 1;
            if unsent > 0 && (is_full || !more) {
                self.send_all(begun_ns);
                self.release_next_ns = woken_ns + self.release_quantum_ns;
                unsent = 0;
            }
            // The worker must also execute the other steps of the loop, especially the check for
            // the stop.
            if !more || (unsent == 0 && now_ns.saturating_sub(woken_ns) > TURN_MAX_NS) {
                return;
            }
        }
    }

    /// Encodes the next operation if it is due and may be sent. Returns false if the worker must
    /// release no further operation in this iteration.
    #[inline]
    fn release_one(&mut self, now_ns: u64) -> bool {
        let Some(due_ns) = self.due_ns() else {
            return false;
        };
        if due_ns > now_ns || self.number >= self.number_end || due_ns >= self.control.stop_ns() {
            return false;
        }
        if self.operations_count() >= self.in_flight_max || !self.in_flight.has_room() {
            self.limited_until_ns = now_ns;
            self.unblock(now_ns);
            return false;
        }
        let operation = self.generator.begin(self.number);
        let Some(index) = self.pick() else {
            self.limited_until_ns = now_ns;
            self.is_stuck = true;
            return self.drop_if_hopeless(operation, due_ns, now_ns);
        };
        let class = self.facts.class(operation.kind, operation.statement);
        let inserted = self.in_flight.insert(operation, index, class, due_ns, now_ns);
        let Some(id) = inserted else {
            return false;
        };
        if class & SPECIAL == 0 {
            debug_assert_eq!(self.generator.entries(), 1, "only a batch has more entries");
            self.world.encoded(index, id, operation.number);
            self.encode(index, usize::from(operation.statement), id);
        } else if let Err(why) = self.begin_special(id, due_ns, now_ns) {
            return self.refuse(id, now_ns, &why);
        }
        self.write_down_sent(&operation, now_ns);
        self.end.sent += 1;
        if matches!(self.source, DueTimes::Open { .. }) {
            self.note_lag(due_ns, now_ns);
        }
        self.advance();
        true
    }

    /// Sends the first request of the most recent operation. The operation must have an operation
    /// state.
    fn begin_special(&mut self, id: u16, due_ns: u64, now_ns: u64) -> Result<(), Unsendable> {
        let timestamp_us = self.timestamps.next_us(now_ns);
        self.courses[usize::from(id)].begin(due_ns, now_ns, timestamp_us);
        self.send_special(id)
    }

    /// Ends the operation in slot `id` without sending it, because its request does not fit in any
    /// frame.
    #[cold]
    fn refuse(&mut self, id: u16, now_ns: u64, why: &impl Display) -> bool {
        let slot = *self.in_flight.slot(id);
        self.in_flight.release(id);
        self.recorder.part.client.counts[ClientCount::Dropped] += 1;
        self.note_failure(id, &slot, Outcome::ClientRefused, now_ns, why);
        self.advance();
        // Returning false ends this iteration. In a closed loop, the next operation is due at once
        // and may also be too large. So the loop must not refuse more than one operation per
        // iteration.
        false
    }

    /// Appends the request of the most recent operation to the output of connection `index`.
    #[inline]
    fn encode(&mut self, index: u16, statement: usize, id: u16) {
        let Some(connection) = &mut self.connections[usize::from(index)] else {
            return;
        };
        let output = &mut connection.output;
        let template = &self.templates[statement];
        let start = template.begin(output);
        self.generator.append_values(output);
        template.finish(output, start, id as i16);
        if let Some(compression) = self.compression {
            compression.compress(output, start, &mut self.scratch);
        }
    }

    #[inline]
    fn note_lag(&mut self, due_ns: u64, now_ns: u64) {
        // The lag does not count for an operation that was due before the window but is sent in the
        // window.
        let is_carried_over = self.recorder.is_early(due_ns) && !self.recorder.is_early(now_ns);
        if is_carried_over {
            return;
        }
        let client = &mut self.recorder.part.client;
        client.counts[ClientCount::SentInDrain] += u64::from(self.draining);
        let lag_ns = now_ns - due_ns;
        if due_ns <= self.limited_until_ns {
            client.counts[ClientCount::Limited] += 1;
        } else {
            client.lag.record(lag_ns);
        }
        client.counts[ClientCount::Late] += u64::from(lag_ns > LATE_NS);
    }

    /// Returns the connection for the most recent operation. If a connection to the node that owns
    /// the operation's token is open, the function considers only connections to that node.
    /// Otherwise it considers the connections to all nodes. Returns `None` if all of these
    /// connections are closed or full.
    #[inline]
    fn pick(&mut self) -> Option<u16> {
        let count = self.connections.len();
        let per_node = self.connections_per_node;
        let owner = self
            .router
            .as_ref()
            .and_then(|router| Some(router.node(self.generator.token()?)));
        let (first, preferred) = match owner {
            None => (0, count),
            Some(node) => (usize::from(node) * per_node, per_node),
        };
        self.rotor = self.rotor.wrapping_add(1);
        for attempt in 0..preferred {
            let index = first + (self.rotor + attempt) % preferred;
            if self.has_room(index) {
                return Some(index as u16);
            }
        }
        if preferred == count
            || self.connections[first..first + per_node].iter().any(|c| c.is_some())
        {
            return None;
        }
        (0..count)
            .map(|attempt| (self.rotor + attempt) % count)
            .find(|&index| self.has_room(index))
            .map(|index| index as u16)
    }

    #[inline]
    pub(super) fn has_room(&self, index: usize) -> bool {
        self.connections[index]
            .as_ref()
            .is_some_and(|c| c.has_room(self.frame_bytes_max))
    }

    /// If all connections are closed, ends an operation that has waited for longer than its
    /// timeout. Returns true if it has ended the operation.
    #[cold]
    fn drop_if_hopeless(&mut self, operation: Operation, due_ns: u64, now_ns: u64) -> bool {
        let kind = operation.kind;
        let timeout_ns = self.facts.kinds[usize::from(kind)].timeout_ns;
        if self.open_count > 0 || now_ns - due_ns < timeout_ns {
            return false;
        }
        self.recorder.part.client.counts[ClientCount::Dropped] += 1;
        self.end.ended += 1;
        self.keep_slow_unsent(operation, due_ns, now_ns, Some(Outcome::NoConnection));
        self.recorder
            .error(kind, Outcome::NoConnection, due_ns, (now_ns - due_ns, None));
        self.advance();
        self.source.freed(now_ns);
        true
    }

    /// Frees streams if all streams are in use. The worker closes and reopens the connection with
    /// the most abandoned attempts, which frees the streams of these attempts.
    #[cold]
    pub(super) fn unblock(&mut self, now_ns: u64) {
        if self.in_flight.has_room() || self.in_flight.orphans_count() == 0 {
            return;
        }
        let Self {
            orphans, in_flight, ..
        } = self;
        orphans.fill(0);
        in_flight.for_each_orphan(|slot| orphans[usize::from(slot.connection)] += 1);
        let worst = (0..orphans.len()).max_by_key(|&index| orphans[index]);
        let text = "too many requests of the connection have no answer after their timeout";
        self.lose(worst.unwrap_or(0) as u16, now_ns, &text);
    }

    /// Sends requests that the worker encoded in other steps than the release of due operations.
    #[inline]
    pub(super) fn send_rest(&mut self, now_ns: u64) {
        if std::mem::take(&mut self.sockets.unsent) {
            self.send_all(now_ns);
        }
    }

    pub(super) fn send_all(&mut self, now_ns: u64) {
        for index in 0..self.connections.len() as u16 {
            self.send(index, now_ns);
        }
    }

    #[inline]
    pub(super) fn send(&mut self, index: u16, now_ns: u64) {
        let Some(connection) = &mut self.connections[usize::from(index)] else {
            return;
        };
        if connection.output.is_empty() && !connection.watches_write {
            return;
        }
        self.recorder.part.client.sends += 1;
        let blocked = match connection.send() {
            Ok(progress) => progress == Progress::Blocked,
            Err(error) => return self.lose(index, now_ns, &error),
        };
        self.is_stuck &= blocked;
        if blocked != connection.watches_write {
            connection.watches_write = blocked;
            self.sockets.blocked_count =
                self.sockets.blocked_count + usize::from(blocked) - usize::from(!blocked);
            let watch = if blocked {
                Watch::ReadsAndWrites
            } else {
                Watch::Reads
            };
            if let Err(error) = self.world.watch(connection.stream(), index, watch) {
                self.lose(index, now_ns, &error);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_grow_for_cheap_operations_and_shrink_for_costly_ones() {
        let mut batch = Batch::new();
        let mut sizes = Vec::new();
        for ns in [
            300,
            900,
            2_000,
            4_000,
            8_000,
            16_000,
            20_000,
            64 * 20_000,
            BATCH_MAX_NS,
        ] {
            sizes.push(batch.operations());
            batch.took(ns);
        }
        assert_eq!(sizes, [1, 2, 4, 8, 16, 32, 64, 64, 1]);
        assert_eq!(batch.operations(), 2);
    }
}
