//! What a run of the engine is told, and what it tells at its end.

use crate::failures::NodeFailures;
use crate::history::History;
use crate::ledger::{Keeps, Ledger};
use crate::missed_rows::MISSED_ROWS_MAX;
use crate::schedule::Schedule;
use crate::written::Written;
use cql::{Compression, Version};
use measure::{Missed, Outcome};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use workload::{Program, Stage};

/// Release quantum that keeps the p99 of release lag under 100 µs even where waking up takes 40 µs,
/// as on a small virtual machine.
pub const RELEASE_QUANTUM: Duration = Duration::from_micros(50);

/// One run of the engine.
#[derive(Clone, Debug)]
pub struct Config {
    /// What is asked.
    pub program: Arc<Program>,
    /// Which part of the program: load, main mix or verification.
    pub stage: Stage,
    /// Whom to ask; at least one.
    pub nodes: Vec<Endpoint>,
    /// How to get in.
    pub access: Access,
    /// When operations are due.
    pub schedule: Schedule,
    /// How long the load takes to rise linearly from nothing to all of it: a rate to its value, a
    /// closed loop to all of its operations in flight.
    pub rise: Duration,
    /// Number of the first operation.
    pub first_operation: u64,
    /// When to stop issuing.
    pub limit: Limit,
    /// Which operations are the measured population.
    pub window: Window,
    /// Open schedules: most operations in flight over all workers of all clients. What is due
    /// beyond waits, on the clock, and is counted as limited.
    pub in_flight_max: u32,
    /// Open schedules: shortest time between two releases of one worker. What becomes due in
    /// between is sent together, so that release lag is at most about this, and waking up is paid
    /// once per release instead of once per operation. [`RELEASE_QUANTUM`] unless told.
    pub release_quantum: Duration,
    /// Time from the send after which a try counts as failed, unless its kind has its own.
    pub timeout: Duration,
    /// Tries after the first one that every operation has, if its kind has no more of its own.
    pub retries_min: u8,
    /// Event loops; each has its own connections.
    pub workers: usize,
    /// The workers of other clients that share the load.
    pub others: OtherWorkers,
    /// CPUs to pin the workers to, in turn; empty: no pinning.
    pub cpus: Vec<usize>,
    /// Whether the workers go before whatever else wants their CPUs, where the system allows it:
    /// for nodes on the same machine, whose threads would keep an answer waiting for tens of
    /// milliseconds. What the client uses is little, and the same either way.
    pub realtime: bool,
    /// Connections per node and worker.
    pub connections_per_node: usize,
    /// Length of an interval; one second but for tests.
    pub interval: Duration,
    /// Which reads are compared with what the seed says must be there.
    pub verify_reads: VerifyReads,
    /// What the run writes down of its writes. [`Summary::ledger`] has it.
    pub keeps: Keeps,
    /// What earlier runs have written: reads of this run that find no row, or not the last one,
    /// are judged by it.
    pub written: Option<Arc<Written>>,
}

impl Config {
    /// The most operations in flight over all workers of all clients.
    pub fn in_flight(&self) -> u32 {
        match self.schedule {
            Schedule::Closed { in_flight } => in_flight,
            _ => self.in_flight_max,
        }
    }

    /// The workers of all clients that share the load.
    pub fn workers_of_all(&self) -> usize {
        self.others.before + self.workers + self.others.after
    }
}

/// The workers of other clients that share a load: schedule, operations in flight and the numbers
/// of operations are those of all of them together, and each worker takes its share by its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OtherWorkers {
    /// Those with lower numbers than ours.
    pub before: usize,
    /// Those with higher ones.
    pub after: usize,
}

/// A node to send to.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Where it is reached for CQL.
    pub address: SocketAddr,
    /// What the other nodes call it: the same, unless addresses are translated on the way. Its
    /// certificate carries this one.
    pub called: SocketAddr,
    /// The name by which whoever answers at `address` is asked for it, where that is a proxy of
    /// several nodes: it is the name that TLS asks for.
    pub proxied_name: Option<String>,
    /// Its name in messages.
    pub name: String,
    /// Its tokens; all empty: operations go to the nodes in turn.
    pub tokens: Vec<i64>,
}

/// How to get in.
#[derive(Clone, Default)]
pub struct Access {
    /// User and password.
    pub credentials: Option<(String, String)>,
    /// TLS, if the nodes want it.
    pub tls: Option<Tls>,
    /// The version of the protocol that all nodes speak.
    pub version: Version,
    /// Compression of frame bodies.
    pub compression: Option<Compression>,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let user = self.credentials.as_ref().map(|(user, _)| user);
        f.debug_struct("Access")
            .field("user", &user)
            .field("tls", &self.tls.is_some())
            .field("version", &self.version)
            .field("compression", &self.compression)
            .finish_non_exhaustive()
    }
}

