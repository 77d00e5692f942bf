//! Outline of an existing table before cassay has read its columns and keys. The outline contains
//! the kinds of operations, but no statement that cassay could send.

use super::definition::OUTLINE_KINDS;
use crate::operation_generator::{Check, Operation};
use crate::program::{Kind, Program, Schema, Stage};
use crate::program_traits::{OperationEncoder, OperationSource};
use crate::spec::Problem;
use cql::response::RawRows;
use std::sync::Arc;

/// Returns the program of a table of which only the name is known. The program does not have
/// statements, so cassay must read the table before it can run the program.
///
/// # Errors
/// The mix has unknown kinds.
pub fn table_outline(
    keyspace: &str,
    table: &str,
    mix: &[(String, f64)],
    rows: u64,
) -> Result<Program, Vec<Problem>> {
    let strange = mix.iter().filter(|(kind, _)| !OUTLINE_KINDS.contains(&kind.as_str()));
    let problems: Vec<Problem> = strange
        .map(|(kind, _)| Problem {
            path: vec!["mix".to_owned(), kind.clone()],
            message: format!(
                "an existing table has no kind of operation \"{kind}\"; it has {}",
                OUTLINE_KINDS.join(", ")
            ),
            hint: yaml::did_you_mean(kind, OUTLINE_KINDS),
            is_unknown_name: true,
        })
        .collect();
    if !problems.is_empty() {
        return Err(problems);
    }
    let kinds = OUTLINE_KINDS.iter().map(|name| Kind::new(*name, false)).collect();
    let schema = Schema {
        create_keyspace: String::new(),
        is_replication_stated: false,
        create_tables: Vec::new(),
        truncate: Vec::new(),
        drop_keyspace: String::new(),
    };
    let name = format!("{keyspace}.{table}");
    let tables = (keyspace.to_owned(), vec![table.to_owned()]);
    let program = Program::from_source(kinds, Vec::new(), Arc::new(UnreadTable));
    Ok(program.with_tables(&name, tables, schema, rows))
}

/// The operations of a table that has not been read.
#[derive(Debug)]
struct UnreadTable;

impl OperationSource for UnreadTable {
    fn cursor(self: Arc<Self>, _stage: Stage) -> Box<dyn OperationEncoder> {
        Box::new(UnreadTable)
    }

    fn row_bytes_estimate(&self) -> u64 {
        0
    }

    fn may_ask(&self, _stage: Stage, _kind: usize) -> bool {
        true
    }

    fn keeps_rows(&self) -> bool {
        true
    }
}

impl OperationEncoder for UnreadTable {
    fn begin(&mut self, n: u64) -> Operation {
        Operation {
            number: n,
            ..Operation::default()
        }
    }

    fn seek(&mut self, _operation: Operation) {}

    fn token(&self) -> Option<i64> {
        None
    }

    fn entries(&self) -> usize {
        0
    }

    fn entry_statement(&self, _entry: usize) -> u16 {
        0
    }

    fn append_values(&mut self, _entry: usize, _out: &mut Vec<u8>) {}

    fn check(&mut self, _rows: &RawRows) -> Check {
        Check::Unknown
    }

    fn values_bytes_max(&self) -> usize {
        0
    }
}
