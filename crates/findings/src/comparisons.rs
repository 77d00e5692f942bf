//! Compares every contender with its baseline, at every point, and adjusts for the number of
//! comparisons.

use super::interim_looks;
use super::points::{places_of, state_of};
use super::searches::searches;
use crate::data_generation;
use analysis::compare::{Comparison, Finding, Metric, compare_unpaired};
use analysis::procedure::Point;
use analysis::procedure::grid;
use analysis::sweep::State;
use analysis::{
    AdjustedFinding, FalseFindings, NotCompared, VariantName, judge_all, too_few_blocks,
};
use measure::Known;
use store::record::{
    ComparisonRecord, MultiplicityRecord, PEAK, RobustRecord, SearchRecord, TrialFinding,
};
use study::settings::{PrimaryMetric, Study, Variant};

/// A number by which variants are compared. `value` returns the number from the finding of a trial.
pub struct ComparedNumber {
    pub name: &'static str,
    pub metric: Metric,
    pub value: fn(&TrialFinding) -> Known,
}

pub const COMPARED: [ComparedNumber; 3] = [
    ComparedNumber {
        name: "ops_per_s",
        metric: Metric::THROUGHPUT,
        value: |finding| Known::Exactly(finding.all.ops_per_s),
    },
    ComparedNumber {
        name: "latency_ms.p50",
        metric: Metric::LATENCY,
        value: |finding| finding.all.latency_ms.p50,
    },
    ComparedNumber {
        name: "latency_ms.p99",
        metric: Metric::LATENCY,
        value: |finding| finding.all.latency_ms.p99,
    },
];

/// Result of a search, as a compared number. The number comes from a whole search, so no trial has
/// this number.
pub static FOUND: ComparedNumber = ComparedNumber {
    name: PEAK,
    metric: Metric::THROUGHPUT,
    value: |finding| Known::Exactly(finding.all.ops_per_s),
};

/// Returns the metric that answers a question at a point: throughput in a closed loop, p99 latency
/// at a rate.
pub fn metric_of(place: Option<Point>) -> &'static str {
    if place.is_some_and(Point::is_rate) {
        "latency_ms.p99"
    } else {
        "ops_per_s"
    }
}

/// Comparison of two variants at one point by one metric, or the reason why they cannot be
/// compared.
struct Pairing<'a, C = Comparison> {
    baseline: &'a Variant,
    contender: &'a Variant,
    place: Option<Point>,
    metric: &'static str,
    comparison: C,
    /// Pairs of values by block. The list is empty if the comparison is not paired.
    pairs: Pairs,
    how: Metric,
}

/// Pairs of a baseline's value and a contender's value, each with the index of its block.
pub type Pairs = Vec<(usize, (Known, Known))>;

/// Two variants at one point, both of which have only a lower bound for a metric.
pub struct UnboundedPair {
    pub baseline: VariantName,
    pub contender: VariantName,
    pub place: Option<Point>,
    pub metric: &'static str,
}

#[derive(Default)]
pub struct Comparisons {
    pub records: Vec<ComparisonRecord>,
    /// Expected number of false findings. `None` if the study has fewer than two comparisons.
    pub multiplicity: Option<MultiplicityRecord>,
    /// Pairs of variants without a ratio.
    pub inconclusive: Vec<UnboundedPair>,
}

/// Compares every contender with the first variant of its step, after `blocks` blocks, at every
/// point that both variants have. Invalid trials are excluded.
///
/// For searches, only their results are compared. A search chooses each load by earlier results, so
/// two searches measure at the same point only by chance.
pub fn comparisons(
    study: &Study,
    trials: &[TrialFinding],
    searches: &[SearchRecord],
    blocks: usize,
) -> Comparisons {
    let (mut pairings, inconclusive) = pairings(study, trials, searches);
    let primary = Primary::choose(study, trials, &pairings);
    let flagged: Vec<(Comparison, bool)> = pairings
        .iter_mut()
        .map(|pairing| {
            let is_primary = primary.is(pairing);
            let looked = interim_looks::adjust(study, pairing.comparison.clone(), is_primary);
            pairing.comparison = looked.clone();
            (looked, is_primary)
        })
        .collect();
    let (judged, chances) = judge_all(&flagged);
    let records =
        pairings
            .iter()
            .zip(&flagged)
            .zip(judged)
            .map(|((pairing, (_, is_primary)), judged)| {
                record(study, pairing, *is_primary, judged, blocks)
            });
    Comparisons {
        records: records.collect(),
        multiplicity: multiplicity(chances),
        inconclusive,
    }
}

