//! The only crate that knows what a study is: syntax, resolving, planning, running trials in order,
//! resuming.
//!
//! Text → [`yaml::Node`] → [`merge`]d, and [`check`]ed against the table in [`format`] →
//! [`settings`] → [`plan`] → [`run`] → findings. Parsing touches nothing but the text; all checks
//! are done, all mistakes reported together, before the first process starts.

pub mod check;
pub mod conditions;
pub mod estimate;
pub mod format;
pub mod human;
pub mod inputs;
pub mod matrix;
pub mod merge;
pub mod needs;
pub mod plan;
pub mod record;
pub mod reference;
pub mod resolve;
pub mod rules;
pub mod run;
pub mod settings;
pub mod tree;
pub mod work;
