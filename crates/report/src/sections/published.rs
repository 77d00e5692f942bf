//! Compares published figures with measured figures. Ratios come first, because only ratios are
//! comparable across machines.

use crate::number;
use crate::page::{Block, Cell, Section, Table, Tone};
use crate::run_view::RunView;
use store::record::{PublishedFailureRecord, PublishedRatioRecord, PublishedRecord};

/// Factor by which a printed mean may deviate from Little's law. Small deviations come from
/// rounding and from clients that wait.
const LITTLE_MAX: f64 = 1.25;

/// Returns the section on published figures. `None` if the study names no published figures.
pub fn section(view: &RunView) -> Option<Section> {
    let published = view.findings.published.as_ref()?;
    let mut blocks = Vec::new();
    if !published.ratios.is_empty() {
        blocks.push(Block::Table(ratios(published)));
    }
    if !published.figures.is_empty() {
        blocks.push(Block::Table(figures(published)));
    }
    match (
        published.failures.is_empty(),
        view.findings.faults.is_empty(),
    ) {
        (true, _) => {}
        (false, true) => blocks.push(Block::List(
            "The published statement is about failures, but this run had no faults".to_owned(),
            published.failures.iter().map(failure).collect(),
        )),
        (false, false) => blocks.push(Block::Text(
            "The table of the faults compares its figures of failures with those of this \
             run."
                .to_owned(),
        )),
    }
    for (heading, said) in [
        ("Statements without figures", &published.claims),
        ("Not derivable from this statement", &published.unknown),
    ] {
        if !said.is_empty() {
            blocks.push(Block::List(heading.to_owned(), said.clone()));
        }
    }
    let link = if published.link.is_empty() {
        String::new()
    } else {
        format!(" ({})", published.link)
    };
    Some(Section {
        id: "published",
        title: "Published figures compared with those of this run".into(),
        lead: format!(
            "{}{link}. Ratios may apply to another machine. Absolute figures apply only to the \
             published machine: {}. A published ratio has no interval: it is inside or outside the \
             interval of this run. A published range overlaps the interval of this run, or does \
             not overlap it.",
            published.title, published.system
        ),
        blocks,
    })
}

fn failure(failure: &PublishedFailureRecord) -> String {
    format!("{}: {}", failure.fault, failure.claim)
}

fn ratios(published: &PublishedRecord) -> Table {
    let range =
        |[low, high]: [f64; 2]| format!("{} to {}", number::ratio(low), number::ratio(high));
    Table::from_records("", &published.ratios)
        .text("Ratio", |ratio| {
            format!("{} ({})", ratio.what, ratio.metric)
        })
        .text("Variants", |ratio| format!("{} ÷ {}", ratio.of, ratio.to))
        .number("Published", "", |ratio| match ratio.published {
            [least, most] if least == most => number::ratio(least),
            ends => range(ends),
        })
        .number("Ours", "", |ratio| ratio.ours.map(number::ratio))
        .text("95 % interval", |ratio| ratio.ci95.map(range))
        .text("So", |ratio| {
            let (so, tone) = verdict(ratio);
            Cell::new(so).tone(tone)
        })
        .build()
}

/// States whether the published value is within the interval, but never that the interval confirms
/// the value.
fn verdict(ratio: &PublishedRatioRecord) -> (&'static str, Tone) {
    let [least, most] = ratio.published;
    if ratio.ours.is_none() {
        return ("not measured here", Tone::Muted);
    }
    let Some([low, high]) = ratio.ci95 else {
        return (
            "this run has no interval: more blocks are required",
            Tone::Muted,
        );
    };
    if least > high {
        ("this run is lower: outside its interval", Tone::Warn)
    } else if most < low {
        ("this run is higher: outside its interval", Tone::Warn)
    } else if (low..=high).contains(&1.0) && !(least..=most).contains(&1.0) {
        // The interval contains the published value and 1. So the measured difference may be zero,
        // but the published difference may still exist.
        let what = "inside the interval of this run, as is 1 (no difference)";
        (what, Tone::Muted)
    } else if least == most {
        ("inside the interval of this run", Tone::Good)
    } else if least <= low && high <= most {
        ("this run is in the published range", Tone::Good)
    } else {
        (
            "the interval of this run overlaps the published range",
            Tone::Good,
        )
    }
}

fn figures(published: &PublishedRecord) -> Table {
    Table::from_records("", &published.figures)
        .text("Printed in", |figure| &figure.place)
        .text("Of", |figure| &figure.what)
        .number("In flight", "", |figure| figure.in_flight.map(number::rate))
        .number("Throughput", "op/s", |figure| {
            figure.ops_per_s.map(number::rate)
        })
        .number("Mean", "ms", |figure| figure.mean_ms.map(number::ms))
        .number("p50", "ms", |figure| figure.p50_ms.map(number::ms))
        .number("p95", "ms", |figure| figure.p95_ms.map(number::ms))
        .number("p99", "ms", |figure| figure.p99_ms.map(number::ms))
        .text("Little's law", |figure| match figure.mean_by_little {
            None => Cell::new("only partly printed").tone(Tone::Muted),
            Some(times) if (1.0 / LITTLE_MAX..=LITTLE_MAX).contains(&times) => {
                Cell::new("consistent").tone(Tone::Good)
            }
            Some(times) => Cell::new(format!(
                "contradicts: the mean is {} times the value that follows from throughput",
                number::ratio(times)
            ))
            .tone(Tone::Warn),
        })
        .tone(|_| Tone::Muted)
        .build()
}
