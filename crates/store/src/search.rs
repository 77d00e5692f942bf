//! What the searches of a study came to, and by which way.

use analysis::VariantName;
use analysis::procedure::{
    Ending, Percentile, Point, Role, SearchOutcome, SearchProcedure, SearchResult,
};
use measure::Known;
use serde::{Deserialize, Serialize};

/// One search: of one variant, in one block.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SearchRecord {
    /// Name of the variant.
    pub variant: VariantName,
    /// Number of the block, from 0.
    pub block: usize,
    /// `peak`, `band` or `latency_target`.
    pub procedure: SearchProcedure,
    /// What was searched for: `p99 within 10 ms`.
    pub goal: String,
    /// The percentile of latency that it goes by.
    #[serde(default)]
    pub percentile: Percentile,
    /// What that is kept above and below, ms; none where there is no such limit, and in runs of
    /// earlier versions.
    #[serde(default)]
    pub within_ms: [Option<f64>; 2],
    /// `held` (found, and it held), `found` (nothing is held), `none`, `not_reached` (it is beyond
    /// the most that was to be tried), `client_limit`, `untold` (too many trials gave no answer) or
    /// `unfinished`.
    pub outcome: SearchOutcome,
    /// Where it ended: what was found; of `not_reached` and `client_limit`, what is known to be
    /// possible at least. Empty if there is none.
    #[serde(
        default,
        with = "crate::point",
        skip_serializing_if = "Option::is_none"
    )]
    pub at: Option<Point>,
    /// Index of the last trial there that may be used: the one that held it, if any did. None if
    /// there is none, and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<usize>,
    /// Throughput of that trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops_per_s: Option<f64>,
    /// Between which loads the most is, by all trials together, where nothing was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<SearchRangeRecord>,
    /// How it ended, as facts; none of one that was not finished, and of one that was read.
    #[serde(skip)]
    pub ending: Option<Ending>,
    /// The same in a sentence, without its variant.
    pub words: String,
    /// The trials in the order in which they were asked for.
    pub steps: Vec<SearchStepRecord>,
}

impl SearchRecord {
    /// What it found, on its axis; a lower bound where more may be possible.
    pub fn found(&self) -> Option<Known> {
        self.known(self.at?.value())
    }

    /// The throughput of what it found, which is what searches are compared by, on whichever axis
    /// they looked: threads are no end in themselves. Operations per second.
    pub fn found_ops_per_s(&self) -> Option<Known> {
        match self.at {
            Some(Point::Rate(rate)) => self.known(rate as f64),
            Some(Point::Threads(_)) | None => self.known(self.ops_per_s?),
        }
    }

    fn known(&self, value: f64) -> Option<Known> {
        match self.outcome {
            SearchOutcome::Held | SearchOutcome::Found => Some(Known::Exactly(value)),
            SearchOutcome::NotReached | SearchOutcome::ClientLimit => Some(Known::AtLeast(value)),
            SearchOutcome::Nowhere | SearchOutcome::Untold | SearchOutcome::Unfinished => None,
        }
    }
}

/// Between which loads the most is that keeps what was searched for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchRangeRecord {
    /// The most up to which every trial kept it; none if a lower load was too much once.
    #[serde(
        default,
        with = "crate::point",
        skip_serializing_if = "Option::is_none"
    )]
    pub at_least: Option<Point>,
    /// The least above all that was kept which was too much; none if nothing was.
    #[serde(
        default,
        with = "crate::point",
        skip_serializing_if = "Option::is_none"
    )]
    pub below: Option<Point>,
    /// How many trials kept it.
    pub kept: usize,
    /// Of how many that told something.
    pub trials: usize,
}

/// One trial of a search.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SearchStepRecord {
    /// Number of the trial.
    pub trial: usize,
    /// Where it was.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// `probe`, `hold` or `expected`.
    pub role: Role,
    /// `pass`, `fail`, `no answer`; of a band `below`, `within`, `above`; `expected`.
    pub result: SearchResult,
    /// Whether it is so near the bound that chance may have decided.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub near: bool,
    /// Why it did not pass; empty if it did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The percentile that is bounded, ms; none if the trial has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
    /// Whether that is only a lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// Its 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95_ms: Option<[f64; 2]>,
}
