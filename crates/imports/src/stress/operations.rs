//! Generates the operations of a cassandra-stress run. An operation has a kind, seeds and rows.
//!
//! The tool draws the kinds of operations, the number of partitions of each operation and the rows
//! of a read from unseeded generators. In cassay, they are functions of the seed and the
//! operation's number. A run visits the seeds of a sequence without gaps. To do so, it sums the
//! number of seeds that earlier operations have taken, block by block, and keeps the sums.

mod cursor;
mod partition_contents;

use super::draw::{Dist, Ratio};
use super::partition::Columns;
use workload::ClientRanges;
use workload::random::{Draws, lane};

/// Number of operations in a block. The kinds of all operations in a block are drawn together.
const BLOCK: usize = 256;
/// Maximum number of operations in a batch of the protocol.
const BATCH_MAX: usize = 65_535;

/// Number of the random stream for kinds.
const KINDS: u64 = 41;
const COUNTS: u64 = 42;
const SEEDS: u64 = 43;
const ROWS: u64 = 44;
const SHARES: u64 = 45;

/// Source of a cell that a statement binds or returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// A column of the partition key.
    Key(usize),
    /// A clustering column or another column.
    Row(usize),
    /// A static column, which has the value of the last write to any row of the partition. Only a
    /// returned cell can have this source.
    Static(usize),
    /// A list to which every write of its row appends elements. Only a returned cell can have this
    /// source.
    Appended(usize),
    /// A collection to which the writes of all rows of a partition add elements. Only a returned
    /// cell can have this source.
    Gathered(usize),
}

#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "cassay creates only a few such values, once for the run"
)]
pub(super) enum OperationKind {
    /// Writes rows of one or several partitions.
    Insert {
        partitions: Dist,
        select: Ratio,
        visits: i64,
        /// Share of the non-key columns that have values.
        population: Ratio,
        /// Number of bound cells that are not part of the key. The population may omit some of
        /// these cells.
        values: usize,
    },
    /// Reads with arguments that come from one row, or from several rows of a partition.
    Query {
        same_row: bool,
        /// Sources of the cells of a returned row. `None` if the row cannot be compared.
        returned: Option<Vec<Cell>>,
        /// True if a partition that was written must contain the row.
        must_find: bool,
        /// True if the query reads whole partitions and writes do not omit rows at random. Every
        /// row of a write must then exist.
        whole: bool,
    },
    /// Reads the partitions in a range of tokens.
    Tokens { ranges: u64 },
}

#[derive(Clone, Debug)]
pub(super) struct Op {
    pub(super) statement: u16,
    pub(super) kind: u8,
    pub(super) table: usize,
    pub(super) weight: f64,
    pub(super) what: OperationKind,
    pub(super) bound: Vec<Cell>,
}

