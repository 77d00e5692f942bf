//! NoSQLBench's cql-tabular, with rows of text, one partition after another. Row n equals the row
//! of cycle n of NoSQLBench's rampup, regardless of the seed. Except for the text of the data, the
//! rows are equal bit for bit.
//!
//! Two things differ. The main phase of NoSQLBench overwrites random rows with data that is a
//! function of the cycle, so reads cannot be verified. In cassay, every write of a row writes the
//! only data of the row, so every read can be verified. The first rows of a partition, in the order
//! of their text, must all exist. The number of partitions follows from the rows and `partsize`.

use crate::decimal::{self, Decimal};
use crate::distribution::Sampler;
use crate::iot::{self, extract};
use crate::keyvalue::table_name;
use crate::operation_generator::{Check, Operation};
use crate::params::Params;
use crate::program::{Program, Stage, lanes};
use crate::program_traits;
use crate::random::lane;
use crate::virtdata::hash;
use crate::virtdata_curve::UniformInt;
use crate::workload_parts::{self, Draft, OneTable};
use cql::Consistency;
use cql::response::{RawRows, Row};
use cql::template::append_value;
use cql::token::murmur3;

pub(crate) const NAME: &str = "cql-tabular";

const KINDS: [(&str, bool); 2] = [("write", true), ("read", false)];

const WRITE: u16 = 0;
const READ: u16 = 1;
const VERIFY: u16 = 2;

/// Range of the data's length in characters, both ends included.
const DATA_BYTES: (u64, u64) = (50, 150);
/// Range of the number of rows that a read requests. Both ends are included.
const LIMITS: (i32, i32) = (1, 10);
/// Maximum number of rows of a partition. Cassandra cannot compact larger partitions.
const PARTSIZE_MAX: u64 = 1_000_000_000;
const PARTSIZE_DEFAULT: u64 = 1_000_000;

#[derive(Debug)]
pub(crate) struct Tabular {
    partsize: u64,
    /// Number of rows that the load stage writes.
    rows: u64,
    limits: UniformInt,
    text: Box<str>,
}

#[derive(Debug)]
pub(crate) struct RowKey {
    row: u64,
    part: Decimal,
    clust: Decimal,
}

pub(crate) fn program(params: &mut Params, draft: Draft) -> Program {
    let spec = params.spec;
    let rows = workload_parts::rows(spec);
    let name = table_name(params, "tabular");
    let qualified = draft.qualified(&name);
    let table = Tabular {
        partsize: params.number("partsize", PARTSIZE_DEFAULT, (1, PARTSIZE_MAX)),
        rows,
        limits: UniformInt::new(LIMITS.0, LIMITS.1),
        text: iot::text(params, DATA_BYTES.1),
    };
    let distribution = params.rows_distribution("distribution", rows);
    let popular = lane(spec.seed, lanes::POPULAR);
    let level = Consistency::LocalQuorum;
    let [write, read, verify] = statements(&qualified);
    let parts = OneTable {
        name,
        create: format!(
            "CREATE TABLE IF NOT EXISTS {qualified} (part text, clust text, data text, \
                 PRIMARY KEY (part, clust))"
        ),
        kinds: &KINDS,
        statements: vec![
            workload_parts::statement(&KINDS, 0, write, level),
            workload_parts::statement(&KINDS, 1, read, level),
            workload_parts::statement(&KINDS, 1, verify, level),
        ],
        rows,
        picks: Sampler::new(distribution, (0, rows - 1), Some(popular)),
        insert_kind: None,
        load: 0,
        verify: VERIFY,
        table,
    };
    draft.program(params, parts)
}

/// Returns the statements. Their indexes are [`WRITE`], [`READ`] and [`VERIFY`].
fn statements(table: &str) -> [String; 3] {
    [
        format!("INSERT INTO {table} (part, clust, data) VALUES (?, ?, ?)"),
        format!("SELECT * FROM {table} WHERE part = ? LIMIT ?"),
        format!("SELECT * FROM {table} WHERE part = ? AND clust = ?"),
    ]
}

impl program_traits::RowFunction for Tabular {
    type RowKey = RowKey;

    fn cursor(&self) -> RowKey {
        RowKey {
            row: 0,
            part: Decimal::new(0),
            clust: Decimal::new(0),
        }
    }

    #[inline]
    fn token(cursor: &RowKey) -> i64 {
        murmur3(cursor.part.bytes())
    }

    fn row_bytes_estimate(&self) -> u64 {
        let part = Decimal::new(self.rows / self.partsize);
        let clust = Decimal::new(self.partsize - 1);
        (part.bytes().len() + clust.bytes().len()) as u64 + (DATA_BYTES.0 + DATA_BYTES.1) / 2
    }

    fn values_bytes_max(&self) -> usize {
        3 * 4 + 2 * 20 + DATA_BYTES.1 as usize
    }

