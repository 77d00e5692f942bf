//! Starts and stops a null server, and returns its counters.

use super::NullCounts;
use super::answer_request::Engine;
use super::arrivals::Arrival;
use super::catalog::Shared;
use super::delayed_answers::Queue;
use super::event_loop::{Acceptor, EventLoop, EventLoopHandle};
use measure::clock;
use rustix::fd::OwnedFd;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::Ordering::Release;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use target_spec::NullSpec;

/// A running null server. Dropping it stops its threads and closes its connections.
#[derive(Debug)]
pub struct NullServer {
    address: SocketAddr,
    started_ns: u64,
    loops: Vec<LoopHandle>,
}

#[derive(Debug)]
struct LoopHandle {
    door: Arc<EventLoopHandle>,
    thread: Option<JoinHandle<()>>,
}

impl NullServer {
    /// Starts a server that listens on 127.0.0.1, and returns at once.
    ///
    /// # Errors
    /// The values of `spec` are not possible, the port is in use, or a requested CPU does not exist
    /// or is not allowed.
    pub fn start(spec: &NullSpec) -> io::Result<NullServer> {
        NullServer::start_at(Ipv4Addr::LOCALHOST, spec)
    }

    /// Starts a server like [`NullServer::start`] that listens on `address` instead.
    ///
    /// # Errors
    /// The errors of [`NullServer::start`], or the address does not belong to this machine.
    pub fn start_at(address: Ipv4Addr, spec: &NullSpec) -> io::Result<NullServer> {
        NullServer::start_telling(address, spec, None)
    }

    /// Starts a server like [`NullServer::start`] that also reports the arrival times of requests
    /// to `arrivals`. The server drops reports that do not fit into the channel, so that a slow
    /// reader does not delay answers.
    ///
    /// # Errors
    /// The errors of [`NullServer::start`].
    pub fn start_noting(
        spec: &NullSpec,
        arrivals: mpsc::SyncSender<Arrival>,
    ) -> io::Result<NullServer> {
        NullServer::start_telling(Ipv4Addr::LOCALHOST, spec, Some(arrivals))
    }

    fn start_telling(
        address: Ipv4Addr,
        spec: &NullSpec,
        arrivals: Option<mpsc::SyncSender<Arrival>>,
    ) -> io::Result<NullServer> {
        crate::check(spec).map_err(|reason| io::Error::new(io::ErrorKind::InvalidInput, reason))?;
        let listener = listen(address, spec.port)?;
        let address = listener.local_addr()?;
        let started_ns = clock::now_ns();
        let shared = Arc::new(Shared::new(address));
        let cpus: Vec<Option<usize>> = match spec.cpus.as_slice() {
            [] => vec![None],
            cpus => cpus.iter().copied().map(Some).collect(),
        };
        let doors = cpus.iter().map(|_| EventLoopHandle::new()).collect::<io::Result<Vec<_>>>()?;
        let mut server = NullServer {
            address,
            started_ns,
            loops: Vec::new(),
        };
        let mut listener = Some(OwnedFd::from(listener));
        for (index, cpu) in cpus.into_iter().enumerate() {
            let acceptor = listener.take().map(|listener| Acceptor::new(listener, doors.clone()));
            let door = Arc::clone(&doors[index]);
            let engine = Engine::new(spec, Arc::clone(&shared))
                .map_err(|reason| io::Error::new(io::ErrorKind::InvalidInput, reason))?;
            let queue = Queue::new(spec, started_ns, index as u64);
            let mut event_loop = EventLoop::new(door, acceptor, engine, queue, spec.spin)?;
            event_loop.arrivals = arrivals.clone();
            server.loops.push(spawn(event_loop, index, cpu)?);
        }
        Ok(server)
    }

    /// Returns the address on which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the time at which the server was started, in nanoseconds of the monotonic clock. The
    /// stalls of the server are counted from this time.
    pub fn started_ns(&self) -> u64 {
        self.started_ns
    }

    /// Returns the counters of the server. A request is counted before its answer is sent. So when
    /// a client has received all its answers, the counters include all its requests.
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
                // The result is ignored, because a loop that panicked has ended anyway.
                let _ = thread.join();
            }
        }
    }
}

fn listen(address: Ipv4Addr, port: u16) -> io::Result<TcpListener> {
    let address = SocketAddr::from((address, port));
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

/// Starts the thread of an event loop, and waits until the thread is pinned, so that this function
/// can report a wrong CPU.
fn spawn(event_loop: EventLoop, index: usize, cpu: Option<usize>) -> io::Result<LoopHandle> {
    let door = Arc::clone(&event_loop.door);
    let (tell, told) = mpsc::sync_channel(1);
    let thread = std::thread::Builder::new().name(format!("null-{index}")).spawn(move || {
        let pinned = cpu.map_or(Ok(()), pin);
        let run = pinned.is_ok();
        // Sending cannot fail, because the receiver waits for this message.
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
            "the null target's thread ended at its start",
        )),
    }
}

fn pin(cpu: usize) -> io::Result<()> {
    let refused = |why: String| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "the null target cannot run on CPU {cpu}: {why}; name a CPU whose number is below \
                 the number that `nproc` prints"
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
