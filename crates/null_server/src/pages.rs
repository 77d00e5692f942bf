//! Reads of many rows. The result consists of copies of one row. The null target divides it into
//! pages if the request specifies a page size, or if its cells have more than 12 MiB.
//!
//! A paging state is the number of rows before the page. With an invalid state, the page begins at
//! the first row, because the null target does not check what its clients send.

use cql::response::ColumnSpec;
use cql::{Value, reply};

/// Maximum number of bytes of cells in one answer. With this limit, the frame remains below the 16
/// MiB that Cassandra allows. The next page contains the rest.
const CELLS_BYTES_MAX: usize = 12 << 20;

/// The rows of a table, all of which are equal.
#[derive(Clone, Debug)]
pub struct Pages {
    columns: Vec<ColumnSpec>,
    /// The encoded cells of the repeated row.
    row: Vec<u8>,
    rows: u32,
}

impl Pages {
    /// Returns a table with `rows` copies of `row`, which must have a value for each of `columns`.
    pub fn new(columns: Vec<ColumnSpec>, row: &[Value], rows: u32) -> Pages {
        let mut cells = Vec::new();
        row.iter().for_each(|value| value.append_cell(&mut cells));
        Pages {
            columns,
            row: cells,
            rows,
        }
    }

    /// Appends an answer with a page of at most `page_size` rows, which begins at the paging state
    /// `state`.
    pub fn append(
        &self,
        out: &mut Vec<u8>,
        stream: i16,
        skip_metadata: bool,
        page_size: Option<i32>,
        state: Option<&[u8]>,
    ) {
        let state = state.and_then(|state| state.try_into().ok());
        let begin = state.map_or(0, u32::from_be_bytes).min(self.rows);
        let wanted = page_size
            .and_then(|size| u32::try_from(size).ok())
            .filter(|&size| size > 0)
            .unwrap_or(u32::MAX);
        let room = (CELLS_BYTES_MAX / self.row.len().max(1)).max(1) as u32;
        let count = (self.rows - begin).min(wanted).min(room);
        let end = begin + count;
        let next = end.to_be_bytes();
        let next = (end < self.rows).then_some(&next[..]);
        reply::same_rows(
            out,
            stream,
            &self.columns,
            skip_metadata,
            next,
            &self.row,
            count,
        );
    }
}
