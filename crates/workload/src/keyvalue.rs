//! NoSQLBench's cql-keyvalue, with a text value for each text key. Row n equals the row of cycle n
//! of NoSQLBench's rampup, bit for bit, regardless of the seed.
//!
//! The main phase differs. NoSQLBench writes values that are functions of the cycle, under keys
//! that many cycles share, so reads cannot be verified. In cassay, every write of a row writes the
//! only value of the row, so every read can be verified. The number of keys is the number of rows.

use crate::decimal::Decimal;
use crate::distribution::Sampler;
use crate::operation_generator::{Check, Operation};
use crate::params::Params;
use crate::program::{Program, Stage, lanes};
use crate::program_traits;
use crate::random::lane;
use crate::virtdata::hash;
use crate::workload_parts::{self, Draft, OneTable, is_identifier};
use cql::Consistency;
use cql::response::{RawRows, Row};
use cql::template::append_value;
use cql::token::murmur3;

pub(crate) const NAME: &str = "cql-keyvalue";

const KINDS: [(&str, bool); 2] = [("write", true), ("read", false)];

const WRITE: u16 = 0;
const READ: u16 = 1;

/// Default upper bound of values, as in NoSQLBench.
const VALUECOUNT_DEFAULT: u64 = 1_000_000_000;
/// Maximum upper bound of values, since the hash has 63 bits.
const VALUECOUNT_MAX: u64 = 1 << 63;

#[derive(Debug)]
pub(crate) struct KeyValue {
    valuecount: u64,
}

#[derive(Debug)]
pub(crate) struct RowKey {
    row: u64,
    key: Decimal,
}

pub(crate) fn program(params: &mut Params, draft: Draft) -> Program {
    let spec = params.spec;
    let rows = workload_parts::rows(spec);
    let name = table_name(params, "keyvalue");
    let valuecount = params.number("valuecount", VALUECOUNT_DEFAULT, (1, VALUECOUNT_MAX));
    let distribution = params.rows_distribution("distribution", rows);
    let table = draft.qualified(&name);
    let level = Consistency::LocalQuorum;
    let write = format!("INSERT INTO {table} (key, value) VALUES (?, ?)");
    let read = format!("SELECT * FROM {table} WHERE key = ?");
    let popular = lane(spec.seed, lanes::POPULAR);
    let parts = OneTable {
        name,
        create: format!("CREATE TABLE IF NOT EXISTS {table} (key text PRIMARY KEY, value text)"),
        kinds: &KINDS,
        statements: vec![
            workload_parts::statement(&KINDS, 0, write, level),
            workload_parts::statement(&KINDS, 1, read, level),
        ],
        rows,
        picks: Sampler::new(distribution, (0, rows - 1), Some(popular)),
        insert_kind: None,
        load: 0,
        verify: READ,
        table: KeyValue { valuecount },
    };
    draft.program(params, parts)
}

pub(crate) fn table_name(params: &mut Params, default: &str) -> String {
    let name = params.text("table").unwrap_or(default).to_owned();
    if !is_identifier(&name) {
        let message = format!(
            "table \"{name}\" is not a valid name; it may have up to 48 \
                               characters"
        );
        let hint = Some("use letters and digits".to_owned());
        params.problem(&["params", "table"], message, hint);
    }
    name
}

impl program_traits::RowFunction for KeyValue {
    type RowKey = RowKey;

    fn cursor(&self) -> RowKey {
        RowKey {
            row: 0,
            key: Decimal::new(0),
        }
    }

    #[inline]
    fn token(cursor: &RowKey) -> i64 {
        murmur3(cursor.key.bytes())
    }

    fn row_bytes_estimate(&self) -> u64 {
        // Nearly all numbers below a limit have the same number of digits as the largest number
        // below it.
        2 * Decimal::new(self.valuecount - 1).bytes().len() as u64
    }

    fn values_bytes_max(&self) -> usize {
        2 * (4 + 20)
    }

    #[inline]
    fn seek(&self, cursor: &mut RowKey, row: u64) {
        cursor.row = row;
        cursor.key = Decimal::new(row);
    }

    #[inline]
    fn append_values(
        &self,
        cursor: &mut RowKey,
        operation: &Operation,
        _stage: Stage,
        out: &mut Vec<u8>,
    ) {
        append_value(out, cursor.key.bytes());
        if operation.statement == WRITE {
            append_value(out, self.value(cursor.row).bytes());
        }
    }

    fn check(
        &self,
        cursor: &mut RowKey,
        _operation: &Operation,
        loaded: bool,
        rows: &RawRows,
    ) -> Check {
        let mut rows = rows.rows();
        match (rows.next(), rows.next()) {
            (None, _) if loaded => Check::Missing,
            (None, _) => Check::Unknown,
            (Some(Ok(row)), None) if self.is_right(cursor, &row) => Check::Right,
            _ => Check::Wrong,
        }
    }
}

impl KeyValue {
    #[inline]
    fn value(&self, row: u64) -> Decimal {
        Decimal::new(hash(row) % self.valuecount)
    }

    fn is_right(&self, cursor: &RowKey, row: &Row) -> bool {
        let mut cells = row.cells();
        cells.next().flatten() == Some(cursor.key.bytes())
            && cells.next().flatten() == Some(self.value(cursor.row).bytes())
            && cells.next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_nosqlbench_s() {
        let table = KeyValue {
            valuecount: VALUECOUNT_DEFAULT,
        };
        // The expected values follow from NoSQLBench's hashes of 0 and 1, which are
        // 2945182322382062539 and 6292367497774912474.
        for (row, value) in [(0, "382062539"), (1, "774912474")] {
            assert_eq!(table.value(row).bytes(), value.as_bytes());
        }
    }
}
