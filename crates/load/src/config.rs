//! Defines the inputs and the results of an engine run.

use crate::earlier_writes::EarlierWrites;
use crate::failures::NodeFailures;
use crate::ledger::{Ledger, LedgerMode};
use crate::missed_rows::MISSED_ROWS_MAX;
use crate::register_history::History;
use crate::schedule::Schedule;
use crate::slowest_operations::SlowOperation;
use cql::{Compression, Version};
use measure::{Outcome, WriteMismatch};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use workload::{Program, Stage};

/// Default release quantum. It keeps the p99 of the release lag below 100 µs even if a wake-up
/// takes 40 µs, as on a small virtual machine.
pub const RELEASE_QUANTUM: Duration = Duration::from_micros(50);

/// Configuration of one engine run.
#[derive(Clone, Debug)]
pub struct Config {
    /// Program that generates the requests.
    pub program: Arc<Program>,
    /// Stage of the program: load, main or verification.
    pub stage: Stage,
    /// Target nodes, at least one.
    pub nodes: Vec<Endpoint>,
    /// Credentials, encryption and protocol of the connections.
    pub access: Access,
    /// Schedule of the operations' due times.
    pub schedule: Schedule,
    /// Time in which the load ramps up linearly from zero. With an open schedule, the rate ramps up
    /// to its final value. With a closed loop, the number of operations in flight does.
    pub rise: Duration,
    /// Number of the first operation.
    pub first_operation: u64,
    /// Limit after which the client issues no more operations.
    pub limit: Limit,
    /// Window of time that defines the measured population.
    pub window: Window,
    /// Maximum number of operations in flight over all workers of all clients, for open schedules.
    /// Further operations that are due must wait. Their latency includes the wait, and the results
    /// count them as limited.
    pub in_flight_max: u32,
    /// Shortest time between two releases of one worker, for open schedules. The worker sends all
    /// operations that become due in this time together. The release lag is therefore at most about
    /// this time, and each release costs one wake-up instead of one per operation. The default is
    /// [`RELEASE_QUANTUM`].
    pub release_quantum: Duration,
    /// Time after the send at which an attempt counts as failed. A kind of operation may have a
    /// different timeout.
    pub timeout: Duration,
    /// Minimum number of retries of every operation. A kind of operation may have more retries.
    pub retries_min: u8,
    /// Number of event loops (workers). Each worker has separate connections.
    pub workers: usize,
    /// Workers of other clients that share the load.
    pub others: OtherWorkers,
    /// CPUs to which the workers are pinned, in turn. With an empty list, the workers are not
    /// pinned.
    pub cpus: Vec<usize>,
    /// True if the workers request real-time priority from the system. This is useful if nodes run
    /// on the machine that runs cassay. Otherwise the threads of the nodes would delay the reading
    /// of a response by tens of milliseconds. The client's CPU use is small, and the priority does
    /// not change it.
    pub realtime: bool,
    /// Number of connections from each worker to each node.
    pub connections_per_node: usize,
    /// Length of an interval of the results. It is one second except in tests.
    pub interval: Duration,
    /// Selection of the reads whose results are compared with the values that the seed prescribes.
    pub verify_reads: VerifyReads,
    /// Records that the run keeps of its writes. [`Summary::ledger`] returns the records.
    pub keeps: LedgerMode,
    /// Writes of earlier runs. With these writes, the run judges reads that return no row or an
    /// outdated row.
    pub written: Option<Arc<EarlierWrites>>,
}

impl Config {
    /// Returns the maximum number of operations in flight over all workers of all clients.
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

/// Workers of other clients that share a load. The schedule, the limit of operations in flight and
/// the operation numbers apply to all workers together. The number of a worker determines its
/// share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OtherWorkers {
    /// Number of workers with lower numbers than the workers of this client.
    pub before: usize,
    /// Number of workers with higher numbers than the workers of this client.
    pub after: usize,
}

/// Target node.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Address at which the client reaches the node for CQL.
    pub address: SocketAddr,
    /// Address at which the other nodes reach the node. The node's certificate contains this
    /// address. It differs from `address` only if addresses are translated between the client and
    /// the node.
    pub called: SocketAddr,
    /// Name by which a proxy for several nodes selects this node. TLS requests this name as the
    /// server name.
    pub proxied_name: Option<String>,
    /// Name of the node in messages.
    pub name: String,
    /// Tokens of the node. If the tokens of any node are unknown, operations go to all nodes in
    /// turn.
    pub tokens: Vec<i64>,
}

/// Credentials, encryption and protocol of the connections.
#[derive(Clone, Default)]
pub struct Access {
    /// User and password.
    pub credentials: Option<(String, String)>,
    /// TLS configuration, if the nodes require TLS.
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
    /// Trusted certificates, and the client's own certificate if the client has one.
    pub config: Arc<rustls::ClientConfig>,
    /// Server name that TLS verifies instead of the node's address.
    pub server_name: Option<String>,
}

/// Limit after which the client issues no more operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The client stops after this number of operations.
    Operations(u64),
    /// The client stops at this time after the start line.
    Duration(Duration),
    /// The client stops after this number of operations or at this time after the start line,
    /// whichever comes first.
    Either(u64, Duration),
    /// The client stops when the caller requests it with [`Flow`].
    Unlimited,
}

