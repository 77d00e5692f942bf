//! The only crate that reads and writes the folders of runs: record formats and their versions, old
//! runs.
//!
//! [`RunWriter`] creates `results/<study>/<stamp>/` and fills it in order of time. It writes the
//! study and the plan before anything starts, a journal line before each change of state, and
//! interval lines while a trial runs. Findings and report come last. [`Run`] reads the folder of a
//! finished or unfinished run. A file that grows contains only whole lines at every moment, so that
//! a reader may follow it. All other files are written under a temporary name and then renamed, so
//! that they are complete when they appear.
//!
//! The files of a [`Run`] match their checksums, which were computed when each file was complete.
//! [`Run::open`] verifies the files, and rejects a damaged run.

mod acknowledged_writes;
mod added_blocks;
mod back_to_normal;
mod cause;
mod child_run;
mod comparable_points;
pub mod convert;
mod cost;
mod counts;
mod curves;
mod delete;
mod effects;
mod endurance;
mod event;
mod file_digests;
mod find;
mod fleet;
mod histogram_buckets;
pub mod hlog;
mod journal;
pub mod json;
mod ledger;
mod limits;
pub mod live;
mod looks;
mod measured_window;
mod merged_kinds;
mod missing_records;
pub mod name;
mod ndjson;
mod nodes_record;
mod overview;
pub mod point;
mod price_performance;
mod profile;
mod profile_findings;
mod published;
mod quantiles;
mod reason_words;
mod reasons;
pub mod record;
mod recovery;
mod requirements;
mod resolved_study;
mod run;
mod run_name;
mod scale_up;
mod screening;
mod search;
mod slowest_operations;
mod tables_left;
mod tags;
mod tail;
#[cfg(test)]
mod tests;
mod time_use;
mod trial;
mod tuning;
mod unpack;
mod write;

pub use delete::{Deletable, deletable, delete, older_than};
pub use file_digests::{Damage, DamagedRun, FileSum, Sums};
pub use find::{
    DidWell, Past, RunLine, find, finished, last_finished, last_good, list, past, past_of,
    run_names, salvage,
};
pub use measured_window::WindowHistograms;
pub use merged_kinds::MergedKinds;
pub use name::Name;
pub use ndjson::Lines;
pub use overview::{OverviewBin, OverviewRecord, Places, SeriesOverviewRecord, SeriesPlacesRecord};
pub use profile::{FoldedLines, ProfileRecord};
pub use run::{HistogramKind, Run, RunState, SalvagedRun, Trial};
pub use tags::{tag, tags, untag};
pub use time_use::time_use;
pub use trial::TrialWriter;
pub use unpack::take_in;
pub use write::{RunWriter, figure_of, write_output, write_report};

mod file {
    pub const STUDY: &str = "study.yaml";
    pub const PLAN: &str = "plan.json";
    pub const JOURNAL: &str = "journal.ndjson";
    pub const FINDINGS: &str = "findings.json";
    pub const REPORT: &str = "report.html";
    pub const FIGURE: &str = "report.svg";
    pub const TRIALS: &str = "trials";
    pub const TRIAL: &str = "trial.json";
    pub const FINDING: &str = "finding.json";
    pub const NODES: &str = "nodes.json";
    pub const INTERVALS: &str = "intervals.ndjson";
    pub const PROBES: &str = "probes";
    pub const PROFILES: &str = "profiles";
    pub const PROFILES_LIST: &str = "profiles.json";
    pub const OVERVIEW: &str = "overview.json";
    pub const SLOWEST: &str = "slowest.json";
    pub const SERIES: &str = "series.ndjson";
    pub const WINDOW: &str = "window.hlog";
    pub const FAULTS: &str = "faults.ndjson";
    pub const HISTORY: &str = "history.ndjson";
    pub const CLIENTS: &str = "clients.ndjson";
    pub const CLIENT_TIMES: &str = "clients.hlog";
    pub const CLOCKS: &str = "clocks.ndjson";
    pub const LOGS: &str = "logs";
    pub const LATEST: &str = "latest";
    /// Name of the file with tags. Tags are names that users give to runs.
    pub const TAGS: &str = "tags.json";
}
