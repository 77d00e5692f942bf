//! Converts a throughput to a number of nodes, and relates a ratio of throughputs to a ratio of
//! prices.

/// Demand that the nodes must serve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Total operations per second.
    pub ops_per_s: f64,
    /// Expected growth of the demand, as a share of the present demand.
    pub growth: f64,
    /// Load of the busiest node ÷ mean load of a node.
    pub skew: f64,
    /// Number of nodes that may fail together.
    pub failures: u64,
    /// Number of replicas of each row. The cluster needs at least one node for each replica.
    pub copies: u64,
}

/// Largest reliable multiple of the measured number of nodes. Above this multiple, the result is a
/// guess, because the scaling was not measured.
pub const BEYOND_MAX: f64 = 2.0;

/// Returns the number of nodes for a demand: f + max(copies, ⌈skew × demand × (1 + growth) ÷
/// held⌉). Here, f is the number of nodes that may fail, and held is the measured throughput of one
/// node (`held_per_node`). Returns `None` if `held_per_node` is not a positive finite number. The
/// formula assumes that the work per operation does not depend on the number of nodes.
pub fn nodes(demand: Demand, held_per_node: f64) -> Option<u64> {
    if !(held_per_node.is_finite() && held_per_node > 0.0) {
        return None;
    }
    let by_load = demand.skew * demand.ops_per_s * (1.0 + demand.growth) / held_per_node;
    Some(demand.failures + demand.copies.max(by_load.ceil() as u64))
}

/// Divides a ratio of throughputs, and its interval, by the ratio of the prices. A price has no
/// error, so the interval keeps its relative length.
pub fn for_price(ratio: f64, ci95: Option<[f64; 2]>, prices: f64) -> (f64, Option<[f64; 2]>) {
    (
        ratio / prices,
        ci95.map(|ends| ends.map(|end| end / prices)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEMAND: Demand = Demand {
        ops_per_s: 100_000.0,
        growth: 0.0,
        skew: 1.1,
        failures: 1,
        copies: 3,
    };

    #[test]
    fn nodes_are_those_of_the_worked_example() {
        // Three nodes together served 31,000 op/s; the lower end of the interval is 29,600 op/s.
        let held = 29_600.0 / 3.0;
        assert_eq!(nodes(DEMAND, held), Some(13));
        let growing = Demand {
            growth: 0.2,
            ..DEMAND
        };
        assert_eq!(nodes(growing, held), Some(1 + 14));
        let little = Demand {
            ops_per_s: 1000.0,
            ..DEMAND
        };
        assert_eq!(
            nodes(little, held),
            Some(1 + 3),
            "three copies need three nodes"
        );
        assert_eq!(nodes(DEMAND, 0.0), None);
    }

    #[test]
    fn a_price_shifts_a_ratio_and_its_interval() {
        let published: f64 = 19_974.0 / 23_985.0;
        let (ratio, ci95) = for_price(published, Some([0.80, 0.87]), 0.75);
        assert!((ratio - 1.11).abs() < 5e-3, "{ratio}");
        let [low, high] = ci95.unwrap();
        assert!(
            (low - 1.067).abs() < 1e-3 && (high - 1.16).abs() < 1e-3,
            "{low} {high}"
        );
    }
}
