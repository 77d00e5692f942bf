//! Curves through the points of a run, in `findings.json`.

use analysis::VariantName;
use serde::{Deserialize, Serialize};

measure::word_enum! {
    /// Reason why cassay shows no peak of a curve.
    pub enum WithoutPeak {
        /// Throughput falls from the first measured load on.
        First = "first",
        /// κ cannot be distinguished from 0.
        Inconclusive = "inconclusive" | "untold",
        /// The peak would be at a load of more than twice the last measured load.
        Beyond = "beyond",
        /// A curve of this model has no peak.
        None = "none",
    }
}

/// A curve of throughput against operations in flight, by the Universal Scalability Law (Gunther
/// 2007): X(N) = λ N ÷ (1 + σ (N − 1) + κ N (N − 1)).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CurveRecord {
    /// Name of the variant.
    pub variant: VariantName,
    /// Reason why cassay could not fit a curve. All other figures are then absent. This field is
    /// absent if the variant has a curve.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub refused: Option<String>,
    /// λ: throughput with a single operation in flight, op/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// σ: share of the work that is serialized (contention).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sigma: Option<f64>,
    /// 95 % confidence interval of σ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sigma_ci95: Option<[f64; 2]>,
    /// κ: cost of coherency for each pair of operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kappa: Option<f64>,
    /// 95 % confidence interval of κ. The upper end is `null` if the interval has no upper limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kappa_ci95: Option<[Option<f64>; 2]>,
    /// Distance of the points from the curve, as the root mean square of ln (measured ÷ curve).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<f64>,
    /// Peak of the throughput. Absent if the peak is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<PeakRecord>,
    /// Reason why `peak` is absent. `first`: throughput falls from the first load on.
    /// `inconclusive`: κ cannot be distinguished from 0. `beyond`: the peak would be at more than
    /// twice the last load.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub without_peak: Option<WithoutPeak>,
}

/// Peak of a curve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PeakRecord {
    /// Number of operations in flight at the peak.
    pub threads: f64,
    /// 95 % confidence interval of the operations in flight at the peak. The upper end is `null` if
    /// the interval has no upper limit.
    pub threads_ci95: [Option<f64>; 2],
    /// Throughput at the peak according to the curve, op/s.
    pub ops_per_s: f64,
}
