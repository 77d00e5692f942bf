//! The worker's interface to the outside: the time, the readiness of sockets, reopened connections,
//! and parts to write to.
//!
//! It is a trait, so that the same loop runs against sockets ([`Net`]) and against a scripted
//! server with a simulated clock (`crate::sim`). The compiler calls it by its static type, and
//! inlines it. The program has one world, and the other does not slow it down.
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

/// Number of readiness reports taken per wait.
const EVENTS_MAX: usize = 64;

/// Outside world of a worker; see the module.
pub(crate) trait World {
    /// The worker's end of a connection; it never blocks.
    type Stream: Read + Write + TimedReader;

    /// Returns the monotonic clock, ns.
    fn now_ns(&self) -> u64;

    /// Returns the worker's use of its core since the last call.
    fn own_time(&mut self) -> OwnTime;

    /// Sleeps until a connection is ready, for at most `sleep_ns`. Returns the number of ready
    /// connections.
    fn wait(&mut self, sleep_ns: u64) -> io::Result<usize>;

    /// Sleeps until about `until_ns`, even if connections become ready. Returns the number of ready
    /// connections.
    fn rest(&mut self, until_ns: u64) -> io::Result<usize>;

    /// Returns one of the reports that the last wait or rest found.
    fn ready(&self, at: usize) -> Ready;

    /// Sets the events of connection number `index` to wait for.
    fn watch(&mut self, stream: &Self::Stream, index: u16, watch: Watch) -> io::Result<()>;

    /// Tells an observer that a request of operation `number` is being encoded, or cannot be.
    #[inline]
    fn encoded(&mut self, _connection: u16, _stream: u16, _number: u64) {}

    /// Starts to reopen connection number `index`, which takes a while.
    fn reopen(&mut self, index: u16);

    /// Returns a connection that is open again, with its number.
    fn reopened(&mut self) -> Option<(u16, Link<Self::Stream>)>;

    /// Returns an empty part. If `waits` is true, waits until there is one.
    fn empty_part(&mut self, waits: bool) -> Option<Box<Part>>;

    /// Takes a completed part.
    fn hand_over(&mut self, part: Box<Part>);
}

/// CPU use of a worker.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OwnTime {
    pub cpu_ns: u64,
    /// Time in which the worker could have run but had no CPU. `None` if the kernel does not count
    /// it.
    pub wait_ns: Option<u64>,
}

/// Events for which a connection is ready.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub index: u16,
    /// Responses, the end of the connection or an error.
    pub reads: bool,
    pub writes: bool,
}

/// Events to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    /// Responses, on a connection that was not watched before.
    First,
    /// Responses can be read.
    Reads,
    /// Responses, and room to write.
    ReadsAndWrites,
}

/// World with sockets, an epoll, reconnecting threads, and channels to the collector.
pub(crate) struct Net {
    poller: Poller,
    ready: Vec<Ready>,
    reconnector: Arc<Reconnector>,
    reopened: (Sender<ReopenedLink>, Receiver<ReopenedLink>),
    parts: Parts,
    cpu_before_ns: u64,
    waits: Option<Waits>,
}

/// Connection that is open again, with its number.
type ReopenedLink = (u16, Link);

/// The worker's ends of the circulation of parts.
pub(crate) struct Parts {
    pub full: SyncSender<Box<Part>>,
    pub empty: Receiver<Box<Part>>,
}

impl Net {
    /// Creates a world without connections.
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

    /// Runs on the worker's own thread, because the clocks belong to that thread.
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

    /// This sets no timer that a response would have to cancel, and responses do not wake the
    /// worker.
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

    /// This fails only if the collector has ended, and then the part is not needed.
    fn hand_over(&mut self, part: Box<Part>) {
        let _ = self.parts.full.send(part);
    }
}
