//! The table `percentiles`: the distributions of the measured windows.

use super::run_input::Source;
use super::seconds::ALL;
use crate::column::Table;
use crate::format::WrittenFile;
use crate::head::{self, Head};
use crate::output_folder::{Files, Folder};
use anyhow::Result;
use measure::Times;
use store::record::TrialFinding;
use store::{HistogramKind, Trial, WindowHistograms};

/// Number of percentiles for each halving of the distance to 1. For a million operations, a curve
/// has about a hundred percentiles.
const TICKS: u32 = 5;
const MS_NS: f64 = 1e6;

pub(super) struct PercentileRow {
    head: Head,
    kind: String,
    clock: &'static str,
    quantile: f64,
    value_ms: f64,
    /// True if the value is only a lower bound.
    is_bound: bool,
}

pub(super) fn table<'r>() -> Table<'r, PercentileRow> {
    let table = Table::new(
        "percentiles",
        "one point of the percentile curve of the measured window of a trial.",
    );
    head::columns(table, |row: &PercentileRow| &row.head)
        .text(
            "kind",
            "Kind of operation; `all` for all kinds together.",
            |row| Some(&row.kind),
        )
        .text(
            "clock",
            "Clock: `latency` counts from the intended start, `service` from the send.",
            |row| Some(row.clock),
        )
        .number(
            "percentile",
            "%",
            "Share of the operations that take at most `value_ms`.",
            |row| Some(row.quantile * 100.0),
        )
        .number("value_ms", "ms", "Value at this percentile.", |row| {
            Some(row.value_ms)
        })
        .truth(
            "is_lower_bound",
            "True if the value is only a lower bound.",
            |row| Some(row.is_bound),
        )
}

pub(super) fn write(source: &Source<'_>, out: &Folder) -> Result<Vec<WrittenFile>> {
    let mut files = out.begin(table())?;
    for trial in source.trials {
        if let Some(found) = source.findings.get(&trial.record.index) {
            let clocks = [
                ("latency", HistogramKind::Latency),
                ("service", HistogramKind::Service),
            ];
            for (clock, which) in clocks {
                write_clock(&mut files, trial, found, (clock, which))?;
            }
        }
    }
    files.end()
}

fn write_clock(
    files: &mut Files<'_, PercentileRow>,
    trial: &Trial,
    found: &TrialFinding,
    (clock, which): (&'static str, HistogramKind),
) -> Result<()> {
    let mut window = WindowHistograms::default();
    window.add(trial, which, found)?;
    let all = [(ALL, &window.all)];
    let kinds = window.kinds.iter().map(|(kind, times)| (kind.as_str(), times));
    let curves = all.into_iter().chain(kinds);
    for (kind, times) in curves.filter(|(_, times)| !times.all().is_empty()) {
        for (quantile, value_ns) in times.all().curve(TICKS) {
            files.row(&PercentileRow {
                head: Head::from_finding(found),
                kind: kind.to_owned(),
                clock,
                quantile,
                value_ms: value_ns as f64 / MS_NS,
                is_bound: is_bound(times, quantile),
            })?;
        }
    }
    Ok(())
}

fn is_bound(times: &Times, quantile: f64) -> bool {
    !times.censored().is_empty() && times.quantile_ns(quantile).is_at_least()
}
