//! Shows the costs of operations at each point, and compares the costs of the variants.

use crate::merged_points::{place, variant_name};
use crate::number;
use crate::page::{Block, Cell, Section, Table, TableBuilder, Tone};
use crate::run_view::RunView;
use crate::sections::capital;
use measure::number::counted;
use store::record::{CostComparisonRecord, CostKind, CostRecord, PointRecord};

/// Returns the section on costs. Returns `None` if no usable point has costs, for example because
/// cassay cannot observe the resources of the target.
pub fn section(view: &RunView) -> Option<Section> {
    let points: Vec<&PointRecord> =
        view.findings.usable_points().filter(|point| !point.costs.is_empty()).collect();
    if points.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Table(points_table(view, &points))];
    let compared = &view.findings.cost_comparisons;
    if !compared.is_empty() {
        let table = comparison_table("Comparison of costs", compared, |table| {
            table
                .text("Baseline", |c| variant_name(&c.baseline, view))
                .text("Contender", |c| variant_name(&c.contender, view))
        });
        blocks.push(Block::Table(table));
    }
    Some(Section {
        id: "costs",
        title: "Costs".into(),
        lead: "All nodes together. CPU, collections, network, disk requests and memory are means \
             over the measured window. cassay read the disk contents after the trial, after a \
             flush. Costs that cassay cannot observe on a target are absent."
            .into(),
        blocks,
    })
}

fn kinds<'a>(costs: impl Iterator<Item = &'a CostRecord>) -> Vec<CostKind> {
    let known: Vec<CostKind> = costs.map(|cost| cost.cost).collect();
    CostKind::ALL.into_iter().filter(|cost| known.contains(cost)).collect()
}

fn points_table(view: &RunView, points: &[&PointRecord]) -> Table {
    let costs = kinds(points.iter().flat_map(|point| &point.costs));
    let cell = |point: &PointRecord, cost: CostKind| {
        let found = point.costs.iter().find(|one| one.cost == cost);
        found.map_or_else(Cell::absent, mean_cell)
    };
    Table::from_records("Costs at each point", points.iter().copied())
        .text("Variant", |point| variant_name(&point.variant, view))
        .text("Point", |point| place(point.point))
        .each(costs, |table, cost| {
            table.wide_number(&capital(cost.words()), "", |point| cell(point, cost))
        })
        .foot(
            "The number after ± is half the width of the 95 % interval, which requires at least \
             three blocks.",
        )
        .build()
}

fn mean_cell(cost: &CostRecord) -> Cell {
    let hint = cost.ci95.map(|ends| {
        let [low, high] = ends.map(|end| cost.cost.written(end));
        format!(
            "95 % interval {low} to {high}; {}",
            counted(cost.blocks as u64, "block")
        )
    });
    Cell::new(cost.cost.written(cost.mean))
        .detail(number::relative_error(cost.mean, cost.ci95))
        .hint(hint.unwrap_or_default())
}

type CostTable<'a> = TableBuilder<&'a CostComparisonRecord>;

/// Returns a table of compared costs, with a row for each record. `sides` adds the columns with the
/// names of variants.
pub fn comparison_table<'a>(
    caption: &str,
    records: &'a [CostComparisonRecord],
    sides: impl FnOnce(CostTable<'a>) -> CostTable<'a>,
) -> Table {
    let compared = Table::from_records(caption, records)
        .text("Cost", |c| capital(c.cost.words()))
        .text("Point", |c| place(c.point));
    sides(compared)
        .number("Ratio", "to baseline", |c| {
            let tone = if c.differs { Tone::Strong } else { Tone::Plain };
            Cell::new(number::ratio(c.ratio)).tone(tone)
        })
        .number("95 % interval", "", |c| {
            let ends = c.ci95.map(|ends| ends.map(number::ratio));
            ends.map_or_else(Cell::absent, |[low, high]| {
                format!("{low} to {high}").into()
            })
        })
        .number("Blocks", "", |c| c.blocks.to_string())
        .text("Differs", |c| if c.differs { "yes" } else { "not shown" })
        .foot(format!(
            "These ratios are descriptive: each interval is for its cost alone, and does not count \
             among the comparisons of throughput and latency. A cost differs if p is at most {} % \
             after an adjustment for the number of costs at the point (Holm), and if the \
             difference exceeds 5 %. A cost of 0 has no ratio.",
            analysis::DIFFERENCE_LEVEL * 100.0
        ))
        .build()
}
