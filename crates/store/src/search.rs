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
    /// Number of the block, from 0.
    pub block: usize,
    /// `peak`, `band` or `latency_target`.
    pub procedure: SearchProcedure,
    /// Goal of the search: `p99 within 10 ms`.
    pub goal: String,
    /// Percentile of latency that the search keeps within a bound.
    #[serde(default)]
    pub percentile: Percentile,
    /// Lower and upper bound of that percentile, ms. `null` without such a bound, and in runs of
    /// earlier versions.
    #[serde(default)]
    pub within_ms: [Option<f64>; 2],
    /// `held` (found, and it held), `found` (found; nothing is held), `none`, `not_reached` (it is
    /// above the highest load to try), `client_limit`, `untold` (too many trials gave no answer) or
    /// `unfinished`.
    pub outcome: SearchOutcome,
    /// Load that was found. For `not_reached` and `client_limit` it is a lower bound. Absent if no
    /// load was found.
    #[serde(
        default,
        with = "crate::point",
        skip_serializing_if = "Option::is_none"
    )]
    pub at: Option<Point>,
    /// Number of the last usable trial at that load: the one that held it, if any did. Absent if
    /// there is none, and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<usize>,
    /// Throughput of that trial, op/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops_per_s: Option<f64>,
    /// Range of the highest load within the bound, according to all trials together. Absent if the
    /// search found a load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<SearchRangeRecord>,
    /// Facts about the end of the search. `None` if it did not finish, and if the record was read
    /// from a file.
    #[serde(skip)]
    pub ending: Option<Ending>,
    /// Description of the result, without the name of the variant.
    pub words: String,
    /// Trials, in the order in which the search requested them.
    pub steps: Vec<SearchStepRecord>,
}

impl SearchRecord {
    /// Returns the found load on its axis. It is a lower bound if a higher load may be possible.
    pub fn found(&self) -> Option<Known> {
        self.value(self.at?.value())
    }

    /// Returns the throughput of the found load, op/s. It is the basis for comparing searches on
    /// both axes, since threads are only a means.
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
    /// Lowest load from which on no trial was within the bound. Absent if there was no such load.
    #[serde(
        default,
        with = "crate::point",
        skip_serializing_if = "Option::is_none"
    )]
    pub below: Option<Point>,
    /// Number of trials within the bound.
    pub kept: usize,
    /// Number of trials that gave an answer.
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
    /// `pass`, `fail` or `no answer`. For a band, also `below`, `within` or `above`. For an
    /// expected trial, `expected`.
    pub result: SearchResult,
    /// True if the percentile is so close to the bound that the result may be due to chance.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub near: bool,
    /// Reason why it did not pass. Empty if it passed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Value of the percentile, ms. Absent if the trial failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
    /// True if the value is only a lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// 95 % interval of that value, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95_ms: Option<[f64; 2]>,
}
