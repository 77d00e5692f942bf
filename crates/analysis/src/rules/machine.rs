//! Rules about the client's process and machine, other programs on it, and its clock: V3, V4, V18,
//! V20. Also about the silence of the target, which must not be taken for the client's: V19.
//!
//! Waiting of the client is not all caused by other programs: nodes on the same cores make it wait
//! too, and that is measured on purpose. So waiting is attributed to other programs by their share
//! of the CPU time that the workers did not have.

#[cfg(test)]
mod tests;

use super::evidence::{CpuUse, Evidence, MachineUse, Window};
use super::limits::Limits;
use super::rule_outcome::{RuleOutcome, WeighedJudgement, below, percent, ratio};
use crate::autocorrelation::FEW_INCIDENTS;
use measure::number::counted;

type RuleResult = (RuleOutcome, String);

/// Length of an interval, s: time beyond it is time without an interval.
const INTERVAL_S: f64 = 1.0;
/// V19: silence must be longer than a slow operation: this many medians.
const QUIET_MEDIANS: f64 = 5.0;

/// V3: the client did not limit the result.
pub(super) fn not_the_bottleneck(evidence: &Evidence, limits: &Limits) -> WeighedJudgement {
    let window = &evidence.window;
    if window.seconds <= 0.0 {
        return unweighed(RuleOutcome::Unknown, "no window was measured");
    }
    let cpu = window.cpu_ns as f64 / 1e9 / window.seconds / evidence.client_cores.max(1.0);
    let shared = if evidence.shares_cores {
        ", cores shared with nodes"
    } else {
        ""
    };
    let used = format!("the client used {} of its cores{shared}", percent(cpu));
    if evidence.target_is_null {
        let detail = format!("{used}; null target: the client is what is measured");
        return unweighed(RuleOutcome::Pass, detail);
    }
    let (cpu_outcome, limit) = match (evidence.offered.is_some(), evidence.shares_cores) {
        (true, _) if cpu > limits.client_cpu_share => (RuleOutcome::Warn, limits.client_cpu_share),
        (true, _) => (RuleOutcome::Pass, limits.client_cpu_share),
        // Only its own work can fill cores of its own.
        (false, false) => (
            below(cpu, limits.client_full_share),
            limits.client_full_share[0],
        ),
        // It uses what the nodes leave: a high share means nothing.
        (false, true) => (RuleOutcome::Pass, f64::INFINITY),
    };
    let cpu_detail = if limit.is_finite() {
        format!("{used} (limit {})", percent(limit))
    } else {
        used
    };
    let of_ceiling = ceiling(evidence, limits);
    let outcome = match (cpu_outcome, of_ceiling.outcome) {
        (RuleOutcome::Pass, of_ceiling) => of_ceiling,
        (of_cpu, of_ceiling) => of_cpu.max(of_ceiling),
    };
    WeighedJudgement {
        outcome,
        over: ratio(cpu, limit).max(of_ceiling.over),
        detail: format!("{cpu_detail}; {}", of_ceiling.detail),
    }
}

/// Returns a judgement without a number.
fn unweighed(outcome: RuleOutcome, detail: impl Into<String>) -> WeighedJudgement {
    WeighedJudgement {
        outcome,
        over: 0.0,
        detail: detail.into(),
    }
}

/// Judges how near the ceiling the result is, by the lowest and by the highest ceiling measured.
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
        let detail = "its ceiling on the null target was not measured";
        return unweighed(RuleOutcome::Unknown, detail);
    };
    let achieved = evidence.window.ops_per_s_mean();
    let of = |ceiling: f64| below(achieved / ceiling, limits.ceiling_share);
    let is_steady = highest / lowest <= limits.ceiling_spread;
    let measured = match (ceilings.len(), is_steady) {
        (1, _) => format!("its ceiling of {lowest:.0} op/s, measured once"),
        (count, true) => {
            format!(
                "its ceiling of {lowest:.0} op/s, the lowest of {count} ({highest:.0} the highest)"
            )
        }
        (count, false) => format!(
            "its ceiling of {lowest:.0} op/s, the lowest of {count} that differ {:.1} times \
             ({highest:.0} the highest; at most {:.1} times)",
            highest / lowest,
            limits.ceiling_spread
        ),
    };
    let detail = format!(
        "{achieved:.0} op/s are {} of {measured} (limit {})",
        percent(achieved / lowest),
        percent(limits.ceiling_share[0])
    );
    let (outcome, detail) = match (of(lowest), of(highest)) {
        // Both ceilings give the same answer.
        (worst, best) if worst == best => (worst, detail),
        (worst, _) if is_steady => (worst, detail),
        _ => (
            RuleOutcome::Warn,
            format!("{detail}: such a ceiling cannot be trusted, so the client may be the limit"),
        ),
    };
    WeighedJudgement {
        outcome,
        over: ratio(achieved / lowest, limits.ceiling_share[0]),
        detail,
    }
}

