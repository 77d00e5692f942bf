//! What a run tells whoever watches it: a closed list, given to one callback.
//!
//! The callback is called on the run's own thread and must not block: a slow terminal would delay
//! the end of a phase, though never the load itself, which has threads of its own.

use fleet::{ClientNow, Population};
use measure::{Interval, Summed};
use std::path::PathBuf;
use std::sync::Arc;
use store::record::TrialFinding;

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// The run has its folder; nothing has been started yet.
    RunStarted {
        /// The folder.
        path: PathBuf,
        /// Trials that are left, at least and at most: where a procedure decides, or an answer ends
        /// the study, not all of the plan may come.
        left: (usize, usize),
        /// Name of the study.
        study: String,
        /// The name of each trial of the plan, as far as it is known before it begins.
        names: Vec<String>,
        /// Numbers of the trials that an earlier attempt finished.
        finished: Vec<usize>,
        /// Expected length of the rest, seconds, at least and at most.
        seconds: (f64, f64),
    },
    /// What a part of the run says of its work.
    Said(String),
    /// The target is there: the names of its nodes.
    TargetReady(Vec<String>),
    /// The target is stopped.
    TargetStopped,
    /// Nodes have ended that were not taken away on purpose: their names.
    NodesDied(Vec<String>),
    /// What the CPUs of this machine were used for in the last second.
    CpuUsed(CpuShares),
    /// How each client of several stands while they offer load, in their order, once a second; none
    /// when the load has ended.
    ClientsNow(Vec<ClientNow>),
    /// What the hosts of the nodes are used for, as it was seen last, once a second while load is
    /// offered; none when it has ended, or where nobody looks.
    HostsNow(Vec<HostNow>),
    /// What will be broken on purpose while this phase measures, by number; none in most phases.
    FaultsPlanned(Vec<PlannedFault>),
    /// A fault of the phase, by its number, has come so far.
    FaultReached(usize, FaultStage),
    /// A trial begins.
    TrialStarted {
        /// Its number, from 0.
        index: usize,
        /// Trials of the plan.
        trials: usize,
        /// Its name: `writes, 28 threads, block 2`.
        name: String,
        /// Expected length of the trials after it, seconds.
        seconds_after: f64,
    },
    /// A phase begins.
    PhaseStarted {
        /// A phase of a plan, `target` and `restart` among them, or `ceiling`.
        phase: &'static str,
        /// What it does, in words.
        what: String,
        /// Expected length in seconds.
        seconds: f64,
        /// Expected length of the trial's phases after it, seconds.
        seconds_after: f64,
    },
    /// An interval has ended.
    Interval {
        /// For people.
        progress: Progress,
        /// The phase that it belongs to, as in the records: `warmup`, `measure`, `drain`, ….
        phase: &'static str,
        /// All its counts.
        interval: Arc<Interval>,
    },
    /// The measured load of a trial has ended that several clients offered: what each of them saw,
    /// in their order.
    ClientsMeasured(Arc<[ClientTimes]>),
    /// A trial has its finding.
    TrialFinished {
        /// Its number, from 0.
        index: usize,
        /// Its name.
        name: String,
        /// What it found.
        finding: Box<TrialFinding>,
    },
    /// A trial could not be done; the others go on unless `RunFinished` says otherwise.
    TrialFailed {
        /// Its number, from 0.
        index: usize,
        /// Its name.
        name: String,
        /// Why, with the way out.
        reason: String,
    },
    /// A trial is left out, with the reason.
    TrialSkipped {
        /// Its number, from 0.
        index: usize,
        /// Its name.
        name: String,
        /// Why it is left out.
        reason: String,
    },
}

/// What one client of several saw of the measured population.
#[derive(Clone, Debug)]
pub struct ClientTimes {
    /// `client1`, ….
    pub name: String,
    /// Its own times, by kind.
    pub population: Population,
}

/// Shares of all CPUs that the client may use, in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuShares {
    /// Used by the nodes.
    pub nodes: f64,
    /// Used by the client.
    pub client: f64,
    /// Used by other programs.
    pub others: f64,
}

/// A host of the cluster, as its probe has seen it last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostNow {
    /// `host1`, or the address of an attached one.
    pub name: String,
    /// The nodes that live on it.
    pub nodes: Vec<String>,
    /// CPU that it used; none if nobody has seen it.
    pub cpu: Option<HostCpu>,
    /// What its disks read and wrote, bytes per second.
    pub disk_bytes_per_s: Option<f64>,
    /// For how much of the time the busiest of its disks was, percent.
    pub disk_busy: Option<f64>,
}

/// CPU that a host used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HostCpu {
    /// Percent of all CPUs of a machine.
    OfMachine(f64),
    /// Cores, of a host that is a part of this machine.
    Cores(f64),
}

/// Something that will be broken on purpose.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedFault {
    /// Its kind, as a study names it.
    pub kind: String,
    /// What it hits, in words.
    pub place: String,
    /// When, seconds after the begin of the measured window.
    pub at_s: f64,
    /// For how long, seconds.
    pub for_s: f64,
    /// The nodes that are away meanwhile.
    pub takes_away: Vec<String>,
}

measure::word_enum! {
    /// How far a fault has come.
    pub enum FaultStage {
        /// It is being brought about.
        Injecting = "being brought about",
        /// It is there.
        Holding = "broken",
        /// It is being healed.
        Healing = "being healed",
        /// All is whole again, or will not be.
        Over = "over",
        /// It was left out: there was no time left for it.
        Omitted = "left out",
    }
}

/// One interval, for people.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Seconds since the begin of the phase.
    pub seconds: f64,
    /// Operations that ended since the begin of the phase, whatever their outcome.
    pub operations: u64,
    /// Successful operations per second in the interval.
    pub ops_per_s: f64,
    /// p99 of latency in the interval, ms.
    pub p99_ms: f64,
    /// Failed operations since the begin of the phase.
    pub errors: u64,
    /// After how many operations it ends, if not after a time.
    pub of: Option<u64>,
}

impl Progress {
    /// How long it goes on, seconds, if it ends after so many operations and goes on as it has on
    /// average: what a node takes in its first minutes no plan knows.
    #[must_use]
    pub fn left_s(&self) -> Option<f64> {
        let left = self.of?.saturating_sub(self.operations);
        let per_s = self.operations as f64 / self.seconds;
        (per_s > 0.0).then(|| left as f64 / per_s)
    }

    /// Adds the next interval of the phase.
    pub(crate) fn push(&mut self, summed: &Summed) {
        self.seconds += summed.interval.seconds();
        self.operations += summed.all.outcomes.total();
        self.errors += summed.all.outcomes.errors();
        self.ops_per_s = summed.ok_per_s();
        self.p99_ms = summed.p99_ms();
    }
}
