//! What a cluster says of a table: for workloads that leave it to the cluster.

use super::running::Running;
use anyhow::{Context, Result};
use cluster::{Dirs, ServerError};
use target::Target;

/// A table as its cluster describes it.
#[derive(Clone, Debug)]
pub struct Described {
    /// `CREATE TABLE …`
    pub table: String,
    /// `CREATE TYPE …` of its keyspace, in an order in which they can be created.
    pub types: Vec<String>,
    /// The node that said so.
    pub from: String,
}

/// What came of asking a cluster for a table's definition.
#[derive(Clone, Debug)]
pub enum Definition {
    /// It has the table.
    Found(Described),
    /// It does not have it, or does not describe any (before 4.0): who was asked, and what for.
    Absent(String),
    /// Nobody was asked: the cluster is still to be started.
    Unasked,
}

/// Asks a cluster that is there already for a table's definition.
///
/// # Errors
/// The cluster cannot be reached.
pub fn describe(
    target: &Target,
    dirs: &Dirs,
    keyspace: &str,
    table: &str,
    say: &mut dyn FnMut(&str),
) -> Result<Definition> {
    if !matches!(target, Target::Attach(_)) {
        return Ok(Definition::Unasked);
    }
    let running = Running::start(target, dirs, say)?;
    let from = running
        .cluster
        .nodes()
        .first()
        .context("the cluster has no node")?
        .address
        .to_string();
    let mut session = running.cluster.session()?;
    let absent = |why: &str| {
        let asked = format!("{from} was asked for the table {keyspace}.{table} and {why}");
        Ok(Definition::Absent(asked))
    };
    let name = cql::text::quoted_name(keyspace);
    let described = match session.query(&format!("DESCRIBE KEYSPACE {name}")) {
        Ok(described) => described,
        Err(error) if error.downcast_ref::<ServerError>().is_some() => {
            return absent(&format!("answered `{error}`"));
        }
        Err(error) => return Err(error.context(format!("ask {from} for keyspace {keyspace}"))),
    };
    let columns = ["type", "name", "create_statement"].map(|name| described.column(name));
    let [Ok(kind), Ok(name), Ok(statement)] = columns else {
        return absent("described something else");
    };
    let of = |wanted: &str| {
        let rows = described.rows.iter().filter(move |row| row[kind].to_string() == wanted);
        rows.map(|row| (row[name].to_string(), row[statement].to_string()))
            .collect::<Vec<_>>()
    };
    let (quoted, folded) = (table.trim_matches('"'), table.to_lowercase());
    let mut found = of("table").into_iter().filter(|(name, _)| {
        let name = name.trim_matches('"');
        name == quoted || name == folded
    });
    let Some((_, table)) = found.next() else {
        return absent("has none of this name");
    };
    Ok(Definition::Found(Described {
        table,
        types: of("type").into_iter().map(|(_, cql)| cql).collect(),
        from: from.clone(),
    }))
}
