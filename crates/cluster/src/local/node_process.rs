//! A managed node: its process, how the process ended, and relevant log lines.

use super::settings::NodeLayout;
use anyhow::Result;
use cassandra::Jolokia;
use host::process::Identity;
use host::{Agent, Entry, From, ProcessEnd};
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;

/// Number of log lines in an error, enough for an exception with its cause.
const LOG_LINES_COUNT: usize = 25;

const LOG_CHARS_SHOWN: usize = 300;

/// Number of bytes at the end of a log in which cassay searches for the lines of an error. A line
/// may have 15 kB.
const LOG_BYTES: u64 = 256 << 10;

const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

#[derive(Debug)]
pub(crate) struct LocalNode {
    pub layout: NodeLayout,
    pub jolokia: Option<Jolokia>,
    /// Agent on the node's host.
    pub host: Arc<Agent>,
    /// `None` before the start, and while the node is stopped.
    pub process: Option<Identity>,
    /// Number of starts. `None` until cassay reads the number from the log names.
    pub starts: Option<usize>,
}

/// Managed node that has ended or cannot be reached.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{name} {how}")]
pub struct NodeDied {
    pub name: String,
    /// Reason. For a node that has died, also the last lines of its log.
    pub how: String,
}

impl LocalNode {
    pub fn cql_address(&self) -> SocketAddr {
        SocketAddr::from((self.layout.address, self.layout.ports.cql))
    }

    /// Describes how the process ended. Returns `None` if the process runs, or the node has no
    /// process.
    pub fn died(&self) -> Option<NodeDied> {
        Some(match self.host.how_ended(self.process?)? {
            ProcessEnd::Status(status) => {
                let log_tail = self.log_tail();
                let why = explain(status, &log_tail);
                let complaints = match status.signal() {
                    // Another process sent the signal, so the node's log does not contain the
                    // reason.
                    Some(SIGKILL | SIGTERM) => String::new(),
                    _ => complaints(&log_tail),
                };
                self.gone(if complaints.is_empty() {
                    format!("has died ({why})")
                } else {
                    format!("died ({why}); its last log lines:\n{complaints}")
                })
            }
            ProcessEnd::WithItsAgent(why) => {
                self.gone(format!("ended because the agent of its host ended ({why})"))
            }
            ProcessEnd::OutOfReach(why) => self.lost(&format!(
                "the connection to {} is broken ({why}); the node ends by itself within {} s",
                self.layout.host,
                host::agent::LEASE_S
            )),
        })
    }

    pub fn lost(&self, why: &str) -> NodeDied {
        self.gone(format!("is unreachable: {why}"))
    }

    fn gone(&self, how: String) -> NodeDied {
        NodeDied {
            name: self.layout.name.clone(),
            how,
        }
    }

    /// Returns the number of starts, according to the names of the garbage collector logs.
    ///
    /// # Errors
    /// The logs of the node cannot be listed.
    pub fn starts_count(&self) -> Result<usize> {
        let entries = self.host.list(&self.layout.logs(), None)?;
        let number = |entry: Entry| -> Option<usize> {
            let number = entry.name.strip_prefix(GC_LOG)?.strip_suffix(".log")?;
            number.parse().ok()
        };
        let numbers = entries.into_iter().flatten().filter_map(number);
        Ok(numbers.max().unwrap_or(0))
    }

    /// Returns the last lines of the JVM's output and of the server's log.
    pub fn log_tail(&self) -> String {
        let end = |name: &str| {
            let path = self.layout.logs().join(name);
            match self.host.piece(&path, From::End(LOG_BYTES)) {
                // A log may contain invalid UTF-8.
                Ok(piece) => {
                    piece.map(|piece| String::from_utf8_lossy(&piece.bytes.0).into_owned())
                }
                Err(error) => Some(format!("{} is unreachable: {error:#}", path.display())),
            }
        };
        last_lines(&[OUTPUT, "system.log"].map(|name| end(name).unwrap_or_default()))
    }
}

const GC_LOG: &str = "gc-";

/// Returns the name of the garbage collector log for a start, counted from 1. The JVM overwrites
/// existing files, so each start has a separate log.
pub(super) fn gc_log_name(start: usize) -> String {
    format!("{GC_LOG}{start}.log")
}

/// File for the JVM's own output, in the node's log folder.
pub(super) const OUTPUT: &str = "jvm.log";

/// Joins texts, and returns the last lines for an error. Omits empty lines, and shortens and
/// indents the others.
fn last_lines(texts: &[String]) -> String {
    let mut lines = Vec::new();
    for text in texts {
        let kept = text.lines().filter(|line| !line.trim().is_empty());
        lines.extend(kept.map(|line| {
            // The server logs its whole configuration as one line of 15 kB.
            let shown: String = line.chars().take(LOG_CHARS_SHOWN).collect();
            format!("  {shown}")
        }));
    }
    let first = lines.len().saturating_sub(LOG_LINES_COUNT);
    lines[first..].join("\n")
}

