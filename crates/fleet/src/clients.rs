//! The controller's view of clients. The controller connects to all clients in parallel, keeps them
//! from load to load, and tracks their clocks.

use crate::client_figures::ClockReading;
use crate::client_requests::{
    Begin, Describe, Description, Disarm, MeasureCeiling, PIECE_BYTES, TakeLarge, TakeSources,
};
use crate::on_all_clients::{all_or_failures, at_once};
use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use measure::clock::{self, Deadline};
use remote::{ClockOffset, Destination, Link, Offset, OtherAgents};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// Maximum time of silence, in seconds. A client then stops its load, and the controller considers
/// the client lost. An interval takes one second, and may be delayed by one or two seconds on an
/// overloaded machine.
pub(crate) const SILENCE_S: u64 = 5;

/// Environment variable that marks clients on the controller's machine. Its value is the pid of the
/// run.
const MARK: &str = "CASSAY_CLIENT";

/// Time limit of a call that only queries a client.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// Time limit for a client to end.
const END_LIMIT: Duration = Duration::from_secs(5);

/// Time limit for compiling a program, opening connections or measuring a ceiling.
pub(crate) const WORK_LIMIT: Duration = Duration::from_secs(180);

/// Number of clock exchanges at the start. In a test over ssh with a busy machine, the fastest of
/// 64 exchanges was accurate to 0.1 ms.
const FIRST_EXCHANGES: usize = 64;

/// Interval between later clock exchanges.
const CLOCK_EVERY: Duration = Duration::from_millis(500);

/// Interval at which a clock's estimated offset is recorded.
const CLOCK_NOTED_EVERY_NS: u64 = 10 * clock::SECOND_NS;

/// Machine of a client, with the client's CPUs and workers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seat {
    /// Way to reach the machine. `None` for the local machine.
    pub far: Option<Destination>,
    /// Number of event loops. `None` means half of the number of CPUs.
    pub workers: Option<usize>,
    /// CPUs to which the event loops are pinned, unless the list is empty.
    pub cpus: Vec<usize>,
}

impl Seat {
    /// Returns `here`, the machine's name for `ssh`, or a pod and its Kubernetes node.
    pub fn place(&self) -> String {
        self.far.as_ref().map_or_else(|| "here".to_owned(), Destination::words)
    }
}

/// Connected client.
#[derive(Debug)]
pub struct Client {
    /// Name such as `client1`.
    pub name: String,
    pub seat: Seat,
    /// Number of CPUs that the client's process may use.
    pub cpus: usize,
    /// Description of the client's machine by its [`Maker`](crate::Maker).
    pub machine: serde_json::Value,
    pub(crate) link: Arc<Link>,
    pub(crate) clock: Arc<ClientClock>,
}

/// Estimates of a client's clock, which a separate thread updates.
#[derive(Debug, Default)]
pub(crate) struct ClientClock {
    known: Mutex<KnownClock>,
    /// Time of the client's last answer on the local monotonic clock.
    heard_ns: AtomicU64,
}

#[derive(Debug, Default)]
struct KnownClock {
    theirs: ClockOffset,
    breaks: Vec<(u64, i64)>,
    /// Recorded estimates, each with the local time in ns.
    noted: Vec<(u64, Offset)>,
}

impl ClientClock {
    fn lock(&self) -> MutexGuard<'_, KnownClock> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn heard_ns(&self) -> u64 {
        self.heard_ns.load(Ordering::Relaxed)
    }

    pub fn offset(&self) -> Option<Offset> {
        self.lock().theirs.offset()
    }

    /// Clears the recorded estimates for a new load.
    pub fn begin(&self) {
        let mut known = self.lock();
        known.breaks.clear();
        known.noted.clear();
    }

    /// Returns the times at which a clock was set or stopped since [`ClientClock::begin`], each
    /// with the amount of the change.
    pub fn breaks(&self) -> Vec<(u64, i64)> {
        self.lock().breaks.clone()
    }

    /// Returns the estimates that were recorded since [`ClientClock::begin`].
    pub fn readings(&self, client: usize) -> Vec<ClockReading> {
        let reading = |(at_ns, offset): &(u64, Offset)| ClockReading {
            client,
            at_ns: *at_ns,
            ahead_ns: offset.ahead_ns,
            bound_ns: offset.bound_ns,
        };
        self.lock().noted.iter().map(reading).collect()
    }

    fn ask(&self, link: &Link) -> Result<()> {
        let mut theirs = self.lock().theirs.clone();
        let (breaks, before) = (theirs.breaks(), theirs.offset());
        theirs.ask(link, LIMIT)?;
        let now_ns = clock::now_ns();
        self.heard_ns.store(now_ns, Ordering::Relaxed);
        let mut known = self.lock();
        if let (true, Some(before), Some(after)) =
            (theirs.breaks() > breaks, before, theirs.offset())
        {
            known.breaks.push((now_ns, after.ahead_ns - before.ahead_ns));
        }
        let is_due = |(at_ns, _): &(u64, Offset)| now_ns - at_ns >= CLOCK_NOTED_EVERY_NS;
        if let Some(offset) = theirs.offset().filter(|_| known.noted.last().is_none_or(is_due)) {
            known.noted.push((now_ns, offset));
        }
        known.theirs = theirs;
        Ok(())
    }
}

