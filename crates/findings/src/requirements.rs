//! Judges the requirements of a study. The result has a record for each requirement of each variant
//! at each point to which the requirement applies.

mod earlier;
mod sentences;

pub use earlier::{lay_earlier_beside, look_for_earlier};

use super::points::places_of;
use analysis::VariantName;
use analysis::autocorrelation::mean_of_blocks_ci95;
use analysis::procedure::Point;
use analysis::requirements::{
    Limit, RequiredMetric, RequirementResult, block_interval, hull, share_interval,
};
use analysis::too_few_blocks;
use measure::Known;
use store::record::{
    BesideRecord, Bound, ComparisonRecord, PointRecord, QuantilesRecord, RequirementRecord,
    SearchRecord, SweepRecord, TrialFinding,
};
use study::settings::{IfInconclusive, Require, Study, Variant, Where};

pub struct RequirementFacts<'a> {
    pub study: &'a Study,
    pub trials: &'a [TrialFinding],
    pub points: &'a [PointRecord],
    pub sweeps: &'a [SweepRecord],
    pub searches: &'a [SearchRecord],
    pub comparisons: &'a [ComparisonRecord],
}

/// A percentile: its key in records, its metric, its name in sentences, and the function that
/// returns its value.
type Percentile = (
    &'static str,
    RequiredMetric,
    &'static str,
    fn(&QuantilesRecord) -> Known,
);

const PERCENTILES: [Percentile; 4] = [
    ("p50", RequiredMetric::P50Ms, "median latency", |q| q.p50),
    ("p95", RequiredMetric::P95Ms, "p95 latency", |q| q.p95),
    ("p99", RequiredMetric::P99Ms, "p99 latency", |q| q.p99),
    ("p999", RequiredMetric::P999Ms, "p99.9 latency", |q| q.p999),
];

/// A number to which a requirement applies. `value` is `None` if the number is unknown.
struct Number {
    value: Option<Known>,
    ci95: Option<[f64; 2]>,
    /// Outcome that does not depend on the interval, with the reason.
    decided: Option<(RequirementResult, &'static str)>,
}

struct PendingRequirement<'a> {
    metric: RequiredMetric,
    words: String,
    unit: &'static str,
    variant: &'a VariantName,
    baseline: Option<&'a VariantName>,
    place: Option<Point>,
    limit: Limit,
    inconclusive: IfInconclusive,
    /// Words for the estimator of a point with several blocks, such as ` over all operations of 3
    /// blocks`. Other parts of the report show geometric means of the blocks (decision 078).
    estimator: String,
    earlier: Option<EarlierNumbers>,
}

/// Numbers of a point in this run and in an earlier run.
struct EarlierNumbers {
    /// Study and stamp of the earlier run.
    run: String,
    before: f64,
    now: f64,
    /// Share by which this run may be worse than the earlier run.
    worse_by: f64,
    is_latency: bool,
    /// True if a run has several blocks, so that its number is a geometric mean.
    are_means: bool,
}

pub fn requirements(found: &RequirementFacts<'_>) -> Vec<RequirementRecord> {
    let variants = found.study.variants.iter();
    variants.flat_map(|variant| found.records(variant)).collect()
}

