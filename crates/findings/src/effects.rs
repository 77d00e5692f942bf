//! Computes the effects of a matrix's axes, at every point.

use super::comparisons::{
    COMPARED, ComparedNumber, FOUND, at_value, default_place, is_search, metric_of, used,
};
use super::interim_looks;
use super::points::places_of;
use crate::data_generation;
use analysis::compare::{Comparison, Finding};
use analysis::effects::{AxisLevel, BLOCKS_MIN, Design, Effect, EffectContrast, Interaction};
use analysis::procedure::Point;
use analysis::too_few_blocks;
use analysis::{AdjustedFinding, autocorrelation, judge_all};
use measure::Known;
use store::record::{
    AxisRecord, CellRecord, EffectKind, EffectRecord, EffectVerdict, EffectsRecord, LevelRecord,
    SearchRecord, TrialFinding, WithoutInterval,
};
use study::settings::{PrimaryMetric, Study, Variant};

/// Axes and number of blocks, which are the same for all matrices of a study.
#[derive(Clone, Copy)]
struct Factors<'a> {
    /// Indexes of the study's axes that have more than one value.
    axes: &'a [usize],
    design: &'a Design,
    /// Number of blocks that the study would have if every trial were usable.
    planned: usize,
}

/// Results of the study's matrix at one point, for one metric.
struct Matrix<'a> {
    study: &'a Study,
    factors: Factors<'a>,
    /// Variants in the order of the cells.
    variants: &'a [&'a Variant],
    place: Option<Point>,
    primary: bool,
    compared: &'static ComparedNumber,
    /// Values of the metric, by block and cell.
    values: Vec<Vec<Option<Known>>>,
    effects: Vec<Effect>,
}

/// Returns the effects of a study's matrix at every point, for the metric that answers the question
/// at that point. The list is empty without a matrix of at least two axes. The effects at the
/// primary point share one significance level. All other effects, and all simple effects, are
/// adjusted together for their number.
pub fn effects(
    study: &Study,
    trials: &[TrialFinding],
    searches: &[SearchRecord],
    planned: usize,
) -> Vec<EffectsRecord> {
    let axes = 0..study.axes.len();
    let axes: Vec<usize> = axes.filter(|at| study.axes[*at].values.len() > 1).collect();
    if axes.len() < 2 || study.screen.is_some() {
        return Vec::new();
    }
    let levels = axes.iter().map(|at| study.axes[*at].values.len());
    let design = Design::new(levels.collect());
    let mut steps: Vec<&Option<String>> = study.variants.iter().map(|v| &v.step).collect();
    steps.dedup();
    steps.sort();
    steps.dedup();
    let cells: Vec<Vec<&Variant>> = steps
        .into_iter()
        .filter_map(|step| cells(study, step, &axes, &design))
        .collect();
    let factors = Factors {
        axes: &axes,
        design: &design,
        planned,
    };
    let mut all = Vec::new();
    for variants in &cells {
        if variants.iter().any(|variant| is_search(variant)) {
            all.extend(effects_of_searches(study, searches, factors, variants))
        } else {
            all.extend(effects_of_step(study, trials, factors, variants))
        }
    }
    judged(&all)
}

/// Returns the variants of one step, by cell. Returns `None` if a cell has no variant.
fn cells<'a>(
    study: &'a Study,
    step: &Option<String>,
    axes: &[usize],
    design: &Design,
) -> Option<Vec<&'a Variant>> {
    let mut cells = vec![None; design.cells_count()];
    let of_step = |variant: &&Variant| variant.step == *step && !variant.is_added;
    for variant in study.variants.iter().filter(of_step) {
        let values: Option<Vec<usize>> =
            axes.iter().map(|at| variant.cell.get(*at).copied()).collect();
        *cells.get_mut(design.cell(&values?))? = Some(variant);
    }
    cells.into_iter().collect()
}

/// Returns the matrix of search results, by block and cell. Returns `None` if a cell is not a
/// search, or if the results show no effect.
fn effects_of_searches<'a>(
    study: &'a Study,
    searches: &[SearchRecord],
    factors: Factors<'a>,
    variants: &'a [&'a Variant],
) -> Option<Matrix<'a>> {
    if !variants.iter().all(|variant| is_search(variant)) {
        return None;
    }
    let found = |block: usize, variant: &Variant| {
        let here = |s: &&SearchRecord| s.variant == variant.name && s.block == block;
        searches.iter().find(here)?.found_ops_per_s()
    };
    let block = |block: usize| variants.iter().map(|v| found(block, v)).collect();
    let values: Vec<Vec<Option<Known>>> = (0..study.blocks()).map(block).collect();
    let effects = measured_effects(study, factors.design, &values, &FOUND);
    (!effects.is_empty()).then_some(Matrix {
        study,
        factors,
        variants,
        place: None,
        primary: true,
        compared: &FOUND,
        values,
        effects,
    })
}

