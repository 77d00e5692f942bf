//! The answer to the study's question, a sentence at a time.

use super::compared::{All, PEAK, Untold, is_search, metric_of, too_few_blocks};
use super::looked;
use super::points;
use super::{
    besides_sentence, broken, curves, effects, endured, point_words, scaled, screen, searched,
    worth,
};
use crate::generation;
use analysis::TENFOLD;
use analysis::compare::BLOCKS_TO_SETTLE_MAX;
use analysis::sweep::{Knee, Reading};
use measure::number::{significant, whole};
use std::collections::BTreeMap;
use store::record::{
    Bound, CapacityRecord, ComparisonRecord, CurveRecord, EffectsRecord, EnduredRecord, Finding,
    MultiplicityRecord, PointRecord, PriceRecord, ScaleUpRecord, ScreenRecord, SearchRecord,
    SweepRecord, TrialFinding,
};
use study::settings::Study;

/// What the sentences are made of.
pub struct Known<'a> {
    pub study: &'a Study,
    pub trials: &'a [TrialFinding],
    pub searches: &'a [SearchRecord],
    pub endured: &'a [EnduredRecord],
    pub points: &'a [PointRecord],
    pub compared: &'a All,
    pub effects: &'a [EffectsRecord],
    pub curves: &'a [CurveRecord],
    pub scale_ups: &'a [ScaleUpRecord],
    pub screens: &'a [ScreenRecord],
    pub prices: &'a [PriceRecord],
    pub capacities: &'a [CapacityRecord],
}

impl Known<'_> {
    /// The sentences, and what each ladder shows.
    pub fn answer(&self) -> (Vec<String>, Vec<SweepRecord>) {
        // What a matrix asks is what its axes do: that comes first.
        let mut sentences = effects::sentences(self.effects);
        sentences.extend(screen::sentences(self.screens));
        // What the study was to find out stands next, where it went on until it was found.
        let answers = self.compared.records.iter();
        sentences.extend(answers.filter_map(looked::sentence));
        sentences.extend(endured::sentences(self.study, self.endured, self.trials));
        sentences.extend(broken::sentences(self.trials));
        let mut sweeps = Vec::new();
        let mut unbelieved: Vec<&str> = Vec::new();
        for variant in &self.study.variants {
            let searched = searched::sentences(self.study, variant, self.searches, self.trials);
            sentences.extend(searched);
        }
        for variant in &self.study.variants {
            // The points of a search are a path, and no ladder; one point for hours has been told.
            if is_search(variant) || variant.settings.procedure.endurance().is_some() {
                continue;
            }
            let of = self.points.iter().filter(|p| p.variant == variant.name);
            let of: Vec<&PointRecord> = of.collect();
            let bound_ms = variant.settings.procedure.p99_bound_ms();
            let sweep = points::sweep(&of, bound_ms);
            // A run of a screening is no configuration that anybody asks for.
            if self.study.screen.is_none() || variant.cell.is_empty() {
                match peak_sentence(&variant.name, &of, &sweep, bound_ms) {
                    Some(sentence) => sentences.push(sentence),
                    None => unbelieved.push(&variant.name),
                }
            }
            sweeps.extend(points::sweep_record(&of, &sweep));
        }
        sentences.extend(unbelieved_sentence(&unbelieved));
        sentences.extend(curves::sentences(self.curves));
        sentences.extend(scaled::sentences(self.scale_ups));
        sentences.extend(worth::sentences(self.prices, self.capacities));
        let All {
            records,
            multiplicity,
            untold,
        } = self.compared;
        // The cells of a matrix against its first one stand in the table: each mixes several axes.
        let told = records
            .iter()
            .filter(|c| c.primary || is_asked(&c.metric, &c.point))
            .filter(|_| self.effects.is_empty() && self.study.screen.is_none());
        for comparison in told {
            if looked::sentence(comparison).is_none() {
                sentences.push(comparison_sentence(comparison));
            }
            sentences.extend(looked::robust_sentence(comparison));
        }
        let untold = untold.iter().filter(|_| self.study.screen.is_none());
        let untold = untold.filter(|u| is_asked(u.metric, &u.place));
        sentences.extend(untold.map(untold_sentence));
        let multiplicity = multiplicity
            .as_ref()
            .filter(|_| self.study.screen.is_none());
        sentences.extend(multiplicity.map(multiplicity_sentence));
        sentences.extend(generation::sentence(self.trials));
        sentences.extend(besides_sentence(self.trials));
        (sentences, sweeps)
    }
}

/// Whether a metric is what the question is about at a point. At a rate throughput is compared only
/// where it says something.
fn is_asked(metric: &str, place: &BTreeMap<String, f64>) -> bool {
    metric == metric_of(place) || metric == "ops_per_s" || metric == PEAK
}