/// Clients of a run. Dropping this value ends the clients.
#[derive(Debug)]
pub struct Clients {
    all: Vec<Client>,
    /// Sources that all clients have received.
    sources: Mutex<String>,
    /// Names of the large files that all clients have received.
    given: Mutex<BTreeSet<String>>,
}

impl Clients {
    /// Starts a client on every seat in parallel.
    ///
    /// # Errors
    /// Clients could not be started. The error lists them with the reasons. The started clients are
    /// ended.
    pub fn open(seats: &[Seat]) -> Result<Clients> {
        let links: Vec<(usize, Arc<Link>)> =
            (1..).zip(links(seats)?.into_iter().map(Arc::new)).collect();
        let opened = at_once(&links, |(number, link)| {
            let seat = seats[*number - 1].clone();
            Client::over(Arc::clone(link), name_of(*number), seat)
        });
        let places = seats.iter().map(|seat| seat.place());
        all_or_failures(opened.zip(places)).map(Clients::new)
    }

    pub(crate) fn new(all: Vec<Client>) -> Clients {
        Clients {
            all,
            sources: Mutex::default(),
            given: Mutex::default(),
        }
    }

    pub fn all(&self) -> &[Client] {
        &self.all
    }

    /// Returns the reason why a client is lost. Returns `None` while the controller is connected to
    /// all clients.
    pub fn lost(&self) -> Option<String> {
        self.all.iter().find_map(|client| {
            let why = client.link.lost()?;
            Some(format!("{} has ended: {why}", client.words()))
        })
    }

    /// Sends a large file to all clients, unless they already have it. Sources contain only the
    /// name of such a file, which is a digest of its content. `write` writes the bytes of the file
    /// once for each client.
    ///
    /// # Errors
    /// A client cannot store the file, or has ended.
    pub fn give(
        &self,
        name: &str,
        write: impl Fn(&mut dyn Write) -> io::Result<()> + Sync,
    ) -> Result<()> {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        if given.contains(name) {
            return Ok(());
        }
        self.each(|client| {
            let mut sending = Sending::to(client);
            write(&mut sending)?;
            sending.end()
        })?;
        given.insert(name.to_owned());
        Ok(())
    }

    /// Sends the sources of a program to all clients, unless they already have them.
    ///
    /// # Errors
    /// A client cannot compile the sources, or has ended.
    pub fn prepare(&self, sources: &str) -> Result<()> {
        let mut have = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        if *have == sources {
            return Ok(());
        }
        have.clear();
        self.each(|client| client.take(sources))?;
        sources.clone_into(&mut have);
        Ok(())
    }

    /// Measures the ceilings of all clients in parallel, in operations per second on a client's own
    /// null target. A ceiling is `None` if the client's machine was too busy.
    ///
    /// # Errors
    /// A null target does not accept the program, or a client has ended.
    pub fn ceilings(&self) -> Result<Vec<Option<f64>>> {
        self.each(|client| {
            let call = MeasureCeiling {
                workers: client.workers(),
                cpus: client.seat.cpus.clone(),
            };
            client.link.call(&call, WORK_LIMIT)
        })
    }

    /// Calls `with` for all clients in parallel.
    ///
    /// # Errors
    /// All failures, each with the affected clients.
    pub(crate) fn each<T: Send>(
        &self,
        with: impl Fn(&Client) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let done = at_once(&self.all, with);
        all_or_failures(done.zip(&self.all).map(|(done, client)| (done, client.words())))
    }

    /// Ends the load of the clients. Ignores errors, because an ended client applies no load.
    pub(crate) fn disarm(&self) {
        at_once(&self.all, |client| client.link.call(&Disarm, LIMIT)).for_each(drop);
    }
}

impl Client {
    /// Returns the client's name and place, such as `client2 (db7)`.
    pub fn words(&self) -> String {
        format!("{} ({})", self.name, self.seat.place())
    }

