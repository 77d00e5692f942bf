//! Builds the record of a scale-up study from its points. The record contains efficiencies, curves,
//! and statements about conclusions that the machine does not allow.

use analysis::curves::Peak;
use analysis::rules::Verdict;
use analysis::scale_up::fits::{Coefficient, Fit, NoFit, rivals};
use analysis::scale_up::models::Model;
use analysis::scale_up::{
    Improvement, MachineSize, MissingRatio, Of, Point, PointResults, Ratio, ScaleUp, improvements,
    read,
};
use analysis::too_few_blocks;
use analysis::{Looks, Metric, VariantName};
use measure::number::significant;
use sentences::scale_up::plural;
use store::record::{
    CoefficientRecord, EfficiencyOf, EfficiencyRecord, ImprovementRecord, SaturatedResource,
    ScaleBoundRecord, ScaleFitRecord, ScalePeakRecord, ScalePointRecord, ScaleRatioRecord,
    ScaleUpRecord, WithoutPeak,
};

/// Properties that are the same for all arms of a study.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Kind of unit that is added: `cores`, `l3`, `numa` or `sockets`.
    pub unit: String,
    pub instances: Instances,
    pub machine: MachineSize,
    /// Name of the load, if the study has several loads.
    pub load: String,
    /// Latency bound of the throughput: the percentile, such as `p99`, and the bound in ns. `None`
    /// if the throughput has no latency bound.
    pub bound: Option<(String, u64)>,
    /// Goal of the search, such as `p99 within 10 ms`. `None` if the throughput is not the result
    /// of a search.
    pub goal: Option<String>,
    /// Metric for throughput, which is based on [`Metric::THROUGHPUT`]. If the throughput is one of
    /// a series of rates that were tried, the metric has the grid of these rates.
    pub metric: Metric,
    /// Number of planned blocks, or of begun blocks if the study ends when its question is
    /// answered.
    pub blocks: usize,
    /// Reason why ratios have no interval. `None` if they have intervals.
    pub unpaired: Option<UnpairedReason>,
}

/// Instances of Cassandra that run on the units in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instances {
    /// This number of instances, which share all units in use.
    Shared(usize),
    /// One instance on each unit of this kind: `cores`, `l3`, `numa` or `sockets`.
    OfUnits(String),
}

/// Reason why blocks are not pairs, so that no interval can be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnpairedReason {
    /// The variants ran one after the other.
    InARow,
    /// The results decided the number of blocks.
    UntilAnswered,
}

impl UnpairedReason {
    fn words(self) -> &'static str {
        match self {
            UnpairedReason::InARow => {
                "The trials with different numbers of units were not interleaved. So every ratio \
                 and every curve also includes other changes during the run, which no interval \
                 covers."
            }
            UnpairedReason::UntilAnswered => {
                "The run ended as soon as its question had an answer. Intervals for a fixed number \
                 of blocks do not apply to such a run, so the report omits them."
            }
        }
    }
}

#[derive(Clone, Debug)]
pub struct Arm {
    /// Name of the arm, if the study has several arms.
    pub name: Option<String>,
    /// Points of the arm, in the order of the study.
    pub points: Vec<UnitsMeasurement>,
}

/// Measurement at one number of units.
#[derive(Clone, Debug)]
pub struct UnitsMeasurement {
    /// Number of units, and throughput by block.
    pub point: Point,
    pub variant: VariantName,
    /// Verdict on all trials of the measurement.
    pub verdict: Verdict,
    /// Reason why no trial of the measurement may be used, if known.
    pub missing: Option<String>,
    /// True if throughput was highest at the highest offered load, so that more may be possible.
    pub is_last: bool,
    /// Ratio of neighbouring rates, if the throughput is one of a series of rates that were tried.
    pub grid: Option<f64>,
}

impl Arm {
    /// Lists the numbers of units of the matching points, such as `1, 2 and 4`. Returns `None` if
    /// no point matches.
    pub fn counted(&self, is_such: impl Fn(&&UnitsMeasurement) -> bool) -> Option<String> {
        let such = self.points.iter().filter(is_such);
        let units: Vec<String> = such.map(|of| of.point.units.to_string()).collect();
        (!units.is_empty()).then(|| measure::number::listed(&units))
    }

