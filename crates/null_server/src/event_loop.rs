//! The event loops of a null server. They handle sockets, buffers and the times at which answers
//! are sent.
//!
//! Each loop has a thread with a separate epoll instance, connections and counters, so that
//! requests share no data. A wake-up serves each ready connection with one `recv` and, if answers
//! may be sent at once, one `send`. The first loop also accepts connections and distributes them in
//! turn.
//!
//! With a latency or a stall, answers wait. With a fixed latency, answers are sent in the order of
//! their requests, so they wait in the output buffer. If answers can overtake each other, they wait
//! in a binary heap. The kernel's timer wakes the loop at the requested nanosecond (timer slack 1
//! ns), so only the wake-up of the thread adds delay.

use super::PublishedCounts;
use super::answer_request::{Engine, Verdict};
use super::arrivals::Arrival;
use super::connection::{Connection, ENDED, GoneNode};
use super::delayed_answers::{ConnectionId, Queue};
use super::errors::{refuse, refuse_frame};
use cql::frame::{HEADER_BYTES, Header};
use measure::clock;
use measure::poller::Poller;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with, sockopt};
use std::io;
use std::mem::MaybeUninit;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum size of a frame, in bytes. It is Cassandra's default
/// (`native_transport_max_frame_size`).
const FRAME_BYTES_MAX: usize = 16 * 1024 * 1024;
const EVENTS_MAX: usize = 256;
/// Identifier of the events of the listener. The identifier of a connection's events is its slot
/// number.
const LISTENER: u64 = u64::MAX;
/// Identifier of wake-ups by other threads.
const WAKE: u64 = u64::MAX - 1;

/// Handle through which other threads reach an event loop.
#[derive(Debug)]
pub struct EventLoopHandle {
    /// An eventfd that the loop watches, with which other threads wake it up.
    pub wake: OwnedFd,
    pub stop: AtomicBool,
    /// Connections that were assigned to the loop, but that the loop has not taken over yet.
    pub accepted: Mutex<Vec<OwnedFd>>,
    pub counts: PublishedCounts,
}

impl EventLoopHandle {
    /// Returns a handle for a loop, without pending events.
    pub fn new() -> io::Result<Arc<EventLoopHandle>> {
        Ok(Arc::new(EventLoopHandle {
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            stop: AtomicBool::new(false),
            accepted: Mutex::new(Vec::new()),
            counts: PublishedCounts::new(),
        }))
    }

    pub fn knock(&self) {
        // A full counter (EAGAIN) means that the loop is about to wake up anyway.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }
}

/// The listener, and the event loops among which it distributes connections in turn.
pub struct Acceptor {
    listener: OwnedFd,
    doors: Vec<Arc<EventLoopHandle>>,
    next: usize,
}

impl Acceptor {
    /// Creates an acceptor that distributes the connections of `listener` among the loops of the
    /// handles `doors`.
    pub fn new(listener: OwnedFd, doors: Vec<Arc<EventLoopHandle>>) -> Acceptor {
        Acceptor {
            listener,
            doors,
            next: 0,
        }
    }

