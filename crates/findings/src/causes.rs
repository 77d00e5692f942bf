//! Finds causes of a run's imprecision that become visible only when all trials are considered
//! together. In the list of causes, a cause comes before its consequences.
//!
//! Each rule judges one trial. So a rule cannot show that a node warmed up for the whole run, that
//! other programs came and went, or that compactions piled up.

use analysis::procedure::Point;
use analysis::{RunStep, RunTrend, VariantName, autocorrelation};
use store::record::{CauseKind, CauseRecord, CostKind, RuleOutcome, TrialFinding};

/// Minimum number of windows in which throughput must rise (or fall) for a trend of the run. At
/// most a quarter as many windows may show the opposite trend.
const WINDOWS_MIN: usize = 3;
/// Minimum backlog: the number of compactions that are pending on all nodes together at the end of
/// a run. Two nodes with four compactors each work on eight compactions at a time.
const BACKLOG_MIN: f64 = 16.0;
/// Minimum share of time in garbage collections that counts as a cause. Collections with this share
/// of time change throughput by as much as rule V12 allows.
const COLLECTIONS_MIN: f64 = 0.10;
/// Minimum number of blocks for reporting an outlier.
const BLOCKS_MIN: usize = 4;
/// Minimum share by which an outlier must differ from the other blocks.
const BLOCK_DIFFERS: f64 = 0.10;
/// Minimum number of robust standard deviations by which an outlier must differ from the other
/// blocks. The search for outliers among pairs uses the same number.
const BLOCK_Z: f64 = 5.0;
/// Lower bound for the standard deviation of blocks, as a share. Without this bound, any block
/// would seem to be an outlier when the other blocks agree to three significant digits.
const BLOCK_DEVIATION_LEAST: f64 = 0.01;

/// Returns the causes, each before its consequences. The list is empty if no cause was found.
pub fn causes(trials: &[TrialFinding]) -> Vec<CauseRecord> {
    let of = |trial: &&TrialFinding| !trial.rules.is_empty();
    let trials: Vec<&TrialFinding> = trials.iter().filter(of).collect();
    let found = [
        others(&trials),
        client(&trials),
        course(&trials),
        backlog(&trials),
        collections(&trials),
        odd_block(&trials),
    ];
    let mut causes: Vec<CauseRecord> = found.into_iter().flatten().collect();
    for cause in &mut causes {
        cause.of = trials.len();
        cause.says = sentences::cause::sentence(cause);
    }
    causes
}

/// Returns the trials in which this rule warned or failed.
fn against<'a>(trials: &[&'a TrialFinding], rule: &str) -> Vec<&'a TrialFinding> {
    let is_bad = |outcome: RuleOutcome| matches!(outcome, RuleOutcome::Warn | RuleOutcome::Fail);
    let speaks = |trial: &&&TrialFinding| {
        trial.rules.iter().any(|one| one.rule == rule && is_bad(one.result))
    };
    trials.iter().filter(speaks).copied().collect()
}

fn others(trials: &[&TrialFinding]) -> Option<CauseRecord> {
    let against = against(trials, "V18");
    let shares = against.iter().filter_map(|trial| trial.machine.as_ref()?.cpu_others);
    (!against.is_empty()).then(|| CauseRecord {
        kind: CauseKind::Others,
        trials: against.len(),
        share: shares.reduce(f64::max),
        ..CauseRecord::default()
    })
}

fn client(trials: &[&TrialFinding]) -> Option<CauseRecord> {
    let against = against(trials, "V3");
    (!against.is_empty()).then(|| CauseRecord {
        kind: CauseKind::Client,
        trials: against.len(),
        ..CauseRecord::default()
    })
}

/// Returns true if a trial shows the undisturbed target. Trials with faults and endurance trials do
/// not count, because the answer has separate sentences for them.
fn is_plain(trial: &TrialFinding) -> bool {
    trial.faults.is_empty() && trial.endurance.is_none() && trial.all.ops_per_s > 0.0
}

/// Returns a value that grows with the speed of the target. It is the throughput in a closed loop,
/// or the inverse of the median latency at a rate.
fn speed(trial: &TrialFinding) -> f64 {
    match trial.point {
        Some(Point::Rate(_)) => 1.0 / trial.all.latency_ms.p50.least(),
        _ => trial.all.ops_per_s,
    }
}

/// Finds a trend of speed across trials of the same variant at the same load, or otherwise a trend
/// of throughput within most windows.
fn course(trials: &[&TrialFinding]) -> Option<CauseRecord> {
    let plain: Vec<&TrialFinding> = trials.iter().filter(|one| is_plain(one)).copied().collect();
    let found = across(&plain).or_else(|| within_windows(&plain))?;
    Some(CauseRecord {
        trials: plain.iter().filter(|trial| goes(trial, found.kind)).count(),
        ..found
    })
}

