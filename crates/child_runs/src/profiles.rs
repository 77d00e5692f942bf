//! Profiles the nodes in extra trials after the trials of a run.
//!
//! The extra trials are a run in the folder `profile` of the run, so they have a report, and cassay
//! can resume them.

use crate::experiments::busiest_point;
use crate::starter::{ChildRuns, ChildRunsEnd};
use analysis::procedure::Point;
use anyhow::Result;
use findings::profiles;
use measure::number::duration;
use store::record::{FindingsRecord, PROFILES_FOLDER};
use study::profile_study;
use study::settings::{Study, Variant};

/// Maximum number of variants to profile. A comparison also has two variants.
const VARIANTS_MAX: usize = 2;

/// Runs the extra trials, if the study profiles its nodes, and adds the profiles to the findings.
///
/// # Errors
/// The files of the extra trials cannot be written. Failures of their target are in their findings.
pub fn profile(runs: &mut ChildRuns<'_>, findings: &mut FindingsRecord) -> Result<ChildRunsEnd> {
    let Some(profile) = profile_study::wanted(runs.study) else {
        return Ok(ChildRunsEnd::Done);
    };
    let variants = profiled_variants(runs.study, findings);
    let point = variants.first().and_then(|variant| profiled_point(variant, findings));
    let Some(point) = point else {
        let reason = "the run has no load at which cassay could repeat a trial";
        (runs.say)(format!("cassay does not profile the nodes: {reason}"));
        profiles::add_reason(reason.to_owned(), findings);
        return Ok(ChildRunsEnd::Done);
    };
    let text = profile_study::text(runs.study, &variants, point, profile);
    let (study, plan) = match runs.plan(&text) {
        Ok(planned) => planned,
        Err(reason) => {
            let reason = format!("cassay cannot plan the profiled trials: {reason}");
            (runs.say)(reason.clone());
            profiles::add_reason(reason, findings);
            return Ok(ChildRunsEnd::Done);
        }
    };
    (runs.say)(format!(
        "cassay profiles the nodes in extra trials (about {})",
        duration(plan.estimate.seconds)
    ));
    let Some((path, _)) = runs.conduct(&study, &plan, PROFILES_FOLDER)? else {
        return Ok(ChildRunsEnd::Interrupted);
    };
    if let Err(error) = profiles::add(runs.path, &path, findings) {
        let reason = format!("{error:#}");
        (runs.say)(reason.clone());
        profiles::add_reason(reason, findings);
    }
    Ok(ChildRunsEnd::Done)
}

/// Returns the variants to profile: both sides of the comparison that answers the question. For a
/// study without such a comparison, returns its first [`VARIANTS_MAX`] variants.
fn profiled_variants<'s>(study: &'s Study, findings: &FindingsRecord) -> Vec<&'s Variant> {
    let answer = findings.comparisons.iter().find(|one| one.primary);
    let is_side = |variant: &&Variant| {
        answer.is_none_or(|one| variant.name == one.baseline || variant.name == one.contender)
    };
    study.variants.iter().filter(is_side).take(VARIANTS_MAX).collect()
}

/// Returns the load of the extra trials. If all trials of the variant had one load, it is that
/// load. Otherwise it is the load of the highest throughput.
fn profiled_point(variant: &Variant, findings: &FindingsRecord) -> Option<Point> {
    let trials = findings.trials.iter().filter(|trial| trial.variant == variant.name);
    let points: Vec<Point> = trials.filter_map(|trial| trial.point).collect();
    let first = *points.first()?;
    if points.iter().all(|point| *point == first) {
        return Some(first);
    }
    busiest_point(&variant.name, findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::record::TrialFinding;
    use study::resolve::resolve;
    use study::settings::Overrides;

    fn finding(point: Point, ops_per_s: f64) -> TrialFinding {
        let mut finding = TrialFinding {
            point: Some(point),
            ..TrialFinding::default()
        };
        finding.all.ops_per_s = ops_per_s;
        finding
    }

    #[test]
    fn a_fixed_rate_is_profiled_at_this_rate() {
        let study = "study: s\nquestion: q\ntarget: {null: {}}\nworkload: {use: kv}\n\
                     procedure: {fixed: {rate: 500}}\n";
        let study = resolve("s", study, &Overrides::default()).unwrap();
        let variants = profiled_variants(&study, &FindingsRecord::default());
        let point = |trials: &[TrialFinding]| {
            let findings = FindingsRecord {
                trials: trials.to_vec(),
                ..FindingsRecord::default()
            };
            profiled_point(variants[0], &findings)
        };
        let rate = finding(Point::Rate(500), 500.0);
        assert_eq!(point(&[rate.clone(), rate.clone()]), Some(Point::Rate(500)));
        let (few, many) = (
            finding(Point::Threads(1), 100.0),
            finding(Point::Threads(8), 300.0),
        );
        assert_eq!(point(&[few, many]), Some(Point::Threads(8)));
        assert_eq!(point(&[]), None);
    }
}
