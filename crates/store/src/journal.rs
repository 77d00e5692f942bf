//! The journal has one record per line, and a checksum chains each line to the line before it.
//!
//! A line ends with `"chain"`, which is the first 16 digits of the SHA-256 of the previous line's
//! chain and of the line's own text. So a reader detects changed, duplicated and removed lines
//! anywhere, even in a run that has not ended. The reader skips and reports damaged lines and reads
//! all other lines, because the trials' findings are in separate files. Lines of earlier versions
//! have no chain, so the reader checks each of them alone.

use crate::event::JournalRecord;
use crate::file_digests;
use crate::ndjson::{LINE_BYTES_MAX, LineWriter};
use anyhow::{Context, Result, ensure};
use foreign::FileKind;
use std::path::Path;

const KEY: &str = ",\"chain\":\"";
const DIGITS: usize = 16;
/// Length in bytes of the end of a line, `","chain":"0123456789abcdef"}`.
const TAIL: usize = KEY.len() + DIGITS + 2;
/// Maximum number of values in a journal, counted by their commas. A trial has about ten records of
/// five values. In memory, a value takes more space than in the file.
const VALUES_MAX: usize = 400_000;
/// Maximum number of damaged lines that the reader describes one by one.
const DAMAGED_MAX: usize = 1000;

#[derive(Debug)]
pub(crate) struct JournalWriter {
    lines: LineWriter,
    chain: String,
}

impl JournalWriter {
    /// Continues the journal in the file `lines`. `chain` is the chain of the last line of the
    /// file.
    pub(crate) fn new(lines: LineWriter, chain: String) -> JournalWriter {
        JournalWriter { lines, chain }
    }

    /// Appends one record, and waits until the record is on disk.
    pub(crate) fn append(&mut self, record: &JournalRecord) -> Result<()> {
        let mut line = serde_json::to_string(record).context("encode a line of the journal")?;
        let chain = file_digests::short([self.chain.as_bytes(), line.as_bytes()]);
        line.truncate(line.len() - 1);
        line += &format!("{KEY}{chain}\"}}\n");
        self.lines.append_text(&line)?;
        self.lines.sync()?;
        self.chain = chain;
        Ok(())
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Journal {
    pub(crate) records: Vec<JournalRecord>,
    /// The first damaged lines, each as its number, starting at 1, and a sentence about the damage.
    /// If more than [`DAMAGED_MAX`] lines are damaged, the last item covers all further lines.
    pub(crate) damaged: Vec<(usize, String)>,
    /// Sentence about an incomplete last line, which the writer leaves if it is killed. `None` if
    /// the last line is complete.
    pub(crate) torn: Option<String>,
    /// True if the lines have a chain. In this case, the run also has checksums.
    pub(crate) chained: bool,
    /// Chain of the last line, which the next line continues.
    pub(crate) chain: String,
}

impl Journal {
    /// Reads the journal at `path`. A missing journal is read as an empty journal.
    pub(crate) fn read(path: &Path) -> Result<Journal> {
        let bytes = match foreign::read(FileKind::Journal, path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(e) if foreign::is_no_file(&e) => {
                let said = format!("{} is {}", path.display(), crate::file_digests::NO_FILE);
                return Ok(Journal {
                    damaged: vec![(1, said)],
                    ..Journal::default()
                });
            }
            Err(e) => return Err(e).with_context(|| format!("read {}", path.display())),
        };
        let mut journal = Journal::default();
        // Chains that the next line may continue. `None` if the previous line does not determine
        // them.
        let mut before = Some(vec![String::new()]);
        let mut values_count = 0;
        for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let place = format!("{} line {}", path.display(), index + 1);
            let Some(line) = line.strip_suffix(b"\n") else {
                journal.torn = Some(format!(
                    "{place} ends in the middle of a line (the writer stopped); cassay omits its \
                     {} bytes",
                    line.len()
                ));
                break;
            };
            values_count += line.iter().filter(|byte| **byte == b',').count();
            ensure!(
                values_count <= VALUES_MAX,
                "{place}: a journal has at most {VALUES_MAX} values; hint: remove this run, \
                 because cassay did not write the file"
            );
            let read = if line.len() > LINE_BYTES_MAX {
                Line::too_long(line.len())
            } else {
                Line::read(line, before.as_deref(), journal.chained)
            };
            before = read.after;
            match read.record {
                Ok(record) => {
                    journal.chained |= read.chain.is_some();
                    journal.records.push(record);
                }
                Err(why) => {
                    let said = match journal.damaged.len() {
                        DAMAGED_MAX => format!("cassay omits {place} and further damaged lines"),
                        _ => format!("{place} is damaged, so cassay omits it: {why}"),
                    };
                    if journal.damaged.len() <= DAMAGED_MAX {
                        journal.damaged.push((index + 1, said));
                    }
                }
            }
            if let Some(chain) = read.chain {
                journal.chain = chain;
            }
        }
        Ok(journal)
    }
}

struct Line {
    record: Result<JournalRecord, String>,
    chain: Option<String>,
    after: Option<Vec<String>>,
}

impl Line {
    fn too_long(bytes: usize) -> Line {
        Line {
            record: Err(format!(
                "it has {bytes} bytes; the limit is {LINE_BYTES_MAX}"
            )),
            chain: None,
            after: None,
        }
    }

