//! The world of a simulated worker. It has a clock that advances at every reading, and connections
//! with scripted bytes. It also has a caller that stops the run, and a collector that may be late.
//!
//! The world reports every event that the worker can observe to the [`Oracle`] as it happens.

use super::alloc::uncounted;
use super::dice::Dice;
use super::oracle::Oracle;
use super::server::{self, Reply};
use super::shape::{Caller, START_NS, Shape};
use super::simulated_connection::{Arrival, Wire, last_of};
use super::stream::Stream;
use crate::connection::Link;
use crate::control::Control;
use crate::recorder::Part;
use crate::worker_io::{OwnTime, Ready, Watch, World};
use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::rc::Rc;
use std::sync::Arc;
use workload::Operation;

/// Number of parts in circulation, as in a real run.
pub const PARTS: usize = crate::recorder::PARTS_PER_WORKER;

/// Maximum number of clock readings in a run. The limit is higher than any correct run needs.
const READINGS_MAX: u64 = 400_000;
/// Maximum number of successive iterations in which the worker does not sleep and no event occurs.
const IDLE_TURNS_MAX: u32 = 20;

thread_local! {
    /// State of the run on this thread. The program reports its operations to this state.
    static RUNNING: RefCell<Option<Rc<RefCell<State>>>> = const { RefCell::new(None) };
}

/// Reports that the worker has set the generator to an operation, which it may send next.
pub fn begun(operation: Operation) {
    uncounted(|| {
        RUNNING.with_borrow(|running| {
            if let Some(state) = running {
                state.borrow_mut().oracle.begun(operation);
            }
        });
    });
}

#[derive(Debug)]
pub struct State {
    pub shape: Shape,
    pub oracle: Oracle,
    dice: Dice,
    now_ns: u64,
    readings: u64,
    turns: u64,
    idle_turns: u32,
    has_moved: bool,
    control: Arc<Control>,
    wires: Vec<Wire>,
    reopening: Vec<(u16, u64)>,
    ready: Vec<Ready>,
    empties: Vec<Box<Part>>,
    intervals: u64,
    prepared: Vec<Vec<u8>>,
}

impl State {
    fn is_over(&self, index: u16) -> bool {
        let wire = &self.wires[usize::from(index)];
        wire.ends.is_some_and(|(at_ns, _)| at_ns <= self.now_ns)
    }

    fn tick(&mut self) -> u64 {
        self.readings += 1;
        assert!(self.readings < READINGS_MAX, "the run does not end");
        self.now_ns += self.dice.between(1, self.shape.tick_ns);
        self.call();
        self.oracle.read(self.now_ns);
        self.now_ns
    }

    fn call(&mut self) {
        let due = |after_ns: u64| self.now_ns >= START_NS + after_ns;
        match self.shape.caller {
            Caller::Stops(after_ns) if due(after_ns) => {
                self.control.stop_at(self.now_ns + 10);
                self.shape.caller = Caller::Waits;
            }
            Caller::Abandons(after_ns, waits_ns) if due(after_ns) => {
                self.control.abandon(self.now_ns, self.now_ns + waits_ns);
                self.shape.caller = Caller::Waits;
            }
            _ => {}
        }
    }

    fn readiness(&self, index: u16) -> Option<Ready> {
        let wire = &self.wires[usize::from(index)];
        let watch = wire.watch.filter(|_| wire.is_open)?;
        let is_over = self.is_over(index);
        let has_come = |answer: &Arrival| answer.at_ns <= self.now_ns;
        let reads = is_over || wire.answers.front().is_some_and(has_come);
        let has_room = wire.blocked_until_ns <= self.now_ns;
        let writes = watch == Watch::ReadsAndWrites && has_room && !is_over;
        (reads || writes).then_some(Ready {
            index,
            reads,
            writes,
        })
    }

    /// Returns the earliest time after the current time at which a connection becomes ready.
    fn next_event_ns(&self) -> Option<u64> {
        let of_wire = |wire: &Wire| {
            let room = (wire.watch == Some(Watch::ReadsAndWrites)).then_some(wire.blocked_until_ns);
            let arrives = wire.answers.front().map(|answer| answer.at_ns);
            let ends = wire.ends.map(|(at_ns, _)| at_ns);
            let later = [room, arrives, ends].into_iter().flatten();
            later.filter(|at_ns| *at_ns > self.now_ns).min()
        };
        let open = self.wires.iter().filter(|wire| wire.is_open);
        open.filter_map(of_wire).min()
    }

