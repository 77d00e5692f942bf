//! Searches for the highest load within a bound. The search doubles the load, bisects the bracket,
//! and then holds the result.
//!
//! With a noise of 15 % and bisection alone, a further hold confirms the found rate in 61 % of
//! cases. After two holds, a further hold confirms the rate in 92 % of cases (simulated;
//! `tests/search.rs` has the figures at 5 %). MLPerf's LoadGen also widens and bisects, with one
//! run for each step. Its rules then require a valid long run (`FindBoundaries`,
//! `FindPeakPerformanceBinarySearch` in `loadgen.cc`).
//!
//! Invariants: a bracket only becomes narrower, and a held load only becomes lower. So the search
//! ends, and never repeats an answered probe.

use super::trial_outcome::{Bound, BoundCheck, Despite, Percentile, Role, SeenTrial};
use super::{
    Answer, Ask, Decide, Ending, LowestOverload, Next, Point, ProcedureEstimate, REST_S, Range,
    SearchProcedure, SearchResult, SearchStep,
};
use measure::number::count;

/// Settings of a search for the highest load within a bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// First load that the search tries.
    pub from: Point,
    /// Maximum load, on the axis of `from` and not below it.
    pub to: u64,
    /// Bound that the found load must stay within.
    pub bound: Bound,
    /// Number of consecutive holds that confirm the result.
    pub holds: u32,
    /// Maximum number of times that the search halves the load if the first load is too high.
    pub downs_max: u32,
    /// Share of the found load at which the procedure makes a further trial, if any.
    pub expected: Option<f64>,
}

const HOLDS: u32 = 2;
const DOWNS_MAX: u32 = 5;
/// Ratio of the two ends of a bracket at which the bracket is narrow enough and the search stops
/// the bisection.
pub const BRACKET: f64 = 1.02;

/// Returns the ratio of neighbouring grid points at the load `least`. This is the ratio of the
/// final bracket, or, for small loads, the step to the next whole number.
pub fn grid(least: f64) -> f64 {
    BRACKET.max(1.0 + 1.0 / least)
}
/// Maximum number of bisections from a bracket of 2 (or 3, between odd numbers of threads) to
/// [`BRACKET`]. Each bisection takes the square root of the ratio of the two ends. The exact
/// number, log2(ln 3 ÷ ln 1.02), is 5.8, and whole numbers need one more bisection.
const BISECTIONS_MAX: usize = 7;
/// Factor by which a failed hold lowers the load.
const HOLD_FACTOR: f64 = 0.97;
/// Maximum number of times that failed holds lower the load. Together, these steps lower the load
/// by a sixth. If the result is still beyond the bound, the probes were wrong.
const HOLDS_MAX: u32 = 6;
/// Maximum number of trials without an answer that one search repeats.
const INCONCLUSIVE_MAX: u32 = 2;

/// Assumed factor by which the throughput of a saturated target would be higher if no other
/// programs disturbed the target.
const SATURATED_MARGIN: f64 = 1.10;
/// Ratio of the two ends of a range at which a search on a disturbed machine stops, because further
/// trials would not show anything new.
const SURVEY_BRACKET: f64 = 1.3;

impl Search {
    /// Returns a search for the peak, as described at the top of this file.
    pub fn peak(from: Point, to: u64, bound: Bound) -> Search {
        Search {
            from,
            to,
            bound,
            holds: HOLDS,
            downs_max: DOWNS_MAX,
            expected: None,
        }
    }

    /// Returns a search for the highest number of threads whose latency is within a limit. The
    /// authors of the reference architecture of Cassandra on Azure chose the load in this way. The
    /// search has no holds, and goes down to one thread.
    pub fn latency_target(from: Point, to: u64, bound: Bound) -> Search {
        Search {
            holds: 0,
            downs_max: u32::MAX,
            ..Search::peak(from, to, bound)
        }
    }

    fn point_of(&self, value: u64) -> Point {
        match self.from {
            Point::Threads(_) => Point::Threads(value as u32),
            Point::Rate(_) => Point::Rate(value),
        }
    }

    fn first(&self) -> u64 {
        self.from.value() as u64
    }

    /// Returns the number of loads that the search may try on the way up, and the number on the way
    /// down.
    fn climb(&self) -> (usize, usize) {
        let (mut ups, mut value) = (1, self.first());
        while value < self.to {
            value = value.saturating_mul(2).min(self.to);
            ups += 1;
        }
        let halvings = self.first().max(1).ilog2().min(self.downs_max);
        (ups, 1 + halvings as usize)
    }

    /// Returns the lowest load that the search may find.
    fn floor(&self) -> u64 {
        self.first().checked_shr(self.downs_max).unwrap_or(0).max(1)
    }

