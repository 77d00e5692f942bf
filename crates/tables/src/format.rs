//! Defines the request for an export, and the files that it writes.

use std::path::PathBuf;

measure::word_enum! {
    /// File format of a table.
    pub enum Format {
        /// Comma-separated values, quoted by RFC 4180, with a line of names.
        Csv = "csv",
        /// Apache Parquet, compressed with Snappy.
        Parquet = "parquet",
    }
}

/// Returns true if this build can write a format.
pub fn is_built(format: Format) -> bool {
    format == Format::Csv || cfg!(feature = "parquet")
}

/// Request for an export of a run.
#[derive(Clone, Debug)]
pub struct ExportRequest {
    /// Formats; each table is written in each of them.
    pub formats: Vec<Format>,
    /// True if every reading of the probes is exported for a long run too. Otherwise a long run
    /// exports them as stretches of time.
    pub every_reading: bool,
}

/// File that was written.
#[derive(Clone, Debug)]
pub struct WrittenFile {
    /// Name of the table.
    pub table: &'static str,
    /// Format of the file.
    pub format: Format,
    /// Path of the file.
    pub path: PathBuf,
    /// Number of its rows.
    pub rows: u64,
}
