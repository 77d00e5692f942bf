//! Handles operations that have an operation state. This module encodes their requests and
//! processes their responses (another page, the following statement, the end). Plain operations
//! never reach this code.
//!
//! The costs were measured with `cassay`'s example `engine_cost` on one of two shared vCPUs, with
//! 128 operations in flight and including the kernel. An operation that may be retried or has a
//! client timestamp takes 255 ns. A plain operation with the same values takes 245 ns. A batch of
//! ten takes 520 ns, a chain of two 500 ns, and three pages of ten rows of two columns 830 ns.

use super::Worker;
use super::operation_state::Turn;
use crate::inflight::{NONE, Slot};
use crate::ledger::WriteState;
use crate::statement_facts::{NO_KIND, NO_STATEMENT, StatementFacts};
use crate::worker_io::World;
use cql::frame::{BODY_BYTES_MAX, HEADER_BYTES};
use cql::response::RawRows;
use cql::template::{BATCH_ENTRIES_MAX, stamp};
use measure::{KindCount, Outcome};
use workload::Operation;

/// Reason why a request does not fit in any frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unsendable {
    #[error("a batch has {0} statements, but a frame contains at most {BATCH_ENTRIES_MAX}")]
    TooManyStatements(usize),
    #[error("an operation has no statement")]
    Empty,
    #[error("an operation that is not a batch has {0} statements")]
    NoBatch(usize),
    #[error("a request has {0} bytes, but a frame contains at most {BODY_BYTES_MAX}")]
    TooLong(usize),
}

impl<W: World> Worker<W> {
    /// Appends the current request of the operation in slot `id`. The generator must be set to this
    /// operation. If the request does not fit in any frame, returns `Err` and appends nothing.
    pub(super) fn encode_special(
        &mut self,
        output: &mut Vec<u8>,
        id: u16,
    ) -> Result<(), Unsendable> {
        let slot = self.in_flight.slot(id);
        let statement = usize::from(slot.operation.statement);
        self.world.encoded(slot.connection, id, slot.operation.number);
        let course = &mut self.courses[usize::from(id)];
        let template = &self.templates[statement];
        let entries = self.generator.entries();
        let (start, has_timestamp);
        if let (Some(batch), 2..) = (&self.batches[statement], entries) {
            if entries > BATCH_ENTRIES_MAX {
                return Err(Unsendable::TooManyStatements(entries));
            }
            start = batch.begin(output, entries as u16);
            let mut tables = 0_u64;
            for entry in 0..entries {
                let statement = usize::from(self.generator.entry_statement(entry));
                tables |= self.facts.statements[statement].table;
                self.templates[statement].append_entry(output);
                self.generator.append_entry_values(entry, output);
            }
            batch.finish(output, start, id as i16);
            course.tables = tables.count_ones() as u8;
            course.statements = entries as u16;
            has_timestamp = batch.has_timestamp();
        } else if entries != 1 {
            return Err(match entries {
                0 => Unsendable::Empty,
                _ => Unsendable::NoBatch(entries),
            });
        } else {
            start = template.begin(output);
            self.generator.append_values(output);
            match course.paging_state.as_slice() {
                [] => template.finish(output, start, id as i16),
                state => template.finish_page(output, start, id as i16, state),
            }
            has_timestamp = template.has_timestamp();
        }
        let bytes = output.len() - start;
        if bytes > HEADER_BYTES + BODY_BYTES_MAX as usize {
            output.truncate(start);
            return Err(Unsendable::TooLong(bytes));
        }
        if has_timestamp {
            stamp(output, course.timestamp_us);
        }
        if let Some(compression) = self.compression {
            compression.compress(output, start, &mut self.scratch);
        }
        Ok(())
    }

    /// Appends the request of the operation in slot `id` to the output of its connection.
    pub(super) fn send_special(&mut self, id: u16) -> Result<(), Unsendable> {
        let index = usize::from(self.in_flight.slot(id).connection);
        let Some(connection) = &mut self.connections[index] else {
            return Ok(());
        };
        let mut output = std::mem::take(&mut connection.output);
        let encoded = self.encode_special(&mut output, id);
        if let Some(connection) = &mut self.connections[index] {
            connection.output = output;
        }
        encoded
    }