/// Returns the scatter of the ratio of two trials of the same block, in the primary comparison. If
/// there are several such comparisons, returns the largest scatter. Returns `None` without two
/// blocks.
pub fn noise(study: &Study, trials: &[TrialFinding]) -> Option<f64> {
    let searches = searches(study, trials);
    let (pairings, _) = pairings(study, trials, &searches);
    let primary = Primary::choose(study, trials, &pairings);
    let of = pairings.iter().filter(|pairing| primary.is(pairing));
    let noises = of.filter_map(|pairing| pairing.comparison.noise());
    noises.max_by(f64::total_cmp)
}

/// Returns the planned number of blocks. If the study ends when its question is answered, returns
/// the number of blocks that have begun.
pub fn blocks_of(study: &Study, trials: &[TrialFinding]) -> usize {
    let begun = trials.iter().map(|trial| trial.block + 1).max();
    match (study.repeat.first_look, begun) {
        (None, _) | (_, None) => study.blocks(),
        (Some(_), Some(begun)) if study.added.is_empty() => begun,
        (Some(_), Some(_)) => {
            let has = |block: &usize| trials.iter().any(|trial| trial.block == *block);
            (0..study.blocks()).filter(has).count()
        }
    }
}

fn multiplicity(chances: FalseFindings) -> Option<MultiplicityRecord> {
    (chances.compared > 1).then_some(MultiplicityRecord {
        comparisons: chances.compared,
        primary: chances.primary,
        false_findings_one_by_one: chances.one_by_one,
        false_findings_expected: chances.expected,
    })
}

fn record(
    study: &Study,
    pairing: &Pairing<'_>,
    primary: bool,
    judged: AdjustedFinding,
    blocks: usize,
) -> ComparisonRecord {
    let comparison = &pairing.comparison;
    let found = if too_few_blocks(comparison.blocks, blocks, comparison.looks) {
        Finding::Inconclusive
    } else {
        judged.finding
    };
    let mut looks = interim_looks::record(study, comparison, found, blocks);
    if let Some(looks) = looks.as_mut().filter(|_| primary) {
        looks.grew = interim_looks::grew(study, &pairing.pairs, pairing.how);
    }
    let block_of = |at: usize| pairing.pairs.get(at).map_or(0, |(block, _)| block + 1);
    ComparisonRecord {
        metric: pairing.metric.to_owned(),
        point: pairing.place,
        baseline: pairing.baseline.name.clone(),
        contender: pairing.contender.name.clone(),
        ratio: comparison.ratio,
        bound: comparison.bound,
        ci95: comparison.ci95(),
        ci95_end: comparison.ci95_end(),
        verdict: found,
        primary,
        blocks: comparison.blocks,
        blocks_planned: blocks,
        p: judged.p,
        p_adjusted: judged.p_adjusted,
        could_see: judged.could_see,
        blocks_to_settle: judged.blocks_to_settle,
        between_runs: comparison.between_runs,
        looks,
        robust: comparison.robust.map(|beside| RobustRecord {
            block: block_of(beside.at),
            z: beside.z,
            ratio: beside.ratio,
            interval: beside.interval,
            covers: beside.covers,
        }),
    }
}

/// Returns each contender with its baseline, as pairs of baseline and contender. In imports, the
/// baseline of a step is the same step of the first variant.
pub fn baselines_and_contenders(study: &Study) -> impl Iterator<Item = [&Variant; 2]> {
    let contenders = study.variants.iter().enumerate();
    contenders
        .filter(|(_, variant)| !variant.is_added)
        .filter_map(|(index, contender)| {
            let same = |variant: &&Variant| variant.step == contender.step;
            let baseline = study.variants[..index].iter().find(same)?;
            Some([baseline, contender])
        })
}

fn pairings<'a>(
    study: &'a Study,
    trials: &[TrialFinding],
    searches: &[SearchRecord],
) -> (Vec<Pairing<'a>>, Vec<UnboundedPair>) {
    let (mut pairings, mut inconclusive) = (Vec::new(), Vec::new());
    for [baseline, contender] in baselines_and_contenders(study) {
        if is_search(baseline) || is_search(contender) {
            if is_search(baseline) && is_search(contender) {
                let (pairs, how, comparison) = peaks(study, searches, [baseline, contender]);
                let pairing = Pairing {
                    baseline,
                    contender,
                    place: None,
                    metric: PEAK,
                    comparison,
                    pairs,
                    how,
                };
                note(pairing, &mut pairings, &mut inconclusive);
            }
            continue;
        }
        for place in places_of(trials, &baseline.name) {
            for compared in &COMPARED {
                let sides = [&baseline.name, &contender.name]
                    .map(|variant| used(study, trials, variant, place, compared));
                if is_as_offered(study, place, compared, &sides) {
                    continue;
                }
                let pairs = pairs(&sides, compared);
                let comparison = if study.repeat.interleaved {
                    interim_looks::compared(&pairs, compared.metric)
                } else {
                    // The variants were not interleaved, so the ratio includes changes of the
                    // target between their trials.

                    let [left, right] = latest_generation(&sides, compared);
                    compare_unpaired(&left, &right, compared.metric)
                };
                let pairing = Pairing {
                    baseline,
                    contender,
                    place,
                    metric: compared.name,
                    comparison,
                    pairs,
                    how: compared.metric,
                };
                note(pairing, &mut pairings, &mut inconclusive);
            }
        }
    }
    (pairings, inconclusive)
}

