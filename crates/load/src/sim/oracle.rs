//! Derives the expected records of a run independently of the worker, from the exchanged data and
//! the clock.
//!
//! With an open schedule, an operation is due at its scheduled time. With a closed loop, it is due
//! when a slot became free. The send time of an operation is the latest clock reading before the
//! send. The worker detects a response at the first clock reading after the wait that found the
//! response. If connections report arrival times, a response ends at the arrival of the last
//! response that was read in the same call. The end and the times of each operation follow from
//! these rules, to the nanosecond. The worker must record exactly the same values.
//!
//! An iteration of the worker has a fixed order: responses first, then expired attempts, then all
//! sends. A request that was not caused by a response therefore proves that the worker has already
//! abandoned expired attempts.

mod answers;
mod due;

use self::due::Due;
use super::expected_records::{Coverage, RunRecords};
use super::program::{self, BATCH};
use super::shape::{START_NS, Shape};
use crate::control::Control;
use crate::ledger::{LedgerMode, LedgerPart, WriteState};
use crate::recorder::Part;
use measure::{KindCount, Outcome};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use workload::{Operation, Program};

/// Request that waits for its response, or that the worker has abandoned.
#[derive(Clone, Copy, Debug)]
struct Try {
    connection: u16,
    number: u64,
    sent_ns: u64,
    /// Number of requests that the worker sent before this request.
    order: u64,
    /// True if the worker no longer waits for the response.
    is_orphan: bool,
    prepares: bool,
    is_second: bool,
    /// True if the worker has read a response after which it must send another request on the same
    /// stream.
    goes_on: bool,
}

#[derive(Clone, Debug)]
struct OpenOperation {
    kind: u8,
    statement: u16,
    intended_ns: u64,
    sent_ns: u64,
    part_due_ns: u64,
    part_sent_ns: u64,
    retries: u8,
    /// True if the operation had more than one attempt.
    is_repeated: bool,
    rows: u64,
    /// Outcome and time of a failed attempt, if the operation will be retried.
    failed: Option<(Outcome, u64)>,
    paging_state: Vec<u8>,
}

/// Oracle of one run. See the module documentation.
#[derive(Debug)]
pub struct Oracle {
    seed: u64,
    tells: bool,
    first: Vec<u16>,
    program: Arc<Program>,
    control: Arc<Control>,
    timeout_ns: u64,
    retries_min: u8,
    in_flight_max: usize,
    slots: usize,
    /// Number of the worker's next operation. Successive numbers differ by `step`, and are lower
    /// than `end`.
    next: u64,
    step: u64,
    end: u64,
    due: Due,
    is_running: bool,
    now_ns: u64,
    turn_ns: u64,
    arrived_ns: u64,
    awaits_turn: bool,
    /// True if the worker has stopped sending, as of the start of the iteration.
    has_given_up: bool,
    has_left: bool,
    has_expired: bool,
    open: Vec<bool>,
    streams: BTreeMap<u16, Try>,
    begun: BTreeMap<u64, OpenOperation>,
    /// Operations that wait for another attempt, in the order in which they failed.
    again: VecDeque<u64>,
    has_tried_again: bool,
    /// Connections that have ended or sent invalid data. The worker must still close them.
    broken: BTreeSet<u16>,
    requests: u64,
    pub ledger: Option<LedgerPart>,
    pub sent: u64,
    pub ended: u64,
    pub recorded: RunRecords,
    seen: Coverage,
}

