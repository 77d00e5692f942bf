//! Compares long trials with the shorter trials of their variant.
//!
//! Throughput and latency are judged separately, because one may be stable while the other is not.
//! In the publication on which endurance studies are based, throughputs differed by less than 4 %
//! and were called consistent, although the mean latency rose by 23 %.

use super::used_trials::{is_long, usable};
use analysis::autocorrelation;
use analysis::endurance::{Load, MarginResult, agreement};
use analysis::procedure::Role;
use store::record::{EnduredRecord, TrialFinding, TurnRecord};
use study::settings::{Study, Variant};

/// Minimum number of blocks whose scatter gives the standard error of their mean.
const BLOCKS_MIN: usize = 3;

/// Returns the results of each endurance study. Variants with other procedures have no results.
pub fn endured(study: &Study, trials: &[TrialFinding]) -> Vec<EnduredRecord> {
    let variants = study.variants.iter();
    variants.filter_map(|variant| endured_record(variant, trials)).collect()
}

fn endured_record(variant: &Variant, trials: &[TrialFinding]) -> Option<EnduredRecord> {
    let asked = variant.settings.procedure.endurance()?;
    let of: Vec<&TrialFinding> = trials
        .iter()
        .filter(|trial| trial.variant == variant.name && usable(trial))
        .collect();
    let point = of.iter().find(|trial| is_long(trial))?.point;
    let turns: Vec<TurnRecord> = (0..variant.settings.procedure.outlook().turns_max)
        .map(|turn| variant.settings.procedure.role(turn))
        .map(|role| turn(&of, role))
        .collect();
    let load = |turn: &TurnRecord| {
        let (mean, error) = (turn.ops_per_s, turn.error?);
        Some(Load { mean, error })
    };
    let loads: Option<Vec<Load>> = turns.iter().map(load).collect();
    let found = loads.and_then(|loads| agreement(&loads, asked.within));
    Some(EnduredRecord {
        variant: variant.name.clone(),
        point,
        apart: found.map(|found| found.apart),
        apart_ci95: found.map(|found| found.ci95),
        within: asked.within,
        agreed: match found {
            Some(found) => Some(found.agreed),
            None => (turns.len() > 1).then_some(MarginResult::Inconclusive),
        },
        mean_ms_change: mean_ms_change(&turns),
        turns,
    })
}

/// Summarizes the trials with one role in an endurance study, over all blocks.
fn turn(of: &[&TrialFinding], role: Role) -> TurnRecord {
    let here: Vec<&TrialFinding> = of.iter().copied().filter(|t| t.role == role).collect();
    let each = |value: fn(&TrialFinding) -> f64| -> Vec<f64> {
        here.iter().map(|trial| value(trial)).collect()
    };
    let rates = each(|trial| trial.all.ops_per_s);
    let count = rates.len() as f64;
    let within: Option<Vec<f64>> = here
        .iter()
        .map(|trial| {
            let [low, high] = trial.all.ops_per_s_ci95?;
            Some((high - low) / 2.0 / autocorrelation::NORMAL_975)
        })
        .collect();
    let error = match rates.len() {
        0 => None,
        BLOCKS_MIN.. => Some((autocorrelation::variance(&rates) / count).sqrt()),
        _ => within.map(|errors| errors.iter().fold(0.0_f64, |sum, one| sum.hypot(*one)) / count),
    };
    TurnRecord {
        role,
        trials: here.iter().map(|trial| trial.index).collect(),
        seconds: autocorrelation::mean(&each(|trial| trial.seconds)),
        ops_per_s: autocorrelation::mean(&rates),
        error,
        mean_ms: autocorrelation::mean(&each(|trial| trial.all.latency_ms.mean.least())),
    }
}

