//! Writes a table as comma-separated values (RFC 4180). The first line of the file contains the
//! names of the columns. Each further line is one row. Unknown values are empty fields.

use crate::column::{Cell, TableWords};
use anyhow::Result;
use std::fmt::Write as _;
use std::io::Write;

pub(crate) struct CsvFile<W: Write> {
    writer: csv::Writer<W>,
    text: String,
}

impl<W: Write> CsvFile<W> {
    pub(crate) fn begin(to: W, table: &TableWords) -> Result<CsvFile<W>> {
        let mut writer = csv::WriterBuilder::new().buffer_capacity(1 << 16).from_writer(to);
        writer.write_record(table.columns.iter().map(|column| column.name.as_bytes()))?;
        Ok(CsvFile {
            writer,
            text: String::new(),
        })
    }

    pub(crate) fn cell(&mut self, cell: &Cell<'_>) -> Result<()> {
        self.text.clear();
        match cell {
            Cell::Absent => {}
            Cell::Text(text) => return Ok(self.writer.write_field(text.as_bytes())?),
            Cell::Whole(value) => write!(self.text, "{value}")?,
            // Adding 0 removes the sign of a negative zero.
            Cell::Number(value) => write!(self.text, "{}", value + 0.0)?,
            Cell::Truth(value) => write!(self.text, "{value}")?,
            Cell::Time(us) => write!(self.text, "{:.6}", jiff::Timestamp::from_microsecond(*us)?)?,
        }
        Ok(self.writer.write_field(self.text.as_bytes())?)
    }

    pub(crate) fn end_row(&mut self) -> Result<()> {
        Ok(self.writer.write_record(None::<&[u8]>)?)
    }

    pub(crate) fn end(self) -> Result<W> {
        self.writer.into_inner().map_err(|error| error.into_error().into())
    }
}
