//! Summarizes facts about all trials together, and the reasons against some of them.

use crate::place::{block_words, point_words};
use analysis::rules::seriousness;
use indexmap::{IndexMap, IndexSet};
use measure::number::count;
use measure::{KindCount, KindCounts};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use store::record::{RuleOutcome, TrialFinding};

/// Number of sentences about one rule from which one of them represents all.
const REASONS_MANY: usize = 4;

/// Number of names beyond which a sentence has only the first one and their number.
const NAMES_MANY: usize = 4;

/// Returns the reasons of all trials, each once, with the names of its trials. Of a rule with many
/// reasons, only the first one and the number of trials are stated, since each is listed with its
/// trial.
pub fn reasons(trials: &[&TrialFinding]) -> Vec<String> {
    let mut rules: IndexMap<&str, IndexMap<&str, Vec<&TrialFinding>>> = IndexMap::new();
    for trial in trials {
        for reason in &trial.reasons {
            let rule = reason.split(':').next().unwrap_or_default();
            let of = rules.entry(rule).or_default().entry(reason).or_default();
            of.push(trial);
        }
    }
    let has_blocks = trials.iter().any(|trial| trial.block > 0);
    rules.sort_by_cached_key(|rule, _| (Reverse(worst(trials, rule)), seriousness(rule)));
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
            if names.len() > NAMES_MANY {
                many(of.len(), reason, of)
            } else {
                format!("{}: {reason}", names_of(of, has_blocks))
            }
        }));
    }
    said
}

/// Returns the worst result of a rule over all trials. A reason without a rule means that the trial
/// was aborted, which is worse than any rule.
fn worst(trials: &[&TrialFinding], rule: &str) -> Option<RuleOutcome> {
    if seriousness(rule) > seriousness("V16") {
        return Some(RuleOutcome::Fail);
    }
    let all = trials.iter().flat_map(|trial| &trial.rules);
    all.filter(|one| one.rule == rule).map(|one| one.result).max()
}

/// For example `writes at 28 threads (blocks 1, 2), reads at 28 threads (block 1)`.
pub(crate) fn names_of(trials: &[&TrialFinding], has_blocks: bool) -> String {
    let mut names: IndexMap<String, Vec<usize>> = IndexMap::new();
    for trial in trials {
        names.entry(name_of(trial)).or_default().push(trial.block + 1);
    }
    let named = |(name, blocks): (&String, &Vec<usize>)| {
        if has_blocks {
            format!("{name} ({})", block_words(blocks))
        } else {
            name.clone()
        }
    };
    let names: Vec<String> = names.iter().map(named).collect();
    names.join(", ")
}

/// For example `writes at 28 threads`.
fn name_of(trial: &TrialFinding) -> String {
    let variant = trial.variant.name().unwrap_or("trial");
    match trial.point {
        None => variant.to_owned(),
        place => format!("{variant} at {}", point_words(place)),
    }
}

/// Describes facts that the latencies of all trials do not show, by kind: unsent requests, repeated
/// or speculative operations, and conditions that did not hold. `None` if there were none.
pub fn besides(trials: &[TrialFinding]) -> Option<String> {
    let mut kinds: BTreeMap<&str, KindCounts> = BTreeMap::new();
    for (kind, counts) in trials.iter().flat_map(|trial| &trial.counts) {
        kinds.entry(kind).or_default().add(counts);
    }
    let by_kind = |what: &str, say: &dyn Fn(&KindCounts) -> Option<String>| {
        let said: Vec<String> = kinds
            .iter()
            .filter_map(|(kind, sum)| Some(format!("{kind} {}", say(sum)?)))
            .collect();
        (!said.is_empty()).then(|| format!("{what}: {}", said.join(", ")))
    };
    let never_sent: u64 = trials.iter().map(|trial| trial.due_never_sent).sum();
    let parts: Vec<String> = [
        (never_sent > 0).then(|| format!("{} requests were never sent", count(never_sent))),
        by_kind("retries", &|sum| {
            (sum[KindCount::Retries] > 0).then(|| count(sum[KindCount::Retries]))
        }),
        by_kind("speculative executions", &|sum| {
            let (sent, won) = (
                count(sum[KindCount::Speculations]),
                count(sum[KindCount::SpeculationsWon]),
            );
            (sum[KindCount::Speculations] > 0).then(|| format!("{sent} ({won} answered first)"))
        }),
        by_kind("conditions (LWT) not applied", &|sum| {
            let all = count(sum[KindCount::Applied] + sum[KindCount::NotApplied]);
            (sum[KindCount::NotApplied] > 0)
                .then(|| format!("{} of {all}", count(sum[KindCount::NotApplied])))
        }),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| format!("All trials together: {}.", parts.join("; ")))
}

/// States that the trials used several generations of data; `None` if they did not.
pub fn generations(trials: &[TrialFinding]) -> Option<String> {
    let mut all: Vec<u64> = trials.iter().filter_map(|trial| trial.generation).collect();
    all.sort_unstable();
    all.dedup();
    (all.len() > 1).then(|| {
        format!(
            "The run was interrupted, and its data was loaded {} times: trials on different \
             data are not compared with each other.",
            all.len()
        )
    })
}
