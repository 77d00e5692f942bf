//! Programs with scripted operations for the tests. The simulation of the worker also uses these
//! programs.

use cql::Consistency;
use cql::response::RawRows;
use cql::template::append_value;
use std::sync::Arc;
use workload::{
    Check, Kind, Operation, OperationEncoder, OperationSource, Policy, Program, Stage, Statement,
};

/// Operations whose values are the operation's number, so that a server can identify each
/// operation.
#[derive(Clone, Debug)]
pub struct Script {
    #[allow(dead_code, reason = "only the simulation reads this field")]
    pub seed: u64,
    /// Statements with which operations begin.
    pub first: Vec<u16>,
    /// Returns the index in `first` of the statement with which an operation begins. The second
    /// argument is the number of the operation.
    pub choose: fn(&Script, u64) -> usize,
    pub kinds: Vec<u8>,
    /// Number of bind markers of each statement.
    pub values: Vec<u16>,
    /// Number of statements in an operation.
    pub entries: fn(&Script, &Operation) -> usize,
    /// Returns the statement of an entry of an operation. `None` means the statement of the
    /// operation itself.
    pub entry: fn(usize) -> Option<u16>,
    pub token: fn(u64) -> Option<i64>,
    /// Function that is called for each operation that begins.
    pub begun: fn(Operation),
}

impl Script {
    /// Creates operations of one statement each. The operations begin with the statements of
    /// `first` in turn.
    pub fn new(statements: &[Statement], first: &[u16]) -> Script {
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

/// Returns an idempotent prepared statement.
pub fn statement(cql: &str, kind: u8) -> Statement {
    let values = cql.matches('?').count() as u16;
    Statement {
        idempotent: true,
        returns_rows: cql.starts_with("SELECT"),
        verifies: cql.starts_with("SELECT"),
        ..Statement::new(cql, kind, values, Consistency::One)
    }
}

pub fn kind(name: &str, policy: Policy) -> Kind {
    Kind {
        policy,
        ..Kind::new(name, name == "write")
    }
}

/// Returns a program whose operations consist of one statement each. The operations begin with the
/// statements of `first` in turn.
pub fn program(kinds: Vec<Kind>, statements: Vec<Statement>, first: &[u16]) -> Program {
    let script = Script::new(&statements, first);
    Program::from_source(kinds, statements, Arc::new(script))
}

/// Returns a program like [`program`], in which `entries` determines the number of statements of
/// each operation.
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
        ..Script::new(&statements, first)
    };
    Program::from_source(kinds, statements, Arc::new(script))
}
