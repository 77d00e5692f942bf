//! Receiving: every answer finds its operation, and the operation ends.

use super::Worker;
use crate::answer::{Answer, Reading};
use crate::config::{FirstError, VerifyReads};
use crate::connection::Connection;
use crate::inflight::{Slot, State};
use crate::worker::Source;
use measure::Outcome;
use measure::interval::CheckCounts;
use workload::Check;

impl Worker {
    pub(super) fn receive(&mut self, index: u16, now_ns: u64) {
        // Taken out, so that answers can be read while the worker writes down what they say.
        let Some(mut connection) = self.connections[usize::from(index)].take() else {
            return;
        };
        let mut plain = std::mem::take(&mut self.plain);
        let result = loop {
            self.recorder.part.client.receives += 1;
            match connection.receive() {
                Ok(0) => break Ok(()),
                Ok(_) => {
                    // A short read has emptied the socket; only TLS may hold more back.
                    let more = connection.is_full() || connection.is_tls();
                    let read = self.read_answers(&mut connection, index, now_ns, &mut plain);
                    if read.is_err() || !more {
                        break read;
                    }
                }
                Err(error) => break Err(error.to_string()),
            }
        };
        self.plain = plain;
        self.connections[usize::from(index)] = Some(connection);
        if let Err(reason) = result {
            self.lose(index, now_ns, &reason);
        }
    }

    fn read_answers(
        &mut self,
        connection: &mut Connection,
        index: u16,
        now_ns: u64,
        plain: &mut Vec<u8>,
    ) -> Result<(), String> {
        while let Some((header, body)) = connection.next_frame().map_err(|e| e.to_string())? {
            let Some(slot) = self.in_flight.get(header.stream, index) else {
                if header.stream < 0 {
                    continue;
                }
                return Err(format!(
                    "an answer on stream {}, where nothing waits",
                    header.stream
                ));
            };
            let slot = *slot;
            let id = header.stream as u16;
            if slot.state == State::Orphaned {
                self.in_flight.release(id);
                continue;
            }
            let facts = self.statements[usize::from(slot.operation.statement)];
            let reading = Reading {
                header,
                preparing: slot.state == State::Preparing,
            };
            match reading.answer(connection.bytes(body), plain) {
                Answer::Done => self.succeed(id, &slot, now_ns),
                Answer::Rows(rows) => {
                    let verified = facts.verifies && self.is_verified(slot.operation.number);
                    let kind = &mut self.recorder.part.kinds[usize::from(facts.kind)];
                    kind.rows_missing += u64::from(rows.rows_count == 0);
                    if verified {
                        note_check(
                            &mut kind.checks,
                            self.generator.check(slot.operation, &rows),
                        );
                    }
                    self.succeed(id, &slot, now_ns);
                }
                Answer::Error(outcome, message) => self.fail(id, &slot, outcome, now_ns, message),
                Answer::Forgotten => self.prepare_again(connection, id, &slot),
                Answer::Prepared(prepared_id) => {
                    self.send_again(connection, id, &slot, &prepared_id);
                }
                Answer::Nonsense(what) => return Err(what),
            }
        }
        if !connection.output.is_empty() {
            connection.send().map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    #[inline]
    fn is_verified(&self, number: u64) -> bool {
        match self.verify_reads {
            VerifyReads::Off => false,
            VerifyReads::EveryNth(n) => number.is_multiple_of(u64::from(n.max(1))),
        }
    }

    #[inline]
    fn succeed(&mut self, id: u16, slot: &Slot, now_ns: u64) {
        self.in_flight.release(id);
        self.end.ended += 1;
        self.recorder.success(
            slot.operation.kind,
            now_ns.saturating_sub(slot.intended_ns),
            now_ns.saturating_sub(slot.sent_ns),
        );
        self.freed(now_ns);
    }

    #[cold]
    fn fail(&mut self, id: u16, slot: &Slot, outcome: Outcome, now_ns: u64, message: &str) {
        self.in_flight.release(id);
        self.note_failure(slot, outcome, now_ns, message);
    }

    pub(super) fn note_failure(
        &mut self,
        slot: &Slot,
        outcome: Outcome,
        now_ns: u64,
        message: &str,
    ) {
        self.end.ended += 1;
        let latency_ns = now_ns.saturating_sub(slot.intended_ns);
        self.recorder
            .error(slot.operation.kind, outcome, latency_ns);
        self.freed(now_ns);
        let node = usize::from(slot.connection) / self.connections_per_node;
        self.note_first(outcome, node, message);
    }

    pub(super) fn note_first(&mut self, outcome: Outcome, node: usize, message: &str) {
        if self
            .end
            .first_errors
            .iter()
            .all(|first| first.outcome != outcome)
        {
            self.end.first_errors.push(FirstError {
                outcome,
                node: self.reconnector.nodes[node].name.clone(),
                message: message.to_owned(),
            });
        }
    }

    /// A slot of the closed loop is free again: the next operation is due now.
    #[inline]
    pub(super) fn freed(&mut self, now_ns: u64) {
        if let Source::Closed { freed_ns } = &mut self.source {
            freed_ns.push_back(now_ns);
        }
    }
}

fn note_check(checks: &mut CheckCounts, check: Check) {
    checks.checked += u64::from(check != Check::Unknown);
    match check {
        Check::Right | Check::Unknown => {}
        Check::Missing => checks.missing += 1,
        Check::Stale => checks.stale += 1,
        Check::Wrong => checks.wrong += 1,
    }
}
