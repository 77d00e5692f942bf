//! The points of a run. A point merges all blocks of one variant at one load.
//!
//! Throughput is the arithmetic mean over the blocks, which have equal weight. A percentile is that
//! of all operations of all blocks together, from the histograms on disk. cassay never averages
//! percentiles, so 11.2 and 27.4 ms do not become "19.3 ms".

use super::used_trials::usable;
use analysis::VariantName;
use analysis::procedure::Point;
use analysis::rules::Verdict;
use analysis::sweep::{Knee, Reading, State, SweepStep, read_sweep};
use anyhow::Result;
use std::path::Path;
use store::record::{
    CostKind, CostRecord, MeasurementRecord, PointRecord, QuantilesRecord, RuleOutcome, RuleRecord,
    SweepRecord, TrialFinding, WithoutKnee,
};
use store::{HistogramKind, Run, WindowHistograms};

/// Function that returns the latency of several trials together. It returns `None` if their logs
/// cannot be read.
pub type Merge<'a> = dyn Fn(&[&TrialFinding]) -> Option<QuantilesRecord> + 'a;

/// Returns a [`Merge`] function that reads the logs of the run at `path`. Its results are the same
/// after the run was resumed.
///
/// # Errors
/// The run cannot be read.
pub fn read_back(path: &Path) -> Result<impl Fn(&[&TrialFinding]) -> Option<QuantilesRecord>> {
    let trials = Run::open(path)?.trials()?;
    Ok(move |findings: &[&TrialFinding]| {
        let mut window = WindowHistograms::default();
        for finding in findings {
            let trial = trials.iter().find(|t| t.record.index == finding.index)?;
            window.add(trial, HistogramKind::Latency, finding).ok()?;
        }
        Some(store::convert::times_ms(&window.all))
    })
}

/// Share by which an open loop must fall short of its rate to count as saturated. It equals the
/// margin within which two throughputs count as equal.
const SHORTFALL_MIN: f64 = 0.03;
/// Limit for the ratio of p99 latency to p50 latency. With a lower ratio, no queue has grown.
const STEADY_RATIO: f64 = 1.5;
/// Returns the state of a trial, which decides which conclusions may use the trial. A trial that
/// fell short is unusable if a stopped client explains the missing operations: the target may have
/// kept up.
pub fn state_of(trial: &TrialFinding) -> State {
    match missing_s(trial) {
        Some(missing_s) if is_of_client(trial, missing_s) => State::Unusable,
        Some(_) => State::Saturated,
        None if usable(trial) => State::Kept,
        None => State::Unusable,
    }
}

/// Returns true if the target completed fewer operations than were offered, and the trial had no
/// other problem.
pub fn is_saturated(trial: &TrialFinding) -> bool {
    state_of(trial) == State::Saturated
}

/// Returns the time, in seconds, that the missing operations take at the rate. Returns `None`
/// unless the target is the cause. Failed operations count as completed. Rule V1 may warn, because
/// a slow target delays operations at the limit of operations in flight. Rule V8 may fail, because
/// operations time out at saturation.
fn missing_s(trial: &TrialFinding) -> Option<f64> {
    let rate = match trial.point {
        Some(Point::Rate(rate)) if trial.all.ops > 0 => rate as f64,
        _ => return None,
    };
    let fails = trial.rules.iter().filter(|rule| rule.result == RuleOutcome::Fail);
    let timed_out = trial.errors.keys().all(|how| how == "client_timeout");
    let only_timed_out = timed_out && fails.clone().all(|rule| rule.rule == "V8");
    let is_explained = usable(trial) || (fails.count() > 0 && only_timed_out);
    let failed: u64 = trial.errors.values().sum();
    let done = trial.all.ops_per_s + failed as f64 / trial.seconds.max(1e-9);
    let is_short = |done: f64| done < rate * (1.0 - SHORTFALL_MIN);
    let later = trial.later_ended_per_s.unwrap_or(done);
    let missing_s = (1.0 - done / rate) * trial.seconds;
    let is_target = is_explained && is_short(done) && is_short(later);
    (is_target && !is_only_slow(trial, missing_s)).then_some(missing_s)
}

