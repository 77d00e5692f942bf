//! Recorded traffic. This module contains the settings of a study, and the recordings that cassay
//! has read.

use query_log::{Choice, MEMORY_BYTES, Only, Recording, UnpackError};
use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::sync::Arc;

/// Recorded traffic as a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedTraffic {
    /// Folders or files that contain the logs. The list has one entry for each node.
    pub files: Vec<String>,
    /// Speed of the replay relative to the recorded rate. `None` if `procedure` states the rate.
    pub speed: Option<f64>,
    /// Selection of reads, writes, or all operations.
    pub only: Only,
    /// Keyspaces whose operations are replayed. If the list is empty, the operations of all
    /// keyspaces are replayed.
    pub keyspaces: Vec<String>,
    /// Start of the replayed part of the recording, in ns after the first record.
    pub from_ns: u64,
    /// Length of the replayed part of the recording, in ns. `None` if the part extends to the end.
    pub for_ns: Option<u64>,
    /// Maximum memory for operations and values, in bytes.
    pub memory_bytes: u64,
    /// File with the statements that create the keyspace and the tables. `None` if they already
    /// exist.
    pub schema: Option<String>,
}

impl Default for RecordedTraffic {
    fn default() -> RecordedTraffic {
        RecordedTraffic {
            files: Vec::new(),
            speed: None,
            only: Only::All,
            keyspaces: Vec::new(),
            from_ns: 0,
            for_ns: None,
            memory_bytes: MEMORY_BYTES,
            schema: None,
        }
    }
}

const MS_NS: u64 = 1_000_000;

impl RecordedTraffic {
    /// Returns the selection of operations from the logs.
    pub fn choice(&self) -> Choice {
        Choice {
            only: self.only,
            keyspaces: self.keyspaces.clone(),
            from_ms: self.from_ns / MS_NS,
            for_ms: self.for_ns.map(|ns| ns / MS_NS),
            memory_bytes: self.memory_bytes,
        }
    }

    /// Returns the name that the recording has among the files of a run.
    pub fn name(&self) -> String {
        let choice = self.choice();
        let mut name = format!("recorded traffic of {}", self.files.join(", "));
        if self.only != Only::All {
            name += &format!(", only {}", self.only.name());
        }
        if !self.keyspaces.is_empty() {
            name += &format!(", of {}", self.keyspaces.join(" and "));
        }
        if (choice.from_ms, choice.for_ms) != (0, None) {
            name += &format!(", from {} ms", choice.from_ms);
        }
        if let Some(for_ms) = choice.for_ms {
            name += &format!(" for {for_ms} ms");
        }
        if self.memory_bytes != MEMORY_BYTES {
            name += &format!(", in at most {} bytes of memory", self.memory_bytes);
        }
        name
    }
}

/// Recordings that cassay has read, by digest. It reads each recording only once.
#[derive(Clone, Default)]
pub struct Recordings(BTreeMap<String, Arc<Recording>>);

impl Recordings {
    /// Creates an empty set of recordings.
    pub const fn new() -> Recordings {
        Recordings(BTreeMap::new())
    }

    pub fn add(&mut self, recording: Arc<Recording>) {
        self.0.insert(recording.digest.clone(), recording);
    }

    /// Reads a recording in packed form from `from`, and adds it to the set. The packed form has
    /// `bytes` bytes.
    ///
    /// # Errors
    /// The recording cannot be read, or differs from the packed recording.
    pub fn unpack(&mut self, from: &mut dyn Read, bytes: u64) -> Result<(), UnpackError> {
        self.add(Arc::new(Recording::unpack(from, bytes)?));
        Ok(())
    }

    /// Returns the recording with this digest. `None` if the set does not contain it.
    pub fn get(&self, digest: &str) -> Option<&Arc<Recording>> {
        self.0.get(digest)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Recording>> {
        self.0.values()
    }
}

/// Only the digests are compared, because recordings with equal digests have equal operations.
impl PartialEq for Recordings {
    fn eq(&self, other: &Recordings) -> bool {
        self.0.keys().eq(other.0.keys())
    }
}

impl Eq for Recordings {}

impl fmt::Debug for Recordings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}