impl RequirementFacts<'_> {
    fn records(&self, variant: &Variant) -> Vec<RequirementRecord> {
        let require = &variant.settings.require;
        let mut records = Vec::new();
        if require.has_limits() {
            for place in self.places(variant) {
                records.extend(self.records_at(variant, place));
            }
        }
        records.extend(require.ratio.and_then(|least| self.ratio(variant, least)));
        records
    }

    fn places(&self, variant: &Variant) -> Vec<Option<Point>> {
        let outlook = variant.settings.procedure.outlook();
        let measured = places_of(self.trials, &variant.name);
        let are_known = outlook.certain >= outlook.turns_max;
        match &variant.settings.require.at {
            Where::Every => measured,
            Where::Auto if are_known => measured,
            Where::Auto | Where::Best => self.answer_points(variant),
            Where::Values(values) => {
                let is_rate = outlook.points.first().is_some_and(|at| at.is_rate());
                let place = |value: &u64| {
                    Some(if is_rate {
                        Point::Rate(*value)
                    } else {
                        Point::Threads(*value as u32)
                    })
                };
                values.iter().map(place).collect()
            }
        }
    }

    /// Returns the points that the answer of the run names: the results of the searches, or the
    /// best point of a sweep.
    fn answer_points(&self, variant: &Variant) -> Vec<Option<Point>> {
        let of = self.searches.iter().filter(|s| s.variant == variant.name);
        let mut named: Vec<Option<Point>> = Vec::new();
        for search in of {
            if !named.contains(&search.at) {
                named.push(search.at);
            }
        }
        if named.is_empty() {
            named.push(self.best(variant));
        }
        named
    }

    /// Returns the best point of a sweep. If the sweep has none, returns the first point of the
    /// variant.
    fn best(&self, variant: &Variant) -> Option<Point> {
        let sweep = self.sweeps.iter().find(|s| s.variant == variant.name);
        let named = sweep.and_then(|s| s.best_within_bound.or(s.best));
        let mut points = self.points.iter().filter(|p| p.variant == variant.name);
        named.or_else(|| points.next()?.point)
    }

    fn records_at(&self, variant: &Variant, place: Option<Point>) -> Vec<RequirementRecord> {
        let require = &variant.settings.require;
        let here = |p: &&PointRecord| p.variant == variant.name && p.point == place;
        let point = self.points.iter().find(here);
        let blocks = point.map_or(0, |point| point.blocks);
        let required = |metric: RequiredMetric, words: &str, unit, limit| PendingRequirement {
            metric,
            words: words.to_owned(),
            unit,
            variant: &variant.name,
            baseline: None,
            place,
            limit,
            inconclusive: require.inconclusive,
            estimator: estimator(metric, blocks),
            earlier: None,
        };
        let mut records = Vec::new();
        for (percentile, limit) in PERCENTILES.iter().zip(latencies(require)) {
            let Some(limit) = limit else { continue };
            let number = point.map(|point| self.latency(point, percentile, limit));
            let required = required(percentile.1, percentile.2, " ms", Limit::AtMost(limit));
            records.push(required.judged(number));
        }
        if let Some(limit) = require.error_rate {
            let number = point.map(|point| self.error_rate(point, limit));
            let limit = Limit::AtMost(limit);
            records.push(
                required(RequiredMetric::ErrorRate, "error rate", " %", limit).judged(number),
            );
        }
        if let Some(limit) = require.ops_per_s {
            let number = point.map(|point| self.ops_per_s(point, limit));
            let limit = Limit::AtLeast(limit);
            records.push(
                required(RequiredMetric::OpsPerS, "throughput", " op/s", limit).judged(number),
            );
        }
        records
    }

    fn used(&self, point: &PointRecord) -> Vec<&TrialFinding> {
        let is_used = |trial: &&TrialFinding| point.trials.contains(&trial.index);
        self.trials.iter().filter(is_used).collect()
    }

    /// Returns a percentile of all blocks together. With three or more blocks, the interval comes
    /// from the spread between blocks, and is extended so that it contains the percentile. With
    /// fewer blocks, the interval comes from their windows. Without an interval, the share of
    /// operations above the limit can still show that the percentile is far above the limit.
    fn latency(
        &self,
        point: &PointRecord,
        (key, _, _, figure): &Percentile,
        limit_ms: f64,
    ) -> Number {
        let used = self.used(point);
        let merged = figure(&point.latency_ms);
        let each: Vec<Known> = used.iter().map(|t| figure(&t.all.latency_ms)).collect();
        let own = |trial: &&TrialFinding| trial.all.latency_ms.ci95.get(*key).copied();
        let ci95 = over_blocks(&used, own, || {
            let values: Vec<f64> = each.iter().map(|value| value.least()).collect();
            block_interval(&values)
        });
        let is_at_least = merged.is_at_least() || each.iter().any(|value| value.is_at_least());
        let value = if is_at_least {
            Known::AtLeast(merged.least())
        } else {
            merged
        };
        let least = merged.least();
        let grows = "the target did not keep up with the rate, so its latency keeps growing while \
                     the client offers this rate";
        let far = "even the median exceeds the limit";
        let decided = match (point.saturated, &ci95) {
            (_, None) if is_far_above(&point.latency_ms, key, limit_ms) => {
                Some((RequirementResult::Missed, far))
            }
            (true, _) => Some((RequirementResult::Inconclusive, grows)),
            (false, _) => None,
        };
        Number {
            value: (least > 0.0).then_some(value),
            ci95: ci95.map(|ends| hull(ends, [least, least])),
            decided,
        }
    }

    /// Returns the share of failed operations among the operations that were due in the windows.
    fn error_rate(&self, point: &PointRecord, limit: f64) -> Number {
        let failed = |trial: &&TrialFinding| trial.errors.values().sum::<u64>();
        let all = |trial: &&TrialFinding| trial.all.latency_ms.count + failed(trial);
        let used = self.used(point);
        let (part, whole) = (
            used.iter().map(failed).sum::<u64>(),
            used.iter().map(all).sum::<u64>(),
        );
        let share = |part: u64, all: u64| part as f64 / all.max(1) as f64;
        let shares: Vec<f64> = used.iter().map(|t| share(failed(t), all(t))).collect();
        let between = mean_of_blocks_ci95(&shares).map(|[low, high]| [low.max(0.0), high]);
        let together = share_interval(part, whole);
        let counted = match part {
            0 => (RequirementResult::Met, "no operation failed"),
            _ => (RequirementResult::Missed, "an operation failed"),
        };
        Number {
            value: (whole > 0).then(|| Known::Exactly(share(part, whole))),
            ci95: together.map(|ends| between.map_or(ends, |between| hull(ends, between))),
            decided: (limit == 0.0 && whole > 0).then_some(counted),
        }
    }

    fn ops_per_s(&self, point: &PointRecord, limit: f64) -> Number {
        let used = self.used(point);
        let ci95 = over_blocks(&used, |t| t.all.ops_per_s_ci95, || point.ops_per_s_ci95);
        let kept = match point.point {
            Some(Point::Rate(rate)) => !point.saturated && limit <= rate as f64,
            Some(Point::Threads(_)) | None => false,
        };
        let high = ci95.map_or(point.ops_per_s, |[_, high]| high);
        Number {
            value: Some(Known::Exactly(point.ops_per_s)),
            ci95: ci95.or(point.ops_per_s_ci95),
            decided: (kept && high >= limit).then_some((
                RequirementResult::Met,
                "the target kept up with the offered rate",
            )),
        }
    }

    /// Returns the record of the required ratio to the baseline. Returns `None` for the baseline
    /// itself.
    fn ratio(&self, variant: &Variant, least: f64) -> Option<RequirementRecord> {
        let variants = &self.study.variants;
        let baseline = variants.iter().find(|one| one.step == variant.step)?;
        if baseline.name == variant.name {
            return None;
        }
        let of = |c: &&ComparisonRecord| c.primary && c.contender == variant.name;
        let comparison = self.comparisons.iter().find(of);
        let metric = comparison.map_or("ops_per_s", |c| &c.metric);
        let what = match metric.rsplit_once('.') {
            Some((_, percentile)) => format!("ratio by {percentile}"),
            None if metric == "ops_per_s" => "ratio by throughput".to_owned(),
            None => format!("ratio by {metric}"),
        };
        let required = PendingRequirement {
            metric: RequiredMetric::Ratio,
            words: what,
            unit: "",
            variant: &variant.name,
            baseline: Some(&baseline.name),
            place: comparison.map(|c| c.point).unwrap_or_default(),
            limit: Limit::AtLeast(least),
            inconclusive: variant.settings.require.inconclusive,
            estimator: String::new(),
            earlier: None,
        };
        Some(required.judged(comparison.map(ratio)))
    }
}

