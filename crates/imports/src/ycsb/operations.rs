//! The rows of YCSB's table, and the operations on them.
//!
//! The first characters of a value are the number of the operation that wrote it. The other
//! characters follow from the seed, the record, the field and that number. Every field of a row can
//! therefore be verified alone, regardless of the operation that wrote it last. To Cassandra,
//! values are as random as YCSB's own values: printable ASCII without a pattern. With
//! `dataintegrity`, values equal YCSB's own values byte for byte. They are functions of key and
//! field.

use std::sync::Arc;

use super::histogram::LengthLimits;
use super::key_distribution::{Chooser, Records, fnv};
use cql::response::RawRows;
use cql::template::append_value;
use cql::token::murmur3;
use workload::Stage;
use workload::mix::Mix;
use workload::random::{Draws, GOLDEN, lane, mix};
use workload::{Check, Operation};
use workload::{ClientRanges, OperationEncoder, OperationSource};

/// Number of characters of a value that encode its writer. These characters encode 64 bits, with
/// six bits per character.
const WRITER_CHARACTERS: usize = 11;
/// Minimum number of further characters. With fewer characters, a random text could look like a
/// valid value.
const CONTENT_CHARACTERS_MIN: usize = 6;

/// Number of the random stream for keys.
const KEYS: u64 = 32;
const VALUES: u64 = 33;
const FIELDS: u64 = 34;

/// Index of the operation that reads. Each operation and its kind have the same index.
pub(super) const READ: usize = 0;
pub(super) const UPDATE: usize = 1;
pub(super) const INSERT: usize = 2;
pub(super) const SCAN: usize = 3;
pub(super) const MODIFY: usize = 4;
pub(super) const KINDS: usize = 5;

/// Distribution of a drawn length.
#[derive(Clone, Debug)]
pub(super) enum Length {
    /// The length is always the maximum.
    Constant,
    Uniform,
    /// A zipfian distribution, in which short texts are popular.
    Zipfian(super::key_distribution::Zipfian),
    /// A distribution from a file that contains the number of fields for each length.
    Histogram(Arc<super::histogram::Buckets>),
}

impl Length {
    /// Draws a length within `limits`.
    fn draw(&self, limits: LengthLimits, draws: &mut Draws) -> u64 {
        let LengthLimits { least, most } = limits;
        match self {
            Length::Constant => most,
            Length::Uniform => least + draws.below(most - least + 1),
            Length::Zipfian(zipfian) => {
                let mut zipfian = *zipfian;
                least + zipfian.draw(most - least + 1, draws)
            }
            Length::Histogram(buckets) => buckets.length(draws.below(buckets.area())),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Statements {
    pub(super) insert: u16,
    /// Statements that read. Either each field has a statement, or one statement reads all fields.
    pub(super) read: Vec<u16>,
    pub(super) update: Vec<u16>,
    pub(super) scan: Vec<u16>,
    /// Reads that are followed by an update. The list has one read for each pair of a read and an
    /// update.
    pub(super) modify: Vec<u16>,
}

#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) seed: u64,
    pub(super) hashed: bool,
    pub(super) padding: usize,
    pub(super) fields: usize,
    pub(super) field_lengths: LengthLimits,
    pub(super) field_length: Length,
    pub(super) scan_lengths: LengthLimits,
    pub(super) scan_length: Length,
    /// Number of the first record.
    pub(super) first: u64,
    pub(super) loaded: u64,
    pub(super) records: u64,
    pub(super) mix: Mix,
    pub(super) chooser: Chooser,
    pub(super) statements: Statements,
    /// Values that each statement binds in addition to the key.
    pub(super) binds: Vec<Binds>,
    /// Prefix of the names of the fields. `None` unless values are those of `dataintegrity`.
    pub(super) integrity: Option<String>,
    /// Fields in the order in which `SELECT *` returns them.
    pub(super) by_name: Vec<usize>,
    /// Ranges that the clients load. `None` if the clients do not have separate ranges.
    pub(super) ranges: Option<ClientRanges>,
}

/// Values that a statement binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binds {
    /// The key, followed by every field.
    Insert,
    /// The key. The statement returns the key and every field, or only one field.
    Read(Option<usize>),
    /// The key. The statement returns every field in the order of the fields, but does not return
    /// the key.
    ReadNamed,
    /// The fields, followed by the key.
    Update(Option<usize>),
    /// The key, followed by the number of rows.
    Scan,
}

#[derive(Debug)]
struct YcsbCursor {
    table: Arc<Table>,
    stage: Stage,
    chooser: Chooser,
    operation: Operation,
    key: Vec<u8>,
    expected: Vec<u8>,
}

impl Table {
    fn field_bytes_max(&self) -> usize {
        self.field_lengths.most as usize
    }

    pub(super) fn verifies(&self) -> bool {
        self.integrity.is_some()
            || self.field_lengths.least as usize >= WRITER_CHARACTERS + CONTENT_CHARACTERS_MIN
    }

