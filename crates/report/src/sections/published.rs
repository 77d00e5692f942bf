//! What others have published, beside what was found: ratios first, since only they carry over to
//! other machines.

use crate::number;
use crate::page::{Block, Cell, Column, Row, Section, Table, Tone};
use crate::view::RunView;
use store::record::{
    PublishedFailureRecord, PublishedFigureRecord, PublishedRatioRecord, PublishedRecord,
};

/// By how much a printed mean may miss Little's law: rounding, and clients that wait.
const LITTLE_MAX: f64 = 1.25;

/// Published figures; none if the study names none.
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
            "It says of failures, and nothing was broken here".to_owned(),
            published.failures.iter().map(failure).collect(),
        )),
        (false, false) => blocks.push(Block::Text(
            "What it says of failures stands beside ours in the table of the faults.".to_owned(),
        )),
    }
    for (heading, said) in [
        ("It says, without figures", &published.claims),
        ("Cannot be derived from it", &published.unknown),
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
        title: "Published figures beside ours".into(),
        lead: format!(
            "{}{link}. Ratios may carry over to another machine; absolute figures belong to \
             theirs: {}. A published ratio has no interval: it lies inside or outside ours, and a \
             range of several overlaps it or does not.",
            published.title, published.system
        ),
        blocks,
    })
}

fn failure(failure: &PublishedFailureRecord) -> String {
    format!("{}: {}", failure.fault, failure.claim)
}

fn ratios(published: &PublishedRecord) -> Table {
    Table {
        columns: vec![
            Column::text("Ratio"),
            Column::text("Variants"),
            Column::number("Published", ""),
            Column::number("Ours", ""),
            Column::text("95 % interval"),
            Column::text("So"),
        ],
        rows: published.ratios.iter().map(ratio).collect(),
        ..Table::default()
    }
}

fn ratio(ratio: &PublishedRatioRecord) -> Row {
    let [least, most] = ratio.published;
    let published = if least == most {
        number::ratio(least)
    } else {
        format!("{} to {}", number::ratio(least), number::ratio(most))
    };
    let (so, tone) = verdict(ratio);
    let interval = ratio.ci95.map_or_else(
        || number::ABSENT.to_owned(),
        |[low, high]| format!("{} to {}", number::ratio(low), number::ratio(high)),
    );
    let ours = ratio.ours.map_or_else(|| number::ABSENT.to_owned(), number::ratio);
    Row {
        cells: vec![
            Cell::new(format!("{} ({})", ratio.what, ratio.metric)),
            Cell::new(format!("{} ÷ {}", ratio.of, ratio.to)),
            Cell::new(published),
            Cell::new(ours),
            Cell::new(interval),
            Cell::new(so).tone(tone),
        ],
        tone: Tone::Plain,
    }
}

/// Where what was published lies; never that it is confirmed.
fn verdict(ratio: &PublishedRatioRecord) -> (&'static str, Tone) {
    let [least, most] = ratio.published;
    if ratio.ours.is_none() {
        return ("not measured here", Tone::Muted);
    }
    let Some([low, high]) = ratio.ci95 else {
        return ("ours has no interval: more blocks are needed", Tone::Muted);
    };
    if least > high {
        ("ours is lower: outside our interval", Tone::Warn)
    } else if most < low {
        ("ours is higher: outside our interval", Tone::Warn)
    } else if (low..=high).contains(&1.0) && !(least..=most).contains(&1.0) {
        // What was published is a difference, and ours may be none.
        let what = "inside our interval, and so is 1 (no difference)";
        (what, Tone::Muted)
    } else if least == most {
        ("inside our interval", Tone::Good)
    } else if least <= low && high <= most {
        ("ours lies in that range", Tone::Good)
    } else {
        ("our interval and that range overlap", Tone::Good)
    }
}

fn figures(published: &PublishedRecord) -> Table {
    Table {
        columns: vec![
            Column::text("Printed in"),
            Column::text("Of"),
            Column::number("In flight", ""),
            Column::number("Throughput", "op/s"),
            Column::number("Mean", "ms"),
            Column::number("p50", "ms"),
            Column::number("p95", "ms"),
            Column::number("p99", "ms"),
            Column::text("Little's law"),
        ],
        rows: published.figures.iter().map(figure).collect(),
        ..Table::default()
    }
}

fn figure(figure: &PublishedFigureRecord) -> Row {
    let ms =
        |value: Option<f64>| Cell::new(value.map_or_else(|| "\u{2013}".to_owned(), number::ms));
    let rate =
        |value: Option<f64>| Cell::new(value.map_or_else(|| "\u{2013}".to_owned(), number::rate));
    let little = match figure.mean_by_little {
        None => Cell::new("not all is printed").tone(Tone::Muted),
        Some(times) if (1.0 / LITTLE_MAX..=LITTLE_MAX).contains(&times) => {
            Cell::new("consistent").tone(Tone::Good)
        }
        Some(times) => Cell::new(format!(
            "contradicts: the mean is {} times what throughput allows for",
            number::ratio(times)
        ))
        .tone(Tone::Warn),
    };
    Row {
        cells: vec![
            Cell::new(figure.place.as_str()),
            Cell::new(figure.what.as_str()),
            rate(figure.in_flight),
            rate(figure.ops_per_s),
            ms(figure.mean_ms),
            ms(figure.p50_ms),
            ms(figure.p95_ms),
            ms(figure.p99_ms),
            little,
        ],
        tone: Tone::Muted,
    }
}
