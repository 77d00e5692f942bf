//! A program with a statement of each shape that the worker tells apart. The values of an operation
//! are its number, so that the server knows what it is asked.

use super::world;
use cql::Consistency;
use cql::response::RawRows;
use cql::template::append_value;
use std::sync::Arc;
use std::time::Duration;
use workload::random::mix;
use workload::{
    BatchKind, Check, Kind, Operation, OperationEncoder, OperationSource, Policy, Program, Stage,
    Statement,
};

/// The kinds of the two parts of a chain.
pub const PARTS: [u8; 2] = [6, 7];
/// Statements with which an operation may begin.
pub const FIRST: [u16; 9] = [0, 1, 2, 3, 4, 5, 7, 8, 9];
/// The one that reads in pages, a batch's and a condition.
pub const PAGED: u16 = 4;
pub const BATCH: u16 = 7;
pub const CONDITION: u16 = 8;
/// The one that is never prepared.
pub const TEXT: u16 = 9;

#[derive(Debug)]
struct Script {
    seed: u64,
    first: Vec<u16>,
    kinds: Vec<u8>,
}

/// Statements of operation `n` if it is a batch: none at all is what nobody can send.
pub fn entries(seed: u64, n: u64) -> usize {
    (mix(seed ^ n) % 16).min(3) as usize
}

/// The statement with which operation `n` begins.
pub fn first_statement(seed: u64, first: &[u16], n: u64) -> u16 {
    first[(mix(seed.wrapping_add(n)) as usize) % first.len()]
}

/// The text of a statement.
pub fn text(statement: u16) -> String {
    match statement {
        1 | 3 | PAGED | 5 => format!("SELECT v FROM t{statement} WHERE k = ?"),
        CONDITION => format!("INSERT INTO t{statement} (k) VALUES (?) IF NOT EXISTS"),
        _ => format!("INSERT INTO t{statement} (k) VALUES (?)"),
    }
}

#[derive(Debug)]
struct Encoder {
    script: Arc<Script>,
    operation: Operation,
}

impl OperationSource for Script {
    fn cursor(self: Arc<Self>, _stage: Stage) -> Box<dyn OperationEncoder> {
        Box::new(Encoder {
            script: self,
            operation: Operation::default(),
        })
    }

    fn row_bytes_estimate(&self) -> u64 {
        8
    }
}

impl OperationEncoder for Encoder {
    fn begin(&mut self, n: u64) -> Operation {
        let script = &self.script;
        let statement = first_statement(script.seed, &script.first, n);
        self.operation = Operation {
            number: n,
            key: n,
            statement,
            kind: script.kinds[usize::from(statement)],
        };
        world::begun(self.operation);
        self.operation
    }

    fn seek(&mut self, operation: Operation) {
        self.operation = operation;
    }

    fn token(&self) -> Option<i64> {
        Some(mix(self.operation.number) as i64)
    }

    fn entries(&self) -> usize {
        match self.operation.statement {
            BATCH => entries(self.script.seed, self.operation.number),
            _ => 1,
        }
    }

    fn entry_statement(&self, _entry: usize) -> u16 {
        self.operation.statement
    }

    fn append_values(&mut self, _entry: usize, out: &mut Vec<u8>) {
        append_value(out, &self.operation.number.to_be_bytes());
    }

    fn check(&mut self, rows: &RawRows) -> Check {
        match rows.rows_count {
            0 => Check::Missing,
            _ => Check::Right,
        }
    }

    fn values_bytes_max(&self) -> usize {
        64
    }
}

/// See the module. `extra` decides what is idempotent.
pub fn program(
    seed: u64,
    first: &[u16],
    timeout_ns: u64,
    speculate_ns: u64,
    extra: u64,
) -> Arc<Program> {
    let (kinds, statements) = (kinds(timeout_ns, speculate_ns), statements(extra));
    let script = Script {
        seed,
        first: first.to_vec(),
        kinds: statements.iter().map(|s| s.kind).collect(),
    };
    Arc::new(Program::of_source(kinds, statements, Arc::new(script)))
}

fn kinds(timeout_ns: u64, speculate_ns: u64) -> Vec<Kind> {
    let own = Some(Duration::from_nanos(timeout_ns * 2));
    let tries = |retries, speculates: bool| Policy {
        timeout: if speculates { own } else { None },
        retries,
        speculate_after: speculates.then(|| Duration::from_nanos(speculate_ns)),
    };
    let kind = |name: &str, is_write, policy| Kind {
        policy,
        ..Kind::new(name, is_write)
    };
    let mut kinds = vec![
        kind("write", true, tries(0, false)),
        kind("read", false, tries(0, false)),
        kind("write again", true, tries(2, false)),
        kind("read beside", false, tries(1, true)),
        kind("pages", false, tries(0, false)),
        kind("chain", true, tries(1, false)),
        kind("chain's read", false, Policy::default()),
        kind("chain's write", true, Policy::default()),
        kind("batch", true, tries(1, false)),
        kind("condition", true, tries(0, false)),
    ];
    PARTS
        .iter()
        .for_each(|part| kinds[usize::from(*part)].part = true);
    kinds
}

fn statements(extra: u64) -> Vec<Statement> {
    let write = |index: u16, kind| Statement::new(text(index), kind, 1, Consistency::One);
    let read = |index: u16, kind| Statement {
        returns_rows: true,
        verifies: true,
        ..write(index, kind)
    };
    vec![
        write(0, 0),
        read(1, 1),
        Statement {
            idempotent: extra & 1 == 0,
            ..write(2, 2)
        },
        read(3, 3),
        Statement {
            page_size: Some(2),
            ..read(PAGED, 4)
        },
        Statement {
            then: Some(6),
            part: Some(PARTS[0]),
            ..read(5, 5)
        },
        Statement {
            part: Some(PARTS[1]),
            idempotent: extra & 2 == 0,
            ..write(6, 5)
        },
        Statement {
            batch: Some(BatchKind::Unlogged),
            client_timestamp: true,
            idempotent: extra & 4 == 0,
            ..write(BATCH, 8)
        },
        Statement {
            conditional: true,
            ..write(CONDITION, 9)
        },
        Statement {
            prepared: false,
            ..write(9, 0)
        },
    ]
}
