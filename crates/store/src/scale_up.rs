//! Scale-up of a machine, in `findings.json`. A scale-up measures throughput with an increasing
//! number of the machine's units.

use crate::curves::WithoutPeak;
use analysis::VariantName;
use analysis::rules::Verdict;
use analysis::scale_up::{EfficiencyOf, Model, SaturatedResource};
use serde::{Deserialize, Serialize};

/// Results of one arm of a scale-up study under one load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScaleUpRecord {
    /// Name of the load in the study. Empty if the study has only one load.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub load: String,
    /// Name of the arm in the study. Absent if the study has only one arm.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub arm: Option<String>,
    /// Unit of the machine that the scale-up adds: `cores`, `l3`, `numa` or `sockets`.
    pub unit: String,
    /// Instances of Cassandra. `one` or a number means that this many instances share all units in
    /// use. `cores`, `l3`, `numa` or `sockets` means that one instance runs on each unit of this
    /// kind.
    pub instances: String,
    /// Number of units on one socket of the machine.
    pub units_per_socket: u32,
    /// Number of sockets of the machine.
    pub sockets: u32,
    /// Latency bound, if the throughput is the highest within a bound. Absent if the study has no
    /// bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<ScaleBoundRecord>,
    /// Points of the arm, in the order of the study. The arm has one point for each number of
    /// units.
    pub points: Vec<ScalePointRecord>,
    /// Three efficiencies: within a socket, of the system, and across sockets.
    pub efficiencies: Vec<EfficiencyRecord>,
    /// Curves fitted to the points. The simplest curve comes first.
    pub fits: Vec<ScaleFitRecord>,
    /// Reason why none of the curves is the best. Empty if one curve is the best.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub without_best: String,
    /// Comparisons of this arm with the baseline arm at the same number of units. Empty for the
    /// baseline arm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub improvements: Vec<ImprovementRecord>,
    /// Sentences about the conclusions that this machine allows or does not allow.
    pub sentences: Vec<String>,
}

/// An upper bound of a latency percentile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScaleBoundRecord {
    /// Name of the percentile, such as `p99`.
    pub name: String,
    /// Upper bound of the percentile, ns.
    pub at_most_ns: u64,
}

/// A ratio of throughputs that were measured in the same blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScaleRatioRecord {
    /// Ratio of the geometric means over the blocks.
    pub value: f64,
    /// 95 % confidence interval of the ratio. Absent for a single block, and if the blocks are not
    /// pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
    /// Number of blocks that contain both throughputs of the ratio.
    pub blocks: usize,
}

/// Results for one number of units in a scale-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScalePointRecord {
    /// Total number of units in use, on all sockets.
    pub units: u32,
    /// Number of sockets that contain the units in use.
    pub sockets: u32,
    /// Number of units on each used socket. Absent if unknown. A point without this field is not
    /// used for the curves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Vec<u32>>,
    /// Name of the variant at this point.
    pub variant: VariantName,
    /// Throughput in each block, op/s. `null` for a block without a usable trial.
    pub ops_per_s_blocks: Vec<Option<f64>>,
    /// Mean throughput at this point, op/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops_per_s: Option<f64>,
    /// 95 % confidence interval of the mean. Absent if the point has fewer than three blocks, or if
    /// the blocks are not pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops_per_s_ci95: Option<[f64; 2]>,
    /// Speed-up relative to one unit: X(N) ÷ x1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_up: Option<ScaleRatioRecord>,
    /// Efficiency relative to one unit: X(N) ÷ (N x1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<ScaleRatioRecord>,
    /// Verdict on all trials of the point together: `valid`, `suspect` or `invalid`.
    pub verdict: Verdict,
    /// Reason why the throughput or the efficiency is missing. Absent if the point has both
    /// figures.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub missing: Option<String>,
}

/// One of the three efficiencies of a scale-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EfficiencyRecord {
    /// Kind of the efficiency.
    pub name: EfficiencyOf,
    /// Value of the efficiency. Absent if the value is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<ScaleRatioRecord>,
    /// Reason why `ratio` is missing. Absent if `ratio` is known.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub missing: Option<String>,
}

