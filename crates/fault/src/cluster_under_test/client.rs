//! Operations of a CQL client.

use anyhow::Result;
use cassandra::{Row, View};
use std::time::Duration;
use target_spec::NodeIndex;

/// Observations that a client of the nodes makes.
pub trait Client {
    /// Opens a connection to a node and keeps it open.
    ///
    /// # Errors
    /// The node is not reachable within `limit`.
    fn connect(&mut self, node: NodeIndex, limit: Duration) -> Result<()>;

    /// Returns true if the connection of [`Client::connect`] still exists.
    fn is_connected(&mut self) -> bool;

    /// Reads a virtual table of a node.
    ///
    /// # Errors
    /// The node does not answer within `limit`.
    fn rows(&mut self, node: NodeIndex, view: View, limit: Duration) -> Result<Vec<Row>>;

    /// Sends a query to a node.
    ///
    /// # Errors
    /// The node does not answer within the limit. The error contains the reason.
    fn ask(&mut self, node: NodeIndex, limit: Duration) -> Result<()>;

    /// Returns the minimum and the maximum of the possible offset of a node's wall clock from the
    /// client's clock, in ms. A negative offset means that the node's clock is behind.
    ///
    /// # Errors
    /// The node does not answer within `limit`.
    fn clock_off_ms(&mut self, node: NodeIndex, limit: Duration) -> Result<[i64; 2]>;
}
