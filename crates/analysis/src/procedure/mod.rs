//! Procedures. From the results so far, each procedure determines the next point to measure, or the
//! end of the measurements.
//!
//! Before each trial of a variant in a block, the engine calls a procedure with the results of all
//! earlier trials. The procedure returns the points that may be next. A turn is one trial that a
//! procedure requests. A procedure has no state, so the same results lead to the same answer. To
//! resume an interrupted run, the engine passes the finished trials to the procedures. Tests use
//! formulas as servers.
//!
//! Every procedure satisfies these invariants (`tests.rs`):
//!
//! - The procedure ends within the number of turns of its outlook.
//! - It does not repeat an answered probe, and does not request a probe outside its outlook. The
//!   hold of a found point is another kind of turn.
//! - It continues after a failed trial.

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
pub use ending::{Ending, LowestOverload, Range, SearchOutcome};
pub use endurance::Endurance;
pub use fixed::FixedPoint;
pub use point::Point;
pub use search::{BRACKET, Search, grid};
pub use stop_condition::Until;
pub use sweep::Sweep;
pub use trial_outcome::{
    Bound, BoundCheck, MeasuredFigure, Percentile, Percentiles, Role, SeenTrial, TrialJudgement,
    TrialOutcome,
};

/// Table of procedures. For each row, this macro creates a variant of the enum, which contains the
/// settings of the procedure.
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
    /// Measures one point, once in each block.
    FixedPoint,
    /// Measures several points one after the other, until an optional condition occurs.
    Sweep,
    /// Changes the number of threads in steps, up or down, until p99 is in a band.
    Band,
    /// Measures one point for hours, after shorter windows at the same point.
    Endurance,
    /// Searches for the highest load within a bound.
    Search,
}

/// Time for which a target rests after a search has offered too much load, in seconds. It equals
/// the longest default timeout of Cassandra's reads and writes (`range_request_timeout`). After
/// this time, Cassandra stops working on requests that no client awaits.
pub const REST_S: u64 = 10;

/// Decisions of a procedure, as pure functions.
trait Decide {
    fn outlook(&self) -> ProcedureEstimate;

    fn next(&self, seen: &[SeenTrial]) -> Next;

    fn p99_bound_ms(&self) -> Option<f64> {
        None
    }

    fn step(&self, _seen: &SeenTrial) -> Option<SearchStep> {
        None
    }

    fn goal(&self) -> Option<(SearchProcedure, String)> {
        None
    }

    fn bound(&self) -> Option<Bound> {
        None
    }

    fn expected(&self) -> Option<f64> {
        None
    }

    fn role(&self, _turn: usize) -> Role {
        Role::Probe
    }

    fn window_ns(&self, role: Role, measure_ns: u64) -> u64 {
        measure_ns * role.windows()
    }
}

/// Facts about a procedure that are known before the first measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcedureEstimate {
    /// Points that are known in advance and that the procedure may request, in the order of their
    /// turns.
    pub points: Vec<Point>,
    /// Number of `points`, counted from the first, that the run always measures.
    pub certain: usize,
    /// Maximum number of turns. For turns beyond the length of `points`, the procedure finds the
    /// points during the run.
    pub turns_max: usize,
    /// Highest of the points that the procedure may find during the run, if any.
    pub up_to: Option<Point>,
    /// True if the points may be measured in any order. Otherwise, each point depends on the
    /// results of earlier points.
    pub any_order: bool,
    /// Description of how the procedure decides on points that are not certain, such as `A
    /// variant's points end after …`.
    pub decided_by: Option<String>,
}

/// A trial that a procedure requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Load of the trial.
    pub point: Point,
    /// Purpose of the trial.
    pub role: Role,
}

impl Ask {
    pub fn probe(point: Point) -> Ask {
        let role = Role::Probe;
        Ask { point, role }
    }
}

measure::word_enum! {
    /// A procedure that searches for a load.
    #[derive(Default)]
    pub enum SearchProcedure {
        /// Searches for the highest load within a bound, and then holds this load.
        #[default]
        Peak = "peak",
        /// Searches for the number of threads at which p99 is in a band.
        Band = "band",
        /// Searches for the highest number of threads whose latency is within a limit, without
        /// holds.
        LatencyTarget = "latency_target",
    }
}

measure::word_enum! {
    /// Result of a trial for a search.
    #[derive(Default)]
    pub enum SearchResult {
        /// The result of the trial is within the bound.
        Pass = "pass",
        /// The result of the trial is beyond the bound.
        Fail = "fail",
        /// Other programs disturbed the trial, but its result was within the bound nevertheless.
        PassDisturbed = "pass, disturbed",
        /// The trial failed, or cannot be used.
        #[default]
        NoAnswer = "no answer",
        /// The p99 of the trial is below the band.
        Below = "below",
        /// The p99 of the trial is within the band.
        Within = "within",
        /// The p99 of the trial is above the band, or the trial timed out or failed.
        Above = "above",
        /// The trial measures at a share of the found load, so it does not decide anything.
        Expected = "expected",
    }
}