/// Adds the pairing to `pairings`, or to `inconclusive` if both variants have only a lower bound.
/// Drops a pairing without values.
fn note<'a>(
    pairing: Pairing<'a, Result<Comparison, NotCompared>>,
    pairings: &mut Vec<Pairing<'a>>,
    inconclusive: &mut Vec<UnboundedPair>,
) {
    match pairing.comparison {
        Ok(comparison) => pairings.push(Pairing {
            baseline: pairing.baseline,
            contender: pairing.contender,
            place: pairing.place,
            metric: pairing.metric,
            comparison,
            pairs: pairing.pairs,
            how: pairing.how,
        }),
        Err(NotCompared::BoundsOnBothSides) => inconclusive.push(UnboundedPair {
            baseline: pairing.baseline.name.clone(),
            contender: pairing.contender.name.clone(),
            place: pairing.place,
            metric: pairing.metric,
        }),
        Err(NotCompared::NoValues) => {}
    }
}

/// Returns true if a variant searches for a load. Only the result of the search is then compared.
pub fn is_search(variant: &Variant) -> bool {
    variant.settings.procedure.goal().is_some()
}

/// Compares the results of two variants' searches, block by block if the variants were interleaved.
fn peaks(
    study: &Study,
    searches: &[SearchRecord],
    variants: [&Variant; 2],
) -> (Pairs, Metric, Result<Comparison, NotCompared>) {
    let search = |variant: &Variant, block: usize| {
        let of = |one: &&SearchRecord| one.variant == variant.name && one.block == block;
        searches.iter().find(of)
    };
    let found = |variant: &Variant, block: usize| search(variant, block)?.found_ops_per_s();
    let blocks = || 0..study.blocks();
    let [left, right] = variants;
    let pairs: Pairs = blocks()
        .filter_map(|at| Some((at, (found(left, at)?, found(right, at)?))))
        .collect();
    let ends = variants
        .map(|of| blocks().filter_map(move |at| search(of, at)?.found()))
        .into_iter()
        .flatten()
        .map(Known::least);
    let least = ends.fold(f64::INFINITY, f64::min);
    let how = Metric::THROUGHPUT.on_grid(grid(least));
    let comparison = if study.repeat.interleaved {
        interim_looks::compared(&pairs, how)
    } else {
        let of = |variant| blocks().filter_map(|at| found(variant, at)).collect();
        let [left, right]: [Vec<Known>; 2] = variants.map(of);
        compare_unpaired(&left, &right, how)
    };
    (pairs, how, comparison)
}

/// Returns true for the throughput at a rate that both variants kept up with. This throughput
/// equals the offered rate, so its comparison shows nothing about the variants, and would only
/// weaken the other comparisons. If a study names throughput as its primary metric, the function
/// returns false.
fn is_as_offered(
    study: &Study,
    place: Option<Point>,
    compared: &ComparedNumber,
    sides: &[Vec<Option<&TrialFinding>>; 2],
) -> bool {
    let kept = |trial: &&TrialFinding| state_of(trial) == State::Kept;
    compared.name == "ops_per_s"
        && place.is_some_and(Point::is_rate)
        && study.primary.metric != PrimaryMetric::Named("ops_per_s")
        && sides.iter().flatten().flatten().all(kept)
}

/// Returns the usable trial of each block, or `None` for a block without one. For latency,
/// saturated trials are not usable. Their latency grows as long as the trial lasts, so it is not a
/// property of the target.
pub fn used<'t>(
    study: &Study,
    trials: &'t [TrialFinding],
    variant: &VariantName,
    place: Option<Point>,
    compared: &ComparedNumber,
) -> Vec<Option<&'t TrialFinding>> {
    let at = |block: usize| {
        let fits =
            |t: &&TrialFinding| t.variant == *variant && t.point == place && t.block == block;
        let trial = trials.iter().find(fits)?;
        match state_of(trial) {
            State::Kept => Some(trial),
            State::Saturated if compared.name == "ops_per_s" => Some(trial),
            State::Saturated | State::Unusable => None,
        }
    };
    (0..study.blocks()).map(at).collect()
}

