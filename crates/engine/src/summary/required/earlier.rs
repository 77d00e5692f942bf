//! `require.not_worse_than`: the points of a run beside those of an earlier one.
//!
//! Runs do not take turns, so their interval is wider than that of variants of one run: the
//! variance between runs is part of it.

use super::{Number, Required, how_good};
use analysis::procedure::Point;
use analysis::require::{Limit, Outcome, RequiredMetric};
use analysis::{Comparison, Metric};
use anyhow::{Context, Result, bail};
use measure::Known;
use measure::number::round;
use std::path::Path;
use store::Run;
use store::record::{Bound, FindingsRecord, PointRecord, RequirementRecord, TrialFinding, Verdict};
use study::settings::{Study, Untold, Variant, Where};

/// How the last run of the same study is called.
const LATEST: &str = "latest";

/// A metric that may not be worse: its words, how it is compared, and where it stands.
type Watched = (&'static str, Metric, fn(&TrialFinding) -> Known);

const THROUGHPUT: Watched = ("throughput", Metric::THROUGHPUT, |trial| {
    Known::Exactly(trial.all.ops_per_s)
});
const P99: Watched = ("p99 latency", Metric::LATENCY, |trial| {
    trial.all.latency_ms.p99
});

/// Sees that the run is there which a study names; what is to be said where it asks for `latest`
/// and there is none yet, which is fine.
///
/// # Errors
/// There is none of this name, or it has no findings.
pub fn look_for_earlier(study: &Study, results: &Path) -> Result<Option<String>> {
    let names = study.variants.iter().filter_map(named);
    for name in names.filter(|name| *name != LATEST) {
        earlier(study, name, results)?;
    }
    Ok(without_earlier(study, results))
}

fn named(variant: &Variant) -> Option<&str> {
    variant.settings.require.not_worse_than.as_deref()
}

/// The earlier run of this name: by its tag, its study and stamp, or the last of the same study
/// that may be believed; none if there is no such last one.
fn earlier(study: &Study, name: &str, results: &Path) -> Result<Option<Run>> {
    if name == LATEST {
        return Ok(store::last_believed(results, &study.name));
    }
    // A name, and no path: a study reads nothing else.
    if name.starts_with('/') || name.split('/').any(|part| part == "..") {
        bail!("`require.not_worse_than: {name}` is a path; it is the name of a run or a tag");
    }
    let run = store::find(results, name).with_context(|| {
        format!("find the run that is named by `require.not_worse_than: {name}`")
    })?;
    if run.findings.is_none() {
        bail!("`require.not_worse_than: {name}` is a run that has not come to its end");
    }
    Ok(Some(run))
}

/// Adds to the findings of a run what came of the requirement to be no worse than an earlier one.
///
/// # Errors
/// The earlier run cannot be read; nothing is added then.
pub fn lay_earlier_beside(study: &Study, found: &mut FindingsRecord, results: &Path) -> Result<()> {
    let mut records = Vec::new();
    for variant in &study.variants {
        let Some(name) = named(variant) else {
            continue;
        };
        let Some(run) = earlier(study, name, results)? else {
            continue;
        };
        let beside = Beside {
            variant,
            name: format!("{}/{}", run.plan.study, run.stamp),
            now: found,
            before: run.findings.as_ref().context("it has no findings")?,
        };
        records.extend(beside.points());
    }
    found.requirements.extend(records);
    Ok(())
}

/// A variant of a run, and an earlier run.
struct Beside<'a> {
    variant: &'a Variant,
    /// The earlier run's study and stamp.
    name: String,
    now: &'a FindingsRecord,
    before: &'a FindingsRecord,
}

impl Beside<'_> {
    fn points(&self) -> Vec<RequirementRecord> {
        let is_here = |point: &&PointRecord| {
            let values = match &self.variant.settings.require.at {
                Where::Values(values) => Some(values),
                _ => None,
            };
            let is_asked = |at: Point| values.is_none_or(|all| all.contains(&(at.value() as u64)));
            point.variant == self.variant.name && point.point.is_none_or(is_asked)
        };
        let here = self.now.points.iter().filter(is_here);
        here.flat_map(|point| self.at(point)).collect()
    }

    /// What is watched at a point: throughput where it was not offered, p99 where it does not only
    /// say how long more was offered than could be done.
    fn at(&self, point: &PointRecord) -> Vec<RequirementRecord> {
        let is_same =
            |other: &&PointRecord| other.variant == point.variant && other.point == point.point;
        let before = self.before.points.iter().find(is_same);
        let is_saturated = point.saturated || before.is_some_and(|before| before.saturated);
        let is_offered = point.point.is_some_and(Point::is_rate);
        let mut watched = Vec::new();
        if is_saturated || !is_offered {
            watched.push(THROUGHPUT);
        }
        if !is_saturated {
            watched.push(P99);
        }
        watched.iter().map(|one| self.judged(one, point, before)).collect()
    }

    fn judged(
        &self,
        (words, metric, value): &Watched,
        point: &PointRecord,
        before: Option<&PointRecord>,
    ) -> RequirementRecord {
        let of = |findings: &FindingsRecord, point: &PointRecord| -> Vec<Known> {
            let used = findings.trials.iter().filter(|one| point.trials.contains(&one.index));
            used.map(value).collect()
        };
        let compared =
            before.filter(|before| before.verdict != Verdict::Invalid).and_then(|before| {
                let [before, now] = [of(self.before, before), of(self.now, point)];
                analysis::compare_unpaired(&before, &now, *metric).ok()
            });
        let is_latency = *words == P99.0;
        let number = match (before, compared) {
            (_, Some(compared)) => number(&compared, is_latency),
            (None, None) => undecided("the earlier run has no such point"),
            (Some(_), None) => undecided("one of the two has no trial there that may be believed"),
        };
        // Where there is an interval, the number by itself decides nothing: of two runs that are
        // alike every other one is the slower.
        let require = &self.variant.settings.require;
        let untold = match require.untold {
            Untold::Estimate if number.ci95.is_some() => Untold::Pass,
            other => other,
        };
        let required = Required {
            metric: if is_latency {
                RequiredMetric::NotWorseP99Ms
            } else {
                RequiredMetric::NotWorseOpsPerS
            },
            words: format!("{words} beside {}", self.name),
            unit: "",
            variant: &self.variant.name,
            baseline: None,
            place: point.point,
            limit: Limit::AtLeast(round(1.0 - require.worse_by, 9)),
            untold,
        };
        required.judged(Some(number))
    }
}

/// How good it is beside the earlier run: more is better, whatever the metric.
fn number(compared: &Comparison, is_latency: bool) -> Number {
    let bounded = "one of the two is only known to be beyond a bound";
    Number {
        decided: compared
            .bound
            .is_some_and(|bound| matches!(bound, Bound::AtLeast | Bound::AtMost))
            .then_some((Outcome::Untold, bounded)),
        ..how_good(compared.ratio, compared.ci95(), is_latency)
    }
}

fn undecided(why: &'static str) -> Number {
    Number {
        value: None,
        ci95: None,
        decided: Some((Outcome::Untold, why)),
    }
}

/// What a study without an earlier run is told.
fn without_earlier(study: &Study, results: &Path) -> Option<String> {
    let asks = study.variants.iter().any(|variant| named(variant) == Some(LATEST));
    let has_none = asks && store::last_believed(results, &study.name).is_none();
    has_none.then(|| {
        format!(
            "`require.not_worse_than: latest`: {} has no earlier run in {} that may be believed; \
             nothing is required of the first",
            study.name,
            results.display()
        )
    })
}
