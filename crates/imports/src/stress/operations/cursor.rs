//! Generates the rows and arguments of operations, one operation after the other.

use std::sync::Arc;

use super::partition_contents::{Lookup, Possible, STOP_ROWS, all_written};
use super::{
    BLOCK, Block, BlockOperation, Cell, Consumption, Op, OperationKind, Operations, ROWS, SHARES,
    Seeds,
};
use crate::stress::partition::{Visit, Walk};
use cql::response::RawRows;
use cql::template::append_value;
use cql::token::murmur3;
use workload::Stage;
use workload::random::{Draws, lane};
use workload::{Check, Operation};
use workload::{ClientRanges, OperationEncoder, OperationSource};

/// Maximum number of rows of a partition for which reads are checked.
const CHECKED_ROWS_MAX: f64 = 20_000.0;

/// Maximum number of writes in flight. If a read looks back by fewer seeds, it may come before the
/// write of its row.
const IN_FLIGHT_MAX: u64 = 4096;

impl OperationSource for Operations {
    fn cursor(self: Arc<Self>, _stage: Stage) -> Box<dyn OperationEncoder> {
        Box::new(StressCursor {
            walks: self.tables.iter().cloned().map(Walk::new).collect(),
            block: self.block(0, Consumption::default()),
            sums: vec![Consumption::default()],
            operation: Operation::default(),
            op: 0,
            takes: 1,
            entries: Vec::new(),
            values: Vec::new(),
            key: Vec::new(),
            token: None,
            asked: Vec::new(),
            operations: self,
        })
    }

    fn row_bytes_estimate(&self) -> u64 {
        let mut walk = Walk::new(self.tables[0].clone());
        walk.seek(self.seed_at(0));
        walk.begin(Visit::All, Draws::new(0, 0));
        walk.next_row();
        let bytes: usize = walk.key.iter().chain(&walk.row).map(Vec::len).sum();
        bytes as u64
    }

    /// Returns the operations with a separate range for each client. This requires a sequence of
    /// seeds (`-pop seq=`) in which each operation takes one seed.
    fn in_ranges(
        self: Arc<Self>,
        _stage: Stage,
        _range: (u64, Option<u64>),
        workers: &[u64],
    ) -> Option<Arc<dyn OperationSource>> {
        let mut operations = Operations::clone(&self);
        if !operations.takes_one() {
            return None;
        }
        let Seeds::Sequence { count, ranges, .. } = &mut operations.seeds else {
            return None;
        };
        *ranges = Some(ClientRanges::new(*count, workers));
        Some(Arc::new(operations))
    }
}

#[derive(Debug)]
struct StressCursor {
    operations: Arc<Operations>,
    walks: Vec<Walk>,
    block: Block,
    /// Consumption before each block, for all blocks that have been summed so far.
    sums: Vec<Consumption>,
    operation: Operation,
    op: usize,
    takes: u32,
    /// End of the values of each entry in the buffer.
    entries: Vec<usize>,
    values: Vec<u8>,
    key: Vec<u8>,
    token: Option<i64>,
    /// Rows from which the arguments of a query are taken.
    asked: Vec<Vec<Vec<u8>>>,
}

impl StressCursor {
    fn find(&mut self, n: u64) -> BlockOperation {
        let (number, place) = (n / BLOCK as u64, (n % BLOCK as u64) as usize);
        if self.block.number != number {
            if self.operations.takes_one() {
                let before = number * BLOCK as u64;
                let (places, partitions) = (before, before);
                self.block = self.operations.block(number, Consumption { places, partitions });
            } else {
                // The search starts at the nearest known sum. Operation numbers ascend, so the
                // search usually sums only one block.
                let mut known = (self.sums.len() as u64 - 1).min(number);
                while known < number {
                    let block = self.operations.block(known, self.sums[known as usize]);
                    known += 1;
                    if known as usize == self.sums.len() {
                        self.sums.push(block.taken);
                    }
                }
                self.block = self.operations.block(number, self.sums[number as usize]);
            }
        }
        self.block.operations[place]
    }

    fn take(&mut self, planned: BlockOperation, operation: Operation) {
        self.takes = self.operations.left(planned);
        (self.op, self.operation) = (usize::from(planned.op), operation);
        self.make();
    }

