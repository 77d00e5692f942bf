//! The hot loop: one thread, one poller, its own connections, and nothing shared per operation.
//!
//! Every turn of the loop does the same five things in the same order: wait, receive, give up on
//! what is too old, release what is due, send. After the stop nothing becomes due any more; what
//! was due before is released all the same, for the longest time-out, and then left unsent. The
//! clock is read once per batch, not once per operation: all answers of one receive end at the same
//! moment, and the send time of a batch is read before it is encoded, so that service time includes
//! the client's own encoding (at most one batch, some µs of cheap operations) and never leaves
//! something out.
//!
//! Must hold: an operation that was begun ends exactly once in the recorder; no lock, no log, no
//! map; nothing is allocated after the start line but: the histogram of a part's first failure of a
//! kind, the next MiB of a ledger whose length nobody knows, a buffer for an answer larger than any
//! before, the frame of a statement that a node calls by another id. `crate::sim` holds all of it.
//!
//! Budget: 350 ns of CPU per operation, kernel included, for generated standard1 writes on the null
//! target with 128 in flight. Last measured: 320 ns at 3.0 M op/s on one core, of which 120 ns are
//! ours and the rest is the loopback socket's (docs/performance.md has the machine).

mod again;
mod course;
mod first_errors;
mod multi_step;
mod receive;
mod release;
mod trouble;
mod unsent;

use crate::failures::Failures;
pub(crate) use again::Again;
pub(crate) use course::Course;
use first_errors::FirstErrors;
use measure::ClientCount;
pub(crate) use release::Batch;

use crate::config::VerifyReads;
use crate::connection::{Connection, Memory};
use crate::control::Control;
use crate::facts::Facts;
use crate::history::HistoryPart;
use crate::inflight::InFlight;
use crate::ledger::{LedgerPart, WriteState};
use crate::missed_rows::MissedRows;
use crate::recorder::Recorder;
use crate::router::Router;
use crate::schedule::Arrivals;
use crate::world::{Ready, World};
use crate::written::Written;
use cql::template::{BatchTemplate, Template};
use cql::{Compression, Version};
use measure::clock;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use workload::{Generator, Operation, Program};

/// Longest sleep, so that a stop or a reopened connection is noticed soon.
const SLEEP_MAX_NS: u64 = 50 * clock::MILLISECOND_NS;
/// Pause before a further try is offered to the connections again, none of which had room.
const AGAIN_NS: u64 = clock::MILLISECOND_NS;

/// Where the next operation comes from.
pub(crate) enum DueTimes {
    /// The moments at which slots became free, oldest first.
    Closed { freed_ns: VecDeque<u64> },
    /// Due times.
    Open { arrivals: Arrivals, start_ns: u64 },
}

impl DueTimes {
    #[inline]
    fn advance(&mut self) {
        match self {
            DueTimes::Closed { freed_ns } => {
                freed_ns.pop_front();
            }
            DueTimes::Open { arrivals, .. } => arrivals.advance(),
        }
    }

    /// A slot of a closed loop is free again: the next operation is due now.
    #[inline]
    fn freed(&mut self, now_ns: u64) {
        let DueTimes::Closed { freed_ns } = self else {
            return;
        };
        match freed_ns.back() {
            // Slots that the load has not risen to yet stand behind.
            Some(last_ns) if *last_ns > now_ns => {
                let at = freed_ns.partition_point(|ns| *ns <= now_ns);
                freed_ns.insert(at, now_ns);
            }
            _ => freed_ns.push_back(now_ns),
        }
    }
}

pub(crate) struct Worker<W: World> {
    pub world: W,
    pub control: Arc<Control>,
    pub program: Arc<Program>,
    pub generator: Generator,
    /// By statement.
    pub templates: Vec<Template>,
    pub batches: Vec<Option<BatchTemplate>>,
    pub facts: Facts,
    pub source: DueTimes,
    pub number: u64,
    pub number_end: u64,
    pub number_step: u64,
    pub in_flight_max: u32,
    /// Whether the stop has come.
    pub draining: bool,
    /// Whether there may be something to send that was not sent before.
    pub issuing: bool,
    pub verify_reads: VerifyReads,
    pub version: Version,
    /// Of each frame by itself: segments are compressed as a whole.
    pub compression: Option<Compression>,
    pub connections: Vec<Option<Connection<W::Stream>>>,
    /// Of connections that are not open.
    pub memory: Vec<Memory>,
    pub connections_per_node: usize,
    pub router: Option<Router>,
    pub in_flight: InFlight,
    /// By slot; none at all if every operation is plain.
    pub courses: Vec<Course>,
    /// Those that are in no slot: one for each try that may have to be made again.
    pub spare_courses: Vec<Course>,
    /// Failed tries that are to be followed by another.
    pub again: VecDeque<Again>,
    /// Operations of which two tries wait.
    pub twins_count: u32,
    /// Whether some output was written to outside of its connection's turn.
    pub unsent: bool,
    pub ledger: Option<LedgerPart>,
    pub history: Option<HistoryPart>,
    pub written: Option<Arc<Written>>,
    pub timestamps: Timestamps,
    pub recorder: Recorder,
    pub rotor: usize,
    /// By connection: room to count the streams that late answers block.
    pub orphans: Vec<u32>,
    pub batch: Batch,
    pub open_count: usize,
    pub limited_until_ns: u64,
    /// Whether the next operation has found its connections full, and none has been written to,
    /// lost or opened since.
    pub is_stuck: bool,
    pub release_quantum_ns: u64,
    pub release_next_ns: u64,
    pub frame_bytes_max: usize,
    pub scratch: Vec<u8>,
    pub plain: Vec<u8>,
    pub end: WorkerEnd,
}

