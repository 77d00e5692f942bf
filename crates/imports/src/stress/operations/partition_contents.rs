//! The possible contents of a partition's rows, and the search for the rows that a read returned.
//!
//! A partition may have many thousands of rows, and a read may return all of them. The search
//! therefore finds each row by its clustering columns instead of comparing it with every other row.
//! The caller can stop the search.

use std::collections::{HashMap, HashSet};

use super::Cell;
use crate::stress::column::Column;
use crate::stress::partition::{Visit, Walk};
use cql::response::RawRows;
use workload::random::Draws;

/// Number of rows after which the search asks the caller whether to continue. A row takes a few
/// microseconds, or a hundred microseconds if it has large blobs.
pub(super) const STOP_ROWS: usize = 256;

/// Possible contents of a partition's rows.
pub(super) struct Possible<'a> {
    pub(super) key: Vec<Vec<u8>>,
    pub(super) rows: &'a [Vec<Vec<u8>>],
    /// Number of clustering columns, which come first in a row.
    pub(super) keys: usize,
    pub(super) counters: bool,
    pub(super) sparse: bool,
    pub(super) values: &'a [Column],
}

/// Possible values of static columns, by the index of the column.
type Shared<'a> = HashMap<usize, HashSet<&'a [u8]>>;

pub(super) enum Lookup {
    /// All returned rows are possible. The flags show which of the possible rows the read returned.
    All(Vec<bool>),
    /// At least one returned row is not among the possible rows.
    Stranger,
    Stopped,
}

impl Possible<'_> {
    pub(super) fn all(&self, returned: &[Cell], rows: &RawRows, stop: &dyn Fn() -> bool) -> Lookup {
        let is_key = |cell: &Cell| matches!(cell, Cell::Row(index) if *index < self.keys);
        let keys: Vec<usize> = (0..returned.len()).filter(|at| is_key(&returned[*at])).collect();
        let mut places: HashMap<Vec<&[u8]>, Vec<usize>> = HashMap::new();
        for (place, made) in self.rows.iter().enumerate() {
            let cells = keys.iter().map(|at| match returned[*at] {
                Cell::Row(index) => made[index].as_slice(),
                _ => &[],
            });
            places.entry(cells.collect()).or_default().push(place);
        }
        let shared = self.shared(returned);
        let mut seen = vec![false; self.rows.len()];
        let mut compared = 0;
        for row in rows.rows() {
            let Ok(row) = row else {
                return Lookup::Stranger;
            };
            let cells: Vec<Option<&[u8]>> = row.cells().collect();
            if cells.len() != returned.len() {
                return Lookup::Stranger;
            }
            let wanted: Option<Vec<&[u8]>> = keys.iter().map(|at| cells[*at]).collect();
            let mut found = None;
            for place in wanted.and_then(|wanted| places.get(&wanted)).into_iter().flatten() {
                let mut pairs = returned.iter().zip(&cells);
                if pairs.all(|(from, cell)| self.has(&self.rows[*place], *from, *cell, &shared)) {
                    found = Some(*place);
                    break;
                }
                compared += 1;
                if compared % STOP_ROWS == 0 && stop() {
                    return Lookup::Stopped;
                }
            }
            match found {
                Some(place) => seen[place] = true,
                None => return Lookup::Stranger,
            }
        }
        Lookup::All(seen)
    }

    /// Returns the values that static columns have in any of the rows.
    fn shared(&self, returned: &[Cell]) -> Shared<'_> {
        let columns = returned.iter().filter_map(|cell| match cell {
            Cell::Static(index) => Some(*index),
            _ => None,
        });
        let values = |index: usize| self.rows.iter().map(move |row| row[index].as_slice());
        columns.map(|index| (index, values(index).collect())).collect()
    }

    /// Returns true if a returned cell is possible for the generated row `made`.
    fn has(&self, made: &[Vec<u8>], from: Cell, cell: Option<&[u8]>, shared: &Shared<'_>) -> bool {
        match (from, cell) {
            (Cell::Key(index), Some(cell)) => self.key[index] == cell,
            (Cell::Row(index), _) if self.counters && index >= self.keys => true,
            (Cell::Row(index), cell) if index < self.keys => cell == Some(&made[index]),
            (Cell::Row(index), Some(cell)) => {
                self.values[index - self.keys].may_be(&made[index], cell)
            }
            // The write omitted the column because of the population, or the value is an empty
            // collection.
            (Cell::Row(index), None) => {
                self.sparse || self.values[index - self.keys].may_be_none(&made[index])
            }
            (Cell::Appended(index), Some(_))
                if self.values[index - self.keys].has_unseeded_size() =>
            {
                true
            }
            (Cell::Static(_) | Cell::Appended(_), None) | (Cell::Gathered(_), _) => true,
            (Cell::Static(_), Some(_)) if self.counters => true,
            (Cell::Static(index), Some(cell)) => {
                shared.get(&index).is_some_and(|values| values.contains(cell))
            }
            (Cell::Appended(index), Some(cell)) => is_repeated(&made[index], cell),
            (Cell::Key(_), None) => false,
        }
    }
}

/// Returns true if the read returned every row that a write makes in the partition. `seen` contains
/// a flag for each row of `known`. Returns `None` if the caller stopped the search.
pub(super) fn all_written(
    walk: &mut Walk,
    known: &[Vec<Vec<u8>>],
    seen: &[bool],
    stop: &dyn Fn() -> bool,
) -> Option<bool> {
    let keys = walk.clustering();
    let write = Visit::Write {
        chance: 1.0,
        visit: 0,
        visits: 1,
    };
    // If several rows have the same key, the first of them counts, as in the search.
    let mut places: HashMap<&[Vec<u8>], usize> = HashMap::new();
    for (place, made) in known.iter().enumerate() {
        places.entry(&made[..keys]).or_insert(place);
    }
    walk.begin(write, Draws::new(0, 0));
    let mut count = 0;
    while walk.next_row() {
        let place = places.get(&walk.row[..keys]);
        if place.is_none_or(|place| !seen[*place]) {
            return Some(false);
        }
        count += 1;
        if count % STOP_ROWS == 0 && stop() {
            return None;
        }
    }
    Some(true)
}

/// Returns true if a list consists of the elements of `made`, repeated once or several times.
fn is_repeated(made: &[u8], list: &[u8]) -> bool {
    let (Some((_, made)), Some((count, list))) =
        (made.split_first_chunk::<4>(), list.split_first_chunk::<4>())
    else {
        return false;
    };
    match made.len() {
        0 => *count == [0; 4],
        length => {
            let mut times = list.chunks(length);
            !list.is_empty() && times.all(|elements| elements == made)
        }
    }
}
