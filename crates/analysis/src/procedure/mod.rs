//! Where to measure next, or that nothing is left to ask: procedures that decide by what was found.
//!
//! A procedure is asked before each trial of a variant in a block, with all that the trials before
//! it came to, and says which points may be next. It remembers nothing: the same findings give the
//! same answer. So a run that was interrupted is taken up again by showing its procedures what they
//! have seen, and a procedure is tested on servers that are formulas.
//!
//! What must hold of each (`tests.rs`): it ends, within the turns of its outlook; it asks for no
//! point twice, nor for one that its outlook leaves out; it goes on after a trial that has failed.

mod band;
mod fixed;
mod sweep;
#[cfg(test)]
mod tests;
mod until;

pub use band::Band;
pub use fixed::Fixed;
pub use sweep::Sweep;
pub use until::Until;

use measure::Known;

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
}

/// What a procedure has to say; pure.
trait Decide {
    /// What is known before anything is measured.
    fn outlook(&self) -> Outlook;

    /// What comes after `seen`, the trials of one variant in one block, in the order in which they
    /// ran.
    fn next(&self, seen: &[Seen]) -> Next;

    /// The p99 of latency that it is about, ms.
    fn p99_bound_ms(&self) -> Option<f64> {
        None
    }
}

/// A point on the axis of a procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Closed loop: operations in flight.
    Threads(u32),
    /// Open loop: operations per second.
    Rate(u64),
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

/// A trial, as far as a procedure decides by it.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Where it was.
    pub point: Point,
    /// What it came to; none if it has failed.
    pub found: Option<Found>,
}

/// What a trial came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Throughput.
    pub ops_per_s: f64,
    /// p99 of latency, ms.
    pub p99_ms: Known,
    /// Requests that timed out.
    pub timed_out: u64,
}

/// What a procedure says when it is asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// One of these points is to be measured, whichever fits best; at least one.
    Measure(Vec<Point>),
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
        /// What.
        until: Until,
    },
    /// A search has ended.
    Searched {
        /// At what it searched for; none if that is nowhere.
        at: Option<Point>,
        /// What was found, and where.
        words: String,
    },
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
        self.decides().outlook()
    }

    /// What comes after `seen`, the trials of one variant in one block, in the order in which they
    /// ran.
    pub fn next(&self, seen: &[Seen]) -> Next {
        self.decides().next(seen)
    }

    /// The p99 of latency that it is about, ms.
    pub fn p99_bound_ms(&self) -> Option<f64> {
        self.decides().p99_bound_ms()
    }
}

impl Point {
    /// Name of the axis in files: `threads` or `rate`.
    pub fn axis(self) -> &'static str {
        match self {
            Point::Threads(_) => "threads",
            Point::Rate(_) => "rate",
        }
    }

    /// The point with this value on the axis of this name; none if there is no such.
    pub fn named(axis: &str, value: f64) -> Option<Point> {
        let point = match axis {
            "threads" => Point::Threads(value as u32),
            "rate" => Point::Rate(value as u64),
            _ => return None,
        };
        (point.value() == value).then_some(point)
    }

    /// The value on the axis.
    pub fn value(self) -> f64 {
        match self {
            Point::Threads(threads) => f64::from(threads),
            Point::Rate(rate) => rate as f64,
        }
    }
}

impl Answer {
    /// Why nothing more is measured.
    pub fn words(&self) -> String {
        match self {
            Answer::Complete => "every point has been measured".to_owned(),
            Answer::Searched { words, .. } => words.clone(),
            Answer::Ended { at, until } => format!(
                "the ladder ended at {} {}: {}",
                at.value(),
                at.axis(),
                until.words()
            ),
        }
    }
}

/// The points of `points` that no trial was at.
fn unseen(points: &[Point], seen: &[Seen]) -> Vec<Point> {
    let is_unseen = |point: &&Point| !seen.iter().any(|trial| trial.point == **point);
    points.iter().filter(is_unseen).copied().collect()
}
