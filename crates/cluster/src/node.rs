//! A node as those see it who use it.

use std::net::SocketAddr;

/// One Cassandra process, as far as it can be seen.
#[derive(Clone, Debug)]
pub struct NodeInfo {
    /// `node1` for a node of ours, the address for an attached one.
    pub name: String,
    /// The host it lives on: `host1`, or the address for an attached one.
    pub host: String,
    /// Where it answers CQL.
    pub address: SocketAddr,
    /// Data center.
    pub datacenter: String,
    /// The name of the rack.
    pub rack: String,
    /// The tokens it owns, ascending.
    pub tokens: Vec<i64>,
    /// Process id, when it runs on this machine as our child.
    pub pid: Option<u32>,
    /// Version of Cassandra.
    pub version: String,
}

/// A node of ours that is not there any more.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{name} {how}")]
pub struct NodeDied {
    /// Which node.
    pub name: String,
    /// What has become of it, with the last lines of its log if it has died.
    pub how: String,
}
