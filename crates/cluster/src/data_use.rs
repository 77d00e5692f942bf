//! How much data there is: in the tables of a node, and on the volume under it.

use crate::cluster::Cluster;
use crate::metrics::Metrics;
use crate::node::NodeInfo;
use crate::session::ServerError;
use crate::snapshot::schema;
use anyhow::{Context, Result, bail};
use cql::text::literal;
use host::{Host, VolumeUse};

/// What a node keeps of a keyspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataUse {
    /// The node.
    pub node: String,
    /// The host it lives on.
    pub host: String,
    /// Bytes of the live SSTables of the keyspace: what is in memtables is not counted, nor is what
    /// is no longer read and waits to be deleted.
    pub live_bytes: u64,
    /// The volume that its data is on; none where it shares the machine's, or is out of sight.
    pub volume: Option<VolumeUse>,
}

impl Cluster {
    /// What each node keeps of `keyspace`. Flush first (see [`Cluster::settle`]): what is in memory
    /// takes no room yet.
    ///
    /// # Errors
    /// There is no such keyspace, or a node does not answer or shows nothing of it.
    pub fn data_use(&self, keyspace: &str) -> Result<Vec<DataUse>> {
        read(self, keyspace)
    }
}

/// See [`Cluster::data_use`].
fn read(cluster: &Cluster, keyspace: &str) -> Result<Vec<DataUse>> {
    let known = schema::tables(&mut cluster.session()?, keyspace, &[])?;
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

/// Bytes of the tables on the node that has most of them; `None` where no node tells.
pub(crate) fn largest(cluster: &Cluster, keyspace: &str, tables: &[&str]) -> Option<u64> {
    let of = |node: &NodeInfo| live_bytes(cluster, node, keyspace, tables).ok();
    let all: Option<Vec<u64>> = cluster.nodes().iter().map(of).collect();
    all?.into_iter().max()
}

fn live_bytes(cluster: &Cluster, node: &NodeInfo, keyspace: &str, tables: &[&str]) -> Result<u64> {
    let bytes = match cluster.metrics(node) {
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

/// The server's own table of disk use counts in MiB, of memtables and SSTables that are live.
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
