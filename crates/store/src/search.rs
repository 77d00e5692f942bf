//! Results of the searches of a study, with the trials of each search.

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
    /// Percentile of latency for which the search has a bound.
    #[serde(default)]
    pub percentile: Percentile,
    /// Lower and upper bound of the percentile, ms. A bound that the search does not have is
    /// `null`. In runs of earlier versions, both bounds are `null`.
    #[serde(default)]
    pub within_ms: [Option<f64>; 2],
    /// Outcome: `held` (found and held), `found` (found, but the search has no holds), `none`,
    /// `not_reached` (above the highest allowed load), `client_limit`, `inconclusive` (too many
    /// trials without an answer) or `unfinished`.
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
    /// that load has no usable trial, and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<usize>,
    /// Throughput at the load that was found, op/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops_per_s: Option<f64>,
    /// Range that contains the highest load within the bound, according to all trials together.
    /// Absent if the search found a load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<SearchRangeRecord>,
    /// Facts about the end of the search. `None` if the search did not finish, or if the record was
    /// read from a file.
    #[serde(skip)]
    pub ending: Option<Ending>,
    /// Description of the result, without the name of the variant.
    pub words: String,
    /// Trials of the search, in the order in which the search requested them.
    pub steps: Vec<SearchStepRecord>,
}

impl SearchRecord {
    /// Returns the load that was found. It is a lower bound if a higher load may be possible.
    pub fn found(&self) -> Option<Known> {
        self.value(self.at?.value())
    }

    /// Returns the throughput at the load that was found, op/s. Searches with different load axes
    /// are compared by throughput, because their loads have different units.
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
            SearchOutcome::Nowhere | SearchOutcome::Inconclusive | SearchOutcome::Unfinished => {
                None
            }
        }
    }
}

/// Range that contains the highest load within the bound of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchRangeRecord {
    /// Highest load up to which all trials were within the bound. Absent if no load meets this
    /// condition.
    #[serde(
        default,
        with = "crate::point",
        skip_serializing_if = "Option::is_none"
    )]
    pub at_least: Option<Point>,
    /// Lowest load from which all trials were beyond the bound. Absent if no load meets this
    /// condition.
    #[serde(
        default,
        with = "crate::point",
        skip_serializing_if = "Option::is_none"
    )]
    pub below: Option<Point>,
    /// Number of trials within the bound.
    pub kept: usize,
    /// Number of trials with a decisive result.
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
    /// Result of the trial: `pass`, `fail` or `no answer`. A search for a band also uses `below`,
    /// `within` and `above`. A trial at the expected load has the result `expected`.
    pub result: SearchResult,
    /// True if the percentile is so close to the bound that the result may be due to chance.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub near: bool,
    /// Reason why the trial did not pass. Empty if the trial passed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Measured value of the percentile that the search bounds, ms. Absent if the trial failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
    /// True if `latency_ms` is only a lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// 95 % confidence interval of the percentile, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95_ms: Option<[f64; 2]>,
}