/// Returns the effects, adjusted for the study's looks. If the study ends when its question is
/// answered, the confidence level of the intervals applies to all looks together.
fn measured_effects(
    study: &Study,
    design: &Design,
    values: &[Vec<Option<Known>>],
    compared: &ComparedNumber,
) -> Vec<Effect> {
    let (effects, _) = analysis::effects::effects(design, values, compared.metric);
    let at = |effect: Effect| Effect {
        comparison: interim_looks::adjust(study, effect.comparison, false),
        ..effect
    };
    effects.into_iter().map(at).collect()
}

fn effects_of_step<'a>(
    study: &'a Study,
    trials: &[TrialFinding],
    factors: Factors<'a>,
    variants: &'a [&'a Variant],
) -> Vec<Matrix<'a>> {
    let mut places: Vec<Option<Point>> = Vec::new();
    for variant in variants {
        for place in places_of(trials, &variant.name) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    let of_step = |trial: &&TrialFinding| variants.iter().any(|v| v.name == trial.variant);
    let here: Vec<&TrialFinding> = trials.iter().filter(of_step).collect();
    let primary = match study.primary.point {
        Some(value) => at_value(&places, value),
        None => default_place(&here, &places),
    };
    let matrix = |place: Option<Point>| {
        let (compared, values) = values(study, trials, variants, place)?;
        let effects = measured_effects(study, factors.design, &values, compared);
        Some(Matrix {
            study,
            factors,
            variants,
            primary: primary == place,
            place,
            compared,
            values,
            effects,
        })
    };
    places.into_iter().filter_map(matrix).collect()
}

/// Returns the metric that answers the question at a point, and its values by block and cell. If no
/// variant kept up with a rate, the metric is throughput, because latency then has no meaning.
pub fn values(
    study: &Study,
    trials: &[TrialFinding],
    variants: &[&Variant],
    place: Option<Point>,
) -> Option<(&'static ComparedNumber, Vec<Vec<Option<Known>>>)> {
    let asked = match study.primary.metric {
        PrimaryMetric::Named(name) => name,
        PrimaryMetric::Auto => metric_of(place),
    };
    [asked, "ops_per_s"].into_iter().find_map(|name| {
        let compared = COMPARED.iter().find(|compared| compared.name == name)?;
        let sides: Vec<Vec<Option<&TrialFinding>>> = variants
            .iter()
            .map(|variant| used(study, trials, &variant.name, place, compared))
            .collect();
        let block = |block: usize| {
            let cells = sides.iter().map(|side| side.get(block).copied().flatten());
            one_generation(cells.collect())
        };
        let blocks = sides.first().map_or(0, Vec::len);
        let value = |trial: Option<&TrialFinding>| trial.map(compared.value);
        let values: Vec<Vec<Option<Known>>> =
            (0..blocks).map(|at| block(at).into_iter().map(value).collect()).collect();
        let is_known = values.iter().flatten().any(Option::is_some);
        is_known.then_some((compared, values))
    })
}

/// Returns the trials of a block that ran on the latest data.
fn one_generation(cells: Vec<Option<&TrialFinding>>) -> Vec<Option<&TrialFinding>> {
    let last = cells.iter().flatten().max_by_key(|trial| trial.generation);
    let Some(last) = last.copied() else {
        return cells;
    };
    let same = |cell: Option<&_>| cell.is_some_and(|trial| data_generation::is_same(trial, last));
    cells.iter().map(|cell| cell.filter(|_| same(*cell))).collect()
}

fn judged(all: &[Matrix<'_>]) -> Vec<EffectsRecord> {
    let is_primary = |matrix: &Matrix<'_>, effect: &Effect| {
        matrix.primary && !matches!(effect.kind, EffectContrast::Simple(..))
    };
    let flagged: Vec<(Comparison, bool)> = all
        .iter()
        .flat_map(|matrix| {
            let flag =
                move |effect: &Effect| (effect.comparison.clone(), is_primary(matrix, effect));
            matrix.effects.iter().filter(|e| e.has_interval()).map(flag)
        })
        .collect();
    let (judged, _) = judge_all(&flagged);
    let mut judged = judged.into_iter();
    let record = |matrix: &Matrix<'_>| {
        let effects = matrix
            .effects
            .iter()
            .map(|effect| {
                let judged = effect.has_interval().then(|| judged.next()).flatten();
                matrix.effect(effect, judged)
            })
            .collect();
        matrix.record(effects)
    };
    all.iter().map(record).collect()
}