/// Returns the words for the estimator of a metric over several blocks. Returns an empty text for
/// one block, where all estimators are equal.
fn estimator(metric: RequiredMetric, blocks: usize) -> String {
    match metric {
        _ if blocks < 2 => String::new(),
        RequiredMetric::OpsPerS => format!(", the mean of {blocks} blocks"),
        RequiredMetric::ErrorRate
        | RequiredMetric::P50Ms
        | RequiredMetric::P95Ms
        | RequiredMetric::P99Ms
        | RequiredMetric::P999Ms => format!(" over all operations of {blocks} blocks"),
        RequiredMetric::Ratio | RequiredMetric::NotWorseOpsPerS | RequiredMetric::NotWorseP99Ms => {
            String::new()
        }
    }
}

/// Returns true if the share of operations above the limit certainly exceeds the share that the
/// percentile allows. The decision uses Wilson's 95 % interval of the share. If the median is above
/// the limit, the share is at least half. The function does not apply to a limit of the median
/// itself.
fn is_far_above(latency: &QuantilesRecord, percentile: &str, limit_ms: f64) -> bool {
    let allowed = match percentile {
        "p95" => 0.05,
        "p99" => 0.01,
        "p999" => 0.001,
        _ => return false,
    };
    let half = share_interval(latency.count / 2, latency.count);
    latency.p50.least() > limit_ms && half.is_some_and(|[low, _]| low > allowed)
}

/// Returns the interval of a value. For one block, this is the interval of its window. For two
/// blocks, it is the shortest interval that contains the intervals of both windows. For more
/// blocks, it is the interval over the blocks.
fn over_blocks(
    used: &[&TrialFinding],
    own: impl Fn(&&TrialFinding) -> Option<[f64; 2]>,
    several: impl Fn() -> Option<[f64; 2]>,
) -> Option<[f64; 2]> {
    match used {
        [one] => own(one),
        [one, other] => Some(hull(own(one)?, own(other)?)),
        _ => several(),
    }
}

