//! Reads the files of logs in a folder, and merges their records in the order of their times.
//!
//! Invariants: the module reads each file once, from start to end, and never keeps a whole file in
//! memory. It merges the logs of several nodes while it reads them. If memory runs out, the
//! recording therefore contains the first part of all logs, and not only the first log.

use crate::audit_line::{self, Lines};
use crate::builder::{Builder, Nothing};
use crate::chronicle_file::{Queue, QueueEnd, QueueError};
use crate::log_record::{self, Entry, Why};
use crate::recording::{Choice, LogRead, Recording};
use foreign::FileKind;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Number of bytes at the start of a text file that are examined to recognize an audit log.
const HEAD_BYTES: u64 = 16 << 10;
/// Number of bytes that one read requests from the system.
const BUFFER_BYTES: usize = 1 << 20;

/// Reasons why cassay cannot make a recording from logs.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file or folder cannot be read.
    #[error("cassay cannot read {name}: {error}")]
    Unreadable {
        /// Name of the file or folder, as the user wrote it.
        name: String,
        /// Error that the system returned.
        error: io::Error,
    },
    /// The folder does not contain a log.
    #[error(
        "{0} has no query log: neither files `*.cq4` of a full query log or a binary audit log, \
         nor a text file of an audit log"
    )]
    NoLog(String),
    /// The file is not a log.
    #[error("{name} is not a query log: {why}")]
    OtherFile {
        /// Name of the file.
        name: String,
        /// The part of a log that the file lacks.
        why: String,
    },
    /// The logs contain no record that cassay can replay.
    #[error("cassay cannot replay any operation of the log{}", describe(.0))]
    Nothing(Nothing),
}

fn describe(nothing: &Nothing) -> String {
    let all: Vec<String> =
        nothing.left_out.iter().map(|(why, count)| left_out(*why, *count)).collect();
    match all.as_slice() {
        [] => ": the log contains no record".to_owned(),
        all => format!(": {}", all.join("; ")),
    }
}

/// Returns a text that states the number of records omitted for the reason `why`.
pub fn left_out(why: Why, count: u64) -> String {
    format!("{count} left out: {}", why.words())
}

/// Reads logs. `paths` contains files and folders, each with the name that the user gave. A file or
/// folder is the log of one node. If a folder contains folders, each of them is the log of one
/// node.
///
/// # Errors
/// A log does not exist or cannot be read, or the logs have no record to replay.
pub fn read(paths: &[(String, PathBuf)], choice: Choice) -> Result<Recording, ReadError> {
    let mut logs = Vec::new();
    for (name, path) in paths {
        logs.extend(logs_of(name, path)?);
    }
    let mut builder = Builder::new(choice);
    merge(&mut logs, &mut builder)?;
    let logs = logs.into_iter().map(|log| log.read).collect();
    builder.finish(logs).map_err(ReadError::Nothing)
}

/// The log of one node, while the module reads it.
struct Log {
    read: LogRead,
    files: VecDeque<PathBuf>,
    open: Option<(PathBuf, OpenedLog)>,
}

enum OpenedLog {
    Queue(Queue<BufReader<foreign::OpenFile>>),
    Text {
        input: BufReader<foreign::OpenFile>,
        lines: Lines,
    },
}

fn unreadable(name: &str) -> impl Fn(io::Error) -> ReadError + '_ {
    |error| ReadError::Unreadable {
        name: name.to_owned(),
        error,
    }
}

/// Returns the logs that a file or folder contains.
fn logs_of(name: &str, path: &Path) -> Result<Vec<Log>, ReadError> {
    if !path.is_dir() {
        return Ok(vec![log(name, vec![path.to_owned()])]);
    }
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for entry in path.read_dir().map_err(unreadable(name))? {
        let entry = entry.map_err(unreadable(name))?;
        let path = entry.path();
        // The function skips links, because a link may lead outside of the folder that a study may
        // read.
        if entry.file_type().map_err(unreadable(name))?.is_symlink() {
            continue;
        }
        if path.is_dir() {
            folders.push(path);
        } else if is_log(&path).map_err(unreadable(name))? {
            files.push(path);
        }
    }
    if !files.is_empty() {
        // This sorts the files by time. A queue names its files by their times, and the numbers of
        // text files grow with their age.
        files.sort();
        if files.iter().all(|file| !is_queue(file)) {
            files.reverse();
        }
        return Ok(vec![log(name, files)]);
    }
    folders.sort();
    let mut logs = Vec::new();
    for folder in folders {
        let inner = folder.file_name().unwrap_or_default().to_string_lossy();
        match logs_of(&format!("{name}/{inner}"), &folder) {
            Err(ReadError::NoLog(_)) => {}
            found => logs.extend(found?),
        }
    }
    if logs.is_empty() {
        return Err(ReadError::NoLog(name.to_owned()));
    }
    Ok(logs)
}

fn log(name: &str, files: Vec<PathBuf>) -> Log {
    Log {
        read: LogRead {
            name: name.to_owned(),
            ..LogRead::default()
        },
        files: files.into(),
        open: None,
    }
}

fn is_queue(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "cq4")
}

