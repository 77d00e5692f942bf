//! What a client can be asked, and what it says by itself, as both sides know it.

use anyhow::{Result, bail};
use load::{
    Config, Endpoint, Keeps, Limit, OtherWorkers, Schedule, TheirTime, VerifyReads, Window,
};
use measure::outcome::OutcomeCounts;
use reach::Call;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use workload::{Program, Stage};

/// The most bytes of a text, or of what is packed as one, in a message: a frame has 1 MiB.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// What a client hears first.
#[derive(Serialize, Deserialize)]
pub(crate) struct Begin {
    /// How long its controller may be silent, in seconds.
    pub lease_s: u64,
}

/// Says what the machine is.
#[derive(Serialize, Deserialize)]
pub(crate) struct Describe;

/// What a client's machine is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Description {
    /// CPUs that it may use.
    pub cpus: usize,
    /// For records.
    pub machine: serde_json::Value,
}

/// A part of the sources of a program; the last one has them compiled.
#[derive(Serialize, Deserialize)]
pub(crate) struct TakeSources {
    /// Behind what came before; the first one begins anew.
    pub piece: String,
    pub is_first: bool,
    pub is_last: bool,
}

/// Takes a part of something large that sources name and do not hold, in base64; the last one has
/// it kept.
#[derive(Serialize, Deserialize)]
pub(crate) struct TakeLarge {
    /// Behind what came before; the first one begins anew.
    pub piece: String,
    pub is_first: bool,
    pub is_last: bool,
}

/// Runs the program on a null target of its own there, as fast as it goes.
#[derive(Serialize, Deserialize)]
pub(crate) struct MeasureCeiling {
    pub workers: usize,
    pub cpus: Vec<usize>,
}

/// Opens connections, and makes workers ready.
#[derive(Serialize, Deserialize)]
pub(crate) struct Arm {
    pub asked: ClientConfig,
    /// Operations of which the fingerprint is made.
    pub fingerprint_operations: u64,
}

/// Begins at a time of its own clock.
#[derive(Serialize, Deserialize)]
pub(crate) struct Go {
    pub start_ns: u64,
}

/// Says how the load goes on, by times of its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Steer {
    StopAt(u64),
    Measure { from_ns: u64, until_ns: u64 },
    Abandon,
}

/// Forgets what is armed, and ends what is offered.
#[derive(Serialize, Deserialize)]
pub(crate) struct Disarm;

/// A client that is ready.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct IsArmed {
    /// Of the operations that it will offer.
    pub fingerprint: u64,
    pub connections: usize,
}

/// When a client was told of the start line.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct StartAnswer {
    /// By its own clock.
    pub at_ns: u64,
}

macro_rules! calls {
    ($($name:ident = $word:literal -> $answer:ty;)*) => {
        $(impl Call for $name {
            const NAME: &'static str = $word;
            type Answer = $answer;
        })*
    };
}

calls! {
    Describe = "say-what-its-machine-is" -> Description;
    TakeSources = "take-the-sources-of-its-load" -> ();
    TakeLarge = "take-something-large" -> ();
    MeasureCeiling = "measure-its-ceiling" -> Option<f64>;
    Arm = "make-its-load-ready" -> IsArmed;
    Go = "begin-its-load" -> StartAnswer;
    Steer = "steer-its-load" -> ();
    Disarm = "end-its-load" -> ();
}

/// What a client says by itself while it offers load. The parts of an interval come before its end.
#[derive(Serialize, Deserialize)]
pub(crate) enum Note {
    /// Some kinds of the interval that is coming.
    Kinds(KindsNote),
    /// The interval is whole.
    Interval(IntervalNote),
    /// What was written down of operations, packed.
    Kept(KeptNote),
    /// Times of the population of some kinds over all intervals, when these have been told.
    Population(PopulationNote),
    /// The load has ended.
    Ended(Result<EndNote, String>),
}

/// Some kinds of an interval.
#[derive(Serialize, Deserialize)]
pub(crate) struct KindsNote {
    /// Number of the interval.
    pub index: u64,
    /// Number of the first of them.
    pub at: usize,
    pub packed: String,
}

/// Times of the population of some kinds.
#[derive(Serialize, Deserialize)]
pub(crate) struct PopulationNote {
    /// Number of the first of them.
    pub at: usize,
    pub packed: String,
}

