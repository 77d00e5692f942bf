//! Receives responses, and ends the operation to which each response belongs.

use super::Worker;
use crate::answer::{Answer, Nonsense, Reading};
use crate::config::VerifyReads;
use crate::connection::{ANSWER_BYTES_USUAL, Connection, ReadEnd};
use crate::inflight::{Slot, State};
use crate::read_check::{ReadValue, note_check};
use crate::statement_facts::NO_KIND;
use crate::worker::operation_state::StartTimes;
use crate::worker_io::World;
use cql::frame::{FrameError, Header};
use cql::response::RawRows;
use measure::{KindCount, Outcome, clock};
use std::fmt::Display;
use workload::Operation;

/// Time after the stop during which slow verifications continue, in ns. Only a few reads are still
/// in flight then, and the stop waits for the verifications.
const JUDGES_AFTER_STOP_NS: u64 = 100 * clock::MILLISECOND_NS;

#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error(transparent)]
    Ended(#[from] ReadEnd),
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Answer(#[from] Nonsense),
    #[error("the node sent an answer on stream {0}, on which no operation waits")]
    Stray(i16),
    #[error(
        "the node sent an answer of {bytes} bytes, but the limit is {limit} bytes; hint: lower \
         `workload.page_size`, so that an answer contains fewer rows"
    )]
    TooLong { bytes: u32, limit: u32 },
}

impl<W: World> Worker<W> {
    pub(super) fn receive(&mut self, index: u16, now_ns: u64) {
        // This code moves the connection out of the worker, so that the worker can read responses
        // and record them at the same time.
        let Some(mut connection) = self.connections[usize::from(index)].take() else {
            return;
        };
        let mut plain = std::mem::take(&mut self.plain);
        let result = loop {
            self.recorder.part.client.receives += 1;
            match connection.receive() {
                Ok(0) => break Ok(()),
                Ok(_) => {
                    self.sockets.arrived_ns =
                        connection.arrived_ns().map_or(now_ns, |ns| ns.min(now_ns));
                    self.recorder.heard(self.sockets.arrived_ns);
                    // A read that did not fill the buffer has emptied the socket. More data can
                    // then only be in the buffers of TLS and segments.
                    let more = connection.may_have_more();
                    let read = self.read_answers(&mut connection, index, now_ns, &mut plain);
                    if read.is_err() || !more {
                        break read;
                    }
                }
                Err(ended) => break Err(ended.into()),
            }
        };
        self.plain = plain;
        self.connections[usize::from(index)] = Some(connection);
        match result {
            Ok(()) => self.send(index, now_ns),
            Err(reason) => self.lose(index, now_ns, &reason),
        }
    }

    fn read_answers(
        &mut self,
        connection: &mut Connection<W::Stream>,
        index: u16,
        now_ns: u64,
        plain: &mut Vec<u8>,
    ) -> Result<(), Broken> {
        while let Some((header, body)) = connection.next_frame()? {
            let Some(slot) = self.in_flight.get(header.stream, index) else {
                if header.stream < 0 {
                    continue;
                }
                return Err(Broken::Stray(header.stream));
            };
            let slot = *slot;
            let id = header.stream as u16;
            if slot.state == State::Orphaned {
                self.in_flight.release(id);
                continue;
            }
            let reading = Reading {
                header,
                preparing: slot.state == State::Preparing,
                body_bytes_max: self.body_bytes_max(&slot),
                compression: self.compression,
            };
            match reading.answer(connection.bytes(body), plain) {
                Answer::Done if slot.is_plain() => self.succeed_plain(id, &slot, now_ns),
                Answer::Rows(rows) if slot.is_plain() => {
                    self.take_rows(&slot, &rows);
                    if let Some(history) = &mut self.history {
                        history.answered(slot.operation.number, &rows, false, now_ns);
                    }
                    self.succeed_plain(id, &slot, now_ns);
                }
                Answer::Done => {
                    if self.take_success(id, &slot, None, now_ns) {
                        self.go_on(&mut connection.output, id, now_ns);
                    }
                }
                Answer::Rows(rows) => {
                    if self.take_success(id, &slot, Some(&rows), now_ns) {
                        self.go_on(&mut connection.output, id, now_ns);
                    }
                }
                Answer::Error(outcome, message) => {
                    self.in_flight.release(id);
                    self.fail_try(id, &slot, outcome, now_ns, &message);
                }
                Answer::Forgotten(statement_id) => match self.forgotten(&slot, statement_id) {
                    Some(statement) => self.prepare_again(connection, id, &slot, statement),
                    None => {
                        let why = "the node reports an unknown statement, but this client did not \
                                   prepare this statement";
                        self.in_flight.release(id);
                        self.fail_try(id, &slot, Outcome::Unprepared, now_ns, &why);
                    }
                },
                Answer::Prepared(prepared_id) => {
                    self.learn(id, &slot, prepared_id);
                    self.send_again(connection, id, &slot, now_ns);
                }
                Answer::Nonsense(what) => return Err(what.into()),
            }
        }
        match connection.awaited() {
            Some(header) => self.check_awaited(&header, index),
            None => Ok(()),
        }
    }

    #[inline]
    fn body_bytes_max(&self, slot: &Slot) -> u32 {
        self.facts.statements[usize::from(slot.operation.statement)].body_bytes_max
    }

