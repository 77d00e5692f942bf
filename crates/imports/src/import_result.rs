//! The result of an import, which consists of steps to run in sequence, and connection settings.
//! Imports do no I/O, because the caller reads files for them.

use core::time::Duration;
use std::fmt;
use std::sync::Arc;

use workload::{Program, Stage};

/// A tool whose files and command lines cassay can import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The tool cassandra-stress.
    Stress,
    /// NoSQLBench, with the files and options of nb4 and nb5.
    Nb,
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

    /// Returns the words of a command line without the tool's own program. A command line that the
    /// user has pasted may begin with it, such as `bin/ycsb load …`.
    pub(crate) fn own_words(self, words: &[String]) -> &[String] {
        let programs: &[&str] = match self {
            Tool::Stress => &["cassandra-stress", "cassandra-stress.bat"],
            Tool::Nb => &["nb", "nb5"],
            Tool::Ycsb => &["ycsb", "ycsb.sh", "ycsb.bat"],
            Tool::Easy => &["cassandra-easy-stress", "easy-cass-stress", "tlp-stress"],
        };
        match words.split_first() {
            Some((first, rest)) if programs.contains(&file_name(first)) => rest,
            _ => words,
        }
    }

    /// Returns the options whose value is a password. Such a value is a separate word.
    pub fn secret_options(self) -> &'static [&'static str] {
        match self {
            Tool::Stress | Tool::Nb | Tool::Ycsb => &[],
            Tool::Easy => crate::easy::SECRET,
        }
    }
}

/// Returns the last component of a path of Unix or of Windows.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

impl Tool {
    /// Returns the words with `***` in place of each secret. Secrets are the value of a password
    /// option, a value whose name marks a secret, and the password in an address. Elsewhere, the
    /// function masks `password` only after a key for passwords, because a password such as
    /// `cassandra` also occurs in many other words.
    pub fn without_secrets(self, words: &[String], password: &str) -> Vec<String> {
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
        let masked = yaml::words_without_secrets(&hidden);
        let pairs = hidden.into_iter().zip(masked);
        pairs
            .map(|(word, masked)| {
                if self.names_queries(&word) {
                    word
                } else {
                    masked
                }
            })
            .collect()
    }

    /// Returns true if a word contains names that the user gave to queries, such as
    /// `ops(get_password=1)`. Such a word contains shares, but no secret.
    fn names_queries(self, word: &str) -> bool {
        self == Tool::Stress && word.starts_with("ops(")
    }
}

/// Returns a word with the password masked, if the word contains the password as the value of a key
/// for passwords. `before` contains the preceding words.
fn hide_in(word: &str, password: &str, before: &str) -> String {
    if password.is_empty() {
        return word.to_owned();
    }
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

/// Function that reads a file that an import names. The error is a whole message, which names the
/// file and explains why the function cannot read it.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

#[derive(Clone, Debug)]
pub struct Import {
    /// The steps, in order. The list contains at least one step.
    pub steps: Vec<ImportStep>,
    /// Notes on words without effect, and on differences from the tool. The plan and the report
    /// show the notes. Each note is a sentence.
    pub notes: Vec<String>,
    /// Connection settings that the import states.
    pub connection: Connection,
}

/// A step that corresponds to one command of another tool. It consists of a schema, a warm-up and
/// measured operations.
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
    /// Load that the step applies.
    pub offer: Offer,
    /// Number of operations before the measured operations. Like the measured operations, they are
    /// numbered from `first_operation`.
    pub warmup_operations: u64,
    /// Statements that truncate the tables between warm-up and measurement.
    pub truncate: Vec<String>,
    /// True if the tables are truncated before each run of the step, for example before each number
    /// of threads. False if they are truncated only before the first run.
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
    /// times that mean. The run lasts for at least `min` and at most `max` intervals.
    Uncertainty {
        /// Upper limit of the standard error, as a share of the mean, for example 0.02.
        target: f64,
        /// Minimum number of intervals.
        min: u32,
        /// Maximum number of intervals.
        max: u32,
    },
}

impl StepLimit {
    /// Returns the maximum number of operations. Returns `None` if the limit does not state a
    /// number.
    pub fn operations(self) -> Option<u64> {
        match self {
            StepLimit::Operations(count) | StepLimit::Either(count, _) => Some(count),
            StepLimit::Duration(_) | StepLimit::Uncertainty { .. } => None,
        }
    }
}

/// Load that a step applies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Offer {
    /// A constant number of operations in flight.
    Threads(u32),
    /// An increasing number of operations in flight, from `from` up to `to`. If `until_flat` is
    /// true, the increase stops when the rate no longer grows.
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
        /// True if latency is measured from the send. The latency then excludes the time for which
        /// an operation waits because the client has fallen behind.
        hides_wait: bool,
    },
}

/// Connection settings. If the import does not state a setting, its field is empty.
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
    /// True if the import requests TLS.
    pub tls: Option<bool>,
    /// Compression of CQL frames.
    pub compression: Option<cql::Compression>,
    /// Number of connections that the tool opens to each node in total.
    pub connections_per_node: Option<u32>,
    /// Data center of the nodes that the client contacts. The client does not contact nodes of
    /// other data centers.
    pub datacenter: Option<String>,
}

/// A text that must never appear in output, such as a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text that must not be shown.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// Returns the text itself, so that the client can send it.
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
            tool.without_secrets(&words, "cassandra").join(" ")
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
            (
                Tool::Stress,
                "write n=1 -jmx user=u password=x -transport keystore-password=y -node u:z@h",
                "write n=1 -jmx user=u password=*** -transport keystore-password=*** -node u:***@h",
            ),
            (
                Tool::Stress,
                "user profile=p ops(get_password=1,secret=2) n=1",
                "user profile=p ops(get_password=1,secret=2) n=1",
            ),
            (
                Tool::Ycsb,
                "load -p javax.net.ssl.trustStorePassword=x -p cassandra.passwort:y",
                "load -p javax.net.ssl.trustStorePassword=*** -p cassandra.passwort:***",
            ),
            (
                Tool::Easy,
                "run KeyValue --passwd x --Password y --partitions 5",
                "run KeyValue --passwd *** --Password *** --partitions 5",
            ),
        ] {
            assert_eq!(hidden(tool, line), expected);
        }
    }
}
