//! Fits a curve through the points of each variant.

use super::comparisons::{COMPARED, is_search, used};
use super::points::{places_of, state_of};
use analysis::VariantName;
use analysis::curves::{LOADS_MIN, Load, Peak, Usl, fit};
use analysis::procedure::Point;
use analysis::sweep::State;
use store::record::{CurveRecord, PeakRecord, RuleOutcome, TrialFinding, WithoutPeak};
use study::settings::{Study, Variant};

/// Name of the rule that detects a client at its limit. With such a client, the curve would not be
/// that of the target.
const CLIENT_BUSY: &str = "V3";

/// Returns the curve of each variant that was measured with enough different numbers of operations
/// in flight.
pub fn curves(study: &Study, trials: &[TrialFinding]) -> Vec<CurveRecord> {
    let of = |variant: &Variant| {
        let loads = loads(study, trials, variant);
        (loads.len() >= LOADS_MIN).then(|| record(&variant.name, &loads))
    };
    // Searches are excluded, because a search chooses each load by the results before it.
    let ladders = study.variants.iter().filter(|variant| !is_search(variant));
    ladders.filter_map(of).collect()
}

/// Returns throughput by block at every number of operations in flight. Trials at a rate are
/// omitted, because their number of operations in flight is a result, not a setting.
fn loads(study: &Study, trials: &[TrialFinding], variant: &Variant) -> Vec<Load> {
    let places = places_of(trials, &variant.name);
    let load = |place: Option<Point>| {
        let Some(Point::Threads(threads)) = place else {
            return None;
        };
        let ops =
            used(study, trials, &variant.name, place, &COMPARED[0])
                .into_iter()
                .map(|trial| {
                    let trial = trial.filter(|trial| is_of_target(trial))?;
                    Some(trial.all.ops_per_s)
                });
        Some(Load {
            threads: f64::from(threads),
            ops_per_s: ops.collect(),
        })
    };
    places.into_iter().filter_map(load).collect()
}

/// Returns true if the throughput of the trial shows the limit of the target.
fn is_of_target(trial: &TrialFinding) -> bool {
    state_of(trial) == State::Kept && !is_client_busy(trial)
}

pub fn is_client_busy(trial: &TrialFinding) -> bool {
    let mut rules = trial.rules.iter();
    let rule = rules.find(|rule| rule.rule == CLIENT_BUSY);
    rule.is_some_and(|rule| matches!(rule.result, RuleOutcome::Warn | RuleOutcome::Fail))
}

fn record(variant: &VariantName, loads: &[Load]) -> CurveRecord {
    let variant = variant.clone();
    let usl = match fit(loads) {
        Ok(usl) => usl,
        Err(why) => {
            return CurveRecord {
                variant,
                refused: Some(why.words()),
                ..CurveRecord::default()
            };
        }
    };
    let Usl {
        coefficients,
        sigma_ci95,
        kappa_ci95,
        off,
        peak,
    } = usl;
    let end = |end: f64| end.is_finite().then_some(end);
    let (peak, without_peak) = match peak {
        Peak::At {
            threads,
            threads_ci95,
            ops_per_s,
        } => {
            let peak = PeakRecord {
                threads,
                threads_ci95: threads_ci95.map(end),
                ops_per_s,
            };
            (Some(peak), None)
        }
        Peak::First { .. } => (None, Some(WithoutPeak::First)),
        Peak::Inconclusive => (None, Some(WithoutPeak::Inconclusive)),
        Peak::Beyond => (None, Some(WithoutPeak::Beyond)),
    };
    CurveRecord {
        variant,
        refused: None,
        lambda: Some(coefficients.lambda),
        sigma: Some(coefficients.sigma),
        sigma_ci95: Some(sigma_ci95),
        kappa: Some(coefficients.kappa),
        kappa_ci95: Some(kappa_ci95.map(end)),
        off: Some(off),
        peak,
        without_peak,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{combine, test_runs};
    use analysis::curves::Coefficients;
    use measure::Known;
    use store::record::{FindingsRecord, RuleRecord};
    use study::resolve::resolve;
    use study::settings::Overrides;

    const TRUTH: Coefficients = Coefficients {
        lambda: 1000.0,
        sigma: 0.05,
        kappa: 8e-4,
    };

    /// Returns the findings of a sweep on an artificial server, whose throughput is a formula. The
    /// noise is the same in every call.
    fn run(points: &str, busy_from: f64) -> FindingsRecord {
        let text = format!(
            "study: s\nquestion: q\ntarget: {{null: {{}}}}\nworkload: {{use: standard1}}\n\
             repeat: {{blocks: 5}}\nprocedure: {{sweep: {points}}}\n"
        );
        let study = resolve("s", &text, &Overrides::default()).unwrap();
        let mut trials = test_runs::trials(&study, |trial| {
            let wobble = trial.one_of([0.0, 0.01, -0.01, 0.004, -0.004]);
            let ops = TRUTH.throughput_at(trial.point.value()) * (1.0 + wobble);
            (ops, Known::default())
        });
        for trial in &mut trials {
            let is_busy = trial.point.is_some_and(|at| at.value() >= busy_from);
            trial.rules.push(RuleRecord {
                rule: CLIENT_BUSY.to_owned(),
                result: if is_busy {
                    RuleOutcome::Warn
                } else {
                    RuleOutcome::Pass
                },
                detail: String::new(),
                measured: Vec::new(),
            });
        }
        combine(&study, trials, &|_| None, None)
    }

    #[test]
    fn a_sweep_over_the_peak_says_where_it_is() {
        let found = run("{threads: [1, 2, 4, 8, 16, 32, 64]}", f64::INFINITY);
        let peak = found.curves[0].peak.as_ref().unwrap();
        let [low, high] = peak.threads_ci95.map(Option::unwrap);
        let truth = TRUTH.peak_threads();
        assert!(low <= truth && truth <= high, "{peak:?}");
        let said = found.answer.join("\n");
        assert!(said.contains("Universal Scalability Law"), "{said}");
    }

    #[test]
    fn loads_where_the_client_was_the_limit_are_none_of_the_target() {
        let found = run("{threads: [1, 2, 4, 8, 16, 32, 64]}", 32.0);
        assert!(
            found.curves[0].refused.as_ref().unwrap().contains("only 5 loads are usable"),
            "{:?}",
            found.curves
        );
        assert!(!found.answer.join("\n").contains("Scalability"));
    }

    #[test]
    fn neither_few_loads_nor_rates_have_a_curve() {
        assert!(run("{threads: [1, 2, 4, 8, 16]}", 1e9).curves.is_empty());
        assert!(run("{rate: [1, 2, 4, 8, 16, 32, 64]}", 1e9).curves.is_empty());
    }
}
