//! Describes the result of a comparison of two variants, and the questions that the comparison
//! leaves undecided.

use crate::interval::Ratio;
use crate::result_place::{metric_words, point_words, where_words};
use analysis::VariantName;
use analysis::procedure::Point;
use analysis::{TENFOLD, too_few_blocks};
use indexmap::IndexSet;
use measure::number::{change, changes, short, significant, whole};
use store::record::{
    Bound, ComparisonRecord, Finding, LooksHow, LooksRecord, MultiplicityRecord, PEAK, RobustRecord,
};

/// Maximum number of additional blocks that a sentence suggests. cassay cannot add more blocks at
/// once.
pub const BLOCKS_ADDED_MAX: usize = 50;

/// Detectable difference, as a share, at and above which a sentence omits this difference. The
/// trials then scatter too much.
const SCATTER_MAX: f64 = 0.5;

/// Returns the sentence for a comparison whose number of blocks was fixed in advance. `scatter` is
/// the range of the metric in trials that should be alike.
pub fn sentence(comparison: &ComparisonRecord, scatter: Option<&Scatter<'_>>) -> String {
    let ComparisonRecord {
        baseline,
        contender,
        ..
    } = comparison;
    let at = where_words(&comparison.metric, comparison.point);
    let change = change_words(comparison);
    let left_open = undecided(comparison, scatter);
    let says = match comparison.verdict {
        Finding::Inconclusive if is_chance_among_many(comparison) => {
            return format!(
                "{at}, “{contender}” and “{baseline}” may differ ({change}): among all comparisons \
                 here, this difference may be due to chance{}.",
                settle(comparison.blocks_to_settle)
            );
        }
        Finding::Inconclusive => {
            return format!(
                "{at}, the comparison of “{contender}” with “{baseline}” is inconclusive \
                 ({}){left_open}.",
                open_change_words(comparison)
            );
        }
        Finding::Equivalent => format!("“{contender}” and “{baseline}” are equivalent"),
        Finding::LooksDifferent => format!("“{contender}” looks different from “{baseline}”"),
        Finding::Faster | Finding::Slower => {
            format!("“{contender}” is {} than “{baseline}”", comparison.verdict)
        }
    };
    format!("{at}, {says}: {change}{left_open}.")
}

/// Returns true if the verdict is inconclusive only because of the correction for many comparisons.
/// In this case, the interval of the comparison alone excludes 1.
fn is_chance_among_many(comparison: &ComparisonRecord) -> bool {
    let (blocks, planned) = (comparison.blocks, comparison.blocks_planned);
    let is_beside = comparison.ci95.is_some_and(|[low, high]| low > 1.0 || high < 1.0);
    is_beside && !too_few_blocks(blocks, planned, comparison.looks_in())
}

/// Returns a proposal such as `; 6 blocks would decide`. Returns an empty string if the number of
/// blocks is too large to be useful.
pub(crate) fn settle(blocks: Option<usize>) -> String {
    let blocks = blocks.filter(|blocks| *blocks <= BLOCKS_ADDED_MAX);
    blocks.map_or(String::new(), |blocks| {
        format!("; {blocks} blocks would decide")
    })
}

/// Range of a metric in trials of one variant at one load, which should be alike.
pub struct Scatter<'a> {
    /// Variant whose trials scatter more than those of the other compared variant.
    pub variant: &'a VariantName,
    /// Name of the metric, as in [`ComparisonRecord::metric`].
    pub metric: &'a str,
    /// Smallest and largest value of the metric.
    pub ends: [f64; 2],
}

/// Ratio of the largest to the smallest value above which a sentence states the range.
const RANGE_RATIO_MIN: f64 = 1.5;

impl Scatter<'_> {
    /// Returns the range, such as `: throughput of “lz4” went from 7,200 to 31,500 op/s`. Returns
    /// an empty string if the range is small.
    fn words(&self) -> String {
        let [least, most] = self.ends;
        if !(least > 0.0 && most > least * RANGE_RATIO_MIN) {
            return String::new();
        }
        let (metric, variant) = (metric_words(self.metric), self.variant);
        let (least, most, unit) = if metric == "throughput" {
            (whole(least), whole(most), "op/s")
        } else {
            (short(least, 3), short(most, 3), "ms")
        };
        format!(": {metric} of “{variant}” went from {least} to {most} {unit}")
    }
}

