//! The hot loop: one thread with its own poller and connections, and without shared state per
//! operation.
//!
//! Every iteration of the loop does the same five steps in the same order: wait, receive, expire
//! old attempts, release due operations, send. After the stop, no further operation becomes due.
//! For the longest timeout after the stop, the loop still releases operations that were due before
//! the stop. The rest is left unsent.
//!
//! The loop reads the clock once per batch, not once per operation. All responses of one receive
//! call end at the same moment, which is the arrival of the last of them in the kernel
//! ([`crate::socket`]). If the kernel does not report the arrival, they end at this iteration of
//! the loop. The loop reads the send time of a batch before it encodes the batch. Service time
//! therefore includes the client's own encoding (at most one batch, some µs of cheap operations)
//! and never omits work of the target.
//!
//! Invariants: an operation that has begun ends exactly once in the recorder. The loop uses no
//! locks, no logging and no maps. After the start line, it allocates memory only in four cases. The
//! first two are the histogram of a part's first failure of a kind, and the next MiB of a ledger of
//! unknown length. The other two are a buffer for a response larger than any before, and the frame
//! of a statement for which a node returned another id. `crate::sim` verifies all of this.
//!
//! The budget is 350 ns of CPU per operation, including the kernel, for generated standard1 writes
//! on the null target with 128 operations in flight. The last measurement was 320 ns at 3.0 M op/s
//! on one core. Of these, the engine itself takes 120 ns, and the loopback socket the rest
//! (docs/performance.md describes the machine).

mod first_errors;
mod multi_step;
mod operation_state;
mod receive;
mod release;
mod retries;
mod slow_operations;
mod timeouts;
mod unsent_operations;

use crate::failures::Failures;
use first_errors::FirstErrors;
use measure::ClientCount;
pub(crate) use operation_state::OperationState;
pub(crate) use release::Batch;
pub(crate) use retries::Again;

use crate::config::VerifyReads;
use crate::connection::{Connection, Memory};
use crate::control::Control;
use crate::earlier_writes::EarlierWrites;
use crate::inflight::InFlight;
use crate::ledger::{LedgerPart, WriteState};
use crate::missed_rows::MissedRows;
use crate::recorder::Recorder;
use crate::register_history::HistoryPart;
use crate::router::Router;
use crate::schedule::Arrivals;
use crate::slowest_operations::Slowest;
use crate::statement_facts::Facts;
use crate::worker_io::{Ready, World};
use cql::template::{BatchTemplate, Template};
use cql::{Compression, Version};
use measure::clock;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use workload::{Generator, Operation, Program};

/// Longest sleep, in ns. The worker detects a stop or a reopened connection within this time.
const SLEEP_MAX_NS: u64 = 50 * clock::MILLISECOND_NS;
/// Longest sleep during which responses do not wake the worker up, in ns. If several responses
/// arrive on one connection during the sleep, the kernel may keep only the time of the last one.
/// Latencies may therefore be overestimated by at most this time.
const REST_MAX_NS: u64 = 200 * clock::MILLISECOND_NS / 1000;
/// Time after which the worker tries to send a retry again if no connection had room for it, in ns.
const AGAIN_NS: u64 = clock::MILLISECOND_NS;

pub(crate) enum DueTimes {
    /// The due times are the times at which slots became free, oldest first.
    Closed { freed_ns: VecDeque<u64> },
    /// The due times are those of an open schedule.
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

