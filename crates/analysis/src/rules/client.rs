//! Rules about the client's measurements: V1, V2, V6, V8, V12.

use super::evidence::{Evidence, Window};
use super::limits::Limits;
use super::rule_outcome::{RuleOutcome, below, percent};
use crate::blocks::VALUES_ABOVE_MIN;
use crate::warmup_end::SteadyState;
use measure::ClientCount;
use measure::Outcome;
use measure::number::count;

type RuleResult = (RuleOutcome, String);

/// V1: operations were offered as scheduled, and on time.
///
/// The population must match the schedule, and be sent while the window lasts. Operations sent only
/// after the window, or never, are a shortfall, whatever the cause; with a limit in flight, the
/// target did not keep up. Its latencies are right all the same, or shown as lower bounds, so that
/// this only asks for care. Lateness that no limit explains is the client's own.
pub(super) fn schedule(evidence: &Evidence, limits: &Limits) -> RuleResult {
    let Some(offered) = evidence.offered else {
        let detail = "closed loop: an operation is due when a slot is free, so none can be late";
        return (RuleOutcome::Pass, detail.to_owned());
    };
    let window = &evidence.window;
    if offered.operations < 1.0 {
        return (
            RuleOutcome::Unknown,
            "no operation was due in the window".to_owned(),
        );
    }
    let due = window.ended() + window.client[ClientCount::DueNeverSent];
    let due_share = due as f64 / offered.operations;
    // A random schedule may offer three standard deviations fewer than its mean.
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
        let kept = format!(
            "the target did not keep up with the rate: {} of {} requests were sent in the window \
             (at least {})",
            percent(in_time),
            count(offered.operations.round() as u64),
            percent(least)
        );
        let parts = std::iter::once(kept).chain(not_sent_in_time(window));
        parts.collect::<Vec<_>>().join(", ")
    } else {
        let due = (due - after.min(due), offered.operations);
        sent_words(window, due, in_time, limits)
    };
    (outcome, detail)
}

/// Says how many operations were sent and when: the numbers that exceed a limit, or all if none
/// does.
fn sent_words(
    window: &Window,
    (sent, scheduled): (u64, f64),
    in_time: f64,
    limits: &Limits,
) -> String {
    let client = |count: ClientCount| window.client[count];
    let late = client(ClientCount::Late) as f64 / scheduled;
    let limited = client(ClientCount::Limited);
    let few = in_time < limits.achieved_share;
    let is_late = late >= limits.late_share[0];
    let in_window = format!(
        "{} of the {} scheduled requests were sent in the window (at least {})",
        percent(in_time),
        count(scheduled.round() as u64),
        percent(limits.achieved_share),
    );
    let too_late = format!(
        "{} of the requests left more than 1 ms late (limit {})",
        percent(late),
        percent(limits.late_share[0])
    );
    let mut parts = match (few, is_late) {
        (true, false) => vec![in_window],
        (false, true) => vec![too_late],
        (true, true) | (false, false) => vec![in_window, too_late],
    };
    if limited > 0 {
        parts.push(format!(
            "{} waited for a free in-flight slot, which their latency includes \
             (`client.in_flight_max`)",
            count(limited)
        ));
    }
    parts.extend(not_sent_in_time(window));
    if parts.len() == 2 && !few && !is_late {
        parts.push(format!("{} in all", count(sent)));
    }
    parts.join(", ")
}

/// Names the operations that were due in the window and not sent in it.
fn not_sent_in_time(window: &Window) -> impl Iterator<Item = String> {
    [
        (ClientCount::SentInDrain, "sent after the window"),
        (ClientCount::Dropped, "dropped"),
        (ClientCount::DueNeverSent, "never sent"),
    ]
    .into_iter()
    .map(|(of, what)| (window.client[of], what))
    .filter(|(number, _)| *number > 0)
    .map(|(number, what)| format!("{} were {what}", count(number)))
}

/// V2: latency from the intended start and service time from the send, for the same operations.
pub(super) fn two_clocks(evidence: &Evidence) -> RuleResult {
    let window = &evidence.window;
    let [latency, service, _] = window.values_count;
    if latency == 0 && service == 0 {
        return (RuleOutcome::Unknown, "no operation succeeded".to_owned());
    }
    let mean_ms = |sum: f64, count: u64| sum / count.max(1) as f64 / 1e6;
    let means = [
        mean_ms(window.sums_ns[0], latency),
        mean_ms(window.sums_ns[1], service),
    ];
    // The two histograms round their values to three digits independently.
    let ordered = means[0] >= means[1] * 0.998;
    let detail = format!(
        "{latency} latencies (mean {:.3} ms) and {service} service times (mean {:.3} ms)",
        means[0], means[1]
    );
    if latency == service && ordered {
        (RuleOutcome::Pass, detail)
    } else {
        let why = "the two must cover the same operations, and latency includes service time";
        (RuleOutcome::Fail, format!("{detail}: {why}"))
    }
}

