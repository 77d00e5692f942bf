//! A file of published figures, as data.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A file of published figures.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PublishedFile {
    /// Author, title and date of the publication.
    pub title: String,
    /// Link to the publication.
    pub link: String,
    /// Hardware and versions of the system on which the absolute figures were measured.
    pub system: String,
    /// Absolute figures that the publication prints.
    pub figures: Vec<Figure>,
    /// Ratios that are expected to be similar on other machines.
    pub ratios: Vec<Ratio>,
    /// Statements about failures.
    pub failures: Vec<Failure>,
    /// Descriptions of the statements in the publication.
    pub claims: Vec<String>,
    /// Questions that the publication does not answer.
    pub unknown: Vec<String>,
}

/// Absolute figures of one printed row.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Figure {
    /// Place of the figures in the publication: `table 5`.
    pub place: String,
    /// Subject of the figures: `90/10, 540 GB per node, 200 threads per client`.
    pub what: String,
    /// Number of requests in flight of all clients together, if the publication prints it.
    pub in_flight: Option<f64>,
    /// Operations per second.
    pub ops_per_s: Option<f64>,
    /// Mean latency, in ms.
    pub mean_ms: Option<f64>,
    /// Median latency, in ms.
    pub p50_ms: Option<f64>,
    /// 95th percentile of latency, in ms.
    pub p95_ms: Option<f64>,
    /// 99th percentile of latency, in ms.
    pub p99_ms: Option<f64>,
}

/// A published statement about a failure. The report shows the text of the statement next to the
/// study's own result.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Failure {
    /// The failure that the statement is about: `host without high availability`.
    pub fault: String,
    /// Kinds of cassay's faults that correspond to the failure: `[node-kill]`.
    pub beside: Vec<String>,
    /// The study's variants to which the statement applies. If empty, all variants.
    pub variants: Vec<String>,
    /// Text of the statement.
    pub claim: String,
}

/// A ratio of two configurations.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ratio {
    /// Description of the subject of the ratio.
    pub what: String,
    /// Metric of the ratio: `ops_per_s`, `latency_ms.p99`.
    pub metric: String,
    /// Variant in the numerator.
    pub of: String,
    /// Variant in the denominator.
    pub to: String,
    /// Point of the first variant: `{threads: 32}`. If empty, the peak of each variant is used.
    pub of_at: BTreeMap<String, f64>,
    /// Point of the second variant.
    pub to_at: BTreeMap<String, f64>,
    /// `points` for the geometric mean of the ratios at all points that both variants have.
    /// Otherwise empty, which means that the ratio is at one point.
    pub over: String,
    /// Published value, if it is a single number.
    pub value: Option<f64>,
    /// Published minimum, if the publication gives several values.
    pub least: Option<f64>,
    /// Published maximum, if the publication gives several values.
    pub most: Option<f64>,
}
