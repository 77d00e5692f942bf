//! Points that allow conclusions, and the values from which a displayed ratio is computed.

use crate::record::{ComparisonRecord, FindingsRecord, PointRecord, TrialFinding, Verdict};
use analysis::VariantName;
use analysis::procedure::Point;

impl FindingsRecord {
    /// Returns the points that allow conclusions, which are all points that are not `invalid`.
    pub fn usable_points(&self) -> impl Iterator<Item = &PointRecord> {
        self.points.iter().filter(|point| point.verdict != Verdict::Invalid)
    }
}

/// Returns the value of a metric for a variant at a point. For the baseline, the value is the
/// geometric mean over its blocks. For a contender, the value is the baseline's mean times the
/// ratio, so the quotient of two displayed values is the displayed ratio. `None` if the variant has
/// no comparison with an interval at this point.
pub fn compared_value(
    comparisons: &[ComparisonRecord],
    trials: &[TrialFinding],
    (variant, place): (&VariantName, Option<Point>),
    metric: &str,
) -> Option<f64> {
    let comparison = comparisons.iter().find(|c| {
        let has_interval = c.ci95.is_some() && c.bound.is_none();
        let is_here = c.metric == metric && c.point == place && has_interval;
        is_here && [&c.baseline, &c.contender].contains(&variant)
    })?;
    let value = |trial: &TrialFinding| match metric {
        "ops_per_s" => Some(trial.all.ops_per_s),
        "latency_ms.p50" => Some(trial.all.latency_ms.p50.least()),
        "latency_ms.p99" => Some(trial.all.latency_ms.p99.least()),
        _ => None,
    };
    let logs: Vec<f64> = trials
        .iter()
        .filter(|trial| trial.variant == comparison.baseline && trial.point == place)
        .filter(|trial| trial.verdict != Verdict::Invalid)
        .filter_map(|trial| value(trial).filter(|value| *value > 0.0))
        .map(f64::ln)
        .collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let baseline = (!logs.is_empty()).then(|| mean.exp())?;
    Some(if comparison.baseline == *variant {
        baseline
    } else {
        baseline * comparison.ratio
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An earlier version displayed arithmetic means of scattered blocks. Their quotient was 1.215,
    /// next to a ratio of 1.416.
    #[test]
    fn values_beside_a_ratio_divide_to_it() {
        let place = Some(Point::Threads(8));
        let trial = |variant: &str, ops_per_s: f64| {
            let mut trial = TrialFinding {
                variant: variant.into(),
                point: place,
                verdict: Verdict::Valid,
                ..TrialFinding::default()
            };
            trial.all.ops_per_s = ops_per_s;
            trial
        };
        let blocks = [
            (8_000.0, 20_000.0),
            (30_000.0, 24_000.0),
            (12_000.0, 23_000.0),
        ];
        let trials: Vec<TrialFinding> =
            blocks.iter().flat_map(|(a, b)| [trial("a", *a), trial("b", *b)]).collect();
        let logs: f64 = blocks.iter().map(|(a, b)| (b / a).ln()).sum();
        let ratio = (logs / blocks.len() as f64).exp();
        let comparison = ComparisonRecord {
            baseline: "a".into(),
            contender: "b".into(),
            metric: "ops_per_s".to_owned(),
            point: place,
            ratio,
            ci95: Some([1.0, 2.0]),
            ..ComparisonRecord::default()
        };
        let of = |comparison: &ComparisonRecord, variant: &str| {
            let comparisons = std::slice::from_ref(comparison);
            compared_value(comparisons, &trials, (&variant.into(), place), "ops_per_s")
        };
        let [a, b] = ["a", "b"].map(|variant| of(&comparison, variant).unwrap());
        assert!((b / a / ratio - 1.0).abs() < 1e-12, "{a} {b}");
        let contender: f64 = blocks.iter().map(|(_, b)| b.ln()).sum::<f64>() / 3.0;
        assert!(
            (b / contender.exp() - 1.0).abs() < 1e-12,
            "it is the mean of its own blocks"
        );
        let without = ComparisonRecord {
            ci95: None,
            ..comparison
        };
        assert_eq!(of(&without, "a"), None);
    }
}
