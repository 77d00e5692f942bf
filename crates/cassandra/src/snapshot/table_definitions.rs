//! Table definitions of a snapshot, and current tables of a node.

use crate::session::Session;
use anyhow::{Context, Result, bail};
use cql::Value;
use cql::tokens::literal;
use data_encoding::HEXLOWER;
use std::collections::BTreeMap;

/// Table ids, by table name.
pub type Tables = BTreeMap<String, String>;

/// Returns the tables `wanted` of `keyspace`, with their ids (32 hexadecimal digits). An empty
/// `wanted` means all tables.
///
/// # Errors
/// A name is invalid, or the table does not exist. The message lists the existing tables.
pub fn tables(session: &mut Session, keyspace: &str, wanted: &[&str]) -> Result<Tables> {
    let mut found = query_tables(session, keyspace)?;
    if found.is_empty() {
        bail!("the cluster has no keyspace {keyspace} that contains a table");
    }
    let missing = wanted.iter().find(|name| !found.contains_key(**name));
    if let Some(missing) = missing {
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        bail!(
            "{keyspace} has no table {missing}; its tables are: {}",
            names.join(", ")
        );
    }
    if !wanted.is_empty() {
        found.retain(|name, _| wanted.contains(&name.as_str()));
    }
    Ok(found)
}

/// Refuses tables with materialized views. TRUNCATE also empties the views, but an import does not
/// fill them.
///
/// # Errors
/// A table has a view. The message names both.
pub fn refuse_views(session: &mut Session, keyspace: &str, tables: &Tables) -> Result<()> {
    let cql = format!(
        "SELECT base_table_name, view_name FROM system_schema.views WHERE keyspace_name = \
         {}",
        literal(keyspace)
    );
    for row in session.query(&cql)?.rows {
        let text = |index: usize| row.get(index).and_then(Value::as_str).unwrap_or_default();
        let (table, view) = (text(0), text(1));
        if tables.contains_key(table) {
            bail!(
                "{keyspace}.{table} has the materialized view {view}, which cassay cannot restore: \
                 drop the view, or omit the table"
            );
        }
    }
    Ok(())
}

/// Returns all tables of `keyspace` with their ids. The result is empty for a missing keyspace.
///
/// # Errors
/// The node does not answer.
pub fn query_tables(session: &mut Session, keyspace: &str) -> Result<Tables> {
    check_keyspace(keyspace)?;
    let cql = format!(
        "SELECT table_name, id FROM system_schema.tables WHERE keyspace_name = {}",
        literal(keyspace)
    );
    let rows = session.query(&cql)?.rows;
    let table = |row: &Vec<Value>| match row.as_slice() {
        [Value::Text(name), Value::Uuid(id) | Value::Timeuuid(id)] => {
            Some((name.clone(), HEXLOWER.encode(id)))
        }
        _ => None,
    };
    let tables: Option<_> = rows.iter().map(table).collect();
    tables.context("a row of system_schema.tables does not contain the expected columns")
}

/// Refuses invalid keyspace names, because they become part of statements, MBean names and paths.
///
/// # Errors
/// The name is invalid, or belongs to one of the server's own keyspaces.
pub fn check_keyspace(keyspace: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if keyspace.is_empty() || !keyspace.chars().all(plain) {
        bail!("{keyspace:?} is not a valid keyspace name: use only letters, digits and '_'");
    }
    if keyspace == "system" || keyspace.starts_with("system_") {
        bail!(
            "{keyspace} is a keyspace of the server itself, which cassay neither snapshots nor \
             restores"
        );
    }
    Ok(())
}

/// Returns the statements that create the keyspace and `tables` with their current ids.
///
/// # Errors
/// The node does not answer, or does not support DESCRIBE (before 4.0).
pub fn describe(session: &mut Session, keyspace: &str, tables: &Tables) -> Result<Vec<String>> {
    let cql = format!("DESCRIBE KEYSPACE \"{keyspace}\" WITH INTERNALS");
    let described = session.query(&cql).with_context(|| format!("describe {keyspace}"))?;
    let mut statements = Vec::new();
    for one in described.described()? {
        let other = one.kind == "table" && !tables.contains_key(unquoted(one.name));
        // The server describes indexes and views under separate names. Those of other tables are
        // omitted.
        let of_other = ["index", "materialized_view"].contains(&one.kind)
            && !tables.keys().any(|table| names_table(one.create(), keyspace, table));
        if !other && !of_other {
            statements.extend(one.statements.iter().map(|&one| one.to_owned()));
        }
    }
    Ok(statements)
}

fn unquoted(name: &str) -> &str {
    name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name)
}

/// Returns true if a statement contains `keyspace.table`, quoted or not.
fn names_table(statement: &str, keyspace: &str, table: &str) -> bool {
    let plain = statement.replace('"', "");
    let wanted = format!("{keyspace}.{table}");
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    plain.match_indices(&wanted).any(|(at, _)| {
        !plain[..at].ends_with(inside) && !plain[at + wanted.len()..].starts_with(inside)
    })
}

/// Creates the missing tables of a snapshot. Returns the current ids of all its tables.
///
/// # Errors
/// The server refuses a statement.
pub fn make_again(
    session: &mut Session,
    keyspace: &str,
    tables: &[&str],
    statements: &[String],
    say: &mut dyn FnMut(&str),
) -> Result<Tables> {
    let found = query_tables(session, keyspace)?;
    if tables.iter().any(|table| !found.contains_key(*table)) {
        say(&format!("cassay creates the tables of {keyspace} again"));
        for statement in statements {
            session
                .execute_schema_if_absent(statement)
                .with_context(|| format!("create the tables of {keyspace} again"))?;
        }
    }
    self::tables(session, keyspace, tables)
}

/// Returns the tables whose definition enables compaction (`compaction = {'enabled': …}`).
///
/// # Errors
/// The node does not answer.
pub fn compacting(session: &mut Session, keyspace: &str, tables: &[&str]) -> Result<Vec<String>> {
    let cql = format!(
        "SELECT table_name, compaction FROM system_schema.tables WHERE keyspace_name = {}",
        literal(keyspace)
    );
    let rows = session.query(&cql)?.rows;
    let may = |row: &&Vec<Value>| {
        let Some(Value::Map(options)) = row.get(1) else {
            return true;
        };
        !options
            .iter()
            .any(|(key, value)| key.as_str() == Some("enabled") && value.as_str() == Some("false"))
    };
    let name = |row: &Vec<Value>| row.first()?.as_str().map(str::to_string);
    let names = rows.iter().filter(may).filter_map(name);
    Ok(names.filter(|name| tables.contains(&name.as_str())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_found_by_its_whole_name() {
        let statement = "CREATE INDEX i ON k.\"T1\" (c);";
        assert!(names_table(statement, "k", "T1"));
        for other in ["T", "T11", "1"] {
            assert!(!names_table(statement, "k", other), "{other}");
        }
        assert!(!names_table("CREATE INDEX i ON kk.t (c)", "k", "t"));
    }

    #[test]
    fn names_that_would_be_statements_are_refused() {
        check_keyspace("ks_1").unwrap();
        for bad in ["", "k'; DROP", "a.b", "system", "system_auth"] {
            assert!(check_keyspace(bad).is_err(), "{bad}");
        }
    }
}