    fn make(&mut self) {
        self.entries.clear();
        self.values.clear();
        self.token = None;
        let operations = Arc::clone(&self.operations);
        let op = &operations.ops[self.op];
        match &op.what {
            OperationKind::Insert { .. } => self.insert(&operations, op),
            OperationKind::Query { same_row, .. } => self.query(&operations, op, *same_row),
            OperationKind::Tokens { ranges } => {
                let range = self.operation.number % ranges;
                let bound = |number: u64| {
                    let part = u128::from(u64::MAX) * u128::from(number) / u128::from(*ranges);
                    (i128::from(i64::MIN) + part as i128) as i64
                };
                append_value(&mut self.values, &bound(range).to_be_bytes());
                append_value(&mut self.values, &bound(range + 1).to_be_bytes());
                self.entries.push(self.values.len());
            }
        }
    }

    fn insert(&mut self, operations: &Operations, op: &Op) {
        let OperationKind::Insert {
            select,
            visits,
            population,
            values,
            ..
        } = &op.what
        else {
            return;
        };
        let (mut select, mut population) = (*select, *population);
        let mut shares = Draws::new(lane(operations.seed, SHARES), self.operation.number);
        select.set_seed(shares.bits() as i64);
        population.set_seed(shares.bits() as i64);
        for index in 0..u64::from(self.takes) {
            let place = self.operation.key + index;
            let (seed, visit) = (
                operations.seed_at(place / *visits as u64),
                place as i64 % visits,
            );
            let write = Visit::Write {
                chance: select.next(),
                visit,
                visits: *visits,
            };
            let filled = (population.next() * *values as f64) as usize;
            let walk = &mut self.walks[op.table];
            walk.seek(seed);
            if index == 0 {
                token_key(&walk.key, &mut self.key);
                self.token = Some(murmur3(&self.key));
            }
            let draws = Draws::new(lane(operations.seed, ROWS), place);
            walk.begin(write, draws);
            let mut more = walk.next_row();
            if !more && self.entries.is_empty() {
                // The random choice has skipped all rows. An operation needs at least one row, so
                // it writes all rows that the partition can have.
                walk.begin(Visit::All, draws);
                more = walk.next_row();
            }
            while more && self.entries.len() < super::BATCH_MAX {
                for (number, cell) in op.bound.iter().enumerate() {
                    if number >= filled && number < *values {
                        self.values.extend_from_slice(&(-1i32).to_be_bytes());
                    } else {
                        append_value(&mut self.values, bytes(walk, *cell));
                    }
                }
                self.entries.push(self.values.len());
                more = walk.next_row();
            }
        }
    }

    fn query(&mut self, operations: &Operations, op: &Op, same_row: bool) {
        let seed = self.query_seed(operations);
        let walk = &mut self.walks[op.table];
        walk.seek(seed);
        token_key(&walk.key, &mut self.key);
        self.token = Some(murmur3(&self.key));
        let mut draws = Draws::new(lane(operations.seed, ROWS), self.operation.number);
        let wanted = if same_row { 1 } else { op.bound.len().max(1) };
        let some = Visit::Some {
            rows: wanted as i64,
        };
        walk.begin(some, draws);
        let rows = &mut self.asked;
        rows.clear();
        while rows.len() < wanted && walk.next_row() {
            rows.push(walk.row.clone());
        }
        if rows.is_empty() {
            // The random choice has skipped all rows, so the query selects the first row of the
            // partition.
            walk.begin(Visit::All, draws);
            walk.next_row();
            rows.push(walk.row.clone());
        }
        for cell in &op.bound {
            let row = if same_row {
                0
            } else {
                draws.below(rows.len() as u64) as usize
            };
            let value = match cell {
                Cell::Key(index) => &walk.key[*index],
                Cell::Row(index) | Cell::Static(index) => &rows[row][*index],
                Cell::Appended(index) | Cell::Gathered(index) => &rows[row][*index],
            };
            append_value(&mut self.values, value);
        }
        self.entries.push(self.values.len());
    }

    fn query_seed(&self, operations: &Operations) -> i64 {
        let seeds = self.operation.key / operations.visits();
        operations
            .seed_back(self.operation.number, seeds)
            .unwrap_or_else(|| operations.seed_at(seeds))
    }
}

