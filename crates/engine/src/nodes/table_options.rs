//! Collects the options that a study, a workload file or another tool requests for a keyspace and
//! its tables. Later code looks up each option in the schema of the server.
//!
//! Invariant: only requested options are checked. An existing keyspace may have another replication
//! than a keyspace that cassay creates.

use cassandra::SchemaOption;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use study::settings::Keyspace;
use workload::Program;
use workload::schema::{DefinedObject, OptionValue, options, parse};

/// Options that are not compared. The server stores some of them under another name or value than
/// in the statement. The remaining ones are not settings.
const NOT_COMPARED: [&str; 5] = [
    "comment",
    "id",
    "extensions",
    "speculative_retry",
    "additional_write_policy",
];

#[derive(Debug, Default)]
pub(super) struct SchemaAsked {
    pub(super) of_keyspace: Vec<SchemaOption>,
    pub(super) of_tables: BTreeMap<String, Vec<SchemaOption>>,
}

impl SchemaAsked {
    /// Combines the options of a study, which cassay sets with ALTER, with the options of the
    /// statements that create the tables. The options of the study take precedence.
    pub(super) fn combine(program: &Program, study: Option<&Keyspace>) -> SchemaAsked {
        let schema = program.schema();
        let is_stated = study.is_some_and(|keyspace| keyspace.is_replication_stated)
            || schema.is_replication_stated;
        let made =
            options(&schema.create_keyspace)
                .into_iter()
                .filter(|(name, _)| match name.as_str() {
                    "replication" => is_stated,
                    _ => schema.is_replication_stated,
                });
        let of_itself = study.map(Keyspace::asked_of_itself).unwrap_or_default();
        let of_each = study.map(Keyspace::asked_options).unwrap_or_default();
        let mut asked = SchemaAsked {
            of_keyspace: beside(made.map(option), &of_itself),
            of_tables: BTreeMap::new(),
        };
        for table in program.tables() {
            let with = with_of(&schema.create_tables, table);
            let options = beside(with.into_iter().map(option), &of_each);
            asked.of_tables.insert(table.to_owned(), options);
        }
        asked
    }
}

/// Returns the options after `WITH` in the statement that creates a table.
fn with_of(create_tables: &[String], table: &str) -> Vec<(String, OptionValue)> {
    // To parse a table, the parser needs the types of the columns, so the statements for the types
    // come first.
    let mut types = Vec::new();
    let mut makes_it = |cql: &&String| match parse(cql, &types) {
        Ok(DefinedObject::Type(made)) => {
            types.push(made);
            false
        }
        Ok(DefinedObject::Table(made)) => made.name == table,
        _ => false,
    };
    let made = create_tables.iter().find(|cql| makes_it(cql));
    let with = made.map(|cql| options(cql)).unwrap_or_default().into_iter();
    with.filter(|(name, _)| !NOT_COMPARED.contains(&name.as_str())).collect()
}

fn option((name, given): (String, OptionValue)) -> SchemaOption {
    let value = match given {
        OptionValue::Plain(text) => Value::String(text),
        OptionValue::Map(pairs) => {
            let pairs = pairs.into_iter().map(|(key, value)| (key, Value::String(value)));
            Value::Object(pairs.collect::<Map<_, _>>())
        }
    };
    SchemaOption { name, value }
}

/// Returns the options of the study, and the options in `made` that the study does not set.
fn beside(
    made: impl Iterator<Item = SchemaOption>,
    study: &[(String, Value)],
) -> Vec<SchemaOption> {
    let is_other = |one: &SchemaOption| study.iter().all(|(name, _)| *name != one.name);
    let of_study = study.iter().cloned().map(|(name, value)| SchemaOption { name, value });
    made.filter(is_other).chain(of_study).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::settings::Replication;
    use workload::Spec;

    fn program(is_stated: bool) -> Program {
        let spec = Spec {
            replication: Replication::Simple { factor: 3 },
            ..Spec::new("standard1", 10, 1)
        };
        let program = workload::compile(&spec).expect("standard1");
        let mut schema = program.schema().clone();
        schema.is_replication_stated = is_stated;
        let (keyspace, tables) = (program.keyspace().to_owned(), program.tables());
        let tables = tables.into_iter().map(str::to_owned).collect();
        let rows = program.rows();
        Program::clone(&program).with_tables("x", (keyspace, tables), schema, rows)
    }

    fn names(options: &[SchemaOption]) -> Vec<String> {
        let option = |option: &SchemaOption| format!("{} {}", option.name, option.value);
        options.iter().map(option).collect()
    }

    #[test]
    fn only_what_somebody_has_asked_for_is_asked() {
        let simple = r#"replication {"class":"SimpleStrategy","replication_factor":"3"}"#;
        let asked = SchemaAsked::combine(&program(true), None);
        assert_eq!(
            names(&asked.of_keyspace),
            [simple, r#"durable_writes "true""#]
        );
        let mut study = Keyspace::default();
        assert_eq!(
            SchemaAsked::combine(&program(false), Some(&study)).of_keyspace,
            []
        );
        study.replicate(3);
        let asked = SchemaAsked::combine(&program(false), Some(&study));
        assert_eq!(names(&asked.of_keyspace), [simple]);
    }

    #[test]
    fn options_of_a_table_with_a_type_of_its_own_are_asked_too() {
        let made = [
            "CREATE TYPE address (street text, zip int)",
            "CREATE TABLE t (id int PRIMARY KEY, home frozen<address>) WITH gc_grace_seconds = 60",
        ];
        let asked = with_of(&made.map(str::to_owned), "t");
        let plain = OptionValue::Plain("60".to_owned());
        assert_eq!(asked, [("gc_grace_seconds".to_owned(), plain)]);
    }

    #[test]
    fn table_options_of_the_study_replace_those_of_the_workload() {
        let with = |study: &Keyspace| {
            let asked = SchemaAsked::combine(&program(false), Some(study));
            names(&asked.of_tables["standard1"])
        };
        let made = r#"compression {"enabled":"false"}"#;
        assert_eq!(with(&Keyspace::default()), [made]);
        let study = Keyspace {
            compression: vec![("class".to_owned(), "LZ4Compressor".to_owned())],
            ..Keyspace::default()
        };
        assert_eq!(with(&study), [r#"compression {"class":"LZ4Compressor"}"#]);
    }
}