    /// Returns the highest throughput that the target could have reached without disturbance.
    /// Returns `None` unless this throughput is below the offered rate.
    fn saturated(&self, trial: &SeenTrial) -> Option<u64> {
        let offered = trial.point.value();
        match self.bound.told_despite(trial.found.as_ref()) {
            Despite::Saturated(done) if done * SATURATED_MARGIN < offered => {
                Some((done * SATURATED_MARGIN).ceil() as u64)
            }
            _ => None,
        }
    }

    fn is_far_beyond(&self, trial: &SeenTrial) -> bool {
        self.bound.told_despite(trial.found.as_ref()) == Despite::FarBeyond
    }

    /// Judges whether a trial stayed within the bound. The function also judges disturbed trials,
    /// if their result is clear.
    fn judge(&self, trial: &SeenTrial) -> BoundCheck {
        match self.bound.judge(trial.found.as_ref()) {
            BoundCheck::Inconclusive(_) if self.saturated(trial).is_some() => {
                BoundCheck::No("throughput was far below the offered rate".to_owned())
            }
            BoundCheck::Inconclusive(_) if self.is_far_beyond(trial) => {
                BoundCheck::No("most requests took much longer than the limit".to_owned())
            }
            check => check,
        }
    }

    /// Returns the state of the search after the trials `seen`, or the answer if the search has
    /// ended.
    fn walk(&self, seen: &[SeenTrial]) -> Result<Path, Answer> {
        let mut path = Path::default();
        for trial in seen {
            let value = trial.point.value() as u64;
            let kept = self.judge(trial);
            if matches!(kept, BoundCheck::Yes | BoundCheck::No(_)) {
                path.trials.push((value, matches!(kept, BoundCheck::Yes)));
            }
            path.saturated = path.saturated.max(self.saturated(trial));
            match (kept, trial.role) {
                (BoundCheck::Client(why), _) => return Err(self.client(&path, value, why)),
                (BoundCheck::Inconclusive(why), _) => {
                    path.inconclusive += 1;
                    path.despite(value, self.bound.told_despite(trial.found.as_ref()));
                    let is_too_often = path.inconclusive > INCONCLUSIVE_MAX;
                    if is_too_often && trial.found.is_none() {
                        return Err(self.inconclusive(&path, value, why));
                    }
                    path.gave_up = is_too_often.then_some((value, why));
                }
                (BoundCheck::Yes, Role::Hold) => path.held += 1,
                (BoundCheck::Yes, _) => path.low = path.low.max(Some(value)),
                (BoundCheck::No(why), role) => path.fail(value, why, role, false),
                (BoundCheck::NotOffered(why), role) => path.fail(value, why, role, true),
            }
            path.is_holding |= trial.role == Role::Hold;
            path.last = value;
        }
        Ok(path)
    }

    /// Returns the next trial on a machine that is too disturbed to hold any load. The search goes
    /// up until it offers more than the target can do. Then it bisects towards the highest load
    /// that stayed within the bound. The final result is a range.
    fn survey(&self, path: &Path, why: &(u64, String), trials: usize) -> Result<Ask, Answer> {
        let end = || self.inconclusive(path, why.0, why.1.clone());
        let probe = |value: u64| Ok(Ask::probe(self.point_of(value)));
        if path.is_holding || trials >= self.outlook().turns_max {
            return Err(end());
        }
        let Some(above) = path.above() else {
            let next = path.last.saturating_mul(2).min(self.to);
            return if path.last >= self.to {
                Err(end())
            } else {
                probe(next)
            };
        };
        let high = path.given_up.map_or(above, |given_up| given_up.min(above));
        match path.kept() {
            None if high / 2 < self.floor() => Err(end()),
            None => probe(high / 2),
            Some(low) => match between(low, high) {
                Some(middle) if (high as f64) > low as f64 * SURVEY_BRACKET => probe(middle),
                _ => Err(end()),
            },
        }
    }

    fn onward(&self, path: &Path) -> Result<Ask, Answer> {
        let probe = |value: u64| Ok(Ask::probe(self.point_of(value)));
        match (path.low, path.high.as_ref().map(|high| high.value)) {
            (None, None) => probe(self.first()),
            (None, Some(high)) if high <= 1 || path.fails > self.downs_max => Err(self.none(path)),
            (None, Some(high)) => probe((high / 2).max(1)),
            (Some(low), None) if low >= self.to => Err(self.not_reached()),
            (Some(low), None) => probe(low.saturating_mul(2).min(self.to)),
            (Some(low), Some(high)) => match between(low, high) {
                Some(middle) if !path.is_holding => probe(middle),
                _ if low < self.floor() || path.lowered > HOLDS_MAX => Err(self.none(path)),
                _ if path.held < self.holds => Ok(Ask {
                    point: self.point_of(low),
                    role: Role::Hold,
                }),
                _ => Err(self.found(low, path)),
            },
        }
    }

