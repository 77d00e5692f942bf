//! Builds the answer to the study's question, sentence by sentence.

use super::comparisons::{COMPARED, Comparisons, is_search, metric_of};
use super::requirements::RequirementFacts;
use super::used_trials::usable;
use super::{points, searches};
use analysis::VariantName;
use analysis::procedure::Point;
use sentences::comparison::{IncomparablePair, Scatter};
use sentences::{
    comparison, cost, curve, effects, endurance, fault, ladder, price_performance, scale_up,
    screen, search, trials,
};
use store::record::{
    CapacityRecord, ComparisonRecord, CostComparisonRecord, CurveRecord, EffectsRecord,
    EnduredRecord, Finding, PEAK, PointRecord, PriceRecord, ScaleUpRecord, ScreenRecord,
    SearchRecord, SweepRecord, TrialFinding, compared_value,
};
use study::settings::Study;

pub struct Facts<'a> {
    pub study: &'a Study,
    pub trials: &'a [TrialFinding],
    pub searches: &'a [SearchRecord],
    pub endured: &'a [EnduredRecord],
    pub points: &'a [PointRecord],
    pub compared: &'a Comparisons,
    pub costs: &'a [CostComparisonRecord],
    pub effects: &'a [EffectsRecord],
    pub curves: &'a [CurveRecord],
    pub scale_ups: &'a [ScaleUpRecord],
    pub screens: &'a [ScreenRecord],
    pub prices: &'a [PriceRecord],
    pub capacities: &'a [CapacityRecord],
}

