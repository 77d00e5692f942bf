//! Tunes the settings of a screening after its trials.
//!
//! Each test compares changed settings with the best settings so far, in the same blocks, and stops
//! as soon as it has an answer. A final comparison shows the kept settings against the defaults.
//! Each test and the final comparison are separate runs in the folder `tune` of the run. So they
//! have reports, and the user can interrupt and resume them. Invariant: the expected duration of
//! all these runs together does not exceed the time that the study permits.

use crate::starter::{ChildRuns, ChildRunsEnd};
use analysis::Finding;
use anyhow::Result;
use measure::number::{duration, round};
use serde_json::Value;
use std::path::Path;
use store::record::{
    FindingsRecord, ScreenRecord, TUNING_FOLDER, TunedSettingRecord, TuningOutcome, TuningRecord,
    TuningResultRecord, TuningTestRecord,
};
use study::plan::Plan;
use study::settings::Study;
use study::tuning_study::{self, CHANGED, Candidate, Comparison, DEFAULT, TUNED};

/// Minimum and maximum numbers of blocks of a test, in order of preference.
const TEST_BLOCKS: [[usize; 2]; 3] = [[4, 12], [4, 8], [4, 5]];
const FINAL_BLOCKS: [usize; 4] = [6, 5, 4, 3];

/// A tuning in progress: its tests so far, the settings that it keeps, and the remaining time.
struct Tuning<'a, 'r> {
    runs: &'a mut ChildRuns<'r>,
    comparison: Comparison<'a>,
    p99_ms_max: Option<f64>,
    /// Time for further tests, in s.
    left_s: f64,
    kept: Vec<Candidate>,
    tests: Vec<TuningTestRecord>,
}

/// Tunes the settings, if the study requests it. Adds the result to the findings and to the answer.
///
/// # Errors
/// The files of a run cannot be written. A failure of a run's target is part of the result.
pub fn tune(runs: &mut ChildRuns<'_>, findings: &mut FindingsRecord) -> Result<ChildRunsEnd> {
    let study = runs.study;
    let (Some(tune), Some(variant)) = (study.tune, study.variants.first()) else {
        return Ok(ChildRunsEnd::Done);
    };
    let screen = findings.screens.first().cloned().unwrap_or_default();
    let metric = match screen.metric.as_str() {
        "" => "ops_per_s".to_owned(),
        metric => metric.to_owned(),
    };
    let mut record = TuningRecord {
        metric: metric.clone(),
        point: screen.point,
        p99_ms_max: tune.p99_ms,
        settings: study.axes.len(),
        ..TuningRecord::default()
    };
    let Some(point) = screen.point else {
        record.reason = "the screening has no load at which cassay could test settings".to_owned();
        finish(findings, record);
        return Ok(ChildRunsEnd::Done);
    };
    let comparison = Comparison {
        study,
        variant,
        point,
        metric: &metric,
    };
    let mut tuning = Tuning {
        runs,
        comparison,
        p99_ms_max: tune.p99_ms,
        left_s: tune.minutes as f64 * 60.0,
        kept: Vec::new(),
        tests: Vec::new(),
    };
    let candidates = candidates(study, &screen);
    // The time of the final comparison is reserved before the first test.
    let reserved = tuning.confirmation(&candidates);
    let reserved_s = reserved.as_ref().map_or(0.0, |(_, plan)| plan.estimate.seconds);
    tuning.left_s -= reserved_s;
    if tuning.test_all(&candidates)? == ChildRunsEnd::Interrupted {
        return Ok(ChildRunsEnd::Interrupted);
    }
    tuning.left_s += reserved_s;
    record.tests = std::mem::take(&mut tuning.tests);
    record.kept = tuning.kept.iter().map(setting).collect();
    if !tuning.kept.is_empty() {
        record.overlay = tuning_study::flow(&tuning_study::overlay(&tuning.kept));
        if tuning.confirm(&mut record)? == ChildRunsEnd::Interrupted {
            return Ok(ChildRunsEnd::Interrupted);
        }
    }
    finish(findings, record);
    Ok(ChildRunsEnd::Done)
}

