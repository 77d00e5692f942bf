//! The server's own counts of operations: what a client says it has done must be what the server
//! says it was asked.
//!
//! The `count` columns of `system_views.coordinator_{write,read,scan}_latency` are exact counters
//! per table and node; their other columns are decaying estimates and are not read. Seen on a real
//! 5.0.8, prepared statements sent one by one, difference of two readings:
//!
//! | sent | counted |
//! | --- | --- |
//! | 1000 UPDATE, 30 DELETE of one row | 1030 writes |
//! | 700 SELECT of one partition | 700 reads |
//! | 50 SELECT of a range | 50 reads (in the scan table) |
//! | 10 SELECT ... WHERE k IN (1, 2, 3) | 30 reads: one per partition |
//! | 10 BATCH (logged or not) of two partitions | 10 writes: one per batch and table |
//! | 10 UPDATE ... IF EXISTS | 10 reads, no write: the read of the compare-and-set |
//!
//! So single-partition operations and whole batches count exactly once, at the node that
//! coordinates them, whatever the outcome (a server-side time-out counts too). An operation that
//! the node never took in (overload, a broken connection) does not.
//!
//! Requests on tables of Accord (`transactional_mode` of 6.0) are not in these tables: 6.0-alpha2
//! counts them in the client-request metrics only, for all keyspaces together and a conditional
//! write as a write. So of a keyspace with such a table the counts tell nothing.

use crate::capability::COUNTS_SOURCE;
use crate::cluster::Cluster;
use crate::session::Session;
use anyhow::{Context, Result};
use cql::text::Kind;

/// How many client operations the coordinators have counted since their start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationCounts {
    /// Where the counts are from, for the report.
    pub source: String,
    /// Reads: single partitions and ranges.
    pub reads: u64,
    /// The number of writes.
    pub writes: u64,
    /// Why the counts lack operations of the keyspace, if they do.
    pub incomplete: Option<String>,
}

impl OperationCounts {
    pub(crate) fn of_null(counts: &null::NullCounts) -> OperationCounts {
        OperationCounts {
            source: "the null target".to_owned(),
            reads: counts.reads,
            writes: counts.writes,
            incomplete: None,
        }
    }
}

impl Cluster {
    /// The server's own exact counts of client operations on `keyspace`, summed over the nodes
    /// since they started; `None` when the server keeps none. Compare two readings.
    ///
    /// # Errors
    /// A node does not answer.
    pub fn operation_counts(&self, keyspace: &str) -> Result<Option<OperationCounts>> {
        match self.null_server() {
            Some(server) => Ok(Some(OperationCounts::of_null(&server.counts()))),
            None => read(self, keyspace),
        }
    }
}

fn read(cluster: &Cluster, keyspace: &str) -> Result<Option<OperationCounts>> {
    let (mut writes, mut reads) = (0, 0);
    for node in cluster.nodes() {
        let mut session = cluster.session_to(node)?;
        let mut of = |table: &str| {
            of_keyspace(&mut session, table, keyspace)
                .with_context(|| format!("read the operation counts of {}", node.name))
        };
        let tables = (
            of("coordinator_write_latency")?,
            of("coordinator_read_latency")?,
            of("coordinator_scan_latency")?,
        );
        let (Some(written), Some(read), Some(scanned)) = tables else {
            return Ok(None);
        };
        writes += written;
        reads += read + scanned;
    }
    Ok(Some(OperationCounts {
        source: COUNTS_SOURCE.to_string(),
        reads,
        writes,
        incomplete: accord_table(&mut cluster.session()?, keyspace)?.map(|table| {
            format!(
                "{keyspace}.{table} is a table of Accord, whose requests Cassandra does not count \
                 by table"
            )
        }),
    }))
}

/// A table of the keyspace whose requests Accord carries out. No table of `system_schema` says so
/// (6.0-alpha2): only DESCRIBE does.
fn accord_table(session: &mut Session, keyspace: &str) -> Result<Option<String>> {
    let named = cql::text::literal(keyspace);
    let tables = session.query(&format!(
        "SELECT * FROM system_schema.tables WHERE keyspace_name = {named}"
    ))?;
    // The path of Accord's transactions: lines before 6.0 have no such column.
    if tables.rows.is_empty() || tables.column("fast_path").is_err() {
        return Ok(None);
    }
    let keyspace = cql::text::quoted_name(keyspace);
    let Some(described) = session.query_if_shown(&format!("DESCRIBE KEYSPACE {keyspace}"))? else {
        return Ok(None);
    };
    let (name, statement) = (
        described.column("name")?,
        described.column("create_statement")?,
    );
    let is_accord = |row: &&Vec<cql::Value>| row[statement].as_str().is_some_and(is_of_accord);
    let found = described.rows.iter().find(is_accord);
    Ok(found.and_then(|row| row[name].as_str().map(str::to_owned)))
}

/// Whether a definition has `transactional_mode` with another value than `off`.
fn is_of_accord(statement: &str) -> bool {
    let tokens = cql::text::tokens(statement).unwrap_or_default();
    tokens.windows(3).any(|three| {
        three[0].kind == Kind::Word
            && three[0].text == "transactional_mode"
            && three[1].text == "="
            && three[2].text != "off"
    })
}

/// The sum over the keyspace's tables; `None` if the node has no such virtual table.
fn of_keyspace(session: &mut Session, table: &str, keyspace: &str) -> Result<Option<u64>> {
    let keyspace = cql::text::literal(keyspace);
    // A part of the key is not enough for the lines before 5.0.
    let cql = format!(
        "SELECT * FROM system_views.{table} WHERE keyspace_name = {keyspace} ALLOW FILTERING"
    );
    let Some(result) = session.query_if_shown(&cql)? else {
        return Ok(None);
    };
    let column = result.column("count")?;
    let count = |row: &Vec<cql::Value>| row[column].as_i64().and_then(|n| u64::try_from(n).ok());
    let counts: Option<Vec<u64>> = result.rows.iter().map(count).collect();
    let counts = counts.with_context(|| format!("a count of {table} is not a number"))?;
    Ok(Some(counts.iter().sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_accord_is_told_by_its_definition() {
        let with = |options: &str| format!("CREATE TABLE k.t (a int PRIMARY KEY) WITH {options}");
        assert!(is_of_accord(&with(
            "transactional_mode = 'full' AND comment = ''"
        )));
        assert!(is_of_accord(&with(
            "comment = '' AND transactional_mode = 'mixed_reads'"
        )));
        assert!(!is_of_accord(&with("transactional_mode = 'off'")));
        assert!(!is_of_accord(&with(
            "comment = 'transactional_mode = full'"
        )));
    }
}
