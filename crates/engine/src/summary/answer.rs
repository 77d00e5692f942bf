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

/// `At 28 threads`; what searches have found is compared wherever it is.
pub fn where_words(metric: &str, place: &BTreeMap<String, f64>) -> String {
    match metric {
        PEAK => "At what the searches have found".to_owned(),
        _ => format!("At {}", point_words(place)),
    }
}

/// What a variant reached, and where it stopped getting better; none if nothing may be believed.
fn peak_sentence(
    variant: &str,
    points: &[&PointRecord],
    sweep: &Reading,
    bound_ms: Option<f64>,
) -> Option<String> {
    let who = match variant {
        "-" => "The target".to_owned(),
        name => format!("“{name}”"),
    };
    let best = sweep.best_within_bound.or(sweep.best)?;
    let point = points[best];
    let mut sentence = format!("{who} did {} op/s{}", whole(point.ops_per_s), error(point));
    sentence += &format!(" at {}", point_words(&point.point));
    let p99_ms = point.latency_ms.p99;
    if point.latency_ms.count > 0 || p99_ms.least() > 0.0 {
        let (sign, p99) = (p99_ms.sign(), significant(p99_ms.least(), 3));
        sentence += &format!(", with a p99 of {sign}{p99} ms");
    }
    if let Some(bound) = bound_ms {
        sentence += &within_bound(points, sweep, bound);
    }
    Some(sentence + &end_of_ladder(points, sweep, best) + ".")
}

/// Who has nothing to show: one sentence for all of them.
fn unbelieved_sentence(variants: &[&str]) -> Option<String> {
    Some(match variants {
        [] => return None,
        ["-"] => "The target has no trial that may be believed.".to_owned(),
        [one] => format!("“{one}” has no trial that may be believed."),
        [one, other] => format!("“{one}” and “{other}” have no trial that may be believed."),
        [one, .., last] => format!(
            "“{one}” to “{last}”, {} variants, have no trial that may be believed.",
            variants.len()
        ),
    })
}

