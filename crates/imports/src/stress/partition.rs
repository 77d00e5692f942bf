//! The rows of a partition of cassandra-stress. The key comes from a seed, then the clustering
//! values follow level by level, and then the other columns. Each value has a seed that follows
//! from the values before it.
//!
//! The tool draws the values of a level together and without duplicates. The values of the first
//! level come from the seed of the key. The values of the next level come from that seed folded
//! over the first value of the level above, and so on. The same values therefore occur under every
//! value of the level above. The other columns of a row come from the last level's seed folded over
//! the row's last clustering value.
//!
//! A write visits the rows up to a last row. The tool computes the position of this row from the
//! means of the levels and compares it level by level. With a single visit, the last row comes
//! after the maximum number of rows that a partition can have. With several visits, each visit has
//! its share of an average partition's rows. With several levels, this ends a visit early. For
//! example, in the profile `cqlstress-example`, whose lower levels mostly have one value, a visit
//! writes one row. This implementation does the same, so the rows are equal to those of the tool.

mod level;

use std::cmp::Ordering;

use super::column::{Column, bytes, fold};
use level::LevelRest;
use workload::random::Draws;

/// Probability above which a row is always selected.
const CHANCE_CERTAIN: f64 = 0.99999;

#[derive(Clone, Debug)]
pub(crate) struct Columns {
    pub(crate) key: Vec<Column>,
    pub(crate) clustering: Vec<Column>,
    pub(crate) values: Vec<Column>,
    /// Position of the last row of a single visit. It is the product of the tool's maxima of the
    /// levels.
    rows_last: i64,
    /// Mean number of rows below a value of each level.
    descendants: Vec<i64>,
    averages: Vec<i64>,
}

impl Columns {
    pub(crate) fn new(key: Vec<Column>, clustering: Vec<Column>, values: Vec<Column>) -> Columns {
        let averages: Vec<i64> = clustering.iter().map(|column| column.cluster.average()).collect();
        let mut descendants = vec![1; clustering.len()];
        for level in (0..clustering.len().saturating_sub(1)).rev() {
            descendants[level] = averages[level + 1].saturating_mul(descendants[level + 1]);
        }
        let product: f64 = clustering.iter().map(|column| column.cluster.last() as f64).product();
        Columns {
            key,
            clustering,
            values,
            // The tool counts rows in 32 bits. If the number of rows exceeds 32 bits, the visit
            // never reaches its last row.
            rows_last: i64::from(product as i32),
            descendants: descendants.into_iter().map(|count| count.max(1)).collect(),
            averages: averages.into_iter().map(|count| count.max(1)).collect(),
        }
    }

    /// Returns an error if a row could be larger than any server accepts.
    pub(crate) fn too_large(&self) -> Option<String> {
        let all = [&self.key, &self.clustering, &self.values];
        bytes::too_large(all.into_iter().flatten())
    }

    /// Returns the clustering columns for which the tool generates a different number of values in
    /// each run.
    pub(crate) fn unseeded_counts(&self) -> impl Iterator<Item = &Column> {
        let levels = self.clustering.iter();
        levels.filter(|column| column.has_unseeded_count())
    }

    /// Returns true if the keys of some rows differ between the tool's runs.
    pub(crate) fn has_unseeded_rows(&self) -> bool {
        let mut levels = self.clustering.iter();
        levels.any(|column| column.has_unseeded_value() || column.has_unseeded_length())
    }

    pub(crate) fn rows_max(&self) -> f64 {
        let levels = self.clustering.iter();
        levels.map(|column| column.cluster.max() as f64).product()
    }
}

/// Selection of the rows to visit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Visit {
    /// The rows of a write. Each of `visits` visits selects each row with the probability `chance`.
    Write {
        chance: f64,
        visit: i64,
        visits: i64,
    },
    /// The visit selects approximately this number of rows.
    Some { rows: i64 },
    /// The visit selects all rows that the partition can have.
    All,
}

/// Purpose for which rows are generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Write,
    /// Rows for a read. Any rows of the partition are suitable.
    Read,
    /// Rows for a check. These are all rows that any run of cassandra-stress could have written.
    Knowledge,
}

/// Visits the rows of partitions, one partition after another.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    columns: Columns,
    pub(crate) key: Vec<Vec<u8>>,
    key_seed: i64,
    /// Values of each level that the walk has not visited yet. The first of these values is the
    /// current value.
    levels: Vec<LevelRest>,
    seeds: Vec<i64>,
    current: Vec<i64>,
    last: Vec<i64>,
    chance: f64,
    purpose: Purpose,
    /// Inverse probability of the choices above each level, for the random choice of rows.
    rolls: Vec<f64>,
    chances: Vec<f64>,
    draws: Draws,
    has_next: bool,
    /// Seed of the last visited key, number of visits to this key, and position of the next visit.
    visited: (i64, i64, i64),
    /// Clustering values of the next row.
    ahead: Vec<Vec<u8>>,
    /// Clustering values of the last visited row, followed by its other values.
    pub(crate) row: Vec<Vec<u8>>,
}

