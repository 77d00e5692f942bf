//! Reads the rows of a result in place, cell by cell, without allocating.

use super::metadata::{self, ColumnSpec, Preamble, bit};
use super::{ResultKind, result_kind};
use crate::value::{self, Value};
use crate::wire::{ParseError, Reader, Result};

/// Rows, and the description of their columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows<'a> {
    /// The columns. The list is empty if the request asked the server to omit them.
    pub columns: Vec<ColumnSpec>,
    /// Position of the next page. `None` on the last page.
    pub paging_state: Option<&'a [u8]>,
    /// The rows, which are not decoded yet.
    pub raw: RawRows<'a>,
}

/// Rows that are still encoded in the bytes of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawRows<'a> {
    /// Number of columns of each row.
    pub columns_count: usize,
    /// Number of rows that the server announced. The body is long enough for this number of rows,
    /// but the content of a row may still be invalid.
    pub rows_count: usize,
    /// Position of the next page. `None` on the last page.
    pub paging_state: Option<&'a [u8]>,
    cells: &'a [u8],
}

/// One row, with its cells in the order of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    columns_count: usize,
    /// Bytes of the cells. The iterator over the rows has already checked their lengths.
    cells: &'a [u8],
}

impl<'a> Rows<'a> {
    pub(super) fn parse(body: &'a [u8]) -> Result<Rows<'a>> {
        let mut columns = Vec::new();
        let raw = RawRows::parse_with(body, |reader, preamble| {
            columns = metadata::read_columns(reader, preamble.flags, preamble.columns_count)?;
            Ok(())
        })?;
        Ok(Rows {
            columns,
            paging_state: raw.paging_state,
            raw,
        })
    }

    /// Returns all values, row by row. If the response omits the columns, the rows have no values.
    ///
    /// # Errors
    /// A cell does not match its column's type, or a row is incomplete.
    pub fn values(&self) -> Result<Vec<Vec<Value>>> {
        let decoded = |row: Result<Row<'a>>| {
            let row = row?;
            let cells = row.cells().zip(&self.columns);
            cells.map(|(cell, column)| value::decode(&column.typ, cell)).collect()
        };
        self.raw.rows().map(decoded).collect()
    }
}

impl<'a> RawRows<'a> {
    /// Parses the [`payload`](super::payload) of a RESULT of kind Rows, without allocating.
    ///
    /// # Errors
    /// The RESULT has another kind, the metadata cannot be parsed, or the body is too short for the
    /// number of rows.
    #[inline]
    pub fn parse(body: &'a [u8]) -> Result<RawRows<'a>> {
        Self::parse_with(body, |reader, preamble| {
            if preamble.flags & bit::NO_METADATA != 0 {
                return Ok(());
            }
            metadata::skip_columns(reader, preamble.flags, preamble.columns_count)
        })
    }

    #[inline]
    fn parse_with(
        body: &'a [u8],
        columns: impl FnOnce(&mut Reader<'a>, &Preamble<'a>) -> Result<()>,
    ) -> Result<RawRows<'a>> {
        let mut reader = Reader::new(body);
        let kind = reader.i32("kind of result")?;
        if result_kind(body) != Some(ResultKind::Rows) {
            let (what, allowed) = ("kind of result", "2, which is rows");
            return Err(ParseError::Value {
                what,
                offset: 0,
                value: kind.into(),
                allowed,
            });
        }
        let preamble = Preamble::read(&mut reader)?;
        columns(&mut reader, &preamble)?;
        let (columns_count, offset) = (preamble.columns_count, reader.offset());
        // Each cell takes at least the 4 bytes of its length. A row without columns takes no bytes,
        // so its count cannot be checked against the body. This code treats such a row as if it
        // took 4 bytes.
        let rows_count = reader.count("number of rows", 4 * columns_count.max(1))?;
        if columns_count == 0 && rows_count > 0 {
            let (what, allowed) = ("number of rows", "0, because the result has no columns");
            return Err(ParseError::Value {
                what,
                offset,
                value: rows_count as i64,
                allowed,
            });
        }
        let paging_state = preamble.paging_state;
        Ok(RawRows {
            columns_count,
            rows_count,
            paging_state,
            cells: reader.rest(),
        })
    }

    /// Returns the first cell of the first row as a boolean. In the result of a conditional
    /// statement, or of a batch with a conditional statement, this cell is the column `[applied]`.
    /// Returns `None` if the result has no rows, or if the cell is not a boolean.
    #[inline]
    pub fn applied(&self) -> Option<bool> {
        let row = self.rows().next()?.ok()?;
        match row.cells().next()?? {
            [byte] => Some(*byte != 0),
            _ => None,
        }
    }

    /// Returns the rows in order. The iteration ends after an error.
    #[inline]
    pub fn rows(&self) -> impl Iterator<Item = Result<Row<'a>>> + use<'a> {
        let columns_count = self.columns_count;
        let mut reader = Reader::new(self.cells);
        let mut left = self.rows_count;
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let row = Row::read(&mut reader, columns_count);
            if row.is_err() {
                left = 0;
            }
            Some(row)
        })
    }
}

impl<'a> Row<'a> {
    #[inline]
    fn read(reader: &mut Reader<'a>, columns_count: usize) -> Result<Row<'a>> {
        let all = reader.rest();
        for _ in 0..columns_count {
            reader.bytes("cell")?;
        }
        Ok(Row {
            columns_count,
            cells: &all[..all.len() - reader.left()],
        })
    }

    /// Returns the cells in the order of the columns. A null cell is `None`.
    #[inline]
    pub fn cells(&self) -> impl Iterator<Item = Option<&'a [u8]>> + use<'a> {
        let mut reader = Reader::new(self.cells);
        // `read` has already checked the same bytes, so no cell is incomplete here.
        (0..self.columns_count).map_while(move |_| reader.bytes("cell").ok())
    }
}
