//! Rules about the measurements of the client: V1, V2, V6, V8, V12.

use super::describe::client as describe;
use super::evidence::{Evidence, Window};
use super::limits::Limits;
use super::measurement::Quantity;
use super::rule_outcome::{RuleOutcome, RuleResult, below};
use super::statement::Statement;
use crate::percentile_interval::VALUES_ABOVE_MIN;
use crate::warmup_end::SteadyState;
use measure::ClientCount;
use measure::Outcome;

/// Judges rule V1: the client offered the operations as scheduled, and on time.
///
/// The number of operations must match the schedule, and the client must send them while the window
/// lasts. Operations that it sent only after the window, or never, are a shortfall, regardless of
/// the cause. If the study limits the operations in flight, the cause is that the target did not
/// keep up. The latencies are then still right, or shown as lower bounds, so the rule only warns.
/// If the lateness is not due to such a limit, the client is responsible.
pub(super) fn schedule(evidence: &Evidence, limits: &Limits) -> RuleResult {
    let Some(offered) = evidence.offered else {
        let detail = "in a closed loop, an operation is due when a slot is free, so no operation \
                      can be late";
        return (RuleOutcome::Pass, detail.into());
    };
    let window = &evidence.window;
    if offered.operations < 1.0 {
        return (
            RuleOutcome::Unknown,
            "no operation was due in the window".into(),
        );
    }
    let due = window.ended() + window.client[ClientCount::DueNeverSent];
    let due_share = due as f64 / offered.operations;
    // A random schedule may contain fewer operations than its mean, by up to three standard
    // deviations.
    let chance = if offered.is_random {
        3.0 / offered.operations.sqrt()
    } else {
        0.0
    };
    let share = |count: u64| count as f64 / offered.operations;
    let after = window.client[ClientCount::SentInDrain] + window.client[ClientCount::DueNeverSent];
    let in_time = (due_share - share(after)).max(0.0);
    let own = window.client[ClientCount::Late].saturating_sub(window.client[ClientCount::Limited]);
    let is_held_back =
        window.client[ClientCount::Limited] > 0 && window.client[ClientCount::Limited] >= own;
    let late_outcome = match below(
        share(window.client[ClientCount::Limited]),
        limits.late_share,
    ) {
        RuleOutcome::Pass => below(share(own), limits.late_share),
        _ => below(share(own), limits.late_share).max(RuleOutcome::Warn),
    };
    let least = limits.achieved_share;
    let outcome = if due_share + chance < least {
        RuleOutcome::Fail
    } else if in_time + chance >= least {
        late_outcome
    } else if is_held_back {
        late_outcome.max(RuleOutcome::Warn)
    } else {
        RuleOutcome::Fail
    };
    let detail = if in_time + chance < least && is_held_back {
        let kept = describe::not_kept_up(in_time, offered.operations, least);
        Statement::join(std::iter::once(kept).chain(not_sent_in_time(window)), ", ")
    } else {
        let due = (due - after.min(due), offered.operations);
        sent_words(window, due, in_time, limits)
    };
    (outcome, detail)
}

/// Describes how many operations were sent and when. The description contains the numbers that
/// exceed a limit, or all numbers if none exceeds a limit.
fn sent_words(
    window: &Window,
    (sent, scheduled): (u64, f64),
    in_time: f64,
    limits: &Limits,
) -> Statement {
    let client = |count: ClientCount| window.client[count];
    let late = client(ClientCount::Late) as f64 / scheduled;
    let limited = client(ClientCount::Limited);
    let few = in_time < limits.achieved_share;
    let is_late = late >= limits.late_share[0];
    let in_window = describe::sent_in_window(in_time, scheduled, limits.achieved_share);
    let too_late = describe::sent_late(late, limits.late_share);
    let mut parts = match (few, is_late) {
        (true, false) => vec![in_window],
        (false, true) => vec![too_late],
        (true, true) | (false, false) => vec![in_window, too_late],
    };
    if limited > 0 {
        parts.push(describe::waited_for_slot(limited));
    }
    parts.extend(not_sent_in_time(window));
    if parts.len() == 2 && !few && !is_late {
        parts.push(describe::sent_in_all(sent));
    }
    Statement::join(parts, ", ")
}

fn not_sent_in_time(window: &Window) -> impl Iterator<Item = Statement> {
    [
        (ClientCount::SentInDrain, Quantity::SentAfterWindow),
        (ClientCount::Dropped, Quantity::GivenUp),
        (ClientCount::DueNeverSent, Quantity::NeverSent),
    ]
    .into_iter()
    .map(|(of, quantity)| (quantity, window.client[of]))
    .filter(|(_, number)| *number > 0)
    .map(|(quantity, number)| describe::not_sent_in_time(quantity, number))
}

/// Judges rule V2: the latencies, counted from the intended start, and the service times, counted
/// from the send, cover the same operations.
pub(super) fn two_clocks(evidence: &Evidence) -> RuleResult {
    let window = &evidence.window;
    let [latency, service, _] = window.values_count;
    if latency == 0 && service == 0 {
        return (RuleOutcome::Unknown, "no operation succeeded".into());
    }
    let mean_ms = |sum: f64, count: u64| sum / count.max(1) as f64 / 1e6;
    let means = [
        mean_ms(window.sums_ns[0], latency),
        mean_ms(window.sums_ns[1], service),
    ];
    // The two histograms round their values to three significant digits independently, so small
    // differences are allowed.
    let ordered = means[0] >= means[1] * 0.998;
    let detail = describe::two_clocks([latency, service], means);
    if latency == service && ordered {
        (RuleOutcome::Pass, detail)
    } else {
        let why = ": the two must cover the same operations, and latency includes service time";
        (RuleOutcome::Fail, detail.and(why))
    }
}

