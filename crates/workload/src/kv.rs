//! The workload of one blob value per key. Each value contains the number of the operation that
//! wrote it.
//!
//! A value consists of a header of four big-endian 64-bit numbers and its contents:
//!
//! | bytes | content |
//! | --- | --- |
//! | 0..8 | checksum of the seed, the row and the three numbers below |
//! | 8..16 | epoch |
//! | 16..24 | writer: twice the operation's number, plus 1 if it was of the main stage |
//! | 24..32 | length of the whole value |
//! | 32.. | splitmix64 sequence that begins at the checksum, little-endian, cut to the length |
//!
//! If a share of the contents must be compressible, a filler replaces that share of the sequence. A
//! value can be verified from the seed, the compressible share and the row, regardless of the
//! operation that wrote it last. This is possible because the checksum ties the header to the row,
//! and the contents follow from the checksum. Sizes and mixes may change between epochs. With a
//! different seed, every value is wrong.

use std::cmp::Ordering;

use crate::compressible::{PATTERN_BYTES, Pattern};
use crate::distribution::{DistributionText, Sampler, Shape};
use crate::operation_generator::{Check, Operation};
use crate::params::Params;
use crate::program::{Program, Stage, lanes};
use crate::program_traits;
use crate::random::{Draws, GOLDEN, lane, mix};
use crate::workload_parts::{self, Draft, OneTable};
use cql::Consistency;
use cql::response::RawRows;
use cql::template::append_value;
use cql::token::murmur3;

pub(crate) const NAME: &str = "kv";

const TABLE: &str = "kv";

/// Names of the kinds, with a flag for kinds that write. The kinds have the order of the
/// statements, so that a kind and its statement have the same index.
const KINDS: [(&str, bool); 4] = [
    ("write", true),
    ("read", false),
    ("insert", true),
    ("delete", true),
];
const READ: u16 = 1;
const DELETE: u16 = 3;

const HEADER_BYTES: usize = 32;
/// Maximum size of a value, in bytes. It is the limit of Cassandra's commit log with its default
/// segment size, minus space for the rest of the row.
const VALUE_BYTES_MAX: u64 = 16_000_000;
/// Default size of a value, in bytes.
const VALUE_BYTES_DEFAULT: u64 = 100;

#[derive(Debug)]
pub(crate) struct Kv {
    is_bigint: bool,
    /// True if the mix deletes rows.
    deletes: bool,
    epoch: u64,
    sizes: Sampler,
    sizes_seed: u64,
    contents_seed: u64,
    pattern: Pattern,
}

#[derive(Debug)]
pub(crate) struct RowKey {
    row: u64,
    key: [u8; 16],
    key_bytes: usize,
    sizes: Sampler,
    /// The writer whose number the most recently checked value contains. `None` if no operation of
    /// this epoch wrote the value.
    writer: Option<u64>,
}

#[derive(Clone, Copy)]
struct Header {
    epoch: u64,
    writer: u64,
    length: u64,
}

pub(crate) fn program(params: &mut Params, draft: Draft) -> Program {
    let spec = params.spec;
    let rows = workload_parts::rows(spec);
    let key_type = params.text("key_type").unwrap_or("text");
    if !["text", "bigint"].contains(&key_type) {
        let message = format!("key_type is \"{key_type}\"; it must be text or bigint");
        params.problem(&["params", "key_type"], message, None);
    }
    let sizes = sizes(params);
    let pattern = Pattern::new(params.share("compressible"));
    let distribution = params.rows_distribution("distribution", rows);
    let popular = lane(spec.seed, lanes::POPULAR);
    let table = draft.qualified(TABLE);
    let insert = format!("INSERT INTO {table} (key, value) VALUES (?, ?)");
    let select = format!("SELECT value FROM {table} WHERE key = ?");
    let mut statements = Vec::new();
    let delete = format!("DELETE FROM {table} WHERE key = ?");
    for (kind, cql) in [&insert, &select, &insert, &delete].into_iter().enumerate() {
        let level = Consistency::LocalOne;
        statements.push(workload_parts::statement(
            &KINDS,
            kind as u8,
            cql.clone(),
            level,
        ));
    }
    statements[usize::from(DELETE)].deletes = true;
    let deletes = draft.weighs(usize::from(DELETE));
    let parts = OneTable {
        name: TABLE.to_owned(),
        create: format!(
            "CREATE TABLE IF NOT EXISTS {table} (key {key_type} PRIMARY KEY, value blob)"
        ),
        kinds: &KINDS,
        statements,
        rows,
        picks: Sampler::new(distribution, (0, rows - 1), Some(popular)),
        insert_kind: Some(2),
        load: 0,
        verify: READ,
        table: Kv {
            is_bigint: key_type == "bigint",
            deletes,
            epoch: spec.epoch,
            sizes,
            sizes_seed: lane(lane(spec.seed, lanes::SIZES), spec.epoch),
            contents_seed: lane(spec.seed, lanes::CONTENTS),
            pattern,
        },
    };
    draft.program(params, parts)
}

