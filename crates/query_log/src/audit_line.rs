//! Parses a line of an audit log, binary or text. A line consists of fields `name:value` separated
//! by bars. The statement is the last field.
//!
//! An audit log contains the text and the time of a statement, but neither its values nor its
//! consistency level. cassay can therefore replay only statements that have their values in the
//! text.

use crate::log_record::{Bound, Entry, Request, Why};

/// Start of the part of a line that Cassandra itself writes. The prefix of the logging framework
/// precedes this part.
pub(crate) const BEGINS: &str = "user:";

/// Parses the text that Cassandra writes for one event.
pub(crate) fn read(message: &str) -> Entry {
    let mut rest = message;
    let (mut at_ms, mut keyspace, mut in_batch) = (0, None, false);
    let (mut kind, mut category) = ("", "");
    while !rest.is_empty() {
        // The statement is the rest of the message, because the statement may itself contain bars
        // and line breaks.
        if let Some(operation) = rest.strip_prefix("operation:") {
            return event(kind, (category, in_batch), (at_ms, keyspace), operation);
        }
        let (field, behind) = rest.split_once('|').unwrap_or((rest, ""));
        match field.split_once(':') {
            Some(("timestamp", value)) => at_ms = value.parse().unwrap_or(0),
            Some(("type", value)) => kind = value,
            Some(("category", value)) => category = value,
            Some(("ks", value)) => keyspace = Some(value.to_owned()),
            Some(("batch", _)) => in_batch = true,
            _ => {}
        }
        rest = behind;
    }
    Entry::Other(Why::NoStatement, at_ms)
}

fn event(
    kind: &str,
    (category, in_batch): (&str, bool),
    (at_ms, keyspace): (u64, Option<String>),
    operation: &str,
) -> Entry {
    let why = match (kind, category) {
        ("REQUEST_FAILURE" | "UNAUTHORIZED_ATTEMPT", _) | (_, "ERROR") => Why::Failed,
        (_, "PREPARE" | "AUTH") => Why::NoStatement,
        (_, "DDL") if kind == "TRUNCATE" => Why::Administration,
        (_, "DDL") => Why::Definition,
        (_, "DCL") => Why::Administration,
        ("USE_KEYSPACE", _) => Why::Use,
        _ if in_batch => Why::AuditBatch,
        _ => {
            return Entry::Request(Request {
                at_ms,
                keyspace,
                statements: vec![Bound {
                    cql: operation.to_owned(),
                    ..Bound::default()
                }],
                ..Request::default()
            });
        }
    };
    Entry::Other(why, at_ms)
}

/// Joins the lines of a text file into events. A statement may span several lines, of which only
/// the first line has the start of an event.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    held: String,
}

impl Lines {
    /// Maximum length of an event, in bytes. The limit is the maximum length of a request, because
    /// a statement cannot be longer.
    const HELD_BYTES_MAX: usize = 256 << 20;

    /// Adds a line without its line break. If the line begins a new event, returns the previous
    /// event.
    pub fn take(&mut self, line: &str) -> Option<String> {
        let begins = begin(line);
        if let Some(event) = begins {
            let ended = std::mem::replace(&mut self.held, event.to_owned());
            return Some(ended).filter(|ended| !ended.is_empty());
        }
        if !self.held.is_empty() && self.held.len() + line.len() < Self::HELD_BYTES_MAX {
            self.held.push('\n');
            self.held.push_str(line);
        }
        None
    }

    /// Returns the last event.
    pub fn finish(&mut self) -> Option<String> {
        Some(std::mem::take(&mut self.held)).filter(|held| !held.is_empty())
    }
}

/// Returns the part of a line after the level, thread and time, with which an event begins. Returns
/// `None` if no event begins in the line.
fn begin(line: &str) -> Option<&str> {
    let at = line.find(BEGINS)?;
    let (before, event) = line.split_at(at);
    let is_first = before.is_empty() || before.ends_with(" - ");
    (is_first && event.contains("|timestamp:")).then_some(event)
}

/// Returns true if a file that begins with this text is an audit log.
pub(crate) fn is_log(text: &str) -> bool {
    text.lines().any(|line| begin(line).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_over_several_lines_with_bars_in_it_is_one_event() {
        let text = "INFO  [Native-1] 2026-11-26 13:36:37,002 FileAuditLogger.java:51 - \
                    user:a|host:/1.2.3.4:7000|source:/1.2.3.4|port:1|timestamp:17|type:SELECT|\
                    category:QUERY|ks:shop|scope:t|operation:SELECT 'a|b\nuser:x' FROM t\n\
                    INFO  [Native-1] 2026-11-26 13:36:37,003 FileAuditLogger.java:51 - \
                    user:a|host:/1.2.3.4:7000|source:/1.2.3.4|port:1|timestamp:18|type:\
                    LOGIN_SUCCESS|category:AUTH";
        let mut lines = Lines::default();
        let mut events: Vec<String> = text.lines().filter_map(|line| lines.take(line)).collect();
        events.extend(lines.finish());
        assert_eq!(events.len(), 2);
        let Entry::Request(request) = read(&events[0]) else {
            panic!("{events:?}");
        };
        assert_eq!(request.statements[0].cql, "SELECT 'a|b\nuser:x' FROM t");
        assert_eq!(
            (request.at_ms, request.keyspace.as_deref()),
            (17, Some("shop"))
        );
        assert_eq!(read(&events[1]), Entry::Other(Why::NoStatement, 18));
        assert!(is_log(text) && !is_log("study: s\n"));
    }
}
