//! Judges the requirement `require.not_worse_than`, which compares the points of a run with those
//! of an earlier run.
//!
//! Runs are not interleaved, so the interval is wider than for variants of one run: it includes the
//! variance between runs. If the interval contains the limit, `require.inconclusive` decides. With
//! the default, a run misses the requirement if its value is worse than `worse_by` allows, and the
//! interval excludes an equal value.

use super::{EarlierNumbers, Number, PendingRequirement, how_good};
use analysis::procedure::Point;
use analysis::requirements::{Limit, RequiredMetric, RequirementResult};
use analysis::{Comparison, Metric};
use anyhow::{Context, Result, bail};
use measure::Known;
use measure::number::round;
use std::path::Path;
use store::record::{Bound, FindingsRecord, PointRecord, RequirementRecord, TrialFinding, Verdict};
use store::{DidWell, Run};
use study::settings::{IfInconclusive, Study, Variant, Where};

/// Name that refers to the last run of the same study.
const LATEST: &str = "latest";

/// Metric that must not become worse: its name in sentences, its margins, and the function that
/// returns its value.
type BaselineMetric = (&'static str, Metric, fn(&TrialFinding) -> Known);

const THROUGHPUT: BaselineMetric = ("throughput", Metric::THROUGHPUT, |trial| {
    Known::Exactly(trial.all.ops_per_s)
});
const P99: BaselineMetric = ("p99 latency", Metric::LATENCY, |trial| {
    trial.all.latency_ms.p99
});

/// Checks that the earlier runs that a study names exist. Returns a message if the study names
/// `latest`, but no earlier run met its requirements.
///
/// # Errors
/// No run has this name, the run has no findings, or the name is a path.
pub fn look_for_earlier(study: &Study, results: &Path) -> Result<Option<String>> {
    let names = study.variants.iter().filter_map(baseline_name);
    for name in names.filter(|name| *name != LATEST) {
        earlier(study, name, results, None)?;
    }
    Ok(without_earlier(study, results))
}

fn baseline_name(variant: &Variant) -> Option<&str> {
    variant.settings.require.not_worse_than.as_deref()
}

/// An earlier run, and a sentence that states why it was chosen.
struct EarlierRun {
    run: Run,
    says: Option<String>,
}

/// Returns the earlier run to which this name refers. The name is a tag, a study and stamp, or
/// `latest` for the last run of the same study that met its requirements. Returns `None` if the
/// study has no such last run. `before` is the stamp of the run that is compared with the earlier
/// run.
fn earlier(
    study: &Study,
    name: &str,
    results: &Path,
    before: Option<&str>,
) -> Result<Option<EarlierRun>> {
    if name == LATEST {
        return Ok(
            store::last_good(results, &study.name, before).map(|(run, well)| EarlierRun {
                says: Some(which(&run, well)),
                run,
            }),
        );
    }
    // The name must not be a path, so that a study cannot read other files.
    if name.starts_with('/') || name.split('/').any(|part| part == "..") {
        bail!(
            "`require.not_worse_than: {name}` contains a path; write `latest`, a tag, or the name \
             of a run"
        );
    }
    let run = store::find(results, name)
        .with_context(|| format!("find the run of `require.not_worse_than: {name}`"))?;
    if run.findings.is_none() {
        bail!(
            "`require.not_worse_than: {name}` names a run without findings; name a run that \
             finished"
        );
    }
    Ok(Some(EarlierRun { run, says: None }))
}

fn which(run: &Run, well: DidWell) -> String {
    let did = match well {
        DidWell::Met => "met its requirements",
        DidWell::MissedNone => "missed none of its requirements (no run certainly met all of them)",
    };
    format!("Compared with {}, the last run that {did}.", name_of(run))
}

fn name_of(run: &Run) -> String {
    format!("{}/{}", run.plan.study, run.stamp)
}

/// Adds records of the comparison with an earlier run to the findings of the run at `path`, if the
/// study requires this comparison.
///
/// # Errors
/// The earlier run cannot be read. In this case, nothing is added.
pub fn lay_earlier_beside(study: &Study, found: &mut FindingsRecord, path: &Path) -> Result<()> {
    let results = path.parent().and_then(Path::parent).unwrap_or(Path::new("."));
    let own = path.file_name().and_then(|name| name.to_str());
    let (mut records, mut said) = (Vec::new(), Vec::new());
    for variant in &study.variants {
        let Some(name) = baseline_name(variant) else {
            continue;
        };
        let Some(EarlierRun { run, says }) = earlier(study, name, results, own)? else {
            said.push(none_is_good(study));
            continue;
        };
        said.extend(says);
        let before = run.findings.as_ref().context("the run has no findings")?;
        records.extend(beside(variant, name_of(&run), [before, found]));
    }
    found.requirements.extend(records);
    said.dedup();
    found.answer.extend(said);
    Ok(())
}

fn none_is_good(study: &Study) -> String {
    format!(
        "No earlier usable run of {} met its requirements, so cassay compares nothing \
         (`require.not_worse_than: latest`).",
        study.name
    )
}

/// Returns the records of the comparison of a variant with an earlier run. `name` is the name of
/// the earlier run. The findings are those of the earlier run and of this run.
pub(super) fn beside(
    variant: &Variant,
    name: String,
    [before, now]: [&FindingsRecord; 2],
) -> Vec<RequirementRecord> {
    let beside = VariantInBothRuns {
        variant,
        name,
        now,
        before,
    };
    beside.points()
}

/// A variant of a run, with the findings of this run and of an earlier run.
struct VariantInBothRuns<'a> {
    variant: &'a Variant,
    /// Name of the earlier run, which consists of its study and its stamp.
    name: String,
    now: &'a FindingsRecord,
    before: &'a FindingsRecord,
}

