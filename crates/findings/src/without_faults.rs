//! Compares trials with faults with the same trials without faults. The two trials of a pair belong
//! to the same block, and are compared period by period.
//!
//! Invariants: the two trials of a pair ran on the same data, and their periods have the same
//! position in the window. If a trial completed no operation in a period, the whole period has no
//! ratio. The ratios of the remaining pairs would include only the mild effects.

use super::comparisons::{COMPARED, blocks_of, metric_of};
use super::interim_looks;
use super::points::{places_of, state_of};
use super::used_trials::once_each;
use crate::data_generation;
use crate::recovery::{FromInjection, stretches_without};
use analysis::compare::{Comparison, Finding, Metric};
use analysis::procedure::Point;
use analysis::sweep::State;
use analysis::too_few_blocks;
use analysis::{AdjustedFinding, judge_all};
use anyhow::{Context, Result};
use measure::Known;
use sentences::without_faults;
use std::path::Path;
use store::Run;
use store::record::{
    ComparisonRecord, FaultRecord, FaultStretch, FindingsRecord, StretchRecord, TrialFinding,
    WithoutFaultsRecord,
};
use study::settings::{Study, Variant};

/// Periods of a fault. This module refers to a period by its index in this list.
const STRETCHES: [FaultStretch; 2] = [FaultStretch::Broken, FaultStretch::After];

/// Function that reads, for the faults of the first trial, the same periods of the second trial.
type Read<'a> = dyn FnMut(&TrialFinding, &TrialFinding) -> Result<Vec<FromInjection>> + 'a;

/// Adds to the findings of the run at `path` the effects of its faults, compared with trials
/// without faults, if the study requests that.
///
/// # Errors
/// The run, or one of its trials, cannot be read. In this case, nothing is added.
pub fn lay_beside(study: &Study, found: &mut FindingsRecord, path: &Path) -> Result<()> {
    if !study.repeat.without_faults {
        return Ok(());
    }
    let context = "compare trials with faults to trials without faults";
    let trials = Run::open(path).and_then(|run| run.trials()).context(context)?;
    let of = |finding: &TrialFinding| {
        let of = trials.iter().find(|one| one.record.index == finding.index);
        of.with_context(|| format!("trial {} has no files", finding.index))
    };
    let mut read = |with: &TrialFinding, without: &TrialFinding| {
        stretches_without(of(with)?, &with.faults, of(without)?, &without.parts)
    };
    add(study, found, &mut read).context(context)
}

fn add(study: &Study, found: &mut FindingsRecord, read: &mut Read<'_>) -> Result<()> {
    let trials = once_each(&found.trials);
    let mut all = Vec::new();
    for variant in &study.variants {
        let Some(without) = study.without_faults(variant) else {
            continue;
        };
        for place in places_of(&trials, &variant.name) {
            all.extend(stretches(study, &trials, [without, variant], place, read)?);
        }
    }
    found.without_faults = judged(study, &all, blocks_of(study, &found.trials));
    let said = without_faults::sentences(&found.without_faults);
    found.answer.extend(said);
    Ok(())
}

/// One period of one fault, with its pairs of trials.
struct PeriodPairs<'a> {
    variants: [&'a Variant; 2],
    place: Option<Point>,
    number: usize,
    fault: &'a FaultRecord,
    stretch: usize,
    /// Pairs of periods by block. The first period of each pair is without the fault, and the
    /// second period is with the fault.
    pairs: Vec<(usize, [StretchRecord; 2])>,
}

/// Returns all periods of the faults of a variant at one point for which at least one pair exists.
fn stretches<'a>(
    study: &Study,
    trials: &'a [TrialFinding],
    variants: [&'a Variant; 2],
    place: Option<Point>,
    read: &mut Read<'_>,
) -> Result<Vec<PeriodPairs<'a>>> {
    let mut all: Vec<PeriodPairs<'a>> = Vec::new();
    for block in 0..study.blocks() {
        let of = |variant: &Variant| {
            let fits = |trial: &&TrialFinding| {
                trial.variant == variant.name && trial.point == place && trial.block == block
            };
            let usable = |trial: &&TrialFinding| state_of(trial) != State::Unusable;
            trials.iter().find(fits).filter(usable)
        };
        let [Some(without), Some(with)] = variants.map(of) else {
            continue;
        };
        if !data_generation::is_same(without, with) {
            continue;
        }
        let there = read(with, without)?;
        for (at, (fault, there)) in with.faults.iter().zip(there).enumerate() {
            // Faults are recorded in the order in which they end, so the position may differ from
            // the number of the fault.
            let number = fault.number.unwrap_or(at);
            let here =
                fault.recovery.as_ref().map(|found| [found.during.clone(), found.after.clone()]);
            let both = there.into_iter().zip(here.unwrap_or_default());
            for (stretch, (without, with)) in both.enumerate() {
                let Some(pair) = without.zip(with).map(<[StretchRecord; 2]>::from) else {
                    continue;
                };
                let same = |one: &&mut PeriodPairs| (one.number, one.stretch) == (number, stretch);
                match all.iter_mut().find(same) {
                    Some(one) => one.pairs.push((block, pair)),
                    None => all.push(PeriodPairs {
                        variants,
                        place,
                        number,
                        fault,
                        stretch,
                        pairs: vec![(block, pair)],
                    }),
                }
            }
        }
    }
    all.sort_by_key(|one| (one.number, one.stretch));
    Ok(all)
}

