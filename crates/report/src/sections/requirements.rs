//! The requirements of the study, each with its number, the error that decides, and the outcome.

use crate::merged_points::{place, variant_name};
use crate::number;
use crate::page::{Block, Cell, Section, Table, Tone};
use crate::run_view::RunView;
use store::record::RequirementOutcome;
use store::record::{Bound, RequiredMetric, RequirementRecord};

/// Returns the section on requirements. `None` if the study has no requirements.
pub fn section(view: &RunView) -> Option<Section> {
    let requirements = &view.findings.requirements;
    (!requirements.is_empty()).then(|| Section {
        id: "requirements",
        title: "Are the requirements met?".into(),
        lead:
            "The 95 % interval decides: a requirement is missed if all of its interval is beyond \
             the limit, and met if all of its interval is within the limit. Otherwise, the \
             requirement is inconclusive, and the setting `require.inconclusive` of the study \
             decides whether it counts as missed."
                .into(),
        blocks: vec![Block::Table(table(view))],
    })
}

fn table(view: &RunView) -> Table {
    let requirements = &view.findings.requirements;
    Table::from_records("", requirements)
        .text("Requirement", words)
        .text("Variant", |one| variant_name(&one.variant, view))
        .text("Point", |one| place(one.point))
        .number("Found", "", |one| {
            let sign = if one.value_at_least { "≥ " } else { "" };
            match (one.measured, one.value) {
                (Some(measured), _) => Some(measured_amount(one, measured)),
                (None, value) => value.map(|value| format!("{sign}{}", amount(one, value))),
            }
        })
        .when(
            requirements.iter().any(|one| one.beside.is_some()),
            |table| {
                table
                    .number("Beside", "", |one| {
                        one.beside.as_ref().map(|beside| measured_amount(one, beside.value))
                    })
                    .text("Earlier run", |one| {
                        one.beside.as_ref().map_or("", |beside| beside.run.as_str())
                    })
            },
        )
        .text("95 % interval", interval)
        .text("Outcome", |one| {
            let (word, tone) = outcome(one);
            Cell::new(word).tone(tone).hint(one.says.as_str())
        })
        .build()
}

/// Formats an outcome, such as `missed`, `met` or `inconclusive`. If an inconclusive requirement
/// counts as missed, the text states this.
pub fn outcome(one: &RequirementRecord) -> (&'static str, Tone) {
    match (one.outcome, one.is_missed()) {
        (RequirementOutcome::Met, _) => ("met", Tone::Good),
        (RequirementOutcome::Inconclusive, false) => ("inconclusive", Tone::Warn),
        (RequirementOutcome::Inconclusive, true) => ("inconclusive: missed", Tone::Bad),
        (RequirementOutcome::Missed, _) => ("missed", Tone::Bad),
    }
}

/// Formats a requirement, such as `p99 latency ≤ 10 ms`.
pub fn words(one: &RequirementRecord) -> String {
    let what = match one.metric {
        RequiredMetric::P50Ms => "median latency",
        RequiredMetric::P95Ms => "p95 latency",
        RequiredMetric::P99Ms => "p99 latency",
        RequiredMetric::P999Ms => "p99.9 latency",
        RequiredMetric::ErrorRate => "error rate",
        RequiredMetric::OpsPerS => "throughput",
        RequiredMetric::Ratio => "ratio to the baseline",
        RequiredMetric::NotWorseOpsPerS => {
            "throughput (geometric mean of blocks) compared with an earlier run"
        }
        RequiredMetric::NotWorseP99Ms => {
            "p99 (geometric mean of blocks) compared with an earlier run"
        }
    };
    let worse = measure::number::round((1.0 - one.limit) * 100.0, 9);
    if matches!(
        one.metric,
        RequiredMetric::NotWorseOpsPerS | RequiredMetric::NotWorseP99Ms
    ) {
        return format!("{what} at most {worse} % worse");
    }
    let sign = match one.bound {
        Bound::AtLeast => "≥",
        Bound::AtMost => "≤",
    };
    let limit = match one.metric {
        RequiredMetric::ErrorRate | RequiredMetric::OpsPerS => amount(one, one.limit),
        // The text shows the limit in the same format as the study.
        metric if metric.is_latency() => format!("{} ms", one.limit),
        _ => one.limit.to_string(),
    };
    format!("{what} {sign} {limit}")
}

/// Formats the measured value of a metric that is compared with an earlier run.
fn measured_amount(one: &RequirementRecord, value: f64) -> String {
    match one.metric {
        RequiredMetric::NotWorseP99Ms => format!("{} ms", number::ms(value)),
        _ => format!("{} op/s", number::rate(value)),
    }
}

/// Formats the interval of the displayed value. A comparison with an earlier run has the interval
/// of the change from the earlier value to the displayed value.
fn interval(one: &RequirementRecord) -> Option<String> {
    let [low, high] = one.ci95?;
    let change = |ends| Some(format!("change: {}", measure::number::changes(ends)));
    match one.metric {
        RequiredMetric::NotWorseOpsPerS => change([low, high]),
        // The record contains the ratio in the direction in which higher is better.
        RequiredMetric::NotWorseP99Ms if low <= 0.0 => None,
        RequiredMetric::NotWorseP99Ms => change([1.0 / high, 1.0 / low]),
        _ => Some(format!("{} to {}", amount(one, low), amount(one, high))),
    }
}

fn amount(one: &RequirementRecord, value: f64) -> String {
    match one.metric {
        RequiredMetric::ErrorRate => number::percent(value),
        RequiredMetric::OpsPerS => format!("{} op/s", number::rate(value)),
        RequiredMetric::Ratio | RequiredMetric::NotWorseOpsPerS | RequiredMetric::NotWorseP99Ms => {
            number::ms(value)
        }
        _ => format!("{} ms", number::ms(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An earlier version showed "0.5 to 2" beside a p99 in ms, and did not say that the numbers
    /// are the inverse of a ratio.
    #[test]
    fn the_interval_beside_an_earlier_run_is_that_of_its_change() {
        let of = |metric, ends| {
            interval(&RequirementRecord {
                metric,
                ci95: Some(ends),
                ..RequirementRecord::default()
            })
        };
        let said = |text: &str| Some(text.to_owned());
        assert_eq!(
            of(RequiredMetric::NotWorseP99Ms, [0.8, 1.25]),
            said("change: -20.0 to +25.0 %")
        );
        assert_eq!(
            of(RequiredMetric::NotWorseOpsPerS, [0.8, 1.0]),
            said("change: -20.0 to +0.0 %")
        );
        assert_eq!(
            of(RequiredMetric::Ratio, [0.8, 1.25]),
            said("0.800 to 1.25")
        );
    }
}