impl Op {
    /// Returns true if each operation of this kind accesses one partition.
    fn is_for_one(&self) -> bool {
        match &self.what {
            OperationKind::Insert { partitions, .. } => {
                partitions.is_fixed() && partitions.max() == 1
            }
            OperationKind::Query { .. } | OperationKind::Tokens { .. } => true,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) enum Seeds {
    Sequence {
        first: i64,
        count: u64,
        lookback: Option<Dist>,
        /// Ranges that the clients visit. `None` if the clients do not have separate ranges.
        ranges: Option<ClientRanges>,
    },
    Drawn(Dist),
}

#[derive(Clone, Debug)]
pub(super) struct Operations {
    pub(super) seed: u64,
    pub(super) tables: Vec<Columns>,
    /// For each table, true if the values are counters, which cannot be compared.
    pub(super) counters: Vec<bool>,
    /// For each table, true if writes omit some cells.
    pub(super) sparse: Vec<bool>,
    pub(super) ops: Vec<Op>,
    pub(super) runs: Dist,
    pub(super) seeds: Seeds,
    /// Total number of partitions of all operations (`n=`). `None` if the run has no such limit.
    pub(super) partitions: Option<u64>,
    /// Number of seeds of a sequence that is not repeated (`no-wrap`). `None` if the sequence is
    /// repeated.
    pub(super) last_seed: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct BlockOperation {
    op: u16,
    /// Number of positions in the sequence of seeds that the operation takes. It is 0 for
    /// operations that take no position, such as a read that looks back.
    own: u32,
    before: Consumption,
}

/// Numbers of positions and partitions that operations have taken.
#[derive(Clone, Copy, Debug, Default)]
struct Consumption {
    /// Number of positions in the sequence of seeds. Each visit to a seed takes one position.
    places: u64,
    /// Number of partitions that count for `n=`. A read that takes no position counts as one
    /// partition.
    partitions: u64,
}

#[derive(Clone, Debug)]
struct Block {
    number: u64,
    operations: Vec<BlockOperation>,
    taken: Consumption,
}

impl Operations {
    /// Returns the number of operations of a run. Returns `None` if the run has no end.
    pub(super) fn count(&self) -> Option<u64> {
        let ends = self.ends();
        if ends.partitions == u64::MAX && ends.places == u64::MAX {
            return None;
        }
        if self.takes_one() {
            return Some(ends.partitions.min(ends.places));
        }
        if self.ops.iter().all(|op| op.is_for_one()) && ends.places == u64::MAX {
            return Some(ends.partitions);
        }
        let mut block = self.block(0, Consumption::default());
        loop {
            let is_behind = |planned: &BlockOperation| {
                planned.before.partitions >= ends.partitions
                    || planned.own > 0 && planned.before.places >= ends.places
            };
            if let Some(end) = block.operations.iter().position(is_behind) {
                return Some(block.number * BLOCK as u64 + end as u64);
            }
            block = self.block(block.number + 1, block.taken);
        }
    }

    /// Returns the consumption at which the run ends. A sequence ends the run only if operations
    /// take its seeds.
    fn ends(&self) -> Consumption {
        let takes = |op: &Op| op.weight > 0.0 && self.takes(op, 0) > 0;
        let places = match self.last_seed {
            Some(seeds) if self.ops.iter().any(takes) => seeds.saturating_mul(self.visits()),
            _ => u64::MAX,
        };
        Consumption {
            places,
            partitions: self.partitions.unwrap_or(u64::MAX),
        }
    }

    /// Returns the number of positions of a planned operation that are left before the end of the
    /// run.
    fn left(&self, planned: BlockOperation) -> u32 {
        let ends = self.ends();
        let places = ends.places.saturating_sub(planned.before.places);
        let partitions = ends.partitions.saturating_sub(planned.before.partitions);
        let left = places.min(partitions);
        u64::from(planned.own).min(left).max(1) as u32
    }

    /// Returns the number of visits that writes make to each seed.
    fn visits(&self) -> u64 {
        let visits = self.ops.iter().map(|op| match &op.what {
            OperationKind::Insert { visits, .. } => (*visits).max(1) as u64,
            OperationKind::Query { .. } | OperationKind::Tokens { .. } => 1,
        });
        visits.max().unwrap_or(1)
    }

    /// Returns true if every operation takes exactly one position. In this case, the sums are not
    /// necessary.
    fn takes_one(&self) -> bool {
        let one = |op: &Op| match &op.what {
            OperationKind::Insert { .. } => op.is_for_one(),
            OperationKind::Query { .. } => self.takes(op, 0) == 1,
            OperationKind::Tokens { .. } => false,
        };
        self.ops.iter().all(one)
    }

    fn looks_back(&self) -> bool {
        matches!(
            &self.seeds,
            Seeds::Sequence {
                lookback: Some(_),
                ..
            }
        )
    }

    /// Returns the operations of a block. `taken` is the consumption of the operations before the
    /// block.
    fn block(&self, number: u64, taken: Consumption) -> Block {
        let mut draws = Draws::new(lane(self.seed, KINDS), number);
        let mut runs = self.runs;
        runs.set_seed(draws.bits() as i64);
        let weights: f64 = self.ops.iter().map(|op| op.weight).sum();
        let mut block = Block {
            number,
            operations: Vec::with_capacity(BLOCK),
            taken,
        };
        while block.operations.len() < BLOCK {
            let mut at = draws.unit() * weights;
            let chosen = self.ops.iter().position(|op| {
                at -= op.weight;
                at <= 0.0
            });
            let op = chosen.unwrap_or(self.ops.len() - 1);
            let length = match self.ops.len() {
                1 => BLOCK,
                _ => runs.next().max(1) as usize,
            };
            for _ in 0..length.min(BLOCK - block.operations.len()) {
                let n = number * BLOCK as u64 + block.operations.len() as u64;
                let own = self.takes(&self.ops[op], n);
                block.operations.push(BlockOperation {
                    op: op as u16,
                    own,
                    before: block.taken,
                });
                block.taken.places += u64::from(own);
                block.taken.partitions += u64::from(own.max(1));
            }
        }
        block
    }

    /// Returns the number of positions in the sequence that operation `n` takes. Reads that look
    /// back take no positions. If each seed is visited more than once, other reads also take no
    /// positions and use the seeds of the writes. Otherwise, reads could leave a seed partly
    /// visited.
    fn takes(&self, op: &Op, n: u64) -> u32 {
        match &op.what {
            OperationKind::Insert { partitions, .. } if partitions.is_fixed() => {
                partitions.max().max(1) as u32
            }
            OperationKind::Insert { partitions, .. } => {
                let mut partitions = *partitions;
                partitions.set_seed(Draws::new(lane(self.seed, COUNTS), n).bits() as i64);
                partitions.next().clamp(1, BATCH_MAX as i64) as u32
            }
            OperationKind::Query { .. } if self.looks_back() || self.visits() > 1 => 0,
            OperationKind::Query { .. } => 1,
            OperationKind::Tokens { .. } => 0,
        }
    }

    /// Returns the seed at position `index` in the sequence of all seeds that the run takes.
    fn seed_at(&self, index: u64) -> i64 {
        match &self.seeds {
            Seeds::Sequence {
                first,
                count,
                ranges,
                ..
            } => {
                let place = ranges.as_ref().map_or(index % count, |ranges| ranges.place(index));
                first.wrapping_add(place as i64)
            }
            Seeds::Drawn(dist) => {
                let mut dist = *dist;
                dist.set_seed(Draws::new(lane(self.seed, SEEDS), index).bits() as i64);
                dist.next()
            }
        }
    }

    /// Returns the number of seeds by which read `n` looks back.
    fn back(&self, n: u64) -> Option<u64> {
        let Seeds::Sequence {
            lookback: Some(lookback),
            ..
        } = &self.seeds
        else {
            return None;
        };
        let mut lookback = *lookback;
        lookback.set_seed(Draws::new(lane(self.seed, SEEDS), n).bits() as i64);
        Some(lookback.next().max(0) as u64)
    }

    /// Returns the seed of read `n`, which looks back from the last of `written` seeds.
    fn seed_back(&self, n: u64, written: u64) -> Option<i64> {
        let back = self.back(n)?;
        let Seeds::Sequence { first, count, .. } = &self.seeds else {
            return None;
        };
        let offset = match written.checked_sub(back) {
            Some(offset) => offset,
            None => back.checked_rem(written).unwrap_or(0),
        };
        Some(first.wrapping_add((offset.min(written.saturating_sub(1)) % count) as i64))
    }
}

#[cfg(test)]
mod tests;
