//! Converts measurements to records. Only this module converts nanoseconds to the ms and µs of the
//! files.

use crate::record::{ClientIntervalRecord, IntervalRecord, QuantilesRecord, VerifyRecord};
use measure::interval::CheckCounts;
use measure::{ClientInterval, Histogram, Interval, KindInterval, Times};
use std::collections::BTreeMap;

/// Kind of the line that contains the client's own figures.
pub const CLIENT_KIND: &str = "client";

/// Returns the mean and the quantiles of a histogram of ns, in ms. The figures lack confidence
/// intervals, because an interval needs the variation over the window, which a single histogram
/// does not contain.
pub fn quantiles_ms(values: &Histogram) -> QuantilesRecord {
    times_ms(&Times::from_logs(values.clone(), Histogram::new()))
}

/// Returns the mean and the quantiles of times in ms. Some of these times are lower bounds. If the
/// true times could change a figure, that figure is also a lower bound.
pub fn times_ms(times: &Times) -> QuantilesRecord {
    let ms = |q: f64| times.quantile_ns(q).divided_by(1e6);
    QuantilesRecord {
        count: times.all().count(),
        mean: times.mean_ns().divided_by(1e6),
        p50: ms(0.5),
        p95: ms(0.95),
        p99: ms(0.99),
        p999: ms(0.999),
        max: times.max_ns().divided_by(1e6),
        ci95: BTreeMap::new(),
        few_incidents: Vec::new(),
        censored: times.censored().count(),
    }
}

/// Returns the number of failed operations for each outcome, by the outcome's name in the records.
pub fn errors(outcomes: &measure::outcome::OutcomeCounts) -> BTreeMap<String, u64> {
    outcomes
        .errors_by_name()
        .map(|(name, count)| (name.to_owned(), count))
        .collect()
}

/// Converts the results of verified reads to a record.
pub fn verify(checks: &CheckCounts) -> VerifyRecord {
    VerifyRecord {
        checked: checks.checked,
        missing: checks.missing,
        lost: checks.lost,
        never_written: checks.never_written,
        stale: checks.stale,
        overwritten: checks.overwritten,
        wrong: checks.wrong,
        resurrected: checks.resurrected,
        deleted: checks.deleted,
        unconfirmed: checks.unconfirmed,
        missed_rows: Vec::new(),
    }
}

/// Returns the lines of one interval: one line for each kind of operation, in the order of `kinds`,
/// and the client's line. `start_line_ns` is the trial's start line on the monotonic clock.
pub fn interval_records(
    phase: &str,
    start_line_ns: u64,
    kinds: &[String],
    interval: &Interval,
) -> Vec<IntervalRecord> {
    let base = IntervalRecord {
        t_s: seconds_since(start_line_ns, interval.start_ns),
        seconds: interval.seconds(),
        phase: phase.to_owned(),
        ..IntervalRecord::default()
    };
    let mut lines: Vec<IntervalRecord> = interval
        .kinds
        .iter()
        .zip(kinds)
        .map(|(kind, name)| kind_record(&base, name, kind))
        .collect();
    lines.push(IntervalRecord {
        kind: CLIENT_KIND.to_owned(),
        client: Some(client_record(&interval.client, interval)),
        ..base
    });
    lines
}

/// Returns seconds from the start line to `at_ns`, rounded to the µs to keep lines short.
pub(crate) fn seconds_since(start_line_ns: u64, at_ns: u64) -> f64 {
    (at_ns.saturating_sub(start_line_ns) / 1000) as f64 / 1e6
}

fn kind_record(base: &IntervalRecord, name: &str, kind: &KindInterval) -> IntervalRecord {
    let some = |population: &Histogram, early: &Histogram| {
        let mut all = population.clone();
        all.add(early);
        (!all.is_empty()).then(|| quantiles_ms(&all))
    };
    IntervalRecord {
        kind: name.to_owned(),
        ok: kind.outcomes.get(measure::Outcome::Ok),
        errors: errors(&kind.outcomes),
        latency_ms: some(&kind.latency, &kind.early.latency),
        service_ms: some(&kind.service, &kind.early.service),
        error_ms: some(&kind.errors, &kind.early.errors),
        counts: kind.counts,
        verify: (kind.checks != CheckCounts::default()).then(|| verify(&kind.checks)),
        ..base.clone()
    }
}

fn client_record(client: &ClientInterval, interval: &Interval) -> ClientIntervalRecord {
    let (ended, length_ns) = (interval.ended(), interval.end_ns - interval.start_ns);
    let cpu_ns = client.cpu_ns as f64;
    let late = client.hiccups.late.as_ref().filter(|late| !late.is_empty());
    let late_ms = |of: &dyn Fn(&Histogram) -> u64| late.map(|late| of(late) as f64 / 1e6);
    ClientIntervalRecord {
        cpu_us_per_op: if ended == 0 {
            0.0
        } else {
            cpu_ns / 1e3 / ended as f64
        },
        cpu_share: if length_ns == 0 {
            0.0
        } else {
            cpu_ns / length_ns as f64
        },
        lag_us_p50: client.lag.quantile_ns(0.5) as f64 / 1e3,
        lag_us_p99: client.lag.quantile_ns(0.99) as f64 / 1e3,
        counts: client.counts,
        hiccup_ms_p99: late_ms(&|late| late.quantile_ns(0.99)),
        hiccup_ms_max: late_ms(&Histogram::max_ns),
        stalled_ms: client.hiccups.stalled_ns as f64 / 1e6,
        wait_share: match length_ns {
            0 => None,
            ns => client.wait_ns.map(|wait_ns| wait_ns as f64 / ns as f64),
        },
        quiet_ms: client.quiet_ns as f64 / 1e6,
    }
}
