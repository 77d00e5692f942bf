//! A compiled workload file. It contains groups of statements with the generators of their bound
//! values, and the cursor that converts operations to bytes.

use std::sync::Arc;

use super::value_generators::Gen;
use crate::distribution::Sampler;
use crate::operation_generator::{Check, Operation};
use crate::program::{Choices, Stage};
use crate::program_traits::{OperationEncoder, OperationSource};
use crate::random::Draws;
use cql::response::RawRows;
use cql::token::murmur3;

/// Seed that separates the random draws of the load stage from those of the main stage, for values
/// per operation.
const LOAD_SEED: u64 = 0x6C6F_6164_0000_0001;

/// Number from which a value is computed, in addition to the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Per {
    Row,
    Operation,
}

#[derive(Clone, Debug)]
pub(super) struct Bound {
    pub(super) generate: Gen,
    pub(super) seed: u64,
    pub(super) per: Per,
    /// True if the value is written to a column of the partition key, or compared with one.
    pub(super) in_partition_key: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) statement: u16,
    pub(super) bound: Vec<Bound>,
    /// Indexes in `bound` of the columns of the partition key, in key order. The list is empty if
    /// the statement does not belong to a single partition.
    pub(super) key: Vec<usize>,
}

/// Statements that an operation sends together. A group is either a single statement or a batch.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) parts: Vec<Part>,
    /// Rows per operation.
    pub(super) size: Sampler,
    pub(super) size_seed: u64,
    /// True if all rows of an operation belong to the partition of the first row.
    pub(super) same_partition: bool,
}

/// Expected result of a checked read.
#[derive(Debug)]
pub(super) struct ExpectedResult {
    /// Index of the statement that reads.
    pub(super) statement: u16,
    /// Generator and seed of each column of the result.
    pub(super) cells: Vec<(Gen, u64)>,
}

#[derive(Debug)]
pub(super) struct FileSource {
    pub(super) choices: Choices,
    /// Number of rows that the load stage writes.
    pub(super) rows: u64,
    pub(super) groups: Vec<Group>,
    pub(super) group_of: Vec<usize>,
    pub(super) deletes: bool,
    pub(super) expected: Option<ExpectedResult>,
    pub(super) row_bytes: u64,
    pub(super) values_bytes_max: usize,
}

#[derive(Debug)]
struct FileCursor {
    source: Arc<FileSource>,
    stage: Stage,
    rows: Sampler,
    operation: Operation,
    group: usize,
    size: u64,
    token: Option<i64>,
    /// Buffer for keys and expected cells.
    scratch: Vec<u8>,
}

impl OperationSource for FileSource {
    fn cursor(self: Arc<Self>, stage: Stage) -> Box<dyn OperationEncoder> {
        Box::new(FileCursor {
            stage,
            rows: self.choices.rows,
            operation: Operation::default(),
            group: 0,
            size: 1,
            token: None,
            scratch: Vec::new(),
            source: self,
        })
    }

    fn row_bytes_estimate(&self) -> u64 {
        self.row_bytes
    }

    fn may_ask(&self, stage: Stage, kind: usize) -> bool {
        self.choices.may_ask(stage, kind)
    }

    fn keeps_rows(&self) -> bool {
        self.choices.adds_nothing(self.rows) && !self.deletes
    }
}

impl Bound {
    fn number(&self, row: u64, operation: u64) -> u64 {
        match self.per {
            Per::Row => row,
            Per::Operation => operation,
        }
    }

    fn seed(&self, stage: Stage) -> u64 {
        match (self.per, stage) {
            (Per::Operation, Stage::Load) => self.seed ^ LOAD_SEED,
            _ => self.seed,
        }
    }
}

impl FileCursor {
    /// Returns the row of an entry. Rows of a batch are consecutive. After the last loaded row,
    /// they continue with the first loaded row.
    fn row(&self, index: u64) -> u64 {
        let key = self.operation.key;
        if index == 0 || key >= self.source.rows {
            return key;
        }
        (key + index) % self.source.rows
    }

