//! Derives the state of a run from the run's events alone, for display.

use engine::{CpuShares, Event, FaultStage, HostNow, PlannedFault, Progress};
use fleet::ClientNow;
use measure::clock::SECOND_NS;
use measure::{Interval, Known};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use store::record::{TrialFinding, Verdict};

/// Number of seconds that the curve keeps. A screen cannot show more seconds.
const COURSE_MAX: usize = 1200;
const MESSAGES_MAX: usize = 50;

/// State of a run after the events so far.
#[derive(Debug, Default)]
pub struct RunState {
    /// Name of the study. Empty until the run has its folder.
    pub study: String,
    /// The trials, in the order of the plan.
    pub trials: Vec<TrialState>,
    /// Index of the current trial, or of the trial that has just ended. `None` before the first
    /// trial.
    pub current: Option<usize>,
    /// State of the current phase.
    pub phase: PhaseState,
    /// Expected total length of the trials after the current trial, in seconds.
    pub rest_s: f64,
    /// The last seconds of the curve, oldest first.
    pub course: VecDeque<Second>,
    /// Number of errors of the current trial, by kind of error.
    pub errors: BTreeMap<&'static str, u64>,
    /// Names of the target's nodes. Empty until the target is ready.
    pub nodes: Vec<String>,
    /// Nodes that have ended without a command to stop them.
    pub died: Vec<String>,
    /// Use of the machine's CPUs.
    pub cpu: Option<CpuShares>,
    /// The clients of a shared load. Empty while they offer no load.
    pub clients: Vec<ClientNow>,
    /// The hosts of the nodes, with their latest readings. Empty while no load is offered, or if no
    /// probe reads the hosts.
    pub hosts: Vec<HostNow>,
    /// Faults of the current phase.
    pub faults: Vec<FaultState>,
    /// Start of the measured window, on the monotonic clock, in ns.
    pub measured_from_ns: Option<u64>,
    /// Messages to the user, oldest first.
    pub messages: VecDeque<String>,
    /// True if another process runs the run, so that Ctrl-C ends only this view.
    pub is_elsewhere: bool,
}

/// A trial of the plan, and its result once the trial has ended.
#[derive(Clone, Debug)]
pub struct TrialState {
    pub name: String,
    /// Result of the trial, once it has ended.
    pub end: Option<TrialEnd>,
}

/// End of a trial, or the reason why the trial did not run.
#[derive(Clone, Debug)]
pub enum TrialEnd {
    Finished(TrialFigures),
    /// An earlier attempt finished the trial.
    Earlier,
    /// The trial failed. The text is the reason.
    Failed(String),
    /// The trial was omitted. The text is the reason.
    LeftOut(String),
}

/// Figures of a finished trial.
#[derive(Clone, Debug)]
pub struct TrialFigures {
    /// Successful operations per second.
    pub ops_per_s: f64,
    /// Median of latency, in ms.
    pub p50_ms: Known,
    /// p99 of latency, in ms.
    pub p99_ms: Known,
    /// Number of failed operations.
    pub errors: u64,
    pub verdict: Verdict,
    /// First cause of a verdict other than valid, in a few words.
    pub cause: Option<&'static str>,
}

impl TrialFigures {
    /// Returns the figures of a trial's finding.
    pub fn new(finding: &TrialFinding) -> TrialFigures {
        TrialFigures {
            ops_per_s: finding.all.ops_per_s,
            p50_ms: finding.all.latency_ms.p50,
            p99_ms: finding.all.latency_ms.p99,
            errors: finding.errors.values().sum(),
            verdict: finding.verdict,
            cause: report::cause(finding),
        }
    }
}

/// A phase of a trial, with its expected length and its progress.
#[derive(Clone, Debug, Default)]
pub struct PhaseState {
    /// Name of the phase: `measure`, `target`, …. Empty before the first phase.
    pub name: &'static str,
    /// Description of the phase's work.
    pub what: String,
    /// Expected length of the phase, in seconds.
    pub seconds: f64,
    /// Expected total length of the trial's later phases, in seconds.
    pub seconds_after: f64,
    /// Start of the phase on the monotonic clock, in ns.
    pub begin_ns: u64,
    /// Totals of the intervals of the phase. `None` before the first interval.
    pub progress: Option<Progress>,
}

/// One second of the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Second {
    /// Successful operations per second.
    pub ops_per_s: f64,
    /// p99 of latency, in ms.
    pub p99_ms: f64,
    /// True if operations failed in this second.
    pub has_errors: bool,
    /// True if this second belongs to the measured load, and not to loading or reading back rows.
    pub is_measured: bool,
}

/// A planned fault, and the stage that it has reached.
#[derive(Clone, Debug)]
pub struct FaultState {
    pub planned: PlannedFault,
    /// The present stage, and its start on the monotonic clock, in ns. `None` before the fault
    /// begins.
    pub reached: Option<(FaultStage, u64)>,
}

impl FaultState {
    /// Returns true if the fault is active now.
    pub fn is_open(&self) -> bool {
        use FaultStage::{Healing, Holding, Injecting};
        matches!(self.reached, Some((Injecting | Holding | Healing, _)))
    }
}

