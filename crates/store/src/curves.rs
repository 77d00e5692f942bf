//! Curves through the points of a run, in `findings.json`.

use analysis::VariantName;
use serde::{Deserialize, Serialize};

measure::word_enum! {
    /// Why a curve has no peak that is drawn.
    pub enum WithoutPeak {
        /// It falls from the first place measured on.
        First = "first",
        /// κ cannot be told from 0.
        Untold = "untold",
        /// More than twice the last place measured.
        Beyond = "beyond",
        /// Such a curve has none.
        None = "none",
    }
}

/// Throughput against the operations in flight as one curve: the Universal Scalability Law,
/// X(N) = λ N ÷ (1 + σ (N − 1) + κ N (N − 1)).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CurveRecord {
    /// Name of the variant.
    pub variant: VariantName,
    /// Why there is no curve; none if there is one. All else is then absent.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub refused: Option<String>,
    /// λ: throughput of one operation in flight, op/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// σ: the share that waits in line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sigma: Option<f64>,
    /// Its 95 % confidence interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sigma_ci95: Option<[f64; 2]>,
    /// κ: the cost of keeping all in agreement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kappa: Option<f64>,
    /// Its 95 % confidence interval; the upper end is absent where nothing ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kappa_ci95: Option<[Option<f64>; 2]>,
    /// By how much points lie off the curve: root of the mean square of ln (seen ÷ curve).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<f64>,
    /// Where throughput is highest, if that can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<PeakRecord>,
    /// Why there is no peak: `first` (it falls from the first load on), `untold` (κ cannot be told
    /// from 0) or `beyond` (more than twice the last load).
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub without_peak: Option<WithoutPeak>,
}

/// Where a curve is highest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PeakRecord {
    /// Operations in flight.
    pub threads: f64,
    /// Their 95 % confidence interval; the upper end is absent where there is none.
    pub threads_ci95: [Option<f64>; 2],
    /// Throughput there by the curve, op/s.
    pub ops_per_s: f64,
}
