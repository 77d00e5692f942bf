//! From the findings of trials to those of the run: verdict, comparisons, the answer in sentences.

mod answer;
mod broken;
mod compared;
mod curves;
mod effects;
mod endured;
mod looked;
#[cfg(test)]
mod made;
mod points;
mod published;
mod required;
mod scaled;
mod screen;
mod searched;
#[cfg(test)]
mod simulated;
mod without_faults;
mod worth;

pub use compared::{noise, too_few_blocks};
pub use looked::{Ended, look};
pub use points::{Merge, is_saturated, read_back};
pub use without_faults::lay_beside;

use crate::record;
use analysis::procedure::{Point, Role};
use analysis::rules::Verdict;
use answer::Known;
use indexmap::{IndexMap, IndexSet};
use measure::number::count;
use std::collections::BTreeMap;
use store::record::{CountsRecord, FORMAT, FaultRecord, FindingsRecord, TrialFinding};
use study::plan::Trial;
use study::settings::Study;

/// The findings of a run. Trials that a search went beyond what it found in are its evidence that
/// this was too much, and no reason to believe it less. `merge` gives the latency of several trials
/// together; `stopped` says why the run ended before its plan did.
pub fn findings(
    study: &Study,
    trials: Vec<TrialFinding>,
    merge: &Merge<'_>,
    stopped: Option<&str>,
) -> FindingsRecord {
    let searches = searched::searches(study, &trials);
    let beyond = searched::beyond(&searches);
    let believed = trials.iter().filter(|trial| !beyond.contains(&trial.index));
    let (verdict, reasons) = verdict_and_reasons(&believed.collect::<Vec<_>>(), &trials, stopped);
    let once = once_each(&trials);
    let points = points::points(&study.names(), &once, merge);
    let blocks = compared::blocks_of(study, &trials);
    let compared = compared::comparisons(study, &once, &searches, blocks);
    let effects = effects::effects(study, &once, &searches, blocks);
    let curves = curves::curves(study, &once);
    let endured = endured::endured(study, &trials);
    let screens = screen::screens(study, &once);
    let prices = worth::prices(study, &points, &compared.records, &searches);
    let capacities = worth::capacities(study, &once, &points, &searches);
    let scale_ups = scaled::records(study, &once, &points, &searches);
    let known = Known {
        study,
        trials: &trials,
        searches: &searches,
        endured: &endured,
        points: &points,
        compared: &compared,
        effects: &effects,
        curves: &curves,
        scale_ups: &scale_ups,
        screens: &screens,
        prices: &prices,
        capacities: &capacities,
    };
    let (mut answer, sweeps) = known.answer();
    let requirements = required::requirements(&required::Found {
        study,
        trials: &trials,
        points: &points,
        sweeps: &sweeps,
        searches: &searches,
        comparisons: &compared.records,
    });
    answer.splice(0..0, required::sentence(&requirements));
    FindingsRecord {
        format: FORMAT,
        study: study.name.clone(),
        verdict,
        reasons,
        answer,
        faults: faults_of(&trials),
        published: published::published(study, &trials, &points, &searches),
        trials,
        points,
        searches,
        endured,
        sweeps,
        comparisons: compared.records,
        multiplicity: compared.multiplicity,
        prices,
        capacities,
        screens,
        curves,
        scale_ups,
        effects,
        requirements,
        ..FindingsRecord::default()
    }
}

fn faults_of(trials: &[TrialFinding]) -> Vec<FaultRecord> {
    let each = trials.iter().flat_map(|trial| &trial.faults);
    each.cloned().collect()
}