    fn points(&self) -> Vec<Point> {
        self.points.iter().map(|of| of.point.clone()).collect()
    }
}

/// Builds the record of one arm under one load. If the caller passes another arm as the baseline,
/// the record includes the improvement over that arm.
pub fn record(setting: &Setting, arm: &Arm, baseline: Option<&Arm>) -> ScaleUpRecord {
    let points = arm.points();
    let found = read(&points, setting.machine, setting.metric);
    let told = |of| setting.to_record(of);
    let against = baseline.map_or_else(Vec::new, |baseline| {
        improvements(&baseline.points(), &points, setting.machine, setting.metric)
            .into_iter()
            .map(|of| improvement(setting, baseline, of))
            .collect()
    });
    let efficiency = |name, of| {
        let (ratio, missing) = told(of);
        EfficiencyRecord {
            name,
            ratio,
            missing,
        }
    };
    ScaleUpRecord {
        load: setting.load.clone(),
        arm: arm.name.clone(),
        unit: setting.unit.clone(),
        instances: match &setting.instances {
            Instances::Shared(1) => "one".to_owned(),
            Instances::Shared(count) => count.to_string(),
            Instances::OfUnits(units) => units.clone(),
        },
        units_per_socket: setting.machine.units_per_socket,
        sockets: setting.machine.sockets,
        bound: setting
            .bound
            .clone()
            .map(|(name, at_most_ns)| ScaleBoundRecord { name, at_most_ns }),
        points: arm
            .points
            .iter()
            .zip(&found.points)
            .map(|(measured, scaled)| point(setting, measured, scaled))
            .collect(),
        efficiencies: vec![
            efficiency(EfficiencyOf::Socket, found.socket),
            efficiency(EfficiencyOf::System, found.system),
            efficiency(EfficiencyOf::Cross, found.cross),
        ],
        fits: found.fits.iter().map(|of| fit(setting, &found, of)).collect(),
        without_best: found.best.err().map_or("", |why| why.words()).to_owned(),
        improvements: against,
        sentences: sentences(setting, &found),
    }
}

/// Describes the conclusions that the points allow, and those that they do not allow.
fn sentences(setting: &Setting, found: &ScaleUp) -> Vec<String> {
    let mut said = vec![match &setting.instances {
        Instances::Shared(1) => {
            "One instance used all units. So this result applies to one instance; several \
             instances may scale differently."
                .to_owned()
        }
        Instances::Shared(count) => format!(
            "{count} instances shared all units in use. So this result applies to {count} \
             instances; another number may scale differently."
        ),
        Instances::OfUnits(instances) => format!(
            "An instance ran on each of the {} in use. So this result applies to several \
             instances; one instance over more units may scale differently.",
            plural(instances)
        ),
    }];
    if let Some((name, at_most_ns)) = &setting.bound {
        said.push(format!(
            "Throughput is the highest value with {name} of at most {} ms. Without that limit, \
             another number of units may be best.",
            significant(*at_most_ns as f64 / 1e6, 3)
        ));
    }
    if let Some(goal) = &setting.goal {
        said.push(format!(
            "Throughput is the result of a search for {goal}. With another goal, another number of \
             units may be best."
        ));
    }
    said.extend(setting.unpaired.map(|unpaired| unpaired.words().to_owned()));
    said.extend(found.sentences());
    said
}

impl Setting {
    /// Returns the interval for a record. Returns `None` if an end is not finite, or if no interval
    /// can be computed from these blocks.
    fn ends(&self, ci95: Option<[f64; 2]>) -> Option<[f64; 2]> {
        ci95.filter(|ends| self.unpaired.is_none() && ends.iter().all(|end| end.is_finite()))
    }

    /// Returns the record of a ratio, or the reason why the ratio is missing.
    fn to_record(
        &self,
        of: Result<Ratio, MissingRatio>,
    ) -> (Option<ScaleRatioRecord>, Option<String>) {
        match of {
            Ok(of) if too_few_blocks(of.blocks, self.blocks, Looks::Once) => {
                let why = format!(
                    "only {} of {} blocks have both values, which is too few",
                    of.blocks, self.blocks
                );
                (None, Some(why))
            }
            Ok(of) => {
                let ratio = ScaleRatioRecord {
                    value: of.value,
                    ci95: self.ends(of.ci95),
                    blocks: of.blocks,
                };
                (Some(ratio), None)
            }
            Err(why) => (None, Some(why.words())),
        }
    }
}

