//! The table `profile_frames`: the frames in which the profiles of two variants were compared.

use super::run_input::Source;
use crate::column::Table;
use crate::format::WrittenFile;
use crate::output_folder::Folder;
use anyhow::Result;
use store::record::{FrameDifferenceRecord, ProfileDifferenceRecord, ProfileUnit};

pub(super) struct FrameRow<'r> {
    difference: &'r ProfileDifferenceRecord,
    frame: &'r FrameDifferenceRecord,
    unit: ProfileUnit,
}

pub(super) fn table<'r>() -> Table<'r, FrameRow<'r>> {
    let table = Table::new(
        "profile_frames",
        "a frame of the profiles of two variants. Costs are per operation, with callees.",
    );
    let cost = "unit";
    table
        .text("baseline", "Name of the baseline.", |row: &FrameRow<'_>| {
            Some(row.difference.baseline.as_str())
        })
        .text("contender", "Name of the contender.", |row| {
            Some(row.difference.contender.as_str())
        })
        .text(
            "frame",
            "Name of the method, function or thread pool.",
            |row| Some(row.frame.frame.as_str()),
        )
        .truth("is_pool", "True for a thread pool.", |row| {
            Some(row.frame.is_pool)
        })
        .text("unit", "Unit of the costs: `us` or `bytes`.", |row| {
            Some(row.unit.name())
        })
        .number("baseline_cost", cost, "Mean cost of the baseline.", |row| {
            Some(row.frame.baseline)
        })
        .number(
            "contender_cost",
            cost,
            "Mean cost of the contender.",
            |row| Some(row.frame.contender),
        )
        .number(
            "difference",
            cost,
            "Cost of the contender − cost of the baseline.",
            |row| Some(row.frame.difference),
        )
        .interval("difference", cost, |row| row.frame.ci95)
        .number(
            "own_difference",
            cost,
            "Difference without callees.",
            |row| Some(row.frame.own),
        )
        .number(
            "p_adjusted",
            "",
            "p-value: probability of such a difference by chance, adjusted for the number of \
             frames.",
            |row| row.frame.p_adjusted,
        )
        .truth(
            "named",
            "True if the cost of the frame differs significantly.",
            |row| Some(row.frame.named),
        )
        .text(
            "explained_by",
            "Callee that explains the difference.",
            |row| row.frame.explained_by.as_deref(),
        )
        .whole("blocks", "blocks", "Number of blocks.", |row| {
            Some(row.difference.blocks as u64)
        })
}

pub(super) fn write(source: &Source<'_>, out: &Folder) -> Result<Vec<WrittenFile>> {
    let mut frames = out.begin(table())?;
    let findings = source.run.findings.iter();
    for profiles in findings.flat_map(|findings| &findings.profiles) {
        for difference in &profiles.differences {
            for frame in &difference.frames {
                frames.row(&FrameRow {
                    difference,
                    frame,
                    unit: profiles.unit,
                })?;
            }
        }
    }
    frames.end()
}
