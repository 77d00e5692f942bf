//! The two traits behind [`crate::Program`] and [`crate::Generator`], which every workload
//! implements. This module also contains the adapter for tables whose rows are functions of their
//! index.
//!
//! A dynamic call for each step of an operation takes about 1 ns. In return, every workload and
//! every import is a separate module, and only the code that constructs the workload depends on the
//! module.

use std::fmt::Debug;
use std::sync::Arc;

use crate::distribution::Sampler;
use crate::operation_generator::{Check, Operation, RegisterRequest};
use crate::program::{Choices, Stage};
use crate::recorded_arrivals::ArrivalTimes;
use cql::response::RawRows;

/// The source of a program's operations, which all workers share.
pub trait OperationSource: Debug + Send + Sync {
    /// Returns a cursor for one worker.
    fn cursor(self: Arc<Self>, stage: Stage) -> Box<dyn OperationEncoder>;

    /// Returns the mean number of bytes of keys and values in a row.
    fn row_bytes_estimate(&self) -> u64;

    /// Returns true if operations of a kind may occur in a stage, or if that is unknown.
    fn may_ask(&self, _stage: Stage, _kind: usize) -> bool {
        true
    }

    /// Returns true only if the main stage adds no rows to the rows of the load stage, and deletes
    /// none.
    fn keeps_rows(&self) -> bool {
        false
    }

    /// Returns the due times of operations in the main stage if they were recorded, and otherwise
    /// `None`.
    fn course(&self) -> Option<Arc<ArrivalTimes>> {
        None
    }

    /// Divides the operations among several clients by the rule of the imported tool, if the tool
    /// assigns a range to each client. `workers` contains the number of workers of each client.
    /// `range` is the first operation and, if known, the number of operations. Returns `None` if
    /// the tool does not assign ranges, or if the workload is not an import.
    fn in_ranges(
        self: Arc<Self>,
        _stage: Stage,
        _range: (u64, Option<u64>),
        _workers: &[u64],
    ) -> Option<Arc<dyn OperationSource>> {
        None
    }
}

/// Converts operation numbers to bytes. Each worker has one encoder.
pub trait OperationEncoder: Debug + Send {
    /// Starts operation `n`, which is a pure function of the seed and `n`. Callers usually pass
    /// ascending numbers, but any order must work.
    fn begin(&mut self, n: u64) -> Operation;

    /// Returns to an operation that this or an equal encoder has begun before. The statement of the
    /// operation may now be the statement that follows the first statement
    /// ([`crate::Statement::then`]).
    fn seek(&mut self, operation: Operation);

    /// Returns the Murmur3 token of the partition key. Returns `None` if the operation does not
    /// belong to a single partition.
    fn token(&self) -> Option<i64>;

    /// Returns the number of statements (entries) in the operation. An operation with several
    /// statements is a batch.
    fn entries(&self) -> usize {
        1
    }

    /// Returns the statement of an entry, as an index in [`crate::Program::statements`].
    fn entry_statement(&self, entry: usize) -> u16;

    /// Appends the values of an entry in bind order, each as `[int length][bytes]`.
    fn append_values(&mut self, entry: usize, out: &mut Vec<u8>);

    /// Checks the rows that the current operation has read.
    fn check(&mut self, rows: &RawRows) -> Check;

    /// Checks rows like [`OperationEncoder::check`], for checks that may take long. The check ends
    /// with an unknown result when `stop` returns true.
    fn check_until(&mut self, rows: &RawRows, _stop: &dyn Fn() -> bool) -> Check {
        self.check(rows)
    }

    /// Returns the access of the current operation to a register, which the load stage has set to
    /// zero. Returns `None` if the operation has no register.
    fn register_request(&self) -> Option<RegisterRequest> {
        None
    }

    /// Returns the amount that the current operation adds to a counter. Returns `None` if the
    /// operation does not add to a counter.
    fn amount(&self) -> Option<i64> {
        None
    }

    /// Returns the value of the counter that was checked last. Returns `None` if the last checked
    /// value was not a counter.
    fn counted(&self) -> Option<i64> {
        None
    }

    /// Returns the stage and the number of the operation that wrote the last checked value. Returns
    /// `None` unless the value was right and names its writer.
    fn writer(&self) -> Option<(Stage, u64)> {
        None
    }

    /// Returns the typical maximum size of an entry's values, in bytes. Callers allocate buffers of
    /// this size in advance.
    fn values_bytes_max(&self) -> usize;
}

