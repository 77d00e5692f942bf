//! Programs whose operations are written down by a test; the simulation of the worker has them too.

use cql::Consistency;
use cql::response::RawRows;
use cql::template::append_value;
use std::sync::Arc;
use workload::{
    Check, Kind, Operation, OperationEncoder, OperationSource, Policy, Program, Stage, Statement,
};

/// Operations whose values are their number, so that a server knows what it is asked.
#[derive(Clone, Debug)]
pub struct Script {
    #[allow(dead_code, reason = "what only the simulation chooses by")]
    pub seed: u64,
    /// Statements with which operations begin.
    pub first: Vec<u16>,
    /// Which of `first` operation n begins with.
    pub choose: fn(&Script, u64) -> usize,
    /// The kind of each statement.
    pub kinds: Vec<u8>,
    /// Bind markers of each statement.
    pub values: Vec<u16>,
    /// Statements in an operation.
    pub entries: fn(&Script, &Operation) -> usize,
    /// Which statement an entry of an operation is; `None`: the operation's.
    pub entry: fn(usize) -> Option<u16>,
    pub token: fn(u64) -> Option<i64>,
    /// Told of each operation that begins.
    pub begun: fn(Operation),
}

impl Script {
    /// Operations begin with the statements `first` in turn; each is a single one.
    pub fn of(statements: &[Statement], first: &[u16]) -> Script {
        Script {
            seed: 0,
            first: first.to_vec(),
            choose: |script, n| n as usize % script.first.len(),
            kinds: statements.iter().map(|s| s.kind).collect(),
            values: statements.iter().map(|s| s.values_count).collect(),
            entries: |_, _| 1,
            entry: |_| None,
            token: |_| None,
            begun: |_| (),
        }
    }
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
        let script = &self.script;
        let statement = script.first[(script.choose)(script, n)];
        self.operation = Operation {
            number: n,
            key: n,
            statement,
            kind: script.kinds[usize::from(statement)],
        };
        (script.begun)(self.operation);
        self.operation
    }

    fn seek(&mut self, operation: Operation) {
        self.operation = operation;
    }

    fn token(&self) -> Option<i64> {
        (self.script.token)(self.operation.number)
    }

    fn entries(&self) -> usize {
        (self.script.entries)(&self.script, &self.operation)
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
        64
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
    let script = Script::of(&statements, first);
    Program::of_source(kinds, statements, Arc::new(script))
}

/// As [`program`], with so many entries per operation.
pub fn batches(
    kinds: Vec<Kind>,
    statements: Vec<Statement>,
    first: &[u16],
    entries: fn(&Script, &Operation) -> usize,
    entry: fn(usize) -> Option<u16>,
) -> Program {
    let script = Script {
        entries,
        entry,
        ..Script::of(&statements, first)
    };
    Program::of_source(kinds, statements, Arc::new(script))
}