/// Judges rule V6: every operation is in a histogram exactly once.
pub(super) fn histograms_complete(evidence: &Evidence) -> RuleResult {
    let window = &evidence.window;
    let [latency, service, errors] = window.values_count;
    let failed = window.errors_count();
    let given_up = window.errors.iter().filter(|(how, _)| how.is_censored());
    let unknown =
        given_up.map(|(_, count)| count).sum::<u64>() + window.client[ClientCount::DueNeverSent];
    let complete = latency == window.ok
        && service == window.ok
        && errors == failed
        && window.censored_count == unknown;
    let mut parts = vec![describe::histograms(window, failed, unknown)];
    if window.clamped > 0 {
        parts.push(describe::over_an_hour(window.clamped));
    }
    // A real latency distribution fills many buckets. A distribution that fills at most three
    // buckets is artificial.
    let degenerate = latency >= 1000 && window.buckets_used <= 3;
    if degenerate {
        parts.push(describe::different_latencies(window.buckets_used));
    }
    let outcome = match (complete, degenerate || window.clamped > 0) {
        (false, _) => RuleOutcome::Fail,
        (true, true) => RuleOutcome::Warn,
        (true, false) => RuleOutcome::Pass,
    };
    (outcome, Statement::join(parts, "; "))
}

/// Judges rule V8: the number of failures is within the limit. If `timeout_fails` is set, one
/// client timeout fails the trial.
pub(super) fn errors_in_budget(evidence: &Evidence, limits: &Limits) -> RuleResult {
    let window = &evidence.window;
    let (ended, failed) = (window.ended(), window.errors_count());
    if ended == 0 {
        return (RuleOutcome::Fail, "no operation ended in the window".into());
    }
    if failed == 0 {
        return (RuleOutcome::Pass, describe::none_failed(ended));
    }
    let share = failed as f64 / ended as f64;
    let timed_out = limits.timeout_fails && window.errors_of(Outcome::ClientTimeout) > 0;
    // Failures during a fault or an upgrade are expected, so the limit applies only to trials
    // without a fault or upgrade.
    let beside = evidence.faults_words();
    let outcome = if beside.is_some() {
        RuleOutcome::Warn
    } else if timed_out || share > limits.errors_share {
        RuleOutcome::Fail
    } else {
        RuleOutcome::Warn
    };
    let failures = describe::failures(
        window,
        limits.errors_share,
        beside.as_deref(),
        limits.timeout_fails,
    );
    // The causes that the nodes report explain the failures that the client counted, so they become
    // part of the statement.
    let causes = evidence.causes.iter().map(|cause| cause.as_str().into());
    let parts = std::iter::once(failures).chain(causes);
    (outcome, Statement::join(parts, "; "))
}

/// Judges rule V12: the window was long enough, after a warm-up, without drift, and has enough
/// samples for its p99.
pub(super) fn window(evidence: &Evidence, limits: &Limits) -> RuleResult {
    let window = &evidence.window;
    if let Some(why) = &evidence.aborted {
        return (
            RuleOutcome::Fail,
            describe::ended_early(window.seconds, why),
        );
    }
    // The detail is also the reason of the verdict. So it contains only the problems, or all
    // statements if the window has no problem.
    let (mut wrong, mut right) = (Vec::new(), Vec::new());
    let mut note = |is_wrong: bool, part: Statement| {
        if is_wrong {
            wrong.push(part)
        } else {
            right.push(part)
        }
    };
    // The last interval of a window may end a little early, so this check allows for 1 %.
    let least = limits.window_s.max(evidence.planned_s);
    let short = window.seconds < least * 0.99;
    note(short, describe::window_length(window.seconds, least));
    let needed = VALUES_ABOVE_MIN * 100.0;
    let few = (window.ok as f64) < needed;
    note(few, describe::successes(window.ok, needed));
    match evidence.warmup {
        Some(SteadyState::Detected) => note(
            false,
            "throughput and latency were steady before the window began".into(),
        ),
        Some(_) => note(
            true,
            "cassay detected no steady state before the window".into(),
        ),
        None => note(false, "the warm-up had a fixed length".into()),
    }
    let (is_drifting, drift) = drift_words(window, limits, evidence.warmup.is_none());
    note(is_drifting, drift);
    if wrong.is_empty() {
        (RuleOutcome::Pass, Statement::join(right, ", "))
    } else {
        (RuleOutcome::Warn, Statement::join(wrong, ", "))
    }
}

/// Returns true if throughput drifted over the window or may have drifted. The statement describes
/// the drift.
fn drift_words(window: &Window, limits: &Limits, is_fixed: bool) -> (bool, Statement) {
    let trend = window.trend();
    let limit = limits.drift_share;
    if trend.matters(limit) {
        let advice = if is_fixed && trend.drift > 0.0 {
            "; `window.warmup: auto` waits for a steady state"
        } else {
            ""
        };
        (true, describe::large_drift(&trend, limit, advice))
    } else if trend.is_inconclusive(limit) {
        (true, describe::inconclusive_drift(&trend, limit))
    } else {
        (false, describe::small_drift(&trend, limit))
    }
}