/// V4: the client was there from start to end.
pub(super) fn present(evidence: &Evidence, limits: &Limits) -> WeighedJudgement {
    let window = &evidence.window;
    if window.ops_per_s.is_empty() {
        return WeighedJudgement {
            outcome: RuleOutcome::Fail,
            over: f64::INFINITY,
            detail: "the client delivered no interval of the window".to_owned(),
        };
    }
    let stall_s = window.stall_longest_s.unwrap_or(0.0);
    let silence_s = without_interval_s(window).max(stall_s);
    let share_of = |at: usize| limits.silence_share[at] * window.seconds;
    let longest =
        [0, 1].map(|at| share_of(at).clamp(limits.silence_s_least[at], limits.silence_s_most[at]));
    let together = [0, 1].map(|at| share_of(at).max(limits.silence_s_least[at]));
    let judged = below(silence_s, longest).max(below(window.stalled_s, together));
    let looked = match window.stall_longest_s {
        Some(_) => "",
        None => "; the delays of timers are unknown",
    };
    let at_longest = format!(
        "for {silence_s:.2} s at the longest (limit {:.2} s)",
        longest[0]
    );
    let in_all = format!(
        "for {:.2} s of {:.0} s in all (limit {:.2} s)",
        window.stalled_s, window.seconds, together[0]
    );
    let is_over = |value: f64, limits: [f64; 2]| below(value, limits) != RuleOutcome::Pass;
    let held_up = match (
        is_over(silence_s, longest),
        is_over(window.stalled_s, together),
    ) {
        (true, false) => at_longest,
        (false, true) => in_all,
        (true, true) | (false, false) => format!("{at_longest}, {in_all}"),
    };
    WeighedJudgement {
        outcome: at_most_warned(judged, limits),
        over: ratio(silence_s, longest[0]).max(ratio(window.stalled_s, together[0])),
        detail: format!("the load generator itself stalled {held_up}{looked}"),
    }
}

/// Returns the longest time without an interval, s.
fn without_interval_s(window: &Window) -> f64 {
    window.gap_longest_s.max(window.interval_longest_s - INTERVAL_S)
}

/// V18: the machine belonged to the client, and to the nodes if they run on it.
pub(super) fn undisturbed(evidence: &Evidence, limits: &Limits) -> RuleResult {
    let Some(machine) = &evidence.machine else {
        return (
            RuleOutcome::Unknown,
            "no probe watched the machine".to_owned(),
        );
    };
    if machine.has_strange_nodes {
        let why = "nodes that cassay did not start run on this machine, and their use of it cannot \
                   be separated from that of other programs";
        return (RuleOutcome::Unknown, why.to_owned());
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
        return (RuleOutcome::Unknown, why.to_owned());
    }
    // The worst first: the detail is also the reason of the verdict.
    seen.sort_by_key(|(outcome, _)| std::cmp::Reverse(*outcome));
    let worst = seen[0].0;
    let outcome = at_most_warned(worst, limits);
    // A good result is not a reason.
    let is_said = |(one, _): &RuleResult| worst == RuleOutcome::Pass || *one != RuleOutcome::Pass;
    let parts: Vec<String> = seen
        .into_iter()
        .filter(is_said)
        .map(|(_, text)| text)
        .chain(unseen.map(str::to_owned))
        .collect();
    (outcome, parts.join("; "))
}

/// CPU time of other programs warns and never fails: its effect on client and nodes shows in their
/// waiting. A window measured while a browser runs is worse, but still a measurement.
fn cpu_of_others(machine: &MachineUse, limits: &Limits) -> Option<RuleResult> {
    let cpu = machine.cpu?;
    let detail = format!(
        "other programs used {} of this machine's {} (limit {}; the nodes {}, the client {})",
        percent(cpu.others),
        counted(cpu.cpus as u64, "CPU"),
        percent(limits.others_cpu_share),
        percent(cpu.nodes),
        percent(cpu.client)
    );
    Some((warn_if(cpu.others >= limits.others_cpu_share), detail))
}

/// Returns other programs' share of the CPU time that the workers did not have.
fn share_of_others(cpu: CpuUse, window: &Window) -> f64 {
    let workers = window.cpu_ns as f64 / 1e9 / window.seconds.max(1e-9) / cpu.cpus.max(1.0);
    let rest = cpu.others + cpu.nodes + (cpu.client - workers).max(0.0);
    if rest > 0.0 { cpu.others / rest } else { 0.0 }
}

/// Judges the time in which the workers waited for a CPU that other programs had.
fn waiting(evidence: &Evidence, machine: &MachineUse, limits: &Limits) -> Option<RuleResult> {
    let window = &evidence.window;
    let (cpu, wait_ns) = (machine.cpu?, window.wait_ns?);
    let waited = wait_ns as f64 / 1e9 / window.seconds.max(1e-9) / evidence.client_cores.max(1.0);
    let for_others = waited * share_of_others(cpu, window);
    let detail = format!(
        "the client's workers waited for other programs {} of the time (limit {}; for a CPU {})",
        percent(for_others),
        percent(limits.others_wait_share[0]),
        percent(waited)
    );
    Some((below(for_others, limits.others_wait_share), detail))
}

