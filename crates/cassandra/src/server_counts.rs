//! The server's own counts of operations, which must match the operations that a client counted.
//!
//! The `count` columns of `system_views.coordinator_{write,read,scan}_latency` are exact counters
//! per table and node. The other columns of these tables are decaying estimates, and cassay does
//! not read them. The following table shows a test on a real Cassandra 5.0.8. The client sent
//! prepared statements one by one. The counts are the difference of two readings:
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
//! coordinates them, regardless of the outcome. A server-side timeout counts too. An operation that
//! the node never accepted (overload, a broken connection) does not count.
//!
//! The tables do not include requests on tables of Accord (`transactional_mode` of 6.0). 6.0-alpha2
//! counts such requests only in the client-request metrics, for all keyspaces together, and counts
//! a conditional write as a write. So the counts are useless for a keyspace with a table of this
//! kind.

use crate::node::Node;
use crate::session::Session;
use anyhow::{Context, Result};
use cql::tokens::transactional_mode;

/// Source of the server's operation counts, as shown in capabilities and reports.
pub const COUNTS_SOURCE: &str = "system_views.coordinator_{write,read,scan}_latency, column count";

/// Client operations that the coordinators have counted since the nodes started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationCounts {
    /// Source of the counts, for the report.
    pub source: String,
    /// Number of reads of single partitions and of ranges.
    pub reads: u64,
    /// Number of writes.
    pub writes: u64,
    /// Reason why the counts do not include all operations of the keyspace. `None` if they are
    /// complete.
    pub incomplete: Option<String>,
}

impl Node<'_> {
    /// Returns the node's exact counts of client operations on `keyspace` since the node started.
    /// Returns `None` if the node does not count the operations. The counts do not include
    /// operations on Accord's tables, see [`Node::uncounted`].
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

    /// Returns the reason why the counts do not include all operations of the keyspace. Returns
    /// `None` if they are complete.
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

/// Returns a table of the keyspace whose requests Accord executes, if any. In 6.0-alpha2, only
/// DESCRIBE shows which tables use Accord. The tables of `system_schema` do not.
fn accord_table(session: &mut Session, keyspace: &str) -> Result<Option<String>> {
    let named = cql::tokens::literal(keyspace);
    let tables = session.query(&format!(
        "SELECT * FROM system_schema.tables WHERE keyspace_name = {named}"
    ))?;
    // This column contains the transaction path of Accord. Releases before 6.0 lack the column.
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

/// Returns the sum over the tables of the keyspace. Returns `None` if the node does not have this
/// virtual table.
fn keyspace_sum(session: &mut Session, table: &str, keyspace: &str) -> Result<Option<u64>> {
    let keyspace = cql::tokens::literal(keyspace);
    // Before 5.0, a query by a part of the key needs ALLOW FILTERING.
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
