//! Imports cassandra-stress. The import covers its command line, its user profiles, and the rows
//! that cassandra-stress would write.

mod access;
mod argument_split;
mod argument_values;
mod column;
mod command;
mod draw;
mod existing_table;
mod help;
mod ladder;
mod operations;
mod options;
mod params;
mod partition;
mod plan;
mod profile;
mod tables;

#[cfg(test)]
mod effects;
#[cfg(test)]
mod tests;

/// Answers a command line that does not run a load, but prints help, the shape of a distribution,
/// or the version. Returns `None` if the command line runs a load or has mistakes.
pub fn answer(words: &[String]) -> Option<String> {
    match Command::parse(words).ok()?.task {
        Task::Run(_) => None,
        Task::Help(topic) => Some(help(topic.as_deref())),
        Task::Version => Some(VERSION.to_owned()),
        Task::Print(spelled) => Some(match draw::Dist::parse(&spelled.text) {
            Ok(dist) => dist.table(),
            Err(message) => format!("{message}\n"),
        }),
    }
}

/// Statement about the version of cassandra-stress whose command line cassay supports.
const VERSION: &str = "the command line of cassandra-stress 3.11.4 and later, run by cassay\n";

pub use argument_values::WrittenDistribution;
pub use command::{Command, Limit, Run, Task, Truncate, Verb, Weight};
pub use existing_table::{UndefinedTable, connection};
pub use help::help;
pub use ladder::{Uncertainty, threads};
pub use options::{
    Columns, Connect, Errors, Insert, Options, Order, Output, Pace, Population, Rate,
    SchemaOptions, Seeds, Style, Verbosity,
};
pub use plan::import;