    /// Returns the pid of the client's process on its machine.
    pub fn pid(&self) -> u32 {
        self.link.hello().process.pid
    }

    /// Returns the number of workers that the client uses if the load has enough operations in
    /// flight.
    pub(crate) fn workers(&self) -> usize {
        self.seat.workers.unwrap_or((self.cpus / 2).max(1))
    }

    fn take(&self, sources: &str) -> Result<()> {
        let mut left = sources;
        let mut is_first = true;
        while is_first || !left.is_empty() {
            let (piece, rest) = left.split_at(left.floor_char_boundary(PIECE_BYTES));
            let call = TakeSources {
                piece: piece.to_owned(),
                is_first,
                is_last: rest.is_empty(),
            };
            self.link.call(&call, WORK_LIMIT)?;
            (left, is_first) = (rest, false);
        }
        Ok(())
    }
}

/// Large file that is being sent to a client in pieces.
struct Sending<'c> {
    client: &'c Client,
    piece: Vec<u8>,
    is_first: bool,
}

impl Sending<'_> {
    fn to(client: &Client) -> Sending<'_> {
        Sending {
            client,
            piece: Vec::with_capacity(PIECE_BYTES),
            is_first: true,
        }
    }

    fn send(&mut self, is_last: bool) -> Result<()> {
        let call = TakeLarge {
            piece: BASE64.encode(&self.piece),
            is_first: self.is_first,
            is_last,
        };
        self.piece.clear();
        self.is_first = false;
        self.client.link.call(&call, WORK_LIMIT)
    }

    fn end(mut self) -> Result<()> {
        self.send(true)
    }
}

impl Write for Sending<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.piece.len() == PIECE_BYTES {
            self.send(false).map_err(io::Error::other)?;
        }
        let count = bytes.len().min(PIECE_BYTES - self.piece.len());
        self.piece.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    /// Does nothing, because the rest is sent when the file is complete.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        // A client without a connection ends by itself. But all clients must end before the run
        // continues, so a client on the controller's machine that does not react is killed. For
        // example, it may be stopped.
        at_once(&self.all, |client| {
            let ended = client.link.end(END_LIMIT);
            if ended.is_err() && client.seat.far.is_none() {
                client.link.hello().process.signal(Signal::KILL);
            }
            ended
        })
        .for_each(drop);
    }
}

pub(crate) fn name_of(number: usize) -> String {
    format!("{}{number}", remote::CLIENT)
}

fn links(seats: &[Seat]) -> Result<Vec<Link>> {
    let begin = || Begin { lease_s: SILENCE_S };
    let numbered = || (1..).zip(seats);
    let wanted = |(number, seat): (usize, &Seat)| {
        Some((seat.far.clone()?.for_agent(&name_of(number)), begin()))
    };
    let far: Vec<(Destination, Begin)> = numbered().filter_map(wanted).collect();
    let mut reached = Link::to_all(&far, OtherAgents::End)?.into_iter();
    let mark = std::process::id().to_string();
    let link = |(number, seat): (usize, &Seat)| match seat.far {
        Some(_) => reached.next().context("find the connection to a machine"),
        None => Link::open(&name_of(number), &begin(), (MARK, &mark)).context("here"),
    };
    numbered().map(link).collect()
}

impl Client {
    /// Sets up a client over an open connection: queries its machine and its clock.
    pub(crate) fn over(link: Arc<Link>, name: String, seat: Seat) -> Result<Client> {
        let Description { cpus, machine } = link.call(&Describe, LIMIT)?;
        let clock = Arc::new(ClientClock::default());
        for _ in 0..FIRST_EXCHANGES {
            clock.ask(&link)?;
        }
        let (weak, watched) = (Arc::downgrade(&link), Arc::clone(&clock));
        std::thread::Builder::new()
            .name(format!("clock {name}"))
            .spawn(move || watch(&weak, &watched))
            .context("start a thread that watches a clock")?;
        Ok(Client {
            name,
            seat,
            cpus,
            machine,
            link,
            clock,
        })
    }
}

/// Queries the clock of a client repeatedly until the connection ends.
fn watch(link: &Weak<Link>, clock: &ClientClock) {
    loop {
        let next = Deadline::after(CLOCK_EVERY);
        match link.upgrade() {
            Some(link) if clock.ask(&link).is_ok() => {}
            // The code that receives the client's intervals decides whether a silent client is
            // lost.
            Some(link) if link.lost().is_none() => {}
            _ => return,
        }
        clock::sleep(next.left());
    }
}
