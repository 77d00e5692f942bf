//! Reads the definition of a table from a cluster, for workloads that do not define the table
//! themselves.

use super::running_target::Running;
use anyhow::{Context, Result};
use cassandra::ServerError;
use cluster::Dirs;
use target_spec::Target;

/// A table as its cluster describes it.
#[derive(Clone, Debug)]
pub struct TableDescription {
    /// The `CREATE TABLE …` statement of the table.
    pub table: String,
    /// The `CREATE TYPE …` statements of the table's keyspace. Each type comes after the types that
    /// it uses.
    pub types: Vec<String>,
    /// Node that answered.
    pub from: String,
}

/// Result of a request for the definition of a table.
#[derive(Clone, Debug)]
pub enum Definition {
    /// The cluster has the table.
    Found(TableDescription),
    /// The cluster does not have the table, or cannot describe any table (before Cassandra 4.0).
    /// The text names the node and the request.
    Absent(String),
    /// The cluster has not started yet, so cassay could not request the definition.
    Unasked,
}

/// Reads a table's definition from a running cluster.
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
        let asked = format!(
            "cassay requested the definition of {keyspace}.{table} from {from}, which {why}"
        );
        Ok(Definition::Absent(asked))
    };
    let name = cql::tokens::quoted_name(keyspace);
    let described = match session.query(&format!("DESCRIBE KEYSPACE {name}")) {
        Ok(described) => described,
        Err(error) if error.downcast_ref::<ServerError>().is_some() => {
            return absent(&format!("answered `{error}`"));
        }
        Err(error) => {
            return Err(error.context(format!("request the keyspace {keyspace} from {from}")));
        }
    };
    let Ok(all) = described.described() else {
        return absent("did not return a list of descriptions");
    };
    let (quoted, folded) = (table.trim_matches('"'), table.to_lowercase());
    let mut tables = all.iter().filter(|one| one.kind == "table").filter(|one| {
        let name = one.name.trim_matches('"');
        name == quoted || name == folded
    });
    let Some(table) = tables.next() else {
        return absent("has no such table");
    };
    let types = all.iter().filter(|one| one.kind == "type");
    Ok(Definition::Found(TableDescription {
        table: table.create().to_owned(),
        types: types.map(|one| one.create().to_owned()).collect(),
        from: from.clone(),
    }))
}
