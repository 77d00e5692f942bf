//! The table `points`: each variant at each point, with its blocks combined, as in `findings.json`.

use super::run_input::Source;
use crate::column::Table;
use crate::format::WrittenFile;
use crate::head;
use crate::output_folder::Folder;
use crate::quantiles::{self, Clock};
use anyhow::Result;
use store::record::PointRecord;

pub(super) fn table<'r>() -> Table<'r, &'r PointRecord> {
    let table = Table::new(
        "points",
        "one variant at a point, with all its blocks together.",
    );
    let table = head::place(table, |row: &&PointRecord| &row.variant, |row| row.point)
        .text(
            "verdict",
            "Worst verdict of the trials: `valid`, `suspect` or `invalid`.",
            |row| Some(row.verdict.name()),
        )
        .truth(
            "saturated",
            "True if throughput was below the offered rate because the target was at its limit.",
            |row| Some(row.saturated),
        )
        .whole(
            "blocks",
            "trials",
            "Number of trials from which the values of this row come; for an invalid point, the \
             number of all its trials.",
            |row| Some(row.blocks as u64),
        )
        .whole(
            "left_out",
            "trials",
            "Number of trials that the values of this row do not include.",
            |row| Some(row.left_out as u64),
        )
        .words(
            "trials",
            "Numbers of the trials from which the values of this row come, separated by spaces.",
            |row| {
                let numbers: Vec<String> = row.trials.iter().map(usize::to_string).collect();
                numbers.join(" ")
            },
        )
        .number(
            "ops_per_s",
            "op/s",
            "Successful operations per second: mean of the blocks.",
            |row| Some(row.ops_per_s),
        )
        .interval("ops_per_s", "op/s", |row| row.ops_per_s_ci95);
    let table = quantiles::columns(table, Clock::Latency, |row| Some(&row.latency_ms));
    let table = quantiles::intervals(table, |row| Some(&row.latency_ms));
    quantiles::bounds(table, |row| [Some(&row.latency_ms), None])
}

pub(super) fn write(source: &Source<'_>, out: &Folder) -> Result<Vec<WrittenFile>> {
    let mut files = out.begin(table())?;
    for point in source.run.findings.iter().flat_map(|findings| &findings.points) {
        files.row(&point)?;
    }
    files.end()
}
