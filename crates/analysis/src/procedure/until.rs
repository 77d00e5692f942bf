//! What a ladder of rising points waits for, and ends after.

use super::{Judged, Point, SeenTrial, TrialOutcome};
use crate::sweep::{Knee, Rung, State, read_sweep};

/// What ends a ladder, after the trial in which it happens. A trial that has failed says nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    /// The rate no longer grows, as cassandra-stress judges it.
    Flat {
        /// By how much of itself it must have grown in each of the last five runs, on average: the
        /// uncertainty that its runs end by, if they do.
        gain_min: Option<f64>,
    },
    /// A request timed out.
    Timeout,
    /// Throughput no longer grows beyond its noise: the knee that a sweep is read by lies so many
    /// points back.
    Plateau,
    /// Less was done than was offered, since the target could not do more (open loop).
    Saturation,
    /// The p99 of latency is above this many ms, or a request timed out.
    P99Ms(f64),
}

impl Until {
    /// In words: `a request times out`.
    pub fn words(self) -> String {
        match self {
            Until::Flat { .. } => "the rate no longer grows".to_owned(),
            Until::Timeout => "a request times out".to_owned(),
            Until::Plateau => "throughput no longer grows beyond its noise".to_owned(),
            Until::Saturation => "less is done than is offered".to_owned(),
            Until::P99Ms(ms) => format!("p99 is above {ms} ms or a request times out"),
        }
    }

    /// Where it happened first.
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

    /// Whether it happens in the `last` of those that were `found`.
    fn happens(self, found: &[(Point, &TrialOutcome)], last: &TrialOutcome) -> bool {
        match self {
            Until::Flat { gain_min } => {
                let rates: Vec<f64> = found.iter().map(|(_, one)| one.ops_per_s).collect();
                is_flat(&rates, gain_min)
            }
            Until::Timeout => last.timed_out > 0,
            Until::Plateau => is_plateau(found),
            Until::Saturation => last.is_saturated,
            // A lower bound below the limit does not end it: nobody knows.
            Until::P99Ms(bound) => {
                last.timed_out > 0 || last.latency_ms.p99.value.is_above(bound) == Some(true)
            }
        }
    }
}

/// Points beyond a knee that a plateau has: one could be an incident.
const PLATEAU_POINTS: usize = 2;

/// Whether the points so far have a knee, and enough of them beyond it.
fn is_plateau(found: &[(Point, &TrialOutcome)]) -> bool {
    let rung = |(point, found): &(Point, &TrialOutcome)| Rung {
        load: point.value(),
        ops_per_s: vec![found.ops_per_s],
        p99_ms: found.latency_ms.p99.value,
        state: match (found.is_saturated, &found.judged) {
            (true, _) => State::Saturated,
            (false, Judged::Fair) => State::Kept,
            (false, _) => State::Unusable,
        },
    };
    let rungs: Vec<Rung> = found.iter().map(rung).collect();
    let beyond = |knee: usize| {
        let after = rungs[knee + 1..].iter();
        after.filter(|rung| rung.state != State::Unusable).count()
    };
    matches!(read_sweep(&rungs, None).knee, Knee::At(knee) if beyond(knee) >= PLATEAU_POINTS)
}

/// Whether more threads no longer help: the last three runs were worse on average each than the
/// one before, or the last five better by less than `gain_min`. Of a run that ends by a count the
/// tool takes -1 for that, below which five runs cannot fall without three falling first.
fn is_flat(rates: &[f64], gain_min: Option<f64>) -> bool {
    let of_five = gain_min.unwrap_or(-1.0);
    [(3, 0.0), (5, of_five)].into_iter().any(|(runs, least)| {
        let gain = improvement(rates, runs);
        // Not a number, as after a run without any operation, is no improvement.
        rates.len() > runs && (gain.is_nan() || gain < least)
    })
}

/// The improvement of the last `runs` runs over those before them, on average, as a share.
fn improvement(rates: &[f64], runs: usize) -> f64 {
    let last = &rates[rates.len().saturating_sub(runs + 1)..];
    let shares = last.windows(2).map(|pair| (pair[1] - pair[0]) / pair[0]);
    shares.sum::<f64>() / runs as f64
}
