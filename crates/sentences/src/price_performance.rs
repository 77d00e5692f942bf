//! Describes throughput in relation to its price, and the number of nodes that are needed for a
//! throughput.

use crate::interval::ends;
use crate::result_place::where_words;
use analysis::VariantName;
use measure::number::{significant, whole};
use store::record::{CapacityRecord, PEAK, PriceRecord};

/// Returns a sentence for each requested capacity and for each price.
pub fn sentences(prices: &[PriceRecord], capacities: &[CapacityRecord]) -> Vec<String> {
    let capacities = capacities.iter().map(capacity_sentence);
    capacities.chain(prices.iter().map(price_sentence)).collect()
}

fn who(variant: &VariantName) -> String {
    match variant.name() {
        None => "the target".to_owned(),
        Some(name) => format!("“{name}”"),
    }
}

/// Returns the currency after a space, such as ` USD`. Returns an empty string if the study does
/// not name a currency.
fn unit(currency: Option<&str>) -> String {
    currency.map_or_else(String::new, |currency| format!(" {currency}"))
}

fn price_sentence(price: &PriceRecord) -> String {
    let millions = |ops: f64| significant(ops / 1e6, 3);
    let currency = price.currency.as_deref().unwrap_or("unit of its price");
    let interval = price.ci95.map_or_else(String::new, |ci95| ends(ci95, millions));
    let against = price.ratio.map_or_else(String::new, |ratio| {
        let interval = match price.ratio_ci95 {
            Some(ci95) => ends(ci95, |ratio| significant(ratio, 3)),
            None => " (without an interval)".to_owned(),
        };
        format!(
            "; {} times “{}”{interval}",
            significant(ratio, 3),
            price.baseline
        )
    });
    let metric = if price.point.is_none() {
        PEAK
    } else {
        "ops_per_s"
    };
    format!(
        "{} and {}{} per hour, {} performs {} million operations{interval} per \
         {currency}{against}.",
        where_words(metric, price.point),
        price.per_hour,
        unit(price.currency.as_deref()),
        who(&price.variant),
        millions(price.ops_per_price),
    )
}

fn capacity_sentence(capacity: &CapacityRecord) -> String {
    let asked = format!(
        "{} op/s at a p99 of at most {} ms, {} lost",
        whole(capacity.ops_per_s),
        capacity.p99_ms,
        match capacity.failures {
            0 => "no node".to_owned(),
            1 => "with one node".to_owned(),
            n => format!("with {n} nodes"),
        }
    );
    let (Some(nodes), Some(per_node)) = (capacity.nodes, capacity.per_node) else {
        return format!(
            "The number of nodes that {} needs for {asked} is unknown: {}.",
            who(&capacity.variant),
            capacity.refused.as_deref().unwrap_or_default()
        );
    };
    let cost = capacity.per_hour.map_or_else(String::new, |price| {
        format!(
            ", at {}{} per hour",
            significant(price, 3),
            unit(capacity.currency.as_deref())
        )
    });
    format!(
        "For {asked}, {} needs {nodes} nodes{cost}: one node sustained at least {} op/s. This \
         assumes even scaling, with {} replicas of each row.",
        who(&capacity.variant),
        whole(per_node),
        capacity.copies
    )
}