fn latencies(require: &Require) -> [Option<f64>; 4] {
    [
        require.p50_ms,
        require.p95_ms,
        require.p99_ms,
        require.p999_ms,
    ]
}

/// Returns the ratio contender ÷ baseline for throughput, and its inverse for latency, so that a
/// higher ratio is always better.
fn ratio(comparison: &ComparisonRecord) -> Number {
    let ends = match (comparison.ci95, comparison.ci95_end) {
        (Some(ends), _) => Some(ends),
        (None, Some(end)) if comparison.bound == Some(Bound::AtLeast) => Some([end, f64::INFINITY]),
        (None, Some(end)) => Some([0.0, end]),
        (None, None) => None,
    };
    let is_latency = comparison.metric.starts_with("latency_ms");
    let (used, planned) = (comparison.blocks, comparison.blocks_planned);
    let is_thin = too_few_blocks(used, planned, comparison.looks_in());
    let few = "too few blocks have two usable trials";
    Number {
        decided: is_thin.then_some((RequirementResult::Inconclusive, few)),
        ..how_good(comparison.ratio, ends, is_latency)
    }
}

/// Converts a ratio contender ÷ baseline so that a higher ratio is better.
fn how_good(ratio: f64, ci95: Option<[f64; 2]>, is_latency: bool) -> Number {
    let (value, ci95) = if is_latency {
        (1.0 / ratio, ci95.map(|[low, high]| [1.0 / high, 1.0 / low]))
    } else {
        (ratio, ci95)
    };
    Number {
        value: Some(Known::Exactly(value)),
        ci95,
        decided: None,
    }
}

impl PendingRequirement<'_> {
    fn judged(self, number: Option<Number>) -> RequirementRecord {
        let number = number.unwrap_or(Number {
            value: None,
            ci95: None,
            decided: None,
        });
        let by_interval = number.value.map(|v| self.limit.judge(v, number.ci95));
        let (outcome, why) = match (by_interval, number.decided) {
            (None, _) => (
                RequirementResult::Inconclusive,
                "no trial at this point is usable",
            ),
            // If the interval shows that the value is beyond the limit, the requirement is missed,
            // although `decided` has another outcome.
            (Some(RequirementResult::Missed), Some((RequirementResult::Inconclusive, _))) => {
                (RequirementResult::Missed, "")
            }
            (Some(_), Some((decided, why))) => (decided, why),
            (Some(RequirementResult::Inconclusive), None) if number.ci95.is_none() => (
                RequirementResult::Inconclusive,
                "too little data for an interval",
            ),
            (Some(RequirementResult::Inconclusive), None) => (
                RequirementResult::Inconclusive,
                "the interval contains the limit",
            ),
            (Some(told), None) => (told, ""),
        };
        let ci95 = number.ci95.filter(|ends| ends.iter().all(|e| e.is_finite()));
        let inconclusive_is_missed = self.inconclusive_is_missed(number.value);
        let clause = match &self.earlier {
            Some(earlier) => self.beside_earlier(earlier, &number),
            None => self.clause(&number),
        };
        RequirementRecord {
            says: format!("{clause}: {}.", self.came_of_it(&number, outcome, why)),
            clause,
            measured: self.earlier.as_ref().map(|earlier| earlier.now),
            beside: self.earlier.as_ref().map(|earlier| BesideRecord {
                run: earlier.run.clone(),
                value: earlier.before,
            }),
            metric: self.metric,
            variant: self.variant.clone(),
            point: self.place,
            bound: self.limit.bound(),
            limit: self.limit.value(),
            value: number.value.map(Known::least),
            value_at_least: number.value.is_some_and(Known::is_at_least),
            ci95,
            outcome,
            inconclusive_is_missed,
        }
    }

    /// Returns true if the value is beyond the limit, without regard to its interval.
    fn is_beyond(&self, value: Option<Known>) -> bool {
        value.is_some_and(|value| {
            let alone = [value.least(), value.least()];
            self.limit.judge(value, Some(alone)) == RequirementResult::Missed
        })
    }

    fn inconclusive_is_missed(&self, value: Option<Known>) -> bool {
        match self.inconclusive {
            IfInconclusive::Miss => true,
            IfInconclusive::Pass => false,
            IfInconclusive::Estimate => self.is_beyond(value),
        }
    }
}

#[cfg(test)]
mod tests;