/// Returns the better value of each setting, largest effect first. Settings that are better as
/// written are omitted. Settings without an effect in the screening come last, with all values that
/// differ from the study as written.
fn candidates(study: &Study, screen: &ScreenRecord) -> Vec<Candidate> {
    let gain = |name: &str| {
        let effect = screen.effects.iter().find(|effect| effect.setting == name)?;
        Some(if lower_is_better(&screen.metric) {
            -effect.ln_ratio
        } else {
            effect.ln_ratio
        })
    };
    let mut all: Vec<(f64, Candidate)> = Vec::new();
    for axis in &study.axes {
        match gain(&axis.name) {
            Some(gain) => {
                let better = tuning_study::candidate(axis, usize::from(gain > 0.0));
                all.extend(better.map(|candidate| (gain.abs(), candidate)));
            }
            None => {
                let values = (0..axis.values.len())
                    .rev()
                    .filter_map(|value| tuning_study::candidate(axis, value));
                all.extend(values.map(|candidate| (0.0, candidate)));
            }
        }
    }
    all.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    all.into_iter().map(|(_, candidate)| candidate).collect()
}

impl Tuning<'_, '_> {
    /// Tests each candidate alone. Then combines the two most promising settings that were not kept
    /// into one test, because two settings may be better only together.
    fn test_all(&mut self, candidates: &[Candidate]) -> Result<ChildRunsEnd> {
        for candidate in candidates {
            let is_set = self.kept.iter().any(|kept| kept.setting == candidate.setting);
            if !is_set && self.test(std::slice::from_ref(candidate))? == ChildRunsEnd::Interrupted {
                return Ok(ChildRunsEnd::Interrupted);
            }
        }
        let mut pair: Vec<Candidate> = Vec::new();
        for candidate in candidates {
            let is_set = |one: &Candidate| one.setting == candidate.setting;
            if !self.kept.iter().any(is_set) && !pair.iter().any(is_set) {
                pair.push(candidate.clone());
            }
        }
        pair.truncate(2);
        if pair.len() < 2 {
            return Ok(ChildRunsEnd::Done);
        }
        self.test(&pair)
    }

    fn test(&mut self, changed: &[Candidate]) -> Result<ChildRunsEnd> {
        let mut test = TuningTestRecord {
            settings: changed.iter().map(setting).collect(),
            ..TuningTestRecord::default()
        };
        let texts = TEST_BLOCKS.map(|blocks| self.comparison.test(&self.kept, changed, blocks));
        let (study, plan) = match self.first_fitting(texts) {
            Ok(fitting) => fitting,
            Err(reason) => {
                test.reason = reason;
                self.tests.push(test);
                return Ok(ChildRunsEnd::Done);
            }
        };
        (self.runs.say)(format!(
            "tuning: {} (at most {})",
            study.question,
            duration(plan.estimate.seconds)
        ));
        let folder = Path::new(TUNING_FOLDER).join(format!("{:02}", self.tests.len() + 1));
        let Some((path, found)) = self.runs.conduct(&study, &plan, folder)? else {
            return Ok(ChildRunsEnd::Interrupted);
        };
        // If a test ended early, the next tests can use its remaining time.
        let used = found.trials.len() as f64 / plan.trials.len().max(1) as f64;
        self.left_s -= plan.estimate.seconds * used.min(1.0);
        test.run = self.runs.relative(&path);
        judge(&mut test, &found, self.p99_ms_max);
        if test.outcome == TuningOutcome::Kept {
            self.kept.extend_from_slice(changed);
        }
        self.tests.push(test);
        Ok(ChildRunsEnd::Done)
    }

    /// Returns the final comparison of `kept` with the defaults, with as many blocks as fit into
    /// the remaining time. Omits `cassandra_latest.yaml` if the release lacks it, or if the time
    /// does not suffice for two defaults.
    fn confirmation(&self, kept: &[Candidate]) -> Result<(Study, Plan), String> {
        let latest = tuning_study::latest(self.comparison.variant);
        let text = |latest: Option<&Value>| {
            FINAL_BLOCKS.map(|blocks| self.comparison.confirmation(kept, latest.cloned(), blocks))
        };
        let both = self.first_fitting(text(latest.as_ref()));
        both.or_else(|reason| match latest {
            Some(_) => self.first_fitting(text(None)),
            None => Err(reason),
        })
    }

    fn first_fitting(
        &self,
        texts: impl IntoIterator<Item = String>,
    ) -> Result<(Study, Plan), String> {
        self.runs.first_fitting(texts, self.left_s, ("it", "tune.minutes"))
    }

