//! The hot loop: one thread, one poller, its own connections, and nothing shared per operation.
//!
//! Every turn of the loop does the same five things in the same order: wait, receive, give up on
//! what is too old, release what is due, send. The clock is read once per batch, not once per
//! operation: all answers of one receive end at the same moment, and the send time of a batch is
//! read before it is encoded, so that service time includes the client's own encoding (at most
//! [`BATCH`] operations, a few µs) and never leaves something out.
//!
//! Must hold: an operation that was begun ends exactly once in the recorder; nothing is allocated
//! after the start line while connections live; no lock, no log, no map.
//!
//! Budget on the null target, standard1 writes, 128 in flight: see docs/performance.md.

use crate::answer::{Answer, Reading};
use crate::config::{FirstError, VerifyReads};
use crate::connect::{Reconnector, Reopened};
use crate::connection::{Connection, Link, Progress};
use crate::inflight::{InFlight, Slot, State};
use crate::recorder::Recorder;
use crate::router::Router;
use crate::run::Control;
use crate::schedule::Arrivals;
use cql::Compression;
use cql::template::Template;
use measure::{Outcome, clock};
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use workload::{Check, Generator};

/// Operations encoded between two readings of the clock, and sent together. At about 100 ns each
/// a batch takes less than 10 µs; more would blur the send time and keep the server waiting.
pub(crate) const BATCH: u32 = 64;
/// An operation sent more than this after it was due counts as late (rule V1).
const LATE_NS: u64 = clock::MILLISECOND_NS;
/// Longest sleep, so that a stop or a reopened connection is noticed soon.
const SLEEP_MAX_NS: u64 = 50 * clock::MILLISECOND_NS;
/// Readiness reports taken per wait.
const EVENTS_MAX: usize = 64;

/// Where the next operation comes from.
pub(crate) enum Source {
    /// The moments at which slots became free, oldest first.
    Closed { freed_ns: VecDeque<u64> },
    /// Due times.
    Open { arrivals: Arrivals, start_ns: u64 },
}

pub(crate) struct Worker {
    pub control: Arc<Control>,
    pub generator: Generator,
    pub templates: Vec<Template>,
    pub statements: Vec<StatementFacts>,
    pub source: Source,
    pub number: u64,
    pub number_end: u64,
    pub number_step: u64,
    pub in_flight_max: u32,
    pub timeout_ns: u64,
    pub verify_reads: VerifyReads,
    pub compression: Option<Compression>,
    pub connections: Vec<Option<Connection>>,
    pub connections_per_node: usize,
    pub router: Option<Router>,
    pub in_flight: InFlight,
    pub recorder: Recorder,
    pub reconnector: Arc<Reconnector>,
    pub reopened: (Sender<Reopened>, Receiver<Reopened>),
    pub poller: OwnedFd,
    pub rotor: usize,
    pub open_count: usize,
    pub limited_until_ns: u64,
    pub frame_bytes_max: usize,
    pub scratch: Vec<u8>,
    pub plain: Vec<u8>,
    pub end: WorkerEnd,
}

/// What the loop must know of a statement, in one word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatementFacts {
    pub returns_rows: bool,
    pub verifies: bool,
    pub kind: u8,
}

/// What a worker tells at its end.
#[derive(Debug, Default)]
pub(crate) struct WorkerEnd {
    pub sent: u64,
    pub ended: u64,
    pub next_operation: u64,
    pub first_errors: Vec<FirstError>,
}

