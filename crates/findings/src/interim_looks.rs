//! Judges comparisons while their blocks are still being measured, and decides when the study ends.
//!
//! Invariant: the decision that a question is answered depends only on the findings of earlier
//! blocks, and uses the same functions that build these findings. So a resumed run ends where it
//! would have ended without the interruption.

use super::comparisons::{Pairs, comparisons};
use super::searches::searches;
use super::used_trials::once_each;
use analysis::compare::{LEVEL, compare_paired};
use analysis::{Comparison, Finding, Looks, Metric, NotCompared};
use measure::Known;
use std::borrow::Cow;
use store::record::{ComparisonRecord, LookRecord, LooksHow, LooksRecord, TrialFinding};
use study::settings::Study;

/// Returns the schedule of looks (interim evaluations) at the comparisons of a study.
pub fn looks_of(study: &Study) -> Looks {
    match study.repeat.first_look {
        _ if !study.added.is_empty() => Looks::Anytime,
        Some(min) => Looks::Repeated {
            min,
            max: study.repeat.blocks,
        },
        None => Looks::Once,
    }
}

/// Returns the name of a study's schedule of looks in records. Returns `None` if the study has only
/// one look.
pub fn name(study: &Study) -> Option<LooksHow> {
    how(looks_of(study))
}

fn how(looks: Looks) -> Option<LooksHow> {
    match looks {
        Looks::Once => None,
        Looks::Repeated { .. } => Some(LooksHow::Repeated),
        Looks::Anytime => Some(LooksHow::Anytime),
    }
}

pub fn compared(pairs: &Pairs, metric: Metric) -> Result<Comparison, NotCompared> {
    let values: Vec<(Known, Known)> = pairs.iter().map(|(_, pair)| *pair).collect();
    compare_paired(&values, metric)
}

/// Returns the number of comparisons that share the confidence level of the interval. These are the
/// comparisons on which the end of the study depends. If the end does not depend on comparisons,
/// the number is 1.
fn among(study: &Study, is_primary: bool) -> usize {
    if is_primary && looks_of(study) != Looks::Once {
        study.contenders()
    } else {
        1
    }
}

pub fn adjust(study: &Study, comparison: Comparison, is_primary: bool) -> Comparison {
    comparison.looked_at(looks_of(study), among(study, is_primary))
}

/// Reason why no further blocks are measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The primary comparisons are conclusive.
    Answered(String),
    /// The primary comparisons cannot become conclusive any more, because too many pairs are lost.
    Lost(String),
}

impl StopReason {
    pub fn words(&self) -> &str {
        match self {
            StopReason::Answered(why) | StopReason::Lost(why) => why,
        }
    }
}

/// Evaluates a study after `blocks` blocks with these trials. Returns `None` if the study
/// continues, or if it has no look before its last block.
pub fn look(study: &Study, trials: &[TrialFinding], blocks: usize) -> Option<StopReason> {
    let min = study.repeat.first_look?;
    let max = study.repeat.blocks;
    if blocks < min {
        return None;
    }
    // Blocks that a user has added later must not affect earlier decisions.
    let mut declared = Cow::Borrowed(study);
    if !study.added.is_empty() {
        declared.to_mut().added.clear();
    }
    let searches = searches(&declared, trials);
    let all = comparisons(&declared, &once_each(trials), &searches, blocks).records;
    let primary: Vec<&ComparisonRecord> = all.iter().filter(|one| one.primary).collect();
    let wanted = study.contenders();
    let pairs = primary.iter().map(|one| one.blocks).min().unwrap_or(0);
    let pairs = if primary.len() < wanted { 0 } else { pairs };
    let lost = blocks - pairs.min(blocks);
    if lost * 3 > max {
        return Some(StopReason::Lost(format!(
            "{lost} of {blocks} blocks do not have two usable trials, which is more than a third \
             of the {max} allowed blocks: more blocks cannot answer the question"
        )));
    }
    let is_answered = |one: &&&ComparisonRecord| one.verdict != Finding::Inconclusive;
    let answered = primary.iter().filter(is_answered).count();
    if answered < wanted.max(1) {
        return None;
    }
    let found: Vec<&str> = primary.iter().map(|one| one.verdict.name()).collect();
    let what = match found.as_slice() {
        [one] => format!("the primary comparison has an answer ({one})"),
        all => format!("all {} primary comparisons have an answer", all.len()),
    };
    let so_far = so_far(blocks, max);
    Some(StopReason::Answered(format!("{what} after {so_far}")))
}

fn so_far(blocks: usize, max: usize) -> String {
    if blocks < max {
        format!("{blocks} of at most {max} blocks")
    } else {
        format!("{blocks} blocks, the maximum")
    }
}

/// Returns the record of the looks at a comparison after `blocks` blocks. Returns `None` if the
/// study has only one look.
pub fn record(
    study: &Study,
    comparison: &Comparison,
    found: Finding,
    blocks: usize,
) -> Option<LooksRecord> {
    let shared = among(study, true);
    let added = study.added.iter().sum();
    let (min, max) = match comparison.looks {
        Looks::Once => return None,
        Looks::Repeated { min, max } => (min, max),
        Looks::Anytime => (0, 0),
    };
    let ended = match (comparison.looks, found) {
        (Looks::Anytime, _) => {
            let seen = blocks.saturating_sub(added);
            let blocks = if added == 1 {
                "block was"
            } else {
                "blocks were"
            };
            format!("{added} {blocks} added to the {seen} already judged")
        }
        (_, Finding::Inconclusive) => format!("no answer after {}", so_far(blocks, max)),
        _ => format!("answered after {}", so_far(blocks, max)),
    };
    Some(LooksRecord {
        how: how(comparison.looks)?,
        min,
        max,
        added,
        level: comparison.looks.nominal(LEVEL / shared as f64),
        among: shared,
        count: (comparison.blocks + 1).saturating_sub(min.max(2)),
        ended,
        grew: Vec::new(),
    })
}

/// Returns the results of the primary comparison at each look.
pub fn grew(study: &Study, pairs: &Pairs, metric: Metric) -> Vec<LookRecord> {
    let first = match looks_of(study) {
        Looks::Repeated { min, .. } => min,
        Looks::Once | Looks::Anytime => 2,
    };
    let look = |count: usize| {
        let seen = pairs[..count].to_vec();
        let comparison = adjust(study, compared(&seen, metric).ok()?, true);
        Some(LookRecord {
            block: seen.last().map_or(0, |(block, _)| block + 1),
            pairs: comparison.blocks,
            ratio: comparison.ratio,
            ci95: comparison.ci95(),
        })
    };
    (first..=pairs.len()).filter_map(look).collect()
}