/// Returns the warnings and errors in a log with their continuation lines. Also returns the lines
/// before the first log level, which are output of a JVM that failed to start.
fn complaints(log: &str) -> String {
    let level = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
    let is_usual = |line: &str| ["INFO", "DEBUG", "TRACE"].contains(&level(line).as_str());
    let mut is_of_usual = false;
    let lines = log.lines().filter(|line| {
        let begins = ["INFO", "DEBUG", "TRACE", "WARN", "ERROR"].contains(&level(line).as_str());
        if begins {
            is_of_usual = is_usual(line);
        }
        !is_of_usual
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Describes an exit status with its most likely cause.
fn explain(status: std::process::ExitStatus, log_tail: &str) -> String {
    let hint = if status.signal() == Some(SIGKILL) {
        "; another process or the kernel (for lack of memory) killed the node: see `dmesg`"
    } else if log_tail.contains("OutOfMemoryError") {
        "; the heap or the direct memory of the node was too small: set a larger heap"
    } else if log_tail.contains("Could not reserve enough space") {
        "; the machine has too little memory for the heap: set a smaller heap, or use fewer nodes"
    } else if log_tail.contains("Address already in use") {
        "; another process now uses a port of the node: run the command again"
    } else if log_tail.contains("Unrecognized VM option")
        || log_tail.contains("Unrecognized option")
    {
        "; this Java does not support one of the JVM options, which the log lines name"
    } else if log_tail.contains("No space left on device") {
        "; the data volume of the node is full"
    } else if log_tail.contains("Unable check disk space in") {
        "; Java does not find the file system of the node's folders, for example in a chroot whose \
         root folder is not a mount point: run `mount --bind ROOT ROOT` before `chroot ROOT`"
    } else if log_tail.contains("ConfigurationException") {
        return match refused_setting(log_tail) {
            Some((key, why)) => {
                format!("Cassandra refuses `{key}` of cassandra.yaml: {why}; {status}")
            }
            None => match innermost_cause(log_tail) {
                Some(cause) => {
                    format!("Cassandra refuses a setting of cassandra.yaml: {cause}; {status}")
                }
                None => format!("{status}; Cassandra refuses a setting of cassandra.yaml"),
            },
        };
    } else {
        ""
    };
    format!("{status}{hint}")
}

/// Returns true for a frame of a Java stack trace, such as `at org…(Main.java:1)` or `... 7 common
/// frames omitted`.
fn is_frame(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("at ") || line.starts_with("... ") || line.starts_with('\u{2026}')
}

/// Returns the message of the innermost cause in a Java stack trace, which describes the problem.
/// The outer causes only name the methods that rethrew the exception.
fn innermost_cause(log: &str) -> Option<&str> {
    let mut causes = log.lines().filter_map(|line| line.trim().strip_prefix("Caused by: "));
    let cause = causes.next_back()?;
    let message = cause.split_once(": ").map_or(cause, |(_, message)| message).trim();
    (!message.is_empty()).then_some(message)
}

/// Returns the key of cassandra.yaml that the server rejects, and the reason. The message about a
/// wrong type comes from the YAML parser. Other messages come from the server's own checks, and
/// begin with the key.
fn refused_setting(log: &str) -> Option<(String, String)> {
    const SIGNS: [&str; 3] = [
        "Cannot create property=",
        "Unable to find property ",
        "remove properties ",
    ];
    let lines: Vec<&str> = log.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        let rest = SIGNS.iter().find_map(|sign| Some(line.split_once(sign)?.1));
        let Some(rest) = rest else {
            continue;
        };
        // The reason is on the same line, or one or two lines below.
        let same = rest.split_once("; ").map(|(_, why)| why);
        let below = lines[index + 1..].iter().map(|line| line.trim());
        let mut below =
            below.filter(|line| !(line.is_empty() || line.starts_with("in '") || is_frame(line)));
        let cause = innermost_cause(log);
        let why = same.or(cause).or_else(|| below.next()).unwrap_or(line).trim();
        return Some((key_of(rest), why.to_string()));
    }
    let (_, message) = log.split_once("ConfigurationException: ")?;
    let message = message.lines().next()?.trim();
    let key = key_of(message);
    // Only a key contains an underscore, unlike the first word of other messages.
    key.contains('_').then(|| (key, message.to_string()))
}

/// Returns the key at the start of a text, without quotes.
fn key_of(text: &str) -> String {
    let text = text.trim_start_matches(['\'', '"', '[', '`', ' ']);
    let inside = |c: &char| c.is_ascii_alphanumeric() || "._".contains(*c);
    text.chars().take_while(inside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Earlier, 25 lines of routine statistics hid the relevant line after a node was killed.
    #[test]
    fn of_a_node_that_has_died_only_complaints_are_repeated() {
        let usual = "  INFO  [x] StatusLogger.java:65 - MutationStage 0\n    and more of it";
        let error = "  ERROR [x] StorageService.java:1 - Stopping\n  java.io.IOError: no";
        let late = "  WARN  [x] - late";
        let log = format!("{usual}\n{error}\n  DEBUG [x] - usual\n{late}");
        let expected = format!("{error}\n{late}");
        assert_eq!(complaints(&log), expected);
        assert_eq!(complaints("  INFO  [x] - all is well"), "");
        assert_eq!(
            complaints("Unrecognized VM option"),
            "Unrecognized VM option"
        );
    }

    #[test]
    fn the_end_of_the_log_is_shown_with_short_lines() {
        let lines: Vec<String> =
            (0..100).map(|n| format!("line {n}{}\n", "x".repeat(1000))).collect();
        let jvm = "from the JVM\n".to_string();
        let tail = last_lines(&[jvm.clone(), lines.concat()]);
        assert_eq!(tail.lines().count(), LOG_LINES_COUNT);
        assert!(tail.lines().last().unwrap().starts_with("  line 99xxx"));
        assert!(tail.lines().all(|line| line.chars().count() <= LOG_CHARS_SHOWN + 2));
        assert_eq!(last_lines(&[jvm, String::new()]), "  from the JVM");
    }

    #[test]
    fn the_key_that_the_server_refuses_is_named_first() {
        use std::os::unix::process::ExitStatusExt;
        let status = || std::process::ExitStatus::from_raw(3 << 8);
        let cases = [
            (
                "org.apache.cassandra.exceptions.ConfigurationException: Invalid yaml: file:/c\n \
                 Error: Cannot create property=concurrent_reads for JavaBean=Config@1; For input \
                 string: \"x\"; in 'reader', line 1\n\tat a.b.C(D.java)",
                "Cassandra refuses `concurrent_reads` of cassandra.yaml: For input string",
            ),
            (
                "ConfigurationException: Invalid yaml. Please remove properties [unheard_of] from \
                 your cassandra.yaml",
                "Cassandra refuses `unheard_of` of cassandra.yaml",
            ),
            (
                "x.ConfigurationException: concurrent_writes must be at least 2, but was 1\n\tat a",
                "Cassandra refuses `concurrent_writes` of cassandra.yaml: concurrent_writes must \
                 be at",
            ),
        ];
        let trace = [
            "x.ConfigurationException: Invalid yaml: file:/c",
            " Error: Cannot create property=permissions_validity for JavaBean=Config@1",
            "\tat a.b.C(D.java:141)",
            "\t... 7 common frames omitted",
            "Caused by: x.YAMLException: no",
            "\tat a.b(E.java)",
            "Caused by: java.lang.IllegalArgumentException: Invalid duration: 2000 Accepted units",
        ]
        .join("\n");
        let cases = cases.into_iter().chain([
            (
                &*trace,
                "Cassandra refuses `permissions_validity` of cassandra.yaml: Invalid duration: \
                 2000",
            ),
            (
                "x.ConfigurationException: Bad\nCaused by: y.Z: Invalid data storage: -1MiB",
                "Cassandra refuses a setting of cassandra.yaml: Invalid data storage: -1MiB",
            ),
        ]);
        for (log, expected) in cases {
            let text = explain(status(), log);
            assert!(text.starts_with(expected), "{text}");
        }
        let unknown = explain(status(), "ConfigurationException: Something is not right");
        assert_eq!(
            unknown,
            "exit status: 3; Cassandra refuses a setting of cassandra.yaml"
        );
    }

    #[test]
    fn an_exit_status_is_explained_where_the_log_tells_why() {
        use std::os::unix::process::ExitStatusExt;
        let status = std::process::ExitStatus::from_raw;
        assert!(explain(status(9), "").contains("for lack of memory"));
        let in_chroot = "x.ConfigurationException: Unable check disk space in '/data'. Perhaps";
        assert!(explain(status(3 << 8), in_chroot).contains("mount --bind"));
        let text = explain(
            status(3 << 8),
            "java.lang.OutOfMemoryError: Java heap space",
        );
        assert!(
            text.contains("exit status: 3") && text.contains("larger heap"),
            "{text}"
        );
        assert_eq!(explain(status(1 << 8), "nothing known"), "exit status: 1");
    }
}
