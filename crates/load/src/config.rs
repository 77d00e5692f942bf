//! Defines the inputs of an engine run and its results.

use crate::earlier_writes::EarlierWrites;
use crate::failures::NodeFailures;
use crate::ledger::{Ledger, LedgerMode};
use crate::missed_rows::MISSED_ROWS_MAX;
use crate::register_history::History;
use crate::schedule::Schedule;
use cql::{Compression, Version};
use measure::{Outcome, WriteMismatch};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use workload::{Program, Stage};

/// Release quantum that keeps the p99 of release lag below 100 µs even if a wake-up takes 40 µs, as
/// on a small virtual machine.
pub const RELEASE_QUANTUM: Duration = Duration::from_micros(50);

/// Configuration of one engine run.
#[derive(Clone, Debug)]
pub struct Config {
    /// Program that generates the requests.
    pub program: Arc<Program>,
    /// Stage of the program: load, main mix or verification.
    pub stage: Stage,
    /// Target nodes; at least one.
    pub nodes: Vec<Endpoint>,
    /// Credentials, encryption and protocol of the connections.
    pub access: Access,
    /// Schedule of the operations' due times.
    pub schedule: Schedule,
    /// Time in which the load rises linearly from zero. A rate rises to its value, and a closed
    /// loop to all of its operations in flight.
    pub rise: Duration,
    /// Number of the first operation.
    pub first_operation: u64,
    /// Limit after which no more operations are issued.
    pub limit: Limit,
    /// Window that defines the measured population.
    pub window: Window,
    /// Open schedules: maximum of operations in flight over all workers of all clients. Further
    /// operations that are due wait. Their latency includes the wait, and they count as limited.
    pub in_flight_max: u32,
    /// Open schedules: shortest time between two releases of one worker. Operations that become due
    /// meanwhile are sent together. So the release lag is at most about this time, and each release
    /// costs one wake-up instead of one per operation. Default: [`RELEASE_QUANTUM`].
    pub release_quantum: Duration,
    /// Time from the send after which an attempt counts as failed, unless its kind has its own
    /// timeout.
    pub timeout: Duration,
    /// Minimum number of retries of every operation; its kind may have more.
    pub retries_min: u8,
    /// Number of event loops; each has its own connections.
    pub workers: usize,
    /// Workers of other clients that share the load.
    pub others: OtherWorkers,
    /// CPUs to which the workers are pinned, in turn; empty means no pinning.
    pub cpus: Vec<usize>,
    /// True if the workers get real-time priority where the system allows it. This is for nodes on
    /// the same machine, whose threads would otherwise delay the reading of a response by tens of
    /// milliseconds. The client's CPU use is small, and does not change.
    pub realtime: bool,
    /// Connections per node and worker.
    pub connections_per_node: usize,
    /// Length of an interval; one second except in tests.
    pub interval: Duration,
    /// Selection of the reads that are compared with the values that the seed prescribes.
    pub verify_reads: VerifyReads,
    /// Records that the run keeps of its writes; [`Summary::ledger`] returns them.
    pub keeps: LedgerMode,
    /// Writes of earlier runs. They decide about reads of this run that find no row or an outdated
    /// one.
    pub written: Option<Arc<EarlierWrites>>,
}

impl Config {
    /// Returns the maximum of operations in flight over all workers of all clients.
    pub fn in_flight(&self) -> u32 {
        match self.schedule {
            Schedule::Closed { in_flight } => in_flight,
            _ => self.in_flight_max,
        }
    }

    /// Returns the number of workers of all clients that share the load.
    pub fn workers_of_all(&self) -> usize {
        self.others.before + self.workers + self.others.after
    }
}

/// Workers of other clients that share a load. The schedule, the operations in flight and the
/// operation numbers apply to all workers together. Each worker takes its share by its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OtherWorkers {
    /// Number of workers with lower numbers than this client's.
    pub before: usize,
    /// Number of workers with higher numbers than this client's.
    pub after: usize,
}

/// Target node.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Address at which the client reaches the node for CQL.
    pub address: SocketAddr,
    /// Address at which the other nodes reach it. Both addresses are the same unless addresses are
    /// translated on the way. The node's certificate contains this one.
    pub called: SocketAddr,
    /// Name that selects the node at a proxy for several nodes; TLS requests this server name.
    pub proxied_name: Option<String>,
    /// Name of the node in messages.
    pub name: String,
    /// Tokens of the node. If no node has any, operations go to the nodes in turn.
    pub tokens: Vec<i64>,
}

