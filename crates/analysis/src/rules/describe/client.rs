//! Sentences on the measurements of the client, for rules V1, V2, V6, V8 and V12.

use crate::rules::evidence::Window;
use crate::rules::measurement::{Measurement, Quantity};
use crate::rules::statement::{Statement, percent};
use crate::trend::Trend;
use measure::Outcome;
use measure::number::count;

/// V1: states the share of the `scheduled` operations that the client sent in the window, because
/// the target did not keep up.
pub fn not_kept_up(share: f64, scheduled: f64, least: f64) -> Statement {
    let words = format!(
        "the target did not keep up with the rate: {} of {} requests were sent in the window \
         (minimum {})",
        percent(share),
        count(scheduled.round() as u64),
        percent(least)
    );
    let sent = Measurement::new(Quantity::SentInWindow, share);
    Statement::with(words, sent.warning_at(least))
}

/// V1: states the share of the `scheduled` operations that the client sent in the window.
pub fn sent_in_window(share: f64, scheduled: f64, least: f64) -> Statement {
    let words = format!(
        "{} of the {} scheduled requests were sent in the window (minimum {})",
        percent(share),
        count(scheduled.round() as u64),
        percent(least)
    );
    let sent = Measurement::new(Quantity::SentInWindow, share);
    Statement::with(words, sent.failing_at(least))
}

pub fn sent_late(share: f64, limits: [f64; 2]) -> Statement {
    let words = format!(
        "{} of the requests were sent more than 1 ms late (limit {})",
        percent(share),
        percent(limits[0])
    );
    let late = Measurement::new(Quantity::SentLate, share);
    Statement::with(words, late.within(limits))
}

/// V1: states the number of operations that waited because the limit of operations in flight was
/// reached.
pub fn waited_for_slot(number: u64) -> Statement {
    let words = format!(
        "{} waited for a free in-flight slot, which their latency includes \
         (`client.in_flight_max`)",
        count(number)
    );
    Statement::with(
        words,
        Measurement::counting(Quantity::WaitedForSlot, number),
    )
}

/// V1: states the number of operations that the client did not send in the window, for one of three
/// reasons.
pub fn not_sent_in_time(quantity: Quantity, number: u64) -> Statement {
    let what = match quantity {
        Quantity::SentAfterWindow => "sent after the window",
        Quantity::GivenUp => "dropped",
        _ => "never sent",
    };
    let words = format!("{} were {what}", count(number));
    Statement::with(words, Measurement::counting(quantity, number))
}

/// V1: states the number of sent operations. The rule uses this sentence if it has nothing else to
/// report.
pub fn sent_in_all(number: u64) -> Statement {
    format!("{} in all", count(number)).into()
}

/// V2: states the numbers of latencies and service times, and their means in ms.
pub fn two_clocks([latencies, services]: [u64; 2], means_ms: [f64; 2]) -> Statement {
    let [latency_ms, service_ms] = means_ms;
    Statement {
        words: format!(
            "{latencies} latencies (mean {latency_ms:.3} ms) and {services} service times (mean \
             {service_ms:.3} ms)"
        ),
        measured: vec![
            Measurement::new(Quantity::LatencyMean, latency_ms),
            Measurement::new(Quantity::ServiceMean, service_ms),
        ],
    }
}

/// V6: compares the numbers of values in the histograms with the outcomes. For `unknown`
/// operations, the client does not know when they ended.
pub fn histograms(window: &Window, failed: u64, unknown: u64) -> Statement {
    let [latency, service, errors] = window.values_count;
    let counts = [
        (Quantity::Latencies, latency),
        (Quantity::ServiceTimes, service),
        (Quantity::ErrorTimes, errors),
        (Quantity::LowerBounds, window.censored_count),
    ];
    Statement {
        words: format!(
            "{latency} latencies and {service} service times for {} successes, {errors} error \
             times for {failed} failures, {} lower bounds for {unknown} operations without an end",
            window.ok, window.censored_count
        ),
        measured: counts.map(|(quantity, count)| Measurement::counting(quantity, count)).into(),
    }
}

/// V6: states the number of latencies above the upper bound of the histogram.
pub fn over_an_hour(number: u64) -> Statement {
    Statement::with(
        format!("{number} latencies of over an hour count as one hour"),
        Measurement::counting(Quantity::OverAnHour, number),
    )
}