/// Describes comparisons that have only one block, all in one sentence. The sentence does not judge
/// the differences. Returns `None` if `comparisons` is empty.
pub fn one_block(comparisons: &[&ComparisonRecord]) -> Option<String> {
    let mut variants: IndexSet<&VariantName> = IndexSet::new();
    for one in comparisons {
        variants.extend([&one.baseline, &one.contender]);
    }
    let names: Vec<String> = variants.iter().map(|name| format!("“{name}”")).collect();
    let (last, first) = names.split_last()?;
    let more = "begin with five (`repeat.blocks: 5`)";
    Some(match first.len() {
        0 => return None,
        1..VARIANTS_MANY => format!(
            "With one block each, cassay does not judge the difference between {} and {last}; \
             {more}.",
            first.join(", ")
        ),
        _ => format!(
            "With one block each, cassay does not judge whether the {} variants differ; {more}.",
            names.len()
        ),
    })
}

/// Number of variants above which a sentence states the number of variants instead of their names.
const VARIANTS_MANY: usize = 5;

/// Describes a difference, such as `+5.1 % throughput (95 %: +3.9 to +6.3 %)`.
pub fn change_words(comparison: &ComparisonRecord) -> String {
    let (change, interval) = Ratio::from(comparison).change("95 %");
    let metric = metric_words(&comparison.metric);
    if interval.is_empty() {
        return format!("{change} {metric} (one block: without an interval)");
    }
    format!("{change} {metric}{interval}")
}

/// Describes an undecided difference, such as `+20.6 % throughput, anything from -40.7 to +145 %`.
/// If the interval includes tenfold changes, the text omits the ends of the interval, because they
/// would not help the reader.
fn open_change_words(comparison: &ComparisonRecord) -> String {
    let metric = metric_words(&comparison.metric);
    let change = Ratio::from(comparison).change("95 %").0;
    let tenfold = 1.0 + TENFOLD;
    match comparison.ci95.filter(|_| comparison.bound.is_none()) {
        Some([low, high]) if low < 1.0 / tenfold || high > tenfold => {
            format!("{metric}: any factor up to ten, in either direction, is possible")
        }
        Some(ends) => format!("{change} {metric}, anything from {}", changes(ends)),
        None => change_words(comparison),
    }
}

/// Two variants for which a metric could not be compared.
#[derive(Clone, Copy, Debug)]
pub struct IncomparablePair<'a> {
    /// Variant that comes first in the study.
    pub baseline: &'a VariantName,
    /// Variant that comes second in the study.
    pub contender: &'a VariantName,
    pub metric: &'a str,
    /// Point at which both variants were measured. `None` if the pair covers a whole search.
    pub place: Option<Point>,
}

/// Describes a metric that cannot be compared, because both variants have only lower bounds.
pub fn incomparable(pair: &IncomparablePair<'_>) -> String {
    let IncomparablePair {
        baseline,
        contender,
        metric,
        place,
    } = *pair;
    format!(
        "{}, cassay cannot compare “{contender}” and “{baseline}” by {}: both values are only \
         lower bounds, because {}.",
        where_words(metric, place),
        metric_words(metric),
        match metric {
            PEAK => "the searches ended before the load was too high for the target",
            _ => "the client abandoned operations, or never sent them",
        }
    )
}

fn undecided(comparison: &ComparisonRecord, scatter: Option<&Scatter<'_>>) -> String {
    let percent = |share: f64| format!("{} %", significant(share * 100.0, 3));
    let mut parts = Vec::new();
    if let Some(between) = comparison.between_runs {
        parts.push(format!(
            "the runs were not interleaved, so the interval allows for a difference of {} from run \
             to run",
            percent(between)
        ));
    }
    match comparison.verdict {
        Finding::Inconclusive => {
            let looks = comparison.looks_in();
            parts.push(
                if too_few_blocks(comparison.blocks, comparison.blocks_planned, looks) {
                    format!(
                        "only {} of {} blocks have two usable trials, and these blocks are not a \
                         random selection",
                        comparison.blocks, comparison.blocks_planned
                    )
                } else {
                    could_see(comparison, scatter, &percent)
                },
            );
        }
        Finding::LooksDifferent => {}
        Finding::Faster | Finding::Slower | Finding::Equivalent => return String::new(),
    }
    parts.iter().map(|part| format!("; {part}")).collect()
}