/// An interval without its kinds.
#[derive(Serialize, Deserialize)]
pub(crate) struct IntervalNote {
    pub index: u64,
    /// Begin and end, since the start line.
    pub start_ns: u64,
    pub end_ns: u64,
    pub draining: bool,
    /// How operations ended, and p50, p99 and the longest latency of those that did well, in ns.
    pub outcomes: OutcomeCounts,
    pub latency_ns: [u64; 3],
    /// The instrument's own figures, packed.
    pub client: String,
    /// The clock of the day, less the one that only counts.
    pub day_ns: i64,
}

/// A piece of what was written down.
#[derive(Serialize, Deserialize)]
pub(crate) struct KeptNote {
    pub what: load::KeptWhat,
    pub first: u64,
    pub chunk: usize,
    pub at: usize,
    pub bytes: String,
}

/// A client's summary.
#[derive(Serialize, Deserialize)]
pub(crate) struct EndNote {
    pub operations_sent: u64,
    pub operations_ended: u64,
    pub next_operation: u64,
    pub workers: usize,
    pub realtime: bool,
    pub connections: usize,
    /// Outcome, node and message.
    pub first_errors: Vec<(measure::Outcome, String, String)>,
    /// The first rows that were not as they should be.
    #[serde(default)]
    pub missed_rows: Vec<(u64, measure::Missed)>,
    /// Node, how many, and since the start line from when to when.
    pub failures: Vec<(String, u64, [u64; 2])>,
    /// CPU time for which a group of the client had to wait, since the start line, ns; none where
    /// that is not counted.
    pub throttled_ns: Option<u64>,
}

/// A node as a client is told of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct AskedNode {
    address: SocketAddr,
    called: SocketAddr,
    proxied_name: Option<String>,
    name: String,
    tokens: Vec<i64>,
}

