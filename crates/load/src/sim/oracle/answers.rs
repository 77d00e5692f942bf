//! Second half of the oracle. It derives the effects of responses, errors and lost connections.

use super::super::program::{self, BATCH, TEXT};
use super::super::server::{Reply, SimRequest};
use super::{OpenOperation, Oracle, Try};
use crate::answer::outcome_of;
use crate::ledger::{LEDGER_OPERATIONS_MAX, LedgerPart, TIMED_OPERATIONS_MAX, WriteState};
use crate::sim::shape::START_NS;
use crate::statement_facts::may_be_tried_again;
use measure::{KindCount, Outcome};

/// Returns the ledger that the worker should write, with the times of all writes.
pub(super) fn ledger(first: u64, workers: u64) -> LedgerPart {
    let part = LedgerPart::new(first, workers, LEDGER_OPERATIONS_MAX / workers, 1);
    let mut part = part.timed(TIMED_OPERATIONS_MAX / workers, 1);
    part.start(START_NS);
    part
}

impl Oracle {
    /// Returns a stream on which a request of another connection waits for a response.
    pub fn stream_of_another(&self, connection: u16) -> Option<u16> {
        let other = |(_, made): &(&u16, &Try)| made.connection != connection && !made.is_orphan;
        self.streams.iter().find(other).map(|(stream, _)| *stream)
    }

    /// Checks a request that has reached the server.
    pub fn record_request(&mut self, connection: u16, asked: &SimRequest) {
        self.say(|| format!("{connection} receives the request {asked:?}"));
        let made = &self.streams[&(asked.stream as u16)];
        assert_eq!(made.connection, connection);
        if made.is_orphan {
            return;
        }
        let begun = &self.begun[&made.number];
        assert_eq!(asked.statement, begun.statement);
        assert_eq!(asked.prepares, made.prepares);
        if asked.prepares {
            return;
        }
        assert_eq!(asked.number, made.number);
        let paging_state = asked.paging_state.as_deref().unwrap_or_default();
        assert_eq!(paging_state, begun.paging_state);
        if asked.statement == BATCH {
            assert_eq!(asked.entries, program::entries(self.seed, made.number));
        }
    }

    /// Records that the worker has read a response. `arrived_ns` is the arrival time of the
    /// response, if it is known.
    pub fn answered(
        &mut self,
        connection: u16,
        stream: i16,
        reply: Reply,
        arrived_ns: Option<u64>,
    ) {
        self.arrived_ns = arrived_ns.map_or(self.turn_ns, |ns| ns.min(self.turn_ns));
        self.seen.before_turn += u64::from(self.arrived_ns < self.turn_ns);
        self.say(|| format!("{connection} answers on stream {stream}: {reply:?}"));
        let stream = stream as u16;
        if self.broken.contains(&connection) {
            return;
        }
        let made = self.streams[&stream];
        assert_eq!(made.connection, connection);
        if made.is_orphan {
            self.seen.late += 1;
            self.streams.remove(&stream);
            return;
        }
        let Try { number, .. } = made;
        match reply {
            Reply::Error(code) => {
                self.streams.remove(&stream);
                self.fail(number, outcome_of(code), self.turn_ns);
            }
            Reply::Forgotten if self.begun[&number].statement == TEXT => {
                self.streams.remove(&stream);
                self.fail(number, Outcome::Unprepared, self.turn_ns);
            }
            Reply::Forgotten => {
                let kind = self.begun[&number].kind;
                self.recorded.counts(kind).counts[KindCount::Reprepared] += 1;
                self.seen.forgotten += 1;
                self.stream(stream).prepares = true;
            }
            Reply::Prepared => self.stream(stream).goes_on = true,
            Reply::Void => self.succeed(stream, 0, None, None),
            Reply::Applied(applied) => self.succeed(stream, 1, None, Some(applied)),
            Reply::Rows { count, next } => self.succeed(stream, count, next, None),
            Reply::Poison => unreachable!("the connection is broken"),
        }
    }