/// Judges the time in which any task of this machine, nodes included, waited for a CPU that other
/// programs had.
fn pressure_of_cpu(
    evidence: &Evidence,
    machine: &MachineUse,
    limits: &Limits,
) -> Option<RuleResult> {
    let (cpu, stalled) = (machine.cpu?, machine.pressure.cpu?);
    let for_others = stalled * share_of_others(cpu, &evidence.window);
    let detail = format!(
        "some task waited for other programs {} of the time (limit {}; for a CPU {})",
        percent(for_others),
        percent(limits.others_pressure_share[0]),
        percent(stalled)
    );
    Some((below(for_others, limits.others_pressure_share), detail))
}

/// For a cause, or for an estimate: warns, and never fails.
fn warn_if(is_over: bool) -> RuleOutcome {
    if is_over {
        RuleOutcome::Warn
    } else {
        RuleOutcome::Pass
    }
}

/// Judges the disk use of other programs. The kernel writes a process's data later and in its own
/// name, so this only warns.
fn disk_of_others(machine: &MachineUse, limits: &Limits) -> Option<RuleResult> {
    let share = machine.disk_others?;
    let is_over = share >= limits.others_disk_share;
    let waited = match machine.pressure.io {
        Some(io) => format!(" (some task waited for a disk {} of the time)", percent(io)),
        None => String::new(),
    };
    let detail = format!(
        "a disk was busy for others {} of the time (limit {}){waited}",
        percent(share),
        percent(limits.others_disk_share)
    );
    Some((warn_if(is_over), detail))
}

/// A machine that is short of memory measures its disk, whatever program took the memory.
fn pressure_of_memory(machine: &MachineUse, limits: &Limits) -> Option<RuleResult> {
    let share = machine.pressure.memory?;
    let is_over = share >= limits.memory_pressure_share;
    let detail = format!(
        "all tasks waited for memory {} of the time (limit {})",
        percent(share),
        percent(limits.memory_pressure_share)
    );
    Some((warn_if(is_over), detail))
}

/// On a machine that is declared as shared, other programs do not invalidate a trial.
pub(super) fn at_most_warned(outcome: RuleOutcome, limits: &Limits) -> RuleOutcome {
    if limits.shared_machine {
        outcome.min(RuleOutcome::Warn)
    } else {
        outcome
    }
}

/// V19: the target answered all the time. A silence is a result, and a rare one: this window cannot
/// tell how often it comes. At 2 % of the window, twice as many operations of an open loop fall
/// into it as lie above p99. Then p99 describes this silence alone.
pub(super) fn answering(evidence: &Evidence, limits: &Limits) -> RuleResult {
    let window = &evidence.window;
    if window.ended() == 0 {
        return (RuleOutcome::Unknown, "no operation ended".to_owned());
    }
    let [least, most] = limits.quiet_s;
    let limit_s = (limits.quiet_share * window.seconds).clamp(least, most);
    let quiet_s = window.quiet_longest_s;
    let detail =
        format!("the longest time without any answer was {quiet_s:.2} s (limit {limit_s:.2} s)");
    if quiet_s < limit_s {
        return (RuleOutcome::Pass, detail);
    }
    if quiet_s < QUIET_MEDIANS * window.latency_median_s() {
        let detail = format!("{detail}: the target's answers take that long");
        return (RuleOutcome::Pass, detail);
    }
    // A client that stalled has itself heard nothing.
    if window.stall_longest_s.unwrap_or(0.0) >= quiet_s / 2.0 {
        return (
            RuleOutcome::Pass,
            format!("{detail}: the client itself stalled then (V4)"),
        );
    }
    let alike = window.quiet_s.iter().filter(|s| **s >= quiet_s / 2.0).count();
    if alike >= FEW_INCIDENTS {
        let detail = format!("{detail}: {alike} seconds had one at least half as long");
        return (RuleOutcome::Pass, detail);
    }
    let often = match alike {
        0 | 1 => "once",
        _ => "a few times",
    };
    let detail = format!(
        "the target stopped answering for up to {quiet_s:.2} s {often} (limit {limit_s:.2} s); a \
         longer window shows how often that happens"
    );
    (RuleOutcome::Warn, detail)
}

/// V20: the machine's clock was not set. Writes are ordered by their timestamps: after a step back,
/// a write may lose against an earlier one. A disciplined clock is moved by up to 0.5 ms each
/// second (`ntpd`), which is not a step.
pub(super) fn clock_unset(evidence: &Evidence, limits: &Limits) -> RuleResult {
    let Some(clock) = evidence.clock else {
        return (
            RuleOutcome::Unknown,
            "the run did not compare the clocks".to_owned(),
        );
    };
    let [step_s, slew] = limits.clock_moved;
    let limit_s = step_s + slew * clock.over_s;
    let detail = format!(
        "the clock of this machine moved by {:+.3} s against the monotonic clock in {:.0} s \
         (limit {limit_s:.3} s)",
        clock.moved_s, clock.over_s
    );
    if clock.moved_s.abs() > limit_s {
        (
            RuleOutcome::Warn,
            format!("{detail}: timestamps do not show the order of writes"),
        )
    } else {
        (RuleOutcome::Pass, detail)
    }
}
