//! Amount of data: bytes in the tables of each node, and use of the volume that holds them.

use crate::cluster::Cluster;
use crate::snapshot::table_definitions;
use anyhow::{Context, Result, bail};
use cassandra::{Metrics, NodeInfo, ServerError};
use cql::tokens::literal;
use host::{Host, VolumeUse};

/// Bytes of a keyspace on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataUse {
    /// Name of the node.
    pub node: String,
    /// Name of its host.
    pub host: String,
    /// Bytes of the keyspace's live SSTables. Memtables do not count, nor do obsolete SSTables that
    /// wait for deletion.
    pub live_bytes: u64,
    /// Volume that holds its data. `None` if it shares the machine's volume or is not visible.
    pub volume: Option<VolumeUse>,
}

impl Cluster {
    /// Returns the data of `keyspace` on each node. Flush first (see [`Cluster::settle`]):
    /// memtables do not count.
    ///
    /// # Errors
    /// The keyspace does not exist, or a node does not answer or reports nothing about it.
    pub fn data_use(&self, keyspace: &str) -> Result<Vec<DataUse>> {
        read(self, keyspace)
    }
}

/// Implements [`Cluster::data_use`].
fn read(cluster: &Cluster, keyspace: &str) -> Result<Vec<DataUse>> {
    let known = table_definitions::tables(&mut cluster.session()?, keyspace, &[])?;
    let tables: Vec<&str> = known.keys().map(String::as_str).collect();
    let of = |(index, node): (usize, &NodeInfo)| {
        let host = cluster.local().and_then(|nodes| nodes.host_of(index));
        let host = host.filter(|host| host.has_volume());
        Ok(DataUse {
            volume: host.map(Host::usage).transpose()?,
            node: node.name.clone(),
            host: node.host.clone(),
            live_bytes: live_bytes(cluster, node, keyspace, &tables)?,
        })
    };
    cluster.nodes().iter().enumerate().map(of).collect()
}

/// Returns the bytes of the tables on the node with the most bytes. `None` if a node does not
/// report them.
pub(crate) fn largest(cluster: &Cluster, keyspace: &str, tables: &[&str]) -> Option<u64> {
    let of = |node: &NodeInfo| live_bytes(cluster, node, keyspace, tables).ok();
    let all: Option<Vec<u64>> = cluster.nodes().iter().map(of).collect();
    all?.into_iter().max()
}

fn live_bytes(cluster: &Cluster, node: &NodeInfo, keyspace: &str, tables: &[&str]) -> Result<u64> {
    let bytes = match cluster.node(node).metrics() {
        Ok(metrics) => by_metrics(&metrics, keyspace, tables),
        Err(_) => by_virtual_table(cluster, node, keyspace, tables),
    };
    bytes.with_context(|| format!("ask {} for the size of {keyspace}", node.name))
}

fn by_metrics(metrics: &Metrics, keyspace: &str, tables: &[&str]) -> Result<u64> {
    let mut sum = 0;
    for table in tables {
        sum += metrics.live_sstables(keyspace, table)?.1;
    }
    Ok(sum)
}

/// Reads the virtual table of disk use, in MiB. It counts live memtables and SSTables.
fn by_virtual_table(
    cluster: &Cluster,
    node: &NodeInfo,
    keyspace: &str,
    tables: &[&str],
) -> Result<u64> {
    let mut session = cluster.session_to(node)?;
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
                "{} shows no system_views.disk_usage to this user, and gives no access to MBeans",
                node.name
            ),
            found => found?,
        };
        let cell = found.rows.first().and_then(|row| row.first());
        let mebibytes = cell.and_then(cql::Value::as_i64).unwrap_or(0);
        sum += u64::try_from(mebibytes).unwrap_or(0) << 20;
    }
    Ok(sum)
}
