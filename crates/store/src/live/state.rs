//! State of a run, as far as its files show it at one moment.

use crate::record::{ClientIntervalRecord, Verdict};
use crate::run::RunState;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Names of the phases of a trial, as the journal contains them.
pub const PHASES: [&str; 12] = [
    "target", "schema", "load", "settle", "snapshot", "restart", "restore", "ceiling", "warmup",
    "measure", "drain", "verify",
];

/// State of a run at one moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LiveRun {
    /// Name of the run, `study/stamp`.
    pub name: String,
    /// Name of the study.
    pub study: String,
    /// Question of the study, in the user's words.
    pub question: String,
    pub state: RunState,
    /// Start of the run, ns since 1970. 0 before the run has started.
    pub started_unix_ns: u64,
    /// Time of the last line of the journal, ns since 1970.
    pub changed_unix_ns: u64,
    /// Verdict of the finished run.
    pub verdict: Option<Verdict>,
    /// Sentences of the answer of the finished run.
    pub answer: Vec<String>,
    /// Reasons for the verdict of the finished run.
    pub reasons: Vec<String>,
    /// Trials, in the order of the plan.
    pub trials: Vec<LiveTrial>,
    /// Index of the current trial, or of the trial that ended last.
    pub current: Option<usize>,
    pub phase: LivePhase,
    /// Seconds of the current trial, oldest first.
    pub seconds: VecDeque<LiveSecond>,
    /// Figures of the current trial's window so far.
    pub window: LiveWindow,
    /// Number of errors of the current trial, by kind of error.
    pub errors: BTreeMap<String, u64>,
    /// Names of the target's nodes. Empty until the target is ready.
    pub nodes: Vec<String>,
    /// Planned faults of the current trial.
    pub faults: Vec<LiveFault>,
    /// Latest figures of the client itself.
    pub client: Option<ClientIntervalRecord>,
    /// Latest figures of each client, if several share the load.
    pub clients: Vec<LiveClient>,
    /// Messages about the run, oldest first, each with its time in ns since 1970.
    pub messages: VecDeque<(u64, String)>,
}

/// A trial of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LiveTrial {
    /// Name, such as `writes, 28 threads, block 2`.
    pub name: String,
    /// Name of the variant in files.
    pub variant: String,
    /// Expected length of the trial, s.
    pub planned_s: f64,
    pub end: Option<LiveEnd>,
}

/// End of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LiveEnd {
    /// The trial has a finding.
    Finished(LiveFigures),
    /// The trial failed. The text is the reason.
    Failed(String),
    /// cassay omitted the trial. The text is the reason.
    LeftOut(String),
}

/// Figures of a finished trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveFigures {
    /// Successful operations per second.
    pub ops_per_s: f64,
    /// Median of latency, ms, and true if the value is a lower bound.
    pub p50_ms: (f64, bool),
    /// 99th percentile of latency, ms, and true if the value is a lower bound.
    pub p99_ms: (f64, bool),
    /// Number of failed operations.
    pub errors: u64,
    pub verdict: Verdict,
    /// Reasons for the verdict, in sentences.
    pub reasons: Vec<String>,
}

/// Phase of the current trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LivePhase {
    /// Name of the phase. Empty before the first phase.
    pub name: String,
    /// Description of the work in the phase. It may be empty.
    pub what: String,
    /// Start of the phase, ns since 1970.
    pub begin_unix_ns: u64,
    /// Expected length of the phase, s.
    pub planned_s: f64,
    /// Expected total length of the trial's later phases, s.
    pub after_s: f64,
    /// Number of operations that have ended in the phase, regardless of their outcome.
    pub operations: u64,
    /// Number of failed operations in the phase.
    pub errors: u64,
}

/// One interval of the current trial, over all kinds of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveSecond {
    /// Start of the interval, s since the trial's start line.
    pub t_s: f64,
    /// Successful operations per second.
    pub ops_per_s: f64,
    /// Number of failed operations.
    pub errors: u64,
    /// Median and 99th percentile of latency, ms. `None` until the histograms are written, and
    /// without successful operations.
    pub p50_p99_ms: Option<(f64, f64)>,
    /// True if the interval belongs to the warm-up, the window or the drain, and not to loading or
    /// reading back rows.
    pub is_load: bool,
}