impl Oracle {
    pub fn new(shape: &Shape, control: &Arc<Control>, recorded: RunRecords) -> Oracle {
        let config = &shape.config;
        let worker = (config.others.before + shape.worker) as u64;
        let workers = config.workers_of_all() as u64;
        let share = u64::from(config.in_flight());
        let in_flight = share / workers + u64::from(worker < share % workers);
        let first = config.first_operation + worker;
        let mut kinds = config.program.kinds().iter();
        let tries = 1 + usize::from(kinds.any(|kind| kind.policy.speculate_after.is_some()));
        Oracle {
            seed: shape.seed,
            tells: std::env::var_os("CASSAY_SIMULATE_TELLS").is_some(),
            first: shape.first.clone(),
            program: Arc::clone(&config.program),
            control: Arc::clone(control),
            timeout_ns: config.timeout.as_nanos() as u64,
            retries_min: config.retries_min,
            in_flight_max: in_flight as usize,
            slots: in_flight as usize * tries + shape.sizes.orphans,
            next: first,
            step: workers,
            end: config
                .limit
                .operations()
                .map_or(u64::MAX, |count| config.first_operation + count),
            due: Due::new(shape),
            is_running: false,
            now_ns: 0,
            turn_ns: 0,
            arrived_ns: 0,
            awaits_turn: false,
            has_given_up: false,
            has_left: false,
            has_expired: false,
            open: vec![true; config.nodes.len() * config.connections_per_node],
            streams: BTreeMap::new(),
            begun: BTreeMap::new(),
            again: VecDeque::new(),
            has_tried_again: false,
            broken: BTreeSet::new(),
            requests: 0,
            ledger: (config.keeps == LedgerMode::Times).then(|| answers::ledger(first, workers)),
            sent: 0,
            ended: 0,
            recorded,
            seen: Coverage::default(),
        }
    }

    /// Returns the number of the operation that the worker should report next.
    pub fn next_number(&self) -> u64 {
        self.next
    }

    pub fn read(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        if std::mem::take(&mut self.awaits_turn) {
            self.say(|| format!("turn (stop {})", self.control.stop_ns()));
            self.turn_ns = now_ns;
            self.has_expired = false;
            self.has_tried_again = false;
            let is_draining = now_ns >= self.control.stop_ns();
            self.has_given_up = is_draining && now_ns >= self.control.sends_until_ns();
        }
    }

    pub fn begins_turn(&mut self) {
        self.is_running = true;
        self.awaits_turn = true;
    }

    /// Records that the worker sleeps. If `rests` is true, a response does not wake the worker up.
    pub fn rests(&mut self, rests: bool) {
        let is_idle = self.streams.is_empty();
        self.seen.rested += u64::from(rests && !is_idle);
    }

    /// Marks that the worker has done all of its work and waits for an event.
    pub fn ends_turn(&mut self) {
        if self.is_running {
            self.expire();
            self.give_up();
            self.leave();
            self.hang_up();
        }
    }

    /// Abandons expired attempts. The worker does this before any send that was not caused by a
    /// response.
    fn expire(&mut self) {
        if std::mem::replace(&mut self.has_expired, true) {
            return;
        }
        let is_old = |oracle: &Oracle, made: &Try| {
            !made.is_orphan && made.sent_ns + oracle.timeout_of(made.number) <= oracle.turn_ns
        };
        let old = self.streams.iter().filter(|(_, made)| is_old(self, made));
        let mut old: Vec<(bool, u64, u16)> = old
            .map(|(stream, made)| (self.speculates(made.number), made.order, *stream))
            .collect();
        // The order is by timeout: attempts with the first timeout come before attempts with the
        // second timeout.
        old.sort_unstable();
        for (_, _, stream) in old {
            let made = self.orphan(stream);
            self.seen.expired += 1;
            self.fail(made.number, Outcome::ClientTimeout, self.turn_ns);
        }
    }

    /// Abandons failed operations that have waited for a connection for too long.
    fn give_up(&mut self) {
        if std::mem::replace(&mut self.has_tried_again, true) || self.is_open() {
            return;
        }
        while let Some(number) = self.again.front().copied() {
            let (outcome, failed_ns) = self.begun[&number].failed.expect("a failed try");
            if failed_ns + self.timeout_of(number) > self.turn_ns {
                return;
            }
            self.again.pop_front();
            self.seen.given_up += 1;
            self.end_of(number, outcome, self.turn_ns);
        }
    }

    fn is_open(&self) -> bool {
        self.open.iter().any(|open| *open)
    }

