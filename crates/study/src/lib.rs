//! The only crate that reads a study: syntax, resolving, planning.
//!
//! The crate parses a text to a [`yaml::Node`], [`merge`]s it, and [`check`]s it against the table
//! in [`format`]. It then converts it to [`settings`] and a [`plan`], which `engine` runs. Parsing
//! reads only the text. All checks are done, and all mistakes are reported together, before the
//! first process starts.

pub mod check;
mod child_study;
mod client_warnings;
pub mod conditions;
pub mod confirm;
pub mod counter_experiment;
pub mod data_state;
pub mod estimate;
mod fault_warnings;
pub mod format;
mod grid;
mod guardrail_warnings;
mod index;
pub mod inputs;
mod machines;
mod machines_file;
pub mod matrix;
pub mod merge;
pub mod needs;
pub mod payload;
pub mod plan;
pub mod profile_study;
pub mod published_figures;
pub mod read_back;
pub mod reference;
pub mod rerun_command;
pub mod resolve;
pub mod rules;
pub mod scale_up;
pub mod schema;
mod screening;
pub mod units;
pub use screening::flow;
pub mod checked_tree;
pub mod compile_workload;
pub mod settings;
mod sizes;
mod storage_warnings;
pub mod target_differences;
pub mod timeline;
pub mod tuning_study;
mod upgrade_warnings;

pub use machines_file::read_machines;
