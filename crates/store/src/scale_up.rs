//! What a machine makes of more of its units, in `findings.json`.

use crate::curves::WithoutPeak;
use analysis::VariantName;
use analysis::rules::Verdict;
use analysis::scale_up::{EfficiencyOf, Fills, Model};
use serde::{Deserialize, Serialize};

/// One arm of a scale-up study under one load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScaleUpRecord {
    /// The load, in the study's words; empty where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub load: String,
    /// The arm, in the study's words; empty where there is one.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub arm: Option<String>,
    /// What is added: `cores`, `l3`, `numa` or `sockets`.
    pub unit: String,
    /// Of what there is an instance each: `one` for one over all units in use, or `cores`, `l3`,
    /// `numa` or `sockets`.
    pub instances: String,
    /// Units that fill one socket of the machine.
    pub units_per_socket: u32,
    /// Sockets of the machine.
    pub sockets: u32,
    /// What latency was kept within, where throughput is the most that is done so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<ScaleBoundRecord>,
    /// Every number of units, in the order of the study.
    pub points: Vec<ScalePointRecord>,
    /// Within a socket, of the system and across sockets.
    pub efficiencies: Vec<EfficiencyRecord>,
    /// The curves through the points, the simplest first.
    pub fits: Vec<ScaleFitRecord>,
    /// Why no curve is the best; empty if one is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub without_best: String,
    /// This arm against the baseline at the same number of units; empty of the baseline itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub improvements: Vec<ImprovementRecord>,
    /// What this machine can and cannot show, a sentence each.
    pub sentences: Vec<String>,
}

/// A bound of latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScaleBoundRecord {
    /// `p99`.
    pub name: String,
    /// It may not be above this, ns.
    pub at_most_ns: u64,
}

/// A ratio of what ran in the same blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScaleRatioRecord {
    /// The ratio.
    pub value: f64,
    /// Its 95 % confidence interval; absent of one block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
    /// Blocks that have both sides.
    pub blocks: usize,
}

/// One number of units.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScalePointRecord {
    /// Units in use, on all sockets together.
    pub units: u32,
    /// Sockets that they are on.
    pub sockets: u32,
    /// Units on each socket in use; absent where nobody knows, and then it is in no curve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Vec<u32>>,
    /// Name of the variant that this was.
    pub variant: VariantName,
    /// Throughput by block, op/s; none where the trial may not be used.
    pub ops_per_s_blocks: Vec<Option<f64>>,
    /// Their mean, op/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops_per_s: Option<f64>,
    /// Its 95 % confidence interval; absent of fewer than three blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops_per_s_ci95: Option<[f64; 2]>,
    /// X(N) ÷ x1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_up: Option<ScaleRatioRecord>,
    /// X(N) ÷ (N x1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<ScaleRatioRecord>,
    /// `valid`, `suspect` or `invalid`, of its trials.
    pub verdict: Verdict,
    /// Why throughput or efficiency is missing; none if neither is.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub missing: Option<String>,
}

/// One of the three efficiencies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EfficiencyRecord {
    /// What it is of.
    pub name: EfficiencyOf,
    /// The ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<ScaleRatioRecord>,
    /// Why there is none; none if there is one.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub missing: Option<String>,
}

/// A curve through the points.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScaleFitRecord {
    /// `amdahl`: X(N) = x1 N ÷ (1 + σ (N − 1)). `usl`: with κ N (N − 1) below the line as well.
    /// `two_level`: X(s, n) = x1 s n ÷ ((1 + σ₁ (n − 1) + κ₁ n (n − 1)) (1 + κ₂ (s − 1))).
    pub model: Model,
    /// Why there is no curve; none if there is one. All else is then absent.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub refused: Option<String>,
    /// Whether it says most with least (AICc).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub best: bool,
    /// Whether it cannot be told from the best one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub near_best: bool,
    /// x1: throughput of one unit by the curve, op/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x1: Option<f64>,
    /// Its coefficients, in the order of the formula.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coefficients: Vec<CoefficientRecord>,
    /// Points that it goes through.
    #[serde(default)]
    pub points: usize,
    /// Whether blocks were drawn again for the intervals.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_blocks: bool,
    /// By how much points lie off it: root of the mean square of ln (seen ÷ curve).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<f64>,
    /// The same of each point by a curve through the others; absent where these make none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out_off: Option<f64>,
    /// AICc; absent of too few trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aicc: Option<f64>,
    /// Where throughput is highest, if that can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<ScalePeakRecord>,
    /// Why there is no peak: `first` (it falls from the first number of units on), `untold` (κ
    /// cannot be told from 0), `beyond` (more than twice the last number of units) or `none` (such
    /// a curve has none).
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
    /// `sigma`, `kappa`, `sigma_1`, `kappa_1` or `kappa_2`.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its 95 % confidence interval, if any; the upper end is absent where nothing ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[Option<f64>; 2]>,
    /// Whether it can be told from 0.
    #[serde(default)]
    pub told: bool,
    /// Whether it is held at its value, since the points cannot tell it from another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
}

/// Where a curve is highest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScalePeakRecord {
    /// N*: units.
    pub units: f64,
    /// Their 95 % confidence interval; the upper end is absent where there is none.
    pub units_ci95: [Option<f64>; 2],
    /// Throughput there by the curve, op/s.
    pub ops_per_s: f64,
}

/// One arm against the baseline at one number of units.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImprovementRecord {
    /// The arm that it is against.
    pub against: String,
    /// Units in use.
    pub units: u32,
    /// Sockets that they are on.
    pub sockets: u32,
    /// Sockets that the baseline's are on.
    pub baseline_sockets: u32,
    /// What they fill, if they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fills: Option<Fills>,
    /// This arm ÷ the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<ScaleRatioRecord>,
    /// Why there is none; none if there is one.
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

    /// What is absent is not written, and what was written before there was any of this is read.
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
                missing: Some("no trial of one unit by itself may be used".to_owned()),
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