/// Returns true if a client was stopped for so long that the other missing operations are not a
/// shortfall. Rule V4 checks that every client ran without interruption, and measures the
/// interruptions.
fn is_of_client(trial: &TrialFinding, missing_s: f64) -> bool {
    let is_away = |rule: &&RuleRecord| {
        rule.rule == "V4" && matches!(rule.result, RuleOutcome::Warn | RuleOutcome::Fail)
    };
    let Some(rule) = trial.rules.iter().find(is_away) else {
        return false;
    };
    let seconds = |measured: &MeasurementRecord| match measured.quantity.unit() {
        "share" => measured.value * trial.seconds,
        _ => measured.value,
    };
    // The record of an earlier version does not contain the measurements of rules.
    let stalled_s = trial.client.stalled_share * trial.seconds;
    let away_s = rule.measured.iter().map(seconds).fold(stalled_s, f64::max);
    missing_s - away_s <= SHORTFALL_MIN * trial.seconds
}

/// Returns true if the operations that are missing at the end of the window were in flight at that
/// time, and latency did not grow. With a growing queue, latency rises from zero during the window,
/// so that its p99 is twice its median.
fn is_only_slow(trial: &TrialFinding, missing_s: f64) -> bool {
    let latency = &trial.all.latency_ms;
    let (p50_ms, p99_ms) = (latency.p50.least(), latency.p99.least());
    !latency.at_least().contains(&"p99")
        && p99_ms < STEADY_RATIO * p50_ms
        && missing_s * 1e3 <= STEADY_RATIO * p50_ms
}

/// Returns the points of each variant that have a usable trial. If blocks differ, a point is
/// saturated if most of its blocks are saturated. In case of a tie, the target counts as having
/// kept up.
pub fn points(
    variants: &[&VariantName],
    trials: &[TrialFinding],
    merge: &Merge<'_>,
) -> Vec<PointRecord> {
    let of = |variant: &VariantName| -> Vec<PointRecord> {
        let places = places_of(trials, variant).into_iter();
        places.filter_map(|place| point(trials, variant, place, merge)).collect()
    };
    variants.iter().flat_map(|variant| of(variant)).collect()
}

/// Adds the points that have no usable trial. Such a point consists of all its trials in which an
/// operation succeeded, and has the verdict `invalid`. cassay shows and exports these points, but
/// does not draw conclusions from them.
pub fn add_invalid(
    variants: &[&VariantName],
    trials: &[TrialFinding],
    points: &mut Vec<PointRecord>,
    merge: &Merge<'_>,
) {
    let mut invalid = Vec::new();
    for variant in variants {
        for place in places_of(trials, variant) {
            let is_here = |point: &PointRecord| point.variant == **variant && point.point == place;
            let here: Vec<&TrialFinding> = trials
                .iter()
                .filter(|t| t.variant == **variant && t.point == place && t.all.ops > 0)
                .collect();
            if !here.is_empty() && !points.iter().any(is_here) {
                let all = here.len();
                invalid.push(PointRecord {
                    verdict: Verdict::Invalid,
                    ..made_of(variant, place, &here, all, merge)
                });
            }
        }
    }
    points.extend(invalid);
}

fn point(
    trials: &[TrialFinding],
    variant: &VariantName,
    place: Option<Point>,
    merge: &Merge<'_>,
) -> Option<PointRecord> {
    let here: Vec<&TrialFinding> =
        trials.iter().filter(|t| t.variant == *variant && t.point == place).collect();
    let in_state = |state: State| -> Vec<&TrialFinding> {
        let same = here.iter().filter(|trial| state_of(trial) == state);
        same.copied().collect()
    };
    // The record uses only the blocks in the more frequent state. The other blocks count as left
    // out.
    let (kept, saturated) = (in_state(State::Kept), in_state(State::Saturated));
    let is_saturated = saturated.len() > kept.len();
    let used = if is_saturated { saturated } else { kept };
    (!used.is_empty()).then(|| PointRecord {
        saturated: is_saturated,
        ..made_of(variant, place, &used, here.len(), merge)
    })
}

/// Merges the trials `used` of a variant at a point into a record. `all` is the number of all
/// trials of the variant at this point.
fn made_of(
    variant: &VariantName,
    place: Option<Point>,
    used: &[&TrialFinding],
    all: usize,
    merge: &Merge<'_>,
) -> PointRecord {
    let blocks: Vec<f64> = used.iter().map(|trial| trial.all.ops_per_s).collect();
    PointRecord {
        variant: variant.clone(),
        point: place,
        verdict: Verdict::worst(used.iter().map(|trial| trial.verdict)),
        blocks: blocks.len(),
        trials: used.iter().map(|trial| trial.index).collect(),
        left_out: all - blocks.len(),
        ops_per_s: analysis::autocorrelation::mean(&blocks),
        ops_per_s_ci95: match used {
            [one] => one.all.ops_per_s_ci95,
            _ => analysis::autocorrelation::mean_of_blocks_ci95(&blocks),
        },
        ops_per_s_blocks: blocks,
        short_window: used.iter().any(|trial| trial.short_window),
        few_incidents: matches!(used, [one] if one.all.few_incidents),
        latency_ms: match used {
            [one] => one.all.latency_ms.clone(),
            several => merge(several).unwrap_or_default(),
        },
        costs: costs_of(used),
        ..PointRecord::default()
    }
}

