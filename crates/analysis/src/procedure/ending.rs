//! How a search has ended, as facts, and how that is said.

use super::{Band, Bound, Point};
use measure::number::{count, counted};

measure::word_enum! {
    /// What came of a search.
    #[derive(Default)]
    pub enum SearchOutcome {
        /// Found, and it held.
        Held = "held",
        /// Found; nothing is held.
        Found = "found",
        /// It is nowhere.
        Nowhere = "none",
        /// It is beyond the most that was to be tried.
        NotReached = "not_reached",
        /// The client is the limit, and not the target.
        ClientLimit = "client_limit",
        /// Too many trials gave no answer.
        Untold = "untold",
        /// The run ended before it did.
        #[default]
        Unfinished = "unfinished",
    }
}

/// How a search has ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// It has found the most that keeps its bound.
    Most {
        /// The most.
        at: Point,
        /// What it keeps.
        bound: Bound,
        /// Whether it was held twice.
        is_held: bool,
        /// What was seen above it.
        above: Option<Above>,
    },
    /// No load keeps its bound, from here up.
    None {
        /// The least that was tried.
        from: Point,
        /// What none keeps.
        bound: Bound,
        /// What was seen there.
        above: Option<Above>,
    },
    /// Some loads kept its bound, and none was held.
    NotHeld {
        /// What none keeps.
        bound: Bound,
        /// What all trials together say; none where no trial kept it.
        range: Option<Range>,
        /// Any load of its axis.
        point: Point,
        /// What was seen above.
        above: Option<Above>,
    },
    /// The most that was to be tried still keeps its bound.
    NotReached {
        /// The greatest load that was to be tried.
        at: Point,
        /// What it keeps.
        bound: Bound,
    },
    /// The client could not offer what was asked for.
    Client {
        /// The load that was asked for.
        at: Point,
        /// By what that is known.
        why: String,
        /// What all trials together say, all the same.
        range: Option<Range>,
        /// What was searched for.
        bound: Bound,
    },
    /// Too many trials gave no answer.
    Untold {
        /// Where it was given up.
        at: Point,
        /// How many trials gave none.
        trials: u32,
        /// Why the last one did not.
        why: String,
        /// What all trials together say, all the same.
        range: Option<Range>,
        /// What was searched for.
        bound: Bound,
    },
    /// A load within a band was found.
    Within {
        /// The load.
        at: Point,
        /// The band.
        band: Band,
    },
    /// No load within a band was found.
    NeverWithin {
        /// The band.
        band: Band,
        /// The most threads that were below it.
        below: Option<u32>,
        /// The fewest that were above it.
        above: Option<u32>,
    },
}

/// The least load that was too much.
#[derive(Clone, Debug, PartialEq)]
pub struct Above {
    /// The load.
    pub at: Point,
    /// By what it was too much.
    pub why: String,
    /// Whether it was so for the client.
    pub is_by_client: bool,
}

/// What all trials of a search say together: between which loads the most is that has the bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// How many trials had it.
    pub kept: usize,
    /// Of how many.
    pub trials: usize,
    /// The most that had it in some trial.
    pub most: Point,
    /// The most up to which every trial had it, if any.
    pub always: Option<Point>,
    /// The least from which on no trial had it, if any.
    pub never: Option<Point>,
}

impl Ending {
    /// What all trials together say, where nothing was found.
    pub fn range(&self) -> Option<Range> {
        match self {
            Ending::NotHeld { range, .. }
            | Ending::Client { range, .. }
            | Ending::Untold { range, .. } => *range,
            Ending::Most { .. }
            | Ending::None { .. }
            | Ending::NotReached { .. }
            | Ending::Within { .. }
            | Ending::NeverWithin { .. } => None,
        }
    }

    /// What the search is looking for, where it was found.
    pub fn at(&self) -> Option<Point> {
        match self {
            Ending::Most { at, .. } | Ending::NotReached { at, .. } | Ending::Within { at, .. } => {
                Some(*at)
            }
            Ending::None { .. }
            | Ending::NotHeld { .. }
            | Ending::Client { .. }
            | Ending::Untold { .. }
            | Ending::NeverWithin { .. } => None,
        }
    }

    /// What came of the search.
    pub fn outcome(&self) -> SearchOutcome {
        match self {
            Ending::Most { above, .. }
            | Ending::None { above, .. }
            | Ending::NotHeld { above, .. }
                if above.as_ref().is_some_and(|above| above.is_by_client) =>
            {
                SearchOutcome::ClientLimit
            }
            Ending::Most { is_held: true, .. } => SearchOutcome::Held,
            Ending::Most { is_held: false, .. } | Ending::Within { .. } => SearchOutcome::Found,
            Ending::None { .. } | Ending::NotHeld { .. } | Ending::NeverWithin { .. } => {
                SearchOutcome::Nowhere
            }
            Ending::NotReached { .. } => SearchOutcome::NotReached,
            Ending::Client { .. } => SearchOutcome::ClientLimit,
            Ending::Untold { .. } => SearchOutcome::Untold,
        }
    }