/// Returns the ratio of the mean latency of the long window to that of the shorter windows, minus
/// 1.
fn mean_ms_change(turns: &[TurnRecord]) -> Option<f64> {
    let (long, beside) = turns.split_last()?;
    let is_known = !beside.is_empty() && beside.iter().all(|turn| turn.mean_ms > 0.0);
    let before = autocorrelation::mean(&beside.iter().map(|turn| turn.mean_ms).collect::<Vec<_>>());
    is_known.then(|| long.mean_ms / before - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::endurance::DriftDirection;
    use analysis::endurance::Growing;
    use analysis::procedure::Point;
    use store::record::Verdict;
    use store::record::{DriftRecord, EnduranceRecord, GrowthRecord};
    use study::resolve::resolve;
    use study::settings::Overrides;

    const STUDY: &str = "study: s\nquestion: q\ntarget: {null: {}}\nworkload: {use: standard1}\n\
                         procedure: {endurance: {threads: 8, for: 24h, beside: [1h, 1h]}}\n";

    fn trial(index: usize, role: &str, ops_per_s: f64, mean_ms: f64) -> TrialFinding {
        let seconds = if role == "endurance" {
            86_400.0
        } else {
            3600.0
        };
        let mut trial = TrialFinding {
            index,
            variant: analysis::VariantName::default(),
            point: Some(Point::Threads(8)),
            role: Role::parse(role),
            verdict: Verdict::Valid,
            seconds,
            ..TrialFinding::default()
        };
        trial.all.ops_per_s = ops_per_s;
        trial.all.ops_per_s_ci95 = Some([ops_per_s * 0.9998, ops_per_s * 1.0002]);
        trial.all.latency_ms.mean = mean_ms.into();
        trial
    }

    fn drift(of: &str, change: f64, ci95: [f64; 2], course: DriftDirection) -> DriftRecord {
        DriftRecord {
            of: of.to_owned(),
            change,
            ci95: Some(ci95),
            course,
            ..DriftRecord::default()
        }
    }

    fn published() -> Vec<TrialFinding> {
        let mut long = trial(2, "endurance", 138_583.0, 2.66);
        let leak = GrowthRecord {
            of: "gc.heap_after".to_owned(),
            place: "node1".to_owned(),
            horizon_days: 30.0,
            growing: Growing::No,
            ..GrowthRecord::default()
        };
        long.endurance = Some(EnduranceRecord {
            drifts: vec![
                drift("ops_per_s", -0.003, [-0.008, 0.002], DriftDirection::Steady),
                drift(
                    "latency_ms.p99",
                    0.02,
                    [-0.01, 0.05],
                    DriftDirection::Steady,
                ),
            ],
            growths: vec![leak],
            ..EnduranceRecord::default()
        });
        vec![
            trial(0, "beside-1", 138_364.0, 2.16),
            trial(1, "beside-2", 133_588.0, 2.39),
            long,
        ]
    }

    fn sentences(trials: &[TrialFinding]) -> String {
        let study = resolve("s", STUDY, &Overrides::default()).unwrap();
        let found = endured(&study, trials);
        let variants = study.variants.iter().flat_map(|variant| {
            let of = found.iter().find(|one| one.variant == variant.name);
            sentences::endurance::sentences(&variant.name, of, trials)
        });
        variants.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_sources_answer_is_kept_with_its_latency_beside_it() {
        assert_eq!(
            sentences(&published()),
            "Throughput was sustained for 24 h (change -0.3 %, 95 %: -0.8 to +0.2 %): 138,583 op/s \
             at 8 threads. Compared with the windows of 1 h and 1 h before it, the long window had \
             0.16 to 3.7 % higher throughput; the highest of these throughputs was 1.037 times the \
             lowest (95 %: 1.037 to 1.038), within the margin of 4 %; mean latency was 17 % \
             higher. No resource would reach its limit within 30 days."
        );
    }

    /// In an earlier version, the sentence had no direction. It stated 26 % for throughputs that
    /// were 17 to 21 % lower.
    #[test]
    fn a_change_has_a_direction_and_the_extremes_a_ratio() {
        let mut trials = published();
        for (trial, ops_per_s) in trials.iter_mut().zip([1153.2, 1104.0, 914.6]) {
            trial.all.ops_per_s = ops_per_s;
            trial.all.ops_per_s_ci95 = Some([ops_per_s - 60.0, ops_per_s + 60.0]);
        }
        let text = sentences(&trials);
        assert!(
            text.contains(
                "17 to 21 % lower throughput; the highest of these throughputs was 1.261 times"
            ),
            "{text}"
        );
    }

    #[test]
    fn throughput_that_falls_and_series_that_grow_are_reported() {
        let mut trials = published();
        trials[0].all.ops_per_s = 160_000.0;
        assert!(sentences(&trials).starts_with("Throughput was not sustained for 24 h"));
        let mut trials = published();
        let shown = trials[2].endurance.as_mut().unwrap();
        shown.drifts[0].course = analysis::endurance::DriftDirection::Falling;
        shown.growths[0].growing = analysis::endurance::Growing::Leaks;
        shown.growths[0].reaches_days = Some(3.25);
        let text = sentences(&trials);
        assert!(
            text.starts_with("Throughput fell by 0.3 % (95 %: -0.2 to 0.8 %) within 24 h"),
            "{text}"
        );
        assert!(
            text.ends_with("gc.heap_after of node1 would reach its limit in 3 days 6 h."),
            "{text}"
        );
        let mut trials = published();
        trials[1].all.ops_per_s_ci95 = None;
        assert!(
            sentences(&trials)
                .starts_with("It is unclear whether throughput was sustained for 24 h")
        );
        trials[2].verdict = store::record::Verdict::Invalid;
        assert_eq!(sentences(&trials), "No long trial is usable.");
    }

    #[test]
    fn three_blocks_have_the_error_of_their_spread() {
        let mut trials = Vec::new();
        for (block, wobble) in [0.99, 1.0, 1.01].into_iter().enumerate() {
            for mut one in published() {
                one.index += block * 3;
                one.block = block;
                one.all.ops_per_s *= wobble;
                trials.push(one);
            }
        }
        let study = resolve("s", STUDY, &Overrides::default()).unwrap();
        let found = &endured(&study, &trials)[0];
        let long = found.turns.last().unwrap();
        assert_eq!(long.trials, [2, 5, 8]);
        let expected = 138_583.0 * 0.01 / 3.0_f64.sqrt();
        assert!((long.error.unwrap() - expected).abs() < 1.0, "{long:?}");
        assert_eq!(
            found.agreed,
            Some(MarginResult::Inconclusive),
            "1 % from block to block"
        );
    }
}
