//! Published figures next to the measured figures, in `findings.json`.

use analysis::VariantName;
use serde::{Deserialize, Serialize};

/// Published figures and ratios, next to the ratios that cassay measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PublishedRecord {
    /// Title of the publication, with its author and date.
    pub title: String,
    /// URL of the publication.
    pub link: String,
    /// Description of the hardware and the versions with which the absolute figures were measured.
    pub system: String,
    /// Published ratios, next to the measured ratios.
    pub ratios: Vec<PublishedRatioRecord>,
    /// Absolute figures, as printed in the publication.
    pub figures: Vec<PublishedFigureRecord>,
    /// Published claims about failures, as text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<PublishedFailureRecord>,
    /// Descriptions of published claims.
    pub claims: Vec<String>,
    /// Information that the publication does not contain.
    pub unknown: Vec<String>,
}

/// A published ratio, next to the measured ratio.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PublishedRatioRecord {
    /// Description of the published ratio.
    pub what: String,
    /// Metric of the ratio, such as `ops_per_s` or `latency_ms.p99`.
    pub metric: String,
    /// Variant whose value is the numerator of the ratio.
    pub of: VariantName,
    /// Variant whose value is the denominator of the ratio.
    pub to: VariantName,
    /// Smallest and largest published ratio. The two values are equal if only one ratio was
    /// published.
    pub published: [f64; 2],
    /// Measured ratio. Absent if cassay did not measure one of the variants, or if the value of one
    /// is a lower bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ours: Option<f64>,
    /// 95 % confidence interval of the measured ratio. Absent if the run has fewer than two pairs
    /// of blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
}

/// A published claim about a failure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PublishedFailureRecord {
    /// Fault as described in the publication.
    pub fault: String,
    /// Kinds of faults in cassay that correspond to the published fault.
    pub beside: Vec<String>,
    /// Variants of the study to which the claim applies. Absent if the claim applies to all
    /// variants.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantName>,
    /// Text of the claim.
    pub claim: String,
}

/// A row of published figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PublishedFigureRecord {
    /// Table or figure of the publication that contains the row.
    pub place: String,
    /// Description of the row.
    pub what: String,
    /// Number of requests in flight, summed over all clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<f64>,
    /// Published throughput, op/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ops_per_s: Option<f64>,
    /// Published mean latency, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_ms: Option<f64>,
    /// Published median latency, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ms: Option<f64>,
    /// Published 95th percentile of latency, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_ms: Option<f64>,
    /// Published 99th percentile of latency, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<f64>,
    /// Published mean latency ÷ the mean latency that follows from requests in flight and
    /// throughput by Little's law. Absent if the publication lacks one of these three figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_by_little: Option<f64>,
}
