//! Where to measure next, or that nothing is left to ask: procedures that decide by what was found.
//!
//! A procedure is asked before each trial of a variant in a block, with all that the trials before
//! it came to, and says which points may be next. It remembers nothing: the same findings give the
//! same answer. So a run that was interrupted is taken up again by showing its procedures what they
//! have seen, and a procedure is tested on servers that are formulas.
//!
//! What must hold of each (`tests.rs`): it ends, within the turns of its outlook; it asks for no
//! probe twice that was answered, nor for one that its outlook leaves out (what holds a point that
//! was found is another kind of turn); it goes on after a trial that has failed.

mod band;
mod ending;
mod endurance;
mod fixed;
mod point;
mod search;
mod stop_condition;
mod sweep;
#[cfg(test)]
mod tests;
mod trial_outcome;

pub use band::Band;
pub use ending::{Above, Ending, Range, SearchOutcome};
pub use endurance::Endurance;
pub use fixed::Fixed;
pub use point::Point;
pub use search::{BRACKET, Search, grid};
pub use stop_condition::Until;
pub use sweep::Sweep;
pub use trial_outcome::{
    Bound, BoundCheck, Judged, Measured, Percentile, Percentiles, Role, SeenTrial, TrialOutcome,
};

/// The table of procedures: a row each, with what it is asked.
macro_rules! procedures {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A procedure of the table, with its settings.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Procedure {
            $($(#[$doc])* $name($name),)*
        }

        impl Procedure {
            fn decides(&self) -> &dyn Decide {
                match self {
                    $(Procedure::$name(procedure) => procedure,)*
                }
            }
        }

        $(impl From<$name> for Procedure {
            fn from(procedure: $name) -> Procedure {
                Procedure::$name(procedure)
            }
        })*
    };
}

procedures! {
    /// One point.
    Fixed,
    /// Several points, one after the other; perhaps only until something happens.
    Sweep,
    /// Up or down, to where p99 is in a band.
    Band,
    /// One point for hours, and beside it for shorter times.
    Endurance,
    /// To the most load that keeps to a bound.
    Search,
}

/// How long a target rests after a trial of a search that was too much, s: the longest of the
/// time-outs that Cassandra has for a request by itself (`range_request_timeout`), after which it
/// does nothing more for those that nobody waits for.
pub const REST_S: u64 = 10;

/// What a procedure has to say; pure.
trait Decide {
    /// What is known before anything is measured.
    fn outlook(&self) -> Outlook;

    /// What comes after `seen`, the trials of one variant in one block, in the order in which they
    /// ran.
    fn next(&self, seen: &[SeenTrial]) -> Next;

    /// The p99 of latency that it is about, ms.
    fn p99_bound_ms(&self) -> Option<f64> {
        None
    }

    /// What a trial told a search; none where nothing is searched for.
    fn step(&self, _seen: &SeenTrial) -> Option<Step> {
        None
    }

    /// The name of a search, and what it searches for.
    fn goal(&self) -> Option<(SearchProcedure, String)> {
        None
    }

    /// The bound that a search keeps to.
    fn bound(&self) -> Option<Bound> {
        None
    }

    /// The share of what was found that is measured too.
    fn expected(&self) -> Option<f64> {
        None
    }

    /// What the turn of this number is for, as far as that is known before anything is measured.
    fn role(&self, _turn: usize) -> Role {
        Role::Probe
    }

    /// The length of a window, of that which the study names.
    fn window_ns(&self, role: Role, measure_ns: u64) -> u64 {
        measure_ns * role.windows()
    }
}

/// What is known of a procedure before anything is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlook {
    /// The points that it may ask for, in the order of their turns, as far as they are known.
    pub points: Vec<Point>,
    /// How many of them, from the first, are measured whatever is found.
    pub certain: usize,
    /// Turns at most. The points of those after `points` are found on the way.
    pub turns_max: usize,
    /// Above which none is found on the way.
    pub up_to: Option<Point>,
    /// Whether they may be measured in any order. Otherwise each depends on those before it.
    pub any_order: bool,
    /// What decides over those that are not certain: `A variant's points end after …`.
    pub decided_by: Option<String>,
}

/// What is asked for: a trial at a point, and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The load it was at.
    pub point: Point,
    /// What for.
    pub role: Role,
}

impl Ask {
    /// A probe at a point.
    pub fn probe(point: Point) -> Ask {
        let role = Role::Probe;
        Ask { point, role }
    }
}

measure::word_enum! {
    /// What searches for something.
    #[derive(Default)]
    pub enum SearchProcedure {
        /// The highest rate within bounds.
        #[default]
        Peak = "peak",
        /// The rates at which the nodes are busy to a share.
        Band = "band",
        /// The load at which a latency is as given.
        LatencyTarget = "latency_target",
    }
}

measure::word_enum! {
    /// What a trial said to a search.
    #[derive(Default)]
    pub enum SearchResult {
        /// It is within the bounds.
        Pass = "pass",
        /// It is beyond them.
        Fail = "fail",
        /// It cannot be believed, or has failed.
        #[default]
        NoAnswer = "no answer",
        /// Of a band: it is below it.
        Below = "below",
        /// It is within it.
        Within = "within",
        /// It is above it.
        Above = "above",
        /// Nothing was asked: it shows how it is at a share of what was found.
        Expected = "expected",
    }
}

