//! The CSV that a workload file names. It contains the user's keys, with one record for each row.

use super::literal;
use cql::value::CqlType;
use std::collections::HashSet;

#[derive(Debug)]
pub(super) struct Csv {
    /// Path of the CSV, as written in the workload.
    pub(super) file: String,
    names: Vec<String>,
    records: Vec<csv::StringRecord>,
}

impl Csv {
    /// Parses a CSV (RFC 4180: cells are separated by commas, and quoted if necessary).
    ///
    /// # Errors
    /// The CSV has no header or no record, or a record does not have the same number of cells as
    /// the header. The error is a sentence with the name of the file.
    pub(super) fn read(file: &str, text: &str) -> Result<Csv, String> {
        let mut reader = csv::ReaderBuilder::new().from_reader(text.as_bytes());
        let names = reader.headers().map_err(|error| format!("{file}: {error}"))?;
        let names: Vec<String> = names.iter().map(|name| name.trim().to_owned()).collect();
        let records = reader.records().collect::<Result<Vec<_>, _>>().map_err(|error| {
            // The message of the CSV library already contains the line.
            format!("{file}: {error}")
        })?;
        if records.is_empty() {
            return Err(format!(
                "{file} has no record below the line of column names"
            ));
        }
        Ok(Csv {
            file: file.to_owned(),
            names,
            records,
        })
    }

    /// Returns the number of records, which is at least one.
    pub(super) fn rows(&self) -> u64 {
        self.records.len() as u64
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Returns the values of a column, converted to a CQL type.
    ///
    /// # Errors
    /// The file has no such column, or a cell is not a value of the type. The error is a sentence.
    /// For a cell, it contains the line.
    pub(super) fn cells(&self, name: &str, typ: &CqlType) -> Result<Cells, String> {
        let Some(column) = self.names.iter().position(|known| known == name) else {
            return Err(format!(
                "{} has no column \"{name}\"; it has {}",
                self.file,
                self.names.join(", ")
            ));
        };
        let mut cells = Cells::default();
        for record in &self.records {
            let text = record.get(column).unwrap_or_default();
            let Some(bytes) = literal::cell(text, typ) else {
                let line = record.position().map_or(0, csv::Position::line);
                let shown: String = text.chars().take(40).collect();
                return Err(format!(
                    "{} line {line}: \"{shown}\" in column {name} is not a value of type {typ}",
                    self.file
                ));
            };
            cells.push(&bytes);
        }
        Ok(cells)
    }
}

/// The cells of a column, as the bytes of a CQL type.
#[derive(Debug, Default)]
pub(super) struct Cells {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Cells {
    fn push(&mut self, cell: &[u8]) {
        self.bytes.extend_from_slice(cell);
        self.ends.push(self.bytes.len());
    }

    /// Returns the cell of row n. After the last cell, the cells repeat from the start.
    #[inline]
    pub(super) fn cell(&self, n: u64) -> &[u8] {
        let place = (n % self.ends.len() as u64) as usize;
        let begin = if place == 0 { 0 } else { self.ends[place - 1] };
        &self.bytes[begin..self.ends[place]]
    }

    pub(super) fn is_unique(&self) -> bool {
        let mut seen = HashSet::with_capacity(self.ends.len());
        (0..self.ends.len() as u64).all(|n| seen.insert(self.cell(n)))
    }

    pub(super) fn bytes_max(&self) -> u64 {
        let all = (0..self.ends.len() as u64).map(|n| self.cell(n).len());
        all.max().unwrap_or(0) as u64
    }
}
