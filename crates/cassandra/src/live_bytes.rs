//! Size of a node's live tables, from its metrics or virtual tables.

use crate::metrics::Metrics;
use crate::node::Node;
use crate::session::ServerError;
use anyhow::{Context, Result, bail};
use cql::tokens::literal;

impl Node<'_> {
    /// Returns the size of the tables' live SSTables in bytes. Without metrics, the result also
    /// includes live memtables, and is a multiple of a MiB.
    ///
    /// # Errors
    /// The node does not answer, or does not report the size of these tables.
    pub fn live_bytes(&self, keyspace: &str, tables: &[&str]) -> Result<u64> {
        let bytes = match self.metrics() {
            Ok(metrics) => by_metrics(&metrics, keyspace, tables),
            Err(_) => self.bytes_by_virtual_table(keyspace, tables),
        };
        bytes.with_context(|| format!("request the size of {keyspace} from {}", self.name()))
    }

    /// Reads the size from `system_views.disk_usage`. The size is in MiB, and includes live
    /// memtables and SSTables.
    fn bytes_by_virtual_table(&self, keyspace: &str, tables: &[&str]) -> Result<u64> {
        let mut session = self.session()?;
        let mut sum = 0;
        for table in tables {
            let found = session.query(&format!(
                "SELECT mebibytes FROM system_views.disk_usage WHERE keyspace_name = {} AND \
                 table_name = {}",
                literal(keyspace),
                literal(table)
            ));
            let found = match found {
                Err(error) if error.downcast_ref::<ServerError>().is_some() => bail!(
                    "{} does not let this user read system_views.disk_usage, and cassay has no \
                     access to MBeans: grant this permission, or access to MBeans",
                    self.name()
                ),
                found => found?,
            };
            let cell = found.rows.first().and_then(|row| row.first());
            let mebibytes = cell.and_then(cql::Value::as_i64).unwrap_or(0);
            sum += u64::try_from(mebibytes).unwrap_or(0) << 20;
        }
        Ok(sum)
    }
}

fn by_metrics(metrics: &Metrics, keyspace: &str, tables: &[&str]) -> Result<u64> {
    let mut sum = 0;
    for table in tables {
        sum += metrics.live_sstables(keyspace, table)?.1;
    }
    Ok(sum)
}
