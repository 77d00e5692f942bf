//! Converts the state of a run that another process runs to the state that the screen shows.

use super::run_state::{
    FaultState, PhaseState, RunState, Second, TrialEnd, TrialFigures, TrialState,
};
use engine::{FaultStage, PlannedFault, Progress};
use fleet::{ClientNow, SecondNow};
use measure::{Known, Outcome};
use std::collections::BTreeMap;
use store::live::{
    LiveClient, LiveEnd, LiveFault, LiveFaultStage, LiveFigures, LiveRun, LiveSecond, LiveTrial,
    PHASES,
};

/// Present time on two clocks, in ns.
#[derive(Clone, Copy)]
pub struct Clocks {
    /// Time on the monotonic clock.
    pub now_ns: u64,
    /// Time since 1970.
    pub unix_ns: u64,
}

impl Clocks {
    /// Returns the time on the monotonic clock. The records of a run contain the time since 1970.
    fn monotonic_ns(self, unix_ns: u64) -> u64 {
        self.now_ns.saturating_sub(self.unix_ns.saturating_sub(unix_ns))
    }
}

/// Returns the state for the screen.
pub fn run_state(live: &LiveRun, clocks: Clocks) -> RunState {
    RunState {
        study: live.study.clone(),
        trials: live.trials.iter().map(trial_state).collect(),
        current: live.current,
        phase: phase(live, clocks),
        rest_s: live.later_trials_s(),
        course: complete_seconds(live).map(second).collect(),
        errors: errors(live),
        nodes: live.nodes.clone(),
        clients: live.clients.iter().map(client).collect(),
        faults: live.faults.iter().map(|one| fault(one, live, clocks)).collect(),
        measured_from_ns: (live.phase.name == "measure")
            .then(|| clocks.monotonic_ns(live.phase.begin_unix_ns)),
        messages: live.messages.iter().map(|(_, text)| text.clone()).collect(),
        is_elsewhere: true,
        ..RunState::default()
    }
}

fn trial_state(trial: &LiveTrial) -> TrialState {
    TrialState {
        name: trial.name.clone(),
        end: trial.end.as_ref().map(|end| match end {
            LiveEnd::Finished(found) => TrialEnd::Finished(figures(found)),
            LiveEnd::Failed(reason) => TrialEnd::Failed(reason.clone()),
            LiveEnd::LeftOut(reason) => TrialEnd::LeftOut(reason.clone()),
        }),
    }
}

/// Returns the figures of a finished trial in the form that its line shows.
pub fn figures(found: &LiveFigures) -> TrialFigures {
    let known = |(value, is_bound): (f64, bool)| {
        if is_bound {
            Known::AtLeast(value)
        } else {
            Known::Exactly(value)
        }
    };
    TrialFigures {
        ops_per_s: found.ops_per_s,
        p50_ms: known(found.p50_ms),
        p99_ms: known(found.p99_ms),
        errors: found.errors,
        verdict: found.verdict,
        cause: None,
    }
}

fn phase(live: &LiveRun, clocks: Clocks) -> PhaseState {
    let phase = &live.phase;
    let name = PHASES.iter().find(|name| **name == phase.name);
    let gone_s = live.phase_gone_s(clocks.unix_ns);
    let newest = live.seconds.back();
    let p99_ms = live.seconds.iter().rev().find_map(|second| second.p50_p99_ms);
    PhaseState {
        name: name.copied().unwrap_or_default(),
        what: phase.what.clone(),
        seconds: phase.planned_s,
        seconds_after: phase.after_s,
        begin_ns: clocks.monotonic_ns(phase.begin_unix_ns),
        progress: newest.filter(|_| phase.operations > 0).map(|second| Progress {
            seconds: gone_s,
            operations: phase.operations,
            ops_per_s: second.ops_per_s,
            p99_ms: p99_ms.map_or(0.0, |(_, p99)| p99),
            errors: phase.errors,
            of: None,
        }),
    }
}

/// Returns the seconds without those at the end whose percentiles are not known yet.
fn complete_seconds(live: &LiveRun) -> impl Iterator<Item = &LiveSecond> {
    let is_open = |one: &&LiveSecond| one.p50_p99_ms.is_none() && one.ops_per_s > 0.0;
    let open = live.seconds.iter().rev().take_while(is_open).count();
    live.seconds.iter().take(live.seconds.len() - open)
}

fn second(second: &LiveSecond) -> Second {
    Second {
        ops_per_s: second.ops_per_s,
        p99_ms: second.p50_p99_ms.map_or(0.0, |(_, p99)| p99),
        has_errors: second.errors > 0,
        is_measured: second.is_load,
    }
}

fn errors(live: &LiveRun) -> BTreeMap<&'static str, u64> {
    let known = |(name, count): (&String, &u64)| Some((Outcome::from_name(name)?.name(), *count));
    live.errors.iter().filter_map(known).collect()
}

fn client(client: &LiveClient) -> ClientNow {
    ClientNow {
        name: client.name.clone(),
        place: String::new(),
        second: Some(SecondNow {
            ok_per_s: client.ops_per_s,
            errors: client.errors,
            p99_ms: client.p99_ms,
            late: 0,
            cpu_share: client.cpu_share,
        }),
        silent_s: 0.0,
        clock_bound_ms: None,
        is_lost: false,
    }
}

fn fault(fault: &LiveFault, live: &LiveRun, clocks: Clocks) -> FaultState {
    let stage = match fault.stage {
        LiveFaultStage::Planned => None,
        LiveFaultStage::Injecting => Some(FaultStage::Injecting),
        LiveFaultStage::Active => Some(FaultStage::Holding),
        LiveFaultStage::Healing => Some(FaultStage::Healing),
        LiveFaultStage::Over => Some(FaultStage::Over),
    };
    FaultState {
        planned: PlannedFault {
            kind: fault.kind.clone(),
            place: fault.place.clone(),
            at_s: fault.at_s,
            for_s: fault.for_s,
            // The records do not contain the nodes that a fault takes down. A fault of a node names
            // the node as its target.
            takes_away: live.nodes.iter().filter(|node| **node == fault.place).cloned().collect(),
        },
        reached: stage.map(|stage| (stage, clocks.monotonic_ns(fault.since_unix_ns))),
    }
}
