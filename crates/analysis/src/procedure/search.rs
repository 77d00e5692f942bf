//! The most load that keeps to a bound: up by doublings, by halves into the bracket, and held.
//!
//! Bisection alone gives a rate that a further hold confirms in 61 % of cases at a noise of 15 %;
//! after two holds it is 92 % (simulated; `tests/search.rs` has the figures at 5 %). MLPerf's
//! LoadGen widens and bisects likewise, on one run each, and its rules then ask for a valid long
//! run (`FindBoundaries`, `FindPeakPerformanceBinarySearch` in `loadgen.cc`).
//!
//! What must hold: a bracket only ever becomes narrower, and what is held only ever lower. So it
//! ends, and asks for no probe twice that was answered.

use super::found::{Bound, BoundCheck, Despite, Percentile, Role, SeenTrial};
use super::{
    Above, Answer, Ask, Decide, Ending, Next, Outlook, Point, REST_S, Range, SearchProcedure,
    SearchResult, Step,
};
use measure::number::count;

/// The most load that keeps to a bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// Where it begins.
    pub from: Point,
    /// The most that is tried, on the same axis and at least as much.
    pub to: u64,
    /// What must be kept.
    pub bound: Bound,
    /// How often in a row what was found must hold.
    pub holds: u32,
    /// How often it goes down by half when the begin is too much.
    pub downs_max: u32,
    /// The share of what was found that is measured too, if any.
    pub expected: Option<f64>,
}

/// Holds in a row that confirm a peak.
const HOLDS: u32 = 2;
/// Halvings when the begin of a search for a peak is too much.
const DOWNS_MAX: u32 = 5;
/// A bracket whose ends are nearer, as a share, is narrow enough.
pub const BRACKET: f64 = 1.02;

/// How many times as much the next point of a search's grid is, at `least`: the bracket at which it
/// ends, or a whole number.
pub fn grid(least: f64) -> f64 {
    BRACKET.max(1.0 + 1.0 / least)
}
/// From a bracket of 2 (3 between odd numbers of threads) to [`BRACKET`], each time to the root of
/// it: log2(ln 3 ÷ ln 1.02) is 5.8, and one for whole numbers.
const BISECTIONS_MAX: usize = 7;
/// What a failed hold lowers the point to.
const LOWERED: f64 = 0.97;
/// How often: to a sixth less. A bound that is still not kept is not where the probes saw it.
const LOWERED_MAX: u32 = 6;
/// Trials of one search that may give no answer, and are done again.
const UNTOLD_MAX: u32 = 2;

/// A disturbed target that did less than was offered could do so much more, undisturbed.
const SATURATED_MARGIN: f64 = 1.10;
/// A range whose ends are nearer needs no further trial: on a machine like that it would tell
/// nothing.
const SURVEY_BRACKET: f64 = 1.3;

impl Search {
    /// For the peak: see the file's head.
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

    /// For the most threads within a latency, as the reference architecture of Cassandra on Azure
    /// chose its load: without holds, and down to one thread.
    pub fn latency_target(from: Point, to: u64, bound: Bound) -> Search {
        Search {
            holds: 0,
            downs_max: u32::MAX,
            ..Search::peak(from, to, bound)
        }
    }

    fn at(&self, value: u64) -> Point {
        match self.from {
            Point::Threads(_) => Point::Threads(value as u32),
            Point::Rate(_) => Point::Rate(value),
        }
    }

    fn first(&self) -> u64 {
        self.from.value() as u64
    }

    /// The values on the way up, and how many are on the way down.
    fn climb(&self) -> (usize, usize) {
        let (mut ups, mut value) = (1, self.first());
        while value < self.to {
            value = value.saturating_mul(2).min(self.to);
            ups += 1;
        }
        let halvings = self.first().max(1).ilog2().min(self.downs_max);
        (ups, 1 + halvings as usize)
    }

    /// The lowest that may be found.
    fn floor(&self) -> u64 {
        self.first().checked_shr(self.downs_max).unwrap_or(0).max(1)
    }