/// A curve that was fitted to the points of a scale-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScaleFitRecord {
    /// Model of the curve. `amdahl`: X(N) = x1 N ÷ (1 + σ (N − 1)). `usl`: the same formula with κ
    /// N (N − 1) added to the divisor. `two_level`: X(s, n) = x1 s n ÷ ((1 + σ₁ (n − 1) + κ₁ n (n −
    /// 1)) (1 + κ₂ (s − 1))).
    pub model: Model,
    /// Reason why cassay could not fit the curve. All other figures are then absent. This field is
    /// absent if the curve was fitted.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub refused: Option<String>,
    /// True if this curve has the lowest AICc, so that it explains the points best in relation to
    /// its number of coefficients.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub best: bool,
    /// True if the AICc of the curve differs by less than 2 from the AICc of the best curve. Then
    /// the two curves cannot be distinguished.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub near_best: bool,
    /// Throughput of one unit (x1) according to the curve, op/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x1: Option<f64>,
    /// Coefficients of the curve, in the order of the formula.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coefficients: Vec<CoefficientRecord>,
    /// Number of points to which the curve is fitted.
    #[serde(default)]
    pub points: usize,
    /// True if blocks were resampled to compute the intervals.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_blocks: bool,
    /// Distance of the points from the curve, as the root mean square of ln (measured ÷ curve).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<f64>,
    /// Distance of each point from the curve through all other points, computed like `off`. Absent
    /// if the other points do not determine a curve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out_off: Option<f64>,
    /// AICc of the curve. Absent if the arm has too few trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aicc: Option<f64>,
    /// Peak of the throughput. Absent if the peak is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<ScalePeakRecord>,
    /// Reason why `peak` is absent. `first`: throughput falls from the first number of units on.
    /// `inconclusive`: κ cannot be distinguished from 0. `beyond`: the peak is at more than twice
    /// the last number of units. `none`: the model has no peak.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub without_peak: Option<WithoutPeak>,
}

/// A coefficient of a curve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CoefficientRecord {
    /// Name of the coefficient: `sigma`, `kappa`, `sigma_1`, `kappa_1` or `kappa_2`.
    pub name: String,
    /// Value of the coefficient.
    pub value: f64,
    /// 95 % confidence interval of the coefficient. The upper end of the interval is `null` if
    /// the interval has no upper limit. Absent if the value is fixed, or if the blocks are not
    /// pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[Option<f64>; 2]>,
    /// True if the coefficient differs significantly from 0.
    #[serde(default)]
    pub told: bool,
    /// True if the value is fixed, because the points cannot distinguish this coefficient from
    /// another coefficient.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
}

/// Peak of a curve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScalePeakRecord {
    /// Number of units at the peak (N*).
    pub units: f64,
    /// 95 % confidence interval of the number of units at the peak. The upper end is `null` if
    /// the interval has no upper limit.
    pub units_ci95: [Option<f64>; 2],
    /// Throughput at the peak according to the curve, op/s.
    pub ops_per_s: f64,
}

/// Comparison of an arm with the baseline arm at one number of units.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImprovementRecord {
    /// Name of the baseline arm.
    pub against: String,
    /// Number of units in use.
    pub units: u32,
    /// Number of sockets that contain the arm's units.
    pub sockets: u32,
    /// Number of sockets that contain the baseline's units.
    pub baseline_sockets: u32,
    /// Part of the machine that the units fill: a socket or the system. Absent if the units fill
    /// neither of them, or if the placement of the two arms does not differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fills: Option<SaturatedResource>,
    /// Throughput of this arm ÷ throughput of the baseline arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<ScaleRatioRecord>,
    /// Reason why `ratio` is absent. This field is absent if `ratio` is known.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub missing: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::FindingsRecord;
    use serde_json::json;

    /// Absent values are not written. Findings of versions without scale-ups can still be read.
    #[test]
    fn findings_with_and_without_it_are_read() {
        let mut findings = FindingsRecord::default();
        let without = serde_json::to_value(&findings).unwrap();
        assert!(without.get("scale_ups").is_none());
        let read: FindingsRecord = serde_json::from_value(without).unwrap();
        assert!(read.scale_ups.is_empty());
        let record = ScaleUpRecord {
            unit: "numa".to_owned(),
            instances: "one".to_owned(),
            points: vec![ScalePointRecord {
                units: 1,
                sockets: 1,
                ops_per_s_blocks: vec![Some(1.5), None],
                missing: Some("no trial of a single unit is usable".to_owned()),
                ..ScalePointRecord::default()
            }],
            efficiencies: vec![EfficiencyRecord {
                name: EfficiencyOf::Socket,
                ..EfficiencyRecord::default()
            }],
            fits: vec![ScaleFitRecord::default()],
            improvements: vec![ImprovementRecord::default()],
            ..ScaleUpRecord::default()
        };
        findings.scale_ups = vec![record];
        let written = serde_json::to_value(&findings).unwrap();
        let point = &written["scale_ups"][0]["points"][0];
        assert_eq!(point["ops_per_s_blocks"], json!([1.5, null]));
        assert!(point.get("efficiency").is_none() && point.get("split").is_none());
        let read: FindingsRecord = serde_json::from_value(written).unwrap();
        assert_eq!(read.scale_ups, findings.scale_ups);
    }
}
