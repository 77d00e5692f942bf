//! The only crate that turns finished trials into the findings of a run: effects of faults,
//! comparisons, the answer, the next step.
//!
//! Invariants: equal trials lead to equal findings. No conclusion is based on a trial that may not
//! be used. If a file cannot be read, only the findings that depend on it are missing.

mod answer;
mod causes;
mod comparisons;
mod costs;
mod curves;
#[cfg(test)]
mod data_first;
pub mod data_generation;
mod effects;
mod interim_looks;
mod limits;
mod long_trials;
mod next_step;
mod points;
mod price_performance;
pub mod profiles;
mod published;
pub mod recovery;
mod requirements;
mod scale_up;
mod screen;
mod searches;
#[cfg(test)]
mod simulated;
mod tail;
#[cfg(test)]
mod test_runs;
pub mod trial_outcome;
mod used_trials;
mod without_faults;

pub use comparisons::noise;
pub use interim_looks::{StopReason, look};
pub use limits::of_answer as limit_of_answer;
pub use points::Merge;
pub use requirements::look_for_earlier;

use analysis::rules::Verdict;
use answer::Facts;
use anyhow::{Error, Result};
use measure::clock;
use sentences::{data, requirement, trials as all};
use std::path::Path;
use store::Run;
use store::record::{
    FORMAT, FaultRecord, FindingsRecord, ReasonRecord, SearchRecord, TrialFinding,
};
use study::settings::Study;

/// Builds the findings of the run at `path` from its trials. The findings include comparisons with
/// other trials, the slowest operations, the use of time, and the next step. `stopped` is the
/// reason for an early end of the run. `say` receives the reason if a file cannot be read.
pub fn conclude(
    study: &Study,
    trials: Vec<TrialFinding>,
    path: &Path,
    stopped: Option<&str>,
    say: &mut dyn FnMut(String),
) -> FindingsRecord {
    let mut say_why = |error: Error| say(format!("{error:#}"));
    let mut found = match points::read_back(path) {
        Ok(merge) => combine(study, trials, &merge, stopped),
        Err(error) => {
            say_why(error);
            combine(study, trials, &|_| None, stopped)
        }
    };
    if let Err(error) = lay_beside(study, &mut found, path) {
        say_why(error);
    }
    if let Err(error) = tail::explain(&mut found, path) {
        say_why(error);
    }
    match Run::look(path) {
        Ok(run) => {
            let now_ns = clock::unix_ns();
            found.time_use = Some(store::time_use(&run.journal, now_ns, &found.trials));
            match profiles::of_trials(study, &run, &found.trials) {
                Ok(profiles) => found.profiles = profiles,
                Err(error) => say_why(error),
            }
        }
        Err(error) => say_why(error),
    }
    found.next = next_step::suggest(study, &found, path);
    found
}

/// Combines the trials of a run into its findings. Trials of a search at loads above its result do
/// not affect the verdict on the run. They only show that the load was too high. `merge` merges the
/// latency of several trials. `stopped` is the reason for an early end of the run.
pub fn combine(
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
    let endured = long_trials::endured(study, &trials);
    let screens = screen::screens(study, &once);
    let prices = price_performance::prices(study, &once, &points, &compared.records, &searches);
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
    limits::explain(study, &once, &mut found);
    begin_with_lead(&mut found);
    points::add_invalid(&study.names(), &once, &mut found.points, merge);
    found
}

/// Adds two comparisons to the findings of the run at `path`: with trials without faults, and with
/// an earlier run.
///
/// # Errors
/// A trial or the earlier run cannot be read. The first comparison that fails, and the one after
/// it, are not added.
fn lay_beside(study: &Study, found: &mut FindingsRecord, path: &Path) -> Result<()> {
    // The leading sentences are replaced, because they must also describe the added comparisons.
    let first = lead(found).len();
    found.answer.drain(..first);
    let added = without_faults::lay_beside(study, found, path)
        .and_then(|()| requirements::lay_earlier_beside(study, found, path));
    begin_with_lead(found);
    added
}

/// Returns the sentences with which every answer begins. They describe problems of the data, and
/// then the result of the requirements.
fn lead(found: &FindingsRecord) -> Vec<String> {
    let required = requirement::sentences(&found.requirements, found.verdict);
    data::against(&found.trials).into_iter().chain(required).collect()
}

/// Puts the leading sentences before the other sentences of the answer, and sets the alarms.
fn begin_with_lead(found: &mut FindingsRecord) {
    let lead = lead(found);
    found.alarms = if misses_a_requirement(found) {
        lead.clone()
    } else {
        data::against(&found.trials)
    };
    found.answer.splice(0..0, lead);
}

fn faults_of(trials: &[TrialFinding]) -> Vec<FaultRecord> {
    let each = trials.iter().flat_map(|trial| &trial.faults);
    each.cloned().collect()
}

/// Returns the verdict on the run, which ignores trials at loads that were too high for a search. A
/// run that ended early is invalid. Also returns the reasons for the verdict, as sentences and as
/// data.
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
        reasons.push(all::RunReason::of_run("no trial finished".to_owned()));
    }
    let each = reasons.into_iter().map(|reason| (reason.words, reason.record));
    let (words, records) = each.unzip();
    (verdict, words, records)
}

/// Returns true if the findings of a run may be used, which means that its verdict is valid or
/// suspect.
pub fn may_be_believed(findings: &FindingsRecord) -> bool {
    findings.verdict != Verdict::Invalid
}

/// Returns true if the run has missed a requirement.
pub fn misses_a_requirement(findings: &FindingsRecord) -> bool {
    findings.requirements.iter().any(|one| one.is_missed())
}

#[cfg(test)]
mod tests;
