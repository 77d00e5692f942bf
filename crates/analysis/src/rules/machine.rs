//! Rules about the client's process and machine, other programs on the machine, and the clock of
//! the machine: V3, V4, V18, V20. Rule V19 is about silence of the target, which must be
//! distinguished from stalls of the client.
//!
//! Other programs are not the only reason why the client waits. Nodes on the same cores also make
//! the client wait, and that is part of the measurement. So the rules multiply the waiting time by
//! the share of other programs in the CPU time that the workers did not have.

#[cfg(test)]
mod tests;

use super::describe::machine as describe;
use super::evidence::{CpuUse, Evidence, INTERVAL_S, MachineUse, Window};
use super::limits::Limits;
use super::measurement::{Measurement, Quantity};
use super::rule_outcome::{RuleOutcome, RuleResult, WeighedJudgement, below, ratio};
use super::statement::Statement;
use crate::autocorrelation::FEW_INCIDENTS;

/// V19: minimum length of a silence, as a multiple of the median latency. A slow operation must not
/// count as a silence.
const QUIET_MEDIANS: f64 = 5.0;

/// Judges rule V3: the client did not limit the result.
pub(super) fn not_the_bottleneck(evidence: &Evidence, limits: &Limits) -> WeighedJudgement {
    let window = &evidence.window;
    if window.seconds <= 0.0 {
        return unweighed(RuleOutcome::Unknown, "no window was measured");
    }
    let cpu = window.cpu_ns as f64 / 1e9 / window.seconds / evidence.client_cores.max(1.0);
    let used = Measurement::new(Quantity::ClientCpu, cpu);
    if evidence.target_is_null {
        let used = describe::client_cpu(used, evidence.shares_cores);
        let detail = used.and("; null target: the trial measures the client");
        return unweighed(RuleOutcome::Pass, detail);
    }
    let (cpu_outcome, used) = match (evidence.offered.is_some(), evidence.shares_cores) {
        (true, _) => (
            warn_if(cpu > limits.client_cpu_share),
            used.warning_at(limits.client_cpu_share),
        ),
        // No node uses the client's cores, so only the client itself can use all of their CPU time.
        (false, false) => (
            below(cpu, limits.client_full_share),
            used.within(limits.client_full_share),
        ),
        // On shared cores, the client uses the CPU time that the nodes leave, so a high share does
        // not indicate a limit.
        (false, true) => (RuleOutcome::Pass, used),
    };
    let cpu_over = used.limit.map_or(0.0, |limit| ratio(cpu, limit));
    let of_ceiling = ceiling(evidence, limits);
    let outcome = match (cpu_outcome, of_ceiling.outcome) {
        (RuleOutcome::Pass, of_ceiling) => of_ceiling,
        (of_cpu, of_ceiling) => of_cpu.max(of_ceiling),
    };
    let used = describe::client_cpu(used, evidence.shares_cores);
    WeighedJudgement {
        outcome,
        over: cpu_over.max(of_ceiling.over),
        detail: Statement::join([used, of_ceiling.detail], "; "),
    }
}

fn unweighed(outcome: RuleOutcome, detail: impl Into<Statement>) -> WeighedJudgement {
    WeighedJudgement {
        outcome,
        over: 0.0,
        detail: detail.into(),
    }
}

/// Judges how near the throughput is to the ceiling. The function compares the throughput with the
/// lowest and with the highest measured ceiling.
fn ceiling(evidence: &Evidence, limits: &Limits) -> WeighedJudgement {
    let ceilings: Vec<f64> = evidence
        .ceilings_ops_per_s
        .iter()
        .copied()
        .filter(|ceiling| *ceiling > 0.0)
        .collect();
    let lowest = ceilings.iter().copied().min_by(f64::total_cmp);
    let highest = ceilings.iter().copied().max_by(f64::total_cmp);
    let (Some(lowest), Some(highest)) = (lowest, highest) else {
        let detail = "cassay did not measure the ceiling of the client on the null target";
        return unweighed(RuleOutcome::Unknown, detail);
    };
    let achieved = evidence.window.ops_per_s_mean();
    let of = |ceiling: f64| below(achieved / ceiling, limits.ceiling_share);
    let is_steady = highest / lowest <= limits.ceiling_spread;
    let (outcome, is_doubtful) = match (of(lowest), of(highest)) {
        // The lowest and the highest ceiling lead to the same outcome, so the choice does not
        // matter.
        (worst, best) if worst == best => (worst, false),
        (worst, _) if is_steady => (worst, false),
        _ => (RuleOutcome::Warn, true),
    };
    let ceilings = describe::CeilingUse {
        achieved,
        lowest,
        highest,
        count: ceilings.len(),
        is_steady,
    };
    WeighedJudgement {
        outcome,
        over: ratio(achieved / lowest, limits.ceiling_share[0]),
        detail: describe::of_ceiling(&ceilings, limits, is_doubtful),
    }
}