/// A table whose rows are functions of their index.
pub(crate) trait RowFunction: Debug + Send + Sync + 'static {
    /// State of one worker, such as the current key.
    type RowKey: Debug + Send;

    fn cursor(&self) -> Self::RowKey;

    fn seek(&self, cursor: &mut Self::RowKey, row: u64);

    fn token(cursor: &Self::RowKey) -> i64;

    fn append_values(
        &self,
        cursor: &mut Self::RowKey,
        operation: &Operation,
        stage: Stage,
        out: &mut Vec<u8>,
    );

    /// Checks the rows that a read returned. `loaded` is true if the load stage writes the row.
    fn check(
        &self,
        cursor: &mut Self::RowKey,
        operation: &Operation,
        loaded: bool,
        rows: &RawRows,
    ) -> Check;

    /// Returns the operation's access to a register, like [`OperationEncoder::register_request`].
    fn register_request(&self, _operation: &Operation, _stage: Stage) -> Option<RegisterRequest> {
        None
    }

    /// Returns the amount that the operation adds to a counter, like [`OperationEncoder::amount`].
    fn amount(&self, _operation: &Operation, _stage: Stage) -> Option<i64> {
        None
    }

    /// Returns the value of the counter that was checked last, like [`OperationEncoder::counted`].
    fn counted(_cursor: &Self::RowKey) -> Option<i64> {
        None
    }

    /// Returns the writer of the last checked value, like [`OperationEncoder::writer`].
    fn writer(_cursor: &Self::RowKey) -> Option<(Stage, u64)> {
        None
    }

    /// Returns true if no operation of the mix deletes a row.
    fn deletes_nothing(&self) -> bool {
        true
    }

    fn row_bytes_estimate(&self) -> u64;

    fn values_bytes_max(&self) -> usize;
}

/// A table, together with the rules that choose its operations. All named workloads are such
/// sources.
#[derive(Debug)]
pub(crate) struct TableSource<T> {
    pub(crate) choices: Choices,
    pub(crate) rows: u64,
    pub(crate) table: T,
}

#[derive(Debug)]
struct ChosenCursor<T: RowFunction> {
    source: Arc<TableSource<T>>,
    stage: Stage,
    rows: Sampler,
    operation: Operation,
    cursor: T::RowKey,
}

impl<T: RowFunction> OperationSource for TableSource<T> {
    fn cursor(self: Arc<Self>, stage: Stage) -> Box<dyn OperationEncoder> {
        Box::new(ChosenCursor {
            stage,
            rows: self.choices.rows,
            operation: Operation::default(),
            cursor: self.table.cursor(),
            source: self,
        })
    }

    fn row_bytes_estimate(&self) -> u64 {
        self.table.row_bytes_estimate()
    }

    fn may_ask(&self, stage: Stage, kind: usize) -> bool {
        self.choices.may_ask(stage, kind)
    }

    fn keeps_rows(&self) -> bool {
        self.choices.adds_nothing(self.rows) && self.table.deletes_nothing()
    }
}

impl<T: RowFunction> OperationEncoder for ChosenCursor<T> {
    #[inline]
    fn begin(&mut self, n: u64) -> Operation {
        let choices = &self.source.choices;
        let operation = choices.operation(self.stage, n, &mut self.rows);
        self.seek(operation);
        operation
    }

    #[inline]
    fn seek(&mut self, operation: Operation) {
        self.operation = operation;
        self.source.table.seek(&mut self.cursor, operation.key);
    }

    #[inline]
    fn token(&self) -> Option<i64> {
        Some(T::token(&self.cursor))
    }

    #[inline]
    fn entry_statement(&self, _entry: usize) -> u16 {
        self.operation.statement
    }

    #[inline]
    fn append_values(&mut self, _entry: usize, out: &mut Vec<u8>) {
        let table = &self.source.table;
        table.append_values(&mut self.cursor, &self.operation, self.stage, out);
    }

    fn check(&mut self, rows: &RawRows) -> Check {
        let loaded = self.operation.key < self.source.rows;
        let table = &self.source.table;
        table.check(&mut self.cursor, &self.operation, loaded, rows)
    }

    fn register_request(&self) -> Option<RegisterRequest> {
        self.source.table.register_request(&self.operation, self.stage)
    }

    fn amount(&self) -> Option<i64> {
        self.source.table.amount(&self.operation, self.stage)
    }

    fn counted(&self) -> Option<i64> {
        T::counted(&self.cursor)
    }

    fn writer(&self) -> Option<(Stage, u64)> {
        T::writer(&self.cursor)
    }

    fn values_bytes_max(&self) -> usize {
        self.source.table.values_bytes_max()
    }
}