impl Walk {
    pub(crate) fn new(columns: Columns) -> Walk {
        let levels = columns.clustering.len();
        Walk {
            key: vec![Vec::new(); columns.key.len()],
            key_seed: 0,
            levels: vec![LevelRest::default(); levels],
            seeds: vec![0; levels],
            current: vec![0; levels],
            last: vec![i64::MAX; levels],
            chance: 1.0,
            purpose: Purpose::Write,
            rolls: vec![1.0; levels],
            chances: vec![1.0; levels],
            draws: Draws::new(0, 0),
            has_next: false,
            visited: (0, 0, 0),
            ahead: vec![Vec::new(); levels],
            row: vec![Vec::new(); levels + columns.values.len()],
            columns,
        }
    }

    /// Returns the number of clustering columns, which come first in a row.
    pub(crate) fn clustering(&self) -> usize {
        self.levels.len()
    }

    /// Generates the partition key that belongs to a seed.
    pub(crate) fn seek(&mut self, seed: i64) {
        self.key_seed = 0;
        for (column, value) in self.columns.key.iter_mut().zip(&mut self.key) {
            column.set_seed(seed);
            value.clear();
            column.append(value);
            self.key_seed = column.fold(value, self.key_seed);
        }
    }

    /// Begins a visit to the current partition. `draws` determines the random choices.
    pub(crate) fn begin(&mut self, visit: Visit, draws: Draws) {
        self.draws = draws;
        if self.levels.is_empty() {
            self.has_next = true;
            return;
        }
        let first = &mut self.columns.clustering[0];
        first.set_seed(self.key_seed);
        let count = first.cluster.next();
        let expected = count.saturating_mul(self.columns.descendants[0]).max(1);
        self.last.fill(i64::MAX);
        self.purpose = match visit {
            Visit::All => Purpose::Knowledge,
            Visit::Some { .. } => Purpose::Read,
            Visit::Write { .. } => Purpose::Write,
        };
        self.chance = match visit {
            Visit::All => 1.0,
            Visit::Some { rows } => (rows as f64 / expected as f64).clamp(0.0, 1.0),
            Visit::Write {
                chance,
                visit,
                visits,
            } => {
                self.chance = chance;
                let rows = match visits {
                    1 => self.columns.rows_last.saturating_add(1),
                    _ => (expected / visits.max(1)).max(1),
                };
                return self.visit(visit, rows);
            }
        };
        self.has_next = self.start(0);
    }

    /// Moves to the start of visit number `visit`. Each visit has `rows` rows. If a visit would
    /// have no rows, it continues with the rows of the next visit. The start of a visit therefore
    /// depends on the earlier visits.
    fn visit(&mut self, visit: i64, rows: i64) {
        let (seed, known, place) = self.visited;
        let (mut number, mut start) = if seed == self.key_seed && known <= visit {
            (known, place)
        } else {
            (0, 0)
        };
        loop {
            self.last = self.position(start.saturating_add(rows - 1));
            self.has_next = self.start(start);
            start = start.saturating_add(rows);
            if self.has_next || self.levels[0].is_empty() {
                if number == visit {
                    break;
                }
                number += 1;
            }
        }
        self.visited = (self.key_seed, number + 1, start);
    }

    /// Draws the first level again, and moves to the row at position `place`. Returns false if the
    /// partition has no such row.
    fn start(&mut self, place: i64) -> bool {
        self.rolls.fill(1.0);
        self.chances.fill(1.0);
        self.fill(0);
        self.seek_row(place)
    }

    /// Returns the position of row number `scalar` of an average partition. The position consists
    /// of an index on each level.
    fn position(&self, scalar: i64) -> Vec<i64> {
        let mut rest = scalar;
        let mut position: Vec<i64> = self
            .columns
            .descendants
            .iter()
            .map(|below| {
                let index = rest / below;
                rest %= below;
                index
            })
            .collect();
        for level in (1..position.len()).rev() {
            let average = self.columns.averages[level];
            if position[level] >= average {
                position[level - 1] += position[level] / average;
                position[level] %= average;
            }
        }
        position
    }

    /// Draws the values of a level. The caller must have set the seeds of the levels above.
    fn fill(&mut self, level: usize) {
        let seed = match level {
            0 => self.key_seed,
            _ => self.seeds[level - 1],
        };
        let column = &mut self.columns.clustering[level];
        column.set_seed(seed);
        let count = match self.purpose {
            Purpose::Knowledge if column.has_unseeded_count() => column.cluster.max(),
            _ => column.cluster.next(),
        };
        let chance = self.chance * self.chances[level];
        let sparse = self.purpose != Purpose::Knowledge
            && LevelRest::is_sparse(column, count, chance, self.purpose == Purpose::Read);
        let values = &mut self.levels[level];
        values.fill(column, count, sparse.then_some(chance));
        if let Some((value, number)) = values.front() {
            self.seeds[level] = fold(*number, value, seed);
        }
    }

    fn pass(&mut self, level: usize, count: i64) {
        self.levels[level].pass(&mut self.columns.clustering[level], count);
        self.current[level] += count;
    }