    /// Waits until a connection is ready or the timeout expires. If `rests` is true, a ready
    /// connection does not end the wait.
    fn wait(&mut self, sleep_ns: u64, rests: bool) -> usize {
        self.oracle.rests(rests);
        self.oracle.ends_turn();
        self.turns += 1;
        let faults = self.shape.faults;
        let begun_ns = self.now_ns;
        let mut until_ns = begun_ns.saturating_add(sleep_ns);
        if sleep_ns > 0 && self.dice.chance(faults.wake) {
            let late = self.dice.below(self.shape.answers_in_ns.1);
            until_ns = until_ns.saturating_add(late);
        }
        let spurious = self.dice.chance(faults.wake / 4);
        loop {
            let count = self.wires.len() as u16;
            self.ready.clear();
            let ready = (0..count).filter_map(|index| self.readiness(index));
            self.ready = ready.collect();
            let is_due = self.now_ns >= until_ns;
            if (!self.ready.is_empty() && !rests) || is_due || spurious {
                break;
            }
            let event_ns = self.next_event_ns().filter(|_| !rests).unwrap_or(u64::MAX);
            self.now_ns = until_ns.min(event_ns);
        }
        // A real `epoll_wait` also returns only some of the events if the caller's buffer is too
        // small.
        if self.ready.len() > 1 && self.dice.chance(faults.partial) {
            let kept = self.dice.between(1, self.ready.len() as u64 - 1);
            self.ready.truncate(kept as usize);
        }
        let has_paused = self.now_ns > begun_ns || spurious;
        let is_idle = !has_paused && self.ready.is_empty() && !self.has_moved;
        self.idle_turns = if is_idle { self.idle_turns + 1 } else { 0 };
        assert!(
            self.idle_turns < IDLE_TURNS_MAX,
            "{} turns without a pause and without work",
            self.idle_turns
        );
        self.has_moved = false;
        self.oracle.begins_turn();
        self.ready.len()
    }

    pub fn read(&mut self, index: u16, room: &mut [u8]) -> io::Result<usize> {
        self.has_moved = true;
        let (now_ns, is_over) = (self.now_ns, self.is_over(index));
        let (faults, times_arrivals) = (self.shape.faults, self.shape.times_arrivals);
        let wire = &mut self.wires[usize::from(index)];
        if let Some((_, false)) = wire.ends.filter(|_| is_over) {
            self.oracle.breaks(index, false);
            return Err(ErrorKind::ConnectionReset.into());
        }
        let mut left = if self.dice.chance(faults.partial) {
            self.dice.between(1, room.len().min(60) as u64) as usize
        } else {
            room.len()
        };
        wire.arrived_ns = last_of(&wire.answers, left, now_ns).filter(|_| times_arrivals);
        let arrived_ns = wire.arrived_ns;
        let mut read = 0;
        while left > 0
            && let Some(answer) = wire.answers.front_mut()
            && answer.at_ns <= now_ns
        {
            if answer.reply == Reply::Poison
                && answer.read == 0
                && answer.bytes.len() <= left
                && let Some(other) = self.oracle.stream_of_another(index)
            {
                server::stray_to(&mut answer.bytes, other);
            }
            let bytes = &answer.bytes[answer.read..];
            let count = bytes.len().min(left);
            room[read..read + count].copy_from_slice(&bytes[..count]);
            if answer.reply == Reply::Poison {
                self.oracle.breaks(index, false);
            }
            answer.read += count;
            left -= count;
            read += count;
            if answer.read == answer.bytes.len() {
                let (stream, reply) = (answer.stream, std::mem::take(&mut answer.reply));
                self.oracle.answered(index, stream, reply, arrived_ns);
                wire.answers.pop_front();
            }
        }
        match read {
            0 if is_over => {
                self.oracle.breaks(index, false);
                Ok(0)
            }
            0 => Err(ErrorKind::WouldBlock.into()),
            _ => Ok(read),
        }
    }

