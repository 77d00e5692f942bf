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
/// the first line has the start of an event. A line of another message ends the event.
#[derive(Debug, Default)]
pub(crate) struct EventLines {
    held: String,
    is_too_long: bool,
}

impl EventLines {
    /// Adds a line without its line break. If the line begins a new event or another message,
    /// returns the previous event.
    pub fn take(&mut self, line: &str) -> Option<Result<String, EventTooLong>> {
        if let Some(event) = begin(line) {
            let ended = self.finish();
            self.held.push_str(event);
            return ended;
        }
        if is_other_message(line) {
            return self.finish();
        }
        if !self.held.is_empty() {
            self.is_too_long |= self.held.len() + line.len() >= EVENT_BYTES_MAX;
            if !self.is_too_long {
                self.held.push('\n');
                self.held.push_str(line);
            }
        }
        None
    }

    /// Returns the last event.
    pub fn finish(&mut self) -> Option<Result<String, EventTooLong>> {
        let held = std::mem::take(&mut self.held);
        let is_too_long = std::mem::take(&mut self.is_too_long);
        match held.is_empty() {
            true => None,
            false if is_too_long => Some(Err(EventTooLong)),
            false => Some(Ok(held)),
        }
    }
}

/// Maximum length of an event and of a line, in bytes. Cassandra refuses a mutation of more than
/// 16 MiB. As a literal in a statement, a blob takes twice its length.
pub(crate) const EVENT_BYTES_MAX: usize = 32 << 20;

/// Error for an event that is longer than any statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventTooLong;

/// Returns the part of a line after the level, thread and time, with which an event begins. Returns
/// `None` if no event begins in the line.
fn begin(line: &str) -> Option<&str> {
    let at = line.find(BEGINS)?;
    let (before, event) = line.split_at(at);
    let is_first = before.is_empty() || before.ends_with(" - ");
    (is_first && event.contains("|timestamp:")).then_some(event)
}

/// Returns true if a line has the form of a log message: a level, a thread in brackets and a date.
/// Some layouts begin with the date. A line of a statement may begin with one of these parts.
fn is_other_message(line: &str) -> bool {
    const LEVELS: [&str; 5] = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR"];
    let level = LEVELS.iter().find_map(|level| line.strip_prefix(level));
    let date = match level.map(|rest| rest.trim_start_matches(' ')) {
        Some(rest) if rest.starts_with('[') => rest
            .match_indices("] ")
            .map(|(at, _)| &rest[at + 2..])
            .find(|rest| is_time(rest)),
        Some(_) => None,
        None => Some(line),
    };
    date.is_some_and(is_time)
}

/// Returns true if a text begins with a date and a time, such as `2026-11-26 13:36:37`.
fn is_time(text: &str) -> bool {
    const FORM: &[u8] = b"0000-00-00 00:00:00";
    let same = |(byte, form): (&u8, &u8)| match form {
        b'0' => byte.is_ascii_digit(),
        b' ' => matches!(byte, b' ' | b'T'),
        form => byte == form,
    };
    text.len() >= FORM.len() && text.as_bytes().iter().zip(FORM).all(same)
}

/// Returns the time of the event that begins in a line, in ms since 1970. Returns `None` if no
/// event begins in the line.
pub(crate) fn begin_ms(line: &str) -> Option<u64> {
    match read(begin(line)?) {
        Entry::Request(request) => Some(request.at_ms),
        Entry::Other(_, at_ms) => Some(at_ms),
    }
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
        let events = events(text);
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
        assert_eq!(text.lines().next().and_then(begin_ms), Some(17));
        assert_eq!(begin_ms("study: s"), None);
    }

    /// An earlier version added the lines of other messages to the statement.
    #[test]
    fn a_line_of_another_message_ends_an_event() {
        for other in [
            "INFO  [GossipStage:1] 2026-11-26 13:36:37,002 Gossiper.java:1302 - UP",
            "WARN  [x [y] z] 2026-11-26T13:36:37,002 A.java:1 - slow\n\tat x.y(Z.java:1)",
            "2026-11-26 13:36:37 INFO slow",
        ] {
            let event = "user:a|timestamp:1|type:SELECT|ks:k|operation:SELECT 1";
            assert_eq!(
                events(&format!("{event}\n{other}\n{event}\n")),
                [event, event]
            );
        }
        let event = "user:a|timestamp:1|type:SELECT|ks:k|operation:SELECT 'a\nINFO [b] c\n2026-'";
        assert_eq!(events(event), [event]);
    }

    fn events(text: &str) -> Vec<String> {
        let mut lines = EventLines::default();
        let mut events: Vec<_> = text.lines().filter_map(|line| lines.take(line)).collect();
        events.extend(lines.finish());
        events.into_iter().map(|event| event.unwrap()).collect()
    }

    #[test]
    fn an_event_longer_than_any_statement_is_not_shortened() {
        let mut lines = EventLines::default();
        assert_eq!(lines.take("user:a|timestamp:1|operation:"), None);
        let line = "x".repeat(EVENT_BYTES_MAX / 2);
        assert_eq!((lines.take(&line), lines.take(&line)), (None, None));
        assert_eq!(lines.finish(), Some(Err(EventTooLong)));
        assert_eq!(lines.finish(), None);
    }
}