    fn confirm(&mut self, record: &mut TuningRecord) -> Result<ChildRunsEnd> {
        let kept = self.kept.clone();
        let (study, plan) = match self.confirmation(&kept) {
            Ok(fitting) => fitting,
            Err(reason) => {
                record.reason = reason;
                return Ok(ChildRunsEnd::Done);
            }
        };
        (self.runs.say)(format!(
            "tuning: {} (about {})",
            study.question,
            duration(plan.estimate.seconds)
        ));
        let folder = Path::new(TUNING_FOLDER).join("final");
        let Some((path, found)) = self.runs.conduct(&study, &plan, folder)? else {
            return Ok(ChildRunsEnd::Interrupted);
        };
        record.run = self.runs.relative(&path);
        record.blocks = study.blocks();
        record.results = results(&found, &record.metric);
        if record.results.is_empty() {
            record.reason = "the final comparison has no usable trials; the report of its run \
                             states the reasons"
                .to_owned();
        }
        Ok(ChildRunsEnd::Done)
    }
}

fn lower_is_better(metric: &str) -> bool {
    metric.starts_with("latency")
}

fn setting(candidate: &Candidate) -> TunedSettingRecord {
    TunedSettingRecord {
        setting: candidate.setting.clone(),
        value: candidate.value.clone(),
    }
}

/// Judges a test by the findings of its run, and adds the result to `test`.
fn judge(test: &mut TuningTestRecord, found: &FindingsRecord, p99_ms_max: Option<f64>) {
    let changed = found.points.iter().find(|point| point.variant.as_str() == CHANGED);
    let p99 = changed.map(|point| point.latency_ms.p99);
    test.p99_ms = p99.map(|p99| round(p99.least(), 4));
    let Some(compared) = found.comparisons.iter().find(|one| one.primary) else {
        test.outcome = TuningOutcome::Inconclusive;
        test.reason =
            "cassay cannot compare the trials of the test; the report of the test states the \
             reasons"
                .to_owned();
        return;
    };
    test.ratio = Some(round(compared.ratio, 4));
    test.ci95 = compared.ci95;
    test.blocks = compared.blocks;
    let is_within = |max: f64| p99.is_some_and(|p99| !p99.is_at_least() && p99.least() <= max);
    test.outcome = match compared.verdict {
        Finding::Faster if p99_ms_max.is_none_or(is_within) => TuningOutcome::Kept,
        Finding::Faster => TuningOutcome::BeyondBound,
        Finding::Slower | Finding::Equivalent => TuningOutcome::Refused,
        Finding::Inconclusive | Finding::LooksDifferent => TuningOutcome::Inconclusive,
    };
}

/// Returns the comparisons of the tuned settings with each default. In the final comparison, the
/// study as written is the baseline, so the comparison with `cassandra_latest.yaml` divides two
/// ratios. On a logarithmic scale, the half-width of its interval is the root of the sum of both
/// squared half-widths. This interval is wider than necessary, because both ratios have the same
/// baseline.
fn results(found: &FindingsRecord, metric: &str) -> Vec<TuningResultRecord> {
    let of = |contender: &str| {
        found.comparisons.iter().find(|one| {
            one.metric == metric
                && one.baseline.as_str() == DEFAULT
                && one.contender.as_str() == contender
        })
    };
    let Some(tuned) = of(TUNED) else {
        return Vec::new();
    };
    let default = TuningResultRecord {
        against: DEFAULT.to_owned(),
        ratio: round(tuned.ratio, 4),
        ci95: tuned.ci95,
        better: tuned.verdict == Finding::Faster,
    };
    let latest = of(tuning_study::LATEST).map(|latest| {
        let ratio = tuned.ratio / latest.ratio;
        let ci95 = tuned.ci95.zip(latest.ci95).map(|(tuned_ends, latest_ends)| {
            let half = |[low, high]: [f64; 2]| (high / low).ln() / 2.0;
            let width = half(tuned_ends).hypot(half(latest_ends));
            [ratio * (-width).exp(), ratio * width.exp()]
        });
        let better = ci95.is_some_and(|[low, high]| {
            if lower_is_better(metric) {
                high < 1.0
            } else {
                low > 1.0
            }
        });
        TuningResultRecord {
            against: tuning_study::LATEST.to_owned(),
            ratio: round(ratio, 4),
            ci95: ci95.map(|ends| ends.map(|end| round(end, 4))),
            better,
        }
    });
    [default].into_iter().chain(latest).collect()
}

/// Adds the result to the findings, and its sentences to the start of the answer.
fn finish(findings: &mut FindingsRecord, record: TuningRecord) {
    findings.answer.splice(0..0, sentences::tuning::sentences(&record));
    findings.tuning = Some(record);
}

#[cfg(test)]
mod tests;
