//! What goes wrong: time-outs, forgotten statements, lost connections. Off the hot path.

use super::Worker;
use crate::connection::{Connection, Link};
use crate::inflight::{Slot, State};
use cql::template::Template;
use measure::Outcome;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::io;

impl Worker {
    pub(super) fn expire(&mut self, now_ns: u64) {
        let sent_before_ns = now_ns.saturating_sub(self.timeout_ns);
        while let Some(slot) = self.in_flight.expire(sent_before_ns) {
            let text = "no answer within the client's time-out";
            self.note_failure(&slot, Outcome::ClientTimeout, now_ns, text);
        }
    }

    /// The server has forgotten the statement: prepare it on the stream of the operation.
    #[cold]
    pub(super) fn prepare_again(&mut self, connection: &mut Connection, id: u16, slot: &Slot) {
        let statement = usize::from(slot.operation.statement);
        let cql = &self.reconnector.program.statements()[statement].cql;
        cql::request::prepare(&mut connection.output, id as i16, cql);
        self.recorder.part.kinds[usize::from(slot.operation.kind)].reprepared += 1;
        if let Some(slot) = self.in_flight.get(id as i16, slot.connection) {
            slot.state = State::Preparing;
        }
    }

    /// The statement is prepared again: send the operation again, on the same stream.
    #[cold]
    pub(super) fn send_again(
        &mut self,
        connection: &mut Connection,
        id: u16,
        slot: &Slot,
        prepared: &[u8],
    ) {
        let index = usize::from(slot.operation.statement);
        let statement = &self.reconnector.program.statements()[index];
        let params = crate::connect::params(statement);
        self.templates[index] = Template::execute(prepared, statement.values_count, &params);
        let output = &mut connection.output;
        self.generator.begin(slot.operation.number);
        let start = self.templates[index].begin(output);
        self.generator.append_values(output);
        self.templates[index].finish(output, start, id as i16);
        if let Some(slot) = self.in_flight.get(id as i16, slot.connection) {
            slot.state = State::Waiting;
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
            .drop_connection(index, |slot| lost.push(*slot));
        let node = usize::from(index) / self.connections_per_node;
        for slot in lost {
            self.note_failure(&slot, Outcome::ConnectionLost, now_ns, reason);
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
