//! A client that applies its share of a load, and reports its results each second.
//!
//! Invariants: a client stops its load if its controller has ended, or is silent for longer than
//! the client's lease. An ended client leaves no files on its machine.

use crate::client_figures::throttled_ns;
use crate::client_requests::{
    Arm, Begin, Describe, Description, Disarm, EndNote, Go, HeardAt, IntervalNote, IsArmed,
    KeptNote, KindsNote, MeasureCeiling, Note, PIECE_BYTES, PopulationNote, SlowNote, Steer,
    TakeLarge, TakeSources,
};
use crate::codec::{pack_client, pack_kinds};
use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use load::{ArmedLoad, Load, Next, RecordPiece, SlowOperation, Steering, Summary};
use measure::outcome::OutcomeCounts;
use measure::{Histogram, Interval, KindInterval, clock};
use remote::agent_loop::{self, Outbox};
use remote::{ReadClock, Row, Serve};
use std::collections::VecDeque;
use std::io::{self, IsTerminal, Read, Write};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use workload::Program;

/// Time limit for a controller's first request to a client.
const BEGIN_LIMIT: Duration = Duration::from_secs(60);

/// Time limit for the load to end after the controller has ended.
const END_LIMIT: Duration = Duration::from_secs(3);

/// Result of compiling the controller's sources in a client.
#[derive(Clone)]
pub struct CompiledSources {
    pub program: Arc<Program>,
    /// Credentials, encryption and protocol of the connections to the cluster.
    pub access: load::Access,
}

/// Builds a load from sources. This trait connects the studies of the calling crate with this
/// crate. The controller passes sources to [`Clients`](crate::Clients) as text that only the maker
/// can interpret.
pub trait Maker: Sync {
    /// Stores a large file of `bytes` bytes. Sources contain only the name of such a file.
    ///
    /// # Errors
    /// This build does not store such files, or the file is incomplete.
    fn keep(&self, from: &mut dyn Read, bytes: u64) -> Result<()>;

    /// Compiles the program of operations from sources, and reads the access to the cluster.
    ///
    /// # Errors
    /// The sources do not come from this build.
    fn make(&self, sources: &str) -> Result<CompiledSources>;

    /// Measures the operations per second of this client on a local null target, with `workers`
    /// workers. They are pinned to `cpus` unless it is empty. Returns `None` if the machine was too
    /// busy.
    ///
    /// # Errors
    /// The null target does not accept the program.
    fn ceiling(&self, sources: &str, workers: usize, cpus: &[usize]) -> Result<Option<f64>>;

    /// Returns the description of the machine for records.
    fn machine(&self) -> serde_json::Value;
}

/// Runs as a client if this process was started as one, and returns the exit code. Otherwise
/// returns `None`. The caller must call this function before it starts a thread.
pub fn answer(maker: &'static dyn Maker) -> Option<u8> {
    let words: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let is_client = matches!(&words[..], [_, agent, name]
        if agent == remote::ARGUMENT && name.starts_with(remote::CLIENT));
    if !is_client || std::io::stdin().is_terminal() {
        return None;
    }
    let Err(error) = run(maker) else {
        return Some(0);
    };
    let _ = writeln!(std::io::stderr(), "error: {error:#}");
    Some(2)
}

fn run(maker: &'static dyn Maker) -> Result<()> {
    let (mut input, mut output) = agent_loop::pipes()?;
    let begin: Begin = match agent_loop::first(&mut input, BEGIN_LIMIT) {
        Ok(begin) => begin,
        Err(error) => {
            agent_loop::refuse(&mut output, &error);
            return Err(error);
        }
    };
    let client = ClientState::new(maker);
    let lease = Duration::from_secs(begin.lease_s);
    let outbox = client.outbox.clone();
    agent_loop::serve(CALLS, &client, &outbox, Box::new(input), output, lease);
    client.end();
    outbox.end(&Ok(()));
    Ok(())
}

pub(crate) const CALLS: &[Row<ClientState>] = &[
    Row::new::<ReadClock>(),
    Row::new::<Describe>(),
    Row::new::<TakeSources>(),
    Row::new::<TakeLarge>(),
    Row::new::<MeasureCeiling>(),
    Row::new::<Arm>(),
    Row::new::<Go>(),
    Row::new::<Steer>(),
    Row::new::<Disarm>(),
];

pub(crate) struct ClientState {
    maker: &'static dyn Maker,
    pub outbox: Outbox,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    sources: String,
    pieces: Pieces,
    made: Option<CompiledSources>,
    armed: Option<ArmedLoad>,
    steering: Option<Steering>,
    offering: Option<JoinHandle<()>>,
}

impl ClientState {
    pub fn new(maker: &'static dyn Maker) -> ClientState {
        ClientState {
            maker,
            outbox: Outbox::default(),
            inner: Mutex::default(),
        }
    }

