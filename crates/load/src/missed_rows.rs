//! Keeps the first rows of a worker whose reads were not as expected. A report names these rows.
//!
//! The module allocates all memory before the start line.

use measure::WriteMismatch;

/// Maximum number of rows that a report names. People rarely examine more rows.
pub const MISSED_ROWS_MAX: usize = 10;

/// The first rows whose reads were not as expected, without duplicates.
#[derive(Debug, Default)]
pub(crate) struct MissedRows {
    rows: Vec<(u64, WriteMismatch)>,
}

impl MissedRows {
    pub fn with_room() -> MissedRows {
        MissedRows {
            rows: Vec::with_capacity(MISSED_ROWS_MAX),
        }
    }

    /// Records a row, unless it is already recorded or the list is full.
    #[cold]
    pub fn note(&mut self, row: u64, missed: WriteMismatch) {
        let is_known = || self.rows.iter().any(|(known, _)| *known == row);
        if self.rows.len() < MISSED_ROWS_MAX && !is_known() {
            self.rows.push((row, missed));
        }
    }

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
