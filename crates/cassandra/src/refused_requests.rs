//! Finds the cause of refused requests in the nodes' logs and on their volumes.
//!
//! A client often sees only the last symptom. For example, a node with a full volume shuts down,
//! and the client gets the error "overloaded". So cassay searches for the cause before it tells the
//! user to lower the load.

use crate::node_files::NodeFiles;
use anyhow::Result;
use host::{Agent, From, VolumeUse};
use measure::number;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Number of bytes at the end of a log that contain recent failures.
const LOG_BYTES_MAX: u64 = 8 << 20;

const LINE_CHARS_SHOWN: usize = 240;

const MIB: u64 = 1 << 20;

/// Size of a commit log segment, in bytes. With less free space, the next write may fail.
const ROOM_BYTES_MIN: u64 = 32 * MIB;

/// Texts in logs, and their meaning. Causes come before their consequences.
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

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogMarks(Vec<u64>);

impl LogMarks {
    pub fn read(places: &[NodeFiles<'_>]) -> LogMarks {
        let marks = places.iter().map(|place| size(place.host, &place.log()));
        LogMarks(marks.map(|size| size.unwrap_or(0)).collect())
    }

    pub fn read_logs(logs: &[ServerLog<'_>]) -> LogMarks {
        let sizes = logs.iter().map(|one| size(one.host, &one.path).unwrap_or(0));
        LogMarks(sizes.collect())
    }

    /// Returns the length of the log of the node with this index, or 0 if the length was not read.
    pub fn length(&self, index: usize) -> u64 {
        self.0.get(index).copied().unwrap_or(0)
    }
}

pub struct ServerLog<'a> {
    pub node: &'a str,
    pub host: &'a Agent,
    pub path: PathBuf,
}

impl ServerLog<'_> {
    /// Returns the cause that the log contains after its first `mark` bytes.
    pub fn cause(&self, mark: u64) -> Option<String> {
        node_cause(self.node, None, &log_since(self.host, &self.path, mark))
    }
}

/// Returns one sentence for each node with a known cause. The sentence describes an almost full
/// volume, and the first log line since `marks` with the cause.
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

/// Returns the primary cause in a log, and the first line with this cause.
pub fn sign(log: &str) -> Option<(&'static str, &str)> {
    SIGNS.iter().find_map(|(texts, what)| {
        let says = |line: &&str| texts.iter().any(|text| line.contains(text));
        Some((*what, log.lines().find(says)?))
    })
}

/// Reads a log from the offset `mark` on, but at most its last 8 MiB. Reads a replaced file from
/// its start.
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
    // A log may contain invalid UTF-8. An unreadable log counts as a log without a cause.
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

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
