//! A file of figures that others have published, as data.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A file of published figures.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Published {
    /// Who published what, and when.
    pub title: String,
    /// Where it can be read.
    pub link: String,
    /// The hardware and versions that the absolute figures belong to.
    pub system: String,
    /// Absolute figures.
    pub figures: Vec<Figure>,
    /// What is expected to carry over to other machines.
    pub ratios: Vec<Ratio>,
    /// What it says of failures.
    pub failures: Vec<Failure>,
    /// What it says in words.
    pub claims: Vec<String>,
    /// What cannot be derived from it.
    pub unknown: Vec<String>,
}

/// One printed row.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Figure {
    /// Where it is printed: `table 5`.
    pub place: String,
    /// Of what: `90/10, 540 GB per node, 200 threads per client`.
    pub what: String,
    /// Requests in flight, all clients together, where that is printed.
    pub in_flight: Option<f64>,
    /// Operations per second.
    pub ops_per_s: Option<f64>,
    /// Mean latency, ms.
    pub mean_ms: Option<f64>,
    /// Median, ms.
    pub p50_ms: Option<f64>,
    /// 95th percentile, ms.
    pub p95_ms: Option<f64>,
    /// 99th percentile, ms.
    pub p99_ms: Option<f64>,
}

/// What was published of a failure: text, which stands beside what ours did.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Failure {
    /// What failed there: `host without high availability`.
    pub fault: String,
    /// The kinds of faults of ours that it stands beside: `[node-kill]`.
    pub beside: Vec<String>,
    /// The variants of ours that it is about; none: all.
    pub variants: Vec<String>,
    /// What it says.
    pub claim: String,
}

/// A ratio of two configurations.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ratio {
    /// Of what, in words.
    pub what: String,
    /// The metric: `ops_per_s`, `latency_ms.p99`.
    pub metric: String,
    /// The variant whose value is divided.
    pub of: String,
    /// The variant that it is divided by.
    pub to: String,
    /// Where on the axis: `{threads: 32}`; where there is nothing, at the peak of each.
    pub of_at: BTreeMap<String, f64>,
    /// The same of the other side.
    pub to_at: BTreeMap<String, f64>,
    /// `points`: over all points that both have, as the geometric mean of their ratios; else empty,
    /// and the ratio is of one place.
    pub over: String,
    /// What was published: one number,
    pub value: Option<f64>,
    /// or the least
    pub least: Option<f64>,
    /// and the most of several.
    pub most: Option<f64>,
}
