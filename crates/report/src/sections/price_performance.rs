//! What throughputs are worth: for their price, and in nodes.

use crate::number;
use crate::page::{Block, Cell, Column, Row, Section, Table, Tone};
use crate::summary::{place, variant_name};
use crate::view::RunView;
use store::record::{CapacityRecord, PriceRecord};

/// None of a study that states no price and asks for no capacity.
pub fn section(view: &RunView) -> Option<Section> {
    let (prices, capacities) = (&view.findings.prices, &view.findings.capacities);
    let mut blocks = Vec::new();
    if !capacities.is_empty() {
        blocks.push(Block::Table(nodes(view)));
        let assumed = capacities.iter().find(|c| !c.assumptions.is_empty());
        blocks.extend(assumed.map(|c| {
            let title = "What the number of nodes takes for granted".to_owned();
            Block::List(title, c.assumptions.clone())
        }));
    }
    if !prices.is_empty() {
        blocks.push(Block::Table(for_price(view)));
    }
    (!blocks.is_empty()).then(|| Section {
        id: "worth",
        title: "What it is worth".into(),
        lead: "Prices are those that the study states; they have no error, so intervals are those \
               of the throughputs."
            .into(),
        blocks,
    })
}

/// A sum with its currency.
fn priced(sum: String, currency: Option<&str>) -> String {
    format!("{sum} {}", currency.unwrap_or_default())
}

fn nodes(view: &RunView) -> Table {
    let row = |c: &CapacityRecord| {
        let absent = || number::ABSENT.to_owned();
        let count = |n: Option<u64>| n.map_or_else(absent, number::count);
        let rate = |n: Option<f64>| n.map_or_else(absent, number::rate);
        let cost = c.per_hour.map_or_else(absent, |price| {
            priced(number::significant(price, 3), c.currency.as_deref())
        });
        Row {
            cells: vec![
                Cell::new(variant_name(&c.variant, view)),
                Cell::new(count(c.nodes)).tone(Tone::Strong),
                Cell::new(rate(c.held_at)),
                Cell::new(count(c.nodes_measured)),
                Cell::new(rate(c.per_node)),
                Cell::new(cost),
                Cell::new(c.refused.as_deref().unwrap_or_default()),
            ],
            tone: Tone::Plain,
        }
    };
    let all = &view.findings.capacities;
    let first = &all[0];
    Table {
        caption: format!(
            "Nodes for {} op/s at a p99 of at most {} ms, {} lost",
            number::rate(first.ops_per_s),
            first.p99_ms,
            first.failures
        ),
        columns: vec![
            Column::text("Variant"),
            Column::number("Nodes", ""),
            Column::number("Held", "op/s"),
            Column::number("By nodes", ""),
            Column::number("A node, at least", "op/s"),
            Column::number("Price per hour", ""),
            Column::text("Why not"),
        ],
        rows: all.iter().map(row).collect(),
        foot: format!(
            "Nodes = {} lost + the larger of {} copies and {} × demand × {} ÷ what a node did at \
             least (the lower end of its 95 % interval at the highest rate that was held).",
            first.failures,
            first.copies,
            first.skew,
            1.0 + first.growth
        ),
    }
}

fn for_price(view: &RunView) -> Table {
    let millions = |ops: f64| number::significant(ops / 1e6, 3);
    let row = |p: &PriceRecord| {
        let interval = p.ci95.map_or_else(String::new, |[low, high]| {
            format!("{} to {}", millions(low), millions(high))
        });
        let ratio =
            p.ratio.map_or_else(|| number::ABSENT.to_owned(), |r| number::significant(r, 3));
        let ratio_interval = p.ratio_ci95.map_or_else(String::new, |[low, high]| {
            let [low, high] = [low, high].map(|end| number::significant(end, 3));
            format!("{low} to {high}, against {}", p.baseline)
        });
        Row {
            cells: vec![
                Cell::new(variant_name(&p.variant, view)),
                Cell::new(place(p.point)),
                Cell::new(priced(p.per_hour.to_string(), p.currency.as_deref())),
                Cell::new(millions(p.ops_per_price)).detail(interval),
                Cell::new(ratio).detail(ratio_interval),
            ],
            tone: Tone::Plain,
        }
    };
    Table {
        caption: "Operations for a unit of the price".into(),
        columns: vec![
            Column::text("Variant"),
            Column::text("Point"),
            Column::number("Price per hour", ""),
            Column::number("Operations", "millions"),
            Column::number("Ratio", ""),
        ],
        rows: view.findings.prices.iter().map(row).collect(),
        foot: String::new(),
    }
}
