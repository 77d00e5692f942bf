//! Reads the existing tables that a study uses, before the study can run.

use super::dirs;
use crate::exit::Exit;
use crate::{interrupt, study_errors, terminal};
use anyhow::Result;
use engine::own_table::TableReader;
use std::collections::BTreeMap;
use std::sync::Arc;
use study::compile_workload;
use study::resolve;
use study::settings::{KEYS_MAX, Study};

/// Number of keys that a plan reads. A few keys are enough to show that the table contains keys.
const KEYS_TO_PLAN: u64 = 20;

/// Returns the study with the workloads of its tables, ready to run.
///
/// # Errors
/// A table cannot be read. `Err(Ok(exit))` means that the workload of a table does not fit the
/// study, and that this function has already printed the mistakes.
pub fn to_run(study: Study, json: bool) -> Result<Study, Result<Exit>> {
    with_tables(study, KEYS_MAX, json)
}

/// Returns the study with the workloads of its tables, to be shown but not run. Showing the study
/// needs only a few keys.
///
/// # Errors
/// The same errors as for [`to_run`] can occur.
pub fn to_plan(study: &Study, json: bool) -> Result<Study, Result<Exit>> {
    with_tables(study.clone(), KEYS_TO_PLAN, json)
}

fn with_tables(study: Study, keys_max: u64, json: bool) -> Result<Study, Result<Exit>> {
    if compile_workload::unread_tables(&study).is_empty() {
        return Ok(study);
    }
    let files = read(&study, keys_max).map_err(Err)?;
    let mut overrides = study.overrides.clone();
    overrides.inputs.extend(files);
    match resolve::resolve(&study.source, &study.text, &overrides) {
        Ok(read) => Ok(Study {
            notes: study.notes,
            ..read
        }),
        Err(mistakes) => Err(Ok(study_errors::refuse(&mistakes, json))),
    }
}

fn read(study: &Study, keys_max: u64) -> Result<BTreeMap<String, String>> {
    let stop = interrupt::flag()?;
    host::process::heed(Arc::clone(&stop));
    let dirs = dirs()?;
    let reader = TableReader {
        dirs: &dirs,
        seed: study.seed,
        stop: &stop,
    };
    reader.files(study, keys_max, &mut |text| terminal::say(text))
}
