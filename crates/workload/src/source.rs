//! What a workload must be able to do to be run: the two traits behind [`crate::Program`] and
//! [`crate::Generator`]; and the adapter for tables whose rows are functions of their index.
//!
//! A dynamic call per step of an operation costs about 1 ns; in return every workload and every
//! import is a module of its own, which nothing but its constructor's caller knows.

use std::fmt::Debug;
use std::sync::Arc;

use crate::course::Course;
use crate::distribution::Sampler;
use crate::generator::{Check, Operation, RegisterRequest};
use crate::program::{Choices, Stage};
use cql::response::RawRows;

/// The part of a program that knows its operations; shared by all workers.
pub trait OperationSource: Debug + Send + Sync {
    /// A cursor for one worker.
    fn cursor(self: Arc<Self>, stage: Stage) -> Box<dyn OperationEncoder>;

    /// Bytes of keys and values in a row, on average.
    fn row_bytes_estimate(&self) -> u64;

    /// Whether the operations of a stage are ever of a kind. Where it cannot be told, they may be.
    fn may_ask(&self, _stage: Stage, _kind: usize) -> bool {
        true
    }

    /// Whether the main stage leaves the rows that the load stage wrote, and no others. Where it
    /// cannot be told, it does not.
    fn keeps_rows(&self) -> bool {
        false
    }

    /// When operations of the main stage were asked for, if they were recorded.
    fn course(&self) -> Option<Arc<Course>> {
        None
    }

    /// The same operations, of which each of several clients with so many workers walks a part of
    /// its own, as those of the tool do that the source is of. `range` are the first operation and
    /// how many there are, if that is known. None: the tool's clients have no ranges, or it is no
    /// tool's.
    fn in_ranges(
        self: Arc<Self>,
        _stage: Stage,
        _range: (u64, Option<u64>),
        _workers: &[u64],
    ) -> Option<Arc<dyn OperationSource>> {
        None
    }
}

/// Turns operation numbers into bytes; one per worker.
pub trait OperationEncoder: Debug + Send {
    /// Starts operation `n`: a pure function of the seed and `n`. Numbers usually ascend; any
    /// order must work.
    fn begin(&mut self, n: u64) -> Operation;

    /// Goes back to an operation that this or an equal cursor has begun before. Its statement may
    /// have become the one that follows on it ([`crate::Statement::then`]).
    fn seek(&mut self, operation: Operation);

    /// The Murmur3 token of the partition key; `None`: there is no single partition.
    fn token(&self) -> Option<i64>;

    /// Statements in the operation: more than one make a batch.
    fn entries(&self) -> usize {
        1
    }

    /// Index in [`crate::Program::statements`] of an entry.
    fn entry_statement(&self, entry: usize) -> u16;

    /// Appends the values of an entry in bind order, each as `[int length][bytes]`.
    fn append_values(&mut self, entry: usize, out: &mut Vec<u8>);

    /// Judges the rows that the operation last begun or sought has read.
    fn check(&mut self, rows: &RawRows) -> Check;

    /// As [`OperationEncoder::check`], where judging may take long: it gives up, and nothing is
    /// known, once `stop` says so.
    fn check_until(&mut self, rows: &RawRows, _stop: &dyn Fn() -> bool) -> Check {
        self.check(rows)
    }

    /// What the operation last begun or sought asks of a register that was 0 when it was loaded;
    /// none if it is about no register.
    fn asked(&self) -> Option<RegisterRequest> {
        None
    }

    /// What the operation last begun or sought adds to a counter; none if it adds to none.
    fn amount(&self) -> Option<i64> {
        None
    }

    /// What a counter that was judged last has come to; none if it was no counter.
    fn counted(&self) -> Option<i64> {
        None
    }

    /// Who wrote the value that was judged last, if it was right and says so: the stage and the
    /// operation's number.
    fn writer(&self) -> Option<(Stage, u64)> {
        None
    }

    /// Bytes that the values of an entry usually take at most; room is made for them ahead.
    fn values_bytes_max(&self) -> usize;
}

/// A table whose rows are functions of their index.
pub(crate) trait RowFunction: Debug + Send + Sync + 'static {
    /// The scratch of one worker: the current key.
    type RowKey: Debug + Send;

    fn cursor(&self) -> Self::RowKey;

    /// Makes the key of `row`.
    fn seek(&self, cursor: &mut Self::RowKey, row: u64);

    fn token(cursor: &Self::RowKey) -> i64;

    /// Appends the values of the operation whose row was sought.
    fn append_values(
        &self,
        cursor: &mut Self::RowKey,
        operation: &Operation,
        stage: Stage,
        out: &mut Vec<u8>,
    );

    /// Judges what was read; `loaded`: the load stage writes the row.
    fn check(
        &self,
        cursor: &mut Self::RowKey,
        operation: &Operation,
        loaded: bool,
        rows: &RawRows,
    ) -> Check;

    /// As [`OperationEncoder::asked`].
    fn asked(&self, _operation: &Operation, _stage: Stage) -> Option<RegisterRequest> {
        None
    }

    /// As [`OperationEncoder::amount`].
    fn amount(&self, _operation: &Operation, _stage: Stage) -> Option<i64> {
        None
    }

    /// As [`OperationEncoder::counted`].
    fn counted(_cursor: &Self::RowKey) -> Option<i64> {
        None
    }

    /// As [`OperationEncoder::writer`].
    fn writer(_cursor: &Self::RowKey) -> Option<(Stage, u64)> {
        None
    }

    /// Whether no operation of the mix deletes a row.
    fn deletes_nothing(&self) -> bool {
        true
    }

    fn row_bytes_estimate(&self) -> u64;

    fn values_bytes_max(&self) -> usize;
}

/// A table with the choice of its operations: the source of the named workloads.
#[derive(Debug)]
pub(crate) struct Chosen<T> {
    pub(crate) choices: Choices,
    /// Rows that the load stage writes.
    pub(crate) rows: u64,
    pub(crate) table: T,
}

#[derive(Debug)]
struct ChosenCursor<T: RowFunction> {
    source: Arc<Chosen<T>>,
    stage: Stage,
    rows: Sampler,
    operation: Operation,
    cursor: T::RowKey,
}

impl<T: RowFunction> OperationSource for Chosen<T> {
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

    fn asked(&self) -> Option<RegisterRequest> {
        self.source.table.asked(&self.operation, self.stage)
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