    /// Returns the operation number from which the values per operation of an entry are computed.
    /// Every row of a batch has a different number.
    fn operation_number(&self, index: u64) -> u64 {
        let group = &self.source.groups[self.group];
        let stride = group.size.range().1;
        self.operation.number.wrapping_mul(stride).wrapping_add(index)
    }

    fn find_token(&mut self) -> Option<i64> {
        let operation = self.operation_number(0);
        let part = &self.source.groups[self.group].parts[0];
        let scratch = &mut self.scratch;
        scratch.clear();
        let composite = part.key.len() > 1;
        for column in &part.key {
            let bound = &part.bound[*column];
            let number = bound.number(self.operation.key, operation);
            let start = scratch.len();
            if composite {
                scratch.extend_from_slice(&[0; 2]);
            }
            bound.generate.append(bound.seed(self.stage), number, scratch);
            if composite {
                let length = (scratch.len() - start - 2) as u16;
                scratch[start..start + 2].copy_from_slice(&length.to_be_bytes());
                scratch.push(0);
            }
        }
        (!part.key.is_empty()).then(|| murmur3(scratch))
    }
}

impl OperationEncoder for FileCursor {
    fn begin(&mut self, n: u64) -> Operation {
        let choices = &self.source.choices;
        let operation = choices.operation(self.stage, n, &mut self.rows);
        self.seek(operation);
        operation
    }

    fn seek(&mut self, operation: Operation) {
        self.operation = operation;
        self.group = self.source.group_of[usize::from(operation.statement)];
        let group = &self.source.groups[self.group];
        let mut size = group.size;
        let number = operation.number;
        self.size = size.draw(number, 0, &mut Draws::new(group.size_seed, number));
        self.token = self.find_token();
    }

    fn token(&self) -> Option<i64> {
        self.token
    }

    fn entries(&self) -> usize {
        self.source.groups[self.group].parts.len() * self.size as usize
    }

    fn entry_statement(&self, entry: usize) -> u16 {
        let parts = &self.source.groups[self.group].parts;
        parts[entry % parts.len()].statement
    }

    fn append_values(&mut self, entry: usize, out: &mut Vec<u8>) {
        let group = &self.source.groups[self.group];
        let part = &group.parts[entry % group.parts.len()];
        let index = (entry / group.parts.len()) as u64;
        let (row, operation) = (self.row(index), self.operation_number(index));
        let first = (self.operation.key, self.operation_number(0));
        for bound in &part.bound {
            let (row, operation) = if group.same_partition && bound.in_partition_key {
                first
            } else {
                (row, operation)
            };
            let number = bound.number(row, operation);
            bound.generate.append_cell(bound.seed(self.stage), number, out);
        }
    }

    /// Compares each cell of the single row with the row that the load stage wrote.
    fn check(&mut self, rows: &RawRows) -> Check {
        let Some(expected) = &self.source.expected else {
            return Check::Unknown;
        };
        if expected.statement != self.operation.statement {
            return Check::Unknown;
        }
        let row = self.operation.key;
        let mut rows = rows.rows();
        let found = match rows.next() {
            None if row < self.source.rows => return Check::Missing,
            None => return Check::Unknown,
            Some(Err(_)) => return Check::Wrong,
            Some(Ok(found)) => found,
        };
        let mut cells = found.cells();
        for (generate, seed) in &expected.cells {
            self.scratch.clear();
            generate.append(*seed, row, &mut self.scratch);
            if cells.next().flatten() != Some(self.scratch.as_slice()) {
                return Check::Wrong;
            }
        }
        if cells.next().is_some() || rows.next().is_some() {
            return Check::Wrong;
        }
        Check::Right
    }

    fn values_bytes_max(&self) -> usize {
        self.source.values_bytes_max
    }
}
