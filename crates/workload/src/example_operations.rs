//! Sample operations of a program, as readable CQL.

use std::sync::Arc;

use crate::program::{Program, Stage};
use crate::schema::{DefinedObject, Marker, Table, markers, parse};
use cql::value::{CqlType, Value, decode};
use data_encoding::HEXLOWER;

/// Maximum number of bytes of a value that the example shows.
const SHOWN_BYTES_MAX: usize = 64;

/// An operation in readable form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    pub number: u64,
    /// Name of the operation's kind.
    pub kind: String,
    /// The statements of the operation, each with its bound values. A bound value has the name of
    /// its column or its purpose, and the value in CQL.
    pub statements: Vec<(String, Vec<(String, String)>)>,
}

/// Returns the operations of a stage with the numbers `first` to `first + count`, exclusive.
pub fn sample(program: &Arc<Program>, stage: Stage, first: u64, count: u64) -> Vec<Sample> {
    let tables = tables(program);
    let mut generator = program.generator(stage);
    let mut bytes = Vec::new();
    let one = |n: u64| {
        let operation = generator.begin(n);
        let mut statements = Vec::new();
        for entry in 0..generator.entries() {
            let statement = &program.statements()[usize::from(generator.entry_statement(entry))];
            bytes.clear();
            generator.append_entry_values(entry, &mut bytes);
            statements.push((
                statement.cql.clone(),
                values(&statement.cql, &bytes, &tables),
            ));
        }
        Sample {
            number: operation.number,
            kind: program.kinds()[usize::from(operation.kind)].name.clone(),
            statements,
        }
    };
    (first..first.saturating_add(count)).map(one).collect()
}

fn tables(program: &Program) -> Vec<Table> {
    let mut types = Vec::new();
    let mut tables = Vec::new();
    for statement in &program.schema().create_tables {
        match parse(statement, &types) {
            Ok(DefinedObject::Type(udt)) => types.push(udt),
            Ok(DefinedObject::Table(table)) => tables.push(table),
            _ => {}
        }
    }
    tables
}

fn values(cql: &str, mut bytes: &[u8], tables: &[Table]) -> Vec<(String, String)> {
    let markers = markers(cql).unwrap_or_default();
    let table = tables.iter().find(|table| names_table(cql, table));
    let mut shown = Vec::new();
    for number in 0.. {
        let Some((length, rest)) = bytes.split_first_chunk::<4>() else {
            break;
        };
        let length = i32::from_be_bytes(*length);
        let size = usize::try_from(length).unwrap_or(0).min(rest.len());
        let (value, after) = rest.split_at(size);
        bytes = after;
        let marker = markers.get(number).unwrap_or(&Marker::Unknown);
        let (name, typ) = match marker {
            Marker::Column(name) => (name.clone(), table.and_then(|table| typ(table, name))),
            Marker::Int => ("limit or ttl".to_owned(), Some(CqlType::Int)),
            Marker::Timestamp => ("timestamp".to_owned(), Some(CqlType::Bigint)),
            Marker::Token => ("token".to_owned(), Some(CqlType::Bigint)),
            Marker::Unknown => ("?".to_owned(), None),
        };
        let text = match length {
            -1 => "null".to_owned(),
            -2 => "unset".to_owned(),
            _ => literal(typ.as_ref(), value),
        };
        shown.push((name, text));
    }
    shown
}

fn names_table(cql: &str, table: &Table) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    cql.split(|c| !is_name(c)).any(|word| word.eq_ignore_ascii_case(&table.name))
}

fn typ(table: &Table, column: &str) -> Option<CqlType> {
    let same = |c: &&crate::schema::Column| c.name.eq_ignore_ascii_case(column);
    table.columns.iter().find(same).map(|c| c.typ.clone())
}

fn literal(typ: Option<&CqlType>, bytes: &[u8]) -> String {
    let text = match typ.map(|typ| decode(typ, Some(bytes))) {
        Some(Ok(value)) => match &value {
            Value::Text(text) => cql::tokens::literal(text),
            _ => value.to_string(),
        },
        _ => format!("0x{}", HEXLOWER.encode(bytes)),
    };
    match text.char_indices().nth(SHOWN_BYTES_MAX) {
        Some((at, _)) => format!("{}… ({} bytes)", &text[..at], bytes.len()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Spec;

    #[test]
    fn values_stand_beside_their_columns_in_cql() {
        let program = crate::compile(&Spec::new("cql-iot", 10, 1));
        let program = Arc::new(program.expect("all parameters have defaults"));
        let samples = sample(&program, Stage::Load, 1, 2);
        assert_eq!(samples.len(), 2);
        let (cql, values) = &samples[0].statements[0];
        assert!(cql.starts_with("INSERT"));
        let value = |name: &str| {
            let found = values.iter().find(|(column, _)| column == name);
            found.map(|(_, value)| value.clone())
        };
        let machine = "5752fae6-9d16-43da-b20f-557a1dd5c571";
        assert_eq!(value("machine_id").as_deref(), Some(machine));
        assert_eq!(value("timestamp").as_deref(), Some("0"));
        assert!(value("data").is_some_and(|data| data.starts_with('\'')));
    }
}
