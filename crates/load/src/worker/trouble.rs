//! What goes wrong: time-outs, forgotten statements, lost connections. Off the hot path.

use super::Worker;
use crate::connect;
use crate::connection::{Connection, Link};
use crate::inflight::{Slot, State};
use measure::Outcome;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::io;

impl Worker {
    pub(super) fn expire(&mut self, now_ns: u64) {
        while let Some((id, slot)) = self.in_flight.expire(now_ns) {
            let text = "no answer within the client's time-out";
            self.fail_try(id, &slot, Outcome::ClientTimeout, now_ns, text);
        }
        while let Some(id) = self.in_flight.speculate(now_ns) {
            self.speculate(id, now_ns);
        }
    }

    /// Which of the operation's statements the server has forgotten: the one with this id, if it
    /// was ever prepared.
    #[cold]
    pub(super) fn forgotten(&mut self, slot: &Slot, id: &[u8]) -> Option<u16> {
        let statement = slot.operation.statement;
        let mut known = vec![statement];
        if !slot.is_plain() && self.batches[usize::from(statement)].is_some() {
            self.generator.seek(slot.operation);
            let entries = 0..self.generator.entries();
            known.extend(entries.map(|entry| self.generator.entry_statement(entry)));
        }
        let template = |index: &u16| self.templates[usize::from(*index)].prepared_id();
        let named = known.iter().find(|index| template(index) == Some(id));
        // A proxy may answer with an id of its own making; of a single statement there is no doubt.
        let only = (known.len() == 1 && template(&statement).is_some()).then_some(statement);
        named.copied().or(only)
    }

    /// The server has forgotten the statement: prepare it on the stream of the operation.
    #[cold]
    pub(super) fn prepare_again(
        &mut self,
        connection: &mut Connection,
        id: u16,
        slot: &Slot,
        statement: u16,
    ) {
        let cql = &self.reconnector.program.statements()[usize::from(statement)].cql;
        cql::request::prepare(&mut connection.output, id as i16, cql);
        self.recorder.part.kinds[usize::from(slot.operation.kind)].reprepared += 1;
        if !slot.is_plain() {
            self.courses[usize::from(id)].preparing = statement;
        }
        self.in_flight.slot(id).state = State::Preparing;
    }

    /// The statement is prepared again: send the operation again, on the same stream.
    #[cold]
    pub(super) fn send_again(
        &mut self,
        connection: &mut Connection,
        id: u16,
        slot: &Slot,
        prepared: &[u8],
        now_ns: u64,
    ) {
        let index = usize::from(match slot.is_plain() {
            true => slot.operation.statement,
            false => self.courses[usize::from(id)].preparing,
        });
        let statement = &self.reconnector.program.statements()[index];
        self.templates[index] = connect::execute_template(statement, prepared);
        self.in_flight.slot(id).state = State::Waiting;
        self.generator.seek(slot.operation);
        if !slot.is_plain() {
            if let Err(why) = self.encode_special(&mut connection.output, id) {
                self.in_flight.release(id);
                self.fail_try(id, slot, Outcome::ClientRefused, now_ns, &why);
            }
            return;
        }
        let output = &mut connection.output;
        let start = self.templates[index].begin(output);
        self.generator.append_values(output);
        self.templates[index].finish(output, start, id as i16);
        if let Some(compression) = self.compression {
            compression.compress(output, start, &mut self.scratch);
        }
    }

    /// A connection ended: what waited on it has failed, and it is opened again elsewhere.
    #[cold]
    pub(super) fn lose(&mut self, index: u16, now_ns: u64, reason: &str) {
        if self.connections[usize::from(index)].take().is_none() {
            return;
        }
        self.open_count -= 1;
        self.recorder.part.client.connections_lost += 1;
        let mut lost = Vec::new();
        self.in_flight
            .drop_connection(index, |id, slot| lost.push((id, *slot)));
        let node = usize::from(index) / self.connections_per_node;
        for (id, slot) in lost {
            self.fail_try(id, &slot, Outcome::ConnectionLost, now_ns, reason);
        }
        self.note_first(Outcome::ConnectionLost, node, reason);
        self.reconnector
            .reopen(node, index, self.reopened.0.clone());
    }

    pub(super) fn take_reopened(&mut self) {
        if self.open_count == self.connections.len() {
            return;
        }
        while let Ok(reopened) = self.reopened.1.try_recv() {
            let index = reopened.connection;
            if self.adopt(index, reopened.link).is_err() {
                let node = usize::from(index) / self.connections_per_node;
                self.reconnector
                    .reopen(node, index, self.reopened.0.clone());
            }
        }
    }

    /// Takes over a link as connection number `index`.
    pub fn adopt(&mut self, index: u16, link: Link) -> io::Result<()> {
        let connection = Connection::new(link, self.frame_bytes_max)?;
        let data = EventData::new_u64(u64::from(index));
        epoll::add(&self.poller, connection.stream(), data, EventFlags::IN)?;
        self.connections[usize::from(index)] = Some(connection);
        self.open_count += 1;
        Ok(())
    }
}
