//! What the worker has of the world outside: the time, the sockets' readiness, connections that
//! come back, and parts to write in.
//!
//! A trait, so that the very same loop runs against sockets ([`Net`]) and against a scripted server
//! with a clock of its own (`crate::sim`). It is called by its type and inlined: the program has
//! one world, and pays nothing for the other.
//!
//! Must hold: [`World::now_ns`] never goes back.

use crate::connect::Reconnector;
use crate::connection::Link;
use crate::hiccups::Waits;
use crate::recorder::Part;
use measure::clock;
use measure::poller::Poller;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};

/// Readiness reports taken per wait.
const EVENTS_MAX: usize = 64;

/// See the module.
pub(crate) trait World {
    /// Our end of a connection; it never blocks.
    type Stream: Read + Write;

    /// The monotonic clock.
    fn now_ns(&self) -> u64;

    /// What the worker has used since the last time that this was asked.
    fn own_time(&mut self) -> OwnTime;

    /// Sleeps until a connection is ready, for at most `sleep_ns`; how many are.
    fn wait(&mut self, sleep_ns: u64) -> io::Result<usize>;

    /// One of those that the last wait found.
    fn ready(&self, at: usize) -> Ready;

    /// Says for what of connection number `index` to wait.
    fn watch(&mut self, stream: &Self::Stream, index: u16, watch: Watch) -> io::Result<()>;

    /// A request of operation `number` is being encoded, or cannot be. For who looks on.
    #[inline]
    fn encoded(&mut self, _connection: u16, _stream: u16, _number: u64) {}

    /// Begins to open connection number `index` again, which takes a while.
    fn reopen(&mut self, index: u16);

    /// A connection that is open again, and its number.
    fn reopened(&mut self) -> Option<(u16, Link<Self::Stream>)>;

    /// An empty part to go on with; `waits`: until there is one.
    fn empty_part(&mut self, waits: bool) -> Option<Box<Part>>;

    /// Takes a part that is whole.
    fn hand_over(&mut self, part: Box<Part>);
}

/// What a worker used of its core.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OwnTime {
    pub cpu_ns: u64,
    /// How long it could have run and had no CPU; none where the kernel does not count it.
    pub wait_ns: Option<u64>,
}

/// What a connection is ready for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub index: u16,
    /// Answers, its end or an error.
    pub reads: bool,
    pub writes: bool,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    /// Answers, of a connection that was not watched before.
    First,
    /// Answers can be read.
    Reads,
    /// Answers, and room to write.
    ReadsAndWrites,
}

/// Sockets, an epoll, threads that open connections again, and channels to the collector.
pub(crate) struct Net {
    poller: Poller,
    ready: Vec<Ready>,
    reconnector: Arc<Reconnector>,
    reopened: (Sender<Reopened>, Receiver<Reopened>),
    parts: Parts,
    cpu_before_ns: u64,
    waits: Option<Waits>,
}

/// A connection that is open again, and its number.
type Reopened = (u16, Link);

/// The worker's ends of the circle of parts.
pub(crate) struct Parts {
    pub full: SyncSender<Box<Part>>,
    pub empty: Receiver<Box<Part>>,
}

impl Net {
    /// A world without connections.
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
    type Stream = TcpStream;

    #[inline]
    fn now_ns(&self) -> u64 {
        clock::now_ns()
    }

    /// On the worker's own thread: the clocks are that thread's.
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

    #[inline]
    fn ready(&self, at: usize) -> Ready {
        self.ready[at]
    }

    fn watch(&mut self, stream: &TcpStream, index: u16, watch: Watch) -> io::Result<()> {
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

    /// Fails only if the collector is gone, and then nobody is left to tell.
    fn hand_over(&mut self, part: Box<Part>) {
        let _ = self.parts.full.send(part);
    }
}
