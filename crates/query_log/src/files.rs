//! Reads the files of logs in a folder, and merges their records in the order of their times.
//!
//! Invariants: the module reads each file once, from start to end, and never keeps a whole file in
//! memory. It merges the logs of several nodes while it reads them. If memory runs out, the
//! recording therefore contains the first part of all logs, and not only the first log.

use crate::audit_line;
use crate::audit_text::{self, AuditStep, AuditText};
use crate::chronicle_file::{Queue, QueueEnd, QueueError};
use crate::log_record::{self, Entry, Why};
use crate::recording::{Choice, LogRead, Recording};
use crate::recording_builder::{Builder, Nothing};
use foreign::FileKind;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

/// Maximum number of names that a note about unread files contains.
const NAMES_MAX: usize = 3;
/// Ends of the names of packed files. Cassandra's settings for rotated logs write `.zip` and `.gz`.
const PACKED: [&str; 7] = ["gz", "zip", "zst", "lz4", "xz", "bz2", "snappy"];
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
        name: String,
        /// The part of a log that the file lacks.
        why: String,
    },
    /// The logs contain no record that cassay can replay.
    #[error("the log contains no operation that cassay can replay{}", describe(.0))]
    Nothing(Nothing),
}

fn describe(nothing: &Nothing) -> String {
    let all: Vec<String> =
        nothing.left_out.iter().map(|(why, count)| left_out(*why, *count)).collect();
    let mut text = match all.as_slice() {
        [] => ": the log contains no record".to_owned(),
        all => format!(": {}", all.join("; ")),
    };
    for note in nothing.logs.iter().flat_map(|log| &log.notes) {
        text += &format!("; {note}");
    }
    text
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

struct Log {
    read: LogRead,
    files: VecDeque<PathBuf>,
    open: Option<(PathBuf, OpenedLog)>,
    /// True if a note names the first unreadable record.
    has_unreadable: bool,
}

enum OpenedLog {
    Queue(Queue<BufReader<foreign::OpenFile>>),
    Text(AuditText<foreign::OpenFile>),
}

fn unreadable(name: &str) -> impl Fn(io::Error) -> ReadError + '_ {
    |error| ReadError::Unreadable {
        name: name.to_owned(),
        error,
    }
}

fn logs_of(name: &str, path: &Path) -> Result<Vec<Log>, ReadError> {
    if !path.is_dir() {
        return Ok(vec![log(name, vec![path.to_owned()])]);
    }
    let (mut files, mut folders, mut unread) = (Vec::new(), Vec::new(), Vec::new());
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
        } else if let Some(order) = order_of(&path).map_err(unreadable(name))? {
            files.push((order, path));
        } else if !has_extension(&path, &["cq4t"]) {
            // The table of the queue (`metadata.cq4t`) contains no records.
            unread.push(path);
        }
    }
    folders.sort();
    if !files.is_empty() {
        files.sort();
        let mut log = log(name, files.into_iter().map(|(_, path)| path).collect());
        unread.extend(folders);
        log.read.notes = unread_notes(name, unread);
        return Ok(vec![log]);
    }
    let mut logs = Vec::new();
    for folder in folders {
        let inner = folder.file_name().unwrap_or_default().to_string_lossy();
        match logs_of(&format!("{name}/{inner}"), &folder) {
            Err(ReadError::NoLog(_)) => unread.push(folder),
            found => logs.extend(found?),
        }
    }
    match logs.first_mut() {
        Some(first) => first.read.notes.extend(unread_notes(name, unread)),
        None => return Err(ReadError::NoLog(name.to_owned())),
    }
    Ok(logs)
}

/// Returns notes about the files and folders in `folder` that were not read.
fn unread_notes(folder: &str, unread: Vec<PathBuf>) -> Vec<String> {
    let (packed, other): (Vec<_>, Vec<_>) =
        unread.into_iter().partition(|path| has_extension(path, &PACKED));
    let note = |mut paths: Vec<PathBuf>, why: &str| {
        paths.sort();
        let name = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() { name + "/" } else { name }
        };
        let mut names: Vec<String> = paths.iter().take(NAMES_MAX).map(name).collect();
        if paths.len() > NAMES_MAX {
            names.push("…".to_owned());
        }
        (!paths.is_empty()).then(|| {
            let (count, names) = (paths.len(), names.join(", "));
            format!(
                "{folder}: cassay did not read {count} of the files and folders in it, {why}: \
                 {names}"
            )
        })
    };
    let packed = note(packed, "because they are compressed (unpack them first)");
    let other = note(other, "because they have no query log");
    packed.into_iter().chain(other).collect()
}