impl VariantInBothRuns<'_> {
    fn points(&self) -> Vec<RequirementRecord> {
        let is_here = |point: &&PointRecord| {
            let values = match &self.variant.settings.require.at {
                Where::Values(values) => Some(values),
                _ => None,
            };
            let is_asked = |at: Point| values.is_none_or(|all| all.contains(&(at.value() as u64)));
            point.variant == self.variant.name && point.point.is_none_or(is_asked)
        };
        let here = self.now.usable_points().filter(is_here);
        here.flat_map(|point| self.compare_point(point)).collect()
    }

    /// Compares the metrics of a point with the earlier run. If a run was saturated at the point,
    /// only throughput is compared, because latency then grows with time. If both runs kept up with
    /// a rate, only p99 is compared, because the rate determines the throughput.
    fn compare_point(&self, point: &PointRecord) -> Vec<RequirementRecord> {
        let is_same =
            |other: &&PointRecord| other.variant == point.variant && other.point == point.point;
        let before = self.before.usable_points().find(is_same);
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
        (words, metric, value): &BaselineMetric,
        point: &PointRecord,
        before: Option<&PointRecord>,
    ) -> RequirementRecord {
        let of = |findings: &FindingsRecord, point: &PointRecord| -> Vec<Known> {
            let used = findings.trials.iter().filter(|one| point.trials.contains(&one.index));
            used.map(value).collect()
        };
        let values = before
            .filter(|before| before.verdict != Verdict::Invalid)
            .map(|before| [of(self.before, before), of(self.now, point)]);
        let compared = values
            .as_ref()
            .and_then(|[before, now]| analysis::compare_unpaired(before, now, *metric).ok());
        // The ratio is the quotient of these geometric means.
        let means = values
            .as_ref()
            .filter(|_| compared.is_some())
            .map(|both| both.each_ref().map(|values| geometric_mean(values)));
        let is_latency = *words == P99.0;
        let number = match (before, compared) {
            (_, Some(compared)) => number(&compared, is_latency),
            (None, None) => inconclusive("the earlier run did not measure this point"),
            (Some(_), None) => {
                inconclusive("one of the two runs has no usable trial at this point")
            }
        };
        let require = &self.variant.settings.require;
        // One of two equal runs is always slower, so an estimate beyond the limit decides only if
        // the loss itself is certain.
        let is_certain_loss = number.ci95.is_none_or(|[_, high]| high < 1.0);
        let inconclusive = match require.inconclusive {
            IfInconclusive::Estimate if !is_certain_loss => IfInconclusive::Pass,
            other => other,
        };
        let required = PendingRequirement {
            metric: if is_latency {
                RequiredMetric::NotWorseP99Ms
            } else {
                RequiredMetric::NotWorseOpsPerS
            },
            words: (*words).to_owned(),
            unit: "",
            variant: &self.variant.name,
            baseline: None,
            place: point.point,
            limit: Limit::AtLeast(round(1.0 - require.worse_by, 9)),
            inconclusive,
            estimator: String::new(),
            earlier: None,
        };
        let beside = means.map(|[before, now]| EarlierNumbers {
            run: self.name.clone(),
            before,
            now,
            worse_by: require.worse_by,
            is_latency,
            are_means: values.iter().flatten().any(|of_run| of_run.len() > 1),
        });
        required.beside(beside, &self.name).judged(Some(number))
    }
}

/// Returns the ratio of this run to the earlier run, as a number for which a higher value is better
/// for every metric.
fn number(compared: &Comparison, is_latency: bool) -> Number {
    let bounded = "one of the two values is only a bound";
    Number {
        decided: compared
            .bound
            .is_some_and(|bound| matches!(bound, Bound::AtLeast | Bound::AtMost))
            .then_some((RequirementResult::Inconclusive, bounded)),
        ..how_good(compared.ratio, compared.ci95(), is_latency)
    }
}

fn inconclusive(why: &'static str) -> Number {
    Number {
        value: None,
        ci95: None,
        decided: Some((RequirementResult::Inconclusive, why)),
    }
}

/// Returns the geometric mean of values. A lower bound is treated as a value.
fn geometric_mean(values: &[Known]) -> f64 {
    let logs = values.iter().map(|value| value.least().ln());
    (logs.sum::<f64>() / values.len().max(1) as f64).exp()
}

fn without_earlier(study: &Study, results: &Path) -> Option<String> {
    let asks = study.variants.iter().any(|variant| baseline_name(variant) == Some(LATEST));
    let has_none = asks && store::last_good(results, &study.name, None).is_none();
    has_none.then(|| {
        format!(
            "`require.not_worse_than: latest`: {} has no earlier usable run in {} that met its \
             requirements, so cassay compares nothing",
            study.name,
            results.display()
        )
    })
}
