//! The event loops of a null server: sockets, buffers and the moment at which answers leave.
//!
//! One thread per loop, each with its own epoll, connections and counts; nothing is shared per
//! request. A wake-up serves each ready connection with one `recv` and, where answers may leave at
//! once, one `send`. The first loop also accepts, and deals the connections out in turn.
//!
//! With a latency or a stall, answers are held: in the output buffer itself where they leave in
//! the order of their requests (fixed latency), in a binary heap where they overtake each other.
//! The kernel's timer wakes the loop at the nanosecond asked for (timer slack 1 ns), and what is
//! late is only the wake-up of the thread.

use super::catalog::Shared;
use super::control::{Engine, Peer, Verdict, refuse, refuse_frame};
use super::release::{Sampler, Stalls};
use super::{Latency, NullCounts, NullSpec, PublishedCounts};
use cql::frame::{HEADER_BYTES, Header};
use measure::clock;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketFlags, accept_with, recv, send, sockopt};
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::Release};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;

/// What one `recv` can take: 800 EXECUTE frames of 300 bytes, more than a client has in flight on
/// a connection by default; and it still fits a core's second-level cache.
const INPUT_BYTES: usize = 256 * 1024;
/// The largest frame taken; Cassandra's own default (`native_transport_max_frame_size`).
const FRAME_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Reading from a connection pauses while this much waits to be sent on it.
const OUTPUT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Reading pauses while this many answers are held in the heap; a client that keeps to the
/// protocol cannot have more than 32768 requests in flight on a connection.
const HELD_ANSWERS_MAX: usize = 65_536;
/// The generation of a connection that is ending: held answers no longer find it.
const ENDED: u32 = 0;
/// Events taken from the kernel in one wake-up.
const EVENTS_MAX: usize = 256;
/// Event data of the listener and of the wake-up; connections use their slot's number.
const LISTENER: u64 = u64::MAX;
const WAKE: u64 = u64::MAX - 1;

/// A running null server. Dropping it stops its threads and closes its connections.
#[derive(Debug)]
pub struct NullServer {
    address: SocketAddr,
    started_ns: u64,
    loops: Vec<LoopHandle>,
}

#[derive(Debug)]
struct LoopHandle {
    door: Arc<Door>,
    thread: Option<JoinHandle<()>>,
}

/// How other threads reach an event loop.
#[derive(Debug)]
struct Door {
    wake: OwnedFd,
    stop: AtomicBool,
    accepted: Mutex<Vec<OwnedFd>>,
    counts: PublishedCounts,
}