/// Returns true if a file in a folder is a log. Returns false for the table of the queue
/// (`metadata.cq4t`).
fn is_log(path: &Path) -> io::Result<bool> {
    if is_queue(path) {
        return Ok(true);
    }
    if path.extension().is_some_and(|extension| extension == "cq4t") {
        return Ok(false);
    }
    Ok(audit_line::is_log(&head(path)?))
}

fn head(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    foreign::open(FileKind::QueryLog, path)?
        .take(HEAD_BYTES)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Passes all records of the logs to the builder, roughly in the order of their times.
fn merge(logs: &mut [Log], builder: &mut Builder) -> Result<(), ReadError> {
    let mut heads: BTreeMap<(u64, usize), Entry> = BTreeMap::new();
    for (index, log) in logs.iter_mut().enumerate() {
        if let Some(entry) = log.next(builder)? {
            heads.insert((at_ms(&entry), index), entry);
        }
    }
    while let Some(((_, index), entry)) = heads.pop_first() {
        builder.push(entry);
        if let Some(entry) = logs[index].next(builder)? {
            heads.insert((at_ms(&entry), index), entry);
        }
    }
    Ok(())
}

fn at_ms(entry: &Entry) -> u64 {
    match entry {
        Entry::Request(request) => request.at_ms,
        Entry::Other(_, at_ms) => *at_ms,
    }
}

impl Log {
    /// Returns the next record. Counts and skips unreadable records.
    fn next(&mut self, builder: &mut Builder) -> Result<Option<Entry>, ReadError> {
        loop {
            let Some((path, opened)) = &mut self.open else {
                let Some(path) = self.files.pop_front() else {
                    return Ok(None);
                };
                let opened = open(&path)?;
                self.read.files += 1;
                self.open = Some((path, opened));
                continue;
            };
            let name = path.display().to_string();
            match next_of(opened, &name)? {
                ReadStep::Entry(entry) => {
                    self.read.records += 1;
                    return Ok(Some(entry));
                }
                ReadStep::Unreadable(why) => {
                    self.read.records += 1;
                    builder.left_out(Why::Unreadable, 1);
                    // The report contains only the first message about unreadable records, which
                    // represents the others.
                    if self.read.notes.is_empty() {
                        self.read.notes.push(format!("{name}: cassay cannot read a record: {why}"));
                    }
                }
                ReadStep::End(bytes, note) => {
                    self.read.bytes += bytes;
                    self.read.notes.extend(note.map(|note| format!("{name} {note}")));
                    self.open = None;
                }
            }
        }
    }
}

fn open(path: &Path) -> Result<OpenedLog, ReadError> {
    let name = path.display().to_string();
    let file = foreign::open(FileKind::QueryLog, path).map_err(unreadable(&name))?;
    let input = BufReader::with_capacity(BUFFER_BYTES, file);
    if !is_queue(path) && audit_line::is_log(&head(path).map_err(unreadable(&name))?) {
        let lines = Lines::default();
        return Ok(OpenedLog::Text { input, lines });
    }
    Queue::open(input).map(OpenedLog::Queue).map_err(|why| from_queue(name, why))
}

fn from_queue(name: String, error: QueueError) -> ReadError {
    match error {
        QueueError::Unreadable(error) => ReadError::Unreadable { name, error },
        other => ReadError::OtherFile {
            name,
            why: other.to_string(),
        },
    }
}

enum ReadStep {
    Entry(Entry),
    Unreadable(String),
    End(u64, Option<String>),
}

fn next_of(opened: &mut OpenedLog, name: &str) -> Result<ReadStep, ReadError> {
    match opened {
        OpenedLog::Queue(queue) => {
            let document = queue.next_document().map_err(|why| from_queue(name.to_owned(), why))?;
            if let Some(document) = document {
                let read = log_record::read(document);
                return Ok(
                    read.map_or_else(|why| ReadStep::Unreadable(why.to_string()), ReadStep::Entry)
                );
            }
            let note = match queue.end() {
                Some(QueueEnd::InDocument) => Some(
                    "ends in the middle of a record: the server was still writing it, or it is \
                     truncated"
                        .to_owned(),
                ),
                Some(QueueEnd::Hole { at, behind }) => Some(format!(
                    "has a hole at byte {at}: cassay did not read {behind} bytes from that byte \
                     on, so some requests of the cluster are missing"
                )),
                Some(QueueEnd::Whole) | None => None,
            };
            Ok(ReadStep::End(queue.bytes(), note))
        }
        OpenedLog::Text { input, lines } => {
            let mut line = Vec::new();
            loop {
                line.clear();
                let got = input.read_until(b'\n', &mut line).map_err(unreadable(name))?;
                if got == 0 {
                    let last = lines.finish();
                    let end = ReadStep::End(0, None);
                    return Ok(last.map_or(end, |event| ReadStep::Entry(audit_line::read(&event))));
                }
                let text = String::from_utf8_lossy(&line);
                if let Some(event) = lines.take(text.trim_end_matches(['\n', '\r'])) {
                    return Ok(ReadStep::Entry(audit_line::read(&event)));
                }
            }
        }
    }
}