    /// Fails as soon as the header of a response has arrived, if the response exceeds the maximum
    /// size for its request.
    #[cold]
    fn check_awaited(&mut self, header: &Header, index: u16) -> Result<(), Broken> {
        let slot = self.in_flight.get(header.stream, index).copied();
        let limit = slot.map_or(ANSWER_BYTES_USUAL, |slot| self.body_bytes_max(&slot));
        if header.length <= limit {
            return Ok(());
        }
        let bytes = header.length;
        Err(Broken::TooLong { bytes, limit })
    }

    /// Counts and verifies the rows of a plain read.
    #[inline]
    fn take_rows(&mut self, slot: &Slot, rows: &RawRows<'_>) {
        let facts = self.facts.statements[usize::from(slot.operation.statement)];
        let kind = &mut self.recorder.part.kinds[usize::from(slot.operation.kind)];
        kind.counts[KindCount::Rows] += rows.rows_count as u64;
        kind.counts[KindCount::RowsMissing] += u64::from(rows.rows_count == 0);
        if facts.verifies && self.is_verified(slot.operation.number) {
            self.judge(slot.operation, rows);
        }
    }

    /// Compares the rows of a read with the values that the seed prescribes. Also compares them
    /// with the ledgers, if ledgers are available.
    pub(super) fn judge(&mut self, operation: Operation, rows: &RawRows<'_>) {
        let (control, world) = (&self.control, &self.world);
        // The check of a whole partition of thousands of rows takes a while, and many reads may be
        // in progress. The worker therefore abandons the check some time after the stop.
        let gives_up = || world.now_ns() > control.stop_ns().saturating_add(JUDGES_AFTER_STOP_NS);
        let check = self.generator.check_until(operation, rows, gives_up);
        let said = ReadValue {
            check,
            row: operation.key,
            writer: self.generator.writer(),
            counted: self.generator.counted(),
        };
        let checks = &mut self.recorder.part.kinds[usize::from(operation.kind)].checks;
        if let Some(missed) = note_check(checks, said, self.written.as_deref()) {
            self.end.missed_rows.note(said.row, missed);
        }
    }

    #[inline]
    pub(super) fn is_verified(&self, number: u64) -> bool {
        match self.verify_reads {
            VerifyReads::Off => false,
            VerifyReads::EveryNth(n) => number.is_multiple_of(u64::from(n.max(1))),
        }
    }

    #[inline]
    fn succeed_plain(&mut self, id: u16, slot: &Slot, now_ns: u64) {
        self.write_down_acknowledged(&slot.operation, Some(now_ns));
        self.succeed(id, slot, slot.sent_ns, now_ns);
    }

    /// Ends the operation of `slot`, whose first request was sent at `sent_ns`, with success. The
    /// latency of the operation ends at the arrival of the response. In a closed loop, the next
    /// operation is due only now, because a delay in the client's reading is not a latency of the
    /// target.
    #[inline]
    pub(super) fn succeed(&mut self, id: u16, slot: &Slot, sent_ns: u64, now_ns: u64) {
        self.in_flight.release(id);
        self.end.ended += 1;
        let latency_ns = self.sockets.arrived_ns.saturating_sub(slot.intended_ns);
        self.recorder.success(
            slot.operation.kind,
            slot.intended_ns,
            latency_ns,
            self.sockets.arrived_ns.saturating_sub(sent_ns),
        );
        if self.end.slowest.is_slow(latency_ns) {
            self.keep_slow_success(id, slot);
        }
        self.source.freed(now_ns);
    }

    #[cold]
    pub(super) fn note_failure(
        &mut self,
        id: u16,
        slot: &Slot,
        outcome: Outcome,
        now_ns: u64,
        message: &impl Display,
    ) {
        let mut begun = if slot.is_plain() {
            StartTimes::once(slot)
        } else {
            self.courses[usize::from(id)].begun(slot.intended_ns, slot.connection)
        };
        if outcome == Outcome::ClientRefused {
            begun.sent_ns = None;
        }
        self.note_end(&slot.operation, &begun, outcome, now_ns);
        let node = usize::from(slot.connection) / self.connections_per_node;
        if let Some(failures) = self.end.failures.get_mut(node) {
            failures.note(now_ns);
        }
        self.note_first(outcome, node, message);
    }

    /// Records the error of an operation, and of its current part.
    pub(super) fn note_end(
        &mut self,
        operation: &Operation,
        begun: &StartTimes,
        outcome: Outcome,
        now_ns: u64,
    ) {
        self.end.ended += 1;
        self.keep_slow(operation, begun, outcome, now_ns);
        let part = self.facts.statements[usize::from(operation.statement)].part;
        let since = |ns: u64| now_ns.saturating_sub(ns);
        let ended = [
            (operation.kind, begun.intended_ns, begun.sent_ns),
            (part, begun.part_due_ns, begun.part_sent_ns()),
        ];
        for (kind, due_ns, sent_ns) in ended {
            if kind != NO_KIND {
                let times_ns = (since(due_ns), sent_ns.map(since));
                self.recorder.error(kind, outcome, begun.intended_ns, times_ns);
            }
        }
        self.source.freed(now_ns);
    }

    pub(super) fn note_first(&mut self, outcome: Outcome, node: usize, message: &impl Display) {
        self.end.first_errors.note(outcome, node, message);
    }
}