impl Door {
    fn knock(&self) {
        // A full counter (EAGAIN) means that the loop is being woken already.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }
}

impl NullServer {
    /// Starts listening and returns at once.
    ///
    /// Fails when the values of `spec` are not possible, the port is taken, or a CPU asked for
    /// does not exist or is not allowed.
    pub fn start(spec: &NullSpec) -> io::Result<NullServer> {
        spec.check()
            .map_err(|reason| io::Error::new(io::ErrorKind::InvalidInput, reason))?;
        let listener = listen(spec.port)?;
        let address = listener.local_addr()?;
        let started_ns = clock::now_ns();
        let shared = Arc::new(Shared::new(address));
        let cpus: Vec<Option<usize>> = match spec.cpus.as_slice() {
            [] => vec![None],
            cpus => cpus.iter().copied().map(Some).collect(),
        };
        let doors = cpus
            .iter()
            .map(|_| new_door())
            .collect::<io::Result<Vec<_>>>()?;
        let mut server = NullServer {
            address,
            started_ns,
            loops: Vec::new(),
        };
        let mut listener = Some(OwnedFd::from(listener));
        for (index, cpu) in cpus.into_iter().enumerate() {
            let acceptor = listener.take().map(|listener| Acceptor {
                listener,
                doors: doors.clone(),
                next: 0,
            });
            let door = Arc::clone(&doors[index]);
            let engine = Engine::new(spec, Arc::clone(&shared))
                .map_err(|reason| io::Error::new(io::ErrorKind::InvalidInput, reason))?;
            let queue = Queue::new(spec, started_ns, index as u64);
            let event_loop = EventLoop::new(door, acceptor, engine, queue, spec.spin)?;
            server.loops.push(spawn(event_loop, index, cpu)?);
        }
        Ok(server)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// When it started, in nanoseconds of the monotonic clock: the origin of its stalls.
    pub fn started_ns(&self) -> u64 {
        self.started_ns
    }

    /// What it has seen until now. Each event loop publishes after every batch that it serves.
    pub fn counts(&self) -> NullCounts {
        let mut sum = NullCounts::default();
        for handle in &self.loops {
            handle.door.counts.add_to(&mut sum);
        }
        sum
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        for handle in &self.loops {
            handle.door.stop.store(true, Release);
            handle.door.knock();
        }
        for handle in &mut self.loops {
            if let Some(thread) = handle.thread.take() {
                // A loop that panicked is gone all the same; there is nobody left to tell.
                let _ = thread.join();
            }
        }
    }
}

fn listen(port: u16) -> io::Result<TcpListener> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let listener = TcpListener::bind(address).map_err(|error| {
        let reason = format!(
            "the null target cannot listen on {address}: {error}; choose another port, or 0 for \
             a free one"
        );
        io::Error::new(error.kind(), reason)
    })?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn new_door() -> io::Result<Arc<Door>> {
    Ok(Arc::new(Door {
        wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        stop: AtomicBool::new(false),
        accepted: Mutex::new(Vec::new()),
        counts: PublishedCounts::new(),
    }))
}

/// Starts the thread of a loop and waits until it is pinned, so that a wrong CPU is an error here.
fn spawn(event_loop: EventLoop, index: usize, cpu: Option<usize>) -> io::Result<LoopHandle> {
    let door = Arc::clone(&event_loop.door);
    let (tell, told) = mpsc::sync_channel(1);
    let thread = std::thread::Builder::new()
        .name(format!("null-{index}"))
        .spawn(move || {
            let pinned = cpu.map_or(Ok(()), pin);
            let run = pinned.is_ok();
            // The receiver waits for exactly this message.
            let _ = tell.send(pinned);
            if run {
                event_loop.run();
            }
        })?;
    let handle = LoopHandle {
        door,
        thread: Some(thread),
    };
    match told.recv() {
        Ok(pinned) => pinned.map(|()| handle),
        Err(_) => Err(io::Error::other(
            "the null target's thread ended as it began",
        )),
    }
}

fn pin(cpu: usize) -> io::Result<()> {
    let refused = |why: String| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "the null target cannot run on CPU {cpu}: {why}; name a CPU that `nproc` counts"
            ),
        )
    };
    if cpu >= rustix::thread::CpuSet::MAX_CPU {
        return Err(refused("no such CPU".to_owned()));
    }
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    rustix::thread::sched_setaffinity(None, &set).map_err(|error| refused(error.to_string()))
}

/// The listener, and the loops that connections are dealt to in turn.
struct Acceptor {
    listener: OwnedFd,
    doors: Vec<Arc<Door>>,
    next: usize,
}

impl Acceptor {
    fn accept_all(&mut self) {
        loop {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            match accept_with(&self.listener, flags) {
                Ok(socket) => {
                    let door = &self.doors[self.next];
                    self.next = (self.next + 1) % self.doors.len();
                    door.accepted
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(socket);
                    door.knock();
                }
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                // Nothing left to accept, or no descriptor left to accept it with: the client
                // waits in the backlog until there is.
                Err(_) => return,
            }
        }
    }
}

/// Answers that wait for their time.
enum Queue {
    /// None waits.
    AtOnce,
    /// All have the same latency: they leave in the order in which they came.
    InOrder {
        latency_ns: u64,
        stalls: Option<Stalls>,
        batches: VecDeque<Batch>,
    },
    /// Each has its own.
    Overtaking {
        sampler: Sampler,
        stalls: Option<Stalls>,
        heap: BinaryHeap<Held>,
        sequence: u64,
    },
}