/// Judges rule V4: the client ran without interruption from start to end.
pub(super) fn present(evidence: &Evidence, limits: &Limits) -> WeighedJudgement {
    let window = &evidence.window;
    if window.ops_per_s.is_empty() {
        return WeighedJudgement {
            outcome: RuleOutcome::Fail,
            over: f64::INFINITY,
            detail: "the client reported no interval of the window".into(),
        };
    }
    let stall_s = window.stall_longest_s.unwrap_or(0.0);
    let silence_s = without_interval_s(window).max(stall_s);
    let share_of = |at: usize| limits.silence_share[at] * window.seconds;
    let longest =
        [0, 1].map(|at| share_of(at).clamp(limits.silence_s_least[at], limits.silence_s_most[at]));
    let together = [0, 1].map(|at| share_of(at).max(limits.silence_s_least[at]));
    let judged = below(silence_s, longest).max(below(window.stalled_s, together));
    let at_longest = describe::longest_stall(silence_s, longest);
    let in_all = describe::all_stalls(window.stalled_s, window.seconds, together);
    let is_over = |value: f64, limits: [f64; 2]| below(value, limits) != RuleOutcome::Pass;
    let stalls = match (
        is_over(silence_s, longest),
        is_over(window.stalled_s, together),
    ) {
        (true, false) => at_longest,
        (false, true) => in_all,
        (true, true) | (false, false) => Statement::join([at_longest, in_all], ", "),
    };
    let detail = describe::client_stalls(stalls, window.stall_longest_s.is_some());
    let (outcome, detail) = at_most_warned((judged, detail), limits);
    WeighedJudgement {
        outcome,
        over: ratio(silence_s, longest[0]).max(ratio(window.stalled_s, together[0])),
        detail,
    }
}

fn without_interval_s(window: &Window) -> f64 {
    window.gap_longest_s.max(window.interval_longest_s - INTERVAL_S)
}

/// Judges rule V18: only the client, and any nodes on the same machine, used the machine.
pub(super) fn undisturbed(evidence: &Evidence, limits: &Limits) -> RuleResult {
    let Some(machine) = &evidence.machine else {
        return (RuleOutcome::Unknown, "no probe watched the machine".into());
    };
    if machine.has_strange_nodes {
        let why = "nodes that cassay did not start run on this machine, and cassay cannot separate \
             the load of these nodes from that of other programs";
        return (RuleOutcome::Unknown, why.into());
    }
    let seen = [
        cpu_of_others(machine, limits),
        waiting(evidence, machine, limits),
        pressure_of_cpu(evidence, machine, limits),
        disk_of_others(machine, limits),
        pressure_of_memory(machine, limits),
    ];
    let mut seen: Vec<RuleResult> = seen.into_iter().flatten().collect();
    let unseen = machine.unseen.as_deref();
    if seen.is_empty() {
        let why = unseen.unwrap_or("no reading of the machine fell into the window");
        return (RuleOutcome::Unknown, why.into());
    }
    // The worst result comes first, because the detail is also the reason of the verdict.
    seen.sort_by_key(|(outcome, _)| std::cmp::Reverse(*outcome));
    let worst = seen[0].0;
    // If any result is bad, the good results are omitted, because they are not a reason for the
    // verdict.
    let is_said = |(one, _): &RuleResult| worst == RuleOutcome::Pass || *one != RuleOutcome::Pass;
    let parts = seen
        .into_iter()
        .filter(is_said)
        .map(|(_, part)| part)
        .chain(unseen.map(Statement::from));
    at_most_warned((worst, Statement::join(parts, "; ")), limits)
}

/// Judges the CPU time of other programs. The result is at most a warning, because the waiting
/// times of the client and the nodes already show the effect. A window measured while a browser
/// runs is worse, but still a measurement.
fn cpu_of_others(machine: &MachineUse, limits: &Limits) -> Option<RuleResult> {
    let cpu = machine.cpu?;
    let detail = describe::cpu_of_others(&cpu, limits.others_cpu_share);
    Some((warn_if(cpu.others >= limits.others_cpu_share), detail))
}

fn share_of_others(cpu: CpuUse, window: &Window) -> f64 {
    let workers = window.cpu_ns as f64 / 1e9 / window.seconds.max(1e-9) / cpu.cpus.max(1.0);
    let rest = cpu.others + cpu.nodes + (cpu.client - workers).max(0.0);
    if rest > 0.0 { cpu.others / rest } else { 0.0 }
}

fn waiting(evidence: &Evidence, machine: &MachineUse, limits: &Limits) -> Option<RuleResult> {
    let window = &evidence.window;
    let (cpu, wait_ns) = (machine.cpu?, window.wait_ns?);
    let waited = wait_ns as f64 / 1e9 / window.seconds.max(1e-9) / evidence.client_cores.max(1.0);
    let for_others = waited * share_of_others(cpu, window);
    let detail = describe::workers_waited(for_others, waited, limits.others_wait_share);
    Some((below(for_others, limits.others_wait_share), detail))
}