fn sizes(params: &mut Params) -> Sampler {
    let usual = (VALUE_BYTES_DEFAULT, VALUE_BYTES_DEFAULT);
    let default = DistributionText {
        shape: Shape::Fixed,
        range: Some(usual),
    };
    let wrong = |params: &mut Params, message: String| {
        let hint = "write a number, or a distribution with a range: uniform(100..2000)";
        params.problem(&["params", "value_size"], message, Some(hint.to_owned()));
        default
    };
    let written = match params.distribution("value_size", default) {
        None => default,
        Some(DistributionText {
            shape: Shape::Latest { .. },
            ..
        }) => wrong(params, "value_size cannot use latest".to_owned()),
        Some(DistributionText { range: None, .. }) => {
            wrong(params, "value_size requires a range of sizes".to_owned())
        }
        Some(DistributionText {
            range: Some((first, last)),
            ..
        }) if first < HEADER_BYTES as u64 || last > VALUE_BYTES_MAX => {
            let limits = format!("sizes must be from {HEADER_BYTES} to {VALUE_BYTES_MAX}");
            wrong(
                params,
                format!("value_size is {first} to {last} bytes; {limits}"),
            )
        }
        Some(written) => written,
    };
    Sampler::new(written, usual, None)
}

impl program_traits::RowFunction for Kv {
    type RowKey = RowKey;

    fn cursor(&self) -> RowKey {
        RowKey {
            row: 0,
            key: [0; 16],
            key_bytes: self.key_bytes(),
            sizes: self.sizes,
            writer: None,
        }
    }

    fn writer(cursor: &RowKey) -> Option<(Stage, u64)> {
        let writer = cursor.writer?;
        let stage = match writer & 1 {
            0 => Stage::Load,
            _ => Stage::Main,
        };
        Some((stage, writer >> 1))
    }

    #[inline]
    fn token(cursor: &RowKey) -> i64 {
        murmur3(&cursor.key[..cursor.key_bytes])
    }

    fn deletes_nothing(&self) -> bool {
        !self.deletes
    }

    fn row_bytes_estimate(&self) -> u64 {
        // Number of draws from which the mean size is estimated. The mean then has an error of one
        // or two percent.
        const DRAWS: u64 = 1000;
        let mut sizes = self.sizes;
        let total: u64 =
            (0..DRAWS).map(|n| sizes.draw(n, 0, &mut Draws::new(self.sizes_seed, n))).sum();
        self.key_bytes() as u64 + total / DRAWS
    }

    fn values_bytes_max(&self) -> usize {
        4 + self.key_bytes() + 4 + self.sizes.range().1 as usize
    }

    #[inline]
    fn seek(&self, cursor: &mut RowKey, row: u64) {
        cursor.row = row;
        if self.is_bigint {
            cursor.key[..8].copy_from_slice(&row.to_be_bytes());
        } else {
            cursor.key = hexadecimal(row);
        }
    }

    #[inline]
    fn append_values(
        &self,
        cursor: &mut RowKey,
        operation: &Operation,
        stage: Stage,
        out: &mut Vec<u8>,
    ) {
        append_value(out, &cursor.key[..cursor.key_bytes]);
        if [READ, DELETE].contains(&operation.statement) {
            return;
        }
        let writer = operation.number << 1 | u64::from(stage == Stage::Main);
        let length = cursor.sizes.draw(writer, 0, &mut Draws::new(self.sizes_seed, writer));
        let header = Header {
            epoch: self.epoch,
            writer,
            length,
        };
        let start = out.len();
        out.resize(start + 4 + length as usize, 0);
        let (size, value) = out[start..].split_at_mut(4);
        size.copy_from_slice(&(length as u32).to_be_bytes());
        self.write_value(cursor.row, header, value);
    }