fn across(plain: &[&TrialFinding]) -> Option<CauseRecord> {
    let mut configurations: Vec<(&VariantName, Option<Point>)> = Vec::new();
    let steps: Vec<RunStep> = plain
        .iter()
        .filter(|trial| trial.started_unix_ns > 0 && speed(trial).is_finite())
        .map(|trial| {
            let of = (&trial.variant, trial.point);
            let known = configurations.iter().position(|other| *other == of);
            let configuration = known.unwrap_or_else(|| {
                configurations.push(of);
                configurations.len() - 1
            });
            RunStep {
                configuration,
                at_s: trial.started_unix_ns as f64 / 1e9,
                value: speed(trial),
            }
        })
        .collect();
    let course = RunTrend::from_steps(&steps)?;
    let at_rate = |trial: &&TrialFinding| trial.point.is_some_and(Point::is_rate);
    let (metric, ends) = if plain.iter().all(at_rate) {
        ("latency_ms.p50", course.ends.map(|speed| 1.0 / speed))
    } else {
        ("ops_per_s", course.ends)
    };
    let kind = if course.is_rising() {
        CauseKind::Warming
    } else {
        CauseKind::Slowing
    };
    Some(CauseRecord {
        kind,
        metric: Some(metric.to_owned()),
        ends: Some(ends),
        arrived_s: course.arrived_s,
        ..CauseRecord::default()
    })
}

/// Returns true if throughput within the window of a trial changed in the direction of the run's
/// trend.
fn goes(trial: &TrialFinding, kind: CauseKind) -> bool {
    let is_warming = kind == CauseKind::Warming;
    trial.drift.is_some_and(|drift| (drift > 0.0) == is_warming)
}

fn within_windows(plain: &[&TrialFinding]) -> Option<CauseRecord> {
    let count = |kind| plain.iter().filter(|trial| goes(trial, kind)).count();
    let (up, down) = (count(CauseKind::Warming), count(CauseKind::Slowing));
    let is_course = |these: usize, those: usize| these >= WINDOWS_MIN && those * 4 <= these;
    let kind = if is_course(up, down) {
        CauseKind::Warming
    } else if is_course(down, up) {
        CauseKind::Slowing
    } else {
        return None;
    };
    Some(CauseRecord {
        kind,
        ..CauseRecord::default()
    })
}

fn backlog(trials: &[&TrialFinding]) -> Option<CauseRecord> {
    let pending: Vec<f64> = trials.iter().filter_map(|trial| trial.pending_compactions).collect();
    let (first, last) = (*pending.first()?, *pending.last()?);
    let course = analysis::trend::trend(&pending);
    let grew = last >= BACKLOG_MIN && last >= 2.0 * first && course.z > 0.0;
    let against = against(trials, "V10").len();
    (grew || against > 0).then(|| CauseRecord {
        kind: CauseKind::Backlog,
        trials: against,
        metric: grew.then(|| "pending_compactions".to_owned()),
        ends: grew.then_some([first, last]),
        ..CauseRecord::default()
    })
}

fn collections(trials: &[&TrialFinding]) -> Option<CauseRecord> {
    let share = |trial: &&&TrialFinding| {
        let share = trial.costs.get(&CostKind::Collections).copied();
        share.filter(|share| *share >= COLLECTIONS_MIN)
    };
    let shares: Vec<f64> = trials.iter().filter_map(|trial| share(&trial)).collect();
    Some(CauseRecord {
        kind: CauseKind::Collections,
        trials: shares.len(),
        share: Some(shares.into_iter().reduce(f64::max)?),
        ..CauseRecord::default()
    })
}

