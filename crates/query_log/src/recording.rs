//! Recorded traffic in memory, ready for replay. It contains each statement once, the values as
//! bytes, and the time of each operation.
//!
//! Invariants: operations are in the order of their times. Memory has a limit, and the builder
//! omits and counts the operations beyond it. Every omission has a reason.

use crate::log_record::Why;
use cql::Consistency;
use indexmap::{IndexMap, IndexSet};
use std::collections::BTreeMap;
use std::sync::Arc;
use workload::{ArrivalTimes, BatchKind};

/// Maximum number of different statements. The number is limited, because the replay prepares each
/// statement on every connection. A log whose statements have their values in their texts exceeds
/// this number. The builder then omits records with further statements.
pub const STATEMENTS_MAX: usize = 10_000;
/// Default limit of the memory for operations and values, in bytes. It is enough for an hour of
/// 5,000 operations per second, if each operation has 80 bytes of values.
pub const MEMORY_BYTES: u64 = 2 << 30;

/// Selection of operations by their effect on data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Only {
    #[default]
    All,
    /// Only operations that do not change data.
    Reads,
    /// Only operations that change data.
    Writes,
}

impl Only {
    pub(crate) fn takes(self, is_write: bool) -> bool {
        match self {
            Only::All => true,
            Only::Reads => !is_write,
            Only::Writes => is_write,
        }
    }
}

/// Selection of a part of recorded traffic.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Choice {
    /// Selection of reads, writes or both.
    pub only: Only,
    /// Keyspaces whose operations are selected. An empty list selects all keyspaces.
    pub keyspaces: Vec<String>,
    /// Start of the selected period, in ms after the first request in the log.
    pub from_ms: u64,
    /// Length of the selected period, in ms. `None` means up to the end of the log.
    pub for_ms: Option<u64>,
    /// Memory for operations and values, in bytes.
    pub memory_bytes: u64,
}

impl Default for Choice {
    fn default() -> Choice {
        Choice {
            only: Only::All,
            keyspaces: Vec::new(),
            from_ms: 0,
            for_ms: None,
            memory_bytes: MEMORY_BYTES,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Form {
    pub cql: String,
    pub values_count: u16,
    pub consistency: Consistency,
    pub serial_consistency: Option<Consistency>,
    pub page_size: Option<i32>,
    pub stamped: bool,
    pub conditional: bool,
    pub returns_rows: bool,
    pub batch: Option<BatchKind>,
    /// Index of the kind of operation to which this statement belongs.
    pub kind: u8,
}

/// A kind of operation: its verb and its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindCount {
    /// Name of the kind: `select-shop.users`.
    pub name: String,
    /// True if the kind changes data.
    pub is_write: bool,
    /// Number of operations of this kind.
    pub operations: u64,
    /// Number of different statements of this kind.
    pub statements: u64,
}

/// A statement of an operation, with the position of its values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Offset of the statement's values in [`Recording::values`].
    pub at: u64,
    /// Length of the statement's values, in bytes.
    pub bytes: u32,
    /// Index of the text and parameters of the statement ([`Form`]).
    pub form: u16,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub first: u32,
    pub parts: u16,
    pub kind: u8,
}

/// Statistics of one log, which is a file or the folder of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogRead {
    /// Name of the folder or file, as the user wrote it.
    pub name: String,
    /// Number of files that were read.
    pub files: usize,
    /// Number of bytes that were read.
    pub bytes: u64,
    /// Number of records in the log. It includes records that are not replayed.
    pub records: u64,
    /// Notes about the files of the log. Each note is one sentence.
    pub notes: Vec<String>,
}

/// Recorded traffic, ready for replay.
#[derive(Debug)]
pub struct Recording {
    /// The logs from which the recording was made, one per node.
    pub logs: Vec<LogRead>,
    /// Time at which the first operation began, in ms since 1970.
    pub began_ms: u64,
    /// Due time of each operation relative to the first operation, and the length of the recording.
    pub course: Arc<ArrivalTimes>,
    /// Kinds of operations, in the order in which they first occur.
    pub kinds: Vec<KindCount>,
    /// Number of operations by consistency level.
    pub levels: BTreeMap<Consistency, u64>,
    /// Number of operations by keyspace.
    pub keyspaces: IndexMap<String, u64>,
    /// Number of statements in the operations, by keyspace and table.
    pub tables: IndexMap<(String, String), u64>,
    /// Number of omitted records, by reason.
    pub left_out: BTreeMap<Why, u64>,
    /// Number of operations for which the log does not contain a consistency level.
    pub without_level: u64,
    /// SHA-256 of all data that a replay uses, in hexadecimal.
    pub digest: String,
    pub(crate) forms: Vec<Form>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) parts: Vec<Part>,
    pub(crate) values: Vec<u8>,
}

impl Recording {
    /// Returns the number of operations.
    pub fn operations(&self) -> u64 {
        self.operations.len() as u64
    }

    /// Returns the number of different statement texts.
    pub fn statements(&self) -> usize {
        let texts: IndexSet<&str> = self.forms.iter().map(|form| form.cql.as_str()).collect();
        texts.len()
    }

    /// Returns the length of the recording, in seconds.
    pub fn seconds(&self) -> f64 {
        self.course.period_ns() as f64 / 1e9
    }

    /// Returns the due time of the last operation, in seconds after the first operation.
    pub fn last_due_s(&self) -> f64 {
        self.course.due_ns().last().copied().unwrap_or_default() as f64 / 1e9
    }

    pub(crate) fn parts_of(&self, operation: &Operation) -> &[Part] {
        &self.parts[operation.first as usize..][..usize::from(operation.parts)]
    }

    /// Returns the average number of operations per second.
    pub fn ops_per_s(&self) -> f64 {
        self.operations() as f64 / self.seconds()
    }

    /// Returns the largest number of operations in one second. The seconds count from the first
    /// operation.
    pub fn peak_per_s(&self) -> u64 {
        let (mut peak, mut count, mut second) = (0, 0, 0);
        for due_ns in self.course.due_ns() {
            let of = due_ns / 1_000_000_000;
            count = if of == second { count + 1 } else { 1 };
            second = of;
            peak = peak.max(count);
        }
        peak
    }
}
