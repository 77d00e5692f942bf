//! A node as its clients see it.

use std::net::SocketAddr;

/// A Cassandra process, with its visible properties.
#[derive(Clone, Debug)]
pub struct NodeInfo {
    /// Name such as `node1` for a managed node, the address for an attached one.
    pub name: String,
    /// Host such as `host1`, or the address for an attached node.
    pub host: String,
    /// CQL address.
    pub address: SocketAddr,
    /// Name of the data center.
    pub datacenter: String,
    /// Name of the rack.
    pub rack: String,
    /// Tokens that the node owns, ascending.
    pub tokens: Vec<i64>,
    /// Process id if the node is a child of this process on this machine.
    pub pid: Option<u32>,
    /// Cassandra version.
    pub version: String,
}