fn could_see(
    comparison: &ComparisonRecord,
    scatter: Option<&Scatter<'_>>,
    percent: &dyn Fn(f64) -> String,
) -> String {
    let cut_off = match comparison.bound {
        Some(Bound::AtLeast) => Some(&comparison.contender),
        Some(Bound::AtMost) => Some(&comparison.baseline),
        None => None,
    };
    if let Some(variant) = cut_off.filter(|_| comparison.metric == PEAK) {
        return format!(
            "a search ended before the load was too high, so the value of “{variant}” is only a \
             lower bound, and the comparison can decide in one direction only"
        );
    }
    if let Some(variant) = cut_off {
        return format!(
            "the client abandoned operations or never sent them, so the value of “{variant}” is \
             only a lower bound, and the comparison can decide in one direction only"
        );
    }
    let Some(share) = comparison.could_see else {
        if let Some(looks) = comparison.looks.as_ref().filter(|_| comparison.blocks > 1) {
            return too_early(looks, comparison.blocks);
        }
        return "one block shows no spread; begin with five (`repeat.blocks: 5`)".to_owned();
    };
    let saw = if share < SCATTER_MAX {
        format!(
            "these trials would have detected a difference of {}",
            percent(share)
        )
    } else {
        let how = scatter.map_or(String::new(), Scatter::words);
        format!("the trials scatter too much for a decision{how}")
    };
    match (comparison.blocks_to_settle, comparison.between_runs) {
        (_, Some(_)) => format!("{saw}; `repeat.order: interleaved` detects smaller differences"),
        (Some(blocks), None) if blocks <= BLOCKS_ADDED_MAX => {
            format!("{saw}; {blocks} blocks would decide")
        }
        (_, None) => format!("{saw}; more blocks like these would not decide"),
    }
}

/// States the correction for the number of comparisons.
pub fn multiplicity(many: &MultiplicityRecord) -> String {
    format!(
        "Corrected for {} comparisons (Holm's method).",
        many.comparisons
    )
}

/// Summarizes in one sentence the result of a study that ends as soon as its question is answered.
/// Returns `None` if the comparison does not belong to such a study, or is not primary.
pub fn answered(comparison: &ComparisonRecord, scatter: Option<&Scatter<'_>>) -> Option<String> {
    let looks = comparison.looks.as_ref().filter(|_| comparison.primary)?;
    let (contender, baseline) = (&comparison.contender, &comparison.baseline);
    let (change, interval) = Ratio::from(comparison).change("95 %, over all looks");
    let metric = metric_words(&comparison.metric);
    let (ended, left_open) = (&looks.ended, undecided(comparison, scatter));
    let number = format!("{change} {metric}{}{interval}", place(comparison));
    let whenever = match looks.how {
        LooksHow::Anytime => ", so the interval is valid at every look",
        _ => "",
    };
    let says = match comparison.verdict {
        Finding::Faster | Finding::Slower => {
            format!("“{contender}” is {} than “{baseline}”", comparison.verdict)
        }
        Finding::Equivalent => format!("“{contender}” and “{baseline}” are equivalent"),
        _ => {
            let at = place(comparison);
            let open = open_change_words(comparison);
            return Some(format!(
                "“{contender}” or “{baseline}”{at}: {ended}{whenever} ({open}){left_open}."
            ));
        }
    };
    Some(format!("{says}: {number}; {ended}{whenever}{left_open}."))
}

/// Returns the point, such as ` at 8 threads`. Returns an empty string for searches, which are
/// compared by their results.
fn place(comparison: &ComparisonRecord) -> String {
    if comparison.point.is_none() {
        String::new()
    } else {
        format!(" at {}", point_words(comparison.point))
    }
}

/// Returns a note with the robust ratio. `None` if no block of the comparison is an outlier.
pub fn robust(comparison: &ComparisonRecord) -> Option<String> {
    let RobustRecord {
        block,
        z,
        ratio,
        interval: [low, high],
        covers,
    } = comparison.robust.as_ref()?;
    Some(format!(
        "One block differs from the others ({} of “{}” against “{}”{}: block {block}, by {} \
         deviations). Without its weight, the ratio is {} ({}; {} % interval: {}). The block still \
         counts, because its trials are valid.",
        metric_words(&comparison.metric),
        comparison.contender,
        comparison.baseline,
        place(comparison),
        significant(z.abs(), 2),
        significant(*ratio, 3),
        change(*ratio),
        significant(covers * 100.0, 3),
        changes([*low, *high])
    ))
}

/// Explains why a comparison of several blocks has no interval yet.
fn too_early(looks: &LooksRecord, pairs: usize) -> String {
    match looks.how {
        LooksHow::Anytime => {
            format!("{pairs} pairs of trials are too few for an anytime-valid interval")
        }
        _ => format!(
            "the run has {pairs} pairs of trials, but judges the comparison only from {} pairs on",
            looks.min
        ),
    }
}
