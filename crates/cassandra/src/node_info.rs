//! Description of a node, with the properties that clients can see.

use std::net::SocketAddr;

/// A Cassandra node, with the properties that clients can see.
#[derive(Clone, Debug)]
pub struct NodeInfo {
    /// Name of the node. For a managed node, a name such as `node1`. For an attached node, its
    /// address or the name of its pod.
    pub name: String,
    /// Host of the node. For a managed node, a name such as `host1`. For an attached node, its
    /// address, or the name of its pod or machine.
    pub host: String,
    /// CQL address of the node.
    pub address: SocketAddr,
    /// Name of the data center.
    pub datacenter: String,
    /// Name of the rack.
    pub rack: String,
    /// Tokens that the node owns, in ascending order.
    pub tokens: Vec<i64>,
    /// Process id of a managed node that runs.
    pub pid: Option<u32>,
    /// Cassandra version of the node.
    pub version: String,
}
