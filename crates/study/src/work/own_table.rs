//! A table that is read as it is: its workload once it was read, and what is known of it before.

use super::file::{Failed, compiled};
use crate::inputs::Inputs;
use crate::settings::{OwnTable, Study};
use target::Target;
use workload::{Program, Spec, table_outline};

/// The program of a table: of the workload that was made of it, or, before anybody has asked the
/// cluster, its outline.
pub(super) fn program(
    table: &OwnTable,
    spec: &Spec,
    inputs: &Inputs<'_>,
) -> Result<Program, Failed> {
    let file = table.definition_file();
    if let Some(text) = inputs.recorded_text(&file) {
        return compiled(&file, &text, spec, inputs);
    }
    // A name that is none was said where it stands.
    let (keyspace, name) = table.names().unwrap_or_default();
    table_outline(&keyspace, &name, &spec.mix, table.keys).map_err(Failed::Problems)
}

/// The tables of a study that nobody has read yet, each once, with the cluster that has it. Without
/// them it can be planned, and not run.
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