impl RunState {
    /// Handles an event at `now_ns` of the monotonic clock.
    pub fn event(&mut self, event: &Event, now_ns: u64) {
        match event {
            Event::RunStarted {
                study,
                names,
                finished,
                ..
            } => self.begin(study, names, finished),
            Event::Said(text) => self.say(text.clone()),
            Event::TargetReady(nodes) => {
                self.nodes.clone_from(nodes);
                self.died.clear();
            }
            Event::TargetStopped => self.nodes.clear(),
            Event::NodesDied(nodes) => self.died.clone_from(nodes),
            Event::CpuUsed(shares) => self.cpu = Some(*shares),
            Event::ClientsNow(clients) => self.clients.clone_from(clients),
            Event::HostsNow(hosts) => self.hosts.clone_from(hosts),
            Event::FaultsPlanned(planned) => {
                let planned = planned.iter().cloned();
                let open = |planned| FaultState {
                    planned,
                    reached: None,
                };
                self.faults = planned.map(open).collect();
            }
            Event::FaultReached(number, stage) => {
                if let Some(fault) = self.faults.get_mut(*number) {
                    fault.reached = Some((*stage, now_ns));
                }
            }
            Event::TrialStarted {
                index,
                name,
                seconds_after,
                ..
            } => self.begin_trial(*index, name, *seconds_after),
            Event::PhaseStarted {
                phase,
                what,
                seconds,
                seconds_after,
            } => {
                self.phase = PhaseState {
                    name: phase,
                    what: what.clone(),
                    seconds: *seconds,
                    seconds_after: *seconds_after,
                    begin_ns: now_ns,
                    progress: None,
                };
                if *phase == "measure" {
                    self.measured_from_ns = Some(now_ns);
                }
            }
            Event::Interval {
                progress, interval, ..
            } => self.interval(*progress, interval),
            Event::TrialFinished { index, finding, .. } => {
                self.end(*index, TrialEnd::Finished(TrialFigures::new(finding)));
            }
            Event::TrialFailed { index, reason, .. } => {
                self.end(*index, TrialEnd::Failed(reason.clone()));
            }
            Event::ClientsMeasured(_) => {}
            Event::TrialSkipped { index, reason, .. } => {
                self.end(*index, TrialEnd::LeftOut(reason.clone()));
            }
        }
    }

    /// Returns the expected time left in the run, in seconds. The planned time of the phase counts
    /// down. The estimate ignores an overrun, unless the phase's progress shows its true length.
    pub fn left_s(&self, now_ns: u64) -> f64 {
        let gone_s = self.phase_gone_s(now_ns);
        let planned_s = (self.phase.seconds - gone_s).max(0.0);
        let told_s = self.phase.progress.and_then(|progress| progress.left_s());
        told_s.unwrap_or(planned_s) + self.phase.seconds_after + self.rest_s
    }

    /// Returns the elapsed time of the phase, in seconds.
    pub fn phase_gone_s(&self, now_ns: u64) -> f64 {
        now_ns.saturating_sub(self.phase.begin_ns) as f64 / SECOND_NS as f64
    }

    /// Returns the position and the name of the current trial: `3/12` and `writes, 28 threads`.
    /// `None` before the first trial.
    pub fn current(&self) -> Option<(String, &str)> {
        let index = self.current?;
        let name = &self.trials.get(index)?.name;
        Some((format!("{}/{}", index + 1, self.trials.len()), name))
    }

    /// Returns the fault that explains why a node is down. `None` if no fault explains this.
    pub fn taken_by(&self, node: &String) -> Option<&FaultState> {
        let mut open = self.faults.iter().filter(|fault| fault.is_open());
        open.find(|fault| fault.planned.takes_away.contains(node))
    }

    /// Returns true if a node is down, whether or not a fault explains this.
    pub fn is_away(&self, node: &String) -> bool {
        self.died.contains(node) || self.taken_by(node).is_some()
    }

    fn begin(&mut self, study: &str, names: &[String], finished: &[usize]) {
        study.clone_into(&mut self.study);
        let trial = |(index, name): (usize, &String)| TrialState {
            name: name.clone(),
            end: finished.contains(&index).then_some(TrialEnd::Earlier),
        };
        self.trials = names.iter().enumerate().map(trial).collect();
    }

    fn begin_trial(&mut self, index: usize, name: &str, seconds_after: f64) {
        self.current = Some(index);
        self.rest_s = seconds_after;
        self.errors.clear();
        self.faults.clear();
        self.course.clear();
        self.measured_from_ns = None;
        if let Some(trial) = self.trials.get_mut(index) {
            // A search chooses its points during the run. Its choice changes the name of the trial.
            name.clone_into(&mut trial.name);
            trial.end = None;
        }
    }

    fn interval(&mut self, progress: Progress, interval: &Arc<Interval>) {
        self.phase.progress = Some(progress);
        let mut has_errors = false;
        for kind in interval.whole_kinds() {
            for (name, count) in kind.outcomes.errors_by_name() {
                *self.errors.entry(name).or_default() += count;
                has_errors |= count > 0;
            }
        }
        if interval.draining {
            return;
        }
        if self.course.len() == COURSE_MAX {
            self.course.pop_front();
        }
        self.course.push_back(Second {
            ops_per_s: progress.ops_per_s,
            p99_ms: progress.p99_ms,
            has_errors,
            is_measured: matches!(self.phase.name, "warmup" | "measure" | "drain"),
        });
    }

    fn end(&mut self, index: usize, end: TrialEnd) {
        if let Some(trial) = self.trials.get_mut(index) {
            trial.end = Some(end);
        }
    }

    fn say(&mut self, text: String) {
        if self.messages.len() == MESSAGES_MAX {
            self.messages.pop_front();
        }
        self.messages.push_back(text);
    }
}