    fn found(&self, low: u64, path: &Path) -> Answer {
        Answer::searched(Ending::Most {
            at: self.point_of(low),
            bound: self.bound,
            is_held: self.holds > 0,
            above: self.above(path),
        })
    }

    fn above(&self, path: &Path) -> Option<LowestOverload> {
        let high = path.high.as_ref()?;
        Some(LowestOverload {
            at: self.point_of(high.value),
            why: high.why.clone(),
            is_by_client: high.is_by_client,
        })
    }

    fn none(&self, path: &Path) -> Answer {
        let (bound, above) = (self.bound, self.above(path));
        Answer::searched(if path.is_holding {
            Ending::NotHeld {
                bound,
                range: self.range(path),
                point: self.from,
                above,
            }
        } else {
            Ending::None {
                from: above.as_ref().map_or(self.from, |above| above.at),
                bound,
                above,
            }
        })
    }

    /// Returns the range that contains the peak, from all trials together. The search uses this
    /// range if no load was held. Returns `None` if no trial stayed within the bound.
    fn range(&self, path: &Path) -> Option<Range> {
        let trials = &path.trials;
        let passed = trials.iter().filter(|(_, kept)| *kept);
        let most = passed.clone().map(|(value, _)| *value).max()?;
        let failed = || trials.iter().filter(|(_, kept)| !kept).map(|(value, _)| *value);
        let all_below = |value: u64| failed().all(|failed| failed > value);
        let always =
            passed.clone().map(|(value, _)| *value).filter(|value| all_below(*value)).max();
        let never = path.above();
        Some(Range {
            kept: passed.count(),
            trials: trials.len(),
            most: self.point_of(most),
            always: always.map(|value| self.point_of(value)),
            never: never.map(|value| self.point_of(value)),
        })
    }

    fn not_reached(&self) -> Answer {
        Answer::searched(Ending::NotReached {
            at: self.point_of(self.to),
            bound: self.bound,
        })
    }

    fn client(&self, path: &Path, value: u64, why: String) -> Answer {
        Answer::searched(Ending::Client {
            at: self.point_of(value),
            why,
            range: self.range(path),
            bound: self.bound,
        })
    }

    fn inconclusive(&self, path: &Path, value: u64, why: String) -> Answer {
        Answer::searched(Ending::Inconclusive {
            at: self.point_of(value),
            // A disturbed trial that stayed within the bound has an answer, so it does not count
            // here.
            trials: path.inconclusive.saturating_sub(path.kept_despite).max(1),
            why,
            range: self.range(path),
            bound: self.bound,
        })
    }
}

#[derive(Default)]
struct Path {
    /// Load of every decided trial, with a flag that is true if the trial stayed within the bound.
    trials: Vec<(u64, bool)>,
    /// Highest load that stayed within the bound. After a failed hold, this is the next lower load
    /// to hold.
    low: Option<u64>,
    high: Option<High>,
    fails: u32,
    /// True after the first hold. From then on, the search does not bisect.
    is_holding: bool,
    /// Number of consecutive successful holds of `low`.
    held: u32,
    lowered: u32,
    inconclusive: u32,
    /// Number of undecided trials that nevertheless stayed within the bound.
    kept_despite: u32,
    /// Load at which too many trials were undecided, and the reason why the last trial was
    /// undecided.
    gave_up: Option<(u64, String)>,
    /// Highest possible throughput in trials in which the target did far less than the client
    /// offered.
    saturated: Option<u64>,
    /// Lowest load of an undecided trial that ran when a higher load was already known to be too
    /// high.
    given_up: Option<u64>,
    last: u64,
}

struct High {
    value: u64,
    why: String,
    is_by_client: bool,
}

impl Path {
    /// Returns the highest load at which any trial stayed within the bound, if any.
    fn kept(&self) -> Option<u64> {
        self.trials.iter().filter(|(_, kept)| *kept).map(|(value, _)| *value).max()
    }

    /// Returns the lowest load that is known to be too high and is above all loads within the
    /// bound, if any.
    fn above(&self) -> Option<u64> {
        let kept = self.kept().unwrap_or(0);
        let failed = self.trials.iter().filter(|(_, kept)| !kept).map(|(value, _)| *value);
        failed.chain(self.saturated).filter(|value| *value > kept).min()
    }

    /// Uses the information that a trial at load `value` provides although it is undecided.
    fn despite(&mut self, value: u64, told: Despite) {
        if told == Despite::Kept {
            self.trials.push((value, true));
            self.kept_despite += 1;
        } else if self.above().is_some() {
            self.given_up = Some(self.given_up.map_or(value, |known| known.min(value)));
        }
    }

