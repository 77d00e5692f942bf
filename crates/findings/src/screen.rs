//! Finds the settings of a screening that have an effect, and chooses the settings to confirm.

use super::comparisons::{at_value, default_place};
use super::effects::values;
use super::points::places_of;
use analysis::autocorrelation;
use analysis::procedure::Point;
use analysis::screening::{Activity, CONFIRM_MAX, Design, LenthMargin, effects};
use measure::Known;
use sentences::result_place::metric_words;
use store::record::{ScreenRecord, ScreenedRecord, TrialFinding};
use study::settings::{Study, Variant};

/// Number of blocks of the confirming run. A proposed comparison begins with the same number.
const CONFIRM_BLOCKS: usize = 5;

/// Returns the screening of each step, at the step's primary point. The list is empty if the study
/// is not a screening.
pub fn screens(study: &Study, trials: &[TrialFinding]) -> Vec<ScreenRecord> {
    let Some(design) = study.screen else {
        return Vec::new();
    };
    let mut steps: Vec<&Option<String>> = study.variants.iter().map(|v| &v.step).collect();
    steps.sort();
    steps.dedup();
    let of = |step| screen_record(study, trials, design, step);
    steps.into_iter().filter_map(of).collect()
}

fn screen_record(
    study: &Study,
    trials: &[TrialFinding],
    design: Design,
    step: &Option<String>,
) -> Option<ScreenRecord> {
    let of: Vec<&Variant> = study.variants.iter().filter(|v| v.step == *step).collect();
    // The variant with the settings of the original study is not one of the runs of the design.
    let (runs, written): (Vec<&Variant>, Vec<&Variant>) =
        of.into_iter().partition(|variant| !variant.cell.is_empty());
    let place = place(study, trials, &runs)?;
    let (compared, by_block) = values(study, trials, &runs, Some(place))?;
    let record = ScreenRecord {
        metric: compared.name.to_owned(),
        point: Some(place),
        step: step.clone(),
        design: design.name().to_owned(),
        mixed: design.price().to_owned(),
        runs: runs.len(),
        ..ScreenRecord::default()
    };
    let refused = |why: String| {
        Some(ScreenRecord {
            refused: Some(why),
            ..record.clone()
        })
    };
    let means: Vec<Option<f64>> = (0..runs.len()).map(|at| mean(&by_block, at)).collect();
    let missing: Vec<&str> = runs
        .iter()
        .zip(&means)
        .filter(|(_, mean)| mean.is_none())
        .map(|(run, _)| run.name.as_str())
        .collect();
    if !missing.is_empty() {
        return refused(format!(
            "{} has no usable value in {}, but the design needs every run",
            metric_words(compared.name),
            missing.join(", ")
        ));
    }
    let means: Vec<f64> = means.into_iter().flatten().collect();
    let Some(found) = effects(design, &means) else {
        return refused("the measured runs differ from the runs of the design".to_owned());
    };
    let own = written.first().and_then(|variant| {
        let (_, values) = values(study, trials, &[*variant], Some(place))?;
        let logs: Vec<f64> = means.iter().map(|mean| mean.ln()).collect();
        Some((mean(&values, 0)?.ln() - autocorrelation::mean(&logs)).exp())
    });
    Some(ScreenRecord {
        default_ratio: own,
        ..judged(study, record.clone(), &found)
    })
}

/// Returns the primary point of the study. If the study does not name a point, returns the default
/// point of a comparison.
fn place(study: &Study, trials: &[TrialFinding], runs: &[&Variant]) -> Option<Point> {
    let places = places_of(trials, &runs.first()?.name);
    let is_run = |trial: &&TrialFinding| runs.iter().any(|run| run.name == trial.variant);
    let here: Vec<&TrialFinding> = trials.iter().filter(is_run).collect();
    match study.primary.point {
        Some(value) => at_value(&places, value),
        None => default_place(&here, &places),
    }
}

/// Returns the geometric mean of a run over the blocks. Returns `None` if the run has no values, or
/// if a value is a lower bound.
fn mean(by_block: &[Vec<Option<Known>>], run: usize) -> Option<f64> {
    let values: Vec<Known> = by_block.iter().filter_map(|block| block[run]).collect();
    let is_known = !values.is_empty() && !values.iter().any(|value| value.is_at_least());
    let logs: Vec<f64> = values.iter().map(|value| value.least().ln()).collect();
    is_known.then(|| autocorrelation::mean(&logs).exp())
}

fn judged(study: &Study, record: ScreenRecord, found: &[f64]) -> ScreenRecord {
    let lenth = LenthMargin::from_effects(found);
    let effect = |(at, effect): (usize, &f64)| {
        let axis = study.axes.get(at);
        let value =
            |n: usize| axis.and_then(|axis| axis.values.get(n)).cloned().unwrap_or_default();
        ScreenedRecord {
            setting: axis.map(|axis| axis.name.clone()).unwrap_or_default(),
            value: value(1),
            against: value(0),
            ln_ratio: *effect,
            activity: lenth.activity(*effect),
        }
    };
    let effects: Vec<ScreenedRecord> = found.iter().enumerate().map(effect).collect();
    let loud = |at: &usize| lenth.activity(found[*at]) != Activity::Silent;
    let mut confirm: Vec<usize> = (0..study.axes.len()).filter(loud).collect();
    confirm.sort_by(|a, b| found[*b].abs().total_cmp(&found[*a].abs()));
    confirm.truncate(CONFIRM_MAX);
    let name = |at: &usize| study.axes[*at].name.clone();
    ScreenRecord {
        pse: lenth.pse,
        me: lenth.me,
        sme: lenth.sme,
        effects,
        confirm: confirm.iter().map(name).collect(),
        matrix: matrix(study, &confirm),
        ..record
    }
}

