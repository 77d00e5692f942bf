//! The workload of counters, with one counter for each key. Operations increment and read the
//! counters. After a run, the sum of each counter is known. If the outcome of some additions is
//! unknown, only a lower and an upper bound of the sum are known.
//!
//! The load stage adds 0, so that every counter exists. An addition is not idempotent, so the
//! client retries it only if the first attempt certainly had no effect.

use crate::distribution::Sampler;
use crate::operation_generator::{Check, Operation};
use crate::params::Params;
use crate::program::{Program, Stage, Statement, lanes};
use crate::program_traits;
use crate::random::{Draws, lane};
use crate::registers::{Cell, number};
use crate::workload_parts::{self, Draft, OneTable};
use cql::Consistency;
use cql::response::RawRows;
use cql::template::append_value;
use cql::token::murmur3;

pub(crate) const NAME: &str = "counters";

const TABLE: &str = "counters";

/// Names of the kinds, with a flag for kinds that write. The kinds have the order of the
/// statements, so that a kind and its statement have the same index.
const KINDS: [(&str, bool); 2] = [("add", true), ("read", false)];
const ADD: u16 = 0;
const READ: u16 = 1;

/// Maximum amount of an addition. The sum of a million such additions fits in a counter.
const AMOUNT_MAX: u64 = 1 << 40;

#[derive(Debug)]
pub(crate) struct Counters {
    amount_max: u64,
    takes_percent: u64,
    seed: u64,
}

/// Current key, and the last value that was read.
#[derive(Debug, Default)]
pub(crate) struct RowKey {
    key: [u8; 8],
    counted: Option<i64>,
}

pub(crate) fn program(params: &mut Params, draft: Draft) -> Program {
    let spec = params.spec;
    let rows = workload_parts::rows(spec);
    let amount_max = params.number("amount", 1, (1, AMOUNT_MAX));
    let takes_percent = params.number("takes_percent", 0, (0, 100));
    let distribution = params.rows_distribution("distribution", rows);
    let popular = lane(spec.seed, lanes::POPULAR);
    let table = draft.qualified(TABLE);
    let level = Consistency::LocalOne;
    let add = format!("UPDATE {table} SET value = value + ? WHERE key = ?");
    let read = format!("SELECT value FROM {table} WHERE key = ?");
    let parts = OneTable {
        name: TABLE.to_owned(),
        create: format!(
            "CREATE TABLE IF NOT EXISTS {table} (key bigint PRIMARY KEY, value counter)"
        ),
        kinds: &KINDS,
        statements: vec![
            Statement {
                idempotent: false,
                ..workload_parts::statement(&KINDS, 0, add, level)
            },
            workload_parts::statement(&KINDS, 1, read, level),
        ],
        rows,
        picks: Sampler::new(distribution, (0, rows - 1), Some(popular)),
        insert_kind: None,
        load: ADD,
        verify: READ,
        table: Counters {
            amount_max,
            takes_percent,
            seed: lane(spec.seed, lanes::CONTENTS),
        },
    };
    draft.program(params, parts)
}

impl Counters {
    /// Returns the amount that an operation of the main stage adds.
    fn added(&self, number: u64) -> i64 {
        let mut draws = Draws::new(self.seed, number);
        let takes = draws.below(100) < self.takes_percent;
        let amount = 1 + draws.below(self.amount_max) as i64;
        if takes { -amount } else { amount }
    }
}

impl program_traits::RowFunction for Counters {
    type RowKey = RowKey;

    fn cursor(&self) -> RowKey {
        RowKey::default()
    }

    fn token(cursor: &RowKey) -> i64 {
        murmur3(&cursor.key)
    }

    fn row_bytes_estimate(&self) -> u64 {
        // A counter stores a shard of 32 bytes per replica.
        8 + 32
    }

    fn values_bytes_max(&self) -> usize {
        2 * (4 + 8)
    }

    fn seek(&self, cursor: &mut RowKey, row: u64) {
        cursor.key = row.to_be_bytes();
    }

    fn append_values(
        &self,
        cursor: &mut RowKey,
        operation: &Operation,
        stage: Stage,
        out: &mut Vec<u8>,
    ) {
        if operation.statement == ADD {
            let amount = self.amount(operation, stage).unwrap_or(0);
            append_value(out, &amount.to_be_bytes());
        }
        append_value(out, &cursor.key);
    }

    /// Checks only that the counter exists. The function cannot check a single value, because other
    /// operations add to the counter at the same time.
    fn check(
        &self,
        cursor: &mut RowKey,
        _operation: &Operation,
        loaded: bool,
        rows: &RawRows,
    ) -> Check {
        let cell = number(rows);
        cursor.counted = match cell {
            Cell::Number(counted) => Some(counted),
            Cell::NoRow | Cell::Strange => None,
        };
        match cell {
            Cell::NoRow if loaded => Check::Missing,
            Cell::NoRow | Cell::Number(_) => Check::Unknown,
            Cell::Strange => Check::Wrong,
        }
    }

    fn amount(&self, operation: &Operation, stage: Stage) -> Option<i64> {
        let is_main = stage == Stage::Main && operation.statement == ADD;
        is_main.then(|| self.added(operation.number))
    }

    fn counted(cursor: &RowKey) -> Option<i64> {
        cursor.counted
    }
}
