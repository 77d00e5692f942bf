//! Results of the searches of a study, and their steps.

use analysis::VariantName;
use analysis::procedure::{
    Ending, Percentile, Point, Role, SearchOutcome, SearchProcedure, SearchResult,
};
use measure::Known;
use serde::{Deserialize, Serialize};

/// A search for one variant in one block.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SearchRecord {
    /// Name of the variant.
    pub variant: VariantName,
    /// Number of the block, starting at 0.
    pub block: usize,
    /// Procedure of the search: `peak`, `band` or `latency_target`.
    pub procedure: SearchProcedure,
    /// Goal of the search, such as `p99 within 10 ms`.
    pub goal: String,
    /// Percentile of latency that the search keeps within a bound.
    #[serde(default)]
    pub percentile: Percentile,
    /// Lower and upper bound of the percentile, ms. `null` if the search has no such bound, and in
    /// runs of earlier versions.
    #[serde(default)]
    pub within_ms: [Option<f64>; 2],
    /// Outcome: `held` (found and held), `found` (found, but the search has no holds), `none`,
    /// `not_reached` (above the highest allowed load), `client_limit`, `untold` (too many trials
    /// without an answer) or `unfinished`.
    pub outcome: SearchOutcome,
    /// Load that the search found. For `not_reached` and `client_limit`, it is a lower bound.
    /// Absent if the search found no load.
    #[serde(
        default,
        with = "crate::point",
        skip_serializing_if = "Option::is_none"
    )]
    pub at: Option<Point>,
    /// Number of the last usable trial at the load that was found, preferably a hold. Absent if
    /// there is none, and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<usize>,
    /// Throughput at the load that was found, op/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops_per_s: Option<f64>,
    /// Range of the highest load within the bound, according to all trials together. Absent if the
    /// search found a load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<SearchRangeRecord>,
    /// Facts about the end of the search. `None` if the search did not finish, or if the record was
    /// read from a file.
    #[serde(skip)]
    pub ending: Option<Ending>,
    /// Description of the result, without the name of the variant.
    pub words: String,
    /// Trials, in the order in which the search requested them.
    pub steps: Vec<SearchStepRecord>,
}

impl SearchRecord {
    /// Returns the load that was found, on the axis of the search. It is a lower bound if a higher
    /// load may be possible.
    pub fn found(&self) -> Option<Known> {
        self.value(self.at?.value())
    }

    /// Returns the throughput of the load that was found, op/s. Searches on different axes are
    /// compared by this value, because the number of threads is only a means.
    pub fn found_ops_per_s(&self) -> Option<Known> {
        match self.at {
            Some(Point::Rate(rate)) => self.value(rate as f64),
            Some(Point::Threads(_)) | None => self.value(self.ops_per_s?),
        }
    }

    fn value(&self, value: f64) -> Option<Known> {
        match self.outcome {
            SearchOutcome::Held | SearchOutcome::Found => Some(Known::Exactly(value)),
            SearchOutcome::NotReached | SearchOutcome::ClientLimit => Some(Known::AtLeast(value)),
            SearchOutcome::Nowhere | SearchOutcome::Untold | SearchOutcome::Unfinished => None,
        }
    }
}

/// Range that contains the highest load within the bound of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchRangeRecord {
    /// Highest load up to which every trial was within the bound. Absent if there was no such load.
    #[serde(
        default,
        with = "crate::point",
        skip_serializing_if = "Option::is_none"
    )]
    pub at_least: Option<Point>,
    /// Lowest load from which on every trial was beyond the bound. Absent if there was no such
    /// load.
    #[serde(
        default,
        with = "crate::point",
        skip_serializing_if = "Option::is_none"
    )]
    pub below: Option<Point>,
    /// Number of trials within the bound.
    pub kept: usize,
    /// Number of trials that were decisive.
    pub trials: usize,
}

/// A trial of a search.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SearchStepRecord {
    /// Number of the trial.
    pub trial: usize,
    /// Load of the trial.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// Purpose of the trial: `probe`, `hold` or `expected`.
    pub role: Role,
    /// Result of the trial: `pass`, `fail` or `no answer`. For a band, also `below`, `within` or
    /// `above`. For an expected trial, `expected`.
    pub result: SearchResult,
    /// True if the percentile is so close to the bound that the result may be due to chance.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub near: bool,
    /// Reason why the trial did not pass. Empty if it passed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Value of the percentile that the search bounds, ms. Absent if the trial failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
    /// True if the value is only a lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// 95 % interval of the percentile, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95_ms: Option<[f64; 2]>,
}