/// Returns the pairs of values. Two trials of the same block are a pair if they ran on the same
/// data.
fn pairs(sides: &[Vec<Option<&TrialFinding>>; 2], compared: &ComparedNumber) -> Pairs {
    let both = sides[0]
        .iter()
        .zip(&sides[1])
        .enumerate()
        .filter_map(|(block, (a, b))| Some((block, (*a)?, (*b)?)));
    both.filter(|(_, a, b)| data_generation::is_same(a, b))
        .map(|(block, a, b)| (block, ((compared.value)(a), (compared.value)(b))))
        .collect()
}

/// Returns, for each variant, the trials that ran on the latest data.
fn latest_generation(
    sides: &[Vec<Option<&TrialFinding>>; 2],
    compared: &ComparedNumber,
) -> [Vec<Known>; 2] {
    let all = sides.iter().flatten().flatten();
    let last = all.max_by_key(|trial| trial.generation);
    sides.each_ref().map(|side| {
        let here = side
            .iter()
            .flatten()
            .filter(|trial| last.is_some_and(|last| data_generation::is_same(trial, last)));
        here.map(|trial| (compared.value)(trial)).collect()
    })
}

struct Primary {
    /// Step, point and metric of each primary comparison.
    places: Vec<(Option<String>, Option<Point>, &'static str)>,
}

impl Primary {
    fn choose(study: &Study, trials: &[TrialFinding], pairings: &[Pairing<'_>]) -> Primary {
        // In a study with a look after each block, the first look chooses the primary point, and
        // later blocks do not change it.
        let until = study.repeat.first_look.unwrap_or(study.repeat.blocks);
        let trials: Vec<&TrialFinding> = trials.iter().filter(|t| t.block < until).collect();
        let mut steps: Vec<&Option<String>> = pairings.iter().map(|p| &p.contender.step).collect();
        steps.dedup();
        let place = |step: &Option<String>| {
            let of = pairings.iter().filter(|p| p.contender.step == *step);
            let places: Vec<Option<Point>> = of.map(|p| p.place).collect();
            // The results of searches have no point. If the study has searches, their comparison is
            // the primary one.
            if places.contains(&None) {
                return Some((step.clone(), None, PEAK));
            }
            let chosen = match study.primary.point {
                Some(value) => at_value(&places, value),
                None => default_place(&trials, &places),
            };
            chosen?;
            // If no two variants kept up with the rate, their latency cannot be compared, so the
            // comparison uses throughput.
            let asked = match study.primary.metric {
                PrimaryMetric::Named(name) => name,
                PrimaryMetric::Auto => metric_of(chosen),
            };
            let mut here =
                pairings.iter().filter(|p| p.contender.step == *step && p.place == chosen);
            let metric = if here.any(|p| p.metric == asked) {
                asked
            } else {
                "ops_per_s"
            };
            Some((step.clone(), chosen, metric))
        };
        Primary {
            places: steps.into_iter().filter_map(place).collect(),
        }
    }

    fn is(&self, pairing: &Pairing<'_>) -> bool {
        let here = (
            pairing.contender.step.clone(),
            pairing.place,
            pairing.metric,
        );
        self.places.contains(&here)
    }
}

/// Returns the default point of the primary comparison. In a closed loop, the geometric mean of all
/// variants' throughputs is highest at this point. This mean is independent of their ratio, so the
/// choice does not favour a variant. With rates, the point is the highest rate that all variants
/// kept up with, or otherwise the lowest rate.
pub fn default_place(trials: &[&TrialFinding], places: &[Option<Point>]) -> Option<Point> {
    let at = |place: Option<Point>| -> Vec<&TrialFinding> {
        let here = trials
            .iter()
            .filter(|t| t.point == place)
            .filter(|t| state_of(t) != State::Unusable);
        here.copied().collect()
    };
    if places.iter().any(|place| place.is_some_and(Point::is_rate)) {
        let kept = |place: &&Option<Point>| at(**place).iter().all(|t| state_of(t) == State::Kept);
        let highest = places.iter().rev().find(kept);
        return *highest.or(places.first())?;
    }
    let together = |place: Option<Point>| {
        let logs: Vec<f64> = at(place).iter().map(|t| t.all.ops_per_s.ln()).collect();
        analysis::autocorrelation::mean(&logs)
    };
    // Among points with equal throughput, the first one is chosen, because it has less load.
    let best = places.iter().rev();
    *best.max_by(|a, b| together(**a).total_cmp(&together(**b)))?
}

pub fn at_value(places: &[Option<Point>], value: f64) -> Option<Point> {
    let mut points = places.iter().flatten();
    points.find(|at| at.value() == value).copied()
}
