//! The clustering values of a level that the walk has not visited yet. The level generates a value
//! when the walk reaches it.
//!
//! Usually the level generates every value in turn, so that a repeated value does not lead to a
//! second row. If a visit skips nearly all values of a wide level, nearly all of this work would be
//! wasted. In this case the generator itself skips the values. To select one row of a partition of
//! any width, it then generates one row. A value that is drawn twice then counts twice. This makes
//! no difference for reads. Writes skip values only if duplicates are improbable, or if the level
//! is too wide to generate all values.

use std::collections::{HashSet, VecDeque};

use crate::stress::column::Column;
use workload::random::Draws;

/// Maximum number of values that are compared one by one. If a level has more values, the search
/// for a value uses a set. Otherwise, a partition of a million rows would take a million million
/// comparisons.
const COMPARISONS_MAX: i64 = 32;
/// Maximum width of a level whose values are always generated, which takes less than 50 µs. Up to
/// this width, the visits are the same as in the first version of cassay.
const WALKED_MAX: i64 = 256;
/// Width above which the level never generates all values when only a few are selected, because
/// this would take more than 0.2 s.
const WALKED_FOR_FEW_MAX: i64 = 1_000_000;
/// Probability below which most values of a level are skipped.
const SPARSE: f64 = 1.0 / 16.0;
/// Number of consecutive repeated draws after which the level assumes that it has no other values.
const REPEATED_MAX: u32 = 1_000_000;

/// A clustering value, with its bytes and the number with which it is folded.
type Clustering = (Vec<u8>, Option<i64>);

#[derive(Clone, Debug, Default)]
pub(super) struct LevelRest {
    /// Generated values, beginning with the current value. The next value follows, unless the level
    /// is sparse.
    values: VecDeque<Clustering>,
    /// Number of draws that are left on the level.
    left: i64,
    known: HashSet<Vec<u8>>,
    sparse: Option<Sparse>,
}

/// State of a level whose values are mostly skipped.
#[derive(Clone, Copy, Debug)]
struct Sparse {
    chance: f64,
    /// Number of values to skip before the next selected value. `None` if this number has not been
    /// drawn yet.
    passed: Option<i64>,
}

impl LevelRest {
    /// Returns true if the generator should skip values on a level of `count` draws. Each value is
    /// selected with probability `chance`.
    pub(super) fn is_sparse(column: &Column, count: i64, chance: f64, is_read: bool) -> bool {
        let wide = count > WALKED_MAX && chance < SPARSE;
        let (draws, distinct) = (count as f64, column.distinct());
        wide && (is_read || count > WALKED_FOR_FEW_MAX || draws * draws <= distinct)
    }

    /// Begins the level with `count` draws of a seeded column. If `chance` is present, the level is
    /// sparse.
    pub(super) fn fill(&mut self, column: &mut Column, count: i64, chance: Option<f64>) {
        self.values.clear();
        self.known = HashSet::new();
        self.left = count.max(0);
        self.sparse = chance.map(|chance| Sparse {
            chance,
            passed: None,
        });
        if count <= COMPARISONS_MAX {
            while self.left > 0 {
                let value = self.draw(column);
                if !self.values.iter().any(|(known, _)| *known == value.0) {
                    self.values.push_back(value);
                }
            }
        }
        self.top_up(column);
    }

    /// Returns the current value. Returns `None` if the level is exhausted.
    pub(super) fn front(&self) -> Option<&Clustering> {
        self.values.front()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub(super) fn is_last(&self) -> bool {
        match self.sparse {
            Some(_) => self.left == 0,
            None => self.values.len() <= 1,
        }
    }

    /// Moves forward by `count` values.
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

    /// Returns the number of values to skip before the next selected value. The number includes the
    /// current value, and the skip ends at the last value. Returns `None` if the level is not
    /// sparse, so that each value needs a separate decision.
    pub(super) fn passed(&mut self, draws: &mut Draws) -> Option<i64> {
        let sparse = self.sparse.as_mut()?;
        let passed = *sparse.passed.get_or_insert_with(|| {
            // The number of consecutive values that are not selected has a geometric distribution.
            (libm::log(draws.unit()) / libm::log1p(-sparse.chance)) as i64
        });
        // `left` does not include the current value.
        Some(passed.min(self.left.max(i64::from(passed > 0))))
    }

    /// Selects the current value. The number of values to skip must then be drawn again.
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

    /// Generates the current value. Unless the level is sparse, also generates the next value,
    /// because the caller must know whether a next value exists.
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