/// Whether the run may be believed, by the trials that it stands on, and why not.
fn verdict_and_reasons(
    believed: &[&TrialFinding],
    trials: &[TrialFinding],
    stopped: Option<&str>,
) -> (Verdict, Vec<String>) {
    let verdict = match stopped {
        Some(_) => Verdict::Invalid,
        None => Verdict::worst(believed.iter().map(|trial| trial.verdict)),
    };
    let mut reasons: Vec<String> = stopped
        .map(|why| format!("the run stopped before its plan did: {why}"))
        .into_iter()
        .collect();
    reasons.extend(reasons_of(believed));
    if trials.is_empty() {
        reasons.push("no trial was finished".to_owned());
    }
    (verdict, reasons)
}

/// Of the trials of a variant at one place in one block, the first that may be used, or else the
/// first: what holds it, or was measured again because nobody could believe it, is no further block
/// of its point. Of an endurance the long one, if that may be used.
fn once_each(trials: &[TrialFinding]) -> Vec<TrialFinding> {
    let mut once: Vec<TrialFinding> = Vec::with_capacity(trials.len());
    for trial in trials {
        let same = |other: &&mut TrialFinding| {
            (&other.variant, &other.point, other.block)
                == (&trial.variant, &trial.point, trial.block)
        };
        match once.iter_mut().find(same) {
            Some(other) if usable(trial) && (!usable(other) || endured::is_long(trial)) => {
                *other = trial.clone();
            }
            Some(_) => {}
            None => once.push(trial.clone()),
        }
    }
    once
}

/// Whether the findings of a run may be believed: its verdict is valid or suspect.
pub fn may_be_believed(findings: &FindingsRecord) -> bool {
    findings.verdict != Verdict::Invalid
}

/// Whether a requirement was missed.
pub fn misses_a_requirement(findings: &FindingsRecord) -> bool {
    findings.requirements.iter().any(|one| one.is_missed())
}

/// Sentences about one rule from which on one of them stands for all.
const REASONS_MANY: usize = 4;

/// Names beyond which a sentence has the first of them and how many there are.
const NAMES_MANY: usize = 4;

/// The reasons of all trials, each once, with the names of the trials that it is of. Of a rule with
/// many, the first, and of how many trials it is: each stands with its trial.
fn reasons_of(trials: &[&TrialFinding]) -> Vec<String> {
    let mut rules: IndexMap<&str, IndexMap<&str, Vec<&TrialFinding>>> = IndexMap::new();
    for trial in trials {
        for reason in &trial.reasons {
            let rule = reason.split(':').next().unwrap_or_default();
            let of = rules.entry(rule).or_default().entry(reason).or_default();
            of.push(trial);
        }
    }
    let has_blocks = trials.iter().any(|trial| trial.block > 0);
    let mut said = Vec::new();
    for reasons in rules.values() {
        let count: usize = reasons.values().map(Vec::len).sum();
        let first = |of: &[&TrialFinding]| names_of(&of[..1], has_blocks);
        let many = |count: usize, reason: &str, of: &[&TrialFinding]| {
            let all = trials.len();
            format!("in {count} of {all} trials, as {}: {reason}", first(of))
        };
        if reasons.len() >= REASONS_MANY {
            let first = reasons.iter().take(1);
            said.extend(first.map(|(reason, of)| many(count, reason, of)));
            continue;
        }
        said.extend(reasons.iter().map(|(reason, of)| {
            let names: IndexSet<String> = of.iter().map(|trial| name_of(trial)).collect();
            match names.len() > NAMES_MANY {
                true => many(of.len(), reason, of),
                false => format!("{}: {reason}", names_of(of, has_blocks)),
            }
        }));
    }
    said
}

/// `writes at 28 threads (blocks 1, 2), reads at 28 threads (block 1)`.
fn names_of(trials: &[&TrialFinding], has_blocks: bool) -> String {
    let mut names: IndexMap<String, Vec<usize>> = IndexMap::new();
    for trial in trials {
        names
            .entry(name_of(trial))
            .or_default()
            .push(trial.block + 1);
    }
    let named = |(name, blocks): (&String, &Vec<usize>)| match has_blocks {
        true => format!("{name} ({})", block_words(blocks)),
        false => name.clone(),
    };
    let names: Vec<String> = names.iter().map(named).collect();
    names.join(", ")
}