/// Credentials, encryption and protocol of the connections.
#[derive(Clone, Default)]
pub struct Access {
    /// User and password.
    pub credentials: Option<(String, String)>,
    /// TLS, if the nodes require it.
    pub tls: Option<Tls>,
    /// Protocol version that all nodes speak.
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

/// TLS configuration for the nodes.
#[derive(Clone)]
pub struct Tls {
    /// Trusted certificates, and the client's own certificate if there is one.
    pub config: Arc<rustls::ClientConfig>,
    /// Name to verify instead of the node's address.
    pub server_name: Option<String>,
}

/// Limit after which no more operations are issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// After this number of operations.
    Operations(u64),
    /// After this time from the start line.
    Duration(Duration),
    /// The end is after this number of operations or this time from the start line, whichever is
    /// first.
    Either(u64, Duration),
    /// When [`Flow`] requests it.
    Unlimited,
}

impl Limit {
    /// Returns the maximum of operations; `None` if they are not limited.
    pub fn operations(self) -> Option<u64> {
        match self {
            Limit::Operations(count) | Limit::Either(count, _) => Some(count),
            Limit::Duration(_) | Limit::Unlimited => None,
        }
    }

    /// Returns the maximum duration; `None` if it is not limited.
    pub fn duration(self) -> Option<Duration> {
        match self {
            Limit::Duration(length) | Limit::Either(_, length) => Some(length),
            Limit::Operations(_) | Limit::Unlimited => None,
        }
    }
}

/// Window that defines the measured population: operations whose intended time is between the
/// window's start and the stop. The client follows them to their end, or to [`Config::timeout`] or
/// the timeout of their kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// All operations of the run.
    Whole,
    /// Operations that are due at least this time after the start line, in whole intervals.
    After(Duration),
    /// Operations that are due after an interval edge that [`Flow::Measure`] requests.
    WhenTold,
}

/// Selection of the reads that are verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyReads {
    /// No read is verified.
    Off,
    /// Each operation whose number is a multiple of this one; 1 means all.
    EveryNth(u32),
}

/// Instruction of the caller, after an interval or at any other time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Continue as before.
    Continue,
    /// Stop issuing at this time of the monotonic clock. The stop is exact if it is 50 ms ahead.
    StopAt(u64),
    /// Begin the measured window with the next interval that has not begun yet. It lasts for this
    /// number of intervals. The caller requests this once, with [`Window::WhenTold`].
    Measure(u64),
    /// Stop issuing at once. The client sends operations that are already due, and waits for those
    /// in flight.
    StopNow,
    /// Stop issuing at once and send nothing more. The client waits one second for operations in
    /// flight. Then they end as on a lost connection.
    Abandon,
}

/// Results of a run, in addition to its intervals.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Start line, monotonic clock, ns.
    pub start_ns: u64,
    /// Operations sent at least once.
    pub operations_sent: u64,
    /// Operations that ended, regardless of their outcome. The count always equals sent plus
    /// dropped operations; the dropped operations include operations that no frame can hold.
    pub operations_ended: u64,
    /// Lowest number that no operation of this run had.
    pub next_operation: u64,
    /// Number of event loops.
    pub workers: usize,
    /// True if the workers had real-time priority.
    pub realtime: bool,
    /// Connections at the start line.
    pub connections: usize,
    /// First message of each kind of error, with its node.
    pub first_errors: Vec<FirstError>,
    /// Rows with the lowest numbers whose reads were not as expected.
    pub missed_rows: Vec<(u64, WriteMismatch)>,
    /// Failed operations of each node that has any.
    pub failures: Vec<NodeFailures>,
    /// Ledger of acknowledged writes, if the run kept one.
    pub ledger: Option<Arc<Ledger>>,
    /// History of the requests to registers and their responses, if the run kept one.
    pub history: Option<Arc<History>>,
}

impl Summary {
    /// Returns the summary of a run that has its connections but has not begun.
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

    /// Adds rows that were not as expected, without duplicates and the lowest first. Keeps at most
    /// [`MISSED_ROWS_MAX`].
    pub fn add_missed_rows(&mut self, rows: impl IntoIterator<Item = (u64, WriteMismatch)>) {
        self.missed_rows.extend(rows);
        self.missed_rows.sort_by_key(|(row, _)| *row);
        self.missed_rows.dedup_by_key(|(row, _)| *row);
        self.missed_rows.truncate(MISSED_ROWS_MAX);
    }
}

/// First error of its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstError {
    /// Outcome to which the error belongs.
    pub outcome: Outcome,
    /// Name of the node.
    pub node: String,
    /// Message of the server, or of the client.
    pub message: String,
}

/// Reason why a run was impossible.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A setting is invalid.
    #[error("{0}")]
    Config(String),
    /// A connection could not be opened before the start line.
    #[error("node {node} ({address}): {reason}")]
    Connect {
        /// Name of the node.
        node: String,
        /// Address that was tried.
        address: SocketAddr,
        /// Reason of the failure.
        reason: String,
    },
    /// The operating system refused a resource that the engine needs.
    #[error("{what}: {answer}")]
    System {
        /// Action that failed.
        what: &'static str,
        /// Error of the system.
        answer: std::io::Error,
    },
    /// A worker panicked, which is a bug in this program. The numbers of the run are worthless.
    #[error("load worker {0} panicked; this is a bug in cassay")]
    Panicked(usize),
}
