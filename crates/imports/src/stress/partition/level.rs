//! The clustering values of a level that are yet to be visited: made when they are come to.
//!
//! Usually every value is made in turn, since one that was drawn before makes no second row. Where
//! chance passes over nearly all of a wide level, that would be nearly all of the work: there the
//! values passed over are skipped in the generator, so that choosing one row of a partition of any
//! width makes one row. A value that is drawn twice counts twice then: of reads nobody can tell,
//! and a write has it only where that is not to be expected, or the level is wider than any walk.

use std::collections::{HashSet, VecDeque};

use crate::stress::column::Column;
use workload::random::Draws;

/// So many values of a level are compared one by one; more are looked up, or a partition of a
/// million rows would take a million million comparisons.
const LOOKED_THROUGH: i64 = 32;
/// Levels up to this wide are walked: it takes less than 50 µs, and their visits are those of the
/// first version.
const WALKED_MAX: i64 = 256;
/// A wider level is never walked for a few of its values: it would take more than 0.2 s.
const WALKED_FOR_FEW_MAX: i64 = 1_000_000;
/// Below this chance of a value most of the level is passed over.
const SPARSE: f64 = 1.0 / 16.0;
/// So many draws in a row that were drawn before: there are no others.
const REPEATED_MAX: u32 = 1_000_000;

/// A clustering value: its bytes, and what it counts in a fold.
type Clustering = (Vec<u8>, Option<i64>);

/// What is left of a level.
#[derive(Clone, Debug, Default)]
pub(super) struct Level {
    /// The current value first; with one behind it unless the level is sparse.
    values: VecDeque<Clustering>,
    /// Draws that are yet to be made.
    left: i64,
    known: HashSet<Vec<u8>>,
    sparse: Option<Sparse>,
}

/// Of a level that is nearly all passed over.
#[derive(Clone, Copy, Debug)]
struct Sparse {
    /// Of each value to be taken.
    chance: f64,
    /// Values yet to be passed over before the next that is taken, once that was drawn.
    passed: Option<i64>,
}

impl Level {
    /// Whether a level of `count` draws is one to skip in, when each value is taken with `chance`.
    pub(super) fn is_sparse(column: &Column, count: i64, chance: f64, is_read: bool) -> bool {
        let wide = count > WALKED_MAX && chance < SPARSE;
        let (draws, distinct) = (count as f64, column.distinct());
        wide && (is_read || count > WALKED_FOR_FEW_MAX || draws * draws <= distinct)
    }

    /// Begins the level with `count` draws of a seeded column; with a chance, it is sparse.
    pub(super) fn fill(&mut self, column: &mut Column, count: i64, chance: Option<f64>) {
        self.values.clear();
        self.known = HashSet::new();
        self.left = count.max(0);
        self.sparse = chance.map(|chance| Sparse {
            chance,
            passed: None,
        });
        if count <= LOOKED_THROUGH {
            while self.left > 0 {
                let value = self.draw(column);
                if !self.values.iter().any(|(known, _)| *known == value.0) {
                    self.values.push_back(value);
                }
            }
        }
        self.top_up(column);
    }

    /// The current value; none: the level is exhausted.
    pub(super) fn front(&self) -> Option<&Clustering> {
        self.values.front()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Whether no value stands behind the current one.
    pub(super) fn is_last(&self) -> bool {
        match self.sparse {
            Some(_) => self.left == 0,
            None => self.values.len() <= 1,
        }
    }

    /// Goes `count` values on.
    pub(super) fn pass(&mut self, column: &mut Column, count: i64) {
        if let Some(sparse) = &mut self.sparse
            && count > 0
        {
            sparse.passed = sparse.passed.map(|passed| passed - count);
            self.values.clear();
            let skipped = (count - 1).min(self.left);
            column.skip(skipped);
            self.left -= skipped;
            return self.top_up(column);
        }
        for _ in 0..count {
            if self.values.pop_front().is_none() {
                return;
            }
            self.top_up(column);
        }
    }

    /// How many values chance passes over before it takes one, the current one first, and at most
    /// up to the last; none: it decides value by value.
    pub(super) fn passed(&mut self, draws: &mut Draws) -> Option<i64> {
        let sparse = self.sparse.as_mut()?;
        let passed = *sparse.passed.get_or_insert_with(|| {
            // How often in a row a chance fails has a geometric distribution.
            (libm::log(draws.unit()) / libm::log1p(-sparse.chance)) as i64
        });
        // The current value is not among those left.
        Some(passed.min(self.left.max(i64::from(passed > 0))))
    }

    /// The current value is taken: chance begins anew behind it.
    pub(super) fn take(&mut self) {
        if let Some(sparse) = &mut self.sparse {
            sparse.passed = None;
        }
    }

    fn draw(&mut self, column: &mut Column) -> Clustering {
        self.left -= 1;
        let mut value = Vec::new();
        column.append(&mut value);
        (value, column.folded())
    }

    /// Makes the current value, and that behind it where it takes making to know that there is one.
    fn top_up(&mut self, column: &mut Column) {
        let wanted = if self.sparse.is_some() { 1 } else { 2 };
        let mut repeated = 0;
        while self.values.len() < wanted && self.left > 0 {
            let value = self.draw(column);
            if self.sparse.is_some() || self.known.insert(value.0.clone()) {
                self.values.push_back(value);
                continue;
            }
            repeated += 1;
            if repeated == REPEATED_MAX {
                self.left = 0;
            }
        }
    }
}