/// TLS to the nodes.
#[derive(Clone)]
pub struct Tls {
    /// Whom to trust, and our own certificate if any.
    pub config: Arc<rustls::ClientConfig>,
    /// Name to verify instead of the node's address.
    pub server_name: Option<String>,
}

/// When to stop issuing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// After so many operations.
    Operations(u64),
    /// So long after the start line.
    Duration(Duration),
    /// When [`Flow`] says so.
    Unlimited,
}

/// Which operations are the measured population: those whose intended time lies between the
/// window's begin and the stop. They are followed to their end, or to [`Config::timeout`] or that
/// of their kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// All operations of the run.
    Whole,
    /// Those that are due so long after the start line or later; whole intervals.
    After(Duration),
    /// Those that are due after an edge between intervals that [`Flow::Measure`] asks for.
    WhenTold,
}

/// Which reads are verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyReads {
    /// No read is verified.
    Off,
    /// Each operation whose number is a multiple of this; 1: all.
    EveryNth(u32),
}

/// What the caller wants, after an interval or at any other time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// Stop issuing at this time of the monotonic clock: exactly then, if that is 50 ms ahead.
    StopAt(u64),
    /// The measured window begins with the next interval that has not begun yet, and has so many.
    /// Asked for once, with [`Window::WhenTold`].
    Measure(u64),
    /// Stop issuing at once. What was due is sent, and what is in flight is awaited.
    StopNow,
    /// Stop issuing at once, and send nothing more; what is in flight is awaited for a second, and
    /// ends as on a lost connection then.
    Abandon,
}

/// What a run did, beside its intervals.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The start line, monotonic clock, ns.
    pub start_ns: u64,
    /// Operations sent at least once.
    pub operations_sent: u64,
    /// Operations that ended, whatever their outcome. Always those sent plus those dropped, which
    /// include those that no frame can hold.
    pub operations_ended: u64,
    /// Lowest number that no operation of this run had.
    pub next_operation: u64,
    /// Event loops.
    pub workers: usize,
    /// Whether they went before whatever else wanted their CPUs.
    pub realtime: bool,
    /// Connections at the start line.
    pub connections: usize,
    /// The first message of each kind of error, with the node it came from.
    pub first_errors: Vec<FirstError>,
    /// The first rows that were read and were not as they should be, by their numbers.
    pub missed_rows: Vec<(u64, Missed)>,
    /// Failed operations of each node that has some.
    pub failures: Vec<NodeFailures>,
    /// Which writes were acknowledged, if the run was to write that down.
    pub ledger: Option<Arc<Ledger>>,
    /// What was asked of registers and answered, if the run was to write that down.
    pub history: Option<Arc<History>>,
}

impl Summary {
    /// Of a run that has its connections and has not begun.
    pub(crate) fn at_first(config: &Config, connections: usize) -> Summary {
        Summary {
            start_ns: 0,
            operations_sent: 0,
            operations_ended: 0,
            next_operation: config.first_operation,
            workers: config.workers,
            realtime: config.realtime,
            connections,
            first_errors: Vec::new(),
            missed_rows: Vec::new(),
            failures: Vec::new(),
            ledger: None,
            history: None,
        }
    }

    /// Adds rows that were not as they should be, each once, the lowest first; as many as a person
    /// looks at stay.
    pub fn add_missed_rows(&mut self, rows: impl IntoIterator<Item = (u64, Missed)>) {
        self.missed_rows.extend(rows);
        self.missed_rows.sort_by_key(|(row, _)| *row);
        self.missed_rows.dedup_by_key(|(row, _)| *row);
        self.missed_rows.truncate(MISSED_ROWS_MAX);
    }
}

/// The first error of its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstError {
    /// Kind of error.
    pub outcome: Outcome,
    /// Name of the node.
    pub node: String,
    /// The server's message, or ours.
    pub message: String,
}

/// Why a run could not be made.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A setting makes no sense.
    #[error("{0}")]
    Config(String),
    /// A connection could not be opened before the start line.
    #[error("node {node} ({address}): {reason}")]
    Connect {
        /// Name of the node.
        node: String,
        /// Where it was tried.
        address: SocketAddr,
        /// What happened.
        reason: String,
    },
    /// The operating system refused something that the engine needs.
    #[error("{what}: {answer}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's answer.
        answer: std::io::Error,
    },
    /// A worker panicked: a bug of ours. The numbers of the run are worthless.
    #[error("load worker {0} panicked; this is a bug in cassay")]
    Panicked(usize),
}
