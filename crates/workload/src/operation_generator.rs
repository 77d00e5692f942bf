//! The hot path, which converts operation numbers to value bytes. It does not allocate after
//! construction.
//!
//! The budget is 100 ns for `begin` and `append_values` of a standard1 write (5 columns of 34
//! bytes). The costs were last measured with `examples/generator_cost.rs` on one core of a shared
//! AMD EPYC. For such a write, `begin` takes 19 ns, `token` 8 ns and `append_values` 58 ns. For a
//! read, `append_values` takes 2 ns. The three functions take 23, 13 and 42 ns in cql-iot, and 14,
//! 7 and 24 ns in kv with 100 bytes. The choice of a row by zipf, gaussian or exponential adds 30
//! to 60 ns to `begin`.

use std::sync::Arc;

use crate::program::{Program, Stage};
use crate::program_traits::OperationEncoder;
use cql::response::RawRows;

/// An operation, with its kind, statement and row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// Number of the operation within its stage.
    pub number: u64,
    /// Index of the operation's row. The load stage writes the rows from 0 to below
    /// [`Program::rows`]. In imports the field has another meaning, such as a seed or a cycle.
    pub key: u64,
    /// Index in [`Program::statements`].
    pub statement: u16,
    /// Index in [`Program::kinds`].
    pub kind: u8,
}

/// Verdict on the result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Check {
    /// The result is exactly the bytes that an operation of this workload writes.
    Right,
    /// The row is missing, although the load stage wrote it.
    Missing,
    /// The result is a correct value of an earlier epoch.
    Stale,
    /// The result is correct, but it was written by a later operation than the first write to the
    /// row. This verdict is possible only for values that name their writer.
    Overwritten,
    /// Any other result, such as bytes that no operation of this workload writes.
    Wrong,
    /// The check cannot decide. For example, the row is missing, but the main stage may not have
    /// written it yet. Another example is a single value of a counter.
    Unknown,
}

/// The access of an operation to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterRequest {
    /// Read the number of the register.
    Read,
    /// Set the register to this number.
    Write(i64),
    /// Set the register to a number if its current value is another given number.
    Swap {
        /// Required current number.
        from: i64,
        /// New number.
        to: i64,
    },
}

/// Converts operation numbers to bytes. Each worker has one generator.
#[derive(Debug)]
pub struct Generator {
    cursor: Box<dyn OperationEncoder>,
    values_bytes_max: usize,
}

impl Generator {
    pub(crate) fn new(program: &Program, stage: Stage) -> Generator {
        let mut cursor = Arc::clone(&program.source).cursor(stage);
        cursor.begin(0);
        Generator {
            values_bytes_max: cursor.values_bytes_max(),
            cursor,
        }
    }

    /// Starts operation `n`, which is a pure function of the program's seed and `n`. Afterwards the
    /// partition key of the operation is ready.
    #[inline]
    pub fn begin(&mut self, n: u64) -> Operation {
        self.cursor.begin(n)
    }

    /// Sets the generator back to `operation`. This generator, or another generator of the same
    /// program and stage, must have begun it before. `operation` may already be at its second
    /// statement ([`crate::Statement::then`]).
    #[inline]
    pub fn seek(&mut self, operation: Operation) {
        self.cursor.seek(operation);
    }

    /// Returns the Murmur3 token of the partition key of the last begun operation. Returns `None`
    /// if the operation does not belong to a single partition. In this case any node is suitable.
    #[inline]
    pub fn token(&self) -> Option<i64> {
        self.cursor.token()
    }

    /// Returns the number of statements (entries) of the last begun operation. An operation with
    /// several statements is a batch.
    #[inline]
    pub fn entries(&self) -> usize {
        self.cursor.entries()
    }

    /// Returns the statement of an entry, by its index in [`Program::statements`].
    #[inline]
    pub fn entry_statement(&self, entry: usize) -> u16 {
        self.cursor.entry_statement(entry)
    }

    /// Appends the values of the first entry, which is the only entry unless the operation is a
    /// batch. See [`Generator::append_entry_values`].
    #[inline]
    pub fn append_values(&mut self, out: &mut Vec<u8>) {
        self.cursor.append_values(0, out);
    }

    /// Appends the values of an entry of the last begun operation in bind order, each as `[int
    /// length][bytes]`. Allocates only if `out` has too little capacity.
    #[inline]
    pub fn append_entry_values(&mut self, entry: usize, out: &mut Vec<u8>) {
        self.cursor.append_values(entry, out);
    }

    /// Returns the maximum size of an entry's values, in bytes. For imports whose values may have
    /// any size, returns a typical size.
    pub fn values_bytes_max(&self) -> usize {
        self.values_bytes_max
    }

    /// Checks the result of `operation`, which this or an equal generator has begun before.
    /// Afterwards `operation` is the last begun operation.
    pub fn check(&mut self, operation: Operation, rows: &RawRows) -> Check {
        self.cursor.seek(operation);
        self.cursor.check(rows)
    }

    /// Checks the result of `operation` like [`Generator::check`], but can be stopped. This is
    /// useful for a partition of thousands of rows. The function calls `stop` every few rows. When
    /// `stop` returns true, the check ends with an unknown result.
    pub fn check_until(
        &mut self,
        operation: Operation,
        rows: &RawRows,
        stop: impl Fn() -> bool,
    ) -> Check {
        self.cursor.seek(operation);
        self.cursor.check_until(rows, &stop)
    }

    /// Returns the access of the last begun operation to a register, which the load stage has set
    /// to zero. Returns `None` if the operation has no register.
    pub fn register_request(&self) -> Option<RegisterRequest> {
        self.cursor.register_request()
    }

    /// Returns the amount that the last begun operation adds to a counter. Returns `None` if the
    /// operation does not add to a counter.
    pub fn amount(&self) -> Option<i64> {
        self.cursor.amount()
    }

    /// Returns the value of the counter that was checked last. Returns `None` if the last checked
    /// value was not a counter.
    pub fn counted(&self) -> Option<i64> {
        self.cursor.counted()
    }

    /// Returns the stage and the number of the operation that wrote the last checked value. Returns
    /// `None` unless the value was right and names its writer.
    pub fn writer(&self) -> Option<(Stage, u64)> {
        self.cursor.writer()
    }
}
