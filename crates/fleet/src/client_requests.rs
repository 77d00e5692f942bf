//! Requests to a client, and messages that a client sends without a request.

use anyhow::{Result, bail};
use load::{
    ClockConversion, Config, Endpoint, LedgerMode, Limit, OtherWorkers, Schedule, VerifyReads,
    Window,
};
use measure::outcome::OutcomeCounts;
use remote::Call;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use workload::{Program, Stage};

/// Maximum number of bytes of text or packed data in a message. A frame has 1 MiB.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// First message to a client.
#[derive(Serialize, Deserialize)]
pub(crate) struct Begin {
    /// Maximum time for which the controller may be silent.
    pub lease_s: u64,
}

/// Requests the description of the machine.
#[derive(Serialize, Deserialize)]
pub(crate) struct Describe;

/// Description of a client's machine, the answer to [`Describe`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Description {
    /// Number of CPUs that the client may use.
    pub cpus: usize,
    /// Description for records.
    pub machine: serde_json::Value,
}

/// Sends a piece of a program's sources. After the last piece, the client compiles the sources.
#[derive(Serialize, Deserialize)]
pub(crate) struct TakeSources {
    /// Text that the client appends to the earlier pieces. The first piece begins a new text.
    pub piece: String,
    pub is_first: bool,
    pub is_last: bool,
}

/// Sends a piece of a large file in base64. Sources contain only the name of such a file. After the
/// last piece, the client stores the file.
#[derive(Serialize, Deserialize)]
pub(crate) struct TakeLarge {
    /// Text that the client appends to the earlier pieces. The first piece begins a new file.
    pub piece: String,
    pub is_first: bool,
    pub is_last: bool,
}

/// Runs the program on the client's own null target, as fast as possible.
#[derive(Serialize, Deserialize)]
pub(crate) struct MeasureCeiling {
    pub workers: usize,
    pub cpus: Vec<usize>,
}

/// Opens connections and prepares workers for a load.
#[derive(Serialize, Deserialize)]
pub(crate) struct Arm {
    pub asked: ClientConfig,
    /// Number of operations in the fingerprint.
    pub fingerprint_operations: u64,
}

/// Starts the load at a time of the client's clock.
#[derive(Serialize, Deserialize)]
pub(crate) struct Go {
    pub start_ns: u64,
}

/// Changes a running load at times of the client's clock. The answer is the time at which the
/// client had passed the change on to its workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Steer {
    StopAt(u64),
    Measure { from_ns: u64, until_ns: u64 },
    Abandon,
}

/// Drops a prepared load, and ends a running one.
#[derive(Serialize, Deserialize)]
pub(crate) struct Disarm;

/// Answer of a client whose load is prepared.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct IsArmed {
    /// Fingerprint of the operations that the client will execute.
    pub fingerprint: u64,
    pub connections: usize,
}

impl Steer {
    /// Returns the time of the first change on the client's clock. Returns `None` for an immediate
    /// change.
    pub fn first_ns(self) -> Option<u64> {
        match self {
            Steer::StopAt(at_ns) => Some(at_ns),
            Steer::Measure { from_ns, .. } => Some(from_ns),
            Steer::Abandon => None,
        }
    }
}

/// Time at which a client learned of the start line, the window, or the end of the load.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct HeardAt {
    /// On the client's clock.
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
    Go = "begin-its-load" -> HeardAt;
    Steer = "steer-its-load" -> HeardAt;
    Disarm = "end-its-load" -> ();
}

/// Message that a client under load sends without a request. The messages about kinds of an
/// interval precede the message about its end.
#[derive(Serialize, Deserialize)]
pub(crate) enum Note {
    /// Some kinds of the next interval.
    Kinds(KindsNote),
    /// End of an interval, with its results except those of kinds.
    Interval(IntervalNote),
    /// Packed records of operations.
    Kept(KeptNote),
    /// Times of some kinds in the measured population over all intervals, after the last interval.
    Population(PopulationNote),
    /// The load has ended, or has failed for this reason.
    Ended(Result<EndNote, String>),
}

/// Some kinds of an interval.
#[derive(Serialize, Deserialize)]
pub(crate) struct KindsNote {
    pub index: u64,
    /// Index of the first kind in this message.
    pub at: usize,
    pub packed: String,
}

/// Times of some kinds in the measured population.
#[derive(Serialize, Deserialize)]
pub(crate) struct PopulationNote {
    /// Index of the first kind in this message.
    pub at: usize,
    pub packed: String,
}

