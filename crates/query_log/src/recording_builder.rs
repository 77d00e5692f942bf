//! Builds a recording from the records of logs. The builder selects records, and keeps the parts
//! that a replay needs.
//!
//! Invariants: the builder counts every omitted record under the reason for its omission. Memory
//! remains within the limit for any content of a log.

use crate::log_record::{Bound, Entry, Request, Why};
use crate::recording::{
    Choice, Form, KindCount, LogRead, Operation, Part, Recording, STATEMENTS_MAX,
};
use crate::statement::{KnownStatement, Verb, analyse};
use cql::Consistency;
use data_encoding::HEXLOWER;
use indexmap::{IndexMap, IndexSet};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;
use workload::ArrivalTimes;

/// Maximum number of separate kinds. The load engine accepts 64 kinds. Two of these are for the
/// operations of all other kinds.
const KINDS_MAX: usize = 62;
/// Memory for an operation, in bytes. The memory for its statements is not included.
const OPERATION_BYTES: u64 = 16;
/// Memory for a statement of an operation, in bytes. The memory for its values is not included.
const PART_BYTES: u64 = 16;
const MS_NS: u64 = 1_000_000;

/// Builds a recording from records. The caller adds the records roughly in the order of their
/// times.
#[derive(Debug)]
pub struct Builder {
    choice: Choice,
    /// Time of the first record that is a request, in ms since 1970.
    first_ms: Option<u64>,
    forms: IndexSet<Form>,
    known: IndexMap<(String, Option<String>), Result<KnownStatement, Why>>,
    kinds: IndexMap<String, (bool, IndexSet<u16>)>,
    /// Time of each operation, in ms since 1970.
    at_ms: Vec<u64>,
    operations: Vec<Operation>,
    parts: Vec<Part>,
    values: Vec<u8>,
    levels: BTreeMap<Consistency, u64>,
    keyspaces: IndexMap<String, u64>,
    tables: IndexMap<(String, String), u64>,
    left_out: BTreeMap<Why, u64>,
    without_level: u64,
    /// Total size of the cached texts, in bytes.
    known_bytes: usize,
    /// Total size of the texts to be replayed, in bytes.
    forms_bytes: usize,
    is_full: bool,
}

/// Maximum number of texts whose parse result the builder caches. If a text occurs again in a log,
/// it usually occurs again soon.
const KNOWN_MAX: usize = 2 * STATEMENTS_MAX;
/// Maximum total size of the cached texts, in bytes. A limit is necessary because a log may contain
/// long texts.
const KNOWN_BYTES_MAX: usize = 64 << 20;

impl Builder {
    /// Creates an empty builder.
    pub fn new(choice: Choice) -> Builder {
        Builder {
            choice,
            first_ms: None,
            forms: IndexSet::new(),
            known: IndexMap::new(),
            kinds: IndexMap::new(),
            at_ms: Vec::new(),
            operations: Vec::new(),
            parts: Vec::new(),
            values: Vec::new(),
            levels: BTreeMap::new(),
            keyspaces: IndexMap::new(),
            tables: IndexMap::new(),
            left_out: BTreeMap::new(),
            without_level: 0,
            known_bytes: 0,
            forms_bytes: 0,
            is_full: false,
        }
    }

    /// Adds a record. If the record cannot be replayed, the function only counts it under the
    /// reason.
    pub fn push(&mut self, entry: Entry) {
        let why = match entry {
            Entry::Other(why, _) => Some(why),
            Entry::Request(request) => self.request(&request).err(),
        };
        if let Some(why) = why {
            *self.left_out.entry(why).or_default() += 1;
        }
    }

    /// Counts `count` records that the caller omits for the reason `why`, such as unreadable
    /// records.
    pub fn left_out(&mut self, why: Why, count: u64) {
        *self.left_out.entry(why).or_default() += count;
    }

    fn request(&mut self, request: &Request) -> Result<(), Why> {
        let first_ms = *self.first_ms.get_or_insert(request.at_ms);
        let since_ms = request.at_ms.saturating_sub(first_ms);
        let from_ms = self.choice.from_ms;
        let is_after = |for_ms| since_ms >= from_ms.saturating_add(for_ms);
        if since_ms < from_ms || self.choice.for_ms.is_some_and(is_after) {
            return Err(Why::OutsideOfTime);
        }
        if request.continues {
            return Err(Why::FurtherPage);
        }
        let known = self.parse_request(request)?;
        if self.is_full || !self.has_room(request) {
            self.is_full = true;
            return Err(Why::NoRoom);
        }
        self.add(request, &known)
    }

