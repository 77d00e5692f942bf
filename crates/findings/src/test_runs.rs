//! Creates artificial runs, for tests of conclusions from runs.

use analysis::procedure::Point;
use measure::Known;
use store::record::{TrialFinding, Verdict};
use study::settings::{Study, Variant};

pub struct FixtureTrial<'a> {
    pub variant: &'a Variant,
    pub point: Point,
    pub block: usize,
    pub index: usize,
}

impl FixtureTrial<'_> {
    /// Returns one of five deviations, which depends only on the number of the trial.
    pub fn one_of(&self, deviations: [f64; 5]) -> f64 {
        deviations[self.index * 7 % 5]
    }
}

/// Returns a valid trial of ten seconds for each point of each variant in each block. `did` returns
/// the throughput and the p99 of the trial.
pub fn trials(study: &Study, did: impl Fn(&FixtureTrial<'_>) -> (f64, Known)) -> Vec<TrialFinding> {
    let mut trials = Vec::new();
    for block in 0..study.repeat.blocks {
        for variant in &study.variants {
            for point in variant.settings.procedure.outlook().points {
                let index = trials.len();
                let made = FixtureTrial {
                    variant,
                    point,
                    block,
                    index,
                };
                let (ops_per_s, p99_ms) = did(&made);
                let mut trial = TrialFinding {
                    index,
                    variant: variant.name.clone(),
                    point: Some(point),
                    block,
                    verdict: Verdict::Valid,
                    seconds: 10.0,
                    ..TrialFinding::default()
                };
                trial.all.ops = 1;
                trial.all.ops_per_s = ops_per_s;
                trial.all.latency_ms.p99 = p99_ms;
                trials.push(trial);
            }
        }
    }
    trials
}
