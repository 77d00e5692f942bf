//! Reads a table from a cluster's schema.

use anyhow::{Result, bail};
use cassandra::{QueryResult, Session};
use cql::tokens::{TokenKind, literal, quoted_name, tokens};
use cql::value::Value;
use std::collections::{BTreeMap, BTreeSet};
use workload::{ColumnRole, SampledColumn, TableSample};

/// Options that determine how the server stores a table.
const STORED_BY: [&str; 2] = ["compaction", "compression"];
/// The only supported partitioner. Other partitioners do not order partitions by a numeric token.
const PARTITIONER: &str = "Murmur3Partitioner";

/// Returns the table without partitions. The caller adds the partitions later.
///
/// # Errors
/// The keyspace has no table with this name, or the cluster uses another partitioner. The hint
/// lists the existing tables, or names an alternative.
pub(super) fn read(session: &mut Session, names: &(String, String)) -> Result<TableSample> {
    let (keyspace, table) = names;
    let of_table = format!(
        "keyspace_name = {} AND table_name = {}",
        literal(keyspace),
        literal(table)
    );
    let columns = columns(&session.query(&format!(
        "SELECT column_name, kind, position, type, clustering_order FROM system_schema.columns \
         WHERE {of_table}"
    ))?);
    if columns.is_empty() {
        return missing(session, keyspace, table);
    }
    partitioner(session)?;
    let options = session.query(&format!(
        "SELECT {} FROM system_schema.tables WHERE {of_table}",
        STORED_BY.join(", ")
    ))?;
    let made = described(session, names)?.unwrap_or_default();
    Ok(TableSample {
        transactions: cql::tokens::transactional_mode(&made),
        checked: checked(&made, &columns),
        types: types(session, keyspace, &columns)?,
        keyspace: keyspace.clone(),
        table: table.clone(),
        options: stored_by(&options),
        columns,
        partitions: Vec::new(),
    })
}

/// Returns the statement that creates a table, as the server describes it. Returns `None` if the
/// server cannot describe the table.
fn described(
    session: &mut Session,
    (keyspace, table): &(String, String),
) -> Result<Option<String>> {
    let (keyspace, table) = (quoted_name(keyspace), quoted_name(table));
    let Some(found) = session.query_if_shown(&format!("DESCRIBE TABLE {keyspace}.{table}"))? else {
        return Ok(None);
    };
    let first = found.described()?.first().map(|table| table.create().to_owned());
    Ok(first)
}

/// Returns the columns with a CHECK constraint (from Cassandra 6.0 on). Only DESCRIBE shows such a
/// constraint. The tables of `system_schema` do not.
fn checked(statement: &str, columns: &[SampledColumn]) -> Vec<String> {
    let tokens = tokens(statement).unwrap_or_default();
    let (mut last, mut found) = (None, Vec::new());
    for token in &tokens {
        let is_word = matches!(token.kind, TokenKind::Word | TokenKind::Quoted);
        if token.kind == TokenKind::Word && token.text == "check" {
            found.extend(last.clone());
        } else if is_word && columns.iter().any(|column| column.name == token.text) {
            last = Some(token.text.clone());
        }
    }
    found.dedup();
    found
}

fn partitioner(session: &mut Session) -> Result<()> {
    let found = session.query("SELECT partitioner FROM system.local")?;
    let name = found.rows.first().and_then(|row| row.first()?.as_str()).unwrap_or_default();
    if !name.ends_with(PARTITIONER) {
        bail!(
            "{} uses the partitioner {name}, but cassay can sample keys only from a ring of \
             {PARTITIONER}\nhint: name a CSV file with the keys: `workload: {{keys: {{file: \
             keys.csv}}}}`",
            session.node()
        );
    }
    Ok(())
}