    /// Returns the parsed statements of a request. Fails if any statement of the request cannot be
    /// replayed.
    fn parse_request(&mut self, request: &Request) -> Result<Vec<KnownStatement>, Why> {
        let mut all = Vec::with_capacity(request.statements.len());
        for bound in &request.statements {
            let key = (bound.cql.clone(), request.keyspace.clone());
            let found = match self.known.get(&key) {
                Some(found) => found.clone(),
                None => {
                    let found = analyse(&bound.cql, request.keyspace.as_deref());
                    self.known_bytes += bound.cql.len();
                    if self.known.len() < KNOWN_MAX && self.known_bytes < KNOWN_BYTES_MAX {
                        self.known.insert(key, found.clone());
                    }
                    found
                }
            }?;
            let keyspaces = &self.choice.keyspaces;
            if !keyspaces.is_empty() && !keyspaces.contains(&found.table.0) {
                return Err(Why::OtherKeyspace);
            }
            if !self.choice.only.takes(found.verb.is_write()) {
                return Err(Why::NotChosen);
            }
            if found.markers != usize::from(bound.values_count) {
                return Err(if request.has_values {
                    Why::OtherValues
                } else {
                    Why::NoValues
                });
            }
            all.push(found);
        }
        if all.is_empty() {
            return Err(Why::NoStatement);
        }
        Ok(all)
    }

    fn has_room(&self, request: &Request) -> bool {
        let values: usize = request.statements.iter().map(|bound| bound.values.len()).sum();
        let parts = (self.parts.len() + request.statements.len()) as u64;
        let operations = self.operations.len() as u64 + 1;
        let bytes = (self.values.len() + values + self.forms_bytes) as u64;
        let all = bytes + parts * PART_BYTES + operations * OPERATION_BYTES;
        all <= self.choice.memory_bytes && parts < u64::from(u32::MAX)
    }

    fn add(&mut self, request: &Request, known: &[KnownStatement]) -> Result<(), Why> {
        let kind = self.kind(request, known)?;
        let forms = known.iter().zip(&request.statements);
        let conditional = known.iter().any(|known| known.conditional);
        let of = |(known, bound): (&KnownStatement, &Bound)| Form {
            conditional,
            ..form(request, known, bound.values_count, kind)
        };
        let forms: Vec<Form> = forms.map(of).collect();
        let fresh = forms.iter().filter(|form| !self.forms.contains(*form)).count();
        if self.forms.len() + fresh > STATEMENTS_MAX {
            return Err(Why::TooManyStatements);
        }
        let first = self.parts.len() as u32;
        for (form, bound) in forms.into_iter().zip(&request.statements) {
            let bytes = form.cql.len();
            let (index, is_new) = self.forms.insert_full(form);
            self.forms_bytes += if is_new { bytes } else { 0 };
            self.parts.push(Part {
                at: self.values.len() as u64,
                bytes: bound.values.len() as u32,
                form: index as u16,
            });
            self.values.extend_from_slice(&bound.values);
            if let Some((_, (_, statements))) = self.kinds.get_index_mut(usize::from(kind)) {
                statements.insert(index as u16);
            }
        }
        self.at_ms.push(request.at_ms);
        self.operations.push(Operation {
            first,
            parts: known.len() as u16,
            kind,
        });
        self.count(request, known);
        Ok(())
    }

    /// Returns the index of a request's kind. Adds the kind if it is new. If the recording has too
    /// many kinds, returns the index of a kind for all other reads or writes.
    fn kind(&mut self, request: &Request, known: &[KnownStatement]) -> Result<u8, Why> {
        let (name, is_write) = kind_name(request, known);
        if let Some(index) = self.kinds.get_index_of(&name) {
            return Ok(index as u8);
        }
        if self.forms.len() + known.len() > STATEMENTS_MAX {
            return Err(Why::TooManyStatements);
        }
        let rest = if is_write {
            "other-writes"
        } else {
            "other-reads"
        };
        let name = if self.kinds.len() < KINDS_MAX {
            name
        } else {
            rest.to_owned()
        };
        let entry = self.kinds.entry(name);
        let index = entry.index();
        entry.or_insert((is_write, IndexSet::new()));
        Ok(index as u8)
    }

    fn count(&mut self, request: &Request, known: &[KnownStatement]) {
        match request.consistency {
            Some(level) => *self.levels.entry(level).or_default() += 1,
            None => self.without_level += 1,
        }
        if let Some(first) = known.first() {
            *self.keyspaces.entry(first.table.0.clone()).or_default() += 1;
        }
        for known in known {
            *self.tables.entry(known.table.clone()).or_default() += 1;
        }
    }