struct StretchComparison {
    metric: &'static str,
    comparison: Comparison,
    is_primary: bool,
}

impl PeriodPairs<'_> {
    /// Compares the periods by each metric that has a value in both trials of every pair.
    fn comparisons(&self, study: &Study) -> Vec<StretchComparison> {
        let compared = |metric: &'static str, how: Metric| {
            let value = |stretch: &StretchRecord| match metric {
                "latency_ms.p50" => stretch.latency_ms.p50,
                "latency_ms.p99" => stretch.latency_ms.p99,
                _ => Known::Exactly(stretch.ops_per_s),
            };
            let pairs: Vec<(usize, (Known, Known))> = self
                .pairs
                .iter()
                .map(|(block, [a, b])| (*block, (value(a), value(b))))
                .collect();
            let has_both = |(_, (a, b)): &(usize, (Known, Known))| a.least().min(b.least()) > 0.0;
            if !pairs.iter().all(has_both) {
                return None;
            }
            let comparison = interim_looks::compared(&pairs, how).ok()?;
            Some(StretchComparison {
                metric,
                comparison: interim_looks::adjust(study, comparison, false),
                is_primary: self.stretch == 0 && metric == metric_of(self.place),
            })
        };
        let all = COMPARED.iter();
        all.filter_map(|one| compared(one.name, one.metric)).collect()
    }

    fn record(&self, comparisons: Vec<ComparisonRecord>) -> WithoutFaultsRecord {
        let [without, with] = self.variants.map(|variant| variant.name.clone());
        let side = |side: usize| self.pairs.iter().map(move |(_, pair)| &pair[side]);
        let seconds = |of: usize| side(of).map(|stretch| stretch.seconds).sum::<f64>();
        let rate = |of: usize| match seconds(of) {
            seconds if seconds > 0.0 => side(of).map(|one| one.ops as f64).sum::<f64>() / seconds,
            _ => 0.0,
        };
        WithoutFaultsRecord {
            variant: with,
            without,
            point: self.place,
            fault: self.number,
            kind: self.fault.kind.clone(),
            place: self.fault.place.clone(),
            stretch: STRETCHES[self.stretch],
            blocks: self.pairs.len(),
            seconds: seconds(1),
            ops_per_s: [0, 1].map(rate),
            failed: [0, 1].map(|of| side(of).map(StretchRecord::failed).sum()),
            comparisons,
        }
    }
}

/// Judges all comparisons together, and creates their records. The adjustment for multiple
/// comparisons treats the primary comparisons as one family, and all other comparisons as a second
/// family.
fn judged(study: &Study, all: &[PeriodPairs<'_>], planned: usize) -> Vec<WithoutFaultsRecord> {
    let each: Vec<Vec<StretchComparison>> = all.iter().map(|one| one.comparisons(study)).collect();
    let flagged: Vec<(Comparison, bool)> = each
        .iter()
        .flatten()
        .map(|one| (one.comparison.clone(), one.is_primary))
        .collect();
    let (judged, _) = judge_all(&flagged);
    let mut judged = judged.into_iter();
    let record = |(beside, compared): (&PeriodPairs<'_>, &Vec<StretchComparison>)| {
        let both = compared.iter().zip(judged.by_ref());
        let records = both.map(|(one, judged)| comparison(beside, one, judged, planned)).collect();
        beside.record(records)
    };
    all.iter().zip(&each).map(record).collect()
}

fn comparison(
    beside: &PeriodPairs<'_>,
    compared: &StretchComparison,
    judged: AdjustedFinding,
    planned: usize,
) -> ComparisonRecord {
    let seen = &compared.comparison;
    let found = if too_few_blocks(seen.blocks, planned, seen.looks) {
        Finding::Inconclusive
    } else {
        judged.finding
    };
    let [baseline, contender] = beside.variants.map(|variant| variant.name.clone());
    ComparisonRecord {
        metric: compared.metric.to_owned(),
        point: beside.place,
        baseline,
        contender,
        ratio: seen.ratio,
        bound: seen.bound,
        ci95: seen.ci95(),
        ci95_end: seen.ci95_end(),
        verdict: found,
        primary: compared.is_primary,
        blocks: seen.blocks,
        blocks_planned: planned,
        p: judged.p,
        p_adjusted: judged.p_adjusted,
        could_see: judged.could_see,
        blocks_to_settle: judged.blocks_to_settle,
        ..ComparisonRecord::default()
    }
}

#[cfg(test)]
mod tests;