    fn accept_all(&mut self) {
        loop {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            match accept_with(&self.listener, flags) {
                Ok(socket) => {
                    let door = &self.doors[self.next];
                    self.next = (self.next + 1) % self.doors.len();
                    door.accepted.lock().unwrap_or_else(PoisonError::into_inner).push(socket);
                    door.knock();
                }
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                // Either no connection is waiting, or the process has no free descriptor. In the
                // second case, the client waits in the backlog.
                Err(_) => return,
            }
        }
    }
}

pub struct EventLoop {
    /// Handle with which other threads control this loop.
    pub door: Arc<EventLoopHandle>,
    /// Channel for the arrival times of requests, if the caller has requested them.
    pub arrivals: Option<SyncSender<Arrival>>,
    epoll: Poller,
    acceptor: Option<Acceptor>,
    engine: Engine,
    queue: Queue,
    spin: bool,
    connections: Vec<Option<Connection>>,
    generation: u32,
    /// Slots of the connections that got answers to send during the current wake-up.
    touched: Vec<u32>,
}

impl EventLoop {
    /// Creates a loop with an epoll instance. This instance watches the handle and, if the loop
    /// accepts connections, the listener.
    pub fn new(
        door: Arc<EventLoopHandle>,
        acceptor: Option<Acceptor>,
        engine: Engine,
        queue: Queue,
        spin: bool,
    ) -> io::Result<EventLoop> {
        let epoll = Poller::new()?;
        epoll::add(&epoll, &door.wake, EventData::new_u64(WAKE), EventFlags::IN)?;
        if let Some(acceptor) = &acceptor {
            let data = EventData::new_u64(LISTENER);
            epoll::add(&epoll, &acceptor.listener, data, EventFlags::IN)?;
        }
        Ok(EventLoop {
            door,
            arrivals: None,
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

    /// Serves connections until another thread sets `stop` in the handle.
    pub fn run(mut self) {
        // The call fails only on kernels that do not have this option. Answers are then up to 50 µs
        // later.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut room = [MaybeUninit::uninit(); EVENTS_MAX];
        while !self.door.stop.load(Relaxed) {
            let timeout = self.timeout();
            let events: &[Event] = match self.epoll.wait(&mut room, timeout.as_ref()) {
                Ok(events) => events,
                Err(Errno::INTR) => &[],
                // The only remaining cause of an error is a closed or wrong descriptor, which would
                // be a bug.
                Err(error) => unreachable!(
                    "epoll_wait on the event loop's own descriptor: \
                                            {error}"
                ),
            };
            for event in events {
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

    /// Returns the time until the next answer is due. The loop sleeps for this time unless an event
    /// arrives. Returns 0 with `spin`. Returns `None` if no answer waits.
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

    /// Takes over the connections that were assigned to this loop.
    fn admit(&mut self) {
        let mut count = [0; 8];
        // The code ignores the value, because the read only resets the counter.
        let _ = rustix::io::read(&self.door.wake, &mut count);
        let sockets =
            std::mem::take(&mut *self.door.accepted.lock().unwrap_or_else(PoisonError::into_inner));
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

    /// Receives on one connection, answers the requests, and sends the answers that are due.
    fn serve(&mut self, slot: usize, flags: EventFlags) {
        let Some(connection) = self.connections.get_mut(slot).and_then(Option::as_mut) else {
            return;
        };
        let mut outcome = Ok(0);
        if !connection.closing && flags != EventFlags::OUT {
            outcome = connection.receive();
            if let Ok(count @ 1..) = outcome {
                self.engine.counts.bytes_in += count as u64;
                let noted = self.arrivals.as_ref().map(|to| (to, clock::now_ns()));
                let before = self.engine.counts.executes();
                answer_all(connection, &mut self.engine, &mut self.queue);
                let executes = self.engine.counts.executes() - before;
                if let Some((to, at_ns)) = noted.filter(|_| executes > 0) {
                    // The result is ignored. Sending fails if the channel is full, or if its
                    // receiver no longer exists.
                    let _ = to.try_send(Arrival { at_ns, executes });
                }
                // The loop publishes the counters before it sends the answers, so that the counters
                // include every answered request.
                self.door.counts.publish(&self.engine.counts);
            }
        }
        match outcome.and_then(|_| connection.flush()) {
            Ok(count) => self.engine.counts.bytes_out += count as u64,
            Err(GoneNode) => return self.close(slot),
        }
        self.watch(slot);
    }

    /// Updates the events for which epoll watches a connection, if they have changed.
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

    /// Closes a connection, which also removes it from the epoll set.
    fn close(&mut self, slot: usize) {
        self.connections[slot] = None;
    }

    /// Releases every answer that is due, and flushes the connections that have such answers.
    fn release_due(&mut self) {
        if self.queue.next_due_ns().is_none() {
            return;
        }
        let now_ns = clock::now_ns();
        let EventLoop {
            queue,
            connections,
            touched,
            ..
        } = self;
        queue.release(now_ns, |id, released| {
            if let Some(connection) = touch(connections, touched, id) {
                connection.release(released);
            }
        });
        while let Some(slot) = self.touched.pop() {
            let slot = slot as usize;
            let Some(connection) = self.connections[slot].as_mut() else {
                continue;
            };
            connection.touched = false;
            match connection.flush() {
                Ok(count) => self.engine.counts.bytes_out += count as u64,
                Err(GoneNode) => {
                    self.close(slot);
                    continue;
                }
            }
            self.watch(slot);
        }
    }
}

/// Returns the connection with this `id`, and marks it for flushing. Returns `None` if the
/// connection no longer exists.
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

/// Answers every complete frame received on `connection`.
///
/// An EXECUTE frame costs the parsing of a header, a look-up by the first bytes of the statement's
/// id, and a copy of 13 bytes. Including both system calls, this takes 0.05 µs in batches of 500
/// frames of 236 bytes. In batches of 128 frames, it takes 0.24 µs, mostly for the wake-up. The
/// example `null -- blast` measured these times on a busy machine.
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
    // If the buffer is full and the frame is incomplete, the buffer at most doubles. It does not
    // grow at once to the length in the header, because that length may be wrong.
    if needed > connection.input.len() && connection.filled == connection.input.len() {
        let room = cql::frame::room_bytes(connection.filled, needed);
        connection.input.resize(room, 0);
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
