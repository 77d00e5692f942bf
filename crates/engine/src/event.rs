//! Events that a run reports to its observer through a single callback.
//!
//! The engine calls the callback on the thread of the run, so the callback must not block. A slow
//! terminal would delay the end of a phase, but never the load, which has separate threads.

use fleet::{ClientNow, Population};
use measure::{Interval, IntervalConsumer, SummedInterval};
use std::path::PathBuf;
use std::sync::Arc;
use store::record::TrialFinding;

/// Event of a run.
#[derive(Clone, Debug)]
pub enum Event {
    /// The folder of the run exists, but no processes have been started.
    RunStarted {
        /// Folder of the run.
        path: PathBuf,
        /// Minimum and maximum number of remaining trials. The two differ if a procedure, or a
        /// study that ends at its answer, may not need the whole plan.
        left: (usize, usize),
        study: String,
        /// Name of each trial of the plan, if known before the trial begins.
        names: Vec<String>,
        /// Numbers of the trials that an earlier attempt finished.
        finished: Vec<usize>,
        /// Minimum and maximum expected time until the end of the run, in seconds.
        seconds: (f64, f64),
    },
    /// Message from a component of the run about its work.
    Said(String),
    /// The target is ready. Contains the names of its nodes.
    TargetReady(Vec<String>),
    /// cassay has stopped its nodes, or has detached from the cluster.
    TargetStopped,
    /// Nodes have ended although the study plans no fault that would take them down. Contains the
    /// names of the nodes.
    NodesDied(Vec<String>),
    /// CPU use of this machine in the last second.
    CpuUsed(CpuShares),
    /// State of each client, in the order of the clients. Reported once a second while several
    /// clients offer load. Empty when the load has ended.
    ClientsNow(Vec<ClientNow>),
    /// Latest resource use of the nodes' hosts. Reported once a second while clients offer load.
    /// Empty when the load has ended, or if no probe reads the hosts.
    HostsNow(Vec<HostNow>),
    /// Faults that the study plans for the measured phase. The position of a fault in the list is
    /// its number. The list is empty in most phases.
    FaultsPlanned(Vec<PlannedFault>),
    /// The fault with this number has reached this stage.
    FaultReached(usize, FaultStage),
    /// A trial begins.
    TrialStarted {
        /// Number of the trial, starting at 0.
        index: usize,
        /// Number of trials in the plan.
        trials: usize,
        /// Name of the trial, such as `writes, 28 threads, block 2`.
        name: String,
        /// Expected total length of the later trials, in seconds.
        seconds_after: f64,
    },
    /// A phase begins.
    PhaseStarted {
        /// Name of the phase that begins: a phase of the plan, or `target`, `restart` or `ceiling`.
        phase: &'static str,
        /// Description of the phase.
        what: String,
        /// Expected length of the phase, in seconds.
        seconds: f64,
        /// Expected total length of the trial's later phases, in seconds.
        seconds_after: f64,
    },
    /// An interval has ended.
    Interval {
        /// Progress of the phase, for display to the user.
        progress: Progress,
        /// Phase of the interval, as in the records: `warmup`, `measure`, `drain`, ….
        phase: &'static str,
        /// All counts of the interval.
        interval: Arc<Interval>,
    },
    /// The measured load of a trial with several clients has ended. Contains the latencies of each
    /// client, in the order of the clients.
    ClientsMeasured(Arc<[ClientTimes]>),
    /// The finding of a trial is complete.
    TrialFinished {
        /// Number of the trial, starting at 0.
        index: usize,
        /// Name of the trial.
        name: String,
        finding: Box<TrialFinding>,
    },
    /// A trial failed. The other trials continue, unless `RunFinished` follows.
    TrialFailed {
        /// Number of the failed trial, starting at 0.
        index: usize,
        /// Name of the trial.
        name: String,
        /// Reason for the failure, with a hint.
        reason: String,
    },
    /// The engine omits a trial.
    TrialSkipped {
        /// Number of the trial, starting at 0.
        index: usize,
        /// Name of the trial.
        name: String,
        /// Reason why the engine omits the trial.
        reason: String,
    },
}

/// Latencies that one of several clients measured.
#[derive(Clone, Debug)]
pub struct ClientTimes {
    /// Name of the client, such as `client1`.
    pub name: String,
    /// Latencies of this client, by kind of operation.
    pub population: Population,
}

/// CPU use, as shares in percent of all CPUs that the client may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuShares {
    /// Share used by the nodes.
    pub nodes: f64,
    /// Share used by the client.
    pub client: f64,
    /// Share used by other programs.
    pub others: f64,
}

/// A host of the cluster, with its latest readings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostNow {
    /// Name of the host: `host1`, or the address of a host to which cassay attached.
    pub name: String,
    pub nodes: Vec<String>,
    /// CPU use of the host. `None` if no probe has read it.
    pub cpu: Option<HostCpu>,
    /// Bytes per second that the host's disks read and wrote.
    pub disk_bytes_per_s: Option<f64>,
    /// Busy time of the host's busiest disk, in percent.
    pub disk_busy: Option<f64>,
}

/// CPU use of a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HostCpu {
    /// Percentage of all CPUs of the machine. Used if the host is not a part of a machine.
    OfMachine(f64),
    /// Number of cores that the host uses. Used if the host is a part of this machine.
    Cores(f64),
}

/// A fault that the study plans.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedFault {
    /// Kind of the fault, by its name in studies.
    pub kind: String,
    /// Description of the fault's target.
    pub place: String,
    /// Start of the fault, in seconds after the start of the measured window.
    pub at_s: f64,
    /// Duration of the fault, in seconds.
    pub for_s: f64,
    /// Nodes that are down during the fault.
    pub takes_away: Vec<String>,
}

measure::word_enum! {
    /// Stage of a planned fault, as the screen names it.
    pub enum FaultStage {
        /// The fault is being injected.
        Injecting = "being injected",
        /// The fault is in effect.
        Holding = "broken",
        /// The fault is being healed.
        Healing = "being healed",
        /// The fault has ended. It was healed, or the study does not heal it.
        Over = "over",
        /// The engine omitted the fault, because too little of the window was left.
        Omitted = "left out",
    }
}

/// Progress of a phase, for display to the user.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Seconds since the start of the phase.
    pub seconds: f64,
    /// Number of operations that have ended since the start of the phase, regardless of their
    /// outcome.
    pub operations: u64,
    /// Successful operations per second in the interval.
    pub ops_per_s: f64,
    /// p99 latency of the interval, in ms.
    pub p99_ms: f64,
    /// Number of failed operations since the start of the phase.
    pub errors: u64,
    /// Number of operations after which the phase ends. `None` if the phase ends after a time.
    pub of: Option<u64>,
}

impl Progress {
    /// Returns the remaining time, in seconds, of a phase that ends after a number of operations.
    /// Assumes the average rate so far. The plan cannot contain this time, because the speed of a
    /// node in its first minutes is not known in advance.
    #[must_use]
    pub fn left_s(&self) -> Option<f64> {
        let left = self.of?.saturating_sub(self.operations);
        let per_s = self.operations as f64 / self.seconds;
        (per_s > 0.0).then(|| left as f64 / per_s)
    }
}

impl IntervalConsumer for Progress {
    fn push(&mut self, summed: &SummedInterval) {
        self.seconds += summed.interval.seconds();
        self.operations += summed.all.outcomes.total();
        self.errors += summed.all.outcomes.errors();
        self.ops_per_s = summed.ok_per_s();
        self.p99_ms = summed.p99_ms();
    }
}