fn missing(session: &mut Session, keyspace: &str, table: &str) -> Result<TableSample> {
    let node = session.node();
    let found = session.query(&format!(
        "SELECT table_name FROM system_schema.tables WHERE keyspace_name = {}",
        literal(keyspace)
    ))?;
    let names: Vec<&str> = found.rows.iter().filter_map(|row| row.first()?.as_str()).collect();
    if names.is_empty() {
        let found = session.query("SELECT keyspace_name FROM system_schema.keyspaces")?;
        let all: Vec<&str> = found
            .rows
            .iter()
            .filter_map(|row| row.first()?.as_str())
            .filter(|name| !name.starts_with("system"))
            .collect();
        bail!(
            "{node} has no keyspace {keyspace} with tables\nhint: the keyspaces are {}",
            all.join(", ")
        );
    }
    let near = yaml::did_you_mean(table, names.iter().copied());
    bail!(
        "{node} has no table {table} in the keyspace {keyspace}\nhint: {}",
        near.unwrap_or_else(|| format!("the tables of the keyspace are {}", names.join(", ")))
    )
}

/// Returns the columns: first the partition key, then the clustering columns, then the static
/// columns by name, and then the other columns by name.
fn columns(found: &QueryResult) -> Vec<SampledColumn> {
    let column = |row: &Vec<Value>| {
        let [name, kind, position, typ, order] = &row[..] else {
            return None;
        };
        let (rank, role) = match kind.as_str()? {
            "partition_key" => (0, ColumnRole::Partition),
            "clustering" => {
                let is_descending = order.as_str() == Some("desc");
                (1, ColumnRole::Clustering { is_descending })
            }
            "static" => (2, ColumnRole::Static),
            _ => (3, ColumnRole::Regular),
        };
        let column = SampledColumn {
            name: name.as_str()?.to_owned(),
            typ: typ.as_str()?.to_owned(),
            role,
        };
        Some(((rank, position.as_i64()?, column.name.clone()), column))
    };
    let sorted: BTreeMap<_, SampledColumn> = found.rows.iter().filter_map(column).collect();
    sorted.into_values().collect()
}

/// Returns the statements that create the user-defined types of the columns, each after the types
/// that it uses.
fn types(session: &mut Session, keyspace: &str, columns: &[SampledColumn]) -> Result<Vec<String>> {
    let found = session.query(&format!(
        "SELECT type_name, field_names, field_types FROM system_schema.types WHERE \
         keyspace_name = {}",
        literal(keyspace)
    ))?;
    let texts = |cell: &Value| -> Vec<String> {
        let items = match cell {
            Value::List(items) => items.as_slice(),
            _ => &[],
        };
        items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut known: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for row in &found.rows {
        let [Value::Text(name), fields, types] = &row[..] else {
            continue;
        };
        known.insert(
            name.clone(),
            texts(fields).into_iter().zip(texts(types)).collect(),
        );
    }
    let mut made = BTreeSet::new();
    let mut statements = Vec::new();
    for column in columns {
        make(&column.typ, &known, &mut made, &mut statements);
    }
    Ok(statements)
}

/// Adds the statements for the types on which a type depends. The statement of each type comes
/// after those of the types on which it depends.
fn make(
    typ: &str,
    known: &BTreeMap<String, Vec<(String, String)>>,
    made: &mut BTreeSet<String>,
    statements: &mut Vec<String>,
) {
    for token in tokens(typ).unwrap_or_default() {
        let is_name = matches!(token.kind, TokenKind::Word | TokenKind::Quoted);
        let Some(fields) = known.get(&token.text).filter(|_| is_name) else {
            continue;
        };
        if !made.insert(token.text.clone()) {
            continue;
        }
        fields.iter().for_each(|(_, typ)| make(typ, known, made, statements));
        let fields = fields.iter().map(|(name, typ)| format!("{} {typ}", quoted_name(name)));
        statements.push(format!(
            "CREATE TYPE {} ({})",
            quoted_name(&token.text),
            fields.collect::<Vec<_>>().join(", ")
        ));
    }
}

fn stored_by(found: &QueryResult) -> Vec<(String, String)> {
    let Some(row) = found.rows.first() else {
        return Vec::new();
    };
    let option = |(name, value): (&str, &Value)| {
        let Value::Map(entries) = value else {
            return None;
        };
        let entry = |(key, value): &(Value, Value)| {
            Some(format!(
                "{}: {}",
                literal(key.as_str()?),
                literal(value.as_str()?)
            ))
        };
        let entries: Option<Vec<String>> = entries.iter().map(entry).collect();
        Some((name.to_owned(), format!("{{{}}}", entries?.join(", "))))
    };
    STORED_BY.into_iter().zip(row).filter_map(option).collect()
}