    /// Processes the success of an attempt. Returns true if its operation continues with another
    /// request on the same stream. Otherwise the operation has ended.
    pub(super) fn take_success(
        &mut self,
        id: u16,
        slot: &Slot,
        rows: Option<&RawRows<'_>>,
        now_ns: u64,
    ) -> bool {
        self.win(id, slot.operation.kind);
        let facts = self.facts.statements[usize::from(slot.operation.statement)];
        let course = &self.courses[usize::from(id)];
        let (tables, statements) = (i64::from(course.tables), u64::from(course.statements));
        let kind = &mut self.recorder.part.kinds[usize::from(slot.operation.kind)];
        kind.counts[KindCount::Batched] += statements - 1;
        let count = if facts.is_read { 1 } else { tables };
        self.count_request(slot.operation.kind, facts.is_read, count);
        if let Some((history, rows)) = self.history.as_mut().zip(rows) {
            history.answered(slot.operation.number, rows, facts.conditional, now_ns);
        }
        let mut applied = None;
        let mut turn = Turn::Last;
        match rows {
            Some(rows) if facts.conditional => {
                applied = rows.applied();
                let kind = &mut self.recorder.part.kinds[usize::from(slot.operation.kind)];
                kind.counts[KindCount::Applied] += u64::from(applied == Some(true));
                kind.counts[KindCount::NotApplied] += u64::from(applied == Some(false));
            }
            Some(rows) => turn = self.take_page(id, slot, facts, rows),
            None => {}
        }
        match turn {
            Turn::Next => return true,
            Turn::Endless(why) => {
                self.in_flight.release(id);
                self.note_failure(id, slot, Outcome::EndlessPages, now_ns, &why);
                return false;
            }
            Turn::Last => {}
        }
        self.note_part(id, slot, facts.part, self.sockets.arrived_ns);
        if facts.then != NO_STATEMENT {
            self.courses[usize::from(id)].begin_part(now_ns);
            self.in_flight.slot(id).operation.statement = facts.then;
            return true;
        }
        if applied == Some(false) {
            self.write_down_not_applied(&slot.operation);
        } else {
            // Another attempt of the operation may still be in flight. If the client does not set
            // the timestamp, that attempt is a separate write, with the timestamp of the node that
            // receives it.
            let is_one_write = facts.stamped || !self.courses[usize::from(id)].is_repeated;
            self.write_down_acknowledged(&slot.operation, is_one_write.then_some(now_ns));
        }
        // This count excludes the request that counts as the operation itself.
        let is_write = self.facts.kinds[usize::from(slot.operation.kind)].is_write;
        self.count_request(slot.operation.kind, !is_write, -1);
        let sent_ns = self.courses[usize::from(id)].first_sent_ns;
        self.succeed(id, slot, sent_ns, now_ns);
        false
    }

    /// Sends the next request of an operation after a response, on the same stream.
    pub(super) fn go_on(&mut self, output: &mut Vec<u8>, id: u16, now_ns: u64) {
        self.in_flight.resend(id, now_ns);
        let slot = *self.in_flight.slot(id);
        self.generator.seek(slot.operation);
        if let Err(why) = self.encode_special(output, id) {
            self.in_flight.release(id);
            self.note_failure(id, &slot, Outcome::ClientRefused, now_ns, &why);
        }
    }

    /// Marks that this attempt was answered first, and abandons the other attempt.
    fn win(&mut self, id: u16, kind: u8) {
        let course = &mut self.courses[usize::from(id)];
        let twin = std::mem::replace(&mut course.twin, NONE);
        if std::mem::take(&mut course.speculative) {
            self.recorder.part.kinds[usize::from(kind)].counts[KindCount::SpeculationsWon] += 1;
        }
        if twin != NONE {
            self.courses[usize::from(twin)].twin = NONE;
            self.in_flight.orphan(twin);
            self.twins_count -= 1;
            self.recorder.part.kinds[usize::from(kind)].extra_uncertain += 1;
        }
    }

    /// Records in the ledger that a conditional write has changed nothing.
    fn write_down_not_applied(&mut self, operation: &Operation) {
        if let Some(ledger) = self.ledger_for(operation) {
            ledger.set(operation.number, WriteState::NotSent);
        }
    }

    fn count_request(&mut self, kind: u8, is_read: bool, count: i64) {
        let kind = &mut self.recorder.part.kinds[usize::from(kind)];
        *(if is_read {
            &mut kind.extra_reads
        } else {
            &mut kind.extra_writes
        }) += count;
    }

    /// Counts and verifies a page by its rows. A read counts as missing a row only if none of its
    /// pages has a row.
    fn take_page(
        &mut self,
        id: u16,
        slot: &Slot,
        facts: StatementFacts,
        rows: &RawRows<'_>,
    ) -> Turn {
        let rows_count = rows.rows_count as u64;
        let course = &mut self.courses[usize::from(id)];
        let pages_max = if facts.paged { facts.pages_max } else { 1 };
        let turn = course.turn(rows_count, rows.paging_state, pages_max);
        let is_empty = course.rows() == 0 && turn == Turn::Last;
        let kind = &mut self.recorder.part.kinds[usize::from(slot.operation.kind)];
        kind.counts[KindCount::Rows] += rows_count;
        kind.counts[KindCount::Pages] += u64::from(facts.paged);
        kind.counts[KindCount::RowsMissing] += u64::from(is_empty);
        let judged = rows_count > 0 || is_empty;
        if judged && facts.verifies && self.is_verified(slot.operation.number) {
            self.judge(slot.operation, rows);
        }
        turn
    }

    fn note_part(&mut self, id: u16, slot: &Slot, part: u8, arrived_ns: u64) {
        if part != NO_KIND {
            let course = &self.courses[usize::from(id)];
            let latency_ns = arrived_ns.saturating_sub(course.part_due_ns);
            let service_ns = arrived_ns.saturating_sub(course.part_sent_ns);
            self.recorder.success(part, slot.intended_ns, latency_ns, service_ns);
        }
    }
}