impl Worker {
    /// Runs from the start line until everything that was sent has ended.
    pub fn run(mut self, start_ns: u64) -> io::Result<WorkerEnd> {
        self.recorder.start(start_ns);
        match &mut self.source {
            Source::Closed { freed_ns } => freed_ns.iter_mut().for_each(|ns| *ns = start_ns),
            Source::Open {
                start_ns: line_ns, ..
            } => *line_ns = start_ns,
        }
        let mut events = Vec::with_capacity(EVENTS_MAX);
        while clock::now_ns() < start_ns {
            std::hint::spin_loop();
        }
        let mut draining = false;
        loop {
            self.wait(&mut events, draining)?;
            let now_ns = clock::now_ns();
            if !draining && now_ns >= self.control.stop_ns() {
                draining = true;
                self.begin_drain(now_ns);
            }
            if now_ns >= self.recorder.end_ns() {
                self.note_gauges();
                self.recorder.cut(now_ns, draining);
            }
            for event in &events {
                self.attend(event.data.u64() as u16, event.flags, now_ns);
            }
            self.expire(now_ns);
            self.take_reopened();
            if !draining {
                self.release(now_ns);
            }
            let over = draining || self.number >= self.number_end;
            if over && self.in_flight.waiting_count() == 0 {
                return Ok(self.finish());
            }
        }
    }

    fn finish(mut self) -> WorkerEnd {
        self.note_gauges();
        let now_ns = clock::now_ns();
        self.end.next_operation = self.number;
        self.recorder.finish(now_ns);
        self.end
    }

    /// Sleeps until something is readable or something is to be done.
    fn wait(&mut self, events: &mut Vec<Event>, draining: bool) -> io::Result<()> {
        let now_ns = clock::now_ns();
        let sleep_ns = self.wake_ns(now_ns, draining).saturating_sub(now_ns);
        let timeout = Timespec {
            tv_sec: (sleep_ns / clock::SECOND_NS) as i64,
            tv_nsec: (sleep_ns % clock::SECOND_NS) as _,
        };
        events.clear();
        match epoll::wait(
            &self.poller,
            rustix::buffer::spare_capacity(events),
            Some(&timeout),
        ) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// When the loop must turn again even if nothing is readable.
    fn wake_ns(&self, now_ns: u64, draining: bool) -> u64 {
        let mut wake_ns = self.recorder.end_ns().min(now_ns + SLEEP_MAX_NS);
        if let Some(sent_ns) = self.in_flight.oldest_sent_ns() {
            wake_ns = wake_ns.min(sent_ns + self.timeout_ns);
        }
        if draining || self.number >= self.number_end {
            return wake_ns;
        }
        wake_ns = wake_ns.min(self.control.stop_ns());
        if self.may_send() {
            wake_ns = wake_ns.min(self.due_ns().unwrap_or(u64::MAX));
        }
        wake_ns
    }

    /// Whether the next operation could be sent now if it were due.
    #[inline]
    fn may_send(&self) -> bool {
        self.open_count > 0
            && self.in_flight.waiting_count() < self.in_flight_max
            && self.in_flight.has_room()
            && self
                .connections
                .iter()
                .flatten()
                .any(|c| c.has_room(self.frame_bytes_max))
    }

    /// When the next operation is due; `None`: a closed loop with every slot in use.
    #[inline]
    fn due_ns(&self) -> Option<u64> {
        match &self.source {
            Source::Closed { freed_ns } => freed_ns.front().copied(),
            Source::Open { arrivals, start_ns } => Some(start_ns + arrivals.next_ns()),
        }
    }

    #[inline]
    fn advance(&mut self) {
        self.number += self.number_step;
        match &mut self.source {
            Source::Closed { freed_ns } => {
                freed_ns.pop_front();
            }
            Source::Open { arrivals, .. } => arrivals.advance(),
        }
    }

    /// Sends what is due, in batches, as far as limits allow.
    fn release(&mut self, woken_ns: u64) {
        let mut now_ns = woken_ns;
        loop {
            let mut batch = 0;
            let mut more = true;
            while batch < BATCH && more {
                more = self.release_one(now_ns);
                batch += u32::from(more);
            }
            if batch == 0 {
                return;
            }
            self.send_all(now_ns);
            if !more {
                return;
            }
            now_ns = clock::now_ns();
        }
    }

    /// Encodes the next operation if it is due and may be sent.
    #[inline]
    fn release_one(&mut self, now_ns: u64) -> bool {
        let Some(due_ns) = self.due_ns() else {
            return false;
        };
        if due_ns > now_ns || self.number >= self.number_end || due_ns >= self.control.stop_ns() {
            return false;
        }
        if self.in_flight.waiting_count() >= self.in_flight_max || !self.in_flight.has_room() {
            self.limited_until_ns = now_ns;
            self.unblock(now_ns);
            return false;
        }
        let operation = self.generator.begin(self.number);
        let Some(index) = self.pick() else {
            self.limited_until_ns = now_ns;
            return self.drop_if_hopeless(operation.kind, due_ns, now_ns);
        };
        let Some(id) = self.in_flight.insert(operation, index, due_ns, now_ns) else {
            return false;
        };
        self.encode(index, usize::from(operation.statement), id);
        self.end.sent += 1;
        if matches!(self.source, Source::Open { .. }) {
            self.note_lag(due_ns, now_ns);
        }
        self.advance();
        true
    }

    /// Appends the request for the operation last begun to the output of connection `index`.
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
        if self.compression.is_some() {
            cql::compression::compress_frame(output, start, &mut self.scratch);
        }
    }