fn log(name: &str, files: Vec<PathBuf>) -> Log {
    Log {
        read: LogRead {
            name: name.to_owned(),
            ..LogRead::default()
        },
        files: files.into(),
        open: None,
        has_unreadable: false,
    }
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension().is_some_and(|found| extensions.iter().any(|one| found == *one))
}

/// Position of a log file among the files of its folder. A queue names its files by their times, so
/// their order is that of the names. The names of text files depend on the logging framework, so
/// their order is that of the first events, in ms since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FileOrder {
    ByName,
    ByTime(u64),
}

/// Returns the position of a log file, or `None` if a file is not a log.
fn order_of(path: &Path) -> io::Result<Option<FileOrder>> {
    if has_extension(path, &["cq4"]) {
        return Ok(Some(FileOrder::ByName));
    }
    Ok(audit_text::first_ms(path)?.map(FileOrder::ByTime))
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
                    if !std::mem::replace(&mut self.has_unreadable, true) {
                        self.read.notes.push(format!("{name}: cassay cannot read a record: {why}"));
                    }
                }
                ReadStep::End(bytes, notes) => {
                    self.read.bytes += bytes;
                    let notes = notes.into_iter().map(|note| format!("{name} {note}"));
                    self.read.notes.extend(notes);
                    self.open = None;
                }
            }
        }
    }
}

fn open(path: &Path) -> Result<OpenedLog, ReadError> {
    let name = path.display().to_string();
    let order = order_of(path).map_err(unreadable(&name))?;
    let file = foreign::open(FileKind::QueryLog, path).map_err(unreadable(&name))?;
    if let Some(FileOrder::ByTime(_)) = order {
        return Ok(OpenedLog::Text(AuditText::new(file)));
    }
    let input = BufReader::with_capacity(BUFFER_BYTES, file);
    Queue::open(input).map(OpenedLog::Queue).map_err(|error| match error {
        QueueError::NoQueue => ReadError::OtherFile {
            name,
            why: audit_text::format_of(path).unwrap_or_else(|| error.to_string()),
        },
        error => from_queue(name, error),
    })
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
    End(u64, Vec<String>),
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
            Ok(ReadStep::End(queue.bytes(), queue_notes(queue)))
        }
        OpenedLog::Text(text) => Ok(match text.next_step().map_err(unreadable(name))? {
            AuditStep::Event(event) => ReadStep::Entry(audit_line::read(&event)),
            AuditStep::Lost(why) => ReadStep::Unreadable(why.to_owned()),
            AuditStep::End => ReadStep::End(text.bytes(), text.notes()),
        }),
    }
}

/// Returns notes about the parts of a queue's file that were not read.
fn queue_notes(queue: &Queue<impl foreign::Source>) -> Vec<String> {
    let skipped = queue.foreign().map(|skipped| {
        format!(
            "has a record of {} bytes at byte {} that the queue marks as metadata, but that is \
             neither a header nor an index; cassay skipped the record, so some requests may be \
             missing",
            skipped.bytes, skipped.at
        )
    });
    let end = match queue.end() {
        Some(QueueEnd::InDocument) => Some(
            "ends in the middle of a record: the server was still writing it, or it is truncated"
                .to_owned(),
        ),
        Some(QueueEnd::Hole { at, behind }) => Some(format!(
            "has a hole at byte {at}: cassay did not read {behind} bytes from that byte on, so \
             some requests of the cluster are missing"
        )),
        Some(QueueEnd::EarlyMark { at, behind }) => Some(format!(
            "has an end mark at byte {at}, but data follows: cassay did not read {behind} bytes \
             from that byte on, so some requests of the cluster are missing"
        )),
        Some(QueueEnd::Short { last }) => Some(format!(
            "is truncated: according to its header, its last record begins at byte {last}; cassay \
             read {} bytes",
            queue.bytes()
        )),
        Some(QueueEnd::Whole) | None => None,
    };
    skipped.into_iter().chain(end).collect()
}
