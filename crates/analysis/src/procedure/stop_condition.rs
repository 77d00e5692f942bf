//! Conditions that end a sweep of points with rising load.

use super::{Point, SeenTrial, TrialJudgement, TrialOutcome};
use crate::sweep::{Knee, State, SweepStep, read_sweep};

/// Condition that ends a sweep after the trial in which the condition occurs. A failed trial never
/// ends the sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    /// The rate stops growing, by the criterion of cassandra-stress.
    Flat {
        /// Minimum average growth over the last five runs, as a share. If an uncertainty is set,
        /// the value equals the uncertainty at which cassandra-stress ends its runs.
        gain_min: Option<f64>,
    },
    /// A request timed out.
    Timeout,
    /// Throughput stops growing beyond its noise. The knee of the sweep is at least two points
    /// back.
    Plateau,
    /// In an open loop, the target did less than the client offered, because it could not do more.
    Saturation,
    /// The p99 of latency exceeds this value in ms, or a request timed out.
    P99Ms(f64),
}

impl Until {
    /// Describes the condition, such as `a request times out`.
    pub fn words(self) -> String {
        match self {
            Until::Flat { .. } => "the achieved rate no longer grows".to_owned(),
            Until::Timeout => "a request times out".to_owned(),
            Until::Plateau => "throughput no longer grows beyond its noise".to_owned(),
            Until::Saturation => "throughput is below the offered rate".to_owned(),
            Until::P99Ms(ms) => format!("p99 is above {ms} ms or a request times out"),
        }
    }

    pub(super) fn first_in(self, seen: &[SeenTrial]) -> Option<Point> {
        let mut found: Vec<(Point, &TrialOutcome)> = Vec::with_capacity(seen.len());
        for trial in seen {
            let Some(last) = &trial.found else { continue };
            found.push((trial.point, last));
            if self.happens(&found, last) {
                return Some(trial.point);
            }
        }
        None
    }

    /// Returns true if the condition occurs in the last of the trials `found`.
    fn happens(self, found: &[(Point, &TrialOutcome)], last: &TrialOutcome) -> bool {
        match self {
            Until::Flat { gain_min } => {
                let rates: Vec<f64> = found.iter().map(|(_, one)| one.ops_per_s).collect();
                is_flat(&rates, gain_min)
            }
            Until::Timeout => last.timed_out > 0,
            Until::Plateau => is_plateau(found),
            Until::Saturation => last.is_saturated,
            // If the p99 is only a lower bound, and this bound is below the limit, the true p99 is
            // unknown. So the trial does not end the sweep.
            Until::P99Ms(bound) => {
                last.timed_out > 0 || last.latency_ms.p99.value.is_above(bound) == Some(true)
            }
        }
    }
}

/// Minimum number of points beyond a knee for a plateau. A single point could be an incident.
const PLATEAU_POINTS: usize = 2;

fn is_plateau(found: &[(Point, &TrialOutcome)]) -> bool {
    let rung = |(point, found): &(Point, &TrialOutcome)| SweepStep {
        load: point.value(),
        ops_per_s: vec![found.ops_per_s],
        p99_ms: found.latency_ms.p99.value,
        state: match (found.is_saturated, &found.judged) {
            (true, _) => State::Saturated,
            (false, TrialJudgement::Fair) => State::Kept,
            (false, _) => State::Unusable,
        },
    };
    let rungs: Vec<SweepStep> = found.iter().map(rung).collect();
    let beyond = |knee: usize| {
        let after = rungs[knee + 1..].iter();
        after.filter(|rung| rung.state != State::Unusable).count()
    };
    matches!(read_sweep(&rungs, None).knee, Knee::At(knee) if beyond(knee) >= PLATEAU_POINTS)
}

/// Returns true if more threads do not help. This is the case if throughput fell on average over
/// the last three runs, or gained less than `gain_min` over the last five runs. For a run that ends
/// by a count, cassandra-stress uses a `gain_min` of -1. An average cannot be below -1, so only the
/// rule of three runs then applies.
fn is_flat(rates: &[f64], gain_min: Option<f64>) -> bool {
    let of_five = gain_min.unwrap_or(-1.0);
    [(3, 0.0), (5, of_five)].into_iter().any(|(runs, least)| {
        let gain = improvement(rates, runs);
        // A run without operations results in NaN, which does not count as an improvement.
        rates.len() > runs && (gain.is_nan() || gain < least)
    })
}

/// Returns the average improvement of each of the last `runs` runs over the run before it, as a
/// share.
fn improvement(rates: &[f64], runs: usize) -> f64 {
    let last = &rates[rates.len().saturating_sub(runs + 1)..];
    let shares = last.windows(2).map(|pair| (pair[1] - pair[0]) / pair[0]);
    shares.sum::<f64>() / runs as f64
}