fn bytes(walk: &Walk, cell: Cell) -> &[u8] {
    match cell {
        Cell::Key(index) => &walk.key[index],
        Cell::Row(index) | Cell::Static(index) => &walk.row[index],
        Cell::Appended(index) | Cell::Gathered(index) => &walk.row[index],
    }
}

/// Writes the partition key to `key`, in the form from which the token is computed.
fn token_key(cells: &[Vec<u8>], key: &mut Vec<u8>) {
    key.clear();
    if let [only] = cells {
        return key.extend_from_slice(only);
    }
    for cell in cells {
        key.extend_from_slice(&(cell.len() as u16).to_be_bytes());
        key.extend_from_slice(cell);
        key.push(0);
    }
}

impl OperationEncoder for StressCursor {
    fn begin(&mut self, n: u64) -> Operation {
        let planned = self.find(n);
        let op = &self.operations.ops[usize::from(planned.op)];
        let operation = Operation {
            number: n,
            key: planned.before.places,
            statement: op.statement,
            kind: op.kind,
        };
        self.take(planned, operation);
        operation
    }

    fn seek(&mut self, operation: Operation) {
        let planned = self.find(operation.number);
        self.take(planned, operation);
    }

    fn token(&self) -> Option<i64> {
        self.token
    }

    fn entries(&self) -> usize {
        self.entries.len().max(1)
    }

    fn entry_statement(&self, _entry: usize) -> u16 {
        self.operation.statement
    }

    fn append_values(&mut self, entry: usize, out: &mut Vec<u8>) {
        let start = entry.checked_sub(1).map_or(0, |before| self.entries[before]);
        if let Some(end) = self.entries.get(entry) {
            out.extend_from_slice(&self.values[start..*end]);
        }
    }

    fn check(&mut self, rows: &RawRows) -> Check {
        self.check_until(rows, &|| false)
    }

    fn check_until(&mut self, rows: &RawRows, stop: &dyn Fn() -> bool) -> Check {
        let operations = Arc::clone(&self.operations);
        let op = &operations.ops[self.op];
        let OperationKind::Query {
            returned: Some(returned),
            must_find,
            whole,
            ..
        } = &op.what
        else {
            return Check::Unknown;
        };
        let seed = self.query_seed(&operations);
        let keys = operations.tables[op.table].clustering.len();
        let walk = &mut self.walks[op.table];
        walk.seek(seed);
        let possible = |rows| Possible {
            key: walk.key.clone(),
            rows,
            keys,
            counters: operations.counters[op.table],
            sparse: operations.sparse[op.table],
            values: &operations.tables[op.table].values,
        };
        // Usually the returned rows are the requested rows. The check then does not need to
        // generate the whole partition.
        let asked = possible(&self.asked).all(returned, rows, stop);
        if *whole || !matches!(asked, Lookup::All(_)) {
            let table = &operations.tables[op.table];
            if table.rows_max() > CHECKED_ROWS_MAX || table.has_unseeded_rows() {
                return Check::Unknown;
            }
            let mut known = Vec::new();
            let mut walk = walk.clone();
            walk.begin(Visit::All, Draws::new(0, 0));
            while walk.next_row() {
                known.push(walk.row.clone());
                if known.len().is_multiple_of(STOP_ROWS) && stop() {
                    return Check::Unknown;
                }
            }
            let seen = match possible(&known).all(returned, rows, stop) {
                Lookup::All(seen) => seen,
                Lookup::Stranger => return Check::Wrong,
                Lookup::Stopped => return Check::Unknown,
            };
            if *whole && rows.rows_count > 0 {
                match all_written(&mut walk, &known, &seen, stop) {
                    Some(true) => {}
                    Some(false) => return Check::Missing,
                    None => return Check::Unknown,
                }
            }
        }
        let any = rows.rows_count > 0;
        let written = self.operation.key / operations.visits();
        let is_recent = |back: u64| back.min(written) < IN_FLIGHT_MAX;
        let back = operations.back(self.operation.number);
        match (any, must_find) {
            // The result is unknown, because the write of this row may still be in flight.
            (false, true) if back.is_some_and(is_recent) => Check::Unknown,
            (true, _) => Check::Right,
            (false, true) => Check::Missing,
            (false, false) => Check::Unknown,
        }
    }

    fn values_bytes_max(&self) -> usize {
        // Typical size of an entry of this table. If rows are larger, the buffers grow.
        1024 + self.values.len() / self.entries.len().max(1)
    }
}