fn point(
    setting: &Setting,
    measured: &UnitsMeasurement,
    scaled: &PointResults,
) -> ScalePointRecord {
    let (efficiency, why) = setting.to_record(scaled.efficiency);
    // The reason of the measurement takes precedence, because it is more specific.
    let known = measured.missing.clone();
    let missing = known.filter(|_| scaled.ops_per_s.is_none()).or(why);
    ScalePointRecord {
        units: scaled.units,
        sockets: scaled.sockets,
        split: scaled.split.clone(),
        variant: measured.variant.clone(),
        ops_per_s_blocks: measured.point.ops_per_s.clone(),
        ops_per_s: scaled.ops_per_s,
        ops_per_s_ci95: setting.ends(scaled.ops_per_s_ci95),
        speed_up: setting.to_record(scaled.speed_up).0,
        efficiency,
        verdict: measured.verdict,
        missing,
    }
}

fn improvement(setting: &Setting, against: &Arm, of: Improvement) -> ImprovementRecord {
    let (ratio, missing) = setting.to_record(of.ratio);
    ImprovementRecord {
        against: against.name.clone().unwrap_or_default(),
        units: of.units,
        sockets: of.sockets,
        baseline_sockets: of.baseline_sockets,
        fills: match of.fills {
            Of::Socket => Some(SaturatedResource::Socket),
            Of::System => Some(SaturatedResource::System),
            Of::Unit | Of::Point | Of::Other => None,
        },
        ratio,
        missing,
    }
}

fn fit(
    setting: &Setting,
    found: &ScaleUp,
    (model, fit): &(Model, Result<Fit, NoFit>),
) -> ScaleFitRecord {
    let fit = match fit {
        Ok(fit) => fit,
        Err(why) => {
            return ScaleFitRecord {
                model: *model,
                refused: Some(why.words()),
                ..ScaleFitRecord::default()
            };
        }
    };
    let (peak, without_peak) = match fit.peak {
        Some(Peak::At {
            threads: units,
            threads_ci95,
            ops_per_s,
        }) => {
            let units_ci95 = threads_ci95.map(|end| end.is_finite().then_some(end));
            let peak = ScalePeakRecord {
                units,
                units_ci95,
                ops_per_s,
            };
            (Some(peak), None)
        }
        Some(Peak::First { .. }) => (None, Some(WithoutPeak::First)),
        Some(Peak::Inconclusive) => (None, Some(WithoutPeak::Inconclusive)),
        Some(Peak::Beyond) => (None, Some(WithoutPeak::Beyond)),
        None => (None, Some(WithoutPeak::None)),
    };
    let near = found.best.map(|best| rivals(&found.fits, best));
    ScaleFitRecord {
        model: *model,
        refused: None,
        best: found.best == Ok(*model),
        near_best: near.is_ok_and(|near| near.contains(model)),
        x1: Some(fit.x1),
        coefficients: fit.coefficients.iter().map(|of| coefficient(setting, of)).collect(),
        points: fit.points,
        from_blocks: fit.from_blocks,
        off: Some(fit.off),
        left_out_off: fit.left_out_off,
        aicc: fit.aicc,
        peak,
        without_peak,
    }
}