pub fn costs_of(trials: &[&TrialFinding]) -> Vec<CostRecord> {
    let of = |cost: CostKind| {
        let values: Vec<f64> =
            trials.iter().filter_map(|trial| trial.costs.get(&cost).copied()).collect();
        (!values.is_empty()).then(|| CostRecord {
            cost,
            mean: analysis::autocorrelation::mean(&values),
            ci95: analysis::autocorrelation::mean_of_blocks_ci95(&values),
            blocks: values.len(),
        })
    };
    CostKind::ALL.into_iter().filter_map(of).collect()
}

/// Returns the points of a variant's trials, ordered by load.
pub fn places_of(trials: &[TrialFinding], variant: &VariantName) -> Vec<Option<Point>> {
    let mut places: Vec<Option<Point>> = Vec::new();
    for trial in trials.iter().filter(|trial| trial.variant == *variant) {
        if !places.contains(&trial.point) {
            places.push(trial.point);
        }
    }
    places.sort_by(|a, b| load_of(*a).total_cmp(&load_of(*b)));
    places
}

/// Returns the load of a point on its axis, or 0 without a point.
pub fn load_of(point: Option<Point>) -> f64 {
    point.map_or(0.0, Point::value)
}

pub fn sweep(points: &[&PointRecord], p99_bound_ms: Option<f64>) -> Reading {
    let rung = |point: &&PointRecord| SweepStep {
        load: load_of(point.point),
        ops_per_s: point.ops_per_s_blocks.clone(),
        p99_ms: point.latency_ms.p99,
        state: if point.saturated {
            State::Saturated
        } else {
            State::Kept
        },
    };
    let rungs: Vec<SweepStep> = points.iter().map(rung).collect();
    read_sweep(&rungs, p99_bound_ms)
}

