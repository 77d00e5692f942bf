//! The only crate that answers browsers: the pages of runs over HTTP, events of running runs,
//! metrics.
//!
//! [`Server`] shows a results folder. It only reads: it accepts only the methods GET and HEAD, and
//! it opens files of runs only through `store`. It must not disturb a measurement on the same
//! machine. So all readers of a run share one watcher, which reads only what was appended. The
//! server builds a page of a finished run once, and one page at a time.
//!
//! Every input from the network has a limit of size and of time, and so has the number of
//! connections. [`access`] decides who may read.

mod access;
mod connection;
mod http;
mod metrics_source;
mod openmetrics;
mod page_cache;
mod remote_run;
mod responses;
mod routes;
mod run_index;
mod site;
mod watcher;

pub use access::new_token;
pub use remote_run::RemoteRun;

use access::Access;
use anyhow::{Context, Result};
use measure::clock;
use metrics_source::MetricsSource;
use page_cache::PageCache;
use run_index::RunIndex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use site::{Count, Site};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use watcher::Watchers;

/// Maximum number of connections at the same time. A browser opens up to six.
const CONNECTIONS_MAX: usize = 64;
/// Longest time until the server notices that it must end.
const ACCEPT_WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};
/// Pause after a failure to accept a connection, for example if the process has too many open
/// files.
const FAILURE_PAUSE: Duration = Duration::from_millis(200);
/// Stack of a connection's thread. The page of a run is built on it.
const STACK_BYTES: usize = 4 << 20;

/// Settings of a server.
pub struct Settings {
    /// Folder of all results.
    pub results: PathBuf,
    /// Address to listen on. Port 0 selects a free port.
    pub listen: SocketAddr,
    /// Secret that a reader must know. `None` if everyone who reaches the address may read.
    pub token: Option<String>,
    /// Version of cassay, for the header `Server`.
    pub version: String,
}

/// A server that listens, and does not answer yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    site: Arc<Site>,
}

impl Server {
    /// Listens on the address.
    ///
    /// # Errors
    /// The address is in use, or is not an address of this machine.
    pub fn bind(settings: Settings) -> Result<Server> {
        let listener = TcpListener::bind(settings.listen)
            .with_context(|| format!("listen on {}", settings.listen))?;
        listener.set_nonblocking(true).context("set the listener to non-blocking")?;
        let address = listener.local_addr().context("read the address of the listener")?;
        let is_over = Arc::new(AtomicBool::new(false));
        let site = Site {
            access: Access::new(settings.token.as_deref(), address),
            index: RunIndex::default(),
            pages: PageCache::default(),
            watchers: Watchers::new(Arc::clone(&is_over)),
            metrics: MetricsSource::default(),
            results: settings.results,
            version: settings.version,
            connections: Arc::default(),
            streams: Arc::default(),
            is_over,
        };
        Ok(Server {
            listener,
            address,
            site: Arc::new(site),
        })
    }

    /// Returns the address on which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until `interrupt` is true.
    ///
    /// # Errors
    /// The listener fails.
    pub fn run(&self, interrupt: &AtomicBool) -> Result<()> {
        while !interrupt.load(Ordering::Relaxed) {
            let mut ready = [PollFd::new(&self.listener, PollFlags::IN)];
            // A signal ends the wait early. The loop then checks the flag.
            if poll(&mut ready, Some(&ACCEPT_WAIT)).unwrap_or(0) == 0 {
                continue;
            }
            match self.listener.accept() {
                Ok((stream, _)) => self.answer(stream),
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
                // The reader closed the connection, or the process has too many open files. Both
                // pass.
                Err(_) => clock::sleep(FAILURE_PAUSE),
            }
        }
        self.site.is_over.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Starts a thread that answers one connection. If there are too many connections, tells the
    /// reader to try again.
    fn answer(&self, mut stream: TcpStream) {
        let site = Arc::clone(&self.site);
        let Some(place) = Count::below(&site.connections, CONNECTIONS_MAX) else {
            connection::refuse(&mut stream, &self.site);
            return;
        };
        let work = move || {
            let _place = place;
            connection::serve(stream, &site);
        };
        let thread = std::thread::Builder::new().name("reader".to_owned());
        // Without a thread, the closure is dropped, which closes the connection.
        let _ = thread.stack_size(STACK_BYTES).spawn(work);
    }
}