fn coefficient(setting: &Setting, of: &Coefficient) -> CoefficientRecord {
    CoefficientRecord {
        name: of.name.to_owned(),
        value: of.value,
        ci95: of
            .ci95
            .filter(|_| setting.unpaired.is_none())
            .map(|ends| ends.map(|end| end.is_finite().then_some(end))),
        told: of.is_told() && setting.unpaired.is_none(),
        held: of.is_held,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(units: u32, sockets: u32, share: f64) -> UnitsMeasurement {
        let ops = 1000.0 * f64::from(units) * share;
        // Some noise is necessary. Without noise, the trials would deviate from every curve by more
        // than their noise.
        let noise = [1.0, 1.0003, 0.9997].into_iter().cycle().skip(units as usize % 3);
        let blocks = [1.0, 1.02, 0.99].into_iter().zip(noise);
        UnitsMeasurement {
            point: Point {
                units,
                sockets,
                split: Vec::new(),
                ops_per_s: blocks.map(|(block, noise)| Some(ops * block * noise)).collect(),
            },
            variant: format!("units-{units}").into(),
            verdict: Verdict::Valid,
            missing: None,
            is_last: false,
            grid: None,
        }
    }

    fn setting() -> Setting {
        Setting {
            unit: "numa".to_owned(),
            instances: Instances::OfUnits("numa".to_owned()),
            machine: MachineSize {
                units_per_socket: 4,
                sockets: 2,
            },
            load: String::new(),
            bound: Some(("p99".to_owned(), 10_000_000)),
            goal: None,
            metric: Metric::THROUGHPUT,
            blocks: 3,
            unpaired: None,
        }
    }

    #[test]
    fn an_arm_becomes_a_record_that_reads_back_as_it_was() {
        let shares = [(1, 1, 1.0), (2, 1, 0.993), (4, 1, 0.98), (8, 2, 0.90)];
        let arm = |name: &str, better: f64| Arm {
            name: Some(name.to_owned()),
            points: shares
                .map(|(units, sockets, share)| measured(units, sockets, better * share))
                .into(),
        };
        let (usual, planned) = (arm("usual", 0.5), arm("planned", 1.0));
        let made = record(&setting(), &planned, Some(&usual));
        let [socket, _, cross] = made.efficiencies.as_slice() else {
            panic!("{made:?}");
        };
        assert!((socket.ratio.as_ref().unwrap().value - 0.98).abs() < 1e-9);
        assert!((cross.ratio.as_ref().unwrap().value - 0.918).abs() < 5e-4);
        assert_eq!(made.fits.len(), 3);
        assert_eq!(made.fits.iter().filter(|fit| fit.best).count(), 1);
        let factors: Vec<_> = made.improvements.iter().map(|i| i.fills).collect();
        assert_eq!(
            factors,
            [
                None,
                None,
                Some(SaturatedResource::Socket),
                Some(SaturatedResource::System)
            ]
        );
        assert!((made.improvements[3].ratio.as_ref().unwrap().value - 2.0).abs() < 1e-9);
        let said = made.sentences.join("\n");
        assert!(
            said.contains("NUMA nodes") && said.contains("p99 of at most 10.0 ms"),
            "{said}"
        );
        let text = serde_json::to_string(&made).unwrap();
        assert!(!text.contains("null"), "{text}");
        let again: ScaleUpRecord = serde_json::from_str(&text).unwrap();
        // The test does not compare all numbers, because their last digit may differ.
        assert_eq!(again.sentences, made.sentences);
        assert_eq!(again.points[3].ops_per_s_blocks.len(), 3);
        assert!(record(&setting(), &usual, None).improvements.is_empty());
    }

    #[test]
    fn throughput_that_sinks_from_the_first_unit_on_reads_back() {
        let shares = [(1, 1.0), (2, 0.476), (3, 0.303), (4, 0.217_45)];
        let arm = Arm {
            name: None,
            points: shares.map(|(units, share)| measured(units, 1, share)).into(),
        };
        let made = record(&setting(), &arm, None);
        assert_eq!(made.fits[1].without_peak, Some(WithoutPeak::First));
        let text = serde_json::to_string(&made).unwrap();
        let again: ScaleUpRecord = serde_json::from_str(&text).unwrap();
        assert_eq!(again.sentences, made.sentences);
    }

    #[test]
    fn a_point_without_a_trial_shows_the_reason_from_the_caller() {
        let mut arm = Arm {
            name: None,
            points: vec![measured(1, 1, 1.0), measured(4, 1, 0.9)],
        };
        arm.points[1].point.ops_per_s = vec![None; 3];
        arm.points[1].missing = Some("V3: the client was busy".to_owned());
        let made = record(&setting(), &arm, None);
        assert_eq!(
            made.points[1].missing.as_deref(),
            Some("V3: the client was busy")
        );
        assert!(made.points[1].efficiency.is_none() && made.points[0].missing.is_none());
        assert!(made.efficiencies.iter().all(|of| of.missing.is_some()));
        assert!(made.fits.iter().all(|fit| fit.refused.is_some()));
    }
}
