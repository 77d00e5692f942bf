//! Throughput in relation to its price, and the number of nodes that a requested capacity needs, in
//! `findings.json`.

use analysis::VariantName;
use analysis::procedure::Point;
use serde::{Deserialize, Serialize};

/// Throughput of a variant in relation to its price. The throughput is that of the searches, of the
/// primary point, or of the best point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PriceRecord {
    /// Name of the variant.
    pub variant: VariantName,
    /// Price per hour of the variant's target.
    pub per_hour: f64,
    /// Currency of the price. Absent if the study does not state a currency.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub currency: Option<String>,
    /// Load at which the throughput was measured: the primary point of the comparisons, or the best
    /// point. `{}` for the results of searches.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// Number of successful operations for one unit of the currency.
    pub ops_per_price: f64,
    /// 95 % confidence interval of the operations per unit of the currency, computed from the
    /// interval of the throughput. `null` if the throughput has no interval.
    #[serde(default)]
    pub ci95: Option<[f64; 2]>,
    /// Variant with which this variant is compared. Absent for the first variant, and if the run
    /// has only one variant.
    #[serde(default, skip_serializing_if = "VariantName::is_none")]
    pub baseline: VariantName,
    /// Operations per unit of the currency ÷ the same figure of the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// 95 % confidence interval of `ratio`. It is the interval of the ratio of the throughputs,
    /// times the ratio of the prices.
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
    /// Upper bound of p99 at the requested throughput, ms.
    pub p99_ms: f64,
    /// Number of nodes that may fail at the same time.
    pub failures: u64,
    /// Expected growth of the requested throughput, as a share.
    pub growth: f64,
    /// Load of the busiest node ÷ mean load of a node, as the study states it.
    pub skew: f64,
    /// Number of copies of each row (replication factor).
    pub copies: u64,
    /// Reason why the number of nodes is unknown. All figures that depend on it are then absent.
    /// This field is absent if the number is known.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub refused: Option<String>,
    /// Highest rate that the target reached with p99 within the bound, op/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_at: Option<f64>,
    /// Number of nodes of the measured target, which reached the rate `held_at` together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes_measured: Option<u64>,
    /// Throughput of one node at the rate `held_at`, op/s. It is the lower end of the confidence
    /// interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_node: Option<f64>,
    /// Number of nodes that the variant needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
    /// Price per hour of the nodes that the variant needs. Absent if the variant has no price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_hour: Option<f64>,
    /// Currency of the price. Absent if the study does not state a currency.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub currency: Option<String>,
    /// Assumptions on which the number of nodes is based. Each assumption is one sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
}
