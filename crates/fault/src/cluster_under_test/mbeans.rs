//! MBean operations on nodes.

use anyhow::Result;
use cassandra::{Members, Operation};
use std::time::Duration;
use target_spec::NodeIndex;

/// Operations and queries that use the MBeans of nodes.
pub trait Mbeans {
    /// Starts a long operation on a node, and returns immediately.
    ///
    /// # Errors
    /// The node has no accessible MBeans, or another operation is running.
    fn operate(&mut self, node: NodeIndex, what: Operation, limit: Duration) -> Result<()>;

    /// Returns the result of a node's last long operation. Returns `None` while the operation runs,
    /// or if the node has not performed a long operation.
    fn operated(&mut self, node: NodeIndex) -> Option<Result<String>>;

    /// Performs an operation on a node, and waits until it has ended. Returns a description of the
    /// result.
    ///
    /// # Errors
    /// The node has no accessible MBeans, refuses the operation, or does not finish it within
    /// `limit`.
    fn tell(&mut self, node: NodeIndex, what: Operation, limit: Duration) -> Result<String>;

    /// Returns the members of the ring that a node reports.
    ///
    /// # Errors
    /// The node has no MBeans, or does not answer within the limit.
    fn members(&mut self, node: NodeIndex, limit: Duration) -> Result<Members>;

    /// Returns the user keyspaces of a node. If the node has no user keyspaces, returns Cassandra's
    /// own keyspaces that have replicas on other nodes.
    ///
    /// # Errors
    /// The node does not answer within `limit`.
    fn keyspaces(&mut self, node: NodeIndex, limit: Duration) -> Result<Vec<String>>;

    /// Returns the addresses of the nodes that a node considers up, including its own address.
    ///
    /// # Errors
    /// The node does not answer within `limit`.
    fn live(&mut self, node: NodeIndex, limit: Duration) -> Result<Vec<String>>;
}
