//! Rules about the client's measurements: V1, V2, V6, V8, V12.

use super::{Evidence, Limits, Outcome, Window, below, percent};
use crate::blocks::VALUES_ABOVE_MIN;
use crate::steady::SteadyState;
use crate::trend;
use measure::ClientCount;
use measure::Outcome as Ended;

type Judged = (Outcome, String);

/// V1: what was offered is what was scheduled, when it was scheduled.
///
/// The population must be what the schedule says, and be sent while the window lasts. What is sent
/// only after it, or never, is a shortfall, whoever held it back; with a limit in flight it is the
/// target that did not keep up. Its latencies are right all the same, or shown as lower bounds, so
/// that this is to be read with care. Lateness that no limit explains is the client's own.
pub(super) fn schedule(evidence: &Evidence, limits: &Limits) -> Judged {
    let Some(offered) = evidence.offered else {
        let detail = "closed loop: an operation is due when a slot is free, so none can be late";
        return (Outcome::Pass, detail.to_owned());
    };
    let window = &evidence.window;
    if offered.operations < 1.0 {
        return (
            Outcome::Unknown,
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
        Outcome::Pass => below(share(own), limits.late_share),
        _ => below(share(own), limits.late_share).max(Outcome::Warn),
    };
    let least = limits.achieved_share;
    let outcome = if due_share + chance < least {
        Outcome::Fail
    } else if in_time + chance >= least {
        late_outcome
    } else if is_held_back {
        late_outcome.max(Outcome::Warn)
    } else {
        Outcome::Fail
    };
    let mut detail = sent_words(
        window,
        (due - after.min(due), offered.operations),
        in_time,
        limits,
    );
    if in_time + chance < least && is_held_back {
        detail += ": the target did not keep up with the rate";
    }
    (outcome, detail)
}

/// How many operations were sent when, in words.
fn sent_words(
    window: &Window,
    (sent, scheduled): (u64, f64),
    in_time: f64,
    limits: &Limits,
) -> String {
    let late = window.client[ClientCount::Late] as f64 / scheduled;
    let mut detail = format!(
        "{sent} of {scheduled:.0} scheduled operations were sent in the window ({}; at least {}), \
         {} of them over 1 ms late (limit {})",
        percent(in_time),
        percent(limits.achieved_share),
        percent(late),
        percent(limits.late_share[0]),
    );
    if window.client[ClientCount::Limited] > 0 {
        detail += &format!(
            ", {} waited for an in-flight slot (in their latency; see client.in_flight_max)",
            window.client[ClientCount::Limited]
        );
    }
    detail += &format!(
        ", {} were sent after the window, {} dropped, {} never sent",
        window.client[ClientCount::SentInDrain],
        window.client[ClientCount::Dropped],
        window.client[ClientCount::DueNeverSent]
    );
    detail
}

/// V2: latency from the intended start and service time from the send, for the same operations.
pub(super) fn two_clocks(evidence: &Evidence) -> Judged {
    let window = &evidence.window;
    let [latency, service, _] = window.values_count;
    if latency == 0 && service == 0 {
        return (Outcome::Unknown, "no operation succeeded".to_owned());
    }
    let mean_ms = |sum: f64, count: u64| sum / count.max(1) as f64 / 1e6;
    let means = [
        mean_ms(window.sums_ns[0], latency),
        mean_ms(window.sums_ns[1], service),
    ];
    // The two round their values to three digits apart from each other.
    let ordered = means[0] >= means[1] * 0.998;
    let detail = format!(
        "{latency} latencies (mean {:.3} ms) and {service} service times (mean {:.3} ms)",
        means[0], means[1]
    );
    if latency == service && ordered {
        (Outcome::Pass, detail)
    } else {
        let why = "the two must cover the same operations, and latency holds service time";
        (Outcome::Fail, format!("{detail}: {why}"))
    }
}

/// V6: every operation is in a histogram, once.
pub(super) fn histograms_complete(evidence: &Evidence) -> Judged {
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
            "; {} latencies of over an hour stand at one hour",
            window.clamped
        );
    }
    // A real latency distribution fills many buckets; one that fills three is made up.
    let degenerate = latency >= 1000 && window.buckets_used <= 3;
    if degenerate {
        detail += &format!("; only {} different latencies", window.buckets_used);
    }
    let outcome = match (complete, degenerate || window.clamped > 0) {
        (false, _) => Outcome::Fail,
        (true, true) => Outcome::Warn,
        (true, false) => Outcome::Pass,
    };
    (outcome, detail)
}