/// V6: states that the latencies have only few different values.
pub fn different_latencies(number: usize) -> Statement {
    Statement::with(
        format!("the trial has only {number} different latencies"),
        Measurement::counting(Quantity::DifferentLatencies, number as u64),
    )
}

pub fn none_failed(ended: u64) -> Statement {
    Statement::with(
        format!("none of {} operations failed", count(ended)),
        Measurement::new(Quantity::FailedOperations, 0.0),
    )
}

/// V8: states how many operations failed. `faults` names the faults of the trial, if any. In a
/// trial with faults, no limit applies. `timeout_fails` is true if one client timeout is enough to
/// fail the rule.
pub fn failures(
    window: &Window,
    limit: f64,
    faults: Option<&str>,
    timeout_fails: bool,
) -> Statement {
    let (ended, failed) = (window.ended(), window.errors_count());
    let names: Vec<String> = window
        .errors
        .iter()
        .map(|(how, number)| format!("{} {}", count(*number), how.name()))
        .collect();
    let share = failed as f64 / ended as f64;
    let failures = Measurement::new(Quantity::FailedOperations, share);
    let timeouts = window.errors_of(Outcome::ClientTimeout);
    let (rule, measured) = match (faults, timeout_fails && timeouts > 0) {
        (Some(kinds), _) => (format!("in a trial with {kinds}"), vec![failures]),
        (None, true) => {
            let timeouts = Measurement::counting(Quantity::ClientTimeouts, timeouts);
            (
                format!("{}; a single client timeout fails a trial", percent(share)),
                vec![timeouts.failing_at(1.0), failures],
            )
        }
        (None, false) => (
            format!("{}; limit {}", percent(share), percent(limit)),
            vec![failures.failing_at(limit)],
        ),
    };
    Statement {
        words: format!(
            "{} of {} operations failed ({rule}): {}",
            count(failed),
            count(ended),
            names.join(", ")
        ),
        measured,
    }
}

pub fn ended_early(seconds: f64, why: &str) -> Statement {
    Statement::with(
        format!("the trial ended after {seconds:.1} s of the window: {why}"),
        Measurement::new(Quantity::WindowLength, seconds),
    )
}

pub fn window_length(seconds: f64, least: f64) -> Statement {
    let length = Measurement::new(Quantity::WindowLength, seconds);
    Statement::with(
        format!("the measured window is {seconds:.1} s long (minimum {least:.0} s)"),
        length.warning_at(least),
    )
}

/// V12: states the number of successful operations, and the number that p99 requires.
pub fn successes(number: u64, least: f64) -> Statement {
    let words = format!(
        "the trial has {} latencies (p99 needs at least {})",
        count(number),
        count(least as u64)
    );
    let successes = Measurement::counting(Quantity::Successes, number);
    Statement::with(words, successes.warning_at(least))
}

/// V12: states that throughput drifted beyond the limit. The text `end` completes the sentence.
pub fn large_drift(trend: &Trend, limit: f64, end: &str) -> Statement {
    let went = if trend.drift < 0.0 { "fell" } else { "rose" };
    let words = format!(
        "throughput {went} by {} over the window (limit {}){end}",
        percent(trend.drift.abs()),
        percent(limit)
    );
    Statement::with(words, drift(trend, limit))
}

/// V12: states that throughput drifted beyond the limit, but that the window has too few values for
/// the test.
pub fn inconclusive_drift(trend: &Trend, limit: f64) -> Statement {
    let end = format!(", but {} values are too few to exclude chance", trend.count);
    large_drift(trend, limit, &end)
}

/// V12: states that throughput did not drift beyond the limit, or that the drift may be due to
/// chance.
pub fn small_drift(trend: &Trend, limit: f64) -> Statement {
    let chance = if trend.is_significant() {
        ""
    } else {
        ", which chance alone can explain"
    };
    let words = format!(
        "throughput drifted by {}{chance} (limit {})",
        percent(trend.drift),
        percent(limit)
    );
    Statement::with(words, drift(trend, limit))
}

fn drift(trend: &Trend, limit: f64) -> Measurement {
    Measurement::new(Quantity::ThroughputDrift, trend.drift).warning_at(limit)
}