    /// Moves to the first selected row at or after row number `scalar`. Returns false if the visit
    /// has no such row.
    fn seek_row(&mut self, scalar: i64) -> bool {
        let leaf = self.levels.len() - 1;
        if scalar == 0 {
            self.current[0] = 0;
            return self.choose(0, true);
        }
        self.current = self.position(scalar);
        for level in 0..=leaf {
            if level > 0 {
                self.fill(level);
            }
            let wanted = self.current[level];
            self.levels[level].pass(&mut self.columns.clustering[level], wanted);
            if self.levels[level].is_empty() && !self.climb(level) {
                return false;
            }
            if let Some((value, _)) = self.levels[level].front() {
                self.ahead[level].clone_from(value);
            }
        }
        self.behind_last(leaf) <= 0 && self.choose(leaf, true)
    }

    /// Handles a position that the partition does not have. Moves to the next value of the nearest
    /// level above that has a further value. Returns false at the end of the partition.
    fn climb(&mut self, level: usize) -> bool {
        let mut above = level;
        loop {
            let Some(next) = above.checked_sub(1) else {
                return false;
            };
            above = next;
            self.levels[above].pass(&mut self.columns.clustering[above], 1);
            if !self.levels[above].is_empty() {
                break;
            }
        }
        self.current[above] += 1;
        self.current[above + 1..].fill(0);
        for below in above + 1..=level {
            self.fill(below);
        }
        true
    }

    /// Compares the current value of a level with the last row of the visit. Returns 1 if the value
    /// is after that row, and -1 if it is before that row. Returns 0 if it is the last value that
    /// is not after that row. If a level has only one value left, this value represents all values
    /// that an average partition would have after it.
    fn behind_last(&self, level: usize) -> i32 {
        let mut before = false;
        for (depth, values) in self.levels.iter().enumerate().take(level + 1) {
            let (at, last, only) = (self.current[depth], self.last[depth], values.is_last());
            match at.cmp(&last) {
                _ if before && !only => return -1,
                _ if before => {}
                Ordering::Greater => return 1,
                Ordering::Equal => {}
                Ordering::Less if only => before = true,
                Ordering::Less => return -1,
            }
        }
        0
    }

    /// Leaves the current value of a level, and selects the next row. Returns false at the end of
    /// the visit.
    fn advance(&mut self, level: usize) -> bool {
        self.pass(level, 1);
        self.choose(level, false)
    }

    /// Selects a row, starting at the current values. Moves down a level if the draw selects the
    /// value, and otherwise to the next value. Moves up a level when the values of a level are
    /// exhausted. Returns false at the end of the visit.
    fn choose(&mut self, level: usize, first: bool) -> bool {
        let mut level = level;
        loop {
            if self.levels[level].is_empty() {
                let Some(above) = level.checked_sub(1) else {
                    return false;
                };
                level = above;
                self.pass(level, 1);
                if self.current[level] > self.last[level] {
                    return false;
                }
                continue;
            }
            let behind = self.behind_last(level);
            if behind > 0 {
                return false;
            }
            let chance = self.chance * self.chances[level];
            let forced = first && behind == 0;
            // The walk skips this number of values before the selected value.
            let passed = match self.levels[level].passed(&mut self.draws) {
                _ if forced || chance > CHANCE_CERTAIN => 0,
                Some(passed) => passed,
                None => i64::from(chance < self.draws.unit()),
            };
            if passed == 0 {
                self.levels[level].take();
                if let Some((value, _)) = self.levels[level].front() {
                    self.ahead[level].clone_from(value);
                }
                level += 1;
                if level == self.levels.len() {
                    return true;
                }
                if self.chance < 1.0 {
                    self.rolls[level] = self.rolls[level - 1] / chance.min(1.0);
                    self.chances[level] =
                        self.columns.descendants[level] as f64 * self.rolls[level];
                }
                self.current[level] = 0;
                self.fill(level);
                continue;
            }
            if behind >= 0 {
                return false;
            }
            // The skip must not go beyond the last visited value, because the walk has to examine
            // that value.
            let visited = self.last[level].saturating_sub(self.current[level]);
            self.pass(level, passed.min(visited).max(1));
        }
    }

    /// Generates the next row of the visit. Returns false at the end of the visit.
    pub(crate) fn next_row(&mut self) -> bool {
        if !self.has_next {
            return false;
        }
        let Some(leaf) = self.levels.len().checked_sub(1) else {
            self.values(self.key_seed);
            self.has_next = false;
            return true;
        };
        self.row[..=leaf].clone_from_slice(&self.ahead);
        if let Some((value, number)) = self.levels[leaf].front() {
            let seed = fold(*number, value, self.seeds[leaf]);
            self.values(seed);
        }
        self.has_next = self.advance(leaf);
        true
    }

    fn values(&mut self, seed: i64) {
        let cells = &mut self.row[self.levels.len()..];
        for (column, cell) in self.columns.values.iter_mut().zip(cells) {
            column.set_seed(seed);
            cell.clear();
            column.append(cell);
        }
    }
}

#[cfg(test)]
mod tests;