    fn succeed(&mut self, stream: u16, rows: u64, next: Option<Vec<u8>>, applied: Option<bool>) {
        let made = self.streams[&stream];
        let number = made.number;
        self.win(stream, made);
        let mut begun = self.begun.remove(&number).expect("a begun operation");
        let statement = &self.program.statements()[usize::from(begun.statement)];
        let is_read = statement.returns_rows || statement.conditional;
        let (then, part) = (statement.then, statement.part);
        let counts = self.recorded.counts(begun.kind);
        *(if is_read {
            &mut counts.reads
        } else {
            &mut counts.writes
        }) += 1;
        if begun.statement == BATCH {
            counts.counts[KindCount::Batched] += program::entries(self.seed, number) as u64 - 1;
        }
        counts.counts[KindCount::Applied] += u64::from(applied == Some(true));
        counts.counts[KindCount::NotApplied] += u64::from(applied == Some(false));
        if applied.is_none() {
            counts.counts[KindCount::Rows] += rows;
            counts.counts[KindCount::Pages] += u64::from(statement.page_size.is_some());
        }
        begun.rows += rows;
        if let Some(next) = next {
            let turns = next == begun.paging_state;
            begun.paging_state = next;
            self.begun.insert(number, begun);
            if turns {
                self.streams.remove(&stream);
                return self.end_of(number, Outcome::EndlessPages, self.turn_ns);
            }
            self.stream(stream).goes_on = true;
            return;
        }
        let is_missing = statement.returns_rows && begun.rows == 0;
        self.recorded.counts(begun.kind).counts[KindCount::RowsMissing] += u64::from(is_missing);
        let is_early = self.is_early(begun.intended_ns);
        let since = |ns: u64| self.arrived_ns - ns;
        if let Some(part) = part {
            let (latency_ns, service_ns) = (since(begun.part_due_ns), since(begun.part_sent_ns));
            self.recorded.succeed(part, is_early, latency_ns, service_ns);
        }
        if let Some(then) = then {
            begun.statement = then;
            begun.part_due_ns = self.turn_ns;
            begun.part_sent_ns = self.turn_ns;
            begun.rows = 0;
            self.begun.insert(number, begun);
            self.stream(stream).goes_on = true;
            return;
        }
        self.streams.remove(&stream);
        let (latency_ns, service_ns) = (since(begun.intended_ns), since(begun.sent_ns));
        self.recorded.ends(is_early, latency_ns);
        self.recorded.succeed(begun.kind, is_early, latency_ns, service_ns);
        self.ended += 1;
        self.due.free(self.turn_ns);
        let is_write = self.program.kinds()[usize::from(begun.kind)].is_write;
        if is_write {
            self.write_down(number, &begun, applied != Some(false));
        }
    }

    /// Records the expected ledger entry of a write that was answered.
    fn write_down(&mut self, number: u64, begun: &OpenOperation, is_done: bool) {
        let Some(ledger) = &mut self.ledger else {
            return;
        };
        if !is_done {
            return ledger.set(number, WriteState::NotSent);
        }
        ledger.set(number, WriteState::Acknowledged);
        let statement = &self.program.statements()[usize::from(begun.statement)];
        if statement.client_timestamp || !begun.is_repeated {
            ledger.acknowledged(number, self.turn_ns);
        }
    }

    /// Records that this attempt was answered first, so that the worker abandons the other attempt.
    fn win(&mut self, stream: u16, made: Try) {
        let kind = self.begun[&made.number].kind;
        if std::mem::take(&mut self.stream(stream).is_second) {
            self.recorded.counts(kind).counts[KindCount::SpeculationsWon] += 1;
            self.seen.second_won += 1;
        }
        let twin = self.streams.iter().find(|(other, other_made)| {
            **other != stream && other_made.number == made.number && !other_made.is_orphan
        });
        if let Some(twin) = twin.map(|(twin, _)| *twin) {
            self.orphan(twin);
        }
    }

