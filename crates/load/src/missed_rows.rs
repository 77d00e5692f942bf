//! Keeps the first rows that a worker read and that were not as expected; a report names them.
//!
//! All room is allocated before the start line.

use measure::WriteMismatch;

/// Number of rows that a report names. A person rarely examines more.
pub const MISSED_ROWS_MAX: usize = 10;

/// The first rows, without duplicates.
#[derive(Debug, Default)]
pub(crate) struct MissedRows {
    rows: Vec<(u64, WriteMismatch)>,
}

impl MissedRows {
    /// Creates an empty list with room for all rows.
    pub fn with_room() -> MissedRows {
        MissedRows {
            rows: Vec::with_capacity(MISSED_ROWS_MAX),
        }
    }

    /// Records a row, if it is new and there is room.
    #[cold]
    pub fn note(&mut self, row: u64, missed: WriteMismatch) {
        let is_known = || self.rows.iter().any(|(known, _)| *known == row);
        if self.rows.len() < MISSED_ROWS_MAX && !is_known() {
            self.rows.push((row, missed));
        }
    }

    /// Returns the rows, in the order of arrival.
    pub fn rows(&self) -> &[(u64, WriteMismatch)] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rows_are_kept_each_once_and_none_needs_more_room() {
        let mut rows = MissedRows::with_room();
        let room = rows.rows.capacity();
        for row in (0..100).flat_map(|row| [row, row]) {
            rows.note(row, WriteMismatch::Wrong);
        }
        let numbers: Vec<u64> = rows.rows().iter().map(|(row, _)| *row).collect();
        assert_eq!(numbers, (0..MISSED_ROWS_MAX as u64).collect::<Vec<_>>());
        assert_eq!(rows.rows.capacity(), room);
    }
}
