//! What can be asked of an export, and what it writes.

use std::path::PathBuf;

measure::word_enum! {
    /// How a table is written.
    pub enum Format {
        /// Comma-separated values, quoted by RFC 4180, with a line of names.
        Csv = "csv",
        /// Apache Parquet, packed with Snappy.
        Parquet = "parquet",
    }
}

/// Whether this build can write a format.
pub fn is_built(format: Format) -> bool {
    format == Format::Csv || cfg!(feature = "parquet")
}

/// What is wanted of a run.
#[derive(Clone, Debug)]
pub struct ExportRequest {
    /// The formats; a file of each table in each.
    pub formats: Vec<Format>,
    /// Every reading of the probes also of a long run, whose probes otherwise leave as stretches of
    /// time.
    pub every_reading: bool,
}

/// A file that was written.
#[derive(Clone, Debug)]
pub struct Written {
    /// Name of the table.
    pub table: &'static str,
    /// Its format.
    pub format: Format,
    /// Where it is.
    pub path: PathBuf,
    /// Its rows.
    pub rows: u64,
}
