//! Verifies requested table options against each node's own schema.

mod replication;

use super::compare_settings::{plain, same};
use super::outcome::{Effect, Proof};
use crate::node::Node;
use crate::session::Session;
use anyhow::{Context, Result};
use cql::Value;
use cql::tokens::literal;
use serde_json::Value as Json;
use std::collections::BTreeMap;

const TABLES: &str = "system_schema.tables";
const KEYSPACES: &str = "system_schema.keyspaces";

/// Options of a table or keyspace, by column name.
type Columns = BTreeMap<String, Value>;

/// Option of a table or keyspace, as given after `WITH` in CQL.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaOption {
    /// Name, such as `compaction` or `gc_grace_seconds`.
    pub name: String,
    /// Requested value. The entries of a map are checked one by one.
    pub value: Json,
}

/// Query for options: name of the table or keyspace, schema table, condition for the row, and
/// requested options.
type OptionRows<'a> = (&'a str, &'static str, String, &'a [SchemaOption]);

impl Node<'_> {
    /// Compares the requested options of each table with the node's schema. The keys of `tables`
    /// are table names.
    ///
    /// # Errors
    /// The node does not answer, or lacks one of the tables.
    pub fn table_proofs(
        &self,
        keyspace: &str,
        tables: &BTreeMap<String, Vec<SchemaOption>>,
    ) -> Result<Vec<Proof>> {
        let keyspace = literal(keyspace);
        let mut rows: Vec<OptionRows<'_>> = Vec::new();
        for (table, options) in tables {
            let name = literal(table);
            let is_it = format!("keyspace_name = {keyspace} AND table_name = {name}");
            rows.push((table, TABLES, is_it, options));
        }
        self.option_proofs(&rows)
    }

    /// Compares the requested options of a keyspace with the node's schema.
    ///
    /// # Errors
    /// The node does not answer, or lacks the keyspace.
    pub fn keyspace_proofs(&self, keyspace: &str, options: &[SchemaOption]) -> Result<Vec<Proof>> {
        let is_it = format!("keyspace_name = {}", literal(keyspace));
        self.option_proofs(&[(keyspace, KEYSPACES, is_it, options)])
    }

    fn option_proofs(&self, rows: &[OptionRows<'_>]) -> Result<Vec<Proof>> {
        let asked = || rows.iter().filter(|(.., options)| !options.is_empty());
        if asked().next().is_none() {
            return Ok(Vec::new());
        }
        let node = self.name();
        let mut proofs = Vec::new();
        let mut session = self.session()?;
        for (name, source, is_it, options) in asked() {
            let columns = columns(&mut session, source, is_it)
                .with_context(|| format!("request the options of {name} from {node}"))?;
            for option in *options {
                proofs.extend(option_proofs(node, (name, source), option, &columns));
            }
        }
        Ok(proofs)
    }
}

fn columns(session: &mut Session, source: &str, is_it: &str) -> Result<Columns> {
    let found = session.query(&format!("SELECT * FROM {source} WHERE {is_it}"))?;
    let row = found
        .rows
        .into_iter()
        .next()
        .with_context(|| format!("{source} contains no row where {is_it}"))?;
    Ok(found.columns.into_iter().zip(row).collect())
}

