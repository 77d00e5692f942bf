//! The only crate that exports a run as tables: their columns, CSV and Parquet.
//!
//! [`export`] reads a run as the store opens it, and writes a file for each table and format. Each
//! table is defined once, with a line for each column: name, unit, meaning, and source of the
//! value. Both formats and the document ([`document`]) are generated from that definition.
//!
//! Invariants: rows are written while the run is read, so that memory does not depend on the length
//! of the run. An unknown value is empty, never 0.

mod column;
mod csv_file;
mod document;
mod format;
mod head;
mod output_folder;
#[cfg(feature = "parquet")]
mod parquet_file;
mod quantiles;
mod tables;

pub use column::{ColumnType, ColumnWords, TableWords};
pub use document::document;
pub use format::{ExportRequest, Format, WrittenFile, is_built};
pub use tables::described;

use anyhow::Result;
use output_folder::Folder;
use std::path::Path;
use store::{Run, RunState};

#[derive(Clone, Debug, Default)]
pub struct ExportResult {
    /// Files that the export wrote, in the order of the tables.
    pub files: Vec<WrittenFile>,
    /// Notes about the export, one sentence each.
    pub notes: Vec<String>,
}

/// Writes the tables of a run into a folder, and creates the folder if it does not exist. The
/// export replaces files with the same names, and keeps other files.
///
/// # Errors
/// A file of the run is damaged, or a table cannot be written.
pub fn export(run: &Run, folder: &Path, wanted: &ExportRequest) -> Result<ExportResult> {
    let out = Folder::open(folder, &wanted.formats)?;
    // Unfinished files are removed first, because this frees disk space.
    let notes = out.sweep();
    let mut exported = ExportResult {
        files: tables::write(run, &out, wanted.every_reading)?,
        notes,
    };
    match run.state {
        RunState::Finished => {}
        RunState::Interrupted => exported.notes.push(
            "the run was interrupted: the export contains the data of its trials, but no points or \
             comparisons (`cassay resume` continues the run)"
                .to_owned(),
        ),
        RunState::Running => exported.notes.push(
            "the run is still in progress: the export contains the data written so far".to_owned(),
        ),
    }
    if run.is_long && !wanted.every_reading {
        exported.notes.push(
            "the run is long: the export summarizes its probe readings in periods, at most 512 for \
             each series (`--every-reading` writes all readings)"
                .to_owned(),
        );
    }
    Ok(exported)
}