    fn speculates(&self, number: u64) -> bool {
        let kind = &self.program.kinds()[usize::from(self.begun[&number].kind)];
        kind.policy.speculate_after.is_some()
    }

    /// Records the operations that were due before the stop and will never be sent.
    fn leave(&mut self) {
        if !self.has_given_up || self.has_left {
            return;
        }
        self.has_left = true;
        let stop_ns = self.control.stop_ns();
        let mut number = self.next;
        while let Some(due_ns) = self.due.next_ns().filter(|due_ns| *due_ns < stop_ns)
            && number < self.end
        {
            let kind = self.kind(program::first_statement(self.seed, &self.first, number));
            if due_ns >= self.control.window_from_ns() {
                self.recorded.leave_unsent(kind, self.turn_ns - due_ns);
                self.seen.unsent += 1;
            }
            self.due.pass();
            number += self.step;
        }
    }

    /// Takes the next operation, after checking that the worker may take it. Returns the due time
    /// of the operation.
    fn take_next(&mut self, number: u64) -> u64 {
        assert_eq!(
            number, self.next,
            "operation numbers must increase by {}",
            self.step
        );
        assert!(number < self.end, "operation {number} is beyond the limit");
        let due_ns = self.due.next_ns().expect("a free slot");
        assert!(
            due_ns <= self.now_ns,
            "operation {number} is sent too early"
        );
        assert!(
            due_ns < self.control.stop_ns(),
            "operation {number} is due after the stop"
        );
        self.due.pass();
        self.next += self.step;
        due_ns
    }

    /// Records that the worker has generated an operation. If a connection is open, the worker will
    /// send the operation. If the operation has waited too long without a connection, the operation
    /// ends.
    pub fn begun(&mut self, operation: Operation) {
        if !self.is_running || self.has_given_up {
            return;
        }
        self.expire();
        self.give_up();
        let due_ns = self.due.next_ns().expect("a free slot");
        let waited_ns = self.now_ns.saturating_sub(due_ns);
        if self.is_open() || waited_ns < self.timeout_of_kind(operation.kind) {
            return;
        }
        let due_ns = self.take_next(operation.number);
        let is_early = self.is_early(due_ns);
        self.recorded.ends(is_early, waited_ns);
        self.recorded.fail(
            operation.kind,
            Outcome::NoConnection,
            is_early,
            waited_ns,
            None,
        );
        self.recorded.dropped += 1;
        self.ended += 1;
        self.seen.dropped += 1;
        self.due.free(self.now_ns);
    }

    /// Records that the worker has written a request for the socket. The stream of the request must
    /// be free, or belong to the operation.
    pub fn encoded(&mut self, connection: u16, stream: u16, number: u64) {
        self.say(|| format!("operation {number} on stream {stream} of {connection}"));
        if let Some(made) = self.streams.get_mut(&stream).filter(|made| made.goes_on) {
            assert_eq!((made.connection, made.number), (connection, number));
            made.goes_on = false;
            if !std::mem::take(&mut made.prepares) {
                made.sent_ns = self.turn_ns;
                made.order = self.requests;
                self.requests += 1;
            }
            return;
        }
        self.expire();
        let used = self.streams.get(&stream);
        assert!(used.is_none(), "stream {stream} is in use: {used:?}");
        assert!(self.open[usize::from(connection)], "{connection} is closed");
        let is_second = self.begin(number);
        let made = Try {
            connection,
            number,
            sent_ns: self.now_ns,
            order: self.requests,
            is_orphan: false,
            prepares: false,
            is_second,
            goes_on: false,
        };
        self.requests += 1;
        self.streams.insert(stream, made);
        assert!(self.streams.len() <= self.slots, "too many streams");
        assert!(
            self.begun.len() <= self.in_flight_max,
            "too many operations are in flight"
        );
        let statement = self.begun[&number].statement;
        if statement == BATCH && program::entries(self.seed, number) == 0 {
            // The operation does not fit in any frame.
            self.streams.remove(&stream);
            self.recorded.dropped += 1;
            self.seen.refused += 1;
            self.sent -= 1;
            self.end_of(number, Outcome::ClientRefused, self.now_ns);
        } else if let Some(ledger) = &mut self.ledger {
            let kind = &self.program.kinds()[usize::from(self.begun[&number].kind)];
            if kind.is_write {
                ledger.set(number, WriteState::Unknown);
                ledger.sent(number, self.begun[&number].sent_ns);
            }
        }
    }

