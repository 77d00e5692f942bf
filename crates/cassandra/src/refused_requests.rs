//! Finds the reason why nodes refuse requests, in their logs and on their volumes.
//!
//! The error that a client gets is only the last symptom. For example, if a volume is full, its
//! node shuts down, and the client gets the error "overloaded". So this module looks for the cause
//! in the node's log and on its volume, before cassay tells the user to lower the load.

use crate::node_files::NodeFiles;
use anyhow::Result;
use host::{Agent, From, VolumeUse};
use measure::number;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Number of bytes to read from the end of a log. This part contains recent failures.
const LOG_BYTES_MAX: u64 = 8 << 20;

const LINE_CHARS_SHOWN: usize = 240;

const MIB: u64 = 1 << 20;

/// Size of one commit log segment, in bytes. If less space is free, the next write may fail.
const ROOM_BYTES_MIN: u64 = 32 * MIB;

/// Texts that may occur in logs, and their meaning. Causes come before their consequences.
const SIGNS: [(&[&str], &str); 6] = [
    (
        &["No space left on device", "Disk quota exceeded"],
        "the data volume of the node was full",
    ),
    (
        &[
            "Insufficient disk space",
            "Not enough space for compaction",
            "not enough free disk space",
        ],
        "the data volume of the node had no space for a flush or a compaction",
    ),
    (
        &["java.lang.OutOfMemoryError", "Out of memory"],
        "the node ran out of memory",
    ),
    (
        &["CorruptSSTableException", "CorruptBlockException"],
        "a data file of the node is corrupt",
    ),
    (
        &[
            "JVM state determined to be unstable",
            "disk failure policy",
            "Stopping gossiper by",
        ],
        "the node stopped itself",
    ),
    (
        &[
            "Announcing shutdown",
            "DRAINING",
            "Stop listening for CQL clients",
        ],
        "another program stopped the node",
    ),
];

/// Lengths of the nodes' logs at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogMarks(Vec<u64>);

impl LogMarks {
    /// Reads the current lengths of the logs of managed nodes.
    pub fn read(places: &[NodeFiles<'_>]) -> LogMarks {
        let marks = places.iter().map(|place| size(place.host, &place.log()));
        LogMarks(marks.map(|size| size.unwrap_or(0)).collect())
    }

    /// Reads the current lengths of these logs.
    pub fn read_logs(logs: &[ServerLog<'_>]) -> LogMarks {
        let sizes = logs.iter().map(|one| size(one.host, &one.path).unwrap_or(0));
        LogMarks(sizes.collect())
    }

    /// Returns the length of a node's log, by the position of the node. Returns 0 if the length was
    /// not read.
    pub fn length(&self, index: usize) -> u64 {
        self.0.get(index).copied().unwrap_or(0)
    }
}

/// Server log of a node.
pub struct ServerLog<'a> {
    /// Name of the node.
    pub node: &'a str,
    /// Agent through which the log is read.
    pub host: &'a Agent,
    /// Path of the log on its host.
    pub path: PathBuf,
}

impl ServerLog<'_> {
    /// Returns the cause that the log names after its first `mark` bytes. Returns `None` if the log
    /// does not name a cause.
    pub fn cause(&self, mark: u64) -> Option<String> {
        node_cause(self.node, None, &log_since(self.host, &self.path, mark))
    }
}

/// Returns a sentence for each node with a known cause. The sentence describes the state of the
/// node's volume, and contains the first log line since `marks` that names the cause.
pub fn causes(places: &[NodeFiles<'_>], marks: &LogMarks) -> Vec<String> {
    let cause = |(index, place): (usize, &NodeFiles<'_>)| {
        let mark = marks.length(index);
        let volume = place.host.space(place.folder).ok();
        node_cause(
            place.name,
            volume,
            &log_since(place.host, &place.log(), mark),
        )
    };
    places.iter().enumerate().filter_map(cause).collect()
}

/// Returns the cause that the volume or the log of a node shows. Returns `None` if neither shows a
/// cause.
fn node_cause(name: &str, volume: Option<VolumeUse>, log: &str) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(volume) = volume.filter(|volume| volume.available_bytes < ROOM_BYTES_MIN) {
        parts.push(format!(
            "the data volume of the node is almost full ({} of {} free)",
            number::bytes(volume.available_bytes),
            number::bytes(volume.total_bytes)
        ));
    }
    if let Some((what, line)) = sign(log) {
        let line: String = line.trim().chars().take(LINE_CHARS_SHOWN).collect();
        parts.push(format!("{what} (log of the node: {line})"));
    }
    (!parts.is_empty()).then(|| format!("{name}: {}", parts.join(", ")))
}

