//! What a fault asks of nodes by their MBeans.

use anyhow::Result;
use cluster::{Members, Operation};
use std::time::Duration;

/// What nodes are told by their MBeans, and say by them.
pub trait Mbeans {
    /// Tells a node to do something that takes it a while, and goes on.
    ///
    /// # Errors
    /// It has no MBeans to be told by, or works on something else for us.
    fn operate(&mut self, node: usize, what: Operation, limit: Duration) -> Result<()>;

    /// What came of what a node was told to do last; none: it is at work, or was told nothing.
    fn operated(&mut self, node: usize) -> Option<Result<String>>;

    /// Tells a node to do something, and waits until it has; what it said of it.
    ///
    /// # Errors
    /// It has no MBeans to be told by, refuses, or has not done it within `limit`.
    fn tell(&mut self, node: usize, what: Operation, limit: Duration) -> Result<String>;

    /// What a node says of the ring.
    ///
    /// # Errors
    /// It has no MBeans, or does not tell within the limit.
    fn members(&mut self, node: usize, limit: Duration) -> Result<Members>;

    /// The keyspaces of clients that a node knows, or else those of Cassandra's own that have
    /// replicas on other nodes.
    ///
    /// # Errors
    /// It does not tell within `limit`.
    fn keyspaces(&mut self, node: usize, limit: Duration) -> Result<Vec<String>>;

    /// The addresses of the nodes that a node holds to be up, itself too.
    ///
    /// # Errors
    /// It does not tell within `limit`.
    fn live(&mut self, node: usize, limit: Duration) -> Result<Vec<String>>;
}