/// Step of a search, which is one trial with its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchStep {
    /// Result of the trial.
    pub result: SearchResult,
    /// True if the percentile of the trial is so near the bound that chance may have decided the
    /// result.
    pub near: bool,
    /// Reason for the result. Empty if the trial passed, or does not decide anything.
    pub why: String,
}

impl SearchStep {
    fn new(result: SearchResult, near: bool, why: String) -> SearchStep {
        SearchStep { result, near, why }
    }

    /// Returns true if the load was too high. The target may then still have a backlog.
    pub fn is_too_much(&self) -> bool {
        matches!(self.result, SearchResult::Fail | SearchResult::Above)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Measure one of these points. The list contains at least one point, and the engine chooses
    /// the point.
    Measure(Vec<Ask>),
    /// The procedure has ended, so do not measure any further point.
    Answer(Answer),
}

/// End of a procedure.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The procedure has measured every point.
    Complete,
    /// The condition of a sweep occurred. The sweep does not measure points above the point at
    /// which the condition occurred.
    Ended {
        /// Point at which the condition occurred.
        at: Point,
        /// Condition that ended the sweep.
        until: Until,
    },
    Searched(Box<Ending>),
}

impl Default for Procedure {
    /// Returns a procedure that measures nothing. It is a placeholder until an import determines
    /// the real procedure.
    fn default() -> Self {
        Sweep::default().into()
    }
}

impl Procedure {
    /// Returns the outlook: the facts that are known before the first measurement.
    pub fn outlook(&self) -> ProcedureEstimate {
        let decides = self.decides();
        let outlook = decides.outlook();
        ProcedureEstimate {
            turns_max: outlook.turns_max + usize::from(decides.expected().is_some()),
            ..outlook
        }
    }

    /// Returns the next step. `seen` contains the trials of one variant in one block so far, in the
    /// order in which they ran. If the procedure has an expected share, the trial after a found
    /// load measures at this share of the load.
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
            (Next::Answer(Answer::Searched(ending)), Some(share)) => match ending.found_point() {
                Some(at) => Next::Measure(vec![Ask {
                    point: at.share(share),
                    role: Role::Expected,
                }]),
                None => next,
            },
            _ => next,
        }
    }

    /// Returns the result of a trial for a search. Returns `None` if the procedure is not a search.
    pub fn step(&self, seen: &SeenTrial) -> Option<SearchStep> {
        match seen.role {
            Role::Expected => Some(SearchStep::new(
                SearchResult::Expected,
                false,
                String::new(),
            )),
            Role::Probe | Role::Hold => self.decides().step(seen),
            Role::Beside(_) | Role::Endurance => None,
        }
    }

    /// Returns the name of a search, and a description of its goal. Returns `None` if the procedure
    /// is not a search.
    pub fn goal(&self) -> Option<(SearchProcedure, String)> {
        self.decides().goal()
    }

    /// Returns the lower and upper limit for the percentile that decides the search, in ms.
    pub fn within_ms(&self) -> [Option<f64>; 2] {
        match self {
            Procedure::Band(band) => [Some(band.least_ms), Some(band.most_ms)],
            other => [None, other.bound().map(|bound| bound.ms)],
        }
    }

    /// Returns the bound that a search keeps within. Returns `None` for a band, and for procedures
    /// that are not searches.
    pub fn bound(&self) -> Option<Bound> {
        self.decides().bound()
    }

    /// Returns the share of the found load at which the procedure makes a further trial, if any.
    pub fn expected(&self) -> Option<f64> {
        self.decides().expected()
    }

    /// Returns the limit on p99 that the procedure uses, in ms, if any.
    pub fn p99_bound_ms(&self) -> Option<f64> {
        self.decides().p99_bound_ms()
    }

    /// Returns the role of a turn, or a probe if the role is not known before the first
    /// measurement.
    pub fn role(&self, turn: usize) -> Role {
        self.decides().role(turn)
    }

    /// Returns the length of a trial's window, in ns. `measure_ns` is the length that the study
    /// sets. The result depends only on the procedure, `role` and `measure_ns`.
    pub fn window_ns(&self, role: Role, measure_ns: u64) -> u64 {
        self.decides().window_ns(role, measure_ns)
    }

    /// Returns the settings of an endurance run. Returns `None` if the procedure is not an
    /// endurance run.
    pub fn endurance(&self) -> Option<&Endurance> {
        match self {
            Procedure::Endurance(endurance) => Some(endurance),
            _ => None,
        }
    }
}

impl Answer {
    pub(super) fn searched(ending: Ending) -> Answer {
        Answer::Searched(Box::new(ending))
    }

    /// Describes why the procedure has ended.
    pub fn words(&self) -> String {
        match self {
            Answer::Complete => "the run measured every point".to_owned(),
            Answer::Searched(ending) => ending.words(None),
            Answer::Ended { at, until } => {
                format!("the ladder ended at {}: {}", at.words(), until.words())
            }
        }
    }
}

/// Returns probes at those points of `points` for which `seen` does not contain a trial.
fn unseen(points: &[Point], seen: &[SeenTrial]) -> Vec<Ask> {
    let is_unseen = |point: &&Point| !seen.iter().any(|trial| trial.point == **point);
    let points = points.iter().filter(is_unseen).copied();
    points.map(Ask::probe).collect()
}
