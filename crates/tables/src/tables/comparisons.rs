//! `comparisons`: pairwise comparisons of variants, as in `findings.json`.

use super::source::Source;
use crate::column::Table;
use crate::file::Folder;
use crate::format::Written;
use anyhow::Result;
use store::record::{Bound, ComparisonRecord, Point};

pub(super) fn table<'r>() -> Table<'r, &'r ComparisonRecord> {
    let table: Table<'r, &'r ComparisonRecord> = Table::new(
        "comparisons",
        "A metric of a contender beside that of its baseline, at a point.",
    );
    let table = table
        .text(
            "metric",
            "`ops_per_s`, `latency_ms.p99`, …; `peak` is what searches found.",
            |row| Some(&row.metric),
        )
        .whole(
            "threads",
            "operations",
            "Operations in flight, of a closed loop.",
            |row| match row.point {
                Some(Point::Threads(threads)) => Some(threads.into()),
                _ => None,
            },
        )
        .whole(
            "rate_per_s",
            "op/s",
            "Operations offered per second, of an open loop.",
            |row| match row.point {
                Some(Point::Rate(rate)) => Some(rate),
                _ => None,
            },
        )
        .text("baseline", "Name of the baseline variant.", |row| {
            Some(row.baseline.as_str())
        })
        .text("contender", "Name of the contender variant.", |row| {
            Some(row.contender.as_str())
        })
        .number(
            "ratio",
            "",
            "Contender ÷ baseline: of geometric means over blocks.",
            |row| Some(row.ratio),
        )
        .text(
            "bound",
            "`at_least` or `at_most` where the ratio is only that; else empty.",
            |row| row.bound.map(Bound::name),
        )
        .interval("ratio", "", |row| row.ci95)
        .text(
            "verdict",
            "`faster`, `slower`, `equivalent`, `inconclusive`, or `looks_different`.",
            |row| Some(row.verdict.name()),
        )
        .truth(
            "is_primary",
            "Whether it is what the question is about.",
            |row| Some(row.primary),
        );
    sure(table)
}

/// Adds the columns about the certainty of the result.
fn sure<'r>(table: Table<'r, &'r ComparisonRecord>) -> Table<'r, &'r ComparisonRecord> {
    table
        .whole(
            "blocks",
            "blocks",
            "Pairs, or blocks of the smaller side.",
            |row| Some(row.blocks as u64),
        )
        .whole(
            "blocks_planned",
            "blocks",
            "As many as were planned.",
            |row| Some(row.blocks_planned as u64),
        )
        .number(
            "p",
            "",
            "Probability of such a ratio if nothing differs.",
            |row| row.p,
        )
        .number(
            "p_adjusted",
            "",
            "The same, adjusted for the number of comparisons.",
            |row| row.p_adjusted,
        )
        .number(
            "could_see",
            "share",
            "The smallest difference that four of five such studies would find.",
            |row| row.could_see,
        )
        .whole(
            "blocks_to_settle",
            "blocks",
            "How many blocks decide it at this spread.",
            |row| row.blocks_to_settle.map(|blocks| blocks as u64),
        )
}

pub(super) fn write(source: &Source<'_>, out: &Folder) -> Result<Vec<Written>> {
    let mut files = out.begin(table())?;
    for one in source.run.findings.iter().flat_map(|findings| &findings.comparisons) {
        files.row(&one)?;
    }
    files.end()
}
