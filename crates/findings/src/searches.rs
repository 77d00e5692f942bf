//! Summarizes the searches of a study, each alone and all searches of a variant together.
//!
//! A search finds a rate or a number of threads, and such results are compared by ratios. So
//! several searches are summarized by their geometric mean, with an interval by Student's t of the
//! logarithms. A search chooses each load by earlier results, so only whole searches are
//! repetitions of each other.

use super::used_trials::usable;
use crate::trial_outcome::found;
use analysis::procedure::{Answer, Ending, Next, Percentile, Procedure, Range, Role, SeenTrial};
use sentences::search::PointAtShare;
use std::collections::BTreeSet;
use store::record::{
    SearchOutcome, SearchRangeRecord, SearchRecord, SearchResult, SearchStepRecord, TrialFinding,
};
use study::settings::{Study, Variant};

/// Returns every search, grouped by variant.
pub fn searches(study: &Study, trials: &[TrialFinding]) -> Vec<SearchRecord> {
    let mut records = Vec::new();
    for variant in &study.variants {
        let Some((name, goal)) = variant.settings.procedure.goal() else {
            continue;
        };
        for block in 0..study.blocks() {
            let of = |t: &&TrialFinding| t.variant == variant.name && t.block == block;
            let of: Vec<&TrialFinding> = trials.iter().filter(of).collect();
            if of.is_empty() {
                continue;
            }
            records.push(SearchRecord {
                variant: variant.name.clone(),
                block,
                procedure: name,
                goal: goal.clone(),
                ..search(variant, &of)
            });
        }
    }
    records
}

fn search(variant: &Variant, trials: &[&TrialFinding]) -> SearchRecord {
    let procedure = &variant.settings.procedure;
    let seen: Vec<SeenTrial> = trials.iter().filter_map(|trial| to_trial(variant, trial)).collect();
    let steps = trials.iter().zip(&seen).map(|(trial, seen)| step(procedure, trial, seen));
    let (ending, words) = match procedure.next(&seen) {
        Next::Answer(Answer::Searched(ending)) => {
            let words = ending.words(None);
            (Some(*ending), words)
        }
        Next::Answer(answer) => (None, answer.words()),
        Next::Measure(_) => (None, "the search did not finish".to_owned()),
    };
    let at = ending.as_ref().and_then(Ending::found_point);
    let outcome = ending.as_ref().map_or(SearchOutcome::Unfinished, Ending::outcome);
    let there = trials.iter().rfind(|trial| trial.point == at && usable(trial));
    SearchRecord {
        percentile: percentile(procedure),
        within_ms: procedure.within_ms(),
        outcome,
        ended: there.map(|trial| trial.index),
        ops_per_s: there.map(|trial| trial.all.ops_per_s),
        at,
        range: ending.as_ref().and_then(Ending::range).map(range),
        ending,
        words,
        steps: steps.collect(),
        ..SearchRecord::default()
    }
}

fn range(range: Range) -> SearchRangeRecord {
    SearchRangeRecord {
        at_least: range.always,
        below: range.never,
        kept: range.kept,
        trials: range.trials,
    }
}

/// Converts a trial to the form that the procedure uses. A trial without judged rules counts as
/// failed.
fn to_trial(variant: &Variant, trial: &TrialFinding) -> Option<SeenTrial> {
    let is_judged = !trial.rules.is_empty();
    Some(SeenTrial {
        point: trial.point?,
        role: trial.role,
        found: is_judged.then(|| found(&variant.settings, trial)),
    })
}

fn step(procedure: &Procedure, trial: &TrialFinding, seen: &SeenTrial) -> SearchStepRecord {
    let step = procedure.step(seen);
    let of = percentile(procedure);
    let latency = seen.found.as_ref().map(|found| found.latency_ms.get(of));
    SearchStepRecord {
        trial: trial.index,
        point: trial.point,
        role: seen.role,
        result: step.as_ref().map(|step| step.result).unwrap_or_default(),
        near: step.as_ref().is_some_and(|step| step.near),
        why: step.map_or(String::new(), |step| step.why),
        latency_ms: latency.map(|latency| latency.value.least()),
        at_least: latency.is_some_and(|latency| latency.value.is_at_least()),
        ci95_ms: latency.and_then(|latency| latency.ci95),
    }
}

/// Returns the percentile that the search bounds.
fn percentile(procedure: &Procedure) -> Percentile {
    procedure.bound().map_or(Percentile::P99, |bound| bound.of)
}

/// Returns the trials that do not count for the result of their search, if the search has a result.
/// In these trials, the load was too high, a disturbance may explain the result, or the search got
/// no answer.
pub fn beyond(searches: &[SearchRecord]) -> BTreeSet<usize> {
    let is_answer = |one: &&SearchRecord| {
        matches!(
            one.outcome,
            SearchOutcome::Held
                | SearchOutcome::Found
                | SearchOutcome::Nowhere
                | SearchOutcome::NotReached
        )
    };
    let steps = searches.iter().filter(is_answer).flat_map(|one| &one.steps);
    let is_beyond = |step: &&SearchStepRecord| {
        matches!(
            step.result,
            SearchResult::Fail
                | SearchResult::Above
                | SearchResult::PassDisturbed
                | SearchResult::NoAnswer
        )
    };
    steps.filter(is_beyond).map(|step| step.trial).collect()
}

/// Returns the measurements at a share of the load that the searches found, if the study requests
/// that.
pub fn at_share(variant: &Variant, trials: &[TrialFinding]) -> Option<PointAtShare> {
    let procedure = &variant.settings.procedure;
    let (share, of) = (procedure.expected()?, percentile(procedure));
    let is_expected =
        |t: &&TrialFinding| t.variant == variant.name && t.role == Role::Expected && usable(t);
    let did = |trial: &TrialFinding| {
        let found = found(&variant.settings, trial);
        let ms = found.latency_ms.get(of).value;
        (trial.point, found.ops_per_s, ms)
    };
    let trials = trials.iter().filter(is_expected).map(did).collect();
    Some(PointAtShare { share, of, trials })
}

#[cfg(test)]
mod tests;