/// Timestamps of writes, as the client states them: µs since 1970, no two the same, so that of two
/// writes to one row the one that was begun later wins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timestamps {
    /// From the monotonic clock to the time since 1970, ns.
    unix_offset_ns: i128,
    last_us: i64,
}

impl Timestamps {
    /// The monotonic clock says `now_ns` when it is `unix_ns` since 1970. Asked once: timestamps do
    /// not jump with the system's time.
    pub fn new(unix_ns: u64, now_ns: u64) -> Timestamps {
        Timestamps {
            unix_offset_ns: i128::from(unix_ns) - i128::from(now_ns),
            last_us: 0,
        }
    }

    fn next_us(&mut self, now_ns: u64) -> i64 {
        let unix_ns = i128::from(now_ns) + self.unix_offset_ns;
        self.last_us = ((unix_ns / 1000) as i64).max(self.last_us + 1);
        self.last_us
    }
}

/// What a worker tells at its end.
#[derive(Debug, Default)]
pub(crate) struct WorkerEnd {
    pub sent: u64,
    pub ended: u64,
    pub next_operation: u64,
    pub first_errors: FirstErrors,
    pub missed_rows: MissedRows,
    /// By the node's number.
    pub failures: Vec<Failures>,
    pub ledger: Option<LedgerPart>,
    pub history: Option<HistoryPart>,
    /// Whether it went before others; see [`crate::Config::realtime`].
    pub realtime: bool,
}

impl WorkerEnd {
    /// Of a worker that has done nothing yet.
    pub fn with_room(nodes_count: usize) -> WorkerEnd {
        WorkerEnd {
            failures: vec![Failures::default(); nodes_count],
            first_errors: FirstErrors::with_room(),
            missed_rows: MissedRows::with_room(),
            ..WorkerEnd::default()
        }
    }
}

impl<W: World> Worker<W> {
    /// Runs from the start line until nothing is to be sent and everything that was has ended.
    pub fn run(mut self, start_ns: u64) -> io::Result<WorkerEnd> {
        self.recorder.start(start_ns);
        self.ledger.iter_mut().for_each(|part| part.start(start_ns));
        self.world.own_time();
        match &mut self.source {
            DueTimes::Closed { freed_ns } => freed_ns.iter_mut().for_each(|ns| *ns += start_ns),
            DueTimes::Open {
                start_ns: line_ns, ..
            } => *line_ns = start_ns,
        }
        while self.world.now_ns() < start_ns {
            std::hint::spin_loop();
        }
        loop {
            let ready_count = self.wait()?;
            let now_ns = self.world.now_ns();
            // Read after the clock: what is not said yet will lie behind `now_ns`, so nothing that
            // is recorded in this turn can be on the wrong side of it.
            self.recorder.set_window_from_ns(self.control.window_from_ns());
            if !self.draining && now_ns >= self.control.stop_ns() {
                self.begin_drain(now_ns);
            }
            while now_ns >= self.recorder.end_ns() {
                self.note_gauges();
                self.recorder.cut(&mut self.world, now_ns, self.draining);
            }
            for at in 0..ready_count {
                self.attend(self.world.ready(at), now_ns);
            }
            self.expire(now_ns);
            self.take_reopened();
            if self.facts.has_retries {
                self.try_again(now_ns);
            }
            self.issuing = self.issuing && self.owes(now_ns);
            if self.issuing {
                self.release(now_ns);
            }
            self.send_rest(now_ns);
            if self.draining && now_ns >= self.control.hangs_up_ns() {
                self.hang_up(now_ns);
            }
            if !self.issuing && self.operations_count() == 0 {
                return Ok(self.finish());
            }
        }
    }

    fn finish(mut self) -> WorkerEnd {
        self.note_gauges();
        let now_ns = self.world.now_ns();
        self.end.next_operation = self.number;
        self.end.ledger = self.ledger.take();
        self.end.history = self.history.take();
        self.recorder.finish(&mut self.world, now_ns);
        self.end
    }

