//! The result of an import: steps to run in sequence, and connection settings. Imports do no I/O,
//! because the caller reads files for them.

use core::time::Duration;
use std::fmt;
use std::sync::Arc;

use workload::{Program, Stage};

/// A tool whose files and command lines are supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The tool cassandra-stress.
    Stress,
    /// NoSQLBench, with the files and options of nb4 and nb5.
    Nb,
    /// The tool YCSB.
    Ycsb,
    /// The tool cassandra-easy-stress, formerly easy-cass-stress and tlp-stress.
    Easy,
}

impl Tool {
    /// All supported tools.
    pub const ALL: [Tool; 4] = [Tool::Stress, Tool::Nb, Tool::Ycsb, Tool::Easy];

    /// Returns the name of the tool, which is its key in a study and its cassay command: `stress`,
    /// `nb`, `ycsb`, `easy`.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Stress => "stress",
            Tool::Nb => "nb",
            Tool::Ycsb => "ycsb",
            Tool::Easy => "easy",
        }
    }

    /// Returns the options whose value is a password. The value is a separate word.
    pub fn secret_options(self) -> &'static [&'static str] {
        match self {
            Tool::Stress | Tool::Nb | Tool::Ycsb => &[],
            Tool::Easy => crate::easy::SECRET,
        }
    }
}

impl Tool {
    /// Returns the words with `***` instead of the password. Masks the value of a password option,
    /// and otherwise the password only after a key for passwords. The password may be `cassandra`,
    /// which occurs in many other words.
    pub fn without_password(self, words: &[String], password: &str) -> Vec<String> {
        if password.is_empty() {
            return words.to_vec();
        }
        let mut before = String::new();
        let mut hidden = Vec::new();
        for word in words {
            let option = before.rsplit(' ').next().unwrap_or_default();
            hidden.push(if self.secret_options().contains(&option) {
                "***".to_owned()
            } else {
                hide_in(word, password, &before)
            });
            before = format!("{before} {word}");
        }
        hidden
    }
}

/// Masks the password in a word, if the word is the value of a key for passwords. `before` contains
/// the words before it.
fn hide_in(word: &str, password: &str, before: &str) -> String {
    let (mut out, mut copied) = (String::new(), 0);
    for (at, _) in word.match_indices(password) {
        let until = format!("{before} {}", &word[..at]);
        let assigned = until.trim_end().strip_suffix('=').map(str::trim_end);
        let key = assigned.and_then(|assigned| assigned.rsplit([' ', ',', '(']).next());
        if key.is_some_and(|key| key.to_ascii_lowercase().contains("pass")) {
            out += &word[copied..at];
            out += "***";
            copied = at + password.len();
        }
    }
    out + &word[copied..]
}

/// Reads a file that an import names. The error explains why the file cannot be read.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Result of an import.
#[derive(Clone, Debug)]
pub struct Import {
    /// The steps, in order. The list contains at least one step.
    pub steps: Vec<ImportStep>,
    /// Notes on words without effect, and on differences from the tool. The plan and the report
    /// show them. Each note is a sentence.
    pub notes: Vec<String>,
    /// Connection settings that the import states.
    pub connection: Connection,
}

/// A step that corresponds to one command of another tool: schema, warm-up, then measured
/// operations.
#[derive(Clone, Debug)]
pub struct ImportStep {
    /// Name of the step: `write`, `rampup`, `load`, …
    pub name: String,
    /// Operations of the step.
    pub program: Arc<Program>,
    /// Stage of the program that the step runs.
    pub stage: Stage,
    /// Statements to execute before the measurement, in this order.
    pub before: Vec<String>,
    /// Number of the first operation of the step.
    pub first_operation: u64,
    /// Condition that ends the step.
    pub limit: StepLimit,
    /// Load that the step offers.
    pub offer: Offer,
    /// Number of operations before the measured operations. The numbers of these operations also
    /// start at `first_operation`.
    pub warmup_operations: u64,
    /// Statements that truncate the tables between warm-up and measurement.
    pub truncate: Vec<String>,
    /// True if the tables are truncated before each run of the step, such as each number of
    /// threads. False if they are truncated only before the first run.
    pub truncates_always: bool,
}

/// Condition that ends a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepLimit {
    /// The step ends after a number of operations.
    Operations(u64),
    /// The step ends after a fixed duration.
    Duration(Duration),
    /// The step ends after a number of operations or a duration, whichever comes first.
    Either(u64, Duration),
    /// The step ends when the standard error of the mean rate of the intervals is below `target`
    /// times that mean. The run has at least `min` and at most `max` intervals.
    Uncertainty {
        /// Target for the standard error, as a share of the mean, for example 0.02.
        target: f64,
        /// Minimum number of intervals.
        min: u32,
        /// Maximum number of intervals.
        max: u32,
    },
}

impl StepLimit {
    /// Returns the maximum number of operations, if the limit states one.
    pub fn operations(self) -> Option<u64> {
        match self {
            StepLimit::Operations(count) | StepLimit::Either(count, _) => Some(count),
            StepLimit::Duration(_) | StepLimit::Uncertainty { .. } => None,
        }
    }
}

/// Load that a step offers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Offer {
    /// A constant number of operations in flight.
    Threads(u32),
    /// An increasing number of operations in flight, from `from` up to `to`, until the rate no
    /// longer grows.
    Ladder {
        /// Initial number of operations in flight.
        from: u32,
        /// Final number of operations in flight.
        to: u32,
        /// True if the ladder ends when the rate no longer grows.
        until_flat: bool,
    },
    /// A fixed rate of operations.
    Rate {
        /// Number of operations per second.
        per_second: f64,
        /// Maximum number of operations in flight.
        threads: u32,
        /// True if latency is measured from the send. Latency then excludes the time that an
        /// operation waits because the client has fallen behind.
        hides_wait: bool,
    },
}

/// Connection settings. A setting that the import does not state is absent.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    /// Host names or addresses, each with an optional `:port`.
    pub nodes: Vec<String>,
    /// CQL port of the nodes.
    pub port: Option<u16>,
    /// User name for the login.
    pub username: Option<String>,
    /// The password, which is never shown.
    pub password: Option<Secret>,
    /// File whose first line is the password. The import does not read this file.
    pub password_file: Option<String>,
    /// True if TLS is requested.
    pub tls: Option<bool>,
    /// Compression of CQL frames.
    pub compression: Option<cql::Compression>,
    /// Total number of connections of the tool to each node.
    pub connections_per_node: Option<u32>,
    /// Data centre of the nodes that the client contacts. The client contacts no nodes of other
    /// data centres.
    pub datacenter: Option<String>,
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text that must not be shown.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// Returns the text itself, to send it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_hidden_where_it_is_one_and_only_there() {
        let hidden = |tool: Tool, line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            tool.without_password(&words, "cassandra").join(" ")
        };
        for (tool, line, expected) in [
            (
                Tool::Ycsb,
                "run cassandra-cql -p cassandra.username=cassandra -p cassandra.password=cassandra",
                "run cassandra-cql -p cassandra.username=cassandra -p cassandra.password=***",
            ),
            (
                Tool::Stress,
                "-mode user=u password = cassandra -node cassandra",
                "-mode user=u password = *** -node cassandra",
            ),
            (
                Tool::Nb,
                "password=cassandra host=cassandra",
                "password=*** host=cassandra",
            ),
            (
                Tool::Easy,
                "run KeyValue --password cassandra --host cassandra -U cassandra -P cassandra",
                "run KeyValue --password *** --host cassandra -U cassandra -P ***",
            ),
        ] {
            assert_eq!(hidden(tool, line), expected);
        }
    }
}