/// The error of a throughput, and what it rests on: ` (± 1.2 %, mean of 3 blocks)`.
fn error(point: &PointRecord) -> String {
    let half = point.ops_per_s_ci95.map(|[low, high]| (high - low) / 2.0);
    let share = half.map(|half| half / point.ops_per_s * 100.0);
    let share = share.filter(|share| share.is_finite() && *share > 0.0);
    let parts = [
        share.map(|share| format!("± {} %", significant(share, 3))),
        (point.blocks > 1).then(|| format!("mean of {} blocks", point.blocks)),
        (share.is_some() && point.short_window).then(|| "short window".to_owned()),
        (share.is_some() && point.few_incidents).then(|| "few incidents".to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!(" ({})", parts.join(", ")),
    }
}

/// Where p99 stayed within a bound, as far as that can be told.
fn within_bound(points: &[&PointRecord], sweep: &Reading, bound_ms: f64) -> String {
    let untold = sweep.untold_within_bound.map(|at| {
        let (p99_ms, ops) = (points[at].latency_ms.p99, points[at].ops_per_s);
        format!(
            "whether {} ({} op/s) did cannot be told, since its p99 is only known to be at \
             least {} ms",
            point_words(&points[at].point),
            whole(ops),
            significant(p99_ms.least(), 3)
        )
    });
    match (sweep.best_within_bound, untold) {
        (Some(_), None) => format!(", the most within {bound_ms} ms"),
        (Some(_), Some(untold)) => {
            format!(", the most of which it is known that it stayed within {bound_ms} ms; {untold}")
        }
        (None, None) => format!("; no point stayed within {bound_ms} ms"),
        (None, Some(untold)) => {
            format!("; no point is known to have stayed within {bound_ms} ms: {untold}")
        }
    }
}

fn end_of_ladder(points: &[&PointRecord], sweep: &Reading, best: usize) -> String {
    let name = |at: usize| point_words(&points[at].point);
    if let Some(from) = sweep.saturated_from {
        let most = points[from..].iter().map(|point| point.ops_per_s);
        let most = whole(most.fold(0.0, f64::max));
        return format!(
            "; from {} on it did not keep up, and did {most} op/s at most",
            name(from)
        );
    }
    match sweep.knee {
        Knee::At(knee) if knee != best => {
            format!(
                "; beyond {} more load brought only more latency",
                name(knee)
            )
        }
        Knee::At(_) => String::new(),
        Knee::Growing => {
            "; throughput still grew at the end, so the peak may lie beyond".to_owned()
        }
        Knee::Untold if sweep.best_is_last && points.len() > 1 => {
            "; the peak may lie beyond this, the highest load offered".to_owned()
        }
        Knee::Untold if points.len() > 2 => {
            "; where more load stops paying cannot be told from these points".to_owned()
        }
        Knee::Untold => String::new(),
    }
}

/// `throughput`, `p99`: what is compared.
pub fn metric_words(metric: &str) -> &str {
    match metric {
        "ops_per_s" => "throughput",
        PEAK => "throughput",
        other => other.rsplit('.').next().unwrap_or(other),
    }
}

fn comparison_sentence(comparison: &ComparisonRecord) -> String {
    let ComparisonRecord {
        baseline,
        contender,
        ..
    } = comparison;
    let at = where_words(&comparison.metric, &comparison.point);
    let change = change_words(comparison);
    let says = match comparison.verdict {
        Finding::Inconclusive => "against",
        Finding::Equivalent => "equivalent to",
        Finding::Faster | Finding::Slower | Finding::LooksDifferent => "beside",
    };
    let primary = if comparison.primary { " (primary)" } else { "" };
    format!(
        "{at}, “{contender}” {says} “{baseline}”: {change}{primary}{}.",
        undecided(comparison)
    )
}

/// `+5.1 % throughput (95 %: +3.9 to +6.3 %)`.
pub fn change_words(comparison: &ComparisonRecord) -> String {
    let bound = bound_words(comparison);
    let percent = |ratio: f64| format!("{:+.1}", (ratio - 1.0) * 100.0);
    let interval = match (comparison.ci95, comparison.ci95_end) {
        (Some([low, high]), _) => format!(" (95 %: {} to {} %)", percent(low), percent(high)),
        (None, Some(end)) => format!(" (95 %: {bound}{} %)", percent(end)),
        (None, None) => " (one block: without an interval)".to_owned(),
    };
    let metric = metric_words(&comparison.metric);
    format!("{bound}{} % {metric}{interval}", percent(comparison.ratio))
}

/// `at least `, `at most `: what stands before a ratio that is a bound.
fn bound_words(comparison: &ComparisonRecord) -> String {
    comparison.bound.map_or_else(String::new, Bound::before)
}

/// What cannot be compared, since nobody knows how large it is on either side.
fn untold_sentence(untold: &Untold) -> String {
    let Untold {
        baseline,
        contender,
        place,
        metric,
    } = untold;
    format!(
        "{}, “{contender}” and “{baseline}” cannot be compared by {}: on both sides it is only \
         a lower bound, since {}.",
        where_words(metric, place),
        metric_words(metric),
        match *metric {
            PEAK => "the searches ended before it was too much for the target",
            _ => "operations were given up or never sent",
        }
    )
}

/// What a verdict that is not decided leaves open.
pub(super) fn undecided(comparison: &ComparisonRecord) -> String {
    let percent = |share: f64| format!("{} %", significant(share * 100.0, 3));
    let mut parts = Vec::new();
    if let Some(between) = comparison.between_runs {
        parts.push(format!(
            "not interleaved, so the interval allows for {} from run to run",
            percent(between)
        ));
    }
    match comparison.verdict {
        Finding::Inconclusive => {
            parts.insert(0, "inconclusive".to_owned());
            let looks = looked::looks_in(comparison);
            parts.push(
                match too_few_blocks(comparison.blocks, comparison.blocks_planned, looks) {
                    true => format!(
                        "only {} of {} blocks have two trials that may be used, and those were not \
                     chosen by chance",
                        comparison.blocks, comparison.blocks_planned
                    ),
                    false => could_see(comparison, &percent),
                },
            );
            if (comparison.ci95).is_some_and(|[low, high]| low > 1.0 || high < 1.0) {
                // An interval beside 1 is not enough.
                parts.insert(
                    1,
                    format!(
                        "the interval leaves out 0, but a difference is called at {:.0} %, after \
                         an adjustment for the number of comparisons",
                        (1.0 - analysis::DIFFERENCE_LEVEL) * 100.0
                    ),
                );
            }
        }
        Finding::LooksDifferent => parts.insert(0, "looks different".to_owned()),
        Finding::Faster | Finding::Slower | Finding::Equivalent => return String::new(),
    }
    format!(": {}", parts.join("; "))
}

fn could_see(comparison: &ComparisonRecord, percent: &dyn Fn(f64) -> String) -> String {
    let cut_off = match comparison.bound {
        Some(Bound::AtLeast) => Some(&comparison.contender),
        Some(Bound::AtMost) => Some(&comparison.baseline),
        None => None,
    };
    if let Some(variant) = cut_off.filter(|_| comparison.metric == PEAK) {
        return format!(
            "that of “{variant}” is only a lower bound, since a search ended before it was too \
             much for the target, and could decide it in one direction only"
        );
    }
    if let Some(variant) = cut_off {
        return format!(
            "that of “{variant}” is only a lower bound, since operations were given up or never \
             sent, and could decide it in one direction only"
        );
    }
    let Some(share) = comparison.could_see else {
        if let Some(looks) = comparison.looks.as_ref().filter(|_| comparison.blocks > 1) {
            return looked::too_early(looks, comparison.blocks);
        }
        return "one block shows no spread, so five (`repeat.blocks: 5`) are the least to begin with"
            .to_owned();
    };
    let saw = match share < TENFOLD {
        true => format!("a difference of {} would have been seen", percent(share)),
        false => "not even a tenfold difference would have been seen".to_owned(),
    };
    match (comparison.blocks_to_settle, comparison.between_runs) {
        (_, Some(_)) => format!("{saw}; `repeat.order: interleaved` sees less"),
        (Some(blocks), None) => format!("{saw}, and {blocks} blocks would settle it"),
        (None, None) => format!(
            "{saw}, and not even {BLOCKS_TO_SETTLE_MAX} blocks would settle it at this spread"
        ),
    }
}

fn multiplicity_sentence(many: &MultiplicityRecord) -> String {
    // Two digits say all that a number of chance findings has to.
    let few = |count: f64| {
        let text = format!("{count:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    format!(
        "Of {} comparisons, {} would be called different by chance one by one; adjusted for their \
         number (Holm's method; {} primary), at most {}.",
        many.comparisons,
        few(many.false_findings_one_by_one),
        many.primary,
        few(many.false_findings_expected)
    )
}
