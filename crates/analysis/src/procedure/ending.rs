//! The end of a search: the facts, and their description in words.

use super::{Band, Bound, Point};
use measure::number::{count, counted};

measure::word_enum! {
    /// Outcome of a search.
    #[derive(Default)]
    pub enum SearchOutcome {
        /// The search found a load, and the target held this load.
        Held = "held",
        /// The search found a load. The procedure does not confirm loads by holds.
        Found = "found",
        /// The search did not find a load.
        Nowhere = "none",
        /// Even the highest allowed load is within the bound.
        NotReached = "not_reached",
        /// The client, not the target, limited the load.
        ClientLimit = "client_limit",
        /// Too many trials had no answer.
        Inconclusive = "inconclusive" | "untold",
        /// The run ended before the search was complete.
        #[default]
        Unfinished = "unfinished",
    }
}

/// End of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// The search found the highest load within the bound.
    Most {
        /// Highest load within the bound.
        at: Point,
        /// Bound of the search.
        bound: Bound,
        /// True if the target held the load in two trials.
        is_held: bool,
        /// Lowest load that was too high. `None` if no tried load was too high.
        above: Option<LowestOverload>,
    },
    /// The lowest tried load and all loads above it are beyond the bound.
    None {
        /// Lowest load that was tried.
        from: Point,
        /// Bound of the search.
        bound: Bound,
        /// Lowest load that was too high. `None` if no tried load was too high.
        above: Option<LowestOverload>,
    },
    /// Some loads were within the bound in a probe, but the target did not hold any of these loads.
    NotHeld {
        /// Bound of the search.
        bound: Bound,
        /// Range that contains the highest load within the bound, from all trials together. `None`
        /// if no trial was within the bound.
        range: Option<Range>,
        /// Any load of the search. It shows on which axis the search ran.
        point: Point,
        /// Lowest load that was too high. `None` if no tried load was too high.
        above: Option<LowestOverload>,
    },
    /// Even the highest allowed load is within the bound.
    NotReached {
        /// Highest allowed load.
        at: Point,
        /// Bound of the search.
        bound: Bound,
    },
    /// The client could not offer a load.
    Client {
        /// Load that the client could not offer.
        at: Point,
        /// Description of the evidence that the client was the limit.
        why: String,
        /// Range that contains the highest load within the bound, from all trials together. `None`
        /// if no trial was within the bound.
        range: Option<Range>,
        /// Bound of the search.
        bound: Bound,
    },
    /// Too many trials had no answer.
    Inconclusive {
        /// Load at which the search gave up.
        at: Point,
        /// Number of trials that had no answer.
        trials: u32,
        /// Reason why the last of the trials without an answer had none.
        why: String,
        /// Range that contains the highest load within the bound, from all trials together. `None`
        /// if no trial was within the bound.
        range: Option<Range>,
        /// Bound of the search.
        bound: Bound,
    },
    /// The search found a load within the band.
    Within {
        /// Load at which p99 was within the band.
        at: Point,
        /// Band of p99 latency.
        band: Band,
    },
    /// The search did not find a load within the band.
    NeverWithin {
        /// Band of p99 latency.
        band: Band,
        /// Highest number of threads whose p99 was below the band, if any.
        below: Option<u32>,
        /// Lowest number of threads whose p99 was above the band, if any.
        above: Option<u32>,
    },
}

/// Lowest load that was too high, either for the target or for the client.
#[derive(Clone, Debug, PartialEq)]
pub struct LowestOverload {
    /// The load that was too high.
    pub at: Point,
    /// Reason why the load was too high, as a clause, such as `p99 was 12.3 ms`.
    pub why: String,
    /// True if the load was too high for the client.
    pub is_by_client: bool,
}

/// Range that contains the highest load within a bound, from all trials of a search together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Number of trials within the bound.
    pub kept: usize,
    /// Number of trials that were decided, within or beyond the bound.
    pub trials: usize,
    /// Highest load at which any trial was within the bound.
    pub most: Point,
    /// Highest load up to which every trial was within the bound, if any.
    pub always: Option<Point>,
    /// Lowest load that is known to be too high and is above all loads within the bound, if any.
    pub never: Option<Point>,
}