/// The next `bytes` held on a connection may leave at `due_ns`.
struct Batch {
    due_ns: u64,
    connection: ConnectionId,
    bytes: usize,
}

/// One answer in the heap; the greatest is the one that is due first.
#[derive(PartialEq, Eq)]
struct Held {
    due_ns: u64,
    sequence: u64,
    connection: ConnectionId,
    answer: Answer,
}

impl Ord for Held {
    fn cmp(&self, other: &Held) -> std::cmp::Ordering {
        (other.due_ns, other.sequence).cmp(&(self.due_ns, self.sequence))
    }
}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Held) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// A held answer. The short ones (VOID has 13 bytes, 20 compressed) are held without allocation.
#[derive(PartialEq, Eq)]
enum Answer {
    Short { bytes: [u8; SHORT_BYTES], count: u8 },
    Long(Box<[u8]>),
}

const SHORT_BYTES: usize = 22;

impl Answer {
    fn new(answer: &[u8]) -> Answer {
        let mut bytes = [0; SHORT_BYTES];
        match bytes.get_mut(..answer.len()) {
            Some(short) => {
                short.copy_from_slice(answer);
                let count = answer.len() as u8;
                Answer::Short { bytes, count }
            }
            None => Answer::Long(answer.into()),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Answer::Short { bytes, count } => &bytes[..usize::from(*count)],
            Answer::Long(bytes) => bytes,
        }
    }
}

/// A connection's slot, and which of the connections that had that slot it is.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ConnectionId {
    slot: u32,
    generation: u32,
}

impl Queue {
    fn new(spec: &NullSpec, origin_ns: u64, seed: u64) -> Queue {
        let stalls = spec
            .stall
            .as_ref()
            .map(|stall| Stalls::new(stall, origin_ns));
        match spec.latency {
            Latency::None if stalls.is_none() => Queue::AtOnce,
            Latency::None => Queue::InOrder {
                latency_ns: 0,
                stalls,
                batches: VecDeque::new(),
            },
            Latency::Fixed { ns } => Queue::InOrder {
                latency_ns: ns,
                stalls,
                batches: VecDeque::new(),
            },
            latency => Queue::Overtaking {
                sampler: Sampler::new(latency, seed),
                stalls,
                heap: BinaryHeap::new(),
                sequence: 0,
            },
        }
    }

    /// When the next answer is due; None: none waits.
    fn next_due_ns(&self) -> Option<u64> {
        match self {
            Queue::AtOnce => None,
            Queue::InOrder { batches, .. } => batches.front().map(|batch| batch.due_ns),
            Queue::Overtaking { heap, .. } => heap.peek().map(|held| held.due_ns),
        }
    }

    /// Takes the answer that ends `output` into the heap, if this is the queue for it.
    #[inline]
    fn take_answer(&mut self, connection: &mut Connection, start: usize, arrival_ns: u64) {
        if let Queue::Overtaking {
            sampler,
            stalls,
            heap,
            sequence,
        } = self
        {
            let due_ns = arrival_ns.saturating_add(sampler.next_ns());
            *sequence += 1;
            heap.push(Held {
                due_ns: stalls.map_or(due_ns, |stalls| stalls.release_ns(due_ns)),
                sequence: *sequence,
                connection: connection.id,
                answer: Answer::new(&connection.output[start..]),
            });
            connection.output.truncate(start);
            connection.held_answers += 1;
        }
    }

    /// Decides when the answers appended to `connection` since `start` leave.
    fn take_batch(&mut self, connection: &mut Connection, start: usize, arrival_ns: u64) {
        match self {
            Queue::AtOnce => connection.releasable = connection.output.len(),
            Queue::InOrder {
                latency_ns,
                stalls,
                batches,
            } => {
                let bytes = connection.output.len() - start;
                if bytes > 0 {
                    let due_ns = arrival_ns.saturating_add(*latency_ns);
                    batches.push_back(Batch {
                        due_ns: stalls.map_or(due_ns, |stalls| stalls.release_ns(due_ns)),
                        connection: connection.id,
                        bytes,
                    });
                }
            }
            Queue::Overtaking { .. } => {}
        }
    }
}

