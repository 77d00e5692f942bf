//! Programs whose operations are written down by a test.

use cql::Consistency;
use cql::response::RawRows;
use cql::template::append_value;
use std::sync::Arc;
use workload::{
    Check, Kind, Operation, OperationEncoder, OperationSource, Policy, Program, Stage, Statement,
};

/// Every operation begins with `statements[n % count]`, and its values are its number.
#[derive(Clone, Debug)]
pub struct Script {
    pub first: Vec<u16>,
    /// The kind of each statement.
    pub kinds: Vec<u8>,
    /// Bind markers of each statement.
    pub values: Vec<u16>,
    /// Statements in operation n.
    pub entries: fn(u64) -> usize,
    /// Which statement an entry of an operation is; `None`: the operation's.
    pub entry: fn(usize) -> Option<u16>,
}

#[derive(Debug)]
struct ScriptCursor {
    script: Arc<Script>,
    operation: Operation,
}

impl OperationSource for Script {
    fn cursor(self: Arc<Self>, _stage: Stage) -> Box<dyn OperationEncoder> {
        Box::new(ScriptCursor {
            script: self,
            operation: Operation::default(),
        })
    }

    fn row_bytes_estimate(&self) -> u64 {
        8
    }
}

impl OperationEncoder for ScriptCursor {
    fn begin(&mut self, n: u64) -> Operation {
        let first = &self.script.first;
        let statement = first[n as usize % first.len()];
        self.operation = Operation {
            number: n,
            key: n,
            statement,
            kind: self.script.kinds[usize::from(statement)],
        };
        self.operation
    }

    fn seek(&mut self, operation: Operation) {
        self.operation = operation;
    }

    fn token(&self) -> Option<i64> {
        None
    }

    fn entries(&self) -> usize {
        (self.script.entries)(self.operation.number)
    }

    fn entry_statement(&self, entry: usize) -> u16 {
        (self.script.entry)(entry).unwrap_or(self.operation.statement)
    }

    fn append_values(&mut self, entry: usize, out: &mut Vec<u8>) {
        let statement = self.entry_statement(entry);
        for _ in 0..self.script.values[usize::from(statement)] {
            append_value(out, &self.operation.number.to_be_bytes());
        }
    }

    fn check(&mut self, rows: &RawRows) -> Check {
        match rows.rows_count {
            0 => Check::Missing,
            _ => Check::Right,
        }
    }

    fn values_bytes_max(&self) -> usize {
        self.script.values.iter().copied().max().unwrap_or(0).into()
    }
}

/// A prepared statement that may be executed twice.
pub fn statement(cql: &str, kind: u8) -> Statement {
    let values = cql.matches('?').count() as u16;
    Statement {
        idempotent: true,
        returns_rows: cql.starts_with("SELECT"),
        verifies: cql.starts_with("SELECT"),
        ..Statement::new(cql, kind, values, Consistency::One)
    }
}

/// A kind with this policy.
pub fn kind(name: &str, policy: Policy) -> Kind {
    Kind {
        policy,
        ..Kind::new(name, name == "write")
    }
}

/// A program whose operations begin with the statements `first` in turn, each a single one.
pub fn program(kinds: Vec<Kind>, statements: Vec<Statement>, first: &[u16]) -> Program {
    batches(kinds, statements, first, |_| 1, |_| None)
}

/// As [`program`], with so many entries per operation.
pub fn batches(
    kinds: Vec<Kind>,
    statements: Vec<Statement>,
    first: &[u16],
    entries: fn(u64) -> usize,
    entry: fn(usize) -> Option<u16>,
) -> Program {
    let script = Script {
        first: first.to_vec(),
        kinds: statements.iter().map(|s| s.kind).collect(),
        values: statements.iter().map(|s| s.values_count).collect(),
        entries,
        entry,
    };
    Program::of_source(kinds, statements, Arc::new(script))
}
