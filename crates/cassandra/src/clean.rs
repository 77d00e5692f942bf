//! Statements that drop the tables which cassay left on an attached cluster.

use crate::session::Session;
use crate::table_comment::MarkedTable;
use anyhow::Result;
use cql::tokens::quoted_name;
use std::collections::BTreeSet;
use target_spec::Object;

/// Returns the statements that drop the tables `ours`. If a keyspace contains only these tables,
/// one statement drops the whole keyspace.
///
/// # Errors
/// The cluster cannot be queried.
pub fn statements_for(ours: &[MarkedTable], session: &mut Session) -> Result<Vec<String>> {
    let keyspaces: BTreeSet<&String> = ours.iter().map(|one| &one.table.keyspace).collect();
    let mut drops = Vec::new();
    for keyspace in keyspaces {
        let of_it = ours.iter().map(|one| &one.table).filter(|table| table.keyspace == *keyspace);
        let own: BTreeSet<&Object> = of_it.collect();
        let quoted = quoted_name(keyspace);
        if has_only(session, keyspace, &own)? {
            drops.push(format!("DROP KEYSPACE {quoted}"));
            continue;
        }
        let names = own.iter().filter_map(|table| table.name.as_deref());
        drops.extend(names.map(|name| format!("DROP TABLE {quoted}.{}", quoted_name(name))));
    }
    Ok(drops)
}

/// Returns true if the keyspace contains only the tables in `own`, and no functions. cassay never
/// creates functions, so a function belongs to another user.
fn has_only(session: &mut Session, keyspace: &str, own: &BTreeSet<&Object>) -> Result<bool> {
    let named = cql::tokens::literal(keyspace);
    let mut ask = |source: &str, column: &str| -> Result<Vec<String>> {
        let found = session.query(&format!(
            "SELECT {column} FROM system_schema.{source} WHERE keyspace_name = {named}"
        ))?;
        let names = found.rows.iter().filter_map(|row| row.first()?.as_str());
        Ok(names.map(str::to_owned).collect())
    };
    let is_own = |name: &String| own.iter().any(|table| table.name.as_ref() == Some(name));
    Ok(ask("tables", "table_name")?.iter().all(is_own)
        && ask("functions", "function_name")?.is_empty()
        && ask("aggregates", "aggregate_name")?.is_empty())
}
