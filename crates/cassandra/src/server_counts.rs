//! The server's own counts of operations, which must match the counts of a client.
//!
//! The `count` columns of `system_views.coordinator_{write,read,scan}_latency` are exact counters
//! per table and node. cassay ignores the other columns, which are decaying estimates. A test on a
//! real Cassandra 5.0.8 with separate prepared statements increased the counts as follows:
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
//! So the coordinator counts each single-partition operation and each batch per table exactly once,
//! regardless of the outcome, even for a server-side timeout. It does not count an operation that
//! it never accepted (overload, broken connection).
//!
//! The counts exclude tables of Accord (`transactional_mode` of 6.0). 6.0-alpha2 counts their
//! requests only in the client-request metrics, for all keyspaces together, and counts a
//! conditional write as a write. So the counts are useless for a keyspace with such a table.

use crate::node::Node;
use crate::session::Session;
use anyhow::{Context, Result};
use cql::tokens::transactional_mode;

pub const COUNTS_SOURCE: &str = "system_views.coordinator_{write,read,scan}_latency, column count";

/// Number of client operations that the coordinators have executed since they started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationCounts {
    pub source: String,
    /// Reads of single partitions and of ranges.
    pub reads: u64,
    pub writes: u64,
    /// Reason why the counts are incomplete. `None` if they include all operations on the keyspace.
    pub incomplete: Option<String>,
}

impl Node<'_> {
    /// Returns the node's counts of client operations on `keyspace` since the node started. Returns
    /// `None` if the node has no such counts. Operations on Accord tables are not counted, see
    /// [`Node::uncounted`].
    ///
    /// # Errors
    /// The node does not answer.
    pub fn operation_counts(&self, keyspace: &str) -> Result<Option<OperationCounts>> {
        let mut session = self.session()?;
        let mut of = |table: &str| {
            keyspace_sum(&mut session, table, keyspace)
                .with_context(|| format!("read the operation counts of {}", self.name()))
        };
        let tables = (
            of("coordinator_write_latency")?,
            of("coordinator_read_latency")?,
            of("coordinator_scan_latency")?,
        );
        let (Some(writes), Some(read), Some(scanned)) = tables else {
            return Ok(None);
        };
        Ok(Some(OperationCounts {
            source: COUNTS_SOURCE.to_string(),
            reads: read + scanned,
            writes,
            incomplete: None,
        }))
    }

    /// Returns the reason why the counts of the keyspace are incomplete, if any.
    ///
    /// # Errors
    /// The node does not answer.
    pub fn uncounted(&self, keyspace: &str) -> Result<Option<String>> {
        let table = accord_table(&mut self.session()?, keyspace)?;
        Ok(table.map(|table| {
            format!(
                "{keyspace}.{table} uses Accord transactions, which Cassandra does not count per \
                 table"
            )
        }))
    }
}

/// Returns a table of the keyspace that uses Accord, if any. In 6.0-alpha2, only DESCRIBE shows
/// whether a table uses Accord. `system_schema` does not.
fn accord_table(session: &mut Session, keyspace: &str) -> Result<Option<String>> {
    let named = cql::tokens::literal(keyspace);
    let tables = session.query(&format!(
        "SELECT * FROM system_schema.tables WHERE keyspace_name = {named}"
    ))?;
    // Accord's transaction path. Releases before 6.0 lack this column.
    if tables.rows.is_empty() || tables.column("fast_path").is_err() {
        return Ok(None);
    }
    let keyspace = cql::tokens::quoted_name(keyspace);
    let Some(described) = session.query_if_shown(&format!("DESCRIBE KEYSPACE {keyspace}"))? else {
        return Ok(None);
    };
    let all = described.described()?;
    let mut of_accord = all.iter().filter(|one| transactional_mode(one.create()).is_some());
    Ok(of_accord.next().map(|one| one.name.to_owned()))
}

/// Returns the sum over the tables of the keyspace, or `None` if the node lacks the virtual table.
fn keyspace_sum(session: &mut Session, table: &str, keyspace: &str) -> Result<Option<u64>> {
    let keyspace = cql::tokens::literal(keyspace);
    // Before 5.0, a restriction to a part of the key needs ALLOW FILTERING.
    let cql = format!(
        "SELECT * FROM system_views.{table} WHERE keyspace_name = {keyspace} ALLOW FILTERING"
    );
    let Some(result) = session.query_if_shown(&cql)? else {
        return Ok(None);
    };
    let column = result.column("count")?;
    let count = |row: &Vec<cql::Value>| row[column].as_i64().and_then(|n| u64::try_from(n).ok());
    let counts: Option<Vec<u64>> = result.rows.iter().map(count).collect();
    let counts = counts.with_context(|| format!("a counter of {table} is not a number"))?;
    Ok(Some(counts.iter().sum()))
}
