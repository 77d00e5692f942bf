//! What faults did against the same trials without them, a row for each stretch.

use crate::number;
use crate::page::{Cell, Column, Row, Table, Tone};
use crate::sections::results::{interval_words, ratio_words};
use crate::sections::verdict_tone;
use crate::summary::place;
use crate::view::RunView;
use store::record::{ComparisonRecord, WithoutFaultsRecord};

/// The metrics of its ratios, with their columns.
const RATIOS: [(&str, &str); 3] = [
    ("ops_per_s", "Throughput"),
    ("latency_ms.p50", "p50"),
    ("latency_ms.p99", "p99"),
];

/// The table; none of a study that did not ask for it.
pub fn table(view: &RunView) -> Option<Table> {
    let records = &view.findings.without_faults;
    let ratios = RATIOS.map(|(_, title)| Column::number(title, "with ÷ without"));
    let mut columns = vec![
        Column::text("Fault"),
        Column::text("Stretch"),
        Column::number("Pairs", ""),
        Column::number("Without", "op/s"),
        Column::number("With", "op/s"),
    ];
    columns.extend(ratios);
    columns.extend([
        Column::number("Failed without", ""),
        Column::number("Failed with", ""),
    ]);
    (!records.is_empty()).then(|| Table {
        caption: "Against the same trials without faults".into(),
        columns,
        rows: records.iter().map(row).collect(),
        foot: "Each pair is of one block: the same load on the same data, and of both trials the \
               same seconds of the window. Broken: from the injection until it was seen whole. \
               After: from then on until the next fault or the end of the window. Ratios are of \
               geometric means over the pairs, with a 95 % interval; where a side did nothing \
               there is none. Percentiles of a stretch are of the histograms of its seconds. What \
               is called a difference is coloured, as in comparisons of variants."
            .into(),
    })
}

fn row(record: &WithoutFaultsRecord) -> Row {
    let name = match &record.place {
        None => record.kind.clone(),
        Some(place) => format!("{} of {place}", record.kind),
    };
    let [without, with] = record.ops_per_s.map(number::rate);
    let mut cells = vec![
        Cell::new(name).detail(format!("{}, {}", record.variant, place(record.point))),
        Cell::new(record.stretch.name()).detail(number::duration(record.seconds)),
        Cell::new(number::count(record.blocks as u64)),
        Cell::new(without),
        Cell::new(with),
    ];
    cells.extend(RATIOS.map(|(metric, _)| {
        let mut all = record.comparisons.iter();
        all.find(|one| one.metric == metric)
            .map_or_else(|| Cell::new(number::ABSENT), ratio)
    }));
    let [without, with] = record.failed;
    cells.extend([
        Cell::new(number::count(without)),
        Cell::new(number::count(with)).tone(if with > without {
            Tone::Warn
        } else {
            Tone::Plain
        }),
    ]);
    Row {
        cells,
        tone: Tone::Plain,
    }
}

fn ratio(comparison: &ComparisonRecord) -> Cell {
    let interval = match interval_words(comparison) {
        Some(interval) => format!("({interval})"),
        None => "(one block: begin with 5)".to_owned(),
    };
    Cell::new(ratio_words(comparison))
        .detail(interval)
        .tone(verdict_tone(comparison))
}
