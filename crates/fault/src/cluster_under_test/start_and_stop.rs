//! Starting and stopping nodes.

use anyhow::Result;
use cassandra::RestartMode;
use host::{FileStep, Injection, Join, Restartable};
use std::path::PathBuf;
use target_spec::{HostIndex, NodeIndex};
use versions::Release;

/// Ways to stop and start nodes: normally, with another release or clock, without data, or as new
/// nodes.
pub trait Starter {
    /// Returns the process of a node and the command that restarts the node.
    ///
    /// # Errors
    /// The node is not running.
    fn restartable(&self, node: NodeIndex) -> Result<Restartable>;

    /// Returns an injection that shuts a node down cleanly. Healing restarts the node.
    ///
    /// # Errors
    /// The node is not running, or the user does not permit the action on an attached node.
    fn stopping(&self, node: NodeIndex) -> Result<Injection>;

    /// Writes the configuration for the release `to`, and returns an injection that stops the node.
    /// Healing and all later starts use that release.
    ///
    /// # Errors
    /// The node is not running, or no such upgrade was prepared.
    fn upgrade(&mut self, node: NodeIndex, to: &Release) -> Result<Injection>;

    /// Returns an injection that stops an upgraded node. Healing and all later starts use its
    /// former release.
    ///
    /// # Errors
    /// The node was not upgraded.
    fn downgrade(&mut self, node: NodeIndex) -> Result<Injection>;

    /// Returns an injection that kills a node. Healing restarts the node.
    ///
    /// # Errors
    /// The errors of [`Starter::stopping`].
    fn killing(&self, node: NodeIndex) -> Result<Injection>;

    /// # Errors
    /// The errors of [`Starter::stopping`].
    fn pausing(&self, node: NodeIndex) -> Result<Injection>;

    /// Returns the process of a node, with a start command for a node without data, and its data
    /// folders. After such a start, the node streams its data from other nodes.
    ///
    /// # Errors
    /// The node is not running.
    fn anew(&self, node: NodeIndex, how: RestartMode) -> Result<(Restartable, Vec<PathBuf>)>;

    /// Returns the process of a node, with a start command that shifts its wall clock by `by_ms`. A
    /// negative shift sets the clock back. The two steps install and remove the necessary file.
    ///
    /// # Errors
    /// The node is not running.
    fn shifted(&self, node: NodeIndex, by_ms: i64) -> Result<(Restartable, [FileStep; 2])>;

    /// Returns the start command and files for another node that joins the ring on a host.
    ///
    /// # Errors
    /// The host cannot have another node.
    fn newcomer(&self, host: HostIndex) -> Result<Join>;

    /// Kills the node's process if it still runs, and starts the node in the same way as healing.
    /// With `forgiving`, the node skips unreadable parts of its files.
    ///
    /// # Errors
    /// The node cannot be restarted.
    fn restart(&mut self, node: NodeIndex, forgiving: bool) -> Result<()>;
}
