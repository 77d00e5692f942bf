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

use crate::capability::COUNTS_SOURCE;
use crate::cluster::Cluster;
use crate::session::Session;
use anyhow::{Context, Result};

/// How many client operations the coordinators have counted since their start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationCounts {
    /// Where the counts are from, for the report.
    pub source: String,
    /// Reads: single partitions and ranges.
    pub reads: u64,
    /// The number of writes.
    pub writes: u64,
}

impl OperationCounts {
    pub(crate) fn of_null(counts: &null::NullCounts) -> OperationCounts {
        OperationCounts {
            source: "the null target".to_owned(),
            reads: counts.reads,
            writes: counts.writes,
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
    }))
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
