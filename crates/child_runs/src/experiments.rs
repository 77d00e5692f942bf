//! Runs experiments after the trials of a run. The experiments test whether the resource that the
//! answer names really set the limit.
//!
//! Each experiment is a separate run in the folder `why` of the run. So it has a report, and the
//! user can interrupt and resume it. Invariant: the expected duration of all experiments together
//! does not exceed the time that the study permits.

use crate::starter::{ChildRuns, ChildRunsEnd};
use analysis::limits::LimitKind;
use analysis::procedure::Point;
use analysis::{Finding, VariantName};
use anyhow::Result;
use measure::number::{duration, round};
use std::path::Path;
use store::record::{
    ChangedSettingRecord, ComparisonRecord, EXPERIMENTS_FOLDER, ExperimentOutcome,
    ExperimentRecord, FindingsRecord, LimitRecord,
};
use study::counter_experiment::{self, ChangedSetting, MachineCpus, SettingChange};

/// Maximum number of experiments. More are not needed, because the first candidates explain almost
/// every limit.
const EXPERIMENTS_MAX: usize = 3;
/// Numbers of blocks to try, in order of preference. Fewer than three blocks would not yield a
/// useful confidence interval.
const BLOCKS: [usize; 4] = [6, 5, 4, 3];

/// Tests the candidates for the limit in the answer, one after the other, until one is confirmed or
/// [`EXPERIMENTS_MAX`] experiments have run. Adds the results to the findings, and to the sentence
/// in the answer.
///
/// # Errors
/// The files of an experiment cannot be written. A failure of the experiment's target is part of
/// the result, not an error.
pub fn test(runs: &mut ChildRuns<'_>, findings: &mut FindingsRecord) -> Result<ChildRunsEnd> {
    let Some(why) = runs.study.why else {
        return Ok(ChildRunsEnd::Done);
    };
    let Some(at) = findings::limit_of_answer(&findings.limits) else {
        return Ok(ChildRunsEnd::Done);
    };
    let mut left_s = why.minutes as f64 * 60.0;
    let limit = findings.limits[at].clone();
    let point = experiment_point(&limit, findings);
    let mut tested = limit.clone();
    let mut count = 0;
    for candidate in &mut tested.candidates {
        if count == EXPERIMENTS_MAX {
            break;
        }
        match experiment(runs, &limit, point, candidate.kind, &mut left_s)? {
            None => return Ok(ChildRunsEnd::Interrupted),
            Some(record) => {
                let outcome = record.outcome;
                count += usize::from(outcome != ExperimentOutcome::NotRun);
                candidate.experiment = Some(record);
                if outcome == ExperimentOutcome::Confirmed {
                    break;
                }
            }
        }
    }
    // A confirmed candidate is the answer, so it is moved to the front.
    tested.candidates.sort_by_key(|candidate| {
        let outcome = candidate.experiment.as_ref().map(|one| one.outcome);
        outcome != Some(ExperimentOutcome::Confirmed)
    });
    let said = std::mem::take(&mut tested.says);
    tested.says = sentences::limit::sentences(&tested);
    for sentence in findings.answer.iter_mut().filter(|sentence| **sentence == said) {
        sentence.clone_from(&tested.says);
    }
    findings.limits[at] = tested;
    Ok(ChildRunsEnd::Done)
}

