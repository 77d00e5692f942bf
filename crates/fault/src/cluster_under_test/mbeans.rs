//! MBean operations on nodes.

use anyhow::Result;
use cassandra::{Members, Operation};
use std::time::Duration;
use target_spec::NodeIndex;

/// Operations and queries by the nodes' MBeans.
pub trait Mbeans {
    /// Starts a long operation on a node, and returns at once.
    ///
    /// # Errors
    /// The node has no accessible MBeans, or another operation is running.
    fn operate(&mut self, node: NodeIndex, what: Operation, limit: Duration) -> Result<()>;

    /// Returns the result of a node's last long operation. `None` while it runs, or if there was
    /// none.
    fn operated(&mut self, node: NodeIndex) -> Option<Result<String>>;

    /// Performs an operation on a node, and waits for its end. Returns a description of the result.
    ///
    /// # Errors
    /// The node has no accessible MBeans, refuses, or does not finish within `limit`.
    fn tell(&mut self, node: NodeIndex, what: Operation, limit: Duration) -> Result<String>;

    /// Returns the ring members that a node reports.
    ///
    /// # Errors
    /// The node has no MBeans, or does not answer within the limit.
    fn members(&mut self, node: NodeIndex, limit: Duration) -> Result<Members>;

    /// Returns the user keyspaces of a node or, if there are none, Cassandra's own with replicas on
    /// other nodes.
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