impl Ending {
    /// Returns the range from all trials together. Returns `None` if the search ended without a
    /// range.
    pub fn range(&self) -> Option<Range> {
        match self {
            Ending::NotHeld { range, .. }
            | Ending::Client { range, .. }
            | Ending::Inconclusive { range, .. } => *range,
            Ending::Most { .. }
            | Ending::None { .. }
            | Ending::NotReached { .. }
            | Ending::Within { .. }
            | Ending::NeverWithin { .. } => None,
        }
    }

    /// Returns the load that was found, if any.
    pub fn found_point(&self) -> Option<Point> {
        match self {
            Ending::Most { at, .. } | Ending::NotReached { at, .. } | Ending::Within { at, .. } => {
                Some(*at)
            }
            Ending::None { .. }
            | Ending::NotHeld { .. }
            | Ending::Client { .. }
            | Ending::Inconclusive { .. }
            | Ending::NeverWithin { .. } => None,
        }
    }

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
            Ending::Inconclusive { .. } => SearchOutcome::Inconclusive,
        }
    }

    /// Describes the end of the search. `did` is the throughput at the found load, which becomes
    /// part of the text: `8 threads (3,030 op/s) is the highest load with a p99 within 10 ms, held
    /// twice`.
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
                let (at, bound, above) = (found(at), bound.words(), failure_words(above.as_ref()));
                if is_by_client {
                    format!("the client is the limit{above}; {at} has a {bound}{held}")
                } else {
                    format!("{at} is the highest load with a {bound}{held}{above}")
                }
            }
            Ending::None { from, bound, above } => {
                let limit = limit(is_by_client);
                let (from, bound, above) =
                    (from.words(), bound.words(), failure_words(above.as_ref()));
                format!("{limit}no load at or above {from} has a {bound}{above}")
            }
            Ending::NotHeld {
                bound,
                range,
                point,
                above,
            } => {
                let (limit, above) = (limit(is_by_client), failure_words(above.as_ref()));
                let not_held = || format!("no {} met a {}", point.noun(), bound.words());
                let said = range.map_or_else(not_held, |range| range.words(bound));
                format!("{limit}{said}{above}")
            }
            Ending::NotReached { at, bound } => format!(
                "the limit was not reached: {}, the highest load to try, still has a {}",
                found(at),
                bound.words()
            ),
            Ending::Client {
                at,
                why,
                range,
                bound,
            } => {
                let known = range_words(*range, bound);
                format!("{known}; the client is the limit at {} ({why})", at.words())
            }
            Ending::Inconclusive {
                at,
                trials,
                why,
                range,
                bound,
            } => format!(
                "{}; {} had no result, the last at {} because {why}",
                range_words(*range, bound),
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
    /// Describes the range, for example `the highest load with a p99 within 10 ms is between 8,000
    /// and 18,400 op/s: 10 of 21 trials met it`.
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
        format!(
            "the highest load with a {bound} is {is}: {kept} of {trials} trials met it{highest}"
        )
    }
}

/// Describes the lowest load that was too high, for example `; at 49,100 op/s p99 was 12.3 ms`.
fn failure_words(above: Option<&LowestOverload>) -> String {
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

/// Describes the numbers of threads below and above a band, for example `below at 20 threads, above
/// at 30 threads`.
fn sides(below: Option<u32>, above: Option<u32>) -> String {
    let parts: Vec<String> = [
        below.map(|threads| format!("below at {}", Point::Threads(threads).words())),
        above.map(|threads| format!("above at {}", Point::Threads(threads).words())),
    ]
    .into_iter()
    .flatten()
    .collect();
    parts.join(", ")
}

fn range_words(range: Option<Range>, bound: &Bound) -> String {
    match range {
        Some(range) => range.words(bound),
        None => format!("no load has a proven {}", bound.words()),
    }
}