impl Matrix<'_> {
    fn record(&self, effects: Vec<EffectRecord>) -> EffectsRecord {
        let axis = |at: &usize| AxisRecord {
            name: self.study.axes[*at].name.clone(),
            values: self.study.axes[*at].values.clone(),
        };
        let cells = 0..self.factors.design.cells_count();
        EffectsRecord {
            metric: self.compared.name.to_owned(),
            point: self.place,
            step: self.variants.first().and_then(|variant| variant.step.clone()),
            primary: self.primary,
            axes: self.factors.axes.iter().map(axis).collect(),
            cells: cells.map(|cell| self.cell(cell)).collect(),
            blocks_planned: self.factors.planned,
            looks: interim_looks::name(self.study),
            margin: self.compared.metric.margin,
            without_interval: self.without_interval(),
            effects,
        }
    }

    /// Returns the reason why no effect has an interval. Returns `None` if effects may have
    /// intervals.
    fn without_interval(&self) -> Option<WithoutInterval> {
        let blocks = self.effects.iter().map(|effect| effect.comparison.blocks);
        if !self.study.repeat.interleaved {
            return Some(WithoutInterval::Sequential);
        }
        (blocks.max().unwrap_or(0) < BLOCKS_MIN).then_some(WithoutInterval::Blocks)
    }

    fn cell(&self, cell: usize) -> CellRecord {
        let variant = self.variants[cell];
        let values: Vec<Known> = self.values.iter().filter_map(|block| block[cell]).collect();
        let logs: Vec<f64> = values.iter().map(|value| value.least().ln()).collect();
        let value = |at: &usize| self.study.axes[*at].values[variant.cell[*at]].clone();
        CellRecord {
            values: self.factors.axes.iter().map(value).collect(),
            variant: variant.name.clone(),
            mean: (!logs.is_empty()).then(|| autocorrelation::mean(&logs).exp()),
            at_least: values.iter().any(|value| value.is_at_least()),
            blocks: values.len(),
        }
    }

    /// Returns the record of a value of an axis that is compared with the first value of the axis.
    fn level(&self, at: AxisLevel) -> LevelRecord {
        LevelRecord {
            against: self.study.axes[self.factors.axes[at.axis]].values[0].clone(),
            ..self.held(at)
        }
    }

    /// Returns the record of the value at which an axis is held constant.
    fn held(&self, at: AxisLevel) -> LevelRecord {
        let axis = &self.study.axes[self.factors.axes[at.axis]];
        LevelRecord {
            axis: axis.name.clone(),
            value: axis.values[at.level].clone(),
            against: String::new(),
        }
    }

    fn effect(&self, effect: &Effect, judged: Option<AdjustedFinding>) -> EffectRecord {
        let (kind, of, with) = match effect.kind {
            EffectContrast::Main(of) => (EffectKind::Main, of, None),
            EffectContrast::Interaction(of, with) => {
                (EffectKind::Interaction, of, Some(self.level(with)))
            }
            EffectContrast::Simple(of, with) => (EffectKind::Simple, of, Some(self.held(with))),
        };
        let comparison = &effect.comparison;
        let is_sure = self.study.repeat.interleaved
            && !too_few_blocks(comparison.blocks, self.factors.planned, comparison.looks);
        let judged = judged.filter(|_| self.study.repeat.interleaved);
        let finding = judged.as_ref().filter(|_| is_sure);
        let verdict = match (effect.kind, finding) {
            (EffectContrast::Interaction(..), Some(judged)) => {
                EffectVerdict::Interaction(effect.interaction(judged, self.compared.metric))
            }
            (EffectContrast::Interaction(..), None) => {
                EffectVerdict::Interaction(Interaction::NotResolved)
            }
            (_, Some(judged)) => EffectVerdict::Ratio(effect.finding(judged)),
            (_, None) => EffectVerdict::Ratio(Finding::Inconclusive),
        };
        EffectRecord {
            kind,
            of: self.level(of),
            with,
            ratio: comparison.ratio,
            bound: comparison.bound,
            ci95: judged.as_ref().and_then(|_| comparison.ci95()),
            ci95_end: judged.as_ref().and_then(|_| comparison.ci95_end()),
            verdict,
            blocks: comparison.blocks,
            p: judged.as_ref().and_then(|judged| judged.p),
            p_adjusted: judged.as_ref().and_then(|judged| judged.p_adjusted),
            blocks_to_settle: judged.as_ref().and_then(|judged| judged.blocks_to_settle),
            scaled: effect.scaled,
        }
    }
}

#[cfg(test)]
mod tests;
