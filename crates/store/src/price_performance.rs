//! Throughput for its price, and the number of nodes for a requested capacity, in `findings.json`.

use analysis::VariantName;
use analysis::procedure::Point;
use serde::{Deserialize, Serialize};

/// Throughput of a variant for its price: in its searches, at the primary point, or at its best
/// point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PriceRecord {
    /// Name of the variant.
    pub variant: VariantName,
    /// Price of its target per hour.
    pub per_hour: f64,
    /// Currency of the price. Absent if the study states none.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub currency: Option<String>,
    /// Load: the primary point of the comparisons, or the best point. `{}` for the results of
    /// searches.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// Successful operations for one unit of the currency.
    pub ops_per_price: f64,
    /// 95 % confidence interval of these operations, from the interval of the throughput. `null` if
    /// the throughput has no interval.
    #[serde(default)]
    pub ci95: Option<[f64; 2]>,
    /// Variant that it is compared with. Absent if there is none, as for the first variant.
    #[serde(default, skip_serializing_if = "VariantName::is_none")]
    pub baseline: VariantName,
    /// Operations for one unit of the currency ÷ those of the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// 95 % confidence interval of the ratio: the interval of the throughputs, times the ratio of
    /// the prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_ci95: Option<[f64; 2]>,
}

/// Number of nodes that a variant needs for the requested capacity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CapacityRecord {
    /// Name of the variant.
    pub variant: VariantName,
    /// Requested throughput, op/s.
    pub ops_per_s: f64,
    /// Upper bound of p99 at that throughput, ms.
    pub p99_ms: f64,
    /// Number of nodes that may fail at the same time.
    pub failures: u64,
    /// Additional growth, as a share.
    pub growth: f64,
    /// Load of the busiest node ÷ mean load of a node, as the study states it.
    pub skew: f64,
    /// Number of copies of each row (replication factor).
    pub copies: u64,
    /// Reason why there is no answer. All its figures are then absent. Absent with an answer.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub refused: Option<String>,
    /// Highest rate that the target reached with p99 within the bound, op/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_at: Option<f64>,
    /// Number of nodes that reached this rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes_measured: Option<u64>,
    /// Lower end of the throughput of one node at that rate, op/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_node: Option<f64>,
    /// Number of nodes needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
    /// Price of these nodes per hour. Absent if the variant has no price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_hour: Option<f64>,
    /// Currency of that price. Absent if the study states none.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub currency: Option<String>,
    /// Assumptions behind the number of nodes, with a sentence for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
}
