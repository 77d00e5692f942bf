//! What others have published, as findings have it beside ours.

use analysis::VariantName;
use serde::{Deserialize, Serialize};

/// Published figures and ratios, with ours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PublishedRecord {
    /// Who published what, and when.
    pub title: String,
    /// Where it can be read.
    pub link: String,
    /// The hardware and versions that the absolute figures belong to.
    pub system: String,
    /// Ratios, with ours.
    pub ratios: Vec<PublishedRatioRecord>,
    /// Absolute figures, as they were printed.
    pub figures: Vec<PublishedFigureRecord>,
    /// What it says of failures, as text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<PublishedFailureRecord>,
    /// What it says in words.
    pub claims: Vec<String>,
    /// What cannot be derived from it.
    pub unknown: Vec<String>,
}

/// A published ratio, and ours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PublishedRatioRecord {
    /// Of what.
    pub what: String,
    /// The metric: `ops_per_s`, `latency_ms.p99`.
    pub metric: String,
    /// The variant whose value is divided.
    pub of: VariantName,
    /// The variant that it is divided by.
    pub to: VariantName,
    /// What was published, the least and the most; the same twice of one number.
    pub published: [f64; 2],
    /// Ours; none where one of the two was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ours: Option<f64>,
    /// Its 95 % confidence interval; none with fewer than two blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
}

/// What was published of a failure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PublishedFailureRecord {
    /// What failed there.
    pub fault: String,
    /// The kinds of our faults that stand beside it.
    pub beside: Vec<String>,
    /// The variants of ours that it is about; none: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantName>,
    /// What it says.
    pub claim: String,
}

/// A printed row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PublishedFigureRecord {
    /// Where it is printed.
    pub place: String,
    /// Of what.
    pub what: String,
    /// Requests in flight, all clients together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<f64>,
    /// Operations per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ops_per_s: Option<f64>,
    /// Mean latency, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_ms: Option<f64>,
    /// Median, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ms: Option<f64>,
    /// 95th percentile, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_ms: Option<f64>,
    /// 99th percentile, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<f64>,
    /// How many times the printed mean is what requests in flight and throughput allow for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_by_little: Option<f64>,
}
