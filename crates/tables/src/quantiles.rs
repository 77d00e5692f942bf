//! Columns for the mean and the percentiles of a time.

use crate::column::Table;
use measure::Known;
use store::record::QuantilesRecord;

/// Figures of a distribution. Each row contains the name in columns, the name in records, and the
/// description.
const FIGURES: [(&str, &str, &str); 6] = [
    ("mean", "mean", "Arithmetic mean"),
    ("p50", "p50", "Median"),
    ("p95", "p95", "95th percentile"),
    ("p99", "p99", "99th percentile"),
    ("p999", "p999", "99.9th percentile"),
    ("max", "max", "Largest value"),
];

/// Moment from which a time is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The time is counted from the intended start of the operation.
    Latency,
    /// The time is counted from the moment at which the request was sent.
    Service,
}

impl Clock {
    /// Returns the prefix of the names of the columns that belong to this clock.
    fn prefix(self) -> &'static str {
        match self {
            Clock::Latency => "",
            Clock::Service => "service_",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Clock::Latency => "latency, from the intended start",
            Clock::Service => "service time, from the send",
        }
    }
}

/// Returns true if the record covers any values. Runs of earlier versions do not record the number
/// of values, so a positive maximum is sufficient.
fn has_values(record: &QuantilesRecord) -> bool {
    record.count > 0 || record.max.least() > 0.0
}

/// Adds one column for each figure, with the times that one clock counts.
pub(crate) fn columns<'r, R: 'r>(
    table: Table<'r, R>,
    clock: Clock,
    of: impl for<'a> Fn(&'a R) -> Option<&'a QuantilesRecord> + Copy + 'r,
) -> Table<'r, R> {
    FIGURES.iter().fold(table, |table, (name, record, words)| {
        table.number(
            format!("{}{name}_ms", clock.prefix()),
            "ms",
            format!("{words} of the {}.", clock.words()),
            move |row| {
                let record_of = of(row).filter(|record| has_values(record))?;
                record_of.figure(record).map(Known::least)
            },
        )
    })
}

/// Adds columns for the intervals of those percentiles that can have an interval.
pub(crate) fn intervals<'r, R: 'r>(
    table: Table<'r, R>,
    of: impl for<'a> Fn(&'a R) -> Option<&'a QuantilesRecord> + Copy + 'r,
) -> Table<'r, R> {
    ["p50", "p99", "p999"].into_iter().fold(table, |table, name| {
        table.interval(&format!("{name}_ms"), "ms", move |row| {
            of(row)?.ci95.get(name).copied()
        })
    })
}

/// Adds a column that names the figures of a row that are only lower bounds.
pub(crate) fn bounds<'r, R: 'r>(
    table: Table<'r, R>,
    of: impl for<'a> Fn(&'a R) -> [Option<&'a QuantilesRecord>; 2] + 'r,
) -> Table<'r, R> {
    table.words(
        "lower_bounds",
        "Columns of this row whose values are lower bounds, because the client did not wait until \
         all operations ended; separated by spaces.",
        move |row| {
            let mut names = Vec::new();
            for (clock, record) in [Clock::Latency, Clock::Service].into_iter().zip(of(row)) {
                let bounds = record.map(QuantilesRecord::at_least).unwrap_or_default();
                let named = bounds.iter().map(|name| format!("{}{name}_ms", clock.prefix()));
                names.extend(named);
            }
            names.join(" ")
        },
    )
}
