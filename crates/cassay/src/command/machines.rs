//! Reads the file of machines that the arguments name.

use crate::args::Common;
use crate::study_errors;
use ::target_spec::RemoteHost;
use anyhow::{Context, Result};
use foreign::FileKind;
use std::path::Path;

/// Returns the machines of the file. Without a file, returns an empty list. If the file has
/// mistakes, prints them and returns `None`.
///
/// # Errors
/// The file cannot be read.
pub fn read(file: Option<&Path>, common: &Common) -> Result<Option<Vec<RemoteHost>>> {
    let Some(file) = file else {
        return Ok(Some(Vec::new()));
    };
    let text = foreign::text(FileKind::Machines, file)
        .with_context(|| format!("read {}", file.display()))?;
    match study::read_machines(&file.display().to_string(), &text) {
        Ok(machines) => Ok(Some(machines)),
        Err(mistakes) => {
            study_errors::refuse(&mistakes, common.json);
            Ok(None)
        }
    }
}
