//! Operations of a CQL client.

use anyhow::Result;
use cassandra::{Row, View};
use std::time::Duration;
use target_spec::NodeIndex;

/// Observations by a client of the nodes.
pub trait Client {
    /// Opens and keeps a connection to a node.
    ///
    /// # Errors
    /// The node is not reachable within `limit`.
    fn connect(&mut self, node: NodeIndex, limit: Duration) -> Result<()>;

    /// Returns true if that connection still exists.
    fn is_connected(&mut self) -> bool;

    /// Reads a virtual table of a node.
    ///
    /// # Errors
    /// The node does not answer within `limit`.
    fn rows(&mut self, node: NodeIndex, view: View, limit: Duration) -> Result<Vec<Row>>;

    /// Sends a query to a node.
    ///
    /// # Errors
    /// The node does not answer within the limit, with the reason.
    fn ask(&mut self, node: NodeIndex, limit: Duration) -> Result<()>;

    /// Returns bounds of a node's wall clock offset from the client's clock in ms: at least and at
    /// most, negative if it is behind.
    ///
    /// # Errors
    /// The node does not answer within `limit`.
    fn clock_off_ms(&mut self, node: NodeIndex, limit: Duration) -> Result<[i64; 2]>;
}