/// `writes at 28 threads`.
fn name_of(trial: &TrialFinding) -> String {
    let variant = match trial.variant.as_str() {
        "-" => "trial".to_owned(),
        name => name.to_owned(),
    };
    format!("{variant} at {}", point_words(&trial.point))
}

/// `block 3`, `blocks 1 to 4, 7`.
pub(crate) fn block_words(blocks: &[usize]) -> String {
    let mut sorted = blocks.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let runs = sorted.chunk_by(|one, next| one + 1 == *next);
    let words = |run: &[usize]| match run {
        [one] => one.to_string(),
        [one, next] => format!("{one}, {next}"),
        run => format!("{} to {}", run[0], run[run.len() - 1]),
    };
    let noun = if sorted.len() == 1 { "block" } else { "blocks" };
    format!("{noun} {}", runs.map(words).collect::<Vec<_>>().join(", "))
}

/// A trial in words: `writes, 28 threads, block 2`.
pub fn trial_name<P>(study: &Study, trial: &Trial<P>) -> String
where
    P: Copy + Into<Option<Point>>,
{
    let mut parts = Vec::new();
    let variant = &study.variants[trial.variant].name;
    if variant != "-" {
        parts.push(variant.clone());
    }
    let role = match trial.role {
        Role::Probe => String::new(),
        role => format!(" ({})", role.name()),
    };
    parts.push(match trial.point.into() {
        Some(point) => point_words(&record::point_record(Some(point))) + &role,
        None => "a point to be found".to_owned(),
    });
    parts.extend(block_of(study, trial.block));
    parts.join(", ")
}

/// `block 2`, `block 6 of 4 to 12`, `block 13, added`; nothing where there is one.
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

/// `28 threads`, `10000 op/s`.
pub fn point_words(point: &BTreeMap<String, f64>) -> String {
    let word = |(axis, value): (&String, &f64)| match axis.as_str() {
        "rate" => format!("{value} op/s"),
        axis => format!("{value} {axis}"),
    };
    point.iter().map(word).collect::<Vec<_>>().join(", ")
}

fn usable(trial: &TrialFinding) -> bool {
    trial.verdict != Verdict::Invalid
}

/// What the times of all trials do not tell: operations that were tried again or twice, or whose
/// condition did not hold, by kind. None if there were none.
fn besides_sentence(trials: &[TrialFinding]) -> Option<String> {
    let mut kinds: BTreeMap<&str, CountsRecord> = BTreeMap::new();
    for (kind, counts) in trials.iter().flat_map(|trial| &trial.counts) {
        let sum = kinds.entry(kind).or_default();
        sum.retries += counts.retries;
        sum.speculations += counts.speculations;
        sum.speculations_won += counts.speculations_won;
        sum.applied += counts.applied;
        sum.not_applied += counts.not_applied;
    }
    let by_kind = |what: &str, say: &dyn Fn(&CountsRecord) -> Option<String>| {
        let said = kinds.iter();
        let said = said.filter_map(|(kind, sum)| Some(format!("{kind} {}", say(sum)?)));
        let said: Vec<String> = said.collect();
        (!said.is_empty()).then(|| format!("{what}: {}", said.join(", ")))
    };
    let parts = [
        by_kind("retries", &|sum| {
            (sum.retries > 0).then(|| count(sum.retries))
        }),
        by_kind("speculative executions", &|sum| {
            let (sent, won) = (count(sum.speculations), count(sum.speculations_won));
            (sum.speculations > 0).then(|| format!("{sent} ({won} answered first)"))
        }),
        by_kind("conditions (LWT) not applied", &|sum| {
            let all = count(sum.applied + sum.not_applied);
            (sum.not_applied > 0).then(|| format!("{} of {all}", count(sum.not_applied)))
        }),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("All trials together: {}.", parts.join("; ")))
}

#[cfg(test)]
mod tests;