/// V6: every operation is in a histogram, once.
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
    let mut detail = format!(
        "{latency} latencies and {service} service times for {} successes, {errors} error times \
         for {failed} failures, {} lower bounds for {unknown} operations without an end",
        window.ok, window.censored_count
    );
    if window.clamped > 0 {
        detail += &format!(
            "; {} latencies of over an hour count as one hour",
            window.clamped
        );
    }
    // A real latency distribution fills many buckets; one that fills three is made up.
    let degenerate = latency >= 1000 && window.buckets_used <= 3;
    if degenerate {
        detail += &format!("; only {} different latencies", window.buckets_used);
    }
    let outcome = match (complete, degenerate || window.clamped > 0) {
        (false, _) => RuleOutcome::Fail,
        (true, true) => RuleOutcome::Warn,
        (true, false) => RuleOutcome::Pass,
    };
    (outcome, detail)
}

/// V8: failures are within the budget; a client time-out fails the trial.
pub(super) fn errors_in_budget(evidence: &Evidence, limits: &Limits) -> RuleResult {
    let window = &evidence.window;
    let (ended, failed) = (window.ended(), window.errors_count());
    if ended == 0 {
        return (
            RuleOutcome::Fail,
            "no operation ended in the window".to_owned(),
        );
    }
    if failed == 0 {
        return (
            RuleOutcome::Pass,
            format!("none of {} operations failed", count(ended)),
        );
    }
    let share = failed as f64 / ended as f64;
    let names: Vec<String> = window
        .errors
        .iter()
        .map(|(how, number)| format!("{} {}", count(*number), how.name()))
        .collect();
    let timed_out = limits.timeout_fails && window.errors_of(Outcome::ClientTimeout) > 0;
    // Failures during a fault or an upgrade are expected; the limit is for an undisturbed target.
    let beside = evidence.faults_words();
    let outcome = if beside.is_some() {
        RuleOutcome::Warn
    } else if timed_out || share > limits.errors_share {
        RuleOutcome::Fail
    } else {
        RuleOutcome::Warn
    };
    let rule = match (beside, timed_out) {
        (Some(kinds), _) => format!("in a trial with {kinds}"),
        (None, true) => format!("{}; one client time-out fails a trial", percent(share)),
        (None, false) => format!("{}; limit {}", percent(share), percent(limits.errors_share)),
    };
    let detail = format!(
        "{} of {} operations failed ({rule}): {}",
        count(failed),
        count(ended),
        names.join(", ")
    );
    // The client's error is the last consequence, not the first cause.
    let causes = evidence.causes.iter().map(|cause| format!("; {cause}"));
    (outcome, detail + &causes.collect::<String>())
}

/// V12: the window was long enough, warmed up, without drift, and has the samples for its p99.
pub(super) fn window(evidence: &Evidence, limits: &Limits) -> RuleResult {
    let window = &evidence.window;
    if let Some(why) = &evidence.aborted {
        let detail = format!(
            "the trial ended after {:.1} s of the window: {why}",
            window.seconds
        );
        return (RuleOutcome::Fail, detail);
    }
    // The detail is also the reason of the verdict: the problems, or everything if there are none.
    let (mut wrong, mut right) = (Vec::new(), Vec::new());
    let mut note = |is_wrong: bool, text: String| {
        if is_wrong {
            wrong.push(text)
        } else {
            right.push(text)
        }
    };
    // The last interval may end a little early.
    let least = limits.window_s.max(evidence.planned_s);
    let short = window.seconds < least * 0.99;
    note(
        short,
        format!("{:.1} s measured (at least {least:.0} s)", window.seconds),
    );
    let needed = VALUES_ABOVE_MIN * 100.0;
    let few = (window.ok as f64) < needed;
    note(
        few,
        format!(
            "{} values (p99 needs {})",
            count(window.ok),
            count(needed as u64)
        ),
    );
    match evidence.warmup {
        Some(SteadyState::Detected) => note(false, "steady before the window began".to_owned()),
        Some(_) => note(
            true,
            "no steady state was seen before the window began".to_owned(),
        ),
        None => note(false, "after a warm-up of a fixed length".to_owned()),
    }
    let (is_drifting, drift) = drift_words(window, limits, evidence.warmup.is_none());
    note(is_drifting, drift);
    if wrong.is_empty() {
        (RuleOutcome::Pass, right.join(", "))
    } else {
        (RuleOutcome::Warn, wrong.join(", "))
    }
}

/// Returns true if throughput drifted over the window or may have, with the words for it.
fn drift_words(window: &Window, limits: &Limits, is_fixed: bool) -> (bool, String) {
    let trend = window.trend();
    let (drift, limit) = (percent(trend.drift.abs()), percent(limits.drift_share));
    let went = if trend.drift < 0.0 { "fell" } else { "rose" };
    if trend.matters(limits.drift_share) {
        let advice = if is_fixed && trend.drift > 0.0 {
            "; `window.warmup: auto` waits for a steady state"
        } else {
            ""
        };
        let said = format!("throughput {went} by {drift} over the window (limit {limit}){advice}");
        (true, said)
    } else if trend.is_untold(limits.drift_share) {
        let said = format!(
            "throughput {went} by {drift} over the window (limit {limit}), and {} values are \
             too few to tell this from chance",
            trend.count
        );
        (true, said)
    } else {
        let chance = if trend.is_significant() {
            ""
        } else {
            ", no more than chance"
        };
        (
            false,
            format!(
                "throughput drifted by {}{chance} (limit {limit})",
                percent(trend.drift)
            ),
        )
    }
}