    /// Appends YCSB's deterministic value, truncated to the length. The value begins with key and
    /// field. After that, Java's hash of the preceding text is appended repeatedly.
    fn append_integrity(&self, prefix: &str, record: u64, field: usize, out: &mut Vec<u8>) {
        let start = out.len();
        let end = start + self.field_bytes_max();
        self.append_key(record, out);
        push_text(out, format_args!(":{prefix}{field}"));
        let (mut hash, mut hashed) = (0i32, start);
        while out.len() < end {
            out.push(b':');
            for byte in &out[hashed..] {
                hash = hash.wrapping_mul(31).wrapping_add(i32::from(*byte));
            }
            hashed = out.len();
            push_text(out, format_args!("{hash}"));
        }
        out.truncate(end);
    }

    /// Returns how often `zipfian` draws on average at the beginning of a run until it finds an
    /// existing record. Returns `None` for other distributions.
    pub(super) fn draws_per_key(&self) -> Option<u64> {
        match self.chooser {
            Chooser::Zipfian { span, .. } => Some(span / self.records.max(1)),
            _ => None,
        }
    }

    fn append_key(&self, record: u64, out: &mut Vec<u8>) {
        let mut digits = [0u8; 20];
        let mut at = digits.len();
        let mut number = if self.hashed { fnv(record) } else { record };
        while number > 0 || at == digits.len() {
            at -= 1;
            digits[at] = b'0' + (number % 10) as u8;
            number /= 10;
        }
        out.extend_from_slice(b"user");
        let padding = self.padding.saturating_sub(digits.len() - at);
        out.resize(out.len() + padding, b'0');
        out.extend_from_slice(&digits[at..]);
    }

    fn value_seed(&self, record: u64, field: usize, writer: u64) -> u64 {
        [record, field as u64, writer]
            .into_iter()
            .fold(lane(self.seed, VALUES), |sum, number| {
                mix(sum.wrapping_add(GOLDEN) ^ mix(number))
            })
    }

    /// Appends the value that the operation `writer` gives to a field, without a length field.
    fn append_value(&self, record: u64, field: usize, writer: u64, out: &mut Vec<u8>) {
        if let Some(prefix) = &self.integrity {
            return self.append_integrity(prefix, record, field, out);
        }
        let mut draws = Draws::new(self.value_seed(record, field, writer), 0);
        let length = self.field_length.draw(self.field_lengths, &mut draws) as usize;
        let end = out.len() + length;
        if self.verifies() {
            out.extend(
                (0..WRITER_CHARACTERS).map(|place| b'0' + (writer >> (6 * place)) as u8 % 64),
            );
        }
        while out.len() < end {
            let bits = draws.bits().to_le_bytes();
            let count = bits.len().min(end - out.len());
            // The alphabet of values has 64 printable characters, starting with the space.
            out.extend(bits[..count].iter().map(|byte| b' ' + byte % 64));
        }
    }

    /// Returns true if a cell equals the value that follows from the first characters of the cell.
    fn is_right(&self, record: u64, field: usize, cell: &[u8], expected: &mut Vec<u8>) -> bool {
        // With `dataintegrity`, the value does not depend on the writer.
        let head = match (self.integrity.is_some(), cell.get(..WRITER_CHARACTERS)) {
            (true, _) => &[],
            (false, Some(head)) => head,
            (false, None) => return false,
        };
        let writer = head.iter().enumerate().fold(0u64, |sum, (place, byte)| {
            sum | u64::from(byte.wrapping_sub(b'0') & 63) << (6 * place)
        });
        expected.clear();
        self.append_value(record, field, writer, expected);
        expected == cell
    }
}

fn push_text(out: &mut Vec<u8>, text: core::fmt::Arguments) {
    out.extend_from_slice(text.to_string().as_bytes());
}

impl OperationSource for Table {
    fn cursor(self: Arc<Self>, stage: Stage) -> Box<dyn OperationEncoder> {
        Box::new(YcsbCursor {
            stage,
            chooser: self.chooser,
            operation: Operation::default(),
            key: Vec::with_capacity(4 + 20 + self.padding),
            expected: Vec::with_capacity(self.field_bytes_max()),
            table: self,
        })
    }

    fn row_bytes_estimate(&self) -> u64 {
        let LengthLimits { least, most } = self.field_lengths;
        let length = match &self.field_length {
            Length::Constant => most,
            Length::Uniform | Length::Zipfian(_) => u64::midpoint(least, most),
            Length::Histogram(buckets) => buckets.mean(),
        };
        24 + self.fields as u64 * length
    }

    fn may_ask(&self, stage: Stage, kind: usize) -> bool {
        match stage {
            Stage::Load => kind == INSERT,
            // Each part of a read-modify-write occurs if read-modify-writes occur.
            Stage::Main if kind > MODIFY => self.mix.has(MODIFY),
            Stage::Main => self.mix.has(kind),
            Stage::Verify | Stage::ReadBack => kind == READ,
        }
    }