    /// Begins the operation of a new attempt, unless the operation has already begun. Returns true
    /// if another attempt of the operation waits for a response.
    fn begin(&mut self, number: u64) -> bool {
        let turn_ns = self.turn_ns;
        let beside: Vec<Try> = self
            .streams
            .values()
            .filter(|made| made.number == number && !made.is_orphan)
            .copied()
            .collect();
        if let Some(begun) = self.begun.get_mut(&number) {
            begun.is_repeated = true;
            if begun.failed.take().is_some() {
                assert!(beside.is_empty());
                assert_eq!(
                    self.again.pop_front(),
                    Some(number),
                    "the operation that failed first must be repeated first"
                );
                begun.retries += 1;
                self.recorded.counts(begun.kind).counts[KindCount::Retries] += 1;
                self.seen.retried += 1;
                return false;
            }
            let policy = self.program.kinds()[usize::from(begun.kind)].policy;
            let after_ns = policy.speculate_after.expect("speculates").as_nanos() as u64;
            let [first] = beside[..] else {
                panic!("operation {number} already waits {} times", beside.len())
            };
            assert!(first.sent_ns + after_ns <= turn_ns && !first.is_second);
            self.recorded.counts(begun.kind).counts[KindCount::Speculations] += 1;
            return true;
        }
        let intended_ns = self.take_next(number);
        let statement = program::first_statement(self.seed, &self.first, number);
        let begun = OpenOperation {
            kind: self.kind(statement),
            statement,
            intended_ns,
            sent_ns: self.now_ns,
            part_due_ns: intended_ns,
            part_sent_ns: self.now_ns,
            retries: 0,
            is_repeated: false,
            rows: 0,
            failed: None,
            paging_state: Vec::new(),
        };
        self.begun.insert(number, begun);
        self.sent += 1;
        false
    }

    /// Compares a part that the collector takes with the operations that ended since the previous
    /// part.
    pub fn takes(&mut self, part: &mut Part) {
        self.say(|| format!("part {} to {}", part.start_ns, part.end_ns));
        if part.last {
            self.ends_turn();
            assert!(self.begun.is_empty(), "never ended: {:?}", self.begun);
        }
        self.recorded.take(part, self.control.window_from_ns());
    }

    /// Prints an event, but only if a single seed is run.
    fn say(&self, what: impl FnOnce() -> String) {
        if self.tells {
            eprintln!(
                "{:>9} {}",
                self.now_ns.wrapping_sub(START_NS) as i64,
                what()
            );
        }
    }

    pub fn coverage(&self) -> Coverage {
        self.seen.clone()
    }

    fn stream(&mut self, stream: u16) -> &mut Try {
        self.streams.get_mut(&stream).expect("a stream in use")
    }

    fn orphan(&mut self, stream: u16) -> Try {
        let made = self.stream(stream);
        made.is_orphan = true;
        *made
    }

    fn is_early(&self, intended_ns: u64) -> bool {
        intended_ns < self.control.window_from_ns()
    }

    fn kind(&self, statement: u16) -> u8 {
        self.program.statements()[usize::from(statement)].kind
    }

    fn timeout_of(&self, number: u64) -> u64 {
        self.timeout_of_kind(self.begun[&number].kind)
    }

    fn timeout_of_kind(&self, kind: u8) -> u64 {
        let own = self.program.kinds()[usize::from(kind)].policy.timeout;
        own.map_or(self.timeout_ns, |own| own.as_nanos() as u64)
    }
}
