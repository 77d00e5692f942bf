//! What the searches of a study came to: each by itself, and those of a variant together.
//!
//! What is found is a rate or a number of threads, and ratios are what is compared: several
//! searches together are their geometric mean, with an interval by Student's t of the logarithms
//! (evidence: a search is a path, so that only whole searches are repetitions).

use super::{block_words, point_words, usable};
use crate::found::found;
use crate::record::point_record;
use analysis::procedure::{Answer, BRACKET, Next, Percentile, Point, Procedure, Role, Seen};
use analysis::series;
use measure::Known;
use measure::number::{significant, whole};
use std::collections::BTreeSet;
use store::record::{
    SearchOutcome, SearchProcedure, SearchRecord, SearchResult, SearchStepRecord, TrialFinding,
};
use study::settings::{Study, Variant};

/// How many times as much the next point of a search's grid is, at `least`: the bracket at which it
/// ends, or a whole number.
pub fn grid(least: f64) -> f64 {
    BRACKET.max(1.0 + 1.0 / least)
}

/// Every search, variant by variant.
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
    let seen: Vec<Seen> = trials
        .iter()
        .filter_map(|trial| seen(variant, trial))
        .collect();
    let steps = trials.iter().zip(&seen);
    let steps = steps.map(|(trial, seen)| step(procedure, trial, seen));
    let (at, outcome, words) = match procedure.next(&seen) {
        Next::Answer(Answer::Searched { at, outcome, words }) => (at, outcome.into(), words),
        Next::Answer(answer) => (None, SearchOutcome::Unfinished, answer.words()),
        Next::Measure(_) => (
            None,
            SearchOutcome::Unfinished,
            "the search was not finished".to_owned(),
        ),
    };
    let at = point_record(at);
    let there = trials
        .iter()
        .rfind(|trial| trial.point == at && usable(trial));
    SearchRecord {
        outcome,
        ended: there.map(|trial| trial.index),
        ops_per_s: there.map(|trial| trial.all.ops_per_s),
        at,
        words,
        steps: steps.collect(),
        ..SearchRecord::default()
    }
}

/// As a procedure sees a trial; one that no rule has judged has failed.
fn seen(variant: &Variant, trial: &TrialFinding) -> Option<Seen> {
    let (axis, value) = trial.point.iter().next()?;
    let is_judged = !trial.rules.is_empty();
    Some(Seen {
        point: Point::named(axis, *value)?,
        role: Role::named(&trial.role),
        found: is_judged.then(|| found(&variant.settings, trial)),
    })
}

fn step(procedure: &Procedure, trial: &TrialFinding, seen: &Seen) -> SearchStepRecord {
    let step = procedure.step(seen);
    let of = percentile(procedure);
    let latency = seen.found.as_ref().map(|found| found.latency_ms.of(of));
    SearchStepRecord {
        trial: trial.index,
        point: trial.point.clone(),
        role: seen.role.name(),
        result: step.as_ref().map(|step| step.result).unwrap_or_default(),
        near: step.as_ref().is_some_and(|step| step.near),
        why: step.map_or(String::new(), |step| step.why),
        latency_ms: latency.map(|latency| latency.value.least()),
        at_least: latency.is_some_and(|latency| latency.value.is_at_least()),
        ci95_ms: latency.and_then(|latency| latency.ci95),
    }
}

/// The percentile that a search goes by.
fn percentile(procedure: &Procedure) -> Percentile {
    procedure.bound().map_or(Percentile::P99, |bound| bound.of)
}

/// The trials in which a search that came to an answer saw that a load is too much, or saw nothing
/// and looked again: what they came to is no part of what was found.
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
            SearchResult::Fail | SearchResult::Above | SearchResult::NoAnswer
        )
    };
    steps.filter(is_beyond).map(|step| step.trial).collect()
}

#[cfg(test)]
mod tests;
