//! Compiles the workload of an existing table. Until cassay has read the table, this module
//! compiles an outline of the workload.

use super::file::{CompileFailure, compiled};
use crate::inputs::Inputs;
use crate::settings::{OwnTable, Study};
use target_spec::Target;
use workload::{Program, Spec, table_outline};

/// Returns the program for a table. Until cassay has contacted the cluster, the program is an
/// outline of the table's workload.
pub(super) fn program(
    table: &OwnTable,
    spec: &Spec,
    inputs: &Inputs<'_>,
) -> Result<Program, CompileFailure> {
    let file = table.definition_file();
    if let Some(text) = inputs.recorded_text(&file) {
        return compiled(&file, &text, spec, inputs);
    }
    // An invalid name becomes an empty name here, because it has already been reported at its
    // place.
    let (keyspace, name) = table.names().unwrap_or_default();
    table_outline(&keyspace, &name, &spec.mix, table.keys).map_err(CompileFailure::Problems)
}

/// Returns the tables of a study that have not been read yet, without duplicates, each with its
/// cluster. A study with such tables can be planned, but cannot run.
pub fn unread_tables(study: &Study) -> Vec<(&OwnTable, &Target)> {
    let mut unread: Vec<(&OwnTable, &Target)> = Vec::new();
    for variant in &study.variants {
        let settings = &variant.settings;
        let Some(table) = &settings.workload.table else {
            continue;
        };
        let file = table.definition_file();
        let is_read = study.inputs.contains_key(&file);
        if !is_read && !unread.iter().any(|(other, _)| other.definition_file() == file) {
            unread.push((table, &settings.target));
        }
    }
    unread
}
