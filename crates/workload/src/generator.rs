//! The hot path: operation numbers in, value bytes out. Nothing is allocated after construction.
//!
//! Budget: 100 ns for begin and append_values of a standard1 write (5 columns of 34 bytes). Last
//! measured with `examples/generator_cost.rs` on one core of a shared AMD EPYC: begin 19 ns, token
//! 8 ns, append_values 58 ns for such a write and 2 ns for a read. cql-iot: 23, 13 and 42 ns; kv
//! with 100 bytes: 14, 7 and 24 ns. Choosing a row by zipf, gaussian or exponential adds 30 to
//! 60 ns to begin.

use std::sync::Arc;

use crate::distribution::Sampler;
use crate::program::{Program, Source, Stage};
use crate::{iot, kv, standard1};
use cql::response::RawRows;

/// One operation: what it is and which row it touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its number within the stage.
    pub number: u64,
    /// The row's index; the load stage writes 0 to below [`Program::rows`].
    pub key: u64,
    /// Index in [`Program::statements`].
    pub statement: u16,
    /// Index in [`Program::kinds`].
    pub kind: u8,
}

/// What a read returned, judged by what it must return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Check {
    /// Exactly the bytes that some write of this workload put there.
    Right,
    /// No row, though the load stage wrote it.
    Missing,
    /// A correct value of an earlier epoch.
    Stale,
    /// Anything else.
    Wrong,
    /// No row, and nothing says that there must be one: the main stage may not have written it
    /// yet.
    Unknown,
}

/// Turns operation numbers into bytes; one per worker.
#[derive(Debug)]
pub struct Generator {
    program: Arc<Program>,
    stage: Stage,
    rows: Sampler,
    operation: Operation,
    cursor: Cursor,
    values_bytes_max: usize,
}

/// The scratch of one workload.
#[derive(Debug)]
enum Cursor {
    Standard1(standard1::Cursor),
    Iot(iot::Cursor),
    Kv(kv::Cursor),
}

/// The variants of table and cursor are chosen together, in [`Generator::new`].
const SAME_WORKLOAD: &str = "a generator's cursor belongs to its program's table";

impl Generator {
    pub(crate) fn new(program: Arc<Program>, stage: Stage) -> Generator {
        let (cursor, values_bytes_max) = match &program.source {
            Source::Standard1(table) => {
                (Cursor::Standard1(table.cursor()), table.values_bytes_max())
            }
            Source::Iot(table) => (Cursor::Iot(table.cursor()), table.values_bytes_max()),
            Source::Kv(table) => (Cursor::Kv(table.cursor()), table.values_bytes_max()),
        };
        let mut generator = Generator {
            stage,
            rows: program.choices.rows,
            operation: Operation {
                number: 0,
                key: 0,
                statement: 0,
                kind: 0,
            },
            cursor,
            values_bytes_max,
            program,
        };
        generator.begin(0);
        generator
    }

    /// Starts operation `n`: a pure function of the program's seed and `n`. Its partition key is
    /// ready afterwards.
    #[inline]
    pub fn begin(&mut self, n: u64) -> Operation {
        let operation = self
            .program
            .choices
            .operation(self.stage, n, &mut self.rows);
        self.seek(operation);
        operation
    }

    #[inline]
    fn seek(&mut self, operation: Operation) {
        self.operation = operation;
        match (&self.program.source, &mut self.cursor) {
            (Source::Standard1(table), Cursor::Standard1(cursor)) => {
                table.seek(cursor, operation.key);
            }
            (Source::Iot(table), Cursor::Iot(cursor)) => table.seek(cursor, operation.key),
            (Source::Kv(table), Cursor::Kv(cursor)) => table.seek(cursor, operation.key),
            _ => unreachable!("{SAME_WORKLOAD}"),
        }
    }

    /// The Murmur3 token of the partition key of the operation last begun.
    #[inline]
    pub fn token(&self) -> i64 {
        match &self.cursor {
            Cursor::Standard1(cursor) => cursor.token(),
            Cursor::Iot(cursor) => cursor.token(),
            Cursor::Kv(cursor) => cursor.token(),
        }
    }

    /// Appends the values of the operation last begun in bind order, each as `[int length][bytes]`:
    /// at most [`Generator::values_bytes_max`] bytes. Allocates only if `out` lacks the room.
    #[inline]
    pub fn append_values(&mut self, out: &mut Vec<u8>) {
        match (&self.program.source, &mut self.cursor) {
            (Source::Standard1(table), Cursor::Standard1(cursor)) => {
                table.append_values(cursor, self.operation.statement, out);
            }
            (Source::Iot(table), Cursor::Iot(cursor)) => {
                table.append_values(cursor, self.operation.statement, out);
            }
            (Source::Kv(table), Cursor::Kv(cursor)) => {
                table.append_values(cursor, &self.operation, self.stage, out);
            }
            _ => unreachable!("{SAME_WORKLOAD}"),
        }
    }

    /// The most bytes that one [`Generator::append_values`] appends.
    pub fn values_bytes_max(&self) -> usize {
        self.values_bytes_max
    }

    /// Judges the result of `operation`, which this or an equal generator has begun before.
    /// Afterwards `operation` is the one last begun.
    pub fn check(&mut self, operation: Operation, rows: &RawRows) -> Check {
        self.seek(operation);
        match (&self.program.source, &mut self.cursor) {
            (Source::Standard1(table), Cursor::Standard1(cursor)) => table.check(cursor, rows),
            (Source::Iot(table), Cursor::Iot(cursor)) => {
                let loaded = operation.key < self.program.rows;
                table.check(cursor, operation.statement, loaded, rows)
            }
            (Source::Kv(table), Cursor::Kv(cursor)) => {
                table.check(cursor, operation.key < self.program.rows, rows)
            }
            _ => unreachable!("{SAME_WORKLOAD}"),
        }
    }
}
