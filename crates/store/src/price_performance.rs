//! What a throughput is worth, in `findings.json`: for its price, and in nodes.

use analysis::VariantName;
use analysis::procedure::Point;
use serde::{Deserialize, Serialize};

/// What a variant does for its price, where it did most.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PriceRecord {
    /// Name of the variant.
    pub variant: VariantName,
    /// Price of an hour of its target.
    pub per_hour: f64,
    /// In what; none if the study does not say.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub currency: Option<String>,
    /// Where on the axes: the primary point of comparisons, or where it did most.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// Successful operations for one unit of the currency.
    pub ops_per_price: f64,
    /// Its 95 % confidence interval: that of the throughput.
    #[serde(default)]
    pub ci95: Option<[f64; 2]>,
    /// The variant that it is compared with; none of the first.
    #[serde(default, skip_serializing_if = "VariantName::is_none")]
    pub baseline: VariantName,
    /// Operations for a unit of the currency ÷ those of the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Its 95 % confidence interval: that of the throughputs, shifted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_ci95: Option<[f64; 2]>,
}

/// How many nodes a demand takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CapacityRecord {
    /// Name of the variant.
    pub variant: VariantName,
    /// What was asked for, op/s.
    pub ops_per_s: f64,
    /// At a p99 of at most this.
    pub p99_ms: f64,
    /// Nodes that may be lost together.
    pub failures: u64,
    /// Growth on top, as a share.
    pub growth: f64,
    /// Load of the busiest node ÷ mean load of a node, as the study says.
    pub skew: f64,
    /// Copies of each row.
    pub copies: u64,
    /// Why there is no answer; none if there is one. All else is then absent.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub refused: Option<String>,
    /// The rate that was held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_at: Option<f64>,
    /// By so many nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes_measured: Option<u64>,
    /// The lower end of what one node did then, op/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_node: Option<f64>,
    /// Nodes that it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
    /// What they cost in an hour, if the variant has a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_hour: Option<f64>,
    /// In what.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub currency: Option<String>,
    /// What has to hold for that, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
}