    #[inline]
    fn note_lag(&mut self, due_ns: u64, now_ns: u64) {
        let client = &mut self.recorder.part.client;
        let lag_ns = now_ns - due_ns;
        if due_ns <= self.limited_until_ns {
            client.limited += 1;
        } else {
            client.lag.record(lag_ns);
        }
        client.late += u64::from(lag_ns > LATE_NS);
    }

    /// The connection for the operation last begun: to a node that owns it if one is open, else
    /// any that is. `None`: none is open, or none has room.
    #[inline]
    fn pick(&mut self) -> Option<u16> {
        let count = self.connections.len();
        let per_node = self.connections_per_node;
        let first = match &self.router {
            None => 0,
            Some(router) => usize::from(router.node(self.generator.token())) * per_node,
        };
        let preferred = if self.router.is_some() {
            per_node
        } else {
            count
        };
        self.rotor = self.rotor.wrapping_add(1);
        for attempt in 0..preferred {
            let index = first + (self.rotor + attempt) % preferred;
            if self.has_room(index) {
                return Some(index as u16);
            }
        }
        if preferred == count
            || self.connections[first..first + per_node]
                .iter()
                .any(|c| c.is_some())
        {
            return None;
        }
        (0..count)
            .map(|attempt| (self.rotor + attempt) % count)
            .find(|&index| self.has_room(index))
            .map(|index| index as u16)
    }

    #[inline]
    fn has_room(&self, index: usize) -> bool {
        self.connections[index]
            .as_ref()
            .is_some_and(|c| c.has_room(self.frame_bytes_max))
    }

    /// No connection: an operation that has waited longer than its time-out is given up.
    #[cold]
    fn drop_if_hopeless(&mut self, kind: u8, due_ns: u64, now_ns: u64) -> bool {
        if self.open_count > 0 || now_ns - due_ns < self.timeout_ns {
            return false;
        }
        self.recorder.part.client.dropped += 1;
        self.end.ended += 1;
        self.recorder
            .error(kind, Outcome::NoConnection, now_ns - due_ns);
        self.advance();
        self.freed(now_ns);
        true
    }

    /// All streams are taken. If most belong to operations that timed out, the connection that
    /// has them is worth nothing any more: it is closed, which frees them, and opened again.
    #[cold]
    fn unblock(&mut self, now_ns: u64) {
        if self.in_flight.has_room() || self.in_flight.orphans_count() == 0 {
            return;
        }
        let mut orphans = vec![0u32; self.connections.len()];
        self.in_flight
            .for_each_orphan(|slot| orphans[usize::from(slot.connection)] += 1);
        let worst = (0..orphans.len())
            .max_by_key(|&index| orphans[index])
            .unwrap_or(0);
        self.lose(
            worst as u16,
            now_ns,
            "too many answers are outstanding after their time-out",
        );
    }

    fn send_all(&mut self, now_ns: u64) {
        for index in 0..self.connections.len() as u16 {
            self.send(index, now_ns);
        }
    }