/// V8: failures are within the budget; a client time-out fails the trial.
pub(super) fn errors_in_budget(evidence: &Evidence, limits: &Limits) -> Judged {
    let window = &evidence.window;
    let (ended, failed) = (window.ended(), window.errors_count());
    if ended == 0 {
        return (Outcome::Fail, "no operation ended in the window".to_owned());
    }
    if failed == 0 {
        return (Outcome::Pass, format!("none of {ended} operations failed"));
    }
    let share = failed as f64 / ended as f64;
    let names: Vec<String> = window
        .errors
        .iter()
        .map(|(how, count)| format!("{count} {}", how.name()))
        .collect();
    let timed_out = limits.timeout_fails && window.errors_of(Ended::ClientTimeout) > 0;
    // What fails while something is broken on purpose is what was asked.
    let is_broken = !evidence.faults.is_empty();
    let outcome = if is_broken {
        Outcome::Warn
    } else if timed_out || share > limits.errors_share {
        Outcome::Fail
    } else {
        Outcome::Warn
    };
    let rule = if is_broken {
        ", which is not applied where something is broken on purpose"
    } else if timed_out {
        "; one client time-out fails a trial"
    } else {
        ""
    };
    let detail = format!(
        "{failed} of {ended} operations failed: {} ({}; limit {}{rule})",
        names.join(", "),
        percent(share),
        percent(limits.errors_share)
    );
    // What a client is answered is the last thing that went wrong, not the first.
    let causes = evidence.causes.iter().map(|cause| format!("; {cause}"));
    (outcome, detail + &causes.collect::<String>())
}

/// V12: the window was long enough, warmed up, without drift, and has the samples for its p99.
pub(super) fn window(evidence: &Evidence, limits: &Limits) -> Judged {
    let window = &evidence.window;
    if let Some(why) = &evidence.aborted {
        let detail = format!(
            "the trial ended after {:.1} s of the window: {why}",
            window.seconds
        );
        return (Outcome::Fail, detail);
    }
    // What is wrong comes first: the detail is also the reason of the verdict.
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
    note(few, format!("{} values (p99 needs {needed:.0})", window.ok));
    match evidence.warmup {
        Some(SteadyState::Detected) => note(false, "steady before the window began".to_owned()),
        Some(_) => note(
            true,
            "no steady state was seen before the window began".to_owned(),
        ),
        None => note(false, "after a warm-up of a fixed length".to_owned()),
    }
    let trend = trend::trend_of_correlated(&thinned(&window.ops_per_s));
    let (drift, limit) = (percent(trend.drift), percent(limits.drift_share));
    let untold = trend.is_untold(limits.drift_share);
    let chance = match (trend.is_significant(), untold) {
        (true, _) => String::new(),
        (false, true) => format!(", and {} values are too few to tell", trend.count),
        (false, false) => ", no more than chance".to_owned(),
    };
    note(
        trend.matters(limits.drift_share) || untold,
        format!("throughput drifted by {drift}{chance} (limit {limit})"),
    );
    let outcome = if wrong.is_empty() {
        Outcome::Pass
    } else {
        Outcome::Warn
    };
    wrong.append(&mut right);
    (outcome, wrong.join(", "))
}

/// At most a few hundred means of neighbours: the trend test takes time with the square.
fn thinned(values: &[f64]) -> Vec<f64> {
    let size = values.len().div_ceil(300).max(1);
    values.chunks(size).map(crate::series::mean).collect()
}