struct Connection {
    socket: OwnedFd,
    id: ConnectionId,
    peer: Peer,
    /// Received and not yet answered: `input[..filled]`, which begins with a header.
    input: Vec<u8>,
    filled: usize,
    /// `output[sent..releasable]` may be sent; what follows is held back.
    output: Vec<u8>,
    sent: usize,
    releasable: usize,
    /// Answers of this connection in the heap.
    held_answers: usize,
    /// What epoll was last told to watch for.
    interest: EventFlags,
    /// It ends as soon as what is releasable has been sent.
    closing: bool,
    /// It is among those to be flushed at the end of the wake-up.
    touched: bool,
}

/// A connection that cannot go on.
struct Gone;

impl Connection {
    fn new(socket: OwnedFd, id: ConnectionId) -> Connection {
        Connection {
            socket,
            id,
            peer: Peer::default(),
            // Zeroed pages come from the kernel when they are first touched.
            input: vec![0; INPUT_BYTES],
            filled: 0,
            output: Vec::new(),
            sent: 0,
            releasable: 0,
            held_answers: 0,
            interest: EventFlags::IN,
            closing: false,
            touched: false,
        }
    }

    /// Receives once. Ok(0): nothing had come.
    fn receive(&mut self) -> Result<usize, Gone> {
        match recv(
            &self.socket,
            &mut self.input[self.filled..],
            RecvFlags::empty(),
        ) {
            Ok((_, 0)) => Err(Gone),
            Ok((_, count)) => {
                self.filled += count;
                Ok(count)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(_) => Err(Gone),
        }
    }

    /// Sends what may leave, with one system call. Returns how many bytes went.
    fn flush(&mut self) -> Result<usize, Gone> {
        let ready = &self.output[self.sent..self.releasable];
        if ready.is_empty() {
            return if self.closing { Err(Gone) } else { Ok(0) };
        }
        let count = match send(&self.socket, ready, SendFlags::NOSIGNAL) {
            Ok(count) => count,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(_) => return Err(Gone),
        };
        self.sent += count;
        if self.closing && self.sent == self.releasable {
            return Err(Gone);
        }
        self.forget_sent();
        Ok(count)
    }

    /// Keeps the output buffer from growing: what was sent is dropped once it is the larger part.
    fn forget_sent(&mut self) {
        if self.sent == self.output.len() {
            self.output.clear();
        } else if self.sent > self.output.len() / 2 {
            self.output.drain(..self.sent);
        } else {
            return;
        }
        self.releasable -= self.sent;
        self.sent = 0;
    }

    /// Ends the connection once everything in the output has been sent. What is still held for
    /// later leaves now, ahead of the error that says why; what is in the heap is lost.
    fn end(&mut self) {
        self.closing = true;
        self.releasable = self.output.len();
        self.id.generation = ENDED;
    }

    /// What to watch for: room to send while something waits, requests unless too much does.
    fn wanted(&self) -> EventFlags {
        let mut flags = EventFlags::empty();
        if self.releasable > self.sent {
            flags |= EventFlags::OUT;
        }
        let crowded = self.output.len() - self.sent > OUTPUT_BYTES_MAX
            || self.held_answers > HELD_ANSWERS_MAX;
        if !crowded && !self.closing {
            flags |= EventFlags::IN;
        }
        flags
    }
}

struct EventLoop {
    door: Arc<Door>,
    epoll: OwnedFd,
    acceptor: Option<Acceptor>,
    engine: Engine,
    queue: Queue,
    spin: bool,
    connections: Vec<Option<Connection>>,
    generation: u32,
    /// Slots of connections that have newly released answers.
    touched: Vec<u32>,
}

impl EventLoop {
    fn new(
        door: Arc<Door>,
        acceptor: Option<Acceptor>,
        engine: Engine,
        queue: Queue,
        spin: bool,
    ) -> io::Result<EventLoop> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &door.wake, EventData::new_u64(WAKE), EventFlags::IN)?;
        if let Some(acceptor) = &acceptor {
            let data = EventData::new_u64(LISTENER);
            epoll::add(&epoll, &acceptor.listener, data, EventFlags::IN)?;
        }
        Ok(EventLoop {
            door,
            epoll,
            acceptor,
            engine,
            queue,
            spin,
            connections: Vec::new(),
            generation: 0,
            touched: Vec::new(),
        })
    }

    fn run(mut self) {
        // Refused only by kernels that do not know it; then answers are up to 50 µs later.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut events = Vec::with_capacity(EVENTS_MAX);
        while !self.door.stop.load(Relaxed) {
            events.clear();
            let timeout = self.timeout();
            let buffer = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, buffer, timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                // Only a closed or wrong descriptor is left as a cause, and ours are neither.
                Err(error) => unreachable!("epoll_wait on our own descriptor: {error}"),
            }
            for event in &events {
                let flags = event.flags;
                match event.data.u64() {
                    LISTENER => self.accept(),
                    WAKE => self.admit(),
                    slot => self.serve(slot as usize, flags),
                }
            }
            self.release_due();
            self.door.counts.publish(&self.engine.counts);
        }
    }

    /// How long to sleep: until something comes or the next answer is due.
    fn timeout(&self) -> Option<Timespec> {
        let wait_ns = if self.spin {
            0
        } else {
            self.queue.next_due_ns()?.saturating_sub(clock::now_ns())
        };
        Some(Timespec {
            tv_sec: (wait_ns / clock::SECOND_NS) as _,
            tv_nsec: (wait_ns % clock::SECOND_NS) as _,
        })
    }

    fn accept(&mut self) {
        if let Some(acceptor) = &mut self.acceptor {
            acceptor.accept_all();
        }
    }

    /// Takes over the connections that were dealt to this loop.
    fn admit(&mut self) {
        let mut count = [0; 8];
        // The value does not matter, only that the counter is reset.
        let _ = rustix::io::read(&self.door.wake, &mut count);
        let sockets = std::mem::take(
            &mut *self
                .door
                .accepted
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        for socket in sockets {
            let free = self.connections.iter().position(Option::is_none);
            let slot = free.unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            let data = EventData::new_u64(slot as u64);
            let watched = sockopt::set_tcp_nodelay(&socket, true)
                .and_then(|()| epoll::add(&self.epoll, socket.as_fd(), data, EventFlags::IN));
            if watched.is_err() {
                continue;
            }
            self.generation = self.generation.wrapping_add(1).max(ENDED + 1);
            let id = ConnectionId {
                slot: slot as u32,
                generation: self.generation,
            };
            self.connections[slot] = Some(Connection::new(socket, id));
            self.engine.counts.connections += 1;
        }
    }

    /// Receives what has come on one connection, answers it and sends what may leave.
    fn serve(&mut self, slot: usize, flags: EventFlags) {
        let Some(connection) = self.connections.get_mut(slot).and_then(Option::as_mut) else {
            return;
        };
        let mut outcome = Ok(0);
        if !connection.closing && flags != EventFlags::OUT {
            outcome = connection.receive();
            if let Ok(count @ 1..) = outcome {
                self.engine.counts.bytes_in += count as u64;
                answer_all(connection, &mut self.engine, &mut self.queue);
            }
        }
        match outcome.and_then(|_| connection.flush()) {
            Ok(count) => self.engine.counts.bytes_out += count as u64,
            Err(Gone) => return self.close(slot),
        }
        self.watch(slot);
    }

    /// Tells epoll what to watch for, if that has changed.
    fn watch(&mut self, slot: usize) {
        let Some(connection) = self.connections[slot].as_mut() else {
            return;
        };
        let wanted = connection.wanted();
        if wanted != connection.interest {
            connection.interest = wanted;
            let data = EventData::new_u64(slot as u64);
            if epoll::modify(&self.epoll, &connection.socket, data, wanted).is_err() {
                self.close(slot);
            }
        }
    }

    /// Closing the descriptor also takes it out of the epoll set.
    fn close(&mut self, slot: usize) {
        self.connections[slot] = None;
    }

    /// Lets go of every answer whose time has come.
    fn release_due(&mut self) {
        if self.queue.next_due_ns().is_none() {
            return;
        }
        let now_ns = clock::now_ns();
        match &mut self.queue {
            Queue::AtOnce => {}
            Queue::InOrder { batches, .. } => {
                while let Some(batch) = batches.pop_front_if(|batch| batch.due_ns <= now_ns) {
                    let id = batch.connection;
                    if let Some(connection) = touch(&mut self.connections, &mut self.touched, id) {
                        connection.releasable += batch.bytes;
                    }
                }
            }
            Queue::Overtaking { heap, .. } => {
                while heap.peek().is_some_and(|held| held.due_ns <= now_ns) {
                    let Some(held) = heap.pop() else { break };
                    let id = held.connection;
                    if let Some(connection) = touch(&mut self.connections, &mut self.touched, id) {
                        connection.output.extend_from_slice(held.answer.bytes());
                        connection.releasable = connection.output.len();
                        connection.held_answers -= 1;
                    }
                }
            }
        }
        while let Some(slot) = self.touched.pop() {
            let slot = slot as usize;
            let Some(connection) = self.connections[slot].as_mut() else {
                continue;
            };
            connection.touched = false;
            match connection.flush() {
                Ok(count) => self.engine.counts.bytes_out += count as u64,
                Err(Gone) => {
                    self.close(slot);
                    continue;
                }
            }
            self.watch(slot);
        }
    }
}

