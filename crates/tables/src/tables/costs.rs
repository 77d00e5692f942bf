//! The tables `point_costs` and `costs`: the costs of operations for the target, by point and by
//! trial.

use super::run_input::Source;
use crate::column::Table;
use crate::format::WrittenFile;
use crate::head::{self, Head};
use crate::output_folder::Folder;
use anyhow::Result;
use store::record::{CostKind, CostRecord, PointRecord};

pub(super) struct CostRow {
    head: Head,
    cost: CostKind,
    value: f64,
}

pub(super) struct PointCostRow<'r> {
    point: &'r PointRecord,
    cost: &'r CostRecord,
}

/// Description of the column that names the cost. The name contains the unit of the value.
const NAME: &str =
    "Name of the cost, with its unit: `server_cpu_ms_per_op`, `disk_bytes_per_row`, ….";

pub(super) fn table<'r>() -> Table<'r, CostRow> {
    let table = Table::new("costs", "one cost of a trial, for all nodes together.");
    head::columns(table, |row: &CostRow| &row.head)
        .text("cost", NAME, |row| Some(row.cost.name()))
        .number("value", "as named", "Value of the cost.", |row| {
            Some(row.value)
        })
}

pub(super) fn points_table<'r>() -> Table<'r, PointCostRow<'r>> {
    let table = Table::new(
        "point_costs",
        "one cost of a variant at a point, over all its blocks.",
    );
    head::place(
        table,
        |row: &PointCostRow<'_>| &row.point.variant,
        |row| row.point.point,
    )
    .text("cost", NAME, |row| Some(row.cost.cost.name()))
    .number(
        "mean",
        "as named",
        "Mean of the blocks in which the cost is known.",
        |row| Some(row.cost.mean),
    )
    .interval("mean", "as named", |row| row.cost.ci95)
    .whole(
        "blocks",
        "blocks",
        "Number of blocks in which the cost is known.",
        |row| Some(row.cost.blocks as u64),
    )
}

pub(super) fn write(source: &Source<'_>, out: &Folder) -> Result<Vec<WrittenFile>> {
    let mut points = out.begin(points_table())?;
    for point in source.run.findings.iter().flat_map(|findings| &findings.points) {
        for cost in &point.costs {
            points.row(&PointCostRow { point, cost })?;
        }
    }
    let mut trials = out.begin(table())?;
    for found in source.findings.values() {
        for (cost, value) in &found.costs {
            trials.row(&CostRow {
                head: Head::from_finding(found),
                cost: *cost,
                value: *value,
            })?;
        }
    }
    Ok([points.end()?, trials.end()?].concat())
}
