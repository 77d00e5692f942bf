//! Parses `-schema`, which determines the predefined keyspace and tables, and the statements that
//! create them.

use yaml::Diagnostics;

use super::{Columns, params};
use crate::stress::command::{Groups, Verb};
use crate::stress::params::{KnownParam, Pair, new};

/// The predefined keyspace and the options of its tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaOptions {
    pub keyspace: String,
    /// Class of the replication strategy.
    pub replication: String,
    /// True if the command line states the replication.
    pub is_replication_stated: bool,
    /// Options of the replication strategy, sorted by name. A default replication factor comes
    /// last.
    pub replication_options: Vec<(String, String)>,
    /// Class of the compaction strategy. If it is `None`, the database chooses a strategy.
    pub compaction: Option<String>,
    /// Options of the compaction strategy, sorted by name.
    pub compaction_options: Vec<(String, String)>,
    /// Class of the compression. If it is `None`, the tables are not compressed.
    pub compression: Option<String>,
}

pub(crate) const SCHEMA: [KnownParam; 4] = [
    new(
        "replication(",
        1,
        "strategy=SimpleStrategy,factor=1",
        "Replication: strategy, and its factor or the factors of data centers",
    ),
    new("keyspace=", 1, "keyspace1", "Name of the keyspace"),
    new("compaction(", 1, "", "Compaction: strategy and its options"),
    new(
        "compression=",
        1,
        "",
        "Class that compresses tables. Default: no compression",
    ),
];

const SIMPLE_STRATEGY: &str = "org.apache.cassandra.locator.SimpleStrategy";

pub(crate) fn read(groups: &mut Groups, verb: &Verb, d: &mut Diagnostics) -> SchemaOptions {
    let mut schema = SchemaOptions {
        keyspace: "keyspace1".to_owned(),
        replication: SIMPLE_STRATEGY.to_owned(),
        is_replication_stated: false,
        replication_options: vec![("replication_factor".to_owned(), "1".to_owned())],
        compaction: None,
        compaction_options: Vec::new(),
        compression: None,
    };
    let Some(params) = params("-schema", groups, &SCHEMA, d) else {
        return schema;
    };
    if matches!(verb, Verb::User { .. }) {
        let message = "`-schema` is for the predefined commands, not for `user`";
        let hint = "write keyspace_definition and table_definition in the profile".to_owned();
        d.add(&params.place, message, Some(hint));
    }
    if let Some(keyspace) = params.value("keyspace=", d, identifier) {
        schema.keyspace = keyspace;
    }
    if let Some(class) = params.value("compression=", d, unquoted) {
        schema.compression = Some(class).filter(|class| !class.is_empty());
    }
    if let Some(pairs) = params.pairs("replication(", d) {
        let (strategy, options) = strategy(pairs, d);
        schema.is_replication_stated = true;
        schema.replication = strategy.unwrap_or_else(|| SIMPLE_STRATEGY.to_owned());
        // As in the tool, the replication factor is 1 if the option does not state one and either
        // selects SimpleStrategy or has no options of the strategy.
        let factor = ("replication_factor".to_owned(), "1".to_owned());
        let simple = schema.replication.ends_with("SimpleStrategy");
        let missing = options.iter().all(|(name, _)| name != "replication_factor");
        schema.replication_options = options;
        if missing && (simple || schema.replication_options.is_empty()) {
            schema.replication_options.push(factor);
        }
    }
    if let Some(pairs) = params.pairs("compaction(", d) {
        let (strategy, options) = strategy(pairs, d);
        if strategy.is_none() {
            let hint =
                Some("add strategy=LeveledCompactionStrategy or another strategy".to_owned());
            let message = "`compaction(…)` requires `strategy=`";
            d.add(&params.place_of("compaction("), message, hint);
        }
        (schema.compaction, schema.compaction_options) = (strategy, options);
    }
    schema
}

/// Returns the class of a strategy, and the other options by name.
fn strategy(pairs: Vec<Pair>, d: &mut Diagnostics) -> (Option<String>, Vec<(String, String)>) {
    let mut strategy = None;
    let mut options = Vec::new();
    for pair in pairs {
        if let Err(problem) = unquoted(&pair.name).and_then(|_| unquoted(&pair.value)) {
            d.add(&pair.place, problem, Some("omit the quotes".to_owned()));
        }
        match pair.name.as_str() {
            "strategy" => strategy = Some(pair.value),
            "factor" => options.push(("replication_factor".to_owned(), pair.value)),
            _ => options.push((pair.name, pair.value)),
        }
    }
    options.sort();
    (strategy, options)
}

/// Returns a text that can be put in quotes in CQL. For any other text, returns a description of
/// the mistake.
fn unquoted(text: &str) -> Result<String, String> {
    if text.contains(['\'', '"', ';']) {
        Err(format!("`{text}` contains a quote or a semicolon"))
    } else {
        Ok(text.to_owned())
    }
}

fn identifier(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    // Cassandra limits the name of a keyspace to 48 characters.
    if !text.is_empty() && text.len() <= 48 && text.chars().all(plain) {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "`{text}` is not a valid keyspace name: use letters, digits and `_`, at most 48 \
             characters"
        ))
    }
}

impl SchemaOptions {
    pub(crate) fn create_keyspace(&self) -> String {
        format!(
            "CREATE KEYSPACE IF NOT EXISTS \"{}\" WITH replication = {} AND durable_writes = true",
            self.keyspace,
            map(&self.replication, &self.replication_options)
        )
    }

    /// Returns the statement `CREATE TABLE IF NOT EXISTS …` for a predefined table, in which all
    /// columns have the same type.
    pub(crate) fn create_table(&self, table: &str, columns: &Columns, cql_type: &str) -> String {
        let columns: Vec<String> =
            columns.names.iter().map(|name| format!("\"{name}\" {cql_type}")).collect();
        // Until Cassandra 3.0, an empty map meant no compression. Since then, it means the default.
        // The tool's statement with `{}` therefore no longer does what the tool's help states.
        let compression = match &self.compression {
            Some(class) => map(class, &[]),
            None => "{'enabled': 'false'}".to_owned(),
        };
        let compaction = match &self.compaction {
            Some(class) => format!(" AND compaction = {}", map(class, &self.compaction_options)),
            None => String::new(),
        };
        format!(
            "CREATE TABLE IF NOT EXISTS \"{}\".{table} (key blob PRIMARY KEY, {}) \
             WITH compression = {compression}{compaction}",
            self.keyspace,
            columns.join(", ")
        )
    }
}

fn map(class: &str, options: &[(String, String)]) -> String {
    let options: String =
        options.iter().map(|(name, value)| format!(", '{name}': '{value}'")).collect();
    format!("{{'class': '{class}'{options}}}")
}
