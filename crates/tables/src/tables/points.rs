//! `points`: each variant at each point, with its blocks combined, as in `findings.json`.

use super::source::Source;
use crate::column::Table;
use crate::file::Folder;
use crate::format::Written;
use crate::head;
use crate::quantiles::{self, Clock};
use anyhow::Result;
use store::record::PointRecord;

pub(super) fn table<'r>() -> Table<'r, &'r PointRecord> {
    let table = Table::new("points", "A variant at a point, all its blocks together.");
    let table = head::place(table, |row: &&PointRecord| &row.variant, |row| row.point)
        .text(
            "verdict",
            "`valid`, `suspect` or `invalid`: the worst of its trials.",
            |row| Some(row.verdict.name()),
        )
        .truth(
            "saturated",
            "Whether less was done than was offered, since the target could not do more.",
            |row| Some(row.saturated),
        )
        .whole(
            "blocks",
            "trials",
            "Trials that it is made of: those that are used, and of an invalid point all.",
            |row| Some(row.blocks as u64),
        )
        .whole("left_out", "trials", "Trials that are not.", |row| {
            Some(row.left_out as u64)
        })
        .words(
            "trials",
            "Numbers of those that it is made of, with spaces between them.",
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

pub(super) fn write(source: &Source<'_>, out: &Folder) -> Result<Vec<Written>> {
    let mut files = out.begin(table())?;
    for point in source.run.findings.iter().flat_map(|findings| &findings.points) {
        files.row(&point)?;
    }
    files.end()
}