    /// Parses a line. `before` contains the chains that the line may continue, or `None` if any
    /// chain is allowed. `chained` is true if an earlier line had a chain.
    fn read(line: &[u8], before: Option<&[String]>, chained: bool) -> Line {
        let parsed = || serde_json::from_slice(line).map_err(|e: serde_json::Error| e.to_string());
        let Some((body, stated)) = split(line) else {
            let record = parsed();
            let record = match (chained, record) {
                (true, Ok(_)) => {
                    Err("the line has no checksum that includes the previous line".to_owned())
                }
                (_, record) => record,
            };
            // After a line without a chain, the next line either has no chain or is the first line
            // with a chain.
            let after = record.is_ok().then(|| vec![String::new()]);
            return Line {
                record,
                chain: None,
                after,
            };
        };
        let chain_to = |before: &String| file_digests::short([before.as_bytes(), body.as_bytes()]);
        let record = match before {
            Some(before) if !before.iter().any(|one| chain_to(one) == stated) => {
                Err("the line was changed, or another line was removed before this line".to_owned())
            }
            _ => parsed(),
        };
        let mut after = vec![stated.clone()];
        after.extend(before.into_iter().flatten().map(chain_to));
        Line {
            record,
            chain: Some(stated),
            after: Some(after),
        }
    }
}

/// Splits a line into its text without the chain, and its chain. Returns `None` if the line has no
/// chain.
fn split(line: &[u8]) -> Option<(String, String)> {
    let text = std::str::from_utf8(line).ok()?;
    let (body, tail) = text.split_at_checked(text.len().checked_sub(TAIL)?)?;
    let digits = tail.strip_prefix(KEY)?.strip_suffix("\"}")?;
    let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    digits.chars().all(is_digit).then(|| (format!("{body}}}"), digits.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::JournalEvent;

    fn text() -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        let lines = LineWriter::open(&path).unwrap();
        let mut writer = JournalWriter::new(lines, String::new());
        for event in ["a", "b", "c", "d"] {
            let record = JournalRecord {
                unix_ns: 1,
                trial: None,
                event: JournalEvent::Unknown {
                    event: event.to_owned(),
                    detail: Some(r#"{"n":1}"#.to_owned()),
                },
            };
            writer.append(&record).unwrap();
        }
        std::fs::read_to_string(&path).unwrap()
    }

    /// Reads a journal from `text`. Returns the events, and the numbers of the skipped lines.
    fn read(text: &[u8]) -> (String, Vec<usize>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        std::fs::write(&path, text).unwrap();
        let journal = Journal::read(&path).unwrap();
        let events = journal.records.iter().map(|record| record.event.name());
        let lines = journal.damaged.iter().map(|(line, _)| *line);
        (events.collect(), lines.collect())
    }

    #[test]
    fn a_written_journal_is_read() {
        assert_eq!(read(text().as_bytes()), ("abcd".to_owned(), vec![]));
    }

    #[test]
    fn many_damaged_lines_are_described_once() {
        let all = text() + &"x\n".repeat(5000) + &text();
        let (events, lines) = read(all.as_bytes());
        assert!(events.starts_with("abcd"), "{events}");
        assert_eq!((lines.len(), lines[0], lines[1000]), (1001, 5, 1005));
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped() {
        let long = format!(
            "{{\"unix_ns\":1,\"event\":\"{}\"}}\n",
            "e".repeat(LINE_BYTES_MAX)
        );
        let (events, lines) = read((text() + &long).as_bytes());
        assert_eq!((events.as_str(), lines), ("abcd", vec![5]));
    }

    #[test]
    fn a_journal_of_too_many_values_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        let line = "{\"unix_ns\":1,\"event\":\"a\"}\n";
        std::fs::write(&path, line.repeat(VALUES_MAX + 1)).unwrap();
        let said = format!("{:#}", Journal::read(&path).unwrap_err());
        assert!(
            said.contains("line 400001: a journal has at most"),
            "{said}"
        );
    }

    #[test]
    fn a_changed_line_is_left_out_and_the_others_are_read() {
        let text = text();
        assert_eq!(
            read(text.replacen("\"b\"", "\"x\"", 1).as_bytes()),
            ("acd".to_owned(), vec![2])
        );
        let torn = text.replacen("\"event\":\"b\",\"detail\":{\"n\":1}", "", 1);
        assert_eq!(read(torn.as_bytes()), ("acd".to_owned(), vec![2]));
        let glued = text.replacen(",\"event\":\"b\"", "{\"unix_ns\":1,", 1);
        assert_eq!(read(glued.as_bytes()), ("acd".to_owned(), vec![2]));
        let lines: Vec<&str> = text.lines().collect();
        let half = format!(
            "{}\n{}\n{}\n{}\n",
            lines[0],
            &lines[1][..20],
            lines[2],
            lines[3]
        );
        assert_eq!(read(half.as_bytes()), ("acd".to_owned(), vec![2]));
    }

    #[test]
    fn a_line_that_is_doubled_or_taken_out_is_seen() {
        let text = text();
        let lines: Vec<&str> = text.lines().collect();
        let of = |order: &[usize]| {
            let text: String = order.iter().map(|at| format!("{}\n", lines[*at])).collect();
            read(text.as_bytes())
        };
        assert_eq!(of(&[0, 1, 1, 2, 3]), ("abcd".to_owned(), vec![3]));
        assert_eq!(of(&[0, 2, 3]), ("ad".to_owned(), vec![2]));
        assert!(!of(&[0, 2, 1, 3]).1.is_empty());
    }

    /// Changes each byte of a journal in turn. The reader must report each change, and return the
    /// undamaged lines unchanged.
    #[test]
    fn no_changed_byte_passes() {
        let text = text();
        for at in 0..text.len() {
            for change in [1, 0x20] {
                let mut bytes = text.clone().into_bytes();
                bytes[at] ^= change;
                let (events, damaged) = read(&bytes);
                let torn = at == text.len() - 1;
                assert!(torn || !damaged.is_empty(), "byte {at}");
                assert!(events.chars().all(|c| "abcd".contains(c)), "{events}");
            }
        }
    }

    #[test]
    fn lines_of_earlier_versions_are_read_and_then_followed() {
        let old = "{\"unix_ns\":1,\"event\":\"y\"}\n{\"unix_ns\":2,\"event\":\"z\"}\n";
        assert_eq!(read(old.as_bytes()), ("yz".to_owned(), vec![]));
        let both = old.to_owned() + &text();
        assert_eq!(read(both.as_bytes()), ("yzabcd".to_owned(), vec![]));
        let damaged =
            "{\"unix_ns\":1,\"event\":\"y\"}\n{\"unix_\n{\"unix_ns\":2,\"event\":\"z\"}\n";
        assert_eq!(read(damaged.as_bytes()), ("yz".to_owned(), vec![2]));
    }
}
