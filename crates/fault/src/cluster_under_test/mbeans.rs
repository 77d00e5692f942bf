//! MBean operations on nodes.

use anyhow::Result;
use cassandra::{Members, Operation};
use std::time::Duration;
use target_spec::NodeIndex;

pub trait Mbeans {
    /// Starts a long operation on a node, and returns immediately.
    ///
    /// # Errors
    /// The node's MBeans are not accessible, or another operation is running.
    fn operate(&mut self, node: NodeIndex, what: Operation, limit: Duration) -> Result<()>;

    /// Returns the result of a node's last long operation. `None` while it runs, or without such an
    /// operation.
    fn operated(&mut self, node: NodeIndex) -> Option<Result<String>>;

    /// Performs an operation on a node, and describes its result after its end.
    ///
    /// # Errors
    /// The node's MBeans are not accessible, the node refuses the operation, or it does not end
    /// within `limit`.
    fn tell(&mut self, node: NodeIndex, what: Operation, limit: Duration) -> Result<String>;

    /// Returns the members of the ring according to a node.
    ///
    /// # Errors
    /// The node's MBeans are not accessible, or it does not answer within `limit`.
    fn members(&mut self, node: NodeIndex, limit: Duration) -> Result<Members>;

    /// Returns the user keyspaces of a node with replicas on other nodes. If there are none,
    /// returns Cassandra's own keyspaces with such replicas.
    ///
    /// # Errors
    /// The node does not answer within `limit`.
    fn keyspaces(&mut self, node: NodeIndex, limit: Duration) -> Result<Vec<String>>;

    /// Returns the addresses of the nodes that a node considers up, including itself.
    ///
    /// # Errors
    /// The node does not answer within `limit`.
    fn live(&mut self, node: NodeIndex, limit: Duration) -> Result<Vec<String>>;
}