/// Judges the time in which any task of the machine, nodes included, waited for a CPU that other
/// programs used.
fn pressure_of_cpu(
    evidence: &Evidence,
    machine: &MachineUse,
    limits: &Limits,
) -> Option<RuleResult> {
    let (cpu, stalled) = (machine.cpu?, machine.pressure.cpu?);
    let for_others = stalled * share_of_others(cpu, &evidence.window);
    let detail = describe::tasks_waited(for_others, stalled, limits.others_pressure_share);
    Some((below(for_others, limits.others_pressure_share), detail))
}

/// Returns a warning if `is_over` is true, and never a failure. Rules use this function for results
/// that are only a possible cause or an estimate.
fn warn_if(is_over: bool) -> RuleOutcome {
    if is_over {
        RuleOutcome::Warn
    } else {
        RuleOutcome::Pass
    }
}

/// Judges the disk use of other programs. The result is at most a warning, because the kernel
/// writes the data of a process later and under the kernel's name.
fn disk_of_others(machine: &MachineUse, limits: &Limits) -> Option<RuleResult> {
    let share = machine.disk_others?;
    let is_over = share >= limits.others_disk_share;
    let detail = describe::disk_of_others(share, machine.pressure.io, limits.others_disk_share);
    Some((warn_if(is_over), detail))
}

/// Judges the share of time in which all tasks waited for memory. If memory is short, a trial
/// measures the speed of the disk, regardless of which program uses the memory.
fn pressure_of_memory(machine: &MachineUse, limits: &Limits) -> Option<RuleResult> {
    let share = machine.pressure.memory?;
    let is_over = share >= limits.memory_pressure_share;
    let detail = describe::memory_waited(share, limits.memory_pressure_share);
    Some((warn_if(is_over), detail))
}

/// Reduces a failure to a warning if the machine is declared as shared. On such a machine, other
/// programs do not invalidate trials.
pub(super) fn at_most_warned((outcome, detail): RuleResult, limits: &Limits) -> RuleResult {
    if limits.shared_machine {
        (outcome.min(RuleOutcome::Warn), detail.without_failing())
    } else {
        (outcome, detail)
    }
}

/// Judges rule V19: the target answered throughout. A silence is a rare event, and one window
/// cannot show how often silences occur. If the silence takes 2 % of the window, twice as many
/// operations of an open loop fall into it as are above p99. Then p99 describes only this silence.
pub(super) fn answering(evidence: &Evidence, limits: &Limits) -> RuleResult {
    let window = &evidence.window;
    if window.ended() == 0 {
        return (RuleOutcome::Unknown, "no operation ended".into());
    }
    let [least, most] = limits.quiet_s;
    let limit_s = (limits.quiet_share * window.seconds).clamp(least, most);
    let quiet_s = window.quiet_longest_s;
    let silence = describe::longest_silence(quiet_s, limit_s);
    if quiet_s < limit_s {
        return (RuleOutcome::Pass, silence);
    }
    if quiet_s < QUIET_MEDIANS * window.latency_median_s() {
        let detail = silence.and(": the target's answers take this long");
        return (RuleOutcome::Pass, detail);
    }
    // If the client stalled, it could not receive an answer during the stall, so the silence is not
    // due to the target.
    if window.stall_longest_s.unwrap_or(0.0) >= quiet_s / 2.0 {
        let detail = silence.and(": the client itself stalled at that time (V4)");
        return (RuleOutcome::Pass, detail);
    }
    let alike = window.quiet_s.iter().filter(|s| **s >= quiet_s / 2.0).count();
    if alike >= FEW_INCIDENTS {
        let detail = describe::common_silence(quiet_s, limit_s, alike);
        return (RuleOutcome::Pass, detail);
    }
    let detail = describe::rare_silence(quiet_s, limit_s, alike);
    (RuleOutcome::Warn, detail)
}

/// Judges rule V20: the machine's clock was not set. Timestamps determine the order of writes.
/// After a step back of the clock, a write may lose against an earlier write. Time synchronization
/// moves a clock by up to 0.5 ms each second (`ntpd`), which is not a step.
pub(super) fn clock_unset(evidence: &Evidence, limits: &Limits) -> RuleResult {
    let Some(clock) = evidence.clock else {
        return (
            RuleOutcome::Unknown,
            "the run did not compare the clocks".into(),
        );
    };
    let [step_s, slew] = limits.clock_moved;
    let limit_s = step_s + slew * clock.over_s;
    let detail = describe::clock_moved(&clock, limit_s);
    if clock.moved_s.abs() > limit_s {
        let why = ": timestamps do not show the order of writes";
        (RuleOutcome::Warn, detail.and(why))
    } else {
        (RuleOutcome::Pass, detail)
    }
}
