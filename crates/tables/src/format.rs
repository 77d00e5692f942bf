//! Defines the request for an export, and the files that an export writes.

use std::path::PathBuf;

measure::word_enum! {
    /// File format of a table.
    pub enum Format {
        /// Comma-separated values, quoted as in RFC 4180. The first line contains the names of the
        /// columns.
        Csv = "csv",
        /// Apache Parquet, compressed with Snappy.
        Parquet = "parquet",
    }
}

/// Returns true if this build can write the format.
pub fn is_built(format: Format) -> bool {
    format == Format::Csv || cfg!(feature = "parquet")
}

/// Request for an export of a run.
#[derive(Clone, Debug)]
pub struct ExportRequest {
    /// Formats of the files. Each table is written once in each format.
    pub formats: Vec<Format>,
    /// True if the export contains every reading of the probes, even for a long run. Otherwise, the
    /// export of a long run contains summaries of periods.
    pub every_reading: bool,
}

/// File that an export has written.
#[derive(Clone, Debug)]
pub struct WrittenFile {
    /// Name of the table.
    pub table: &'static str,
    /// Format of the file.
    pub format: Format,
    /// Path of the file.
    pub path: PathBuf,
    /// Number of rows in the file.
    pub rows: u64,
}
