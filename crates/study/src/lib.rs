//! The only crate that knows what a study is: syntax, resolving, planning, running trials in order, resuming.

pub mod check;
pub mod diagnostic;
pub mod format;
pub mod human;
pub mod merge;
pub mod resolve;
pub mod rules;
pub mod settings;
pub mod tree;
pub mod yaml;