    /// What a trial can have done at the most without others, where that is less than was
    /// offered: what it did in its best second, and a little more.
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

    /// Whether a trial kept to the bound; of a disturbed one as far as that can be told.
    fn judge(&self, trial: &SeenTrial) -> BoundCheck {
        match self.bound.judge(trial.found.as_ref()) {
            BoundCheck::Untold(_) if self.saturated(trial).is_some() => {
                BoundCheck::No("far less was done than was offered".to_owned())
            }
            BoundCheck::Untold(_) if self.is_far_beyond(trial) => {
                BoundCheck::No("most requests took longer by far".to_owned())
            }
            check => check,
        }
    }

    /// How far the trials have brought it; the answer if they have ended it.
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
                (BoundCheck::Untold(why), _) => {
                    path.untold += 1;
                    path.despite(value, self.bound.told_despite(trial.found.as_ref()));
                    let is_too_often = path.untold > UNTOLD_MAX;
                    if is_too_often && trial.found.is_none() {
                        return Err(self.untold(&path, value, why));
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

    /// Where to go on from a machine that lets nothing be held: up until more than is done was
    /// offered, and by halves towards the most that was kept. What is found is a range.
    fn survey(&self, path: &Path, why: &(u64, String), trials: usize) -> Result<Ask, Answer> {
        let end = || self.untold(path, why.0, why.1.clone());
        let probe = |value: u64| Ok(Ask::probe(self.at(value)));
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

    /// Where to go on from where it is.
    fn onward(&self, path: &Path) -> Result<Ask, Answer> {
        let probe = |value: u64| Ok(Ask::probe(self.at(value)));
        match (path.low, path.high.as_ref().map(|high| high.value)) {
            (None, None) => probe(self.first()),
            (None, Some(high)) if high <= 1 || path.fails > self.downs_max => Err(self.none(path)),
            (None, Some(high)) => probe((high / 2).max(1)),
            (Some(low), None) if low >= self.to => Err(self.not_reached()),
            (Some(low), None) => probe(low.saturating_mul(2).min(self.to)),
            (Some(low), Some(high)) => match between(low, high) {
                Some(middle) if !path.is_holding => probe(middle),
                _ if low < self.floor() || path.lowered > LOWERED_MAX => Err(self.none(path)),
                _ if path.held < self.holds => Ok(Ask {
                    point: self.at(low),
                    role: Role::Hold,
                }),
                _ => Err(self.found(low, path)),
            },
        }
    }

    fn found(&self, low: u64, path: &Path) -> Answer {
        Answer::searched(Ending::Most {
            at: self.at(low),
            bound: self.bound,
            is_held: self.holds > 0,
            above: self.above(path),
        })
    }

    /// The first failure above what was found.
    fn above(&self, path: &Path) -> Option<Above> {
        let high = path.high.as_ref()?;
        Some(Above {
            at: self.at(high.value),
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

    /// What all trials together say where no load was held: between which loads the most is that
    /// has the bound. None where no trial was within it.
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
            most: self.at(most),
            always: always.map(|value| self.at(value)),
            never: never.map(|value| self.at(value)),
        })
    }

    fn not_reached(&self) -> Answer {
        Answer::searched(Ending::NotReached {
            at: self.at(self.to),
            bound: self.bound,
        })
    }

    fn client(&self, path: &Path, value: u64, why: String) -> Answer {
        Answer::searched(Ending::Client {
            at: self.at(value),
            why,
            range: self.range(path),
            bound: self.bound,
        })
    }

    fn untold(&self, path: &Path, value: u64, why: String) -> Answer {
        Answer::searched(Ending::Untold {
            at: self.at(value),
            trials: path.untold,
            why,
            range: self.range(path),
            bound: self.bound,
        })
    }
}

/// How far a search has come.
#[derive(Default)]
struct Path {
    /// Every trial that told something: its load, and whether it was kept.
    trials: Vec<(u64, bool)>,
    /// The most that was kept, or what it was lowered to.
    low: Option<u64>,
    /// The least that was not kept.
    high: Option<High>,
    /// Trials that were not kept.
    fails: u32,
    /// Whether anything was held yet: from then on nothing is bisected.
    is_holding: bool,
    /// How often in a row `low` was held.
    held: u32,
    lowered: u32,
    untold: u32,
    /// Where too many trials had given no answer, and why the last of them did not.
    gave_up: Option<(u64, String)>,
    /// What trials can have done that did far less than was offered: the most of them.
    saturated: Option<u64>,
    /// The least load that a disturbed trial did not keep for whatever reason, below one that is
    /// known to be too much.
    given_up: Option<u64>,
    /// The load of the last trial.
    last: u64,
}

/// A load that was too much.
struct High {
    value: u64,
    why: String,
    /// Whether it was so for the client.
    is_by_client: bool,
}

impl Path {
    /// The most that any trial kept.
    fn kept(&self) -> Option<u64> {
        self.trials.iter().filter(|(_, kept)| *kept).map(|(value, _)| *value).max()
    }

    /// The least load above all that was kept which is known to be too much.
    fn above(&self) -> Option<u64> {
        let kept = self.kept().unwrap_or(0);
        let failed = self.trials.iter().filter(|(_, kept)| !kept).map(|(value, _)| *value);
        failed.chain(self.saturated).filter(|value| *value > kept).min()
    }

    /// Takes what a trial at `value` tells that gave no answer.
    fn despite(&mut self, value: u64, told: Despite) {
        if told == Despite::Kept {
            self.trials.push((value, true));
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
            let lower = (value as f64 * LOWERED) as u64;
            self.low = Some(lower.min(value.saturating_sub(1)));
        }
    }
}

/// The whole number in the middle of the ratio of two, if they are not near enough already.
fn between(low: u64, high: u64) -> Option<u64> {
    let is_narrow = high <= low + 1 || high as f64 <= low as f64 * BRACKET;
    let middle = (low as f64 * high as f64).sqrt().round() as u64;
    (!is_narrow).then(|| middle.clamp(low + 1, high - 1))
}

impl Decide for Search {
    fn outlook(&self) -> Outlook {
        let (ups, downs) = self.climb();
        let climb = ups.max(downs);
        let holds = match self.holds {
            0 => 0,
            holds => (holds * (LOWERED_MAX + 1)) as usize,
        };
        // A root of the way up, all halvings, and a hold that holds.
        let likely = ups.div_ceil(2) + BISECTIONS_MAX - 1 + self.holds as usize;
        Outlook {
            points: vec![self.from],
            certain: 1,
            turns_max: climb + BISECTIONS_MAX + holds + UNTOLD_MAX as usize,
            up_to: Some(self.at(self.to)),
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

    fn step(&self, seen: &SeenTrial) -> Option<Step> {
        let near = seen.found.as_ref().is_some_and(|one| self.bound.is_near(one));
        Some(match self.judge(seen) {
            BoundCheck::Yes => Step::new(SearchResult::Pass, near, String::new()),
            BoundCheck::No(why) => Step::new(SearchResult::Fail, near, why),
            BoundCheck::NotOffered(why) => Step::new(SearchResult::Fail, false, why),
            BoundCheck::Untold(why) | BoundCheck::Client(why) => {
                Step::new(SearchResult::NoAnswer, false, why)
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
            (Point::Rate(_), None) => (", or less is done than offered", true),
            (Point::Rate(_), Some(_)) => (", or less is done than offered", false),
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
                "; what is found is held twice, with a window three times as long, and lowered by \
                 3 % as often as that fails ({LOWERED_MAX} times at most)"
            ),
        };
        let expected = self.expected.map_or(String::new(), |share| {
            let percent = share * 100.0;
            format!("; then {percent} % of what was found is measured")
        });
        format!(
            "The {noun} doubles from {} until it no longer has a {} (or over {errors} % of the \
             operations fail{less}{grow}), at most to {}, then is bisected to 2 %{held}{expected}. \
             After a trial that was too much, what comes next settles the data and rests for \
             {REST_S} s. A search is likely to take about {likely} trials",
            count(self.first()),
            self.bound.words(),
            count(self.to),
        )
    }
}