/// Returns the keys of a study that confirms the effects of these settings. That study measures
/// every combination of the settings, in blocks.
fn matrix(study: &Study, confirm: &[usize]) -> String {
    if confirm.is_empty() {
        return String::new();
    }
    let axis = |at: &usize| format!("  {}\n", study.axes[*at].text);
    let axes: String = confirm.iter().map(axis).collect();
    format!("matrix:\n{axes}repeat: {{blocks: {CONFIRM_BLOCKS}}}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{combine, test_runs};
    use study::resolve::resolve;
    use study::settings::Overrides;

    const SETTINGS: [(&str, &str); 9] = [
        ("timeout", "client: {timeout: 20s}"),
        ("compression", "client: {compression: lz4}"),
        ("connections", "client: {connections_per_node: 4}"),
        ("quantum", "client: {release_quantum: 1ms}"),
        ("in_flight", "client: {in_flight_max: 64}"),
        ("level", "workload: {consistency: QUORUM}"),
        ("retries", "workload: {retries: 1}"),
        ("time", "workload: {timestamps: client}"),
        ("latency", "target: {null: {latency: 1ms}}"),
    ];

    fn study(settings: usize) -> Study {
        let setting = |(name, value): &(&str, &str)| {
            format!("    {name}: {{low: {{}}, high: {{{value}}}}}\n")
        };
        let settings: String = SETTINGS[..settings].iter().map(setting).collect();
        let text = format!(
            "study: s\nquestion: q\ntarget: {{null: {{}}}}\nworkload: {{use: standard1}}\n\
             procedure: {{fixed: {{threads: 8}}}}\nscreen:\n  settings:\n{settings}"
        );
        resolve("s", &text, &Overrides::default()).unwrap()
    }

    /// Returns the trials of a run in which the third setting costs a tenth of the throughput and
    /// the second adds 4 %. The noise is the same in every call. The trials of the variants named
    /// in `without` are invalid.
    fn trials(study: &Study, without: &[&str]) -> Vec<TrialFinding> {
        let mut trials = test_runs::trials(study, |trial| {
            let is_high = |at: usize| trial.variant.cell.get(at) == Some(&1);
            let wobble = trial.one_of([0.0, 0.004, -0.003, 0.001, -0.002]);
            let gain = if is_high(1) { 1.04 } else { 1.0 } * if is_high(2) { 0.9 } else { 1.0 };
            (1000.0 * gain * (1.0 + wobble), Known::default())
        });
        let left_out = |trial: &&mut TrialFinding| without.contains(&trial.variant.as_str());
        for trial in trials.iter_mut().filter(left_out) {
            trial.verdict = store::record::Verdict::Invalid;
        }
        trials
    }

    #[test]
    fn planted_settings_are_named_and_their_matrix_is_a_study() {
        for settings in [7, 8, 9] {
            let study = study(settings);
            let found = combine(&study, trials(&study, &[]), &|_| None, None);
            let screen = &found.screens[0];
            assert_eq!(screen.confirm, ["connections", "compression"], "{screen:?}");
            assert_eq!(screen.effects[2].activity, Activity::Active);
            assert!((screen.effects[2].ln_ratio.exp() - 0.9).abs() < 0.01);
            assert!(screen.default_ratio.is_some_and(|ratio| (0.9..1.1).contains(&ratio)));
            let said = found.answer.join("\n");
            let active =
                "At 8 threads, throughput changes with connections (“high” instead of “low”";
            assert!(said.starts_with(active), "{said}");
            assert!(found.effects.is_empty(), "a screening is not a matrix");
            let confirmed = study.text.split("screen:").next().unwrap();
            let confirmed = format!("{confirmed}{}", screen.matrix);
            let confirmed = resolve("s", &confirmed, &Overrides::default()).unwrap();
            assert_eq!((confirmed.variants.len(), confirmed.axes.len()), (4, 2));
            let high = confirmed.variants.last().unwrap();
            assert_eq!(high.settings.client.connections_per_node, 4);
        }
    }

    #[test]
    fn nothing_is_named_where_nothing_differs() {
        let study = study(9);
        let mut trials = trials(&study, &[]);
        for (at, trial) in trials.iter_mut().enumerate() {
            trial.all.ops_per_s = 1000.0 + [0.0, 3.0, -2.0, 4.0, -5.0, 1.0, 2.0][at * 3 % 7];
        }
        let found = combine(&study, trials, &|_| None, None);
        assert!(found.screens[0].confirm.is_empty(), "{:?}", found.screens);
        assert!(
            found.answer[0].contains("no effect of the 9 settings"),
            "{:?}",
            found.answer
        );
    }

    #[test]
    fn a_design_that_lacks_a_run_has_no_answer() {
        let study = study(9);
        let found = combine(&study, trials(&study, &["run-03"]), &|_| None, None);
        assert!(found.screens[0].effects.is_empty());
        assert!(found.answer[0].contains("run-03"), "{:?}", found.answer);
        // The screening does not need trials of the variant with the original settings.
        let found = combine(&study, trials(&study, &["default"]), &|_| None, None);
        assert_eq!(found.screens[0].default_ratio, None);
        assert_eq!(found.screens[0].confirm.len(), 2);
    }
}