/// All of a [`Config`] but the program and the way in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ClientConfig {
    stage: String,
    nodes: Vec<AskedNode>,
    schedule: AskedSchedule,
    rise_ns: u64,
    first_operation: u64,
    limit: AskedLimit,
    window: AskedWindow,
    in_flight_max: u32,
    release_quantum_ns: u64,
    timeout_ns: u64,
    retries_min: u8,
    workers: usize,
    before: usize,
    after: usize,
    cpus: Vec<usize>,
    realtime: bool,
    connections_per_node: usize,
    interval_ns: u64,
    verify_every_nth: Option<u32>,
    keeps: String,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum AskedSchedule {
    Closed(u32),
    Fixed(f64),
    Poisson(f64),
    Recorded(f64),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum AskedLimit {
    Operations(u64),
    DurationNs(u64),
    Unlimited,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum AskedWindow {
    Whole,
    AfterNs(u64),
    WhenTold,
}

const STAGES: [(Stage, &str); 4] = [
    (Stage::Load, "load"),
    (Stage::Main, "main"),
    (Stage::Verify, "verify"),
    (Stage::ReadBack, "read-back"),
];

const KEEPS: [(Keeps, &str); 4] = [
    (Keeps::Nothing, "nothing"),
    (Keeps::States, "states"),
    (Keeps::Times, "times"),
    (Keeps::History, "history"),
];

fn word_of<T: PartialEq>(all: &[(T, &str)], value: &T) -> String {
    let found = all.iter().find(|(one, _)| one == value);
    found.map_or("", |(_, word)| word).to_owned()
}

fn of_word<T: Copy>(all: &[(T, &str)], word: &str) -> Result<T> {
    match all.iter().find(|(_, one)| *one == word) {
        Some((value, _)) => Ok(*value),
        None => bail!("a client knows no {word:?}"),
    }
}

impl ClientConfig {
    /// Of a client's own configuration.
    pub fn of(config: &Config) -> ClientConfig {
        let nodes = config.nodes.iter();
        ClientConfig {
            stage: word_of(&STAGES, &config.stage),
            nodes: nodes
                .map(|node| AskedNode {
                    address: node.address,
                    called: node.called,
                    proxied_name: node.proxied_name.clone(),
                    name: node.name.clone(),
                    tokens: node.tokens.clone(),
                })
                .collect(),
            schedule: match config.schedule {
                Schedule::Closed { in_flight } => AskedSchedule::Closed(in_flight),
                Schedule::Fixed { ops_per_s } => AskedSchedule::Fixed(ops_per_s),
                Schedule::Poisson { ops_per_s } => AskedSchedule::Poisson(ops_per_s),
                Schedule::Recorded { speed } => AskedSchedule::Recorded(speed),
            },
            rise_ns: config.rise.as_nanos() as u64,
            first_operation: config.first_operation,
            limit: match config.limit {
                Limit::Operations(count) => AskedLimit::Operations(count),
                Limit::Duration(length) => AskedLimit::DurationNs(length.as_nanos() as u64),
                Limit::Unlimited => AskedLimit::Unlimited,
            },
            window: match config.window {
                Window::Whole => AskedWindow::Whole,
                Window::After(warmup) => AskedWindow::AfterNs(warmup.as_nanos() as u64),
                Window::WhenTold => AskedWindow::WhenTold,
            },
            in_flight_max: config.in_flight_max,
            release_quantum_ns: config.release_quantum.as_nanos() as u64,
            timeout_ns: config.timeout.as_nanos() as u64,
            retries_min: config.retries_min,
            workers: config.workers,
            before: config.others.before,
            after: config.others.after,
            cpus: config.cpus.clone(),
            realtime: config.realtime,
            connections_per_node: config.connections_per_node,
            interval_ns: config.interval.as_nanos() as u64,
            verify_every_nth: match config.verify_reads {
                VerifyReads::Off => None,
                VerifyReads::EveryNth(nth) => Some(nth),
            },
            keeps: word_of(&KEEPS, &config.keeps),
        }
    }

    /// The configuration of a client with this program and this way in.
    ///
    /// # Errors
    /// A word is none of ours.
    pub fn config(self, program: Arc<Program>, access: load::Access) -> Result<Config> {
        let nodes = self.nodes.into_iter();
        Ok(Config {
            program,
            stage: of_word(&STAGES, &self.stage)?,
            nodes: nodes
                .map(|node| Endpoint {
                    address: node.address,
                    called: node.called,
                    proxied_name: node.proxied_name,
                    name: node.name,
                    tokens: node.tokens,
                })
                .collect(),
            access,
            schedule: match self.schedule {
                AskedSchedule::Closed(in_flight) => Schedule::Closed { in_flight },
                AskedSchedule::Fixed(ops_per_s) => Schedule::Fixed { ops_per_s },
                AskedSchedule::Poisson(ops_per_s) => Schedule::Poisson { ops_per_s },
                AskedSchedule::Recorded(speed) => Schedule::Recorded { speed },
            },
            rise: Duration::from_nanos(self.rise_ns),
            first_operation: self.first_operation,
            limit: match self.limit {
                AskedLimit::Operations(count) => Limit::Operations(count),
                AskedLimit::DurationNs(ns) => Limit::Duration(Duration::from_nanos(ns)),
                AskedLimit::Unlimited => Limit::Unlimited,
            },
            window: match self.window {
                AskedWindow::Whole => Window::Whole,
                AskedWindow::AfterNs(ns) => Window::After(Duration::from_nanos(ns)),
                AskedWindow::WhenTold => Window::WhenTold,
            },
            in_flight_max: self.in_flight_max,
            release_quantum: Duration::from_nanos(self.release_quantum_ns),
            timeout: Duration::from_nanos(self.timeout_ns),
            retries_min: self.retries_min,
            workers: self.workers,
            others: OtherWorkers {
                before: self.before,
                after: self.after,
            },
            cpus: self.cpus,
            realtime: self.realtime,
            connections_per_node: self.connections_per_node,
            interval: Duration::from_nanos(self.interval_ns),
            verify_reads: self.verify_every_nth.map_or(VerifyReads::Off, VerifyReads::EveryNth),
            keeps: of_word(&KEEPS, &self.keeps)?,
            written: None,
        })
    }
}

/// An offset between two clocks as those who put together what was written down take it.
pub(crate) fn their_time(offset: reach::Offset) -> TheirTime {
    TheirTime {
        ahead_ns: offset.ahead_ns,
        bound_ns: offset.bound_ns,
    }
}