/// What a trial told a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it said.
    pub result: SearchResult,
    /// Whether its percentile is so near the bound that chance may have decided.
    pub near: bool,
    /// Why it did not pass; empty if it did.
    pub why: String,
}

impl Step {
    fn new(result: SearchResult, near: bool, why: String) -> Step {
        Step { result, near, why }
    }

    /// Whether the load was too much, so that the target may still have its backlog to work off.
    pub fn is_too_much(&self) -> bool {
        matches!(self.result, SearchResult::Fail | SearchResult::Above)
    }
}

/// What a procedure says when it is asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// One of these points is to be measured, whichever fits best; at least one.
    Measure(Vec<Ask>),
    /// Nothing more is to be measured.
    Answer(Answer),
}

/// What a procedure ends with.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Every point has been measured.
    Complete,
    /// What was waited for has happened: nothing above this point is measured.
    Ended {
        /// Where it happened.
        at: Point,
        /// What was waited for.
        until: Until,
    },
    /// A search has ended.
    Searched(Box<Ending>),
}

impl Default for Procedure {
    /// Nothing is measured: what stands in for a procedure that an import says later.
    fn default() -> Self {
        Sweep::default().into()
    }
}

impl Procedure {
    /// What is known before anything is measured.
    pub fn outlook(&self) -> Outlook {
        let decides = self.decides();
        let outlook = decides.outlook();
        Outlook {
            turns_max: outlook.turns_max + usize::from(decides.expected().is_some()),
            ..outlook
        }
    }

    /// What comes after `seen`, the trials of one variant in one block, in the order in which they
    /// ran. When a search has found something, its expected load is a share of that.
    pub fn next(&self, seen: &[SeenTrial]) -> Next {
        let decides = self.decides();
        let is_expected = |trial: &&SeenTrial| trial.role == Role::Expected;
        if seen.iter().any(|trial| is_expected(&trial)) {
            let searched: Vec<SeenTrial> =
                seen.iter().filter(|t| !is_expected(t)).cloned().collect();
            return decides.next(&searched);
        }
        let next = decides.next(seen);
        match (&next, decides.expected()) {
            (Next::Answer(Answer::Searched(ending)), Some(share)) => match ending.at() {
                Some(at) => Next::Measure(vec![Ask {
                    point: at.share(share),
                    role: Role::Expected,
                }]),
                None => next,
            },
            _ => next,
        }
    }

    /// What a trial told a search; none where nothing is searched for.
    pub fn step(&self, seen: &SeenTrial) -> Option<Step> {
        match seen.role {
            Role::Expected => Some(Step::new(SearchResult::Expected, false, String::new())),
            Role::Probe | Role::Hold => self.decides().step(seen),
            Role::Beside(_) | Role::Endurance => None,
        }
    }

    /// The name of a search, and what it searches for; none where nothing is searched for.
    pub fn goal(&self) -> Option<(SearchProcedure, String)> {
        self.decides().goal()
    }

    /// What the percentile that it goes by is kept above and below, ms.
    pub fn within_ms(&self) -> [Option<f64>; 2] {
        match self {
            Procedure::Band(band) => [Some(band.least_ms), Some(band.most_ms)],
            other => [None, other.bound().map(|bound| bound.ms)],
        }
    }

    /// The bound that a search keeps to; none of others, and of a band.
    pub fn bound(&self) -> Option<Bound> {
        self.decides().bound()
    }

    /// The share of what was found that is measured too, if any.
    pub fn expected(&self) -> Option<f64> {
        self.decides().expected()
    }

    /// The p99 of latency that it is about, ms.
    pub fn p99_bound_ms(&self) -> Option<f64> {
        self.decides().p99_bound_ms()
    }

    /// What the turn of this number is for: a probe where that is not known before anything is
    /// measured.
    pub fn role(&self, turn: usize) -> Role {
        self.decides().role(turn)
    }

    /// How long a trial's window is, ns, where the study says `measure_ns`: the one place where
    /// that comes from.
    pub fn window_ns(&self, role: Role, measure_ns: u64) -> u64 {
        self.decides().window_ns(role, measure_ns)
    }

    /// What one point for hours was asked for; none of other procedures.
    pub fn endurance(&self) -> Option<&Endurance> {
        match self {
            Procedure::Endurance(endurance) => Some(endurance),
            _ => None,
        }
    }
}

impl Answer {
    /// A search has ended so.
    pub(super) fn searched(ending: Ending) -> Answer {
        Answer::Searched(Box::new(ending))
    }

    /// Why nothing more is measured.
    pub fn words(&self) -> String {
        match self {
            Answer::Complete => "every point has been measured".to_owned(),
            Answer::Searched(ending) => ending.words(None),
            Answer::Ended { at, until } => {
                format!("the ladder ended at {}: {}", at.words(), until.words())
            }
        }
    }
}

/// Probes at the points of `points` that no trial was at.
fn unseen(points: &[Point], seen: &[SeenTrial]) -> Vec<Ask> {
    let is_unseen = |point: &&Point| !seen.iter().any(|trial| trial.point == **point);
    let points = points.iter().filter(is_unseen).copied();
    points.map(Ask::probe).collect()
}
