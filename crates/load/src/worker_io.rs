//! The worker's interface to the outside world: the time, the readiness of sockets, reopened
//! connections, and empty parts.
//!
//! The interface is a trait, so that the same loop can run against sockets ([`Net`]) and against a
//! scripted server with a simulated clock (`crate::sim`). The compiler resolves the calls
//! statically and inlines them. The program contains only one implementation, so the simulation
//! does not slow the program down.
//!
//! Invariant: [`World::now_ns`] never decreases.

use crate::connect::Reconnector;
use crate::connection::Link;
use crate::recorder::Part;
use crate::socket::{Socket, TimedReader};
use crate::timer_delays::Waits;
use measure::clock;
use measure::poller::Poller;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};

/// Maximum number of readiness reports that one wait returns.
const EVENTS_MAX: usize = 64;

pub(crate) trait World {
    /// The worker's end of a connection, which never blocks.
    type Stream: Read + Write + TimedReader;

    /// Returns the time of the monotonic clock, in ns.
    fn now_ns(&self) -> u64;

    /// Returns the worker's CPU time since the last call, and the time for which the worker waited
    /// for a CPU.
    fn own_time(&mut self) -> OwnTime;

    /// Sleeps until a connection is ready, for at most `sleep_ns`. Returns the number of ready
    /// connections.
    fn wait(&mut self, sleep_ns: u64) -> io::Result<usize>;

    /// Sleeps until about `until_ns`, even if connections become ready. Returns the number of ready
    /// connections.
    fn rest(&mut self, until_ns: u64) -> io::Result<usize>;

    /// Returns readiness report number `at` of the last wait or rest.
    fn ready(&self, at: usize) -> Ready;

    /// Sets the events for which the poller watches connection number `index`.
    fn watch(&mut self, stream: &Self::Stream, index: u16, watch: Watch) -> io::Result<()>;

    /// Informs an observer that a request of operation `number` is being encoded, or cannot be
    /// encoded.
    #[inline]
    fn encoded(&mut self, _connection: u16, _stream: u16, _number: u64) {}

    /// Starts to reopen connection number `index`, without waiting for the result.
    fn reopen(&mut self, index: u16);

    /// Returns a connection that has been reopened, with its number.
    fn reopened(&mut self) -> Option<(u16, Link<Self::Stream>)>;

    /// Returns an empty part, or `None` if all parts are in use. If `waits` is true, waits until an
    /// empty part is available.
    fn empty_part(&mut self, waits: bool) -> Option<Box<Part>>;

    /// Passes on a completed part.
    fn hand_over(&mut self, part: Box<Part>);
}

/// CPU use of a worker since the last report.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OwnTime {
    pub cpu_ns: u64,
    /// Time for which the worker was runnable but had no CPU, in ns. `None` if the kernel does not
    /// measure this time.
    pub wait_ns: Option<u64>,
}

/// Events for which a connection is ready.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub index: u16,
    /// True if the worker can read a response, the end of the connection, or an error.
    pub reads: bool,
    pub writes: bool,
}

/// Events for which the poller watches a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    /// Responses, on a connection that the poller does not watch yet.
    First,
    /// Responses, but not free space for writing.
    Reads,
    /// Responses, and free space for writing.
    ReadsAndWrites,
}

/// World with real sockets, an epoll instance, reconnecting threads, and channels to the collector.
pub(crate) struct Net {
    poller: Poller,
    ready: Vec<Ready>,
    reconnector: Arc<Reconnector>,
    reopened: (Sender<ReopenedLink>, Receiver<ReopenedLink>),
    parts: Parts,
    cpu_before_ns: u64,
    waits: Option<Waits>,
}

/// Connection that has been reopened, and its number.
type ReopenedLink = (u16, Link);

/// The worker's ends of the channels on which parts circulate.
pub(crate) struct Parts {
    pub full: SyncSender<Box<Part>>,
    pub empty: Receiver<Box<Part>>,
}

impl Net {
    /// Creates a world that has no connections yet.
    pub fn new(reconnector: Reconnector, parts: Parts) -> io::Result<Net> {
        Ok(Net {
            poller: Poller::new()?,
            ready: Vec::with_capacity(EVENTS_MAX),
            reconnector: Arc::new(reconnector),
            reopened: channel(),
            parts,
            cpu_before_ns: 0,
            waits: None,
        })
    }
}

#[inline]
fn ready(event: &Event) -> Ready {
    let Event { flags, data } = *event;
    Ready {
        index: data.u64() as u16,
        reads: flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR),
        writes: flags.contains(EventFlags::OUT),
    }
}

impl World for Net {
    type Stream = Socket;

    #[inline]
    fn now_ns(&self) -> u64 {
        clock::now_ns()
    }

    /// The worker's own thread must call this function, because the CPU clocks belong to the
    /// calling thread.
    fn own_time(&mut self) -> OwnTime {
        let cpu_ns = clock::thread_cpu_ns();
        let before_ns = std::mem::replace(&mut self.cpu_before_ns, cpu_ns);
        OwnTime {
            cpu_ns: cpu_ns - before_ns,
            wait_ns: self.waits.get_or_insert_with(Waits::open).since(),
        }
    }

    #[inline]
    fn wait(&mut self, sleep_ns: u64) -> io::Result<usize> {
        let timeout = Timespec {
            tv_sec: (sleep_ns / clock::SECOND_NS) as i64,
            tv_nsec: (sleep_ns % clock::SECOND_NS) as _,
        };
        self.ready.clear();
        let mut room = [MaybeUninit::<Event>::uninit(); EVENTS_MAX];
        match self.poller.wait(&mut room, Some(&timeout)) {
            Ok(events) => self.ready.extend(events.iter().map(ready)),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(self.ready.len())
    }

    /// This sleep ignores readiness, so it does not set a timer that a response would have to
    /// cancel.
    #[inline]
    fn rest(&mut self, until_ns: u64) -> io::Result<usize> {
        clock::sleep_until(until_ns);
        self.wait(0)
    }

    #[inline]
    fn ready(&self, at: usize) -> Ready {
        self.ready[at]
    }

    fn watch(&mut self, stream: &Socket, index: u16, watch: Watch) -> io::Result<()> {
        let data = EventData::new_u64(u64::from(index));
        match watch {
            Watch::First => epoll::add(&self.poller, stream, data, EventFlags::IN)?,
            Watch::Reads => epoll::modify(&self.poller, stream, data, EventFlags::IN)?,
            Watch::ReadsAndWrites => {
                let flags = EventFlags::IN | EventFlags::OUT;
                epoll::modify(&self.poller, stream, data, flags)?;
            }
        }
        Ok(())
    }

    fn reopen(&mut self, index: u16) {
        self.reconnector.reopen(index, self.reopened.0.clone());
    }

    fn reopened(&mut self) -> Option<(u16, Link)> {
        self.reopened.1.try_recv().ok()
    }

    fn empty_part(&mut self, waits: bool) -> Option<Box<Part>> {
        if waits {
            self.parts.empty.recv().ok()
        } else {
            self.parts.empty.try_recv().ok()
        }
    }

    /// Sending fails only if the collector has ended. The part is then not needed.
    fn hand_over(&mut self, part: Box<Part>) {
        let _ = self.parts.full.send(part);
    }
}