    #[inline]
    fn send(&mut self, index: u16, now_ns: u64) {
        let Some(connection) = &mut self.connections[usize::from(index)] else {
            return;
        };
        if connection.output.is_empty() && !connection.watches_write {
            return;
        }
        self.recorder.part.client.sends += 1;
        let blocked = match connection.send() {
            Ok(progress) => progress == Progress::Blocked,
            Err(error) => return self.lose(index, now_ns, &error.to_string()),
        };
        if blocked != connection.watches_write {
            connection.watches_write = blocked;
            let write = if blocked {
                EventFlags::OUT
            } else {
                EventFlags::empty()
            };
            let data = EventData::new_u64(u64::from(index));
            let flags = EventFlags::IN | write;
            if let Err(error) = epoll::modify(&self.poller, connection.stream(), data, flags) {
                self.lose(index, now_ns, &error.to_string());
            }
        }
    }

    /// Does what a readiness report asks for.
    fn attend(&mut self, index: u16, flags: EventFlags, now_ns: u64) {
        if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
            self.receive(index, now_ns);
        }
        if flags.contains(EventFlags::OUT) {
            self.send(index, now_ns);
        }
    }

    fn receive(&mut self, index: u16, now_ns: u64) {
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
                facts,
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
            VerifyReads::EveryNth(n) => number % u64::from(n.max(1)) == 0,
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

    fn note_failure(&mut self, slot: &Slot, outcome: Outcome, now_ns: u64, message: &str) {
        self.end.ended += 1;
        let latency_ns = now_ns.saturating_sub(slot.intended_ns);
        self.recorder
            .error(slot.operation.kind, outcome, latency_ns);
        self.freed(now_ns);
        let node = usize::from(slot.connection) / self.connections_per_node;
        self.note_first(outcome, node, message);
    }

    fn note_first(&mut self, outcome: Outcome, node: usize, message: &str) {
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
    fn freed(&mut self, now_ns: u64) {
        if let Source::Closed { freed_ns } = &mut self.source {
            freed_ns.push_back(now_ns);
        }
    }

    fn expire(&mut self, now_ns: u64) {
        let sent_before_ns = now_ns.saturating_sub(self.timeout_ns);
        while let Some(slot) = self.in_flight.expire(sent_before_ns) {
            let text = "no answer within the client's time-out";
            self.note_failure(&slot, Outcome::ClientTimeout, now_ns, text);
        }
    }

    /// The server has forgotten the statement: prepare it on the stream of the operation.
    #[cold]
    fn prepare_again(&mut self, connection: &mut Connection, id: u16, slot: &Slot) {
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
    fn send_again(&mut self, connection: &mut Connection, id: u16, slot: &Slot, prepared: &[u8]) {
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
    fn lose(&mut self, index: u16, now_ns: u64, reason: &str) {
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

    fn take_reopened(&mut self) {
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

    /// No more operations are issued. What was due before the stop and never sent is counted.
    fn begin_drain(&mut self, now_ns: u64) {
        let stop_ns = self.control.stop_ns().min(now_ns);
        if let Source::Open { arrivals, start_ns } = &mut self.source {
            let mut number = self.number;
            while *start_ns + arrivals.next_ns() < stop_ns && number < self.number_end {
                self.recorder.part.client.due_never_sent += 1;
                number += self.number_step;
                arrivals.advance();
            }
        }
        self.note_gauges();
        self.recorder.cut_for_drain(stop_ns);
    }

    fn note_gauges(&mut self) {
        let client = &mut self.recorder.part.client;
        client.in_flight = u64::from(self.in_flight.waiting_count());
        client.connections = self.open_count as u64;
    }
}

fn note_check(checks: &mut measure::interval::CheckCounts, check: Check) {
    checks.checked += u64::from(check != Check::Unknown);
    match check {
        Check::Right | Check::Unknown => {}
        Check::Missing => checks.missing += 1,
        Check::Stale => checks.stale += 1,
        Check::Wrong => checks.wrong += 1,
    }
}
