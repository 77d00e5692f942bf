//! What the study requires: each with its number, the error that decides, and what came of it.

use crate::number;
use crate::page::{Block, Cell, Column, Row, Section, Table, Tone};
use crate::summary::{place, variant_name};
use crate::view::RunView;
use store::record::RequirementOutcome as Outcome;
use store::record::{Bound, RequiredMetric, RequirementRecord};

/// The requirements; none if the study has none.
pub fn section(view: &RunView) -> Option<Section> {
    let requirements = &view.findings.requirements;
    (!requirements.is_empty()).then(|| Section {
        id: "requirements",
        title: "Is what is required met?".into(),
        lead: "The 95 % interval decides: missed where all of it is beyond the limit, met where \
               all of it is within, and otherwise it cannot be told."
            .into(),
        blocks: vec![Block::Table(Table {
            columns: vec![
                Column::text("Requirement"),
                Column::text("Variant"),
                Column::text("Point"),
                Column::number("Found", ""),
                Column::text("95 % interval"),
                Column::text("Outcome"),
            ],
            rows: requirements.iter().map(|one| row(view, one)).collect(),
            ..Table::default()
        })],
    })
}

fn row(view: &RunView, one: &RequirementRecord) -> Row {
    let (word, tone) = outcome(one);
    let value = one.value.map_or_else(
        || number::ABSENT.to_owned(),
        |value| {
            let sign = if one.value_at_least { "≥ " } else { "" };
            format!("{sign}{}", amount(one, value))
        },
    );
    let interval = one.ci95.map_or_else(
        || number::ABSENT.to_owned(),
        |[low, high]| format!("{} to {}", amount(one, low), amount(one, high)),
    );
    Row {
        cells: vec![
            Cell::new(words(one)),
            Cell::new(variant_name(&one.variant, view)),
            Cell::new(place(one.point)),
            Cell::new(value),
            Cell::new(interval),
            Cell::new(word).tone(tone).hint(one.says.as_str()),
        ],
        tone: Tone::Plain,
    }
}

/// `missed`, `met`, `not to be told`; what counts as missed says so.
pub fn outcome(one: &RequirementRecord) -> (&'static str, Tone) {
    match (one.outcome, one.is_missed()) {
        (Outcome::Met, _) => ("met", Tone::Good),
        (Outcome::Untold, false) => ("not to be told", Tone::Warn),
        (Outcome::Untold, true) => ("not to be told: missed", Tone::Bad),
        (Outcome::Missed, _) => ("missed", Tone::Bad),
    }
}

/// `p99 latency ≤ 10 ms`.
pub fn words(one: &RequirementRecord) -> String {
    let what = match one.metric {
        RequiredMetric::P50Ms => "median latency",
        RequiredMetric::P95Ms => "p95 latency",
        RequiredMetric::P99Ms => "p99 latency",
        RequiredMetric::P999Ms => "p99.9 latency",
        RequiredMetric::ErrorRate => "error rate",
        RequiredMetric::OpsPerS => "throughput",
        RequiredMetric::Ratio => "ratio to the baseline",
    };
    let sign = match one.bound {
        Bound::AtLeast => "≥",
        Bound::AtMost => "≤",
    };
    let limit = match one.metric {
        RequiredMetric::ErrorRate | RequiredMetric::OpsPerS => amount(one, one.limit),
        // As it was written.
        metric if metric.is_latency() => format!("{} ms", one.limit),
        _ => one.limit.to_string(),
    };
    format!("{what} {sign} {limit}")
}

/// A number of the requirement's metric with its unit.
fn amount(one: &RequirementRecord, value: f64) -> String {
    match one.metric {
        RequiredMetric::ErrorRate => number::percent(value),
        RequiredMetric::OpsPerS => format!("{} op/s", number::rate(value)),
        RequiredMetric::Ratio => number::ms(value),
        _ => format!("{} ms", number::ms(value)),
    }
}
