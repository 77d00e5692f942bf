//! Amount of data: bytes in the tables of each node, and use of the volume that holds them.

use crate::cluster::Cluster;
use anyhow::Result;
use cassandra::NodeInfo;
use cassandra::snapshot::table_definitions;
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
            live_bytes: cluster.node(node).live_bytes(keyspace, &tables)?,
        })
    };
    cluster.nodes().iter().enumerate().map(of).collect()
}

/// Returns the bytes of the tables on the node with the most bytes. `None` if a node does not
/// report them.
pub(crate) fn largest(cluster: &Cluster, keyspace: &str, tables: &[&str]) -> Option<u64> {
    let nodes = cluster.all();
    let all: Option<Vec<u64>> =
        nodes.iter().map(|node| node.live_bytes(keyspace, tables).ok()).collect();
    all?.into_iter().max()
}