/// Finds the block whose trials are on average much slower, or much faster, than the median trial
/// of their configuration. Returns `None` if there are several such blocks.
fn odd_block(trials: &[&TrialFinding]) -> Option<CauseRecord> {
    let plain = || trials.iter().filter(|trial| is_plain(trial));
    let same = |a: &TrialFinding, b: &TrialFinding| (&a.variant, a.point) == (&b.variant, b.point);
    let beside = |trial: &TrialFinding| {
        let of: Vec<f64> =
            plain().filter(|other| same(other, trial)).map(|one| speed(one).ln()).collect();
        (of.len() >= BLOCKS_MIN).then(|| speed(trial).ln() - autocorrelation::median(&of))
    };
    let mut blocks: Vec<(usize, Vec<f64>)> = Vec::new();
    for (block, away) in plain().filter_map(|trial| Some((trial.block, beside(trial)?))) {
        match blocks.iter_mut().find(|(number, _)| *number == block) {
            Some((_, of)) => of.push(away),
            None => blocks.push((block, vec![away])),
        }
    }
    let means: Vec<f64> = blocks.iter().map(|(_, of)| autocorrelation::mean(of)).collect();
    let (median, deviation) = autocorrelation::median_and_deviation(&means);
    let far = |mean: f64| (mean - median).abs();
    let odd = |mean: f64| {
        far(mean) > BLOCK_Z * deviation.max(BLOCK_DEVIATION_LEAST)
            && far(mean) > (1.0 + BLOCK_DIFFERS).ln()
    };
    let mut odd_ones = blocks.iter().zip(&means).filter(|(_, mean)| odd(**mean));
    let ((block, of), _) = odd_ones.next()?;
    (blocks.len() >= BLOCKS_MIN && odd_ones.next().is_none()).then(|| CauseRecord {
        kind: CauseKind::OddBlock,
        trials: of.len(),
        block: Some(block + 1),
        ..CauseRecord::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::record::{MachineRecord, RuleRecord};

    fn trial(variant: &str, block: usize, ops_per_s: f64) -> TrialFinding {
        let mut trial = TrialFinding {
            variant: variant.into(),
            point: Some(Point::Threads(32)),
            block,
            rules: vec![RuleRecord {
                rule: "V1".to_owned(),
                result: RuleOutcome::Pass,
                detail: String::new(),
                measured: Vec::new(),
            }],
            ..TrialFinding::default()
        };
        trial.all.ops_per_s = ops_per_s;
        trial.all.latency_ms.p50 = (32_000.0 / ops_per_s).into();
        trial
    }

    fn in_order(mut trials: Vec<TrialFinding>) -> Vec<TrialFinding> {
        for (at, trial) in trials.iter_mut().enumerate() {
            trial.index = at;
            trial.started_unix_ns = 1_000_000_000_000 + at as u64 * 30_000_000_000;
        }
        trials
    }

    fn sentences(trials: Vec<TrialFinding>) -> Vec<String> {
        causes(&in_order(trials)).into_iter().map(|cause| cause.says).collect()
    }

    fn rule(name: &str) -> RuleRecord {
        RuleRecord {
            rule: name.to_owned(),
            result: RuleOutcome::Warn,
            detail: "d".to_owned(),
            measured: Vec::new(),
        }
    }

    /// The input is six trials of two settings on a cold node. An earlier version judged each trial
    /// as unsteady, and answered that even a thousand blocks would not be enough for a decision.
    #[test]
    fn a_node_that_warms_up_over_the_run_is_named() {
        let ops = [7_200.0, 12_000.0, 22_500.0, 23_500.0, 31_500.0, 34_700.0];
        let trials = ops.iter().enumerate().map(|(at, ops)| {
            let variant = ["lz4", "zstd"][at % 2];
            trial(variant, at / 2, *ops)
        });
        assert_eq!(
            sentences(trials.collect()),
            [
                "The target was still warming up: 7,200 op/s in the first trial, 34,700 in the \
                 last."
            ]
        );
    }

    #[test]
    fn a_rate_that_is_kept_up_with_warms_up_by_its_median() {
        let medians = [4.0, 2.0, 1.5, 1.2, 1.1];
        let trials = medians.iter().enumerate().map(|(block, p50_ms)| {
            let mut one = trial("a", block, 1_500.0);
            one.point = Some(Point::Rate(1_500));
            one.all.latency_ms.p50 = (*p50_ms).into();
            one
        });
        assert_eq!(
            sentences(trials.collect()),
            [
                "The target was still warming up: a median latency of 4 ms in the first trial, 1.1 \
                 ms in the last."
            ]
        );
    }

    #[test]
    fn a_ladder_that_rises_within_its_windows_warms_up_too() {
        let trials = [8, 32, 128, 256].map(|threads| {
            let mut one = trial("a", 0, 1_000.0 * f64::from(threads));
            one.point = Some(Point::Threads(threads));
            one.drift = (threads < 256).then_some(0.4);
            one
        });
        assert_eq!(
            sentences(trials.into()),
            [
                "The target was still warming up: throughput rose within the windows (3 of 4 \
                 trials)."
            ]
        );
    }

    #[test]
    fn others_stand_before_what_follows_and_a_calm_run_has_no_cause() {
        let mut trials: Vec<TrialFinding> =
            (0..6).map(|block| trial("a", block, 1_000.0 + block as f64 % 3.0)).collect();
        assert_eq!(sentences(trials.clone()), Vec::<String>::new());
        trials[3].all.ops_per_s = 500.0;
        trials[3].rules.push(rule("V18"));
        trials[3].machine = Some(MachineRecord {
            cpu_others: Some(0.334),
            ..MachineRecord::default()
        });
        assert_eq!(
            sentences(trials),
            [
                "Other programs used the machine: up to 33 % of its CPU (1 of 6 trials).",
                "Block 4 differs from all others.",
            ]
        );
    }

    #[test]
    fn collections_that_stop_nodes_for_much_of_the_time_are_a_cause() {
        let of = |share: f64| {
            let mut one = trial("a", 0, 1_000.0);
            one.costs.insert(CostKind::Collections, share);
            one
        };
        assert_eq!(sentences(vec![of(0.02), of(0.06)]), Vec::<String>::new());
        assert_eq!(
            sentences(vec![of(0.02), of(0.234)]),
            ["Garbage collections stopped the nodes for up to 23 % of the time (1 of 2 trials)."]
        );
    }

    #[test]
    fn compactions_pile_up_from_trial_to_trial() {
        let pending = [2.0, 9.0, 20.0, 41.0, 84.0];
        let trials = pending.iter().enumerate().map(|(block, pending)| {
            let mut one = trial("a", block, 1_000.0);
            one.pending_compactions = Some(*pending);
            one
        });
        assert_eq!(
            sentences(trials.collect()),
            ["Compactions piled up: 2 were pending after the first trial, 84 after the last."]
        );
    }
}