/// Interval without the results of its kinds.
#[derive(Serialize, Deserialize)]
pub(crate) struct IntervalNote {
    pub index: u64,
    /// Time since the start line.
    pub start_ns: u64,
    pub end_ns: u64,
    pub draining: bool,
    pub outcomes: OutcomeCounts,
    pub latency_ns: [u64; 3],
    /// Figures that the client measures about itself, packed.
    pub client: String,
    /// Wall clock minus monotonic clock.
    pub day_ns: i64,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct KeptNote {
    pub what: load::RecordKind,
    pub first: u64,
    pub chunk: usize,
    pub at: usize,
    pub bytes: String,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct EndNote {
    pub operations_sent: u64,
    pub operations_ended: u64,
    pub next_operation: u64,
    pub workers: usize,
    pub realtime: bool,
    pub connections: usize,
    /// First errors, each with outcome, node and message.
    pub first_errors: Vec<(measure::Outcome, String, String)>,
    /// First rows with wrong content, each with its number and the kind of difference.
    #[serde(default)]
    pub missed_rows: Vec<(u64, measure::WriteMismatch)>,
    /// Periods of failures, each with the node, the number of failures, and start and end in ns
    /// since the start line.
    pub failures: Vec<(String, u64, [u64; 2])>,
    #[serde(default)]
    pub slowest: Vec<SlowNote>,
    /// Time for which a CPU quota kept the client's control group from running since the start
    /// line. `None` if the system does not measure it.
    pub throttled_ns: Option<u64>,
}

/// One of a client's slowest operations, with times in ns since the start line.
#[derive(Serialize, Deserialize)]
pub(crate) struct SlowNote {
    pub number: u64,
    pub kind: u8,
    pub node: Option<String>,
    pub due_ns: u64,
    pub sent_ns: Option<u64>,
    pub end_ns: u64,
    pub outcome: Option<measure::Outcome>,
    pub retries: u8,
    pub is_speculated: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct RequestedNode {
    address: SocketAddr,
    called: SocketAddr,
    proxied_name: Option<String>,
    name: String,
    tokens: Vec<i64>,
}

/// All fields of a [`Config`] except the program and the access.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ClientConfig {
    stage: String,
    nodes: Vec<RequestedNode>,
    schedule: RequestedSchedule,
    rise_ns: u64,
    first_operation: u64,
    limit: RequestedLimit,
    window: RequestedWindow,
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
enum RequestedSchedule {
    Closed(u32),
    Fixed(f64),
    Poisson(f64),
    Recorded(f64),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum RequestedLimit {
    Operations(u64),
    DurationNs(u64),
    Either(u64, u64),
    Unlimited,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum RequestedWindow {
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

const KEEPS: [(LedgerMode, &str); 4] = [
    (LedgerMode::Nothing, "nothing"),
    (LedgerMode::States, "states"),
    (LedgerMode::Times, "times"),
    (LedgerMode::History, "history"),
];

fn word_of<T: PartialEq>(all: &[(T, &str)], value: &T) -> String {
    let found = all.iter().find(|(one, _)| one == value);
    found.map_or("", |(_, word)| word).to_owned()
}

fn find_word<T: Copy>(all: &[(T, &str)], word: &str) -> Result<T> {
    match all.iter().find(|(_, one)| *one == word) {
        Some((value, _)) => Ok(*value),
        None => bail!("a client has no {word:?}"),
    }
}

impl ClientConfig {
    pub fn from_config(config: &Config) -> ClientConfig {
        let nodes = config.nodes.iter();
        ClientConfig {
            stage: word_of(&STAGES, &config.stage),
            nodes: nodes
                .map(|node| RequestedNode {
                    address: node.address,
                    called: node.called,
                    proxied_name: node.proxied_name.clone(),
                    name: node.name.clone(),
                    tokens: node.tokens.clone(),
                })
                .collect(),
            schedule: match config.schedule {
                Schedule::Closed { in_flight } => RequestedSchedule::Closed(in_flight),
                Schedule::Fixed { ops_per_s } => RequestedSchedule::Fixed(ops_per_s),
                Schedule::Poisson { ops_per_s } => RequestedSchedule::Poisson(ops_per_s),
                Schedule::Recorded { speed } => RequestedSchedule::Recorded(speed),
            },
            rise_ns: config.rise.as_nanos() as u64,
            first_operation: config.first_operation,
            limit: match config.limit {
                Limit::Operations(count) => RequestedLimit::Operations(count),
                Limit::Duration(length) => RequestedLimit::DurationNs(length.as_nanos() as u64),
                Limit::Either(count, length) => {
                    RequestedLimit::Either(count, length.as_nanos() as u64)
                }
                Limit::Unlimited => RequestedLimit::Unlimited,
            },
            window: match config.window {
                Window::Whole => RequestedWindow::Whole,
                Window::After(warmup) => RequestedWindow::AfterNs(warmup.as_nanos() as u64),
                Window::WhenTold => RequestedWindow::WhenTold,
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

    /// Converts a message back to the configuration of a client.
    ///
    /// # Errors
    /// A word in the configuration is unknown.
    pub fn config(self, program: Arc<Program>, access: load::Access) -> Result<Config> {
        let nodes = self.nodes.into_iter();
        Ok(Config {
            program,
            stage: find_word(&STAGES, &self.stage)?,
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
                RequestedSchedule::Closed(in_flight) => Schedule::Closed { in_flight },
                RequestedSchedule::Fixed(ops_per_s) => Schedule::Fixed { ops_per_s },
                RequestedSchedule::Poisson(ops_per_s) => Schedule::Poisson { ops_per_s },
                RequestedSchedule::Recorded(speed) => Schedule::Recorded { speed },
            },
            rise: Duration::from_nanos(self.rise_ns),
            first_operation: self.first_operation,
            limit: match self.limit {
                RequestedLimit::Operations(count) => Limit::Operations(count),
                RequestedLimit::DurationNs(ns) => Limit::Duration(Duration::from_nanos(ns)),
                RequestedLimit::Either(count, ns) => Limit::Either(count, Duration::from_nanos(ns)),
                RequestedLimit::Unlimited => Limit::Unlimited,
            },
            window: match self.window {
                RequestedWindow::Whole => Window::Whole,
                RequestedWindow::AfterNs(ns) => Window::After(Duration::from_nanos(ns)),
                RequestedWindow::WhenTold => Window::WhenTold,
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
            keeps: find_word(&KEEPS, &self.keeps)?,
            written: None,
        })
    }
}

/// Converts an offset between two clocks to the type for merging records.
pub(crate) fn their_time(offset: remote::Offset) -> ClockConversion {
    ClockConversion {
        ahead_ns: offset.ahead_ns,
        bound_ns: offset.bound_ns,
    }
}