/// Runs the experiment for one resource, or continues it. Returns `None` if the user pressed
/// Ctrl-C.
fn experiment(
    runs: &mut ChildRuns<'_>,
    limit: &LimitRecord,
    point: Option<Point>,
    kind: LimitKind,
    left_s: &mut f64,
) -> Result<Option<ExperimentRecord>> {
    let not_run = |reason: String| {
        Ok(Some(ExperimentRecord {
            reason,
            ..ExperimentRecord::default()
        }))
    };
    let variant = runs.study.variants.iter().find(|variant| variant.name == limit.variant);
    let (Some(variant), Some(point)) = (variant, point) else {
        return not_run(
            "the run has no load at which cassay could repeat the measurement".to_owned(),
        );
    };
    let cpus = MachineCpus {
        node: limit.nodes.first().map(|node| node.available),
        client: std::thread::available_parallelism().map_or(1, usize::from),
    };
    let change = match counter_experiment::change(kind, &variant.tree, cpus) {
        Ok(change) => change,
        Err(reason) => return not_run(reason),
    };
    // The experiment has as many blocks as fit into the remaining time.
    let texts =
        BLOCKS.map(|blocks| counter_experiment::text(runs.study, variant, point, &change, blocks));
    let fitting = runs.first_fitting(texts, *left_s, ("the experiment", "why.confirm.minutes"));
    let (study, plan) = match fitting {
        Ok(fitting) => fitting,
        Err(reason) => {
            let of_change = ExperimentRecord {
                reason,
                ..record_of(&change, point)
            };
            return Ok(Some(of_change));
        }
    };
    *left_s -= plan.estimate.seconds;
    (runs.say)(format!(
        "experiment: {} (about {})",
        study.question,
        duration(plan.estimate.seconds)
    ));
    let folder = Path::new(EXPERIMENTS_FOLDER).join(kind.name());
    let Some((path, found)) = runs.conduct(&study, &plan, folder)? else {
        return Ok(None);
    };
    Ok(Some(ExperimentRecord {
        run: runs.relative(&path),
        ..result(&change, point, &found)
    }))
}

/// Returns the load of an experiment. If the limit explains a difference between variants, this is
/// the load at which they differ. Otherwise, it is the load of [`busiest_point`].
fn experiment_point(limit: &LimitRecord, findings: &FindingsRecord) -> Option<Point> {
    if limit.other.is_some() {
        return limit.point;
    }
    busiest_point(&limit.variant, findings)
}

/// Returns the load at which a variant reached its highest throughput. Replaces a rate by a closed
/// loop with twice the operations in flight, because an open loop above the limit only builds a
/// backlog. `None` if the variant has no trial.
pub(crate) fn busiest_point(variant: &VariantName, findings: &FindingsRecord) -> Option<Point> {
    let of_variant = findings.trials.iter().filter(|trial| trial.variant == *variant);
    let best = of_variant.max_by(|one, other| one.all.ops_per_s.total_cmp(&other.all.ops_per_s))?;
    match best.point? {
        Point::Threads(_) => best.point,
        Point::Rate(_) => Some(Point::Threads(counter_experiment::threads_for(
            best.all.ops_per_s,
            best.all.latency_ms.p50.least(),
        ))),
    }
}

fn changed(one: &ChangedSetting) -> ChangedSettingRecord {
    ChangedSettingRecord {
        setting: one.setting.clone(),
        from: one.from.clone(),
        to: one.to.clone(),
    }
}

fn record_of(change: &SettingChange, point: Point) -> ExperimentRecord {
    ExperimentRecord {
        changes: change.settings.iter().map(changed).collect(),
        enlarges: change.enlarges,
        point: Some(point),
        ..ExperimentRecord::default()
    }
}

fn result(change: &SettingChange, point: Point, found: &FindingsRecord) -> ExperimentRecord {
    let record = record_of(change, point);
    let Some(compared) = found.comparisons.iter().find(|one| one.primary) else {
        return ExperimentRecord {
            outcome: ExperimentOutcome::Inconclusive,
            reason: "cassay cannot compare the trials of the experiment; the report of the \
                     experiment states the reasons"
                .to_owned(),
            ..record
        };
    };
    ExperimentRecord {
        outcome: outcome(compared, change.enlarges),
        metric: compared.metric.clone(),
        ratio: Some(round(compared.ratio, 4)),
        ci95: compared.ci95,
        blocks: compared.blocks,
        ..record
    }
}

/// Returns the outcome of a comparison. `Faster` and `Slower` already respect the direction of the
/// metric.
fn outcome(compared: &ComparisonRecord, enlarges: bool) -> ExperimentOutcome {
    match (compared.verdict, enlarges) {
        (Finding::Faster, true) | (Finding::Slower, false) => ExperimentOutcome::Confirmed,
        (Finding::Faster, false) | (Finding::Slower, true) | (Finding::Equivalent, _) => {
            ExperimentOutcome::Refuted
        }
        (Finding::Inconclusive | Finding::LooksDifferent, _) => ExperimentOutcome::Inconclusive,
    }
}

#[cfg(test)]
mod tests;