    pub fn write(&mut self, index: u16, bytes: &[u8]) -> io::Result<usize> {
        self.has_moved = true;
        let faults = self.shape.faults;
        let is_over = self.is_over(index);
        let wire = &mut self.wires[usize::from(index)];
        if wire.blocked_until_ns > self.now_ns || wire.blocked_in == self.turns {
            return Err(ErrorKind::WouldBlock.into());
        }
        if is_over {
            self.oracle.breaks(index, true);
            return Err(ErrorKind::BrokenPipe.into());
        }
        let mut count = bytes.len();
        if self.dice.chance(faults.partial) {
            count = self.dice.between(1, count as u64) as usize;
        }
        wire.asked.extend_from_slice(&bytes[..count]);
        if self.dice.chance(faults.block) {
            wire.blocked_in = self.turns;
            let (_, most) = self.shape.answers_in_ns;
            wire.blocked_until_ns = self.now_ns + self.dice.below(most);
        }
        self.serve(index);
        Ok(count)
    }

    fn serve(&mut self, index: u16) {
        let asked = std::mem::take(&mut self.wires[usize::from(index)].asked);
        let mut rest = &asked[..];
        while let Some((asked, bytes)) = server::next_request(rest, &self.prepared) {
            rest = &rest[bytes..];
            self.oracle.record_request(index, &asked);
            self.answer(index, &asked);
        }
        self.wires[usize::from(index)].asked = rest.to_vec();
    }

    fn answer(&mut self, index: u16, asked: &server::SimRequest) {
        let faults = self.shape.faults;
        let (least, most) = self.shape.answers_in_ns;
        let mut at_ns = self.now_ns + self.dice.between(least, most);
        if self.dice.chance(faults.close) {
            let keeps = self.dice.chance(500);
            let wire = &mut self.wires[usize::from(index)];
            wire.ends.get_or_insert((at_ns, keeps));
        }
        if self.dice.chance(faults.never) {
            return;
        }
        if self.dice.chance(faults.late) {
            at_ns += self.shape.config.timeout.as_nanos() as u64;
        }
        if self.dice.chance(faults.late / 8) {
            let until_ns = self.now_ns + 2 * self.shape.config.timeout.as_nanos() as u64;
            self.wires[usize::from(index)].stalled_until_ns = until_ns;
        }
        let (stream, reply, bytes) = server::answer(&mut self.dice, &faults, asked);
        let wire = &mut self.wires[usize::from(index)];
        let at_ns = at_ns.max(wire.stalled_until_ns);
        let is_later = |answer: &Arrival| answer.at_ns > at_ns;
        let before = wire.answers.iter().position(is_later);
        let arrival = Arrival {
            at_ns,
            bytes,
            read: 0,
            stream,
            reply,
        };
        wire.answers.insert(before.unwrap_or(wire.answers.len()), arrival);
    }

    /// Returns the arrival time of the last response in the most recent read. `None` if the
    /// connection does not report arrival times.
    pub fn arrived_ns(&self, index: u16) -> Option<u64> {
        self.wires[usize::from(index)].arrived_ns
    }

    pub fn closed(&mut self, index: u16) {
        self.oracle.closed(index);
        self.wires[usize::from(index)] = Wire::default();
    }

    fn reopened(&mut self) -> Option<u16> {
        let now_ns = self.now_ns;
        let at = self.reopening.iter().position(|(_, at_ns)| *at_ns <= now_ns)?;
        let (index, _) = self.reopening.swap_remove(at);
        self.wires[usize::from(index)].is_open = true;
        self.has_moved = true;
        self.oracle.adopted(index);
        Some(index)
    }

    /// Lets the collector take a part, so that the caller receives the interval of the part.
    fn collect(&mut self, mut part: Box<Part>) {
        self.oracle.takes(&mut part);
        self.intervals += 1;
        if let Caller::Measures(after, count) = self.shape.caller
            && self.intervals > after
            && !part.last
        {
            let interval_ns = self.shape.config.interval.as_nanos() as u64;
            let ahead_ns = (self.now_ns + interval_ns / 10).saturating_sub(part.end_ns);
            let from_ns = part.end_ns + ahead_ns.max(1).next_multiple_of(interval_ns);
            self.control.measure_from(from_ns);
            self.control.stop_at(from_ns + count * interval_ns);
            self.shape.caller = Caller::Waits;
        }
        self.empties.push(part);
    }
}

