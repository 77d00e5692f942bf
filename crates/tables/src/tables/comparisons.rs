//! The table `comparisons`: pairwise comparisons of variants, as in `findings.json`.

use super::run_input::Source;
use crate::column::Table;
use crate::format::WrittenFile;
use crate::output_folder::Folder;
use anyhow::Result;
use store::record::{Bound, ComparisonRecord, Point};

pub(super) fn table<'r>() -> Table<'r, &'r ComparisonRecord> {
    let table: Table<'r, &'r ComparisonRecord> = Table::new(
        "comparisons",
        "one metric of a contender and its baseline at a point.",
    );
    let table = table
        .text(
            "metric",
            "Name of the metric: `ops_per_s`, `latency_ms.p99`, …; `peak` is the result of \
             searches.",
            |row| Some(&row.metric),
        )
        .whole(
            "threads",
            "operations",
            "Number of operations in flight, in a closed loop.",
            |row| match row.point {
                Some(Point::Threads(threads)) => Some(threads.into()),
                _ => None,
            },
        )
        .whole(
            "rate_per_s",
            "op/s",
            "Offered rate in operations per second, in an open loop.",
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
            "Ratio contender ÷ baseline of the geometric means over blocks.",
            |row| Some(row.ratio),
        )
        .text(
            "bound",
            "`at_least` or `at_most` if the ratio is only a bound; otherwise empty.",
            |row| row.bound.map(Bound::name),
        )
        .interval("ratio", "", |row| row.ci95)
        .text(
            "verdict",
            "Verdict: `faster`, `slower`, `equivalent`, `inconclusive`, or `looks_different`.",
            |row| Some(row.verdict.name()),
        )
        .truth(
            "is_primary",
            "True for the primary comparison of the study.",
            |row| Some(row.primary),
        );
    sure(table)
}

fn sure<'r>(table: Table<'r, &'r ComparisonRecord>) -> Table<'r, &'r ComparisonRecord> {
    table
        .whole(
            "blocks",
            "blocks",
            "Number of blocks in which both variants have a value; for runs that are not \
             interleaved, the smaller number of blocks of the two variants.",
            |row| Some(row.blocks as u64),
        )
        .whole(
            "blocks_planned",
            "blocks",
            "Number of blocks, including blocks with unusable trials.",
            |row| Some(row.blocks_planned as u64),
        )
        .number(
            "p",
            "",
            "p-value: probability of such a ratio if both variants are equal.",
            |row| row.p,
        )
        .number(
            "p_adjusted",
            "",
            "p-value, adjusted for the number of comparisons.",
            |row| row.p_adjusted,
        )
        .number(
            "could_see",
            "share",
            "Smallest difference that such a study detects with a power of 80 %.",
            |row| row.could_see,
        )
        .whole(
            "blocks_to_settle",
            "blocks",
            "Estimated number of blocks that would decide the comparison, at the scatter of this \
             run.",
            |row| row.blocks_to_settle.map(|blocks| blocks as u64),
        )
}

pub(super) fn write(source: &Source<'_>, out: &Folder) -> Result<Vec<WrittenFile>> {
    let mut files = out.begin(table())?;
    for one in source.run.findings.iter().flat_map(|findings| &findings.comparisons) {
        files.row(&one)?;
    }
    files.end()
}