    /// Records that an attempt has failed. The caller has already freed or blocked the stream of
    /// the attempt.
    pub(super) fn fail(&mut self, number: u64, outcome: Outcome, now_ns: u64) {
        let waits = |made: &Try| made.number == number && !made.is_orphan;
        if self.streams.values().any(waits) {
            return;
        }
        let begun = &self.begun[&number];
        let statement = &self.program.statements()[usize::from(begun.statement)];
        let kind = &self.program.kinds()[usize::from(begun.kind)];
        let twice = statement.idempotent || (statement.returns_rows && !statement.conditional);
        let retries = kind.policy.retries.max(self.retries_min);
        if begun.retries < retries && may_be_tried_again(outcome, twice) {
            self.begun.get_mut(&number).expect("begun").failed = Some((outcome, now_ns));
            self.again.push_back(number);
            return;
        }
        self.end_of(number, outcome, now_ns);
    }

    /// Ends an operation and its current part after the last attempt has failed.
    pub(super) fn end_of(&mut self, number: u64, outcome: Outcome, now_ns: u64) {
        self.say(|| format!("operation {number} ends: {outcome:?}"));
        let begun = self.begun.remove(&number).expect("a begun operation");
        let is_early = self.is_early(begun.intended_ns);
        let was_sent = outcome != Outcome::ClientRefused;
        let since = |ns: u64| now_ns - ns;
        let service_ns = was_sent.then(|| since(begun.sent_ns));
        let latency_ns = since(begun.intended_ns);
        self.recorded.ends(is_early, latency_ns);
        self.recorded.fail(begun.kind, outcome, is_early, latency_ns, service_ns);
        if let Some(part) = self.program.statements()[usize::from(begun.statement)].part {
            let service_ns = was_sent.then(|| since(begun.part_sent_ns));
            let latency_ns = since(begun.part_due_ns);
            self.recorded.fail(part, outcome, is_early, latency_ns, service_ns);
        }
        self.ended += 1;
        self.due.free(now_ns);
    }

    /// Records that the worker detects the end of a connection, or reads invalid data.
    pub fn breaks(&mut self, connection: u16, writes: bool) {
        self.seen.broken_writes += u64::from(writes);
        self.broken.insert(connection);
    }

    pub fn closed(&mut self, connection: u16) {
        self.say(|| format!("{connection} is closed"));
        if self.recorded.is_over {
            return;
        }
        let is_broken = self.broken.remove(&connection);
        let hangs_up = !is_broken && self.hangs_up();
        if !is_broken {
            self.expire();
        }
        if !is_broken && !hangs_up {
            // The worker closes the connection because late responses block too many of its
            // streams.
            assert!(self.streams.len() == self.slots);
            assert!(self.streams.values().any(|made| made.is_orphan));
            self.seen.unblocked += 1;
        }
        self.has_tried_again |= self.has_expired;
        self.recorded.connections_lost += 1;
        self.open[usize::from(connection)] = false;
        let lost: Vec<Try> = self
            .streams
            .extract_if(.., |_, made| made.connection == connection)
            .map(|(_, made)| made)
            .collect();
        for made in lost.into_iter().filter(|made| !made.is_orphan) {
            self.seen.lost += 1;
            self.seen.hung_up += u64::from(hangs_up);
            let at_ns = if hangs_up { self.turn_ns } else { self.now_ns };
            self.fail(made.number, Outcome::ConnectionLost, at_ns);
        }
    }

    /// Ends all operations that wait for another attempt, because the run stops waiting for
    /// responses.
    pub(super) fn hang_up(&mut self) {
        if !self.hangs_up() {
            return;
        }
        assert!(!self.is_open(), "a connection is open after the end");
        for number in std::mem::take(&mut self.again) {
            let (outcome, _) = self.begun[&number].failed.expect("a failed try");
            self.end_of(number, outcome, self.turn_ns);
        }
    }

    fn hangs_up(&self) -> bool {
        self.turn_ns >= self.control.hangs_up_ns()
    }

    pub fn adopted(&mut self, connection: u16) {
        self.say(|| format!("{connection} is open again"));
        self.expire();
        self.open[usize::from(connection)] = true;
    }
}
