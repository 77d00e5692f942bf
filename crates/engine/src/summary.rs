//! Turns the findings of trials into those of the run: verdict, comparisons, the answer in
//! sentences.

mod answer;
mod causes;
mod comparisons;
mod costs;
mod curves;
#[cfg(test)]
mod data_first;
mod effects;
mod endurance;
mod looks;
mod points;
mod price_performance;
mod published;
mod requirements;
mod scale_up;
mod screen;
mod searches;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod test_runs;
mod used_trials;
mod without_faults;

pub use comparisons::noise;
pub use looks::{StopReason, look};
pub use points::{Merge, is_saturated, read_back};
pub use requirements::look_for_earlier;

use analysis::procedure::{Point, Role};
use analysis::rules::Verdict;
use answer::Facts;
use anyhow::Result;
use sentences::place::point_words;
use sentences::{data, requirement, trials as all};
use std::path::Path;
use store::record::{
    FORMAT, FaultRecord, FindingsRecord, ReasonRecord, SearchRecord, TrialFinding,
};
use study::plan::Trial;
use study::settings::Study;

/// Adds comparisons with other trials to the findings of the run at `path`: with trials without
/// faults, and with an earlier run.
///
/// # Errors
/// One of them cannot be read; nothing is added then.
pub fn lay_beside(study: &Study, found: &mut FindingsRecord, path: &Path) -> Result<()> {
    // The leading sentences also report what is added.
    let first = lead(found).len();
    found.answer.drain(..first);
    let added = without_faults::lay_beside(study, found, path)
        .and_then(|()| requirements::lay_earlier_beside(study, found, path));
    begin_with_lead(found);
    added
}

/// Returns the sentences that begin any answer: problems of the data, then the result of the
/// requirements.
fn lead(found: &FindingsRecord) -> Vec<String> {
    let required = requirement::sentences(&found.requirements, found.verdict);
    data::against(&found.trials).into_iter().chain(required).collect()
}

/// Puts the leading sentences before the others.
fn begin_with_lead(found: &mut FindingsRecord) {
    let lead = lead(found);
    found.alarms = if misses_a_requirement(found) {
        lead.clone()
    } else {
        data::against(&found.trials)
    };
    found.answer.splice(0..0, lead);
}

/// Makes the findings of a run. Trials in which a search exceeded its result show that the load was
/// too much, and do not count against the run. `merge` merges the latency of several trials.
/// `stopped` says why the run ended early.
pub fn findings(
    study: &Study,
    trials: Vec<TrialFinding>,
    merge: &Merge<'_>,
    stopped: Option<&str>,
) -> FindingsRecord {
    let searches = searches::searches(study, &trials);
    let (verdict, reasons, reason_records) = verdict_and_reasons(&searches, &trials, stopped);
    let once = used_trials::once_each(&trials);
    let points = points::points(&study.names(), &once, merge);
    let blocks = comparisons::blocks_of(study, &trials);
    let compared = comparisons::comparisons(study, &once, &searches, blocks);
    let costs = costs::comparisons(study, &once);
    let effects = effects::effects(study, &once, &searches, blocks);
    let curves = curves::curves(study, &once);
    let endured = endurance::endured(study, &trials);
    let screens = screen::screens(study, &once);
    let prices = price_performance::prices(study, &points, &compared.records, &searches);
    let capacities = price_performance::capacities(study, &once, &points, &searches);
    let scale_ups = scale_up::records(study, &once, &points, &searches);
    let known = Facts {
        study,
        trials: &trials,
        searches: &searches,
        endured: &endured,
        points: &points,
        compared: &compared,
        costs: &costs,
        effects: &effects,
        curves: &curves,
        scale_ups: &scale_ups,
        screens: &screens,
        prices: &prices,
        capacities: &capacities,
    };
    let (answer, sweeps) = known.answer();
    let requirements = requirements::requirements(&known.required(&sweeps));
    let mut found = FindingsRecord {
        format: FORMAT,
        study: study.name.clone(),
        verdict,
        reasons,
        reason_records,
        answer,
        causes: causes::causes(&trials),
        faults: faults_of(&trials),
        published: published::published(study, &trials, &points, &searches),
        trials,
        points,
        searches,
        endured,
        sweeps,
        comparisons: compared.records,
        multiplicity: compared.multiplicity,
        cost_comparisons: costs,
        prices,
        capacities,
        screens,
        curves,
        scale_ups,
        effects,
        requirements,
        ..FindingsRecord::default()
    };
    begin_with_lead(&mut found);
    // Nothing above was concluded from these points.
    let invalid = points::invalid_points(&study.names(), &once, &found.points, merge);
    found.points.extend(invalid);
    found
}

fn faults_of(trials: &[TrialFinding]) -> Vec<FaultRecord> {
    let each = trials.iter().flat_map(|trial| &trial.faults);
    each.cloned().collect()
}

/// Returns the verdict of the run, judged by the trials that support it, and the reasons: as
/// sentences, and as data.
fn verdict_and_reasons(
    searches: &[SearchRecord],
    trials: &[TrialFinding],
    stopped: Option<&str>,
) -> (Verdict, Vec<String>, Vec<ReasonRecord>) {
    let beyond = searches::beyond(searches);
    let believed: Vec<&TrialFinding> =
        trials.iter().filter(|trial| !beyond.contains(&trial.index)).collect();
    let verdict = match stopped {
        Some(_) => Verdict::Invalid,
        None => Verdict::worst(believed.iter().map(|trial| trial.verdict)),
    };
    let mut reasons: Vec<all::RunReason> = stopped
        .map(|why| format!("the run ended before its last trial: {why}"))
        .map(all::RunReason::of_run)
        .into_iter()
        .collect();
    reasons.extend(all::reasons(&believed));
    if trials.is_empty() {
        reasons.push(all::RunReason::of_run("no trial was finished".to_owned()));
    }
    let each = reasons.into_iter().map(|reason| (reason.words, reason.record));
    let (words, records) = each.unzip();
    (verdict, words, records)
}

/// Returns true if the findings of a run may be used: its verdict is valid or suspect.
pub fn may_be_believed(findings: &FindingsRecord) -> bool {
    findings.verdict != Verdict::Invalid
}

/// Returns true if a requirement was missed.
pub fn misses_a_requirement(findings: &FindingsRecord) -> bool {
    findings.requirements.iter().any(|one| one.is_missed())
}

/// Names a trial: `writes, 28 threads, block 2`.
pub fn trial_name<P>(study: &Study, trial: &Trial<P>) -> String
where
    P: Copy + Into<Option<Point>>,
{
    let mut parts = Vec::new();
    let variant = study.variants[trial.variant].name.name();
    parts.extend(variant.map(str::to_owned));
    let role = match trial.role {
        Role::Probe => String::new(),
        role => format!(" ({})", role.name()),
    };
    parts.push(match trial.point.into() {
        Some(point) => point_words(Some(point)) + &role,
        None => "a point to be found".to_owned(),
    });
    parts.extend(block_of(study, trial.block));
    parts.join(", ")
}

/// Names the block: `block 2`, `block 6 of 4 to 12`, `block 13, added`. `None` if there is only
/// one.
fn block_of(study: &Study, block: usize) -> Option<String> {
    let number = block + 1;
    let planned = study.repeat.blocks;
    match study.repeat.first_look {
        _ if study.blocks() < 2 => None,
        _ if block >= planned => Some(format!("block {number}, added")),
        Some(least) => Some(format!("block {number} of {least} to {planned}")),
        None => Some(format!("block {number}")),
    }
}

#[cfg(test)]
mod tests;
