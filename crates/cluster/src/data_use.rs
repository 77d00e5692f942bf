//! Size of the tables on each node, and usage of the volume that contains them.

use crate::cluster::Cluster;
use anyhow::Result;
use cassandra::NodeInfo;
use cassandra::snapshot::table_definitions;
use host::{Host, VolumeUse};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataUse {
    pub node: String,
    pub host: String,
    /// Size of live SSTables in bytes, without memtables and obsolete SSTables that wait for
    /// deletion.
    pub live_bytes: u64,
    /// Usage of the volume with the node's data. `None` if the host has no separate volume, or the
    /// volume is not visible.
    pub volume: Option<VolumeUse>,
}

impl Cluster {
    /// Returns the size of `keyspace` on each node. The caller should first flush memtables (see
    /// [`Cluster::settle`]), which the size does not include.
    ///
    /// # Errors
    /// The keyspace does not exist, or a node does not answer or does not report its size.
    pub fn data_use(&self, keyspace: &str) -> Result<Vec<DataUse>> {
        read(self, keyspace)
    }
}

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
            live_bytes: cluster.node(node).live_bytes(keyspace, &tables)?,
        })
    };
    cluster.nodes().iter().enumerate().map(of).collect()
}

/// Returns the size of the tables on the node with the largest size, in bytes. Returns `None` if a
/// node does not report its size.
pub(crate) fn largest(cluster: &Cluster, keyspace: &str, tables: &[&str]) -> Option<u64> {
    let nodes = cluster.all();
    let all: Option<Vec<u64>> =
        nodes.iter().map(|node| node.live_bytes(keyspace, tables).ok()).collect();
    all?.into_iter().max()
}