    /// Checks the only cell of the only row.
    fn check(
        &self,
        cursor: &mut RowKey,
        operation: &Operation,
        loaded: bool,
        rows: &RawRows,
    ) -> Check {
        cursor.writer = None;
        let mut rows = rows.rows();
        let row = match rows.next() {
            // If operations delete rows, a missing row may be correct.
            None if loaded && !self.deletes => return Check::Missing,
            None => return Check::Unknown,
            Some(Err(_)) => return Check::Wrong,
            Some(Ok(row)) => row,
        };
        let mut cells = row.cells();
        let cell = cells.next().flatten();
        if rows.next().is_some() || cells.next().is_some() {
            return Check::Wrong;
        }
        let Some(header) = cell.and_then(|value| self.header_of(cursor.row, value)) else {
            return Check::Wrong;
        };
        // Operation n of the load stage writes row n.
        let is_loaded = header.writer == operation.key << 1;
        cursor.writer = (header.epoch == self.epoch).then_some(header.writer);
        match header.epoch.cmp(&self.epoch) {
            Ordering::Equal if loaded && !is_loaded => Check::Overwritten,
            Ordering::Equal => Check::Right,
            Ordering::Less => Check::Stale,
            Ordering::Greater => Check::Wrong,
        }
    }
}

impl Kv {
    fn key_bytes(&self) -> usize {
        if self.is_bigint { 8 } else { 16 }
    }

    fn write_value(&self, row: u64, header: Header, value: &mut [u8]) {
        let checksum = self.checksum(row, header);
        let (head, contents) = value.split_at_mut(HEADER_BYTES);
        let numbers = [checksum, header.epoch, header.writer, header.length];
        for (bytes, number) in head.chunks_exact_mut(8).zip(numbers) {
            bytes.copy_from_slice(&number.to_be_bytes());
        }
        write_random(checksum, contents);
        self.pattern.apply(contents);
    }

    #[inline]
    fn checksum(&self, row: u64, header: Header) -> u64 {
        [row, header.epoch, header.writer, header.length]
            .into_iter()
            .fold(self.contents_seed, |sum, number| {
                mix(sum.wrapping_add(GOLDEN) ^ mix(number))
            })
    }

    /// Returns the header of a value. Returns `None` unless, under this seed, an operation writes
    /// exactly this value to `row`.
    fn header_of(&self, row: u64, value: &[u8]) -> Option<Header> {
        let (head, contents) = value.split_at_checked(HEADER_BYTES)?;
        let mut numbers = head.as_chunks::<8>().0.iter().map(|bytes| u64::from_be_bytes(*bytes));
        let checksum = numbers.next()?;
        let header = Header {
            epoch: numbers.next()?,
            writer: numbers.next()?,
            length: numbers.next()?,
        };
        if header.length != value.len() as u64 || checksum != self.checksum(row, header) {
            return None;
        }
        let mut counter = checksum;
        let same = contents.chunks(PATTERN_BYTES).all(|bytes| {
            let mut buffer = [0; PATTERN_BYTES];
            let expected = &mut buffer[..bytes.len()];
            counter = write_random(counter, expected);
            self.pattern.apply(expected);
            bytes == expected
        });
        same.then_some(header)
    }
}

/// Writes the splitmix64 sequence that begins after `counter`. Returns the counter after the last
/// whole word.
#[inline]
fn write_random(mut counter: u64, out: &mut [u8]) -> u64 {
    let (words, tail) = out.as_chunks_mut::<8>();
    for word in words {
        counter = counter.wrapping_add(GOLDEN);
        *word = mix(counter).to_le_bytes();
    }
    let last = mix(counter.wrapping_add(GOLDEN)).to_le_bytes();
    tail.copy_from_slice(&last[..tail.len()]);
    counter
}

#[inline]
fn hexadecimal(number: u64) -> [u8; 16] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    std::array::from_fn(|place| DIGITS[(number >> (60 - 4 * place)) as usize & 15])
}
