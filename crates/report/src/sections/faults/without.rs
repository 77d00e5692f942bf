//! Compares trials with faults with the same trials without faults. The table has a row for each
//! period of a fault.

use crate::merged_points::place;
use crate::number;
use crate::page::{Cell, Table, Tone};
use crate::run_view::RunView;
use crate::sections::comparisons::{interval_words, ratio_words};
use crate::sections::verdict_tone;
use store::record::ComparisonRecord;

const RATIOS: [(&str, &str); 3] = [
    ("ops_per_s", "Throughput"),
    ("latency_ms.p50", "p50"),
    ("latency_ms.p99", "p99"),
];

pub fn table(view: &RunView) -> Option<Table> {
    let caption = "Against the same trials without faults";
    Table::from_records(caption, &view.findings.without_faults)
        .text("Fault", |record| {
            let of = record.place.as_ref().map(|place| format!(" of {place}"));
            Cell::new(format!("{}{}", record.kind, of.unwrap_or_default())).detail(format!(
                "{}, {}",
                record.variant,
                place(record.point)
            ))
        })
        .text("Stretch", |record| {
            Cell::new(record.stretch.name()).detail(number::duration(record.seconds))
        })
        .number("Pairs", "", |record| number::count(record.blocks as u64))
        .number("Without", "op/s", |record| {
            number::rate(record.ops_per_s[0])
        })
        .number("With", "op/s", |record| number::rate(record.ops_per_s[1]))
        .each(RATIOS, |table, (metric, title)| {
            table.number(title, "with ÷ without", |record| {
                record.comparisons.iter().find(|one| one.metric == metric).map(ratio)
            })
        })
        .number("Failed without", "", |record| {
            number::count(record.failed[0])
        })
        .number("Failed with", "", |record| {
            let [without, with] = record.failed;
            let is_more = with > without;
            Cell::new(number::count(with)).tone(if is_more { Tone::Warn } else { Tone::Plain })
        })
        .foot(
            "Each pair is from one block: the same load on the same data, and the same seconds of \
             the window in both trials. Broken: from the injection until the target was intact \
             again. After: from then until the next fault or the end of the window. Ratios are of \
             geometric means over the pairs, with a 95 % interval. A pair in which one trial has \
             no operations has no ratio. Percentiles of a period come from the histograms of its \
             seconds. Differences are coloured, as in comparisons of variants.",
        )
        .unless_empty()
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
