//! Handles timeouts, statements that a server has forgotten, and lost connections. This code is not
//! on the hot path.

use super::Worker;
use crate::connect;
use crate::connection::{Connection, Link};
use crate::inflight::{Slot, State};
use crate::socket::TimedReader;
use crate::worker_io::{Watch, World};
use cql::request::StatementId;
use measure::{ClientCount, KindCount, Outcome};
use std::fmt::Display;
use std::io;

impl<W: World> Worker<W> {
    pub(super) fn expire(&mut self, now_ns: u64) {
        while let Some((id, slot)) = self.in_flight.expire(now_ns) {
            let text = "no answer within the client's timeout";
            self.fail_try(id, &slot, Outcome::ClientTimeout, now_ns, &text);
        }
        while let Some(id) = self.in_flight.speculate(now_ns) {
            self.speculate(id, now_ns);
        }
    }

    /// Returns the statement of the operation that the server has forgotten. `id` is the id of that
    /// statement. Returns `None` if the client has not prepared the statement.
    #[cold]
    pub(super) fn forgotten(&mut self, slot: &Slot, id: &[u8]) -> Option<u16> {
        let statement = slot.operation.statement;
        let mut entries = 0;
        if !slot.is_plain() && self.batches[usize::from(statement)].is_some() {
            self.generator.seek(slot.operation);
            entries = self.generator.entries();
        }
        let template = |index: u16| self.templates[usize::from(index)].prepared_id();
        let others = (0..entries).map(|entry| self.generator.entry_statement(entry));
        let mut known = [statement].into_iter().chain(others);
        let named = known.find(|index| template(*index) == Some(id));
        // A proxy may answer with another id. If the operation has a single statement, this
        // statement is the forgotten one in any case.
        let is_only = entries == 0 && template(statement).is_some();
        named.or(is_only.then_some(statement))
    }

    /// Prepares a statement that the server has forgotten, on the stream of the operation.
    #[cold]
    pub(super) fn prepare_again(
        &mut self,
        connection: &mut Connection<W::Stream>,
        id: u16,
        slot: &Slot,
        statement: u16,
    ) {
        let cql = &self.program.statements()[usize::from(statement)].cql;
        cql::request::prepare(&mut connection.output, self.version, id as i16, cql)
            .expect("the statement was prepared before");
        self.recorder.part.kinds[usize::from(slot.operation.kind)].counts[KindCount::Reprepared] +=
            1;
        if !slot.is_plain() {
            self.courses[usize::from(id)].preparing = statement;
        }
        self.in_flight.slot(id).state = State::Preparing;
    }

    /// Stores the id with which the server has prepared a statement again. The id is a digest of
    /// the statement, so it rarely changes.
    #[cold]
    pub(super) fn learn(&mut self, id: u16, slot: &Slot, prepared: StatementId<'_>) {
        let index = self.prepared_again(id, slot);
        if !self.templates[index].executes(prepared) {
            let statement = &self.program.statements()[index];
            self.templates[index] = connect::execute_template(statement, prepared, self.version);
        }
    }

    fn prepared_again(&self, id: u16, slot: &Slot) -> usize {
        usize::from(if slot.is_plain() {
            slot.operation.statement
        } else {
            self.courses[usize::from(id)].preparing
        })
    }

    /// Sends the operation again on the same stream, after the client has prepared its statement
    /// again.
    #[cold]
    pub(super) fn send_again(
        &mut self,
        connection: &mut Connection<W::Stream>,
        id: u16,
        slot: &Slot,
        now_ns: u64,
    ) {
        let index = self.prepared_again(id, slot);
        self.in_flight.slot(id).state = State::Waiting;
        self.generator.seek(slot.operation);
        if !slot.is_plain() {
            if let Err(why) = self.encode_special(&mut connection.output, id) {
                self.in_flight.release(id);
                self.fail_try(id, slot, Outcome::ClientRefused, now_ns, &why);
            }
            return;
        }
        self.world.encoded(slot.connection, id, slot.operation.number);
        let output = &mut connection.output;
        let start = self.templates[index].begin(output);
        self.generator.append_values(output);
        self.templates[index].finish(output, start, id as i16);
        if let Some(compression) = self.compression {
            compression.compress(output, start, &mut self.scratch);
        }
    }

    /// Handles the end of a connection. The operations that waited on the connection fail. The
    /// worker then starts to reopen the connection.
    #[cold]
    pub(super) fn lose(&mut self, index: u16, now_ns: u64, reason: &impl Display) {
        if self.close(index, now_ns, reason) {
            self.world.reopen(index);
        }
    }

    /// Ends all operations that are still in flight, because the client stops waiting for
    /// responses.
    #[cold]
    pub(super) fn hang_up(&mut self, now_ns: u64) {
        for index in 0..self.connections.len() {
            self.close(index as u16, now_ns, &"cassay abandoned the run");
        }
        while self.end_failed(now_ns) {}
    }

    /// Closes a connection. The operations that waited on the connection fail. Returns false if the
    /// connection was not open.
    fn close(&mut self, index: u16, now_ns: u64, reason: &impl Display) -> bool {
        let Some(connection) = self.connections[usize::from(index)].take() else {
            return false;
        };
        self.sockets.blocked_count -= usize::from(connection.watches_write);
        self.memory.push(connection.close());
        self.open_count -= 1;
        self.is_stuck = false;
        self.recorder.part.client.counts[ClientCount::ConnectionsLost] += 1;
        let mut next = 0;
        while let Some((id, slot)) = self.in_flight.drop_next(index, next) {
            next = id + 1;
            self.fail_try(id, &slot, Outcome::ConnectionLost, now_ns, reason);
        }
        let node = usize::from(index) / self.connections_per_node;
        self.note_first(Outcome::ConnectionLost, node, reason);
        true
    }

    pub(super) fn take_reopened(&mut self) {
        if self.open_count == self.connections.len() {
            return;
        }
        while let Some((index, link)) = self.world.reopened() {
            if self.adopt(index, link).is_err() {
                self.world.reopen(index);
            }
        }
    }

    /// Uses a new link as connection number `index`.
    pub fn adopt(&mut self, index: u16, link: Link<W::Stream>) -> io::Result<()> {
        self.world.watch(&link.stream, index, Watch::First)?;
        let Some(memory) = self.memory.pop() else {
            unreachable!("connection {index} is open twice");
        };
        self.sockets.are_timed &= link.stream.is_timed();
        let connection = Connection::new(link, memory);
        self.connections[usize::from(index)] = Some(connection);
        self.open_count += 1;
        self.is_stuck = false;
        Ok(())
    }
}
