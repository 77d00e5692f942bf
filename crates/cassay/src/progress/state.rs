//! What a run has come to, for whoever watches it: made of its events, and of nothing else.

use engine::{CpuShares, Event, FaultStage, HostNow, PlannedFault, Progress};
use fleet::ClientNow;
use measure::clock::SECOND_NS;
use measure::{Interval, Known};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use store::record::{TrialFinding, Verdict};

/// Seconds of the course that are kept: more than any screen shows.
const COURSE_MAX: usize = 1200;
/// Messages that are kept.
const MESSAGES_MAX: usize = 50;

/// A run as it stands.
#[derive(Debug, Default)]
pub struct RunState {
    /// Name of the study; empty before the run has its folder.
    pub study: String,
    /// The trials of the plan, in its order.
    pub trials: Vec<TrialState>,
    /// The one that goes on, by its number.
    pub current: Option<usize>,
    /// The phase that goes on.
    pub phase: PhaseState,
    /// Expected length of the trials after this one, seconds.
    pub rest_s: f64,
    /// The last intervals, oldest first.
    pub course: VecDeque<Second>,
    /// Errors of the trial by their kinds.
    pub errors: BTreeMap<&'static str, u64>,
    /// Names of the target's nodes; none before it is ready.
    pub nodes: Vec<String>,
    /// Those that have ended by themselves.
    pub died: Vec<String>,
    /// What the machine's CPUs are used for.
    pub cpu: Option<CpuShares>,
    /// The clients of a load that several offer, while they offer it.
    pub clients: Vec<ClientNow>,
    /// The hosts of the nodes, while load is offered and somebody looks.
    pub hosts: Vec<HostNow>,
    /// What is broken on purpose in this phase.
    pub faults: Vec<FaultState>,
    /// When the measured window began, monotonic clock.
    pub measured_from_ns: Option<u64>,
    /// What was said, oldest first.
    pub messages: VecDeque<String>,
}

/// A trial as it stands.
#[derive(Clone, Debug)]
pub struct TrialState {
    /// Its name.
    pub name: String,
    /// What came of it.
    pub end: Option<TrialEnd>,
}

/// What came of a trial.
#[derive(Clone, Debug)]
pub enum TrialEnd {
    /// It has its finding.
    Finished(TrialFigures),
    /// An earlier attempt has finished it.
    Earlier,
    /// It could not be done.
    Failed(String),
    /// It was left out.
    LeftOut(String),
}

/// What a finished trial is told by.
#[derive(Clone, Debug)]
pub struct TrialFigures {
    /// Successful operations per second.
    pub ops_per_s: f64,
    /// Median latency, ms.
    pub p50_ms: Known,
    /// p99 of latency, ms.
    pub p99_ms: Known,
    /// Failed operations.
    pub errors: u64,
    /// Whether it may be believed.
    pub verdict: Verdict,
    /// The first cause why not, in few words.
    pub cause: Option<&'static str>,
}

impl TrialFigures {
    /// Of a trial's finding.
    pub fn of(finding: &TrialFinding) -> TrialFigures {
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

/// A phase as it stands.
#[derive(Clone, Debug, Default)]
pub struct PhaseState {
    /// `measure`, `target`, …; empty before the first.
    pub name: &'static str,
    /// What it does, in words.
    pub what: String,
    /// Expected length, seconds.
    pub seconds: f64,
    /// Expected length of the trial's phases after it, seconds.
    pub seconds_after: f64,
    /// When it began, monotonic clock.
    pub begin_ns: u64,
    /// What its intervals came to, once it has some.
    pub progress: Option<Progress>,
}

/// An interval of the course.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Second {
    /// Successful operations per second.
    pub ops_per_s: f64,
    /// p99 of latency, ms.
    pub p99_ms: f64,
    /// Whether operations failed.
    pub has_errors: bool,
    /// Whether it is of the load that is measured, and not of loading or reading back rows.
    pub is_measured: bool,
}

/// A fault as it stands.
#[derive(Clone, Debug)]
pub struct FaultState {
    /// What is planned.
    pub planned: PlannedFault,
    /// How far it has come, and since when on the monotonic clock; none: its time is to come.
    pub reached: Option<(FaultStage, u64)>,
}

impl FaultState {
    /// Whether something is broken by it now.
    pub fn is_open(&self) -> bool {
        use FaultStage::{Healing, Holding, Injecting};
        matches!(self.reached, Some((Injecting | Holding | Healing, _)))
    }
}

impl RunState {
    /// Takes an event that came at `now_ns` of the monotonic clock.
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
                self.end(*index, TrialEnd::Finished(TrialFigures::of(finding)));
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

    /// Expected length of the rest of the run, seconds. The phase's own time runs down; what it
    /// takes longer than expected is not made up for, unless its progress tells how long it is.
    pub fn left_s(&self, now_ns: u64) -> f64 {
        let gone_s = self.phase_gone_s(now_ns);
        let planned_s = (self.phase.seconds - gone_s).max(0.0);
        let told_s = self.phase.progress.and_then(|progress| progress.left_s());
        told_s.unwrap_or(planned_s) + self.phase.seconds_after + self.rest_s
    }

    /// For how long the phase has gone on, seconds.
    pub fn phase_gone_s(&self, now_ns: u64) -> f64 {
        now_ns.saturating_sub(self.phase.begin_ns) as f64 / SECOND_NS as f64
    }

    /// `3/12 writes, 28 threads`: the trial that goes on, by its place and its name.
    pub fn current(&self) -> Option<(String, &str)> {
        let index = self.current?;
        let name = &self.trials.get(index)?.name;
        Some((format!("{}/{}", index + 1, self.trials.len()), name))
    }

    /// The fault that has taken a node away, if one has.
    pub fn taken_by(&self, node: &String) -> Option<&FaultState> {
        let mut open = self.faults.iter().filter(|fault| fault.is_open());
        open.find(|fault| fault.planned.takes_away.contains(node))
    }

    /// Whether a node is not there, on purpose or by itself.
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
            // A search finds its point on the way.
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
