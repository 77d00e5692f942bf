//! Throughput in relation to the price, and the number of nodes that a throughput needs.

use crate::merged_points::{place, variant_name};
use crate::number;
use crate::page::{Block, Cell, Section, Table, Tone};
use crate::run_view::RunView;

/// Returns the section on prices and capacities. `None` for a study that states neither a price nor
/// a capacity.
pub fn section(view: &RunView) -> Option<Section> {
    let (prices, capacities) = (&view.findings.prices, &view.findings.capacities);
    let mut blocks = Vec::new();
    if !capacities.is_empty() {
        blocks.push(Block::Table(nodes(view)));
        let assumed = capacities.iter().find(|c| !c.assumptions.is_empty());
        blocks.extend(assumed.map(|c| {
            let title = "Assumptions behind the number of nodes".to_owned();
            Block::List(title, c.assumptions.clone())
        }));
    }
    if !prices.is_empty() {
        blocks.push(Block::Table(for_price(view)));
    }
    (!blocks.is_empty()).then(|| Section {
        id: "worth",
        title: "Operations per price".into(),
        lead:
            "Prices come from the study and have no error, so only the throughputs determine the \
             intervals."
                .into(),
        blocks,
    })
}

fn priced(sum: String, currency: Option<&str>) -> String {
    format!("{sum} {}", currency.unwrap_or_default())
}

fn nodes(view: &RunView) -> Table {
    let all = &view.findings.capacities;
    let first = &all[0];
    let caption = format!(
        "Nodes for {} op/s at a p99 of at most {} ms, {} lost",
        number::rate(first.ops_per_s),
        first.p99_ms,
        first.failures
    );
    Table::from_records(caption, all)
        .text("Variant", |c| variant_name(&c.variant, view))
        .number("Nodes", "", |c| {
            Cell::from(c.nodes.map(number::count)).tone(Tone::Strong)
        })
        .number("Held", "op/s", |c| c.held_at.map(number::rate))
        .number("By nodes", "", |c| c.nodes_measured.map(number::count))
        .number("A node, at least", "op/s", |c| c.per_node.map(number::rate))
        .number("Price per hour", "", |c| {
            let sum = number::significant(c.per_hour?, 3);
            Some(priced(sum, c.currency.as_deref()))
        })
        .text("Why not", |c| c.refused.as_deref().unwrap_or_default())
        .foot(format!(
            "Nodes = {} lost + the larger of {} replicas and {} × demand × {} ÷ throughput of a \
             node. This throughput is the lower end of its 95 % interval at the highest rate that \
             it sustained.",
            first.failures,
            first.copies,
            first.skew,
            1.0 + first.growth
        ))
        .build()
}

fn for_price(view: &RunView) -> Table {
    let millions = |ops: f64| number::significant(ops / 1e6, 3);
    Table::from_records("Operations per unit of currency", &view.findings.prices)
        .text("Variant", |p| variant_name(&p.variant, view))
        .text("Point", |p| place(p.point))
        .number("Price per hour", "", |p| {
            priced(p.per_hour.to_string(), p.currency.as_deref())
        })
        .number("Operations", "millions", |p| {
            let interval =
                p.ci95.map(|[low, high]| format!("{} to {}", millions(low), millions(high)));
            Cell::new(millions(p.ops_per_price)).detail(interval.unwrap_or_default())
        })
        .number("Ratio", "", |p| {
            let interval = p.ratio_ci95.map(|ends| {
                let [low, high] = ends.map(|end| number::significant(end, 3));
                format!("{low} to {high}, against {}", p.baseline)
            });
            Cell::from(p.ratio.map(|ratio| number::significant(ratio, 3)))
                .detail(interval.unwrap_or_default())
        })
        .build()
}