/// Figures of the measured window so far, over all kinds of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveWindow {
    /// Start of the window, s since the trial's start line. `None` before the window.
    pub from_s: Option<f64>,
    /// Length of the measured intervals, s.
    pub seconds: f64,
    /// Number of operations that succeeded.
    pub ops: u64,
    /// Number of failed operations that were due in the window.
    pub errors: u64,
    /// Median of latency, ms. `None` before the first measured operation.
    pub p50_ms: Option<f64>,
    /// 99th percentile of latency, ms. `None` before the first measured operation.
    pub p99_ms: Option<f64>,
}

/// A planned fault, and its stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveFault {
    /// Kind of the fault, such as `node-pause`.
    pub kind: String,
    /// Target of the fault.
    pub place: String,
    /// Planned start, s since the start of the window.
    pub at_s: f64,
    /// Planned length, s. 0 without a length.
    pub for_s: f64,
    pub stage: LiveFaultStage,
    /// Start of the injection, s since the trial's start line.
    pub from_s: Option<f64>,
    /// End of the fault, s since the trial's start line.
    pub to_s: Option<f64>,
    /// Time at which the stage began, ns since 1970.
    pub since_unix_ns: u64,
}

measure::word_enum! {
    /// Stage of a fault.
    #[derive(Default)]
    pub enum LiveFaultStage {
        /// The fault has not begun.
        #[default]
        Planned = "planned",
        /// The fault is being injected.
        Injecting = "being injected",
        /// The fault is in effect.
        Active = "active",
        /// The fault is being healed.
        Healing = "being healed",
        /// The fault has ended.
        Over = "over",
    }
}

impl LiveFaultStage {
    /// Returns true from the injection to the end of the fault.
    pub fn is_open(self) -> bool {
        !matches!(self, LiveFaultStage::Planned | LiveFaultStage::Over)
    }
}

/// Latest figures of one of several clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveClient {
    /// Name, such as `client1`.
    pub name: String,
    /// Successful operations per second.
    pub ops_per_s: f64,
    /// Number of failed operations in the interval.
    pub errors: u64,
    /// 99th percentile of latency, ms.
    pub p99_ms: f64,
    /// CPU time of the client's workers, as a share of one core.
    pub cpu_share: f64,
}

impl LiveRun {
    /// Returns the expected time left in the run, s. `now_unix_ns` is the present time.
    pub fn left_s(&self, now_unix_ns: u64) -> f64 {
        if self.state != RunState::Running {
            return 0.0;
        }
        let gone_s = self.phase_gone_s(now_unix_ns);
        let rest_s = self.later_trials_s();
        let is_over = self.current_trial().is_some_and(|trial| trial.end.is_some());
        if is_over {
            return rest_s;
        }
        (self.phase.planned_s - gone_s).max(0.0) + self.phase.after_s + rest_s
    }

    /// Returns the time since the start of the phase, s.
    pub fn phase_gone_s(&self, now_unix_ns: u64) -> f64 {
        now_unix_ns.saturating_sub(self.phase.begin_unix_ns) as f64 / 1e9
    }

    /// Returns the planned length of the trials after the current one, s.
    pub fn later_trials_s(&self) -> f64 {
        let later = self.current.map_or(0, |current| current + 1);
        let open = self.trials.iter().skip(later).filter(|trial| trial.end.is_none());
        open.map(|trial| trial.planned_s).sum()
    }

    pub fn current_trial(&self) -> Option<&LiveTrial> {
        self.trials.get(self.current?)
    }

    /// Returns the finished trials with their figures.
    pub fn finished(&self) -> impl Iterator<Item = (&LiveTrial, &LiveFigures)> {
        self.trials.iter().filter_map(|trial| match &trial.end {
            Some(LiveEnd::Finished(figures)) => Some((trial, figures)),
            _ => None,
        })
    }

    /// Returns the verdict of the run. While the run has none, returns the worst verdict of the
    /// finished trials.
    pub fn verdict_so_far(&self) -> Option<Verdict> {
        self.verdict
            .or_else(|| self.finished().map(|(_, figures)| figures.verdict).max())
    }
}