impl Limit {
    /// Returns the maximum number of operations. Returns `None` if the number is not limited.
    pub fn operations(self) -> Option<u64> {
        match self {
            Limit::Operations(count) | Limit::Either(count, _) => Some(count),
            Limit::Duration(_) | Limit::Unlimited => None,
        }
    }

    /// Returns the maximum duration. Returns `None` if the duration is not limited.
    pub fn duration(self) -> Option<Duration> {
        match self {
            Limit::Duration(length) | Limit::Either(_, length) => Some(length),
            Limit::Operations(_) | Limit::Unlimited => None,
        }
    }
}

/// Window that defines the measured population. The population consists of all operations whose
/// intended time is between the start of the window and the stop. The client follows these
/// operations until they end, at most for [`Config::timeout`] or the timeout of their kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// All operations of the run.
    Whole,
    /// Operations that are due at least this time after the start line. The time is a whole number
    /// of intervals.
    After(Duration),
    /// Operations that are due after the interval boundary that [`Flow::Measure`] requests.
    WhenTold,
}

/// Selection of the reads that are verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyReads {
    /// The run does not verify reads.
    Off,
    /// The run verifies every operation whose number is a multiple of this number. With 1, it
    /// verifies all reads.
    EveryNth(u32),
}

/// Instruction of the caller for the rest of the run. The caller may give an instruction after an
/// interval or at any other time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Continue as before.
    Continue,
    /// Stop issuing at this time of the monotonic clock. The stop is exact if the time is at least
    /// 50 ms in the future.
    StopAt(u64),
    /// Begin the measured window with the next interval that has not begun yet. The window lasts
    /// for this number of intervals. The caller requests this once, with [`Window::WhenTold`].
    Measure(u64),
    /// Stop issuing at once. The client sends operations that are already due, and waits for those
    /// in flight.
    StopNow,
    /// Stop issuing at once and send nothing more. The client waits for operations in flight for
    /// one second. Operations that have not ended by then fail, as if their connection were lost.
    Abandon,
}

/// Results of a run, in addition to its intervals.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Time of the start line on the monotonic clock, in ns.
    pub start_ns: u64,
    /// Number of operations that were sent at least once.
    pub operations_sent: u64,
    /// Number of operations that ended, regardless of their outcome. This number always equals the
    /// number of sent operations plus the number of dropped operations. The dropped operations
    /// include those that are too large for a frame.
    pub operations_ended: u64,
    /// Lowest operation number that this run did not use.
    pub next_operation: u64,
    /// Number of event loops.
    pub workers: usize,
    /// True if the workers had real-time priority.
    pub realtime: bool,
    /// Number of open connections at the start line.
    pub connections: usize,
    /// First message of each kind of error, with the node that sent or caused it.
    pub first_errors: Vec<FirstError>,
    /// Rows whose reads were not as expected, each with the kind of error. If there are many, the
    /// list contains those with the lowest numbers.
    pub missed_rows: Vec<(u64, WriteMismatch)>,
    /// Failed operations by node. Nodes without failed operations are omitted.
    pub failures: Vec<NodeFailures>,
    /// Slowest operations of the window, slowest first, at most [`crate::SLOWEST_MAX`]. Their times
    /// have the clock of `start_ns`.
    pub slowest: Vec<SlowOperation<String>>,
    /// Ledger of acknowledged writes, if the run recorded one.
    pub ledger: Option<Arc<Ledger>>,
    /// History of the requests to registers and their responses, if the run recorded one.
    pub history: Option<Arc<History>>,
}

impl Summary {
    /// Returns the summary of a run that has not sent anything yet.
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
            slowest: Vec::new(),
            ledger: None,
            history: None,
        }
    }

    /// Adds rows whose reads were not as expected. Removes duplicates, and keeps the
    /// [`MISSED_ROWS_MAX`] rows with the lowest numbers.
    pub fn add_missed_rows(&mut self, rows: impl IntoIterator<Item = (u64, WriteMismatch)>) {
        self.missed_rows.extend(rows);
        self.missed_rows.sort_by_key(|(row, _)| *row);
        self.missed_rows.dedup_by_key(|(row, _)| *row);
        self.missed_rows.truncate(MISSED_ROWS_MAX);
    }
}

/// First error with a certain outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstError {
    /// Outcome to which the error belongs.
    pub outcome: Outcome,
    /// Name of the node that sent or caused the error.
    pub node: String,
    /// Message of the server or of the client.
    pub message: String,
}

/// Reason why a run could not begin or end.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A setting is invalid.
    #[error("{0}")]
    Config(String),
    /// The client could not open a connection before the start line.
    #[error("node {node} ({address}): {reason}")]
    Connect {
        /// Name of the node to which the client tried to connect.
        node: String,
        /// Address to which the client tried to connect.
        address: SocketAddr,
        /// Reason why the connection failed.
        reason: String,
    },
    /// The operating system refused a resource that the engine needs.
    #[error("{what}: {answer}")]
    System {
        /// Action that failed.
        what: &'static str,
        /// Error that the system returned.
        answer: std::io::Error,
    },
    /// A worker panicked, which is a bug in this program. The results of the run are invalid.
    #[error("load worker {0} panicked; this is a bug in cassay")]
    Panicked(usize),
}
