//! What a fault asks as a client.

use anyhow::Result;
use cluster::{Row, View};
use std::time::Duration;

/// What a client of a node meets.
pub trait Client {
    /// Keeps a connection to a node from now on, as a client.
    ///
    /// # Errors
    /// It is not reached within `limit`.
    fn connect(&mut self, node: usize, limit: Duration) -> Result<()>;

    /// Whether that connection is still there.
    fn is_connected(&mut self) -> bool;

    /// What a node shows of itself to a client.
    ///
    /// # Errors
    /// It does not answer within `limit`.
    fn rows(&mut self, node: usize, view: View, limit: Duration) -> Result<Vec<Row>>;

    /// Asks a node as a client.
    ///
    /// # Errors
    /// It has not answered within the limit; why.
    fn ask(&mut self, node: usize, limit: Duration) -> Result<()>;

    /// How far the wall clock of a node is from ours, as it tells a client: at least and at most,
    /// ms; below 0, behind.
    ///
    /// # Errors
    /// It does not tell within `limit`.
    fn clock_off_ms(&mut self, node: usize, limit: Duration) -> Result<[i64; 2]>;
}