/// Returns the primary cause that a log names, with the first line that names this cause. Returns
/// `None` if the log names no cause.
pub fn sign(log: &str) -> Option<(&'static str, &str)> {
    SIGNS.iter().find_map(|(texts, what)| {
        let says = |line: &&str| texts.iter().any(|text| line.contains(text));
        Some((*what, log.lines().find(says)?))
    })
}

/// Reads a log from the offset `mark` on. If the file has been replaced since then, reads the file
/// from the start.
fn log_since(host: &Agent, path: &Path, mark: u64) -> String {
    let read = || -> Result<Vec<u8>> {
        let bytes = size(host, path)?;
        let from = if bytes < mark { 0 } else { mark };
        let from = from.max(bytes.saturating_sub(LOG_BYTES_MAX));
        let mut text = Vec::new();
        let mut log = host.reader(path, from).take(LOG_BYTES_MAX);
        log.read_to_end(&mut text)?;
        Ok(text)
    };
    // A log may contain invalid UTF-8. A log that cannot be read is treated as a log without a
    // cause.
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

/// Returns the length of a log. Returns 0 if the file does not exist.
fn size(host: &Agent, path: &Path) -> Result<u64> {
    let end = host.piece(path, From::End(0))?;
    Ok(end.map_or(0, |end| end.size))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: &str = "ERROR [x] FSWriteError in a.log\nCaused by: java.io.IOException: No space \
                        left on device\nERROR [x] Stopping gossiper by operator request\n\
                        INFO [x] Announcing shutdown\n";

    /// An earlier version reported a full volume as "overloaded (Server is shutting down): a lower
    /// load may help".
    #[test]
    fn the_cause_is_said_before_what_it_has_caused() {
        let said = node_cause("node1", None, FULL).unwrap();
        assert!(
            said.starts_with(
                "node1: the data volume of the node was full (log of the node: Caused by: \
                 java.io"
            ),
            "{said}"
        );
        let memory = "java.lang.OutOfMemoryError: Java heap space\nAnnouncing shutdown";
        assert_eq!(sign(memory).unwrap().0, "the node ran out of memory");
        assert_eq!(
            sign("INFO Announcing shutdown").unwrap().0,
            "another program stopped the node"
        );
        let corrupt = "ERROR [ReadStage-2] FileUtils.java:74 - org.apache.cassandra.io.sstable.\
                       CorruptSSTableException: Corrupted: nb-2-big-Data.db";
        assert_eq!(
            sign(corrupt).unwrap().0,
            "a data file of the node is corrupt"
        );
        assert_eq!(node_cause("node1", None, "INFO all is well"), None);
    }

    #[test]
    fn a_full_volume_is_a_cause_by_itself() {
        let volume = |available_bytes| {
            Some(VolumeUse {
                total_bytes: 1024 * MIB,
                used_bytes: 0,
                available_bytes,
            })
        };
        let said = node_cause("node2", volume(MIB / 2), "").unwrap();
        assert_eq!(
            said,
            "node2: the data volume of the node is almost full (512 KiB of 1 GiB free)"
        );
        assert_eq!(node_cause("node2", volume(ROOM_BYTES_MIN), ""), None);
    }

    #[test]
    fn earlier_lines_of_a_log_are_no_cause_of_a_later_failure() {
        let folder = tempfile::tempdir().unwrap();
        let host = agent::in_thread(folder.path()).unwrap();
        let log_since = |path: &Path, mark| log_since(&host, path, mark);
        let path = folder.path().join("system.log");
        std::fs::write(&path, FULL).unwrap();
        let mark = FULL.len() as u64;
        assert_eq!(log_since(&path, mark), "");
        assert_eq!(log_since(&path, 0), FULL);
        std::fs::write(&path, "new").unwrap();
        assert_eq!(log_since(&path, mark), "new", "the log was truncated");
        assert_eq!(log_since(&folder.path().join("absent"), 0), "");
    }
}