    fn fail(&mut self, value: u64, why: String, role: Role, is_by_client: bool) {
        self.fails += 1;
        if self.high.as_ref().is_none_or(|high| value < high.value) {
            self.high = Some(High {
                value,
                why,
                is_by_client,
            });
        }
        if role == Role::Hold {
            self.held = 0;
            self.lowered += 1;
            let lower = (value as f64 * HOLD_FACTOR) as u64;
            self.low = Some(lower.min(value.saturating_sub(1)));
        }
    }
}

/// Returns the geometric mean of two whole numbers. Returns `None` if the numbers are already close
/// enough.
fn between(low: u64, high: u64) -> Option<u64> {
    let is_narrow = high <= low + 1 || high as f64 <= low as f64 * BRACKET;
    let middle = (low as f64 * high as f64).sqrt().round() as u64;
    (!is_narrow).then(|| middle.clamp(low + 1, high - 1))
}

impl Decide for Search {
    fn outlook(&self) -> ProcedureEstimate {
        let (ups, downs) = self.climb();
        let climb = ups.max(downs);
        let holds = match self.holds {
            0 => 0,
            holds => (holds * (HOLDS_MAX + 1)) as usize,
        };
        // A likely search takes half of the steps up, almost all bisections, and the successful
        // holds.
        let likely = ups.div_ceil(2) + BISECTIONS_MAX - 1 + self.holds as usize;
        ProcedureEstimate {
            points: vec![self.from],
            certain: 1,
            turns_max: climb + BISECTIONS_MAX + holds + INCONCLUSIVE_MAX as usize,
            up_to: Some(self.point_of(self.to)),
            any_order: false,
            decided_by: Some(self.decided_by(likely)),
        }
    }

    fn next(&self, seen: &[SeenTrial]) -> Next {
        let asked = self.walk(seen).and_then(|path| match &path.gave_up {
            Some(why) => self.survey(&path, why, seen.len()),
            None => self.onward(&path),
        });
        match asked {
            Ok(ask) => Next::Measure(vec![ask]),
            Err(answer) => Next::Answer(answer),
        }
    }

    fn p99_bound_ms(&self) -> Option<f64> {
        (self.bound.of == Percentile::P99).then_some(self.bound.ms)
    }

    fn step(&self, seen: &SeenTrial) -> Option<SearchStep> {
        let near = seen.found.as_ref().is_some_and(|one| self.bound.is_near(one));
        Some(match self.judge(seen) {
            BoundCheck::Yes => SearchStep::new(SearchResult::Pass, near, String::new()),
            BoundCheck::No(why) => SearchStep::new(SearchResult::Fail, near, why),
            BoundCheck::NotOffered(why) => SearchStep::new(SearchResult::Fail, false, why),
            BoundCheck::Inconclusive(why)
                if self.bound.told_despite(seen.found.as_ref()) == Despite::Kept =>
            {
                SearchStep::new(SearchResult::PassDisturbed, false, why)
            }
            BoundCheck::Inconclusive(why) | BoundCheck::Client(why) => {
                SearchStep::new(SearchResult::NoAnswer, false, why)
            }
        })
    }

    fn goal(&self) -> Option<(SearchProcedure, String)> {
        let name = match self.holds {
            0 => SearchProcedure::LatencyTarget,
            _ => SearchProcedure::Peak,
        };
        Some((name, self.bound.words()))
    }

    fn bound(&self) -> Option<Bound> {
        Some(self.bound)
    }

    fn expected(&self) -> Option<f64> {
        self.expected
    }
}

impl Search {
    fn decided_by(&self, likely: usize) -> String {
        let noun = self.from.noun();
        let errors = self.bound.errors * 100.0;
        let (less, grow) = match (self.from, self.bound.pending) {
            (Point::Rate(_), None) => (", or throughput is below the offered rate", true),
            (Point::Rate(_), Some(_)) => (", or throughput is below the offered rate", false),
            (Point::Threads(_), pending) => ("", pending.is_none()),
        };
        let grow = if grow {
            ", or pending compactions grow"
        } else {
            ""
        };
        let held = match self.holds {
            0 => String::new(),
            _ => format!(
                "; the search then verifies its result twice, with a window three times as long, \
                 and lowers the result by 3 % after each failure (at most {HOLDS_MAX} times)"
            ),
        };
        let expected = self.expected.map_or(String::new(), |share| {
            let percent = share * 100.0;
            format!("; then a trial measures {percent} % of the found load")
        });
        format!(
            "The {noun} doubles from {} until it no longer has a {} (or over {errors} % of the \
             operations fail{less}{grow}), at most to {}. Then the search bisects to 2 \
             %{held}{expected}. After a trial with too high a load, the next trial settles the \
             data and waits for {REST_S} s. A search is likely to take about {likely} trials",
            count(self.first()),
            self.bound.words(),
            count(self.to),
        )
    }
}
