//! Reads the events of a text audit log, and guesses the format of other files.
//!
//! Invariant: an event whose end is unknown is left out. A statement without its end may change
//! other rows than the statement that the server executed.

use crate::audit_line::{self, EVENT_BYTES_MAX, EventLines, EventTooLong};
use foreign::{FileKind, Hole, LineEnd, Source, TextLines};
use std::io::{self, Read};
use std::path::Path;

/// Number of bytes at the start of a text file in which the first event must be. A `system.log`
/// begins with the messages of the start. Cassandra limits the file to 50 MB.
const SEARCH_BYTES: u64 = 64 << 20;
/// Maximum length of a line in the search for the first event, in bytes. Other files may have
/// longer lines.
const SEARCHED_LINE_BYTES: usize = 4 << 20;
/// Number of bytes at the start of a file from which its format is guessed.
const HEAD_BYTES: u64 = 4096;

pub(crate) struct AuditText<R> {
    lines: TextLines<R>,
    events: EventLines,
    /// Reason why the event after the current one is left out.
    lost: Option<&'static str>,
    hole: Option<Hole>,
    holes: u64,
    is_cut: bool,
}

pub(crate) enum AuditStep {
    Event(String),
    /// An event that is left out, with the reason.
    Lost(&'static str),
    End,
}

impl<R: Source> AuditText<R> {
    /// Creates a reader of the events in `input`.
    pub fn new(input: R) -> AuditText<R> {
        AuditText {
            lines: TextLines::new(input, EVENT_BYTES_MAX),
            events: EventLines::default(),
            lost: None,
            hole: None,
            holes: 0,
            is_cut: false,
        }
    }

    /// Returns the number of bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.lines.bytes()
    }

    /// Returns the next event.
    ///
    /// # Errors
    /// The file cannot be read, or has a line that is longer than any statement.
    pub fn next_step(&mut self) -> io::Result<AuditStep> {
        if let Some(why) = self.lost.take() {
            return Ok(AuditStep::Lost(why));
        }
        loop {
            let Some(line) = self.lines.next_line()? else {
                return Ok(self.events.finish().map_or(AuditStep::End, from_event));
            };
            let ended = self.events.take(&line.text());
            match line.end {
                LineEnd::Feed => {}
                LineEnd::File => {
                    self.is_cut = self.events.finish().is_some();
                    self.lost = self.is_cut.then_some("the file ends within it");
                }
                LineEnd::Hole(hole) => {
                    self.hole.get_or_insert(hole);
                    self.holes += 1;
                    let is_lost = self.events.finish().is_some();
                    self.lost = is_lost.then_some("a hole follows it");
                }
            }
            if let Some(event) = ended {
                return Ok(from_event(event));
            }
            if let Some(why) = self.lost.take() {
                return Ok(AuditStep::Lost(why));
            }
        }
    }

    /// Returns notes about the parts of the file that were left out. A note is a sentence without
    /// its subject, which is the file.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(hole) = self.hole {
            let more = match self.holes {
                1 => String::new(),
                holes => format!(", and {} more", holes - 1),
            };
            notes.push(format!(
                "has {hole}{more}; some requests of the cluster may be missing"
            ));
        }
        if self.is_cut {
            notes.push(
                "ends in the middle of a line: cassay left out the last event, because its \
                 statement may be truncated"
                    .to_owned(),
            );
        }
        notes
    }
}

fn from_event(event: Result<String, EventTooLong>) -> AuditStep {
    match event {
        Ok(event) => AuditStep::Event(event),
        Err(EventTooLong) => AuditStep::Lost("it is longer than any statement"),
    }
}

/// Returns the time of the first event of a text audit log, in ms since 1970. Returns `None` if the
/// file is not a text audit log.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn first_ms(path: &Path) -> io::Result<Option<u64>> {
    let file = foreign::open(FileKind::QueryLog, path)?;
    first_ms_of(TextLines::new(file, SEARCHED_LINE_BYTES))
}

