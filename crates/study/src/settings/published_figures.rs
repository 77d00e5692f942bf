//! Content of a file of published figures.

use serde::Deserialize;
use std::collections::BTreeMap;

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
    /// Published claims about failures.
    pub failures: Vec<Failure>,
    /// Descriptions of claims in the publication.
    pub claims: Vec<String>,
    /// Questions that the publication does not answer.
    pub unknown: Vec<String>,
}

/// Absolute figures of one printed row.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Figure {
    /// Table or figure of the publication that contains the row, such as `table 5`.
    pub place: String,
    /// Description of the row, such as `90/10, 540 GB per node, 200 threads per client`.
    pub what: String,
    /// Number of requests in flight, summed over all clients. `None` if the publication does not
    /// print it.
    pub in_flight: Option<f64>,
    /// Published throughput, in op/s.
    pub ops_per_s: Option<f64>,
    /// Published mean latency, in ms.
    pub mean_ms: Option<f64>,
    /// Published median latency, in ms.
    pub p50_ms: Option<f64>,
    /// Published 95th percentile of latency, in ms.
    pub p95_ms: Option<f64>,
    /// Published 99th percentile of latency, in ms.
    pub p99_ms: Option<f64>,
}

/// A published claim about a failure. The report shows the text of the claim next to the result of
/// the study.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Failure {
    /// Failure that the claim is about, such as `host without high availability`.
    pub fault: String,
    /// Kinds of faults in cassay that correspond to the failure, such as `[node-kill]`.
    pub beside: Vec<String>,
    /// Variants of the study to which the claim applies. If the list is empty, the claim applies to
    /// all variants.
    pub variants: Vec<String>,
    pub claim: String,
}

/// A ratio of two configurations.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ratio {
    /// Description of the ratio.
    pub what: String,
    /// Metric of the ratio, such as `ops_per_s` or `latency_ms.p99`.
    pub metric: String,
    /// Variant whose value is the numerator.
    pub of: String,
    /// Variant whose value is the denominator.
    pub to: String,
    /// Point of the variant in the numerator, such as `{threads: 32}`. If the map is empty, the
    /// peak of each variant is used.
    pub of_at: BTreeMap<String, f64>,
    /// Point of the variant in the denominator.
    pub to_at: BTreeMap<String, f64>,
    /// `points` if the ratio is the geometric mean of the ratios at all points that both variants
    /// have. Empty if the ratio is at one point.
    pub over: String,
    /// Published ratio, if the publication prints a single value.
    pub value: Option<f64>,
    /// Smallest published ratio, if the publication prints several values.
    pub least: Option<f64>,
    /// Largest published ratio, if the publication prints several values.
    pub most: Option<f64>,
}