    /// Sleeps until something is readable or something is to be done.
    fn wait(&mut self) -> io::Result<usize> {
        let now_ns = self.world.now_ns();
        let sleep_ns = self.wake_ns(now_ns).saturating_sub(now_ns);
        self.world.wait(sleep_ns)
    }

    /// When the loop must turn again even if nothing is readable.
    fn wake_ns(&self, now_ns: u64) -> u64 {
        let mut wake_ns = self.recorder.end_ns().min(now_ns + SLEEP_MAX_NS);
        if let Some(due_ns) = self.in_flight.wake_ns() {
            wake_ns = wake_ns.min(due_ns);
        }
        if !self.again.is_empty() {
            wake_ns = wake_ns.min(now_ns + AGAIN_NS);
        }
        if !self.issuing {
            return wake_ns;
        }
        wake_ns = wake_ns.min(if self.draining {
            self.control.sends_until_ns()
        } else {
            self.control.stop_ns()
        });
        if self.may_send() {
            let due_ns = self.due_ns().unwrap_or(u64::MAX);
            wake_ns = wake_ns.min(due_ns.max(self.release_next_ns));
        }
        wake_ns
    }

    /// Whether the next operation could be sent now if it were due.
    #[inline]
    fn may_send(&self) -> bool {
        self.open_count > 0
            && !self.is_stuck
            && self.operations_count() < self.in_flight_max
            && self.in_flight.has_room()
    }

    /// When the next operation is due; `None`: a closed loop with every slot in use.
    #[inline]
    fn due_ns(&self) -> Option<u64> {
        match &self.source {
            DueTimes::Closed { freed_ns } => freed_ns.front().copied(),
            DueTimes::Open { arrivals, start_ns } => Some(start_ns + arrivals.next_ns()),
        }
    }

    #[inline]
    fn advance(&mut self) {
        self.number += self.number_step;
        self.source.advance();
    }

    /// Does what a readiness report asks for.
    fn attend(&mut self, ready: Ready, now_ns: u64) {
        if ready.reads {
            self.receive(ready.index, now_ns);
        }
        if ready.writes {
            self.send(ready.index, now_ns);
        }
    }

    /// Nothing becomes due any more.
    fn begin_drain(&mut self, now_ns: u64) {
        self.draining = true;
        self.note_gauges();
        let stop_ns = self.control.stop_ns().min(now_ns);
        self.recorder.cut_for_drain(&mut self.world, stop_ns);
    }

    /// Whether there is, or will be, anything to send. Of what was due before the stop, what could
    /// not be sent in the time that the drain has for it is given up.
    #[inline]
    fn owes(&mut self, now_ns: u64) -> bool {
        if self.number >= self.number_end {
            return false;
        }
        if !self.draining {
            return true;
        }
        let stop_ns = self.control.stop_ns();
        if self.due_ns().is_none_or(|due_ns| due_ns >= stop_ns) {
            return false;
        }
        let in_time = now_ns < self.control.sends_until_ns();
        if !in_time {
            // Counting takes a while, and a send that fails then would have failed too early.
            self.send_rest(now_ns);
            self.leave_unsent(now_ns, stop_ns);
        }
        in_time
    }

    fn note_gauges(&mut self) {
        let in_flight = u64::from(self.operations_count());
        let client = &mut self.recorder.part.client;
        client.counts[ClientCount::InFlight] = in_flight;
        client.counts[ClientCount::Connections] = self.open_count as u64;
    }

    /// The ledger, if one is kept and the operation is a write.
    #[inline]
    fn ledger_for(&mut self, operation: &Operation) -> Option<&mut LedgerPart> {
        let is_write = self.facts.kinds[usize::from(operation.kind)].is_write;
        self.ledger.as_mut().filter(|_| is_write)
    }

    /// Notes that an operation was sent, in the ledger if it is a write: from now on it may be
    /// done.
    #[inline]
    fn write_down_sent(&mut self, operation: &Operation, now_ns: u64) {
        if let Some(history) = &mut self.history {
            history.sent(operation.number, now_ns);
        }
        if let Some(ledger) = self.ledger_for(operation) {
            ledger.set(operation.number, WriteState::Unknown);
            ledger.sent(operation.number, now_ns);
        }
    }

    /// Notes in the ledger that a write was acknowledged, and that it is done, if it is.
    #[inline]
    fn write_down_acknowledged(&mut self, operation: &Operation, done_ns: Option<u64>) {
        if let Some(ledger) = self.ledger_for(operation) {
            ledger.set(operation.number, WriteState::Acknowledged);
            if let Some(done_ns) = done_ns {
                ledger.acknowledged(operation.number, done_ns);
            }
        }
    }
}