fn first_ms_of(mut lines: TextLines<impl Source>) -> io::Result<Option<u64>> {
    while lines.bytes() < SEARCH_BYTES {
        match lines.next_line() {
            Ok(Some(line)) => {
                if let Some(ms) = audit_line::begin_ms(&line.text()) {
                    return Ok(Some(ms));
                }
            }
            Ok(None) => break,
            // The file has a line that is too long for a text.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => break,
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Formats of files that users confuse with a log. Each row has a test on the first bytes, the name
/// of the format, and the way to a log that cassay reads.
type Format = (fn(&[u8], &str) -> bool, &'static str, &'static str);

const FORMATS: &[Format] = &[
    (
        |bytes, _| bytes.is_empty(),
        "an empty file",
        "copy the log after `nodetool disablefullquerylog` or `disableauditlog`",
    ),
    (
        |bytes, _| bytes.starts_with(&[0x1F, 0x8B]),
        "a gzip archive",
        "unpack it with `gunzip -k`",
    ),
    (
        |bytes, _| bytes.starts_with(b"PK\x03\x04"),
        "a zip archive",
        "unpack it with `unzip`",
    ),
    (
        |bytes, _| bytes.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]),
        "a Zstandard archive",
        "unpack it with `unzstd`",
    ),
    (
        |bytes, _| matches!(bytes, [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..]),
        "UTF-16 text",
        "convert it with `iconv -f UTF-16 -t UTF-8`",
    ),
    (
        |_, text| text.starts_with("Type: audit") && text.contains("\nLogMessage: "),
        "the output of `auditlogviewer`",
        "pass the files that this program read",
    ),
    (
        |_, text| text.starts_with("Type: ") && text.contains("\nQuery start time: "),
        "the output of `fqltool dump`",
        "pass the files `*.cq4` that this program read",
    ),
    (
        |_, text| text.contains("user:") && text.contains("|timestamp:"),
        "an audit log in another layout",
        "use Cassandra's layout, in which ` - ` precedes `user:`, or delete the text before it",
    ),
];

/// Returns a sentence about the format of a file that is not a log, and about the way to a log.
/// Returns `None` if the format is unknown.
pub(crate) fn format_of(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    let file = foreign::open(FileKind::QueryLog, path).ok()?;
    file.take(HEAD_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let (_, called, way) = FORMATS.iter().find(|(is, ..)| is(&bytes, &text))?;
    Some(format!("it is {called}; {way}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: &str = "user:a|timestamp:7|type:DELETE|ks:k|operation:DELETE FROM t WHERE id = 12";

    fn events(text: &[u8]) -> (Vec<String>, usize, Vec<String>) {
        let mut audit = AuditText::new(text);
        let (mut events, mut lost) = (Vec::new(), 0);
        loop {
            match audit.next_step().unwrap() {
                AuditStep::Event(event) => events.push(event),
                AuditStep::Lost(_) => lost += 1,
                AuditStep::End => return (events, lost, audit.notes()),
            }
        }
    }

    /// An earlier version replayed a `DELETE … WHERE id = 12` whose end was `345`.
    #[test]
    fn an_event_without_its_end_is_left_out_and_said() {
        let (whole, lost, notes) = events(format!("{EVENT}\n{EVENT}\n").as_bytes());
        assert_eq!((whole.len(), lost, notes.len()), (2, 0, 0));
        let (whole, lost, notes) = events(format!("{EVENT}345\n{EVENT}").as_bytes());
        assert_eq!((whole, lost), (vec![format!("{EVENT}345")], 1));
        assert!(
            notes[0].starts_with("ends in the middle of a line"),
            "{notes:?}"
        );
        for before in [
            format!("{EVENT}345\n{EVENT}"),
            format!("{EVENT}345\n{EVENT}\n"),
        ] {
            let text = [
                before.as_bytes(),
                &[0; 300],
                b"67\n",
                EVENT.as_bytes(),
                b"\n",
            ]
            .concat();
            let (whole, lost, notes) = events(&text);
            assert_eq!(whole, [format!("{EVENT}345"), EVENT.to_owned()]);
            assert_eq!(lost, 1);
            let at = format!("has a hole at byte {}: 300 bytes", before.len());
            assert!(notes[0].starts_with(&at), "{notes:?}");
        }
    }

    #[test]
    fn a_log_is_recognised_behind_the_messages_of_the_start() {
        let start = "INFO  [main] 2026-11-26 13:30:00,001 CassandraDaemon.java:51 - start\n";
        let text = start.repeat(1000) + "INFO  [x] 2026-11-26 13:30:00,001 A.java:1 - " + EVENT;
        let lines = TextLines::new(text.as_bytes(), SEARCHED_LINE_BYTES);
        assert_eq!(first_ms_of(lines).unwrap(), Some(7));
        let zeros = vec![0; SEARCHED_LINE_BYTES * 2];
        let lines = TextLines::new(&zeros[..], SEARCHED_LINE_BYTES);
        assert_eq!(first_ms_of(lines).unwrap(), None);
    }

    #[test]
    fn files_that_are_no_logs_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        for (bytes, called) in [
            (&b""[..], "an empty file"),
            (&[0x1F, 0x8B, 8], "gzip"),
            (b"PK\x03\x04", "zip"),
            (&[0xFF, 0xFE, b'I', 0], "UTF-16"),
            (
                b"Type: audit\nLogMessage: user:a|timestamp:1\n",
                "auditlogviewer",
            ),
            (b"Type: single-query\nQuery start time: 1\n", "fqltool"),
            (
                b"Nov 26 db1 cassandra: user:a|timestamp:1\n",
                "another layout",
            ),
        ] {
            std::fs::write(&path, bytes).unwrap();
            let said = format_of(&path).unwrap();
            assert!(said.contains(called), "{said}");
        }
        std::fs::write(&path, "study: s\n").unwrap();
        assert_eq!(format_of(&path), None);
    }
}