    /// Locks the state, even if it is poisoned. A panic cannot make the state inconsistent.
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the load, and waits up to [`END_LIMIT`] until it has ended.
    pub fn end(&self) {
        let offering = {
            let mut inner = self.inner();
            inner.armed = None;
            inner.steering.take().iter().for_each(Steering::abandon);
            inner.offering.take()
        };
        let until = clock::Deadline::after(END_LIMIT);
        while offering.as_ref().is_some_and(|thread| !thread.is_finished()) && !until.passed() {
            clock::sleep(Duration::from_millis(10));
        }
    }
}

impl Serve<ClientState> for Describe {
    fn serve(self, client: &ClientState) -> Result<Description> {
        Ok(Description {
            cpus: std::thread::available_parallelism().map_or(1, |cpus| cpus.get()),
            machine: client.maker.machine(),
        })
    }
}

impl Serve<ClientState> for TakeSources {
    fn serve(self, client: &ClientState) -> Result<()> {
        let mut inner = client.inner();
        if self.is_first {
            inner.sources.clear();
        }
        inner.made = None;
        inner.sources += &self.piece;
        if self.is_last {
            inner.made = Some(client.maker.make(&inner.sources)?);
        }
        Ok(())
    }
}

impl Serve<ClientState> for TakeLarge {
    fn serve(self, client: &ClientState) -> Result<()> {
        let piece = BASE64.decode(&self.piece).context("read the message to the client")?;
        let mut pieces = {
            let mut inner = client.inner();
            if self.is_first {
                inner.pieces = Pieces::default();
            }
            inner.pieces.0.push_back(io::Cursor::new(piece));
            if !self.is_last {
                return Ok(());
            }
            std::mem::take(&mut inner.pieces)
        };
        let bytes = pieces.length();
        client.maker.keep(&mut pieces, bytes)
    }
}

/// Data that was received in pieces. Each piece is dropped after it was read, so that memory does
/// not contain the data twice.
#[derive(Default)]
struct Pieces(VecDeque<io::Cursor<Vec<u8>>>);

impl Pieces {
    fn length(&self) -> u64 {
        self.0.iter().map(|piece| piece.get_ref().len() as u64).sum()
    }
}

impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while let Some(piece) = self.0.front_mut() {
            let count = piece.read(out)?;
            if count > 0 || out.is_empty() {
                return Ok(count);
            }
            self.0.pop_front();
        }
        Ok(0)
    }
}

impl Serve<ClientState> for MeasureCeiling {
    fn serve(self, client: &ClientState) -> Result<Option<f64>> {
        let sources = client.inner().sources.clone();
        client.maker.ceiling(&sources, self.workers, &self.cpus)
    }
}

impl Serve<ClientState> for Arm {
    fn serve(self, client: &ClientState) -> Result<IsArmed> {
        client.end();
        let made = client
            .inner()
            .made
            .clone()
            .context("the client has not yet received a program")?;
        let program = Arc::clone(&made.program);
        let config = self.asked.config(made.program, made.access)?;
        let stage = config.stage;
        let armed = Load::arm(&config)?;
        let connections = armed.connections();
        client.inner().armed = Some(armed);
        Ok(IsArmed {
            fingerprint: program.fingerprint_of(stage, self.fingerprint_operations),
            connections,
        })
    }
}

impl Serve<ClientState> for Go {
    fn serve(self, client: &ClientState) -> Result<HeardAt> {
        let at_ns = clock::now_ns();
        let mut inner = client.inner();
        let armed = inner.armed.take().context("the client is not ready")?;
        let outbox = client.outbox.clone();
        let (sender, steering) = channel();
        // The thread that receives the intervals also starts the load, because it has a high
        // priority.
        let offering = std::thread::Builder::new()
            .name("client-load".into())
            .spawn(move || {
                let load = armed.go(self.start_ns);
                let _ = sender.send(load.steering());
                offer(load, &outbox);
            })
            .context("start the thread that takes intervals")?;
        inner.offering = Some(offering);
        inner.steering = Some(steering.recv().context("start the load")?);
        Ok(HeardAt { at_ns })
    }
}

impl Serve<ClientState> for Steer {
    fn serve(self, client: &ClientState) -> Result<HeardAt> {
        let inner = client.inner();
        let Some(steering) = &inner.steering else {
            bail!("the client applies no load at present");
        };
        match self {
            Steer::StopAt(at_ns) => steering.stop_at(at_ns),
            Steer::Measure { from_ns, until_ns } => {
                steering.measure_from(from_ns);
                steering.stop_at(until_ns);
            }
            Steer::Abandon => steering.abandon(),
        }
        // The workers learn of the change only now.
        Ok(HeardAt {
            at_ns: clock::now_ns(),
        })
    }
}