#[derive(Clone)]
pub struct Sim(Rc<RefCell<State>>);

impl Sim {
    pub fn new(
        shape: Shape,
        oracle: Oracle,
        control: Arc<Control>,
        empties: Vec<Box<Part>>,
    ) -> Sim {
        let connections = shape.config.nodes.len() * shape.config.connections_per_node;
        let statements = shape.config.program.statements().iter();
        let state = State {
            dice: Dice::new(!shape.seed),
            prepared: statements.map(|s| s.cql.clone().into_bytes()).collect(),
            now_ns: START_NS - 100,
            readings: 0,
            turns: 0,
            idle_turns: 0,
            has_moved: false,
            control,
            wires: (0..connections).map(|_| Wire::default()).collect(),
            reopening: Vec::new(),
            ready: Vec::new(),
            empties,
            intervals: 0,
            shape,
            oracle,
        };
        let sim = Sim(Rc::new(RefCell::new(state)));
        RUNNING.set(Some(Rc::clone(&sim.0)));
        sim
    }

    /// Opens all connections and returns them.
    pub fn links(&self) -> Vec<Link<Stream>> {
        let mut state = self.0.borrow_mut();
        let count = state.wires.len() as u16;
        state.wires.iter_mut().for_each(|wire| wire.is_open = true);
        drop(state);
        (0..count).map(|index| self.link(index)).collect()
    }

    fn link(&self, index: u16) -> Link<Stream> {
        let stream = Stream {
            index,
            state: Rc::clone(&self.0),
        };
        Link { stream, tls: None }
    }

    /// Returns the state after the run.
    pub fn end(self) -> State {
        RUNNING.take();
        let state = Rc::into_inner(self.0).map(RefCell::into_inner);
        state.expect("the worker has ended")
    }
}

impl State {
    /// Returns the oracle and the parts that were in circulation.
    pub fn into_parts(self) -> (Oracle, Vec<Box<Part>>) {
        (self.oracle, self.empties)
    }
}

impl World for Sim {
    type Stream = Stream;

    fn now_ns(&self) -> u64 {
        uncounted(|| self.0.borrow_mut().tick())
    }

    fn own_time(&mut self) -> OwnTime {
        OwnTime::default()
    }

    fn wait(&mut self, sleep_ns: u64) -> io::Result<usize> {
        uncounted(|| Ok(self.0.borrow_mut().wait(sleep_ns, false)))
    }

    fn rest(&mut self, until_ns: u64) -> io::Result<usize> {
        uncounted(|| {
            let mut state = self.0.borrow_mut();
            let sleep_ns = until_ns.saturating_sub(state.now_ns);
            Ok(state.wait(sleep_ns, true))
        })
    }

    fn ready(&self, at: usize) -> Ready {
        self.0.borrow().ready[at]
    }

    fn watch(&mut self, _: &Stream, index: u16, watch: Watch) -> io::Result<()> {
        let wire = &mut self.0.borrow_mut().wires[usize::from(index)];
        assert_eq!(wire.watch.is_none(), watch == Watch::First);
        wire.watch = Some(watch);
        Ok(())
    }

    fn encoded(&mut self, connection: u16, stream: u16, number: u64) {
        uncounted(|| {
            let mut state = self.0.borrow_mut();
            state.has_moved = true;
            state.oracle.encoded(connection, stream, number);
        });
    }

    fn reopen(&mut self, index: u16) {
        uncounted(|| {
            let mut state = self.0.borrow_mut();
            let most = state.shape.reopens_in_ns;
            let at_ns = state.now_ns + state.dice.between(1, most);
            state.reopening.push((index, at_ns));
        });
    }

    fn reopened(&mut self) -> Option<(u16, Link<Stream>)> {
        let index = uncounted(|| self.0.borrow_mut().reopened())?;
        Some((index, self.link(index)))
    }

    fn empty_part(&mut self, waits: bool) -> Option<Box<Part>> {
        uncounted(|| {
            let mut state = self.0.borrow_mut();
            let faults = state.shape.faults;
            let is_late = !waits && state.dice.chance(faults.collector);
            if is_late { None } else { state.empties.pop() }
        })
    }

    fn hand_over(&mut self, part: Box<Part>) {
        uncounted(|| self.0.borrow_mut().collect(part));
    }
}