    /// Returns the recording. Fails if no record can be replayed.
    pub fn finish(self, logs: Vec<LogRead>) -> Result<Recording, Nothing> {
        let Some(began_ms) = self.at_ms.iter().min().copied() else {
            return Err(Nothing {
                left_out: self.left_out,
                logs,
            });
        };
        let mut order: Vec<u32> = (0..self.at_ms.len() as u32).collect();
        // The order in the log is not the order of the operations. Cassandra logs a request when it
        // ends, but with the time at which it began.
        order.sort_by_key(|at| self.at_ms[*at as usize]);
        let operations: Vec<Operation> =
            order.iter().map(|at| self.operations[*at as usize]).collect();
        let times = order.iter().map(|at| self.at_ms[*at as usize] - began_ms);
        let course = course(&times.collect::<Vec<_>>());
        let mut counts = vec![0; self.kinds.len()];
        for operation in &operations {
            counts[usize::from(operation.kind)] += 1;
        }
        let of = |((name, (is_write, statements)), operations): ((_, (_, IndexSet<u16>)), _)| {
            KindCount {
                name,
                is_write,
                operations,
                statements: statements.len() as u64,
            }
        };
        let kinds = self.kinds.into_iter().zip(counts).map(of).collect();
        let mut recording = Recording {
            logs,
            began_ms,
            course: Arc::new(course),
            kinds,
            levels: self.levels,
            keyspaces: self.keyspaces,
            tables: self.tables,
            left_out: self.left_out,
            without_level: self.without_level,
            digest: String::new(),
            forms: self.forms.into_iter().collect(),
            operations,
            parts: self.parts,
            values: self.values,
        };
        recording.digest = digest(&recording);
        Ok(recording)
    }
}

/// Error for logs that contain no record that can be replayed.
#[derive(Debug)]
pub struct Nothing {
    /// Number of omitted records, by reason.
    pub left_out: BTreeMap<Why, u64>,
    /// The logs that were read.
    pub logs: Vec<LogRead>,
}

/// Returns the name of a kind of operation, and true if operations of this kind write. The name
/// contains no spaces, because it also serves as the tag of a histogram.
fn kind_name(request: &Request, known: &[KnownStatement]) -> (String, bool) {
    let first = &known[0];
    let (keyspace, table) = &first.table;
    let is_batch = request.batch.is_some() || known.len() > 1;
    let verb = if is_batch { Verb::Batch } else { first.verb };
    let is_one = known.iter().all(|other| other.table == first.table);
    let plain = |name: &str| -> String {
        let fits = |c: char| c.is_alphanumeric() || c == '_';
        name.chars().map(|c| if fits(c) { c } else { '_' }).collect()
    };
    let name = if is_one {
        format!("{}-{}.{}", verb.name(), plain(keyspace), plain(table))
    } else {
        format!("{}-{}", verb.name(), plain(keyspace))
    };
    (name, verb.is_write())
}

fn form(request: &Request, known: &KnownStatement, values_count: u16, kind: u8) -> Form {
    let reads = known.verb == Verb::Select;
    Form {
        cql: known.cql.clone(),
        values_count,
        consistency: request.consistency.unwrap_or(Consistency::LocalOne),
        serial_consistency: request.serial_consistency.filter(|_| known.conditional),
        page_size: request.page_size.filter(|_| reads),
        stamped: request.stamped && !reads && !known.conditional,
        conditional: known.conditional,
        returns_rows: reads,
        batch: request.batch,
        kind,
    }
}

/// Returns the due times of operations from the milliseconds in which they began. If several
/// operations began in the same millisecond, spaces them evenly within it, because their exact
/// times are unknown.
fn course(at_ms: &[u64]) -> ArrivalTimes {
    let mut due_ns = Vec::with_capacity(at_ms.len());
    for same in at_ms.chunk_by(|a, b| a == b) {
        let count = same.len() as u64;
        let at = same.iter().zip(0..).map(|(ms, rank)| ms * MS_NS + rank * MS_NS / count);
        due_ns.extend(at);
    }
    let last_ns = due_ns.last().copied().unwrap_or(0);
    // The recording ends after the last operation, by the average interval between operations.
    let gap_ns = last_ns / (due_ns.len() as u64).max(2).saturating_sub(1);
    ArrivalTimes::new(due_ns, last_ns + gap_ns.max(MS_NS))
}

pub(crate) fn digest(recording: &Recording) -> String {
    let mut sum = Sha256::new();
    for form in &recording.forms {
        sum.update(format!("{form:?}"));
    }
    for due_ns in recording.course.due_ns() {
        sum.update(due_ns.to_le_bytes());
    }
    for operation in &recording.operations {
        sum.update(operation.first.to_le_bytes());
        sum.update(operation.parts.to_le_bytes());
    }
    for part in &recording.parts {
        sum.update(part.form.to_le_bytes());
        sum.update(part.bytes.to_le_bytes());
    }
    sum.update(&recording.values);
    HEXLOWER.encode(&sum.finalize())
}