impl Serve<ClientState> for Disarm {
    fn serve(self, client: &ClientState) -> Result<()> {
        client.end();
        Ok(())
    }
}

fn offer(mut load: Load, outbox: &Outbox) {
    let start_ns = load.start_ns();
    let throttled_before_ns = throttled_ns();
    let mut population = Vec::new();
    loop {
        match load.next(u64::MAX) {
            Next::Interval(interval) => {
                add_population(&mut population, &interval);
                tell(&interval, start_ns, outbox);
            }
            Next::Time => {}
            Next::Over => break,
        }
    }
    let throttled = throttled_before_ns
        .zip(throttled_ns())
        .map(|(before, after)| after.saturating_sub(before));
    let ended = load.end().map_err(|error| error.to_string()).map(|summary| {
        let pieces = summary.pieces(PIECE_BYTES);
        pieces.for_each(|piece| outbox.note(&Note::Kept(kept_note(piece))));
        in_pieces(&population, |at, packed| {
            outbox.note(&Note::Population(PopulationNote { at, packed }));
        });
        EndNote {
            throttled_ns: throttled,
            ..end_note(summary, start_ns)
        }
    });
    outbox.note(&Note::Ended(ended));
}

/// Adds an interval's times of the measured population to the sum, kind by kind.
fn add_population(population: &mut Vec<KindInterval>, interval: &Interval) {
    population.resize_with(interval.kinds.len(), KindInterval::default);
    for (sum, kind) in population.iter_mut().zip(&interval.kinds) {
        sum.is_part = kind.is_part;
        sum.latency.add(&kind.latency);
        sum.service.add(&kind.service);
        sum.errors.add(&kind.errors);
    }
}

/// Packs kinds into texts that fit into a message. Calls `with` with the index of each text's first
/// kind and the text.
fn in_pieces(kinds: &[KindInterval], mut with: impl FnMut(usize, String)) {
    let mut at = 0;
    while at < kinds.len() {
        let (packed, count) = pack_kinds(&kinds[at..], PIECE_BYTES);
        with(at, packed);
        at += count;
    }
}

fn tell(interval: &Interval, start_ns: u64, outbox: &Outbox) {
    let index = interval.index;
    in_pieces(&interval.kinds, |at, packed| {
        outbox.note(&Note::Kinds(KindsNote { index, at, packed }));
    });
    let (mut outcomes, mut latency) = (OutcomeCounts::default(), Histogram::new());
    for kind in interval.whole_kinds() {
        outcomes.add(&kind.outcomes);
        latency.add(&kind.latency);
        latency.add(&kind.early.latency);
    }
    let since = |ns: u64| ns.saturating_sub(start_ns);
    outbox.note(&Note::Interval(IntervalNote {
        index: interval.index,
        start_ns: since(interval.start_ns),
        end_ns: since(interval.end_ns),
        draining: interval.draining,
        outcomes,
        latency_ns: [
            latency.quantile_ns(0.5),
            latency.quantile_ns(0.99),
            latency.max_ns(),
        ],
        client: pack_client(&interval.client),
        day_ns: clock::unix_ns() as i64 - clock::now_ns() as i64,
    }));
}

fn kept_note(piece: RecordPiece) -> KeptNote {
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&piece.bytes).expect("a write to memory cannot fail");
    KeptNote {
        what: piece.what,
        first: piece.first,
        chunk: piece.chunk,
        at: piece.at,
        bytes: BASE64.encode(packed.finish().expect("a write to memory cannot fail")),
    }
}

fn end_note(summary: Summary, start_ns: u64) -> EndNote {
    let since = |ns: u64| ns.saturating_sub(start_ns);
    let errors = summary.first_errors.into_iter();
    let failures = summary.failures.into_iter();
    EndNote {
        operations_sent: summary.operations_sent,
        operations_ended: summary.operations_ended,
        next_operation: summary.next_operation,
        workers: summary.workers,
        realtime: summary.realtime,
        connections: summary.connections,
        first_errors: errors.map(|one| (one.outcome, one.node, one.message)).collect(),
        missed_rows: summary.missed_rows,
        failures: failures
            .map(|one| (one.node, one.count, [one.first_ns, one.last_ns].map(since)))
            .collect(),
        slowest: summary.slowest.into_iter().map(|one| slow_note(one, start_ns)).collect(),
        throttled_ns: None,
    }
}

fn slow_note(one: SlowOperation<String>, start_ns: u64) -> SlowNote {
    let since = |ns: u64| ns.saturating_sub(start_ns);
    SlowNote {
        number: one.number,
        kind: one.kind,
        due_ns: since(one.due_ns),
        sent_ns: one.sent_ns.map(since),
        end_ns: since(one.end_ns),
        outcome: one.outcome,
        retries: one.retries,
        is_speculated: one.is_speculated,
        node: one.node,
    }
}
