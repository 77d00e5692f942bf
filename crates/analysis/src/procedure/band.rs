//! Changes the number of threads in steps, up or down, until the p99 of latency is in a band. The
//! authors of the reference architecture of Cassandra on vSAN chose the load in this way. They went
//! from 300 threads in steps of 50, until p99 was between 50 and 100 ms.
//!
//! The procedure assumes that latency rises with the number of threads. So the last trial shows in
//! which direction the band is, and the next step goes in that direction.

use super::{
    Answer, Ask, Decide, Ending, Next, Point, ProcedureEstimate, REST_S, SearchProcedure,
    SearchResult, SearchStep, SeenTrial, TrialOutcome,
};
use measure::number::significant;
use std::fmt;

/// Settings of the search for the number of threads at which p99 is within a band.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// Number of threads of the first trial; at least 1.
    pub from: u32,
    /// Number of threads that a step adds or removes; at least 1.
    pub step: u32,
    /// Maximum number of threads, at least `from`.
    pub to: u32,
    /// Lower end of the band of p99 latency, in ms.
    pub least_ms: f64,
    /// Upper end of the band of p99 latency, in ms.
    pub most_ms: f64,
    /// Share of the found load at which the procedure makes a further trial, if any.
    pub expected: Option<f64>,
}

/// Minimum distance between neighbouring numbers of threads, as a share. Numbers that are closer to
/// each other differ only by chance.
const APART_MIN: f64 = 0.02;

impl Band {
    /// Returns the position of a trial relative to the band. A trial that failed or timed out
    /// counts as above the band.
    fn side(&self, found: Option<&TrialOutcome>) -> Side {
        let Some(found) = found else {
            return Side::Above;
        };
        let p99_ms = found.latency_ms.p99.value;
        match (found.timed_out, p99_ms.is_above(self.most_ms)) {
            (0, Some(false)) if p99_ms.least() < self.least_ms => Side::Below,
            (0, Some(false)) => Side::Within,
            _ => Side::Above,
        }
    }

    /// Returns the number of threads in the middle between `below` and `above`. Returns `None` if
    /// the two numbers are so close that another trial is not worthwhile.
    fn between(&self, below: u32, above: u32) -> Option<u32> {
        let apart = above - below;
        let is_worth = apart > 1 && f64::from(apart) > f64::from(above) * APART_MIN;
        is_worth.then(|| below + apart / 2)
    }

    fn threads(&self, tried: Neighbours) -> Option<u32> {
        match (tried.below, tried.above) {
            (None, None) => Some(self.from),
            (Some(below), None) => (below < self.to).then(|| (below + self.step).min(self.to)),
            (None, Some(above)) => (above > 1).then(|| above.saturating_sub(self.step).max(1)),
            (Some(below), Some(above)) => self.between(below, above),
        }
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {} ms", self.least_ms, self.most_ms)
    }
}

/// Numbers of threads that were tried and that are closest to the band.
struct Neighbours {
    below: Option<u32>,
    above: Option<u32>,
}

enum Side {
    Below,
    Within,
    Above,
}

impl Decide for Band {
    fn outlook(&self) -> ProcedureEstimate {
        let up = (self.to - self.from).div_ceil(self.step);
        let down = (self.from - 1).div_ceil(self.step);
        let halvings = self.step.ilog2() + 1;
        ProcedureEstimate {
            points: vec![Point::Threads(self.from)],
            certain: 1,
            turns_max: 1 + (up.max(down) + halvings) as usize,
            up_to: Some(Point::Threads(self.to)),
            any_order: false,
            decided_by: Some(format!(
                "The search adds or removes {} threads (then half as many) until p99 is within \
                 {self}{}. After a trial above the band, the next trial settles the data and waits \
                 for {REST_S} s",
                self.step,
                self.expected.map_or(String::new(), |share| format!(
                    "; then a trial measures {} % of the found load",
                    share * 100.0
                ))
            )),
        }
    }

    fn next(&self, seen: &[SeenTrial]) -> Next {
        let (mut below, mut above) = (None, None);
        for trial in seen {
            let threads = trial.point.value() as u32;
            match self.side(trial.found.as_ref()) {
                Side::Within => {
                    return Next::Answer(Answer::searched(Ending::Within {
                        at: trial.point,
                        band: *self,
                    }));
                }
                Side::Below => below = below.max(Some(threads)),
                Side::Above => above = Some(above.map_or(threads, |least| threads.min(least))),
            }
        }
        match self.threads(Neighbours { below, above }) {
            Some(threads) => Next::Measure(vec![Ask::probe(Point::Threads(threads))]),
            None => Next::Answer(Answer::searched(Ending::NeverWithin {
                band: *self,
                below,
                above,
            })),
        }
    }

    fn p99_bound_ms(&self) -> Option<f64> {
        Some(self.most_ms)
    }

    fn step(&self, seen: &SeenTrial) -> Option<SearchStep> {
        let result = match self.side(seen.found.as_ref()) {
            Side::Below => SearchResult::Below,
            Side::Within => SearchResult::Within,
            Side::Above => SearchResult::Above,
        };
        let why = match &seen.found {
            None => "the trial failed".to_owned(),
            Some(found) if found.timed_out > 0 => "requests timed out".to_owned(),
            Some(found) => {
                let p99_ms = found.latency_ms.p99.value;
                let (sign, ms) = (p99_ms.sign(), significant(p99_ms.least(), 3));
                format!("p99 was {sign}{ms} ms")
            }
        };
        Some(SearchStep::new(result, false, why))
    }

    fn goal(&self) -> Option<(SearchProcedure, String)> {
        Some((SearchProcedure::Band, format!("p99 within {self}")))
    }

    fn expected(&self) -> Option<f64> {
        self.expected
    }
}