/// The connection `id`, noted among those to flush; None when it has gone since.
fn touch<'a>(
    connections: &'a mut [Option<Connection>],
    touched: &mut Vec<u32>,
    id: ConnectionId,
) -> Option<&'a mut Connection> {
    let connection = connections.get_mut(id.slot as usize)?.as_mut()?;
    if connection.id != id {
        return None;
    }
    if !connection.touched {
        connection.touched = true;
        touched.push(id.slot);
    }
    Some(connection)
}

/// Answers every whole frame received on `connection`.
///
/// Cost of an EXECUTE frame: see `docs/performance.md`; it is a header, a look-up by the first
/// bytes of the statement's id, and a copy of 13 bytes.
fn answer_all(connection: &mut Connection, engine: &mut Engine, queue: &mut Queue) {
    let arrival_ns = match queue {
        Queue::AtOnce => 0,
        _ => clock::now_ns(),
    };
    let output_start = connection.output.len();
    engine.refresh();
    let mut start = 0;
    let needed = loop {
        let rest = &connection.input[start..connection.filled];
        let answer_start = connection.output.len();
        let verdict = match Header::parse_request(rest) {
            Ok(None) => break 0,
            Ok(Some(header)) if header.frame_bytes() > FRAME_BYTES_MAX => {
                refuse_size(&header, &mut connection.output)
            }
            Ok(Some(header)) => {
                let Some(body) = rest.get(HEADER_BYTES..header.frame_bytes()) else {
                    break header.frame_bytes();
                };
                start += header.frame_bytes();
                engine.answer(&mut connection.peer, &header, body, &mut connection.output)
            }
            Err(error) => refuse_frame(&error, &mut connection.output),
        };
        if verdict == Verdict::Refused {
            engine.counts.connections_refused += 1;
            return connection.end();
        }
        queue.take_answer(connection, answer_start, arrival_ns);
    };
    connection.input.copy_within(start..connection.filled, 0);
    connection.filled -= start;
    if needed > connection.input.len() {
        connection.input.resize(needed, 0);
    }
    queue.take_batch(connection, output_start, arrival_ns);
}

fn refuse_size(header: &Header, out: &mut Vec<u8>) -> Verdict {
    let why = format!(
        "a frame of {} bytes is too long; the limit is {FRAME_BYTES_MAX}",
        header.frame_bytes()
    );
    refuse(out, header.stream, &why)
}
