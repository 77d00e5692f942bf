//! The workload of registers, with one number for each key. Operations read and change the numbers
//! only by lightweight transactions. The observations of all clients can therefore be compared with
//! the possible histories of each register.
//!
//! The workload uses only a few different numbers, so that the conditions of swaps are sometimes
//! true. With `values: 5`, a swap finds the required number one time in five. The load stage sets
//! every register to 0, without a condition, before any read.

use crate::distribution::Sampler;
use crate::operation_generator::{Check, Operation, RegisterRequest};
use crate::params::Params;
use crate::program::{Program, Stage, Statement, lanes};
use crate::program_traits;
use crate::random::{Draws, lane};
use crate::workload_parts::{self, Draft, OneTable};
use cql::Consistency;
use cql::response::RawRows;
use cql::template::append_value;
use cql::token::murmur3;

pub(crate) const NAME: &str = "registers";

const TABLE: &str = "registers";

/// Names of the kinds, with a flag for kinds that write. Each kind has the statement with the same
/// index.
const KINDS: [(&str, bool); 3] = [("write", true), ("read", false), ("swap", true)];
const WRITE: u16 = 0;
const READ: u16 = 1;
const SWAP: u16 = 2;
const LOAD: u16 = 3;

const INITIAL: i64 = 0;
/// Maximum number of different values. With more values, the conditions of swaps would be true too
/// rarely.
const VALUES_MAX: u64 = 1000;

#[derive(Debug)]
pub(crate) struct Registers {
    values: u64,
    seed: u64,
}

#[derive(Debug, Default)]
pub(crate) struct RowKey {
    key: [u8; 8],
}

pub(crate) fn program(params: &mut Params, draft: Draft) -> Program {
    let spec = params.spec;
    let rows = workload_parts::rows(spec);
    let values = params.number("values", 5, (2, VALUES_MAX));
    let distribution = params.rows_distribution("distribution", rows);
    let popular = lane(spec.seed, lanes::POPULAR);
    let table = draft.qualified(TABLE);
    let usual =
        |kind: u8, cql: String| workload_parts::statement(&KINDS, kind, cql, Consistency::Quorum);
    let conditional = |kind: u8, cql: String| Statement {
        idempotent: false,
        conditional: true,
        serial_consistency: Some(Consistency::Serial),
        ..usual(kind, cql)
    };
    let update = format!("UPDATE {table} SET value = ? WHERE key = ? IF");
    let statements = vec![
        conditional(0, format!("{update} EXISTS")),
        Statement {
            consistency: Consistency::Serial,
            ..usual(1, format!("SELECT value FROM {table} WHERE key = ?"))
        },
        conditional(2, format!("{update} value = ?")),
        usual(0, format!("INSERT INTO {table} (value, key) VALUES (?, ?)")),
    ];
    let parts = OneTable {
        name: TABLE.to_owned(),
        create: format!(
            "CREATE TABLE IF NOT EXISTS {table} (key bigint PRIMARY KEY, value bigint)"
        ),
        kinds: &KINDS,
        statements,
        rows,
        picks: Sampler::new(distribution, (0, rows - 1), Some(popular)),
        insert_kind: None,
        load: LOAD,
        verify: READ,
        table: Registers {
            values,
            seed: lane(spec.seed, lanes::CONTENTS),
        },
    };
    draft.program(params, parts)
}

impl Registers {
    /// Returns the number that a swap requires, and the number that the operation writes.
    fn values(&self, number: u64) -> (i64, i64) {
        let mut draws = Draws::new(self.seed, number);
        let mut value = || draws.below(self.values) as i64;
        (value(), value())
    }
}

impl program_traits::RowFunction for Registers {
    type RowKey = RowKey;

    fn cursor(&self) -> RowKey {
        RowKey::default()
    }

    fn token(cursor: &RowKey) -> i64 {
        murmur3(&cursor.key)
    }

    fn row_bytes_estimate(&self) -> u64 {
        16
    }

    fn values_bytes_max(&self) -> usize {
        3 * (4 + 8)
    }

    fn seek(&self, cursor: &mut RowKey, row: u64) {
        cursor.key = row.to_be_bytes();
    }

    fn append_values(
        &self,
        cursor: &mut RowKey,
        operation: &Operation,
        _stage: Stage,
        out: &mut Vec<u8>,
    ) {
        let (from, to) = self.values(operation.number);
        match operation.statement {
            WRITE | SWAP => append_value(out, &to.to_be_bytes()),
            LOAD => append_value(out, &INITIAL.to_be_bytes()),
            _ => {}
        }
        append_value(out, &cursor.key);
        if operation.statement == SWAP {
            append_value(out, &from.to_be_bytes());
        }
    }

    /// Accepts any number that the workload may write. Only the history of the register shows which
    /// of these numbers is right.
    fn check(
        &self,
        _cursor: &mut RowKey,
        _operation: &Operation,
        loaded: bool,
        rows: &RawRows,
    ) -> Check {
        match number(rows) {
            Cell::NoRow if loaded => Check::Missing,
            Cell::NoRow => Check::Unknown,
            Cell::Number(value) if (0..self.values as i64).contains(&value) => Check::Right,
            Cell::Number(_) | Cell::Strange => Check::Wrong,
        }
    }

    fn register_request(&self, operation: &Operation, stage: Stage) -> Option<RegisterRequest> {
        let (from, to) = self.values(operation.number);
        match (stage, operation.statement) {
            (Stage::Load, _) => None,
            (_, WRITE) => Some(RegisterRequest::Write(to)),
            (_, SWAP) => Some(RegisterRequest::Swap { from, to }),
            _ => Some(RegisterRequest::Read),
        }
    }
}

/// Result of reading one number.
pub(crate) enum Cell {
    NoRow,
    Number(i64),
    Strange,
}

/// Returns the only number in the only row of a result.
pub(crate) fn number(rows: &RawRows) -> Cell {
    let mut rows = rows.rows();
    let row = match rows.next() {
        None => return Cell::NoRow,
        Some(Err(_)) => return Cell::Strange,
        Some(Ok(row)) => row,
    };
    let mut cells = row.cells();
    let cell = cells.next().flatten();
    let value = cell.and_then(|bytes| bytes.try_into().ok());
    match value.filter(|_| rows.next().is_none() && cells.next().is_none()) {
        Some(bytes) => Cell::Number(i64::from_be_bytes(bytes)),
        None => Cell::Strange,
    }
}
