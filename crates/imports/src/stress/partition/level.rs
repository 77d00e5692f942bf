//! The clustering values of a level that were not visited yet. They are generated when they are
//! reached.
//!
//! Usually every value is generated in turn, so a repeated value creates no second row. If a visit
//! skips nearly all values of a wide level, generating them would be nearly all of the work. In
//! this case the generator itself skips them, so selecting one row of a partition of any width
//! generates one row. A value that is drawn twice then counts twice. Reads do not notice this. A
//! write does it only if duplicates are improbable, or if the level is too wide to walk.

use std::collections::{HashSet, VecDeque};

use crate::stress::column::Column;
use workload::random::Draws;

/// Maximum number of values that are compared one by one. If there are more values, a set is used
/// to find a value. Otherwise, a partition of a million rows would take a million million
/// comparisons.
const LOOKED_THROUGH: i64 = 32;
/// Maximum width of a level that is always walked. The walk takes less than 50 µs. So the visits
/// are the same as in the first version.
const WALKED_MAX: i64 = 256;
/// Width above which a level is never walked for a few of its values, because a walk would take
/// more than 0.2 s.
const WALKED_FOR_FEW_MAX: i64 = 1_000_000;
/// If the probability of a value is below this number, most of the level is skipped.
const SPARSE: f64 = 1.0 / 16.0;
/// Number of consecutive repeated draws after which the level counts as having no other values.
const REPEATED_MAX: u32 = 1_000_000;

/// A clustering value: its bytes, and its number in a fold.
type Clustering = (Vec<u8>, Option<i64>);

/// The rest of a level.
#[derive(Clone, Debug, Default)]
pub(super) struct LevelRest {
    /// Generated values, beginning with the current one. The next value follows, unless the level
    /// is sparse.
    values: VecDeque<Clustering>,
    /// Number of draws that are left.
    left: i64,
    known: HashSet<Vec<u8>>,
    sparse: Option<Sparse>,
}

/// State of a level whose values are mostly skipped.
#[derive(Clone, Copy, Debug)]
struct Sparse {
    /// Probability that a value is selected.
    chance: f64,
    /// Number of values to skip before the next selected one. `None` until it was drawn.
    passed: Option<i64>,
}

impl LevelRest {
    /// Returns true if the generator should skip through a level of `count` draws. Each value is
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

    /// Returns the current value. `None` if the level is exhausted.
    pub(super) fn front(&self) -> Option<&Clustering> {
        self.values.front()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns true if no value follows the current value.
    pub(super) fn is_last(&self) -> bool {
        match self.sparse {
            Some(_) => self.left == 0,
            None => self.values.len() <= 1,
        }
    }

    /// Moves on by `count` values.
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

    /// Returns the number of values to skip before a selected one. The current value counts, and
    /// the skip ends at the last value. `None` if each value has its own decision.
    pub(super) fn passed(&mut self, draws: &mut Draws) -> Option<i64> {
        let sparse = self.sparse.as_mut()?;
        let passed = *sparse.passed.get_or_insert_with(|| {
            // The number of consecutive failures has a geometric distribution.
            (libm::log(draws.unit()) / libm::log1p(-sparse.chance)) as i64
        });
        // The current value is not among the remaining values.
        Some(passed.min(self.left.max(i64::from(passed > 0))))
    }

    /// Selects the current value. The next number of skips is then drawn again.
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

    /// Generates the current value. Unless the level is sparse, also generates the next value, to
    /// know whether one exists.
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
