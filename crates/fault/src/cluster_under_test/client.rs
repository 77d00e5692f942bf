//! Operations of a CQL client.

use anyhow::Result;
use cassandra::{Row, View};
use std::time::Duration;
use target_spec::NodeIndex;

pub trait Client {
    /// Opens a connection to a node and keeps it open.
    ///
    /// # Errors
    /// The node is not reachable within `limit`.
    fn connect(&mut self, node: NodeIndex, limit: Duration) -> Result<()>;

    /// Returns true if the connection of [`Client::connect`] still exists.
    fn is_connected(&mut self) -> bool;

    /// # Errors
    /// The node does not answer within `limit`, or lacks the table.
    fn rows(&mut self, node: NodeIndex, view: View, limit: Duration) -> Result<Vec<Row>>;

    /// # Errors
    /// The node does not answer within `limit`. The error contains the reason.
    fn ask(&mut self, node: NodeIndex, limit: Duration) -> Result<()>;

    /// Returns the lower and the upper bound, in ms, of the node's wall clock minus the client's
    /// clock.
    ///
    /// # Errors
    /// The node does not answer within `limit`.
    fn clock_off_ms(&mut self, node: NodeIndex, limit: Duration) -> Result<[i64; 2]>;
}