impl Facts<'_> {
    /// Returns the sentences of the answer, and the record of each sweep.
    pub fn answer(&self) -> (Vec<String>, Vec<SweepRecord>) {
        // The question of a matrix is about the effects of its axes, so the effects come first.
        let mut sentences = effects::sentences(self.effects);
        sentences.extend(screen::sentences(self.screens, self.study.tune.is_some()));
        // In a study that ends when its question is answered, the answers of the comparisons come
        // next.
        let answers = self.compared.records.iter();
        sentences.extend(
            answers.filter_map(|one| comparison::answered(one, self.scatter(one).as_ref())),
        );
        sentences.extend(self.endured_sentences());
        sentences.extend(fault::sentences(self.trials));
        for variant in &self.study.variants {
            let at_share = searches::at_share(variant, self.trials);
            let blocks = self.study.blocks();
            let searches = self.searches;
            sentences.extend(search::sentences(
                &variant.name,
                blocks,
                searches,
                at_share.as_ref(),
            ));
        }
        // The comparisons of variants come before the sweeps, which support them.
        let (compared, not_judged) = self.comparisons();
        sentences.extend(compared);
        sentences.extend(self.cost_sentences());
        let (ladders, sweeps) = self.ladders();
        sentences.extend(ladders);
        sentences.extend(curve::sentences(self.curves));
        sentences.extend(scale_up::sentences(self.scale_ups));
        sentences.extend(price_performance::sentences(self.prices, self.capacities));
        sentences.extend(not_judged);
        let is_screened = self.study.screen.is_some();
        let multiplicity = self.compared.multiplicity.as_ref().filter(|_| !is_screened);
        sentences.extend(multiplicity.map(comparison::multiplicity));
        sentences.extend(trials::generations(self.trials));
        sentences.extend(trials::besides(self.trials));
        (sentences, sweeps)
    }

    pub fn required<'a>(&'a self, sweeps: &'a [SweepRecord]) -> RequirementFacts<'a> {
        RequirementFacts {
            study: self.study,
            trials: self.trials,
            points: self.points,
            sweeps,
            searches: self.searches,
            comparisons: &self.compared.records,
        }
    }

    /// Returns the result of each sweep, as sentences and as records.
    fn ladders(&self) -> (Vec<String>, Vec<SweepRecord>) {
        let (mut sentences, mut sweeps) = (Vec::new(), Vec::new());
        let mut unbelieved: Vec<&VariantName> = Vec::new();
        for variant in &self.study.variants {
            // The points of a search are not a sweep, because each depends on the results before
            // it. `endured_sentences` describes the single point of an endurance study.
            if is_search(variant) || variant.settings.procedure.endurance().is_some() {
                continue;
            }
            let of: Vec<&PointRecord> =
                self.points.iter().filter(|p| p.variant == variant.name).collect();
            let bound_ms = variant.settings.procedure.p99_bound_ms();
            let sweep = points::sweep(&of, bound_ms);
            // A run of a screening is not a configuration that a user would choose, so it has no
            // sentence about its best point.
            let is_configuration = self.study.screen.is_none() || variant.cell.is_empty();
            if is_configuration && !self.is_only_broken(&of) {
                let compared = |one: &PointRecord, metric: &str| self.compared(one, metric);
                match ladder::best(&variant.name, &of, &sweep, bound_ms, compared) {
                    Some(sentence) => {
                        let traffic = variant.settings.workload.recorded.as_ref();
                        let speed = traffic.and_then(|traffic| traffic.speed);
                        sentences.push(sentence);
                        sentences.extend(speed.map(ladder::recorded_speed));
                    }
                    None => unbelieved.push(&variant.name),
                }
            }
            sweeps.extend(points::sweep_record(&of, &sweep));
        }
        sentences.extend(ladder::unbelieved(&unbelieved));
        (sentences, sweeps)
    }

    /// Returns the value of a metric at a point. The quotient of two such values is the reported
    /// ratio.
    fn compared(&self, point: &PointRecord, metric: &str) -> Option<f64> {
        let place = (&point.variant, point.point);
        compared_value(&self.compared.records, self.trials, place, metric)
    }

    /// Returns true if all trials of the points had faults and kept up with their rate. In this
    /// case, other sentences describe the effect of the faults.
    fn is_only_broken(&self, points: &[&PointRecord]) -> bool {
        let is_kept_up =
            |point: &&PointRecord| point.point.is_some_and(Point::is_rate) && !point.saturated;
        let is_broken = |trial: &TrialFinding| !trial.faults.is_empty();
        let mut trials = points
            .iter()
            .flat_map(|point| self.trials.iter().filter(|one| point.trials.contains(&one.index)))
            .peekable();
        trials.peek().is_some() && trials.all(is_broken) && points.iter().all(is_kept_up)
    }

    /// Returns the range of a comparison's metric over the usable trials of the variant whose
    /// values scatter more.
    fn scatter(&self, comparison: &ComparisonRecord) -> Option<Scatter<'_>> {
        let compared = COMPARED.iter().find(|one| one.name == comparison.metric)?;
        let ends = |variant: &VariantName| {
            let of = self.trials.iter().filter(|trial| {
                trial.variant == *variant && trial.point == comparison.point && usable(trial)
            });
            let values = of.map(|trial| (compared.value)(trial).least());
            values.fold([f64::INFINITY, 0.0], |[least, most], value| {
                [value.min(least), value.max(most)]
            })
        };
        let variant_of = |name: &VariantName| {
            let variants = self.study.variants.iter();
            variants.map(|variant| &variant.name).find(|known| *known == name)
        };
        let sides = [&comparison.baseline, &comparison.contender];
        let scatters = sides.into_iter().filter_map(|name| {
            Some(Scatter {
                variant: variant_of(name)?,
                metric: compared.name,
                ends: ends(name),
            })
        });
        scatters.max_by(|a, b| (a.ends[1] / a.ends[0]).total_cmp(&(b.ends[1] / b.ends[0])))
    }

    /// Returns the sentences on the comparisons that answer the question. Also returns a sentence
    /// on the comparisons of a single block, which allow no conclusion.
    fn comparisons(&self) -> (Vec<String>, Option<String>) {
        let (mut sentences, mut of_one_block) = (Vec::new(), Vec::new());
        let Comparisons {
            records,
            inconclusive,
            ..
        } = self.compared;
        // In a matrix, comparing a cell with the first cell mixes several axes. So the answer omits
        // these comparisons, and only the table has them.
        let told = records
            .iter()
            .filter(|c| c.primary || is_asked(&c.metric, c.point))
            .filter(|_| self.effects.is_empty() && self.study.screen.is_none());
        for one in told {
            let scatter = self.scatter(one);
            if one.blocks < 2 && one.looks.is_none() && one.verdict == Finding::Inconclusive {
                of_one_block.push(one);
            } else if comparison::answered(one, None).is_none() {
                sentences.push(comparison::sentence(one, scatter.as_ref()));
            }
            sentences.extend(comparison::robust(one));
        }
        let inconclusive = inconclusive
            .iter()
            .filter(|_| self.study.screen.is_none())
            .filter(|u| is_asked(u.metric, u.place));
        sentences.extend(inconclusive.map(|pair| {
            comparison::incomparable(&IncomparablePair {
                baseline: &pair.baseline,
                contender: &pair.contender,
                metric: pair.metric,
                place: pair.place,
            })
        }));
        (sentences, comparison::one_block(&of_one_block))
    }

    /// Returns the sentences on the costs of variants, unless the study is a matrix or a screening.
    fn cost_sentences(&self) -> Vec<String> {
        if !self.effects.is_empty() || self.study.screen.is_some() {
            return Vec::new();
        }
        let is_primary = |one: &&CostComparisonRecord| {
            let compared = self.compared.records.iter();
            let mut primary = compared.filter(|comparison| comparison.primary);
            primary.any(|c| c.contender == one.contender && c.point == one.point)
        };
        let asked: Vec<&CostComparisonRecord> = self.costs.iter().filter(is_primary).collect();
        cost::sentences(&asked, self.points)
    }

    fn endured_sentences(&self) -> Vec<String> {
        let variants = self.study.variants.iter();
        let asked = variants.filter(|one| one.settings.procedure.endurance().is_some());
        let said = asked.flat_map(|variant| {
            let found = self.endured.iter().find(|one| one.variant == variant.name);
            endurance::sentences(&variant.name, found, self.trials)
        });
        said.collect()
    }
}

/// Returns true if the answer mentions comparisons of this metric at this point. The answer
/// mentions the metric that answers the question, throughput, and the results of searches.
fn is_asked(metric: &str, place: Option<Point>) -> bool {
    metric == metric_of(place) || metric == "ops_per_s" || metric == PEAK
}