/// Returns one proof for a plain option, or one proof per entry of a map.
fn option_proofs(
    node: &str,
    (whose, source): (&str, &'static str),
    option: &SchemaOption,
    columns: &Columns,
) -> Vec<Proof> {
    let name = &option.name;
    let column = columns.get(name).filter(|value| **value != Value::Null);
    let proof = |key: &str, wanted: &Json, found: Option<String>, why: &str| {
        let wanted = plain(wanted);
        let judged = found.map(|found| {
            let holds = same(&wanted, &found);
            (found, holds)
        });
        Proof {
            node: node.to_string(),
            key: format!("{whose} {key}"),
            wanted,
            effect: Effect::from_comparison(judged, why),
            source,
        }
    };
    let no_column = format!("{source} has no usable column {name}");
    match (&option.value, column) {
        (Json::Object(wanted), Some(Value::Map(shown))) if name == "replication" => {
            vec![replication::proof(node, whose, source, wanted, shown)]
        }
        (Json::Object(wanted), Some(Value::Map(shown))) => {
            let text = |value: &Value| value.as_str().map(str::to_string);
            let shown: BTreeMap<String, String> = shown
                .iter()
                .filter_map(|(key, value)| Some((text(key)?, text(value)?)))
                .collect();
            let entry = |(key, value): (&String, &Json)| {
                let why = format!("the column {name} of {source} has no entry {key}");
                let found = entry_of(name, key, &shown);
                proof(&format!("{name}.{key}"), value, found, &why)
            };
            wanted.iter().map(entry).collect()
        }
        (Json::Object(_), _) => vec![proof(name, &option.value, None, &no_column)],
        (value, column) => {
            vec![proof(name, value, column.and_then(in_words), &no_column)]
        }
    }
}

/// Formats a plain value. Returns `None` for collections.
fn in_words(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::Boolean(value) => Some(value.to_string()),
        Value::Double(value) => Some(value.to_string()),
        Value::Float(value) => Some(value.to_string()),
        other => other.as_i64().map(|value| value.to_string()),
    }
}

/// Returns the value of a map option's entry. The server renames some entries, and omits entries
/// that follow from others. Returns `None` if the value is unknown.
fn entry_of(option: &str, key: &str, shown: &BTreeMap<String, String>) -> Option<String> {
    if let Some(found) = shown.get(key) {
        return Some(found.clone());
    }
    match (option, key) {
        ("compression", "enabled") => shown.get("class").map(|_| "true".to_string()),
        ("compression", "sstable_compression") => shown.get("class").cloned(),
        ("compression", "chunk_length_kb") => shown.get("chunk_length_in_kb").cloned(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::node_report::tests::brief;
    use super::*;
    use serde_json::json;

    fn columns() -> Columns {
        let text = |text: &str| Value::Text(text.to_string());
        let map = |pairs: &[(&str, &str)]| {
            Value::Map(pairs.iter().map(|(k, v)| (text(k), text(v))).collect())
        };
        [
            (
                "compaction",
                map(&[
                    ("class", "o.a.LeveledCompactionStrategy"),
                    ("sstable_size_in_mb", "160"),
                ]),
            ),
            (
                "compression",
                map(&[("class", "a.b.LZ4Compressor"), ("chunk_length_in_kb", "16")]),
            ),
            ("gc_grace_seconds", Value::Int(864_000)),
            ("comment", text("it's")),
            ("memtable", Value::Null),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_string(), value))
        .collect()
    }

    #[test]
    fn table_options_are_compared_entry_by_entry_with_the_schema() {
        let check = |name: &str, value: Json| {
            let name = name.to_string();
            let option = SchemaOption { name, value };
            brief(&option_proofs("node1", ("t", TABLES), &option, &columns())).join("; ")
        };
        assert_eq!(
            check(
                "compaction",
                json!({"class": "LeveledCompactionStrategy", "sstable_size_in_mb": "16", "x": "1"})
            ),
            "t compaction.class: o.a.LeveledCompactionStrategy yes; \
             t compaction.sstable_size_in_mb: 160 no; t compaction.x: ?"
        );
        assert_eq!(
            check(
                "compression",
                json!({"chunk_length_in_kb": "4", "enabled": "true"})
            ),
            "t compression.chunk_length_in_kb: 16 no; t compression.enabled: true yes"
        );
        assert_eq!(
            check("gc_grace_seconds", json!(60)),
            "t gc_grace_seconds: 864000 no"
        );
        assert_eq!(
            check("gc_grace_seconds", json!(864_000)),
            "t gc_grace_seconds: 864000 yes"
        );
        assert_eq!(check("comment", json!("it's")), "t comment: it's yes");
        assert_eq!(check("memtable", json!("trie")), "t memtable: ?");
        assert_eq!(check("caching", json!({"keys": "NONE"})), "t caching: ?");
    }
}
