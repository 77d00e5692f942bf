//! Converts cycles to operations. The position of a cycle in the sequence determines the operation,
//! and recipes generate the values.

use std::sync::Arc;

use super::virtdata::{Recipe, Ty, Val};
use cql::response::RawRows;
use cql::token::murmur3;
use workload::Stage;
use workload::{Check, Operation};
use workload::{ClientRanges, OperationEncoder, OperationSource};

#[derive(Debug)]
pub(crate) struct Cycles {
    pub(crate) recipes: Vec<Recipe>,
    pub(crate) ops: Vec<CycleOp>,
    /// Indexes of operations, in the order of the sequence. The list is never empty.
    pub(crate) sequence: Vec<u16>,
    /// Number of bytes of the values of a row, for estimates.
    pub(crate) row_bytes: u64,
    /// First cycle and number of cycles of the range that is repeated. `None` if the cycles are not
    /// repeated.
    pub(crate) again: Option<(u64, u64)>,
}

/// An operation. Its statement and its kind have the same index.
#[derive(Debug)]
pub(crate) struct CycleOp {
    /// Index of the recipe of each marker.
    pub(crate) binds: Vec<usize>,
    /// Markers of the partition key's columns, in key order. `None` if some columns of the
    /// partition key have no marker.
    pub(crate) key: Option<Vec<usize>>,
    /// Number of statements of a batch, each of which has a separate cycle. The number is 1 for an
    /// operation that is not a batch.
    pub(crate) repeat: u64,
}

/// The same operations as [`Cycles`], but with a separate range of cycles for each client.
#[derive(Debug)]
struct CyclesInRanges {
    cycles: Arc<Cycles>,
    first: u64,
    ranges: ClientRanges,
}

#[derive(Debug)]
struct CyclesCursor {
    source: Arc<Cycles>,
    /// First cycle, and the ranges of the clients. `None` if the clients do not have separate
    /// ranges.
    ranges: Option<(u64, ClientRanges)>,
    operation: Operation,
    /// Values of the first entry.
    values: Vec<u8>,
    starts: Vec<usize>,
    key: Vec<u8>,
    token: Option<i64>,
}

impl OperationSource for Cycles {
    fn cursor(self: Arc<Self>, _stage: Stage) -> Box<dyn OperationEncoder> {
        self.cursor_in(None)
    }

    fn row_bytes_estimate(&self) -> u64 {
        self.row_bytes
    }

    fn in_ranges(
        self: Arc<Self>,
        _stage: Stage,
        (first, count): (u64, Option<u64>),
        workers: &[u64],
    ) -> Option<Arc<dyn OperationSource>> {
        // If cycles are repeated, each client processes its range in each repetition.
        let count = self.again.map_or(count, |(_, count)| Some(count));
        let ranges = ClientRanges::new(count?, workers);
        Some(Arc::new(CyclesInRanges {
            cycles: self,
            first,
            ranges,
        }))
    }
}

impl OperationSource for CyclesInRanges {
    fn cursor(self: Arc<Self>, _stage: Stage) -> Box<dyn OperationEncoder> {
        let ranges = (self.first, self.ranges.clone());
        Arc::clone(&self.cycles).cursor_in(Some(ranges))
    }

    fn row_bytes_estimate(&self) -> u64 {
        self.cycles.row_bytes
    }
}

impl Cycles {
    fn cursor_in(
        self: Arc<Self>,
        ranges: Option<(u64, ClientRanges)>,
    ) -> Box<dyn OperationEncoder> {
        Box::new(CyclesCursor {
            ranges,
            operation: Operation::default(),
            values: Vec::new(),
            starts: Vec::new(),
            key: Vec::new(),
            token: None,
            source: self,
        })
    }

    fn append(&self, bind: usize, cycle: u64, out: &mut Vec<u8>) {
        let recipe = &self.recipes[bind];
        let value: Val = recipe.value(cycle as i64);
        match recipe.ty {
            Ty::Vector | Ty::Floats => value.append_vector(out),
            _ => value.append(out),
        }
    }
}

impl CyclesCursor {
    fn op(&self) -> &CycleOp {
        &self.source.ops[usize::from(self.operation.statement)]
    }

    /// Returns the cycle for which the values of an entry are generated.
    fn cycle(&self, entry: usize) -> u64 {
        let repeat = self.op().repeat;
        self.operation.key.wrapping_mul(repeat).wrapping_add(entry as u64)
    }

    fn make_token(&mut self) {
        let source = Arc::clone(&self.source);
        let op = &source.ops[usize::from(self.operation.statement)];
        let Some(key) = op.key.as_ref().filter(|_| op.repeat == 1) else {
            self.token = None;
            return;
        };
        // Cassandra hashes the bytes of a single-column key. In a composite key, each component has
        // a length and an end byte.
        let part = |marker: usize| {
            let end = self.starts.get(marker + 1).copied();
            &self.values[self.starts[marker] + 4..end.unwrap_or(self.values.len())]
        };
        self.token = Some(match key[..] {
            [marker] => murmur3(part(marker)),
            _ => {
                self.key.clear();
                for part in key.iter().map(|marker| part(*marker)) {
                    self.key.extend_from_slice(&(part.len() as u16).to_be_bytes());
                    self.key.extend_from_slice(part);
                    self.key.push(0);
                }
                murmur3(&self.key)
            }
        });
    }
}

impl OperationEncoder for CyclesCursor {
    fn begin(&mut self, n: u64) -> Operation {
        let sequence = &self.source.sequence;
        let cycle = match (&self.ranges, self.source.again) {
            (Some((first, ranges)), _) => first + ranges.place(n.wrapping_sub(*first)),
            (None, None) => n,
            (None, Some((first, count))) => first + n.wrapping_sub(first) % count,
        };
        let op = sequence[(cycle % sequence.len() as u64) as usize];
        let operation = Operation {
            number: n,
            key: cycle,
            statement: op,
            kind: op as u8,
        };
        self.seek(operation);
        operation
    }

    fn seek(&mut self, operation: Operation) {
        self.operation = operation;
        self.values.clear();
        self.starts.clear();
        let (source, cycle) = (Arc::clone(&self.source), self.cycle(0));
        for bind in &source.ops[usize::from(operation.statement)].binds {
            self.starts.push(self.values.len());
            source.append(*bind, cycle, &mut self.values);
        }
        self.make_token();
    }

    fn token(&self) -> Option<i64> {
        self.token
    }

    fn entries(&self) -> usize {
        self.op().repeat as usize
    }

    fn entry_statement(&self, _entry: usize) -> u16 {
        self.operation.statement
    }

    fn append_values(&mut self, entry: usize, out: &mut Vec<u8>) {
        if entry == 0 {
            out.extend_from_slice(&self.values);
            return;
        }
        let cycle = self.cycle(entry);
        for bind in &self.op().binds {
            self.source.append(*bind, cycle, out);
        }
    }

    fn check(&mut self, _rows: &RawRows) -> Check {
        Check::Unknown
    }

    fn values_bytes_max(&self) -> usize {
        self.values.len().max(256)
    }
}