    /// Divides a load between clients, as `insertstart` and `insertcount` do. In the run phase,
    /// each client of YCSB chooses among all records.
    fn in_ranges(
        self: Arc<Self>,
        stage: Stage,
        _range: (u64, Option<u64>),
        workers: &[u64],
    ) -> Option<Arc<dyn OperationSource>> {
        let ranges = (stage == Stage::Load).then(|| ClientRanges::new(self.loaded, workers));
        Some(Arc::new(Table {
            ranges: Some(ranges?),
            ..Table::clone(&self)
        }))
    }
}

impl YcsbCursor {
    fn choose(&mut self, n: u64) -> Operation {
        let table = &self.table;
        let choice = table.mix.choose(n);
        let kind = choice.kind;
        let mut draws = Draws::new(lane(table.seed, KEYS), n);
        let mut fields = Draws::new(lane(table.seed, FIELDS), n);
        let mut one = |of: &[u16]| of[fields.below(of.len() as u64) as usize];
        let key = if kind == INSERT {
            table.records + choice.ordinal
        } else {
            let inserted = table.mix.count_before_window(INSERT, n);
            let last = table.records - 1 + inserted;
            let records = Records {
                first: table.first,
                loaded: table.loaded,
                last,
            };
            self.chooser.draw(n, records, &mut draws)
        };
        let statements = &table.statements;
        let statement = match kind {
            READ => one(&statements.read),
            UPDATE => one(&statements.update),
            INSERT => statements.insert,
            SCAN => one(&statements.scan),
            _ => one(&statements.modify),
        };
        Operation {
            number: n,
            key,
            statement,
            kind: kind as u8,
        }
    }

    /// Returns the operation's number in the form in which values contain it.
    fn writer(&self) -> u64 {
        self.operation.number << 1 | u64::from(self.stage == Stage::Main)
    }

    fn append_field(&self, field: usize, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        let (record, writer) = (self.operation.key, self.writer());
        self.table.append_value(record, field, writer, out);
        let length = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }
}

impl OperationEncoder for YcsbCursor {
    fn begin(&mut self, n: u64) -> Operation {
        let operation = match self.stage {
            Stage::Main => self.choose(n),
            Stage::Load => Operation {
                number: n,
                key: self.table.first + self.table.ranges.as_ref().map_or(n, |one| one.place(n)),
                statement: self.table.statements.insert,
                kind: INSERT as u8,
            },
            Stage::Verify | Stage::ReadBack => Operation {
                number: n,
                key: self.table.first + n % self.table.loaded,
                statement: self.table.statements.read[0],
                kind: READ as u8,
            },
        };
        self.seek(operation);
        operation
    }

    fn seek(&mut self, operation: Operation) {
        self.operation = operation;
        self.key.clear();
        self.table.append_key(operation.key, &mut self.key);
    }

    fn token(&self) -> Option<i64> {
        Some(murmur3(&self.key))
    }

    fn entry_statement(&self, _entry: usize) -> u16 {
        self.operation.statement
    }

    fn append_values(&mut self, _entry: usize, out: &mut Vec<u8>) {
        match self.table.binds[usize::from(self.operation.statement)] {
            Binds::Insert => {
                append_value(out, &self.key);
                (0..self.table.fields).for_each(|field| self.append_field(field, out));
            }
            Binds::Read(_) | Binds::ReadNamed => append_value(out, &self.key),
            Binds::Update(Some(field)) => {
                self.append_field(field, out);
                append_value(out, &self.key);
            }
            Binds::Update(None) => {
                (0..self.table.fields).for_each(|field| self.append_field(field, out));
                append_value(out, &self.key);
            }
            Binds::Scan => {
                append_value(out, &self.key);
                let mut draws = Draws::new(lane(self.table.seed, FIELDS), self.operation.number);
                draws.bits();
                let rows = self.table.scan_length.draw(self.table.scan_lengths, &mut draws);
                append_value(out, &(rows as i32).to_be_bytes());
            }
        }
    }

    fn check(&mut self, rows: &RawRows) -> Check {
        let binds = self.table.binds[usize::from(self.operation.statement)];
        if !matches!(binds, Binds::Read(_) | Binds::ReadNamed) {
            return Check::Unknown;
        }
        let record = self.operation.key;
        let mut rows = rows.rows();
        let row = match rows.next() {
            None if (self.table.first..self.table.first + self.table.loaded).contains(&record) => {
                return Check::Missing;
            }
            None => return Check::Unknown,
            Some(Err(_)) => return Check::Wrong,
            Some(Ok(row)) => row,
        };
        let mut cells = row.cells();
        let table = &self.table;
        let expected = &mut self.expected;
        let mut right = |field: usize, cell: Option<Option<&[u8]>>| {
            let cell = cell.flatten();
            cell.is_some_and(|cell| table.is_right(record, field, cell, expected))
        };
        let same = match binds {
            Binds::Read(Some(field)) => right(field, cells.next()),
            Binds::ReadNamed => (0..table.fields).all(|field| right(field, cells.next())),
            _ => {
                cells.next().flatten() == Some(&self.key[..])
                    && table.by_name.iter().all(|field| right(*field, cells.next()))
            }
        };
        if same && cells.next().is_none() && rows.next().is_none() {
            Check::Right
        } else {
            Check::Wrong
        }
    }

    fn values_bytes_max(&self) -> usize {
        8 + self.key.capacity() + self.table.fields * (4 + self.table.field_bytes_max())
    }
}