    /// In words, of which the load that was found may have `did` beside it, what was done there:
    /// `8 threads (3,030 op/s) is the most with a p99 within 10 ms, held twice`.
    pub fn words(&self, did: Option<&str>) -> String {
        let found = |at: &Point| match did {
            Some(did) => format!("{} ({did})", at.words()),
            None => at.words(),
        };
        let is_by_client = self.outcome() == SearchOutcome::ClientLimit;
        match self {
            Ending::Most {
                at,
                bound,
                is_held,
                above,
            } => {
                let held = if *is_held { ", held twice" } else { "" };
                let (at, bound, above) = (found(at), bound.words(), seen(above.as_ref()));
                if is_by_client {
                    format!("the client is the limit{above}; {at} has a {bound}{held}")
                } else {
                    format!("{at} is the most with a {bound}{held}{above}")
                }
            }
            Ending::None { from, bound, above } => {
                let limit = limit(is_by_client);
                let (from, bound, above) = (from.words(), bound.words(), seen(above.as_ref()));
                format!("{limit}none at or above {from} has a {bound}{above}")
            }
            Ending::NotHeld {
                bound,
                range,
                point,
                above,
            } => {
                let (limit, above) = (limit(is_by_client), seen(above.as_ref()));
                let not_held = || format!("no {} was held with a {}", point.noun(), bound.words());
                let said = range.map_or_else(not_held, |range| range.words(bound));
                format!("{limit}{said}{above}")
            }
            Ending::NotReached { at, bound } => format!(
                "the limit was not reached: {}, the most that was to be tried, still has a {}",
                found(at),
                bound.words()
            ),
            Ending::Client {
                at,
                why,
                range,
                bound,
            } => {
                let known = known(*range, bound);
                format!("{known}; the client is the limit at {} ({why})", at.words())
            }
            Ending::Untold {
                at,
                trials,
                why,
                range,
                bound,
            } => format!(
                "{}; {} gave no answer, the last one at {} because {why}",
                known(*range, bound),
                counted(*trials, "trial"),
                at.words()
            ),
            Ending::Within { at, band } => format!("p99 was within {band} at {}", found(at)),
            Ending::NeverWithin { band, below, above } => {
                format!("p99 was never within {band}: {}", sides(*below, *above))
            }
        }
    }
}

impl Range {
    /// `the most with a p99 within 10 ms is between 8,000 and 18,400 op/s: 10 of 21 trials had it`.
    fn words(&self, bound: &Bound) -> String {
        let (kept, trials, bound) = (self.kept, self.trials, bound.words());
        let highest = || format!(", the highest at {}", self.most.words());
        let (is, highest) = match (self.always, self.never) {
            (Some(always), Some(never)) => {
                let low = count(always.value() as u64);
                (
                    format!("between {low} and {}", never.words()),
                    String::new(),
                )
            }
            (Some(always), None) => (format!("{} or above", always.words()), String::new()),
            (None, Some(never)) => (format!("below {}", never.words()), highest()),
            (None, None) => {
                return format!("{kept} of {trials} trials had a {bound}{}", highest());
            }
        };
        format!("the most with a {bound} is {is}: {kept} of {trials} trials had it{highest}")
    }
}

/// `; at 49,100 op/s p99 was 12.3 ms`.
fn seen(above: Option<&Above>) -> String {
    above.map_or(String::new(), |above| {
        format!("; at {} {}", above.at.words(), above.why)
    })
}

fn limit(is_by_client: bool) -> &'static str {
    if is_by_client {
        "the client is the limit: "
    } else {
        ""
    }
}

/// `below at 20 threads, above at 30 threads`.
fn sides(below: Option<u32>, above: Option<u32>) -> String {
    let parts: Vec<String> = [
        below.map(|threads| format!("below at {threads} threads")),
        above.map(|threads| format!("above at {threads} threads")),
    ]
    .into_iter()
    .flatten()
    .collect();
    parts.join(", ")
}

/// What is known of a search that has ended without what it was looking for.
fn known(range: Option<Range>, bound: &Bound) -> String {
    match range {
        Some(range) => range.words(bound),
        None => format!("no load is known to have a {}", bound.words()),
    }
}
