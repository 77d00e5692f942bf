//! Recorded traffic in memory, ready to be offered: statements once each, values as bytes, and when
//! each operation was asked for.
//!
//! What must hold: operations are in the order of their times; memory has a limit, beyond which the
//! rest is left out and counted; whatever is left out has a reason.

use crate::entry::Why;
use cql::Consistency;
use indexmap::{IndexMap, IndexSet};
use std::collections::BTreeMap;
use std::sync::Arc;
use workload::{BatchKind, Course};

/// Different statements that are offered at most: each is prepared on every connection. A log of
/// statements with their values in their texts has more, and those after the first so many are left
/// out.
pub const STATEMENTS_MAX: usize = 10_000;
/// Memory for operations and values, if nobody says otherwise: 2 GiB hold an hour of 5,000
/// operations a second whose values take 80 bytes each.
pub const MEMORY_BYTES: u64 = 2 << 30;

/// Which of the recorded operations are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Only {
    /// Reads and writes.
    #[default]
    All,
    /// Those that change nothing.
    Reads,
    /// Those that change data.
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

/// What of a recording is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Choice {
    /// Reads, writes or both.
    pub only: Only,
    /// Of which keyspaces; empty: of all.
    pub keyspaces: Vec<String>,
    /// From how long after the first record on, ms.
    pub from_ms: u64,
    /// For how long, ms; none: to the end.
    pub for_ms: Option<u64>,
    /// Memory for operations and values, bytes.
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

/// A statement as it is offered: its text, and what it is sent with.
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
    /// Index of the kind of operations that begin with it.
    pub kind: u8,
}

/// A kind of operation: what it does, and to which table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindCount {
    /// Its name: `select-shop.users`.
    pub name: String,
    /// Whether it changes data.
    pub is_write: bool,
    /// Operations of it.
    pub operations: u64,
    /// Different statements of it.
    pub statements: u64,
}

/// One statement of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Where its values begin in [`Recording::values`].
    pub at: u64,
    /// Their length.
    pub bytes: u32,
    /// Index of its form.
    pub form: u16,
}

/// An operation: so many parts from one on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub first: u32,
    pub parts: u16,
    pub kind: u8,
}

/// What a log file, or the log of a node, held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogRead {
    /// The folder or file, as it was named.
    pub name: String,
    /// Files that were read.
    pub files: usize,
    /// Bytes that were read of them.
    pub bytes: u64,
    /// Records, whether offered or not.
    pub records: u64,
    /// What is to be said of its files, a sentence each.
    pub notes: Vec<String>,
}

/// Recorded traffic.
#[derive(Debug)]
pub struct Recording {
    /// The logs that it comes from; one for each node.
    pub logs: Vec<LogRead>,
    /// When the first operation began, ms since 1970.
    pub began_ms: u64,
    /// When each operation is due, from the first on, and for how long the recording is.
    pub course: Arc<Course>,
    /// Kinds, in the order of their first operations.
    pub kinds: Vec<KindCount>,
    /// Operations by consistency level.
    pub levels: BTreeMap<Consistency, u64>,
    /// Operations by keyspace.
    pub keyspaces: IndexMap<String, u64>,
    /// Tables, by keyspace and name, with how often they are asked.
    pub tables: IndexMap<(String, String), u64>,
    /// What was left out, and why.
    pub left_out: BTreeMap<Why, u64>,
    /// Operations whose log does not say their consistency level.
    pub without_level: u64,
    /// A digest of all that is offered.
    pub digest: String,
    pub(crate) forms: Vec<Form>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) parts: Vec<Part>,
    pub(crate) values: Vec<u8>,
}

impl Recording {
    /// Operations in it.
    pub fn operations(&self) -> u64 {
        self.operations.len() as u64
    }

    /// Different statements in it.
    pub fn statements(&self) -> usize {
        let texts: IndexSet<&str> = self.forms.iter().map(|form| form.cql.as_str()).collect();
        texts.len()
    }

    /// How long it is, seconds.
    pub fn seconds(&self) -> f64 {
        self.course.period_ns() as f64 / 1e9
    }

    /// When the last operation is due, in seconds since the first.
    pub fn last_due_s(&self) -> f64 {
        self.course.due_ns().last().copied().unwrap_or_default() as f64 / 1e9
    }

    pub(crate) fn parts_of(&self, operation: &Operation) -> &[Part] {
        &self.parts[operation.first as usize..][..usize::from(operation.parts)]
    }

    /// Operations per second, on average.
    pub fn ops_per_s(&self) -> f64 {
        self.operations() as f64 / self.seconds()
    }

    /// Operations in the second that has most of them.
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
