//! cassandra-stress: its command line, its user profiles, and the rows that it would write.

mod access;
mod column;
mod command;
mod draw;
mod help;
mod ladder;
mod options;
mod params;
mod partition;
mod plan;
mod profile;
mod source;
mod tables;
mod values;
mod words;

#[cfg(test)]
mod tests;

pub use command::{Command, Limit, Run, Task, Truncate, Verb, Weight};
pub use help::help;
pub use ladder::{
    Ladder, LadderResult, Uncertainty, improvement, interval_rate, is_flat, uncertainty_reached,
};
pub use options::{
    Columns, Connect, Errors, Insert, Level, Options, Order, Output, Pace, Population, Rate,
    SchemaOptions, Seeds, Style,
};
pub use plan::import;
pub use values::Spelled;
