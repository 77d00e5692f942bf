//! Description of a node: its properties that clients can see.

use std::net::SocketAddr;

#[derive(Clone, Debug)]
pub struct NodeInfo {
    /// Name such as `node1` of a managed node. For an attached node, its address or the name of its
    /// pod.
    pub name: String,
    /// Name of the host, such as `host1`, for a managed node. For an attached node, its address, or
    /// the name of its pod or machine.
    pub host: String,
    pub address: SocketAddr,
    pub datacenter: String,
    pub rack: String,
    /// Tokens that the node owns, in ascending order.
    pub tokens: Vec<i64>,
    /// Process id of a running managed node.
    pub pid: Option<u32>,
    pub version: String,
}
