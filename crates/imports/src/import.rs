//! What the files and command lines of other tools ask for, in our own terms: steps to run one
//! after the other, and how to get in. Imports do no I/O: the caller reads files for them.

use core::time::Duration;
use std::fmt;
use std::sync::Arc;

use workload::{Program, Stage};

/// A tool whose files and command lines are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The tool cassandra-stress.
    Stress,
    /// NoSQLBench, nb4 and nb5.
    Nb,
    /// The tool YCSB.
    Ycsb,
    /// cassandra-easy-stress, before that easy-cass-stress and tlp-stress.
    Easy,
}

impl Tool {
    /// All of them.
    pub const ALL: [Tool; 4] = [Tool::Stress, Tool::Nb, Tool::Ycsb, Tool::Easy];

    /// Its key in a study, and our command: `stress`, `nb`, `ycsb`, `easy`.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Stress => "stress",
            Tool::Nb => "nb",
            Tool::Ycsb => "ycsb",
            Tool::Easy => "easy",
        }
    }

    /// The words behind which a password stands as a word of its own.
    pub fn secret_options(self) -> &'static [&'static str] {
        match self {
            Tool::Stress | Tool::Nb | Tool::Ycsb => &[],
            Tool::Easy => crate::easy::SECRET,
        }
    }
}

impl Tool {
    /// The words with `***` for the password, where it is one: it may well be `cassandra`, of which
    /// the other words have many.
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

/// A word without the password where it is the value of a key that says so; `before` are the words
/// before it.
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

/// Reads a file that an import names; the error says why it cannot be read.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Everything that an import asks for.
#[derive(Clone, Debug)]
pub struct Import {
    /// What to run, in order; at least one.
    pub steps: Vec<Step>,
    /// What was accepted without effect here, or is done differently than the tool does it: a
    /// sentence each, for plan and report.
    pub notes: Vec<String>,
    /// Whom to ask and how to get in, as far as the import says so.
    pub connection: Connection,
}

/// One command of another tool: schema, warm-up, then measured operations.
#[derive(Clone, Debug)]
pub struct Step {
    /// `write`, `rampup`, `load`, …
    pub name: String,
    /// What is asked.
    pub program: Arc<Program>,
    /// Which part of the program.
    pub stage: Stage,
    /// Statements that are executed, in order, before anything is measured.
    pub before: Vec<String>,
    /// Number of the first operation.
    pub first_operation: u64,
    /// When it ends.
    pub limit: StepLimit,
    /// How much is asked at a time.
    pub offer: Offer,
    /// Operations before the measured ones; they are numbered from `first_operation` as well.
    pub warmup_operations: u64,
    /// Statements that empty the tables between warm-up and measuring.
    pub truncate: Vec<String>,
    /// Whether they are emptied before each run of the step, such as those of a ladder; otherwise
    /// before the first.
    pub truncates_always: bool,
}

/// When a step ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepLimit {
    /// After so many operations.
    Operations(u64),
    /// After so long.
    Duration(Duration),
    /// After so many operations or so long, whichever comes first.
    Either(u64, Duration),
    /// When the standard error of the mean rate of the intervals is below `target` of that mean,
    /// after at least `min` and at most `max` intervals.
    Uncertainty {
        /// Share of the mean, for example 0.02.
        target: f64,
        /// Intervals at least.
        min: u32,
        /// Intervals at most.
        max: u32,
    },
}

impl StepLimit {
    /// The number of operations that ends it at the latest, if one does.
    pub fn operations(self) -> Option<u64> {
        match self {
            StepLimit::Operations(count) | StepLimit::Either(count, _) => Some(count),
            StepLimit::Duration(_) | StepLimit::Uncertainty { .. } => None,
        }
    }
}

/// How much is asked at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Offer {
    /// So many operations in flight, always.
    Threads(u32),
    /// More and more operations in flight, from `from` up to `to`, until the rate no longer grows.
    Ladder {
        /// Operations in flight at first.
        from: u32,
        /// Operations in flight at last.
        to: u32,
        /// Whether it ends when the rate no longer grows.
        until_flat: bool,
    },
    /// A fixed rate.
    Rate {
        /// Operations per second.
        per_second: f64,
        /// Operations in flight at most.
        threads: u32,
        /// Whether latency is counted from the send, and so leaves out the wait of a client that
        /// has fallen behind.
        hides_wait: bool,
    },
}

/// Whom to ask and how to get in. What is absent was not said.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    /// Host names or addresses, each perhaps with `:port`.
    pub nodes: Vec<String>,
    /// CQL port.
    pub port: Option<u16>,
    /// The name of the user.
    pub username: Option<String>,
    /// The password, which is never shown.
    pub password: Option<Secret>,
    /// File that holds the password in its first line. The import does not read it.
    pub password_file: Option<String>,
    /// Whether TLS is wanted.
    pub tls: Option<bool>,
    /// Compression of frames.
    pub compression: Option<cql::Compression>,
    /// Connections of the whole tool to each node.
    pub connections_per_node: Option<u32>,
    /// Only nodes of this data centre are asked.
    pub datacenter: Option<String>,
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides a text.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The text itself, for those who must send it.
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