    /// Marks a slot of a closed loop as free. The next operation is due at `now_ns`.
    #[inline]
    fn freed(&mut self, now_ns: u64) {
        let DueTimes::Closed { freed_ns } = self else {
            return;
        };
        match freed_ns.back() {
            // Slots to which the load has not ramped up yet have later times, so this slot comes
            // before them.
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
    pub templates: Vec<Template>,
    pub batches: Vec<Option<BatchTemplate>>,
    pub facts: Facts,
    pub source: DueTimes,
    pub number: u64,
    pub number_end: u64,
    pub number_step: u64,
    pub in_flight_max: u32,
    pub draining: bool,
    /// True if some operations may still have to be sent.
    pub issuing: bool,
    pub verify_reads: VerifyReads,
    pub version: Version,
    /// Compression of each single frame. With segments this is `None`, because segments are
    /// compressed as a whole.
    pub compression: Option<Compression>,
    pub connections: Vec<Option<Connection<W::Stream>>>,
    /// Memory of the connections that are currently closed.
    pub memory: Vec<Memory>,
    pub connections_per_node: usize,
    pub router: Option<Router>,
    pub in_flight: InFlight,
    /// Operation states, by slot. The list is empty if every operation is plain.
    pub courses: Vec<OperationState>,
    /// Operation states that do not belong to a slot. The worker has one for each attempt that it
    /// may have to repeat.
    pub spare_courses: Vec<OperationState>,
    pub again: VecDeque<Again>,
    /// Number of operations of which two attempts wait for a response.
    pub twins_count: u32,
    pub sockets: Sockets,
    pub ledger: Option<LedgerPart>,
    pub history: Option<HistoryPart>,
    pub written: Option<Arc<EarlierWrites>>,
    pub timestamps: Timestamps,
    pub recorder: Recorder,
    pub rotor: usize,
    /// Buffer in which the worker counts the streams that late responses block, by connection.
    pub orphans: Vec<u32>,
    pub batch: Batch,
    pub open_count: usize,
    pub limited_until_ns: u64,
    /// True if all connections were full for the next operation, and since then the worker has not
    /// written to, lost or opened a connection.
    pub is_stuck: bool,
    pub release_quantum_ns: u64,
    pub release_next_ns: u64,
    pub frame_bytes_max: usize,
    pub scratch: Vec<u8>,
    pub plain: Vec<u8>,
    pub end: WorkerEnd,
}

pub(crate) struct Sockets {
    /// True if the worker has appended output to a connection that it was not processing.
    unsent: bool,
    /// Number of sockets whose buffer is full.
    blocked_count: usize,
    /// True if all connections so far have reported arrival times.
    are_timed: bool,
    /// Arrival time of the responses that the worker is reading, in ns. It is only valid if the
    /// sockets report arrival times.
    arrived_ns: u64,
}

impl Sockets {
    pub fn new() -> Sockets {
        Sockets {
            unsent: false,
            blocked_count: 0,
            are_timed: true,
            arrived_ns: 0,
        }
    }
}

/// Client-side timestamps of a worker's writes, in µs since 1970. Each timestamp is higher than all
/// earlier timestamps of the worker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timestamps {
    /// Difference between the time since 1970 and the monotonic clock, in ns.
    unix_offset_ns: i128,
    last_us: i64,
}

impl Timestamps {
    /// Creates timestamps from the reading `now_ns` of the monotonic clock and the simultaneous
    /// time `unix_ns` since 1970. The client reads the two clocks only once, so that timestamps do
    /// not jump when the system time is set.
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

#[derive(Debug, Default)]
pub(crate) struct WorkerEnd {
    pub sent: u64,
    pub ended: u64,
    pub next_operation: u64,
    pub first_errors: FirstErrors,
    pub missed_rows: MissedRows,
    /// Failed operations, by the number of the node.
    pub failures: Vec<Failures>,
    pub slowest: Slowest,
    pub ledger: Option<LedgerPart>,
    pub history: Option<HistoryPart>,
    pub realtime: bool,
}

impl WorkerEnd {
    pub fn with_room(nodes_count: usize) -> WorkerEnd {
        WorkerEnd {
            failures: vec![Failures::default(); nodes_count],
            first_errors: FirstErrors::with_room(),
            missed_rows: MissedRows::with_room(),
            slowest: Slowest::with_room(),
            ..WorkerEnd::default()
        }
    }
}

impl<W: World> Worker<W> {
    /// Runs from the start line until the worker has sent all operations and all requests have
    /// ended.
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
            // The loop reads the start of the window after the clock. If the start is still
            // unknown, it will be after `now_ns`. So this iteration cannot record an operation
            // before the start as if it were after it, or the reverse.
            let window_from_ns = self.control.window_from_ns();
            self.recorder.set_window_from_ns(window_from_ns);
            if window_from_ns <= now_ns {
                self.end.slowest.begin();
            }
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

    /// Sleeps until data is readable or work is due. If work is due soon and [`Worker::may_rest`]
    /// returns true, responses do not wake the worker up.
    fn wait(&mut self) -> io::Result<usize> {
        let now_ns = self.world.now_ns();
        let wake_ns = self.wake_ns(now_ns);
        let sleep_ns = wake_ns.saturating_sub(now_ns);
        if (1..=REST_MAX_NS).contains(&sleep_ns) && self.may_rest() {
            self.world.rest(wake_ns)
        } else {
            self.world.wait(sleep_ns)
        }
    }

    /// Returns true if responses may wait in their sockets because the next iteration begins soon.
    #[inline]
    fn may_rest(&self) -> bool {
        self.sockets.are_timed
            && !self.facts.has_follow_ups
            && !self.draining
            && self.sockets.blocked_count == 0
            && matches!(self.source, DueTimes::Open { .. })
            && self.may_send()
    }

    /// Returns the time at which the next iteration must begin even if no data is readable.
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

    /// Returns true if the worker could send the next operation now, assuming that it is due.
    #[inline]
    fn may_send(&self) -> bool {
        self.open_count > 0
            && !self.is_stuck
            && self.operations_count() < self.in_flight_max
            && self.in_flight.has_room()
    }

    /// Returns the due time of the next operation. Returns `None` for a closed loop in which every
    /// slot is in use.
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

    fn attend(&mut self, ready: Ready, now_ns: u64) {
        if ready.reads {
            self.receive(ready.index, now_ns);
        }
        if ready.writes {
            self.send(ready.index, now_ns);
        }
    }

    fn begin_drain(&mut self, now_ns: u64) {
        self.draining = true;
        self.note_gauges();
        let stop_ns = self.control.stop_ns().min(now_ns);
        self.recorder.cut_for_drain(&mut self.world, stop_ns);
    }

    /// Returns true if the worker has operations to send now or later. Abandons operations that
    /// were due before the stop and that the worker could not send during the drain.
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
            // The worker sends the remaining requests before it counts the unsent operations,
            // because the count takes a while. In the other order, a failed send would be recorded
            // with too early a time.
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

    /// Returns the ledger, if the worker has a ledger and the operation is a write.
    #[inline]
    fn ledger_for(&mut self, operation: &Operation) -> Option<&mut LedgerPart> {
        let is_write = self.facts.kinds[usize::from(operation.kind)].is_write;
        self.ledger.as_mut().filter(|_| is_write)
    }

    /// Records the send of an operation in the history. If the operation is a write, also records
    /// in the ledger that the write may be applied from now on.
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

    /// Records in the ledger that a write was acknowledged, and the time of the acknowledgement if
    /// it is known. Does nothing if the worker has no ledger.
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