    #[inline]
    fn seek(&self, cursor: &mut RowKey, row: u64) {
        cursor.row = row;
        cursor.part = Decimal::new(row / self.partsize);
        cursor.clust = Decimal::new(row % self.partsize);
    }

    #[inline]
    fn append_values(
        &self,
        cursor: &mut RowKey,
        operation: &Operation,
        _stage: Stage,
        out: &mut Vec<u8>,
    ) {
        append_value(out, cursor.part.bytes());
        match operation.statement {
            READ => append_value(out, &self.limits.number(operation.number).to_be_bytes()),
            statement => {
                append_value(out, cursor.clust.bytes());
                if statement == WRITE {
                    append_value(out, self.data(cursor.row));
                }
            }
        }
    }

    fn check(
        &self,
        cursor: &mut RowKey,
        operation: &Operation,
        loaded: bool,
        rows: &RawRows,
    ) -> Check {
        let check = match operation.statement {
            VERIFY => self.check_row(cursor, rows),
            _ => self.check_partition(cursor, self.limits.number(operation.number) as usize, rows),
        };
        match check {
            Check::Missing if !loaded => Check::Unknown,
            check => check,
        }
    }
}

impl Tabular {
    #[inline]
    fn data(&self, row: u64) -> &[u8] {
        let (start, length) = extract(hash(row), self.text.len() as u64, DATA_BYTES);
        &self.text.as_bytes()[start..start + length]
    }

    fn check_row(&self, cursor: &RowKey, rows: &RawRows) -> Check {
        let mut rows = rows.rows();
        match (rows.next(), rows.next()) {
            (None, _) => Check::Missing,
            (Some(Ok(row)), None) => match self.clust(cursor, &row) {
                Some(clust) if clust == cursor.row % self.partsize => Check::Right,
                _ => Check::Wrong,
            },
            _ => Check::Wrong,
        }
    }

    /// Checks that the rows belong to the partition and that the text of their clustering values
    /// ascends. Also checks that the result contains all loaded rows, up to the last returned row
    /// if `limit` ended the result. Rows of an earlier, larger load are also right.
    fn check_partition(&self, cursor: &RowKey, limit: usize, rows: &RawRows) -> Check {
        let first = cursor.row / self.partsize * self.partsize;
        let loaded = self.rows.saturating_sub(first).min(self.partsize);
        let mut due = (loaded > 0).then_some(0);
        let (mut count, mut last, mut is_missing) = (0, None, false);
        for row in rows.rows() {
            let Some(clust) = row.ok().and_then(|row| self.clust(cursor, &row)) else {
                return Check::Wrong;
            };
            let text = Decimal::new(clust);
            if last.is_some_and(|last: Decimal| last.bytes() >= text.bytes()) {
                return Check::Wrong;
            }
            last = Some(text);
            count += 1;
            match due {
                Some(expected) if clust == expected => due = next(clust, loaded),
                Some(expected) => is_missing |= Decimal::new(expected).bytes() < text.bytes(),
                None => {}
            }
        }
        match (
            count > limit,
            is_missing || (count < limit && due.is_some()),
        ) {
            (true, _) => Check::Wrong,
            (_, true) => Check::Missing,
            // The result is empty, and the load stage wrote no rows to this partition.
            _ if count == 0 => Check::Unknown,
            _ => Check::Right,
        }
    }

    /// Returns the position of a row within the cursor's partition. Returns `None` if the row is
    /// not a correct row of the partition.
    fn clust(&self, cursor: &RowKey, row: &Row) -> Option<u64> {
        let mut cells = row.cells();
        let mut cell = || cells.next().flatten();
        let same = cell()? == cursor.part.bytes();
        let clust = decimal::parse(cell()?).filter(|clust| *clust < self.partsize)?;
        let row = cursor.row / self.partsize * self.partsize + clust;
        let same = same && cell()? == self.data(row);
        (same && cells.next().is_none()).then_some(clust)
    }
}

/// Returns the number below `count` whose text follows the text of `number` in text order. Returns
/// `None` after the last number.
fn next(number: u64, count: u64) -> Option<u64> {
    let longer = number.saturating_mul(10);
    if number > 0 && longer < count {
        return Some(longer);
    }
    let mut number = number;
    while number % 10 == 9 || number + 1 >= count {
        number /= 10;
        if number == 0 {
            return None;
        }
    }
    Some(number + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_each_other_in_the_order_of_their_texts() {
        for count in [1u64, 2, 9, 10, 11, 99, 100, 101, 1234] {
            let mut expected: Vec<String> = (0..count).map(|n| n.to_string()).collect();
            expected.sort();
            let walk = std::iter::successors(Some(0), |n| next(*n, count));
            let walked: Vec<String> = walk.map(|n| n.to_string()).collect();
            assert_eq!(walked, expected, "{count}");
        }
    }
}