pub fn sweep_record(points: &[&PointRecord], sweep: &Reading) -> Option<SweepRecord> {
    let place = |at: usize| points[at].point;
    Some(SweepRecord {
        variant: points.first().filter(|_| points.len() > 1)?.variant.clone(),
        best: sweep.best.and_then(place),
        best_within_bound: sweep.best_within_bound.and_then(place),
        inconclusive_within_bound: sweep.inconclusive_within_bound.and_then(place),
        saturated_from: sweep.saturated_from.and_then(place),
        knee: match sweep.knee {
            Knee::At(at) => place(at),
            Knee::Growing | Knee::Inconclusive => None,
        },
        without_knee: match sweep.knee {
            Knee::At(_) => None,
            Knee::Growing => Some(WithoutKnee::Growing),
            Knee::Inconclusive => Some(WithoutKnee::Inconclusive),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::rules::Quantity;
    use measure::Known;

    fn at_rate(ops_per_s: f64, errors: &[(&str, u64)], verdict: Verdict, fails: &[&str]) -> State {
        let rule = |name: &&str| RuleRecord {
            rule: (*name).to_owned(),
            result: RuleOutcome::Fail,
            detail: String::new(),
            measured: Vec::new(),
        };
        let mut trial = TrialFinding {
            point: Some(Point::Rate(1000)),
            verdict,
            rules: fails.iter().map(rule).collect(),
            seconds: 10.0,
            errors: errors.iter().map(|(how, n)| ((*how).to_owned(), *n)).collect(),
            ..TrialFinding::default()
        };
        trial.all.ops = 1;
        trial.all.ops_per_s = ops_per_s;
        state_of(&trial)
    }

    #[test]
    fn a_rate_with_less_throughput_and_no_problem_is_saturated() {
        assert_eq!(at_rate(995.0, &[], Verdict::Valid, &[]), State::Kept);
        assert_eq!(at_rate(800.0, &[], Verdict::Suspect, &[]), State::Saturated);
        // In this trial, the client itself was late, so the limit of the target is unknown.
        assert_eq!(
            at_rate(800.0, &[], Verdict::Invalid, &["V1"]),
            State::Unusable
        );
        let timed_out = [("client_timeout", 500)];
        assert_eq!(
            at_rate(800.0, &timed_out, Verdict::Invalid, &["V8"]),
            State::Saturated
        );
        // In this trial, the target kept up, but answered with errors.
        let refused = [("unavailable", 2000)];
        assert_eq!(
            at_rate(800.0, &refused, Verdict::Invalid, &["V8"]),
            State::Unusable
        );
        assert_eq!(at_rate(800.0, &refused, Verdict::Suspect, &[]), State::Kept);
    }

    /// Operations in flight at the end of a window are not a shortfall. For example, if a target
    /// answers after 300 ms, 5,700 of 6,000 operations end within a window of 6 s without a
    /// warm-up.
    #[test]
    fn operations_under_way_at_the_end_are_no_shortfall() {
        let state = |p50: f64, p99: f64, later: Option<f64>| {
            let mut trial = TrialFinding {
                point: Some(Point::Rate(1000)),
                verdict: Verdict::Suspect,
                seconds: 6.0,
                later_ended_per_s: later,
                ..TrialFinding::default()
            };
            (trial.all.ops, trial.all.ops_per_s) = (5700, 950.0);
            (trial.all.latency_ms.p50, trial.all.latency_ms.p99) = (p50.into(), p99.into());
            state_of(&trial)
        };
        assert_eq!(state(300.0, 302.0, None), State::Kept);
        assert_eq!(state(150.0, 900.0, Some(1000.0)), State::Kept);
        // This is a growing queue. The throughput does not change, but the latency rises.
        assert_eq!(state(150.0, 300.0, Some(950.0)), State::Saturated);
        // In this trial, more operations are missing than the latency can explain.
        assert_eq!(state(100.0, 101.0, Some(950.0)), State::Saturated);
        assert_eq!(state(150.0, 300.0, None), State::Saturated);
    }

    /// In one run, a client was stopped for 3 s, and the report stated that the target did not keep
    /// up.
    #[test]
    fn a_stopped_client_does_not_saturate_the_target() {
        let state = |result: RuleOutcome, stalled_s: f64, ops_per_s: f64| {
            let rule = RuleRecord {
                rule: "V4".to_owned(),
                result,
                detail: String::new(),
                measured: vec![MeasurementRecord {
                    quantity: Quantity::Stalled,
                    value: stalled_s,
                    limit: Some(0.12),
                    fail_limit: None,
                    minimum: false,
                    unit: "s".to_owned(),
                    place: None,
                }],
            };
            let mut trial = TrialFinding {
                point: Some(Point::Rate(1000)),
                verdict: Verdict::Suspect,
                seconds: 12.0,
                rules: vec![rule],
                ..TrialFinding::default()
            };
            (trial.all.ops, trial.all.ops_per_s) = (1, ops_per_s);
            state_of(&trial)
        };
        assert_eq!(state(RuleOutcome::Warn, 3.0, 850.0), State::Unusable);
        assert_eq!(state(RuleOutcome::Warn, 3.0, 990.0), State::Kept);
        // In this trial, 2.4 s are missing, and the stall explains only 0.2 s.
        assert_eq!(state(RuleOutcome::Warn, 0.2, 800.0), State::Saturated);
        assert_eq!(state(RuleOutcome::Pass, 0.1, 960.0), State::Saturated);
    }

    #[test]
    fn blocks_of_a_point_are_merged_and_never_averaged() {
        let trial = |block: usize, p99: f64| {
            let mut trial = TrialFinding {
                index: block,
                variant: VariantName::default(),
                block,
                verdict: Verdict::Valid,
                ..TrialFinding::default()
            };
            trial.all.ops_per_s = 1000.0;
            trial.all.latency_ms.p99 = p99.into();
            trial
        };
        // For a real run, an earlier version averaged these two values to 19.3.
        let trials = [trial(0, 11.24), trial(1, 27.36)];
        let merge = |of: &[&TrialFinding]| {
            assert_eq!(of.len(), 2);
            Some(QuantilesRecord {
                p99: 26.9.into(),
                ..QuantilesRecord::default()
            })
        };
        let found = points(&[&VariantName::default()], &trials, &merge);
        assert_eq!((found.len(), found[0].blocks, found[0].left_out), (1, 2, 0));
        assert_eq!(found[0].trials, [0, 1]);
        assert_eq!(found[0].latency_ms.p99, Known::Exactly(26.9));
        // If the logs cannot be read, the percentile is 0, because no average of the blocks'
        // percentiles would be right.
        let unread = points(&[&VariantName::default()], &trials, &|_| None);
        assert_eq!(unread[0].latency_ms.p99, Known::Exactly(0.0));
    }
}
