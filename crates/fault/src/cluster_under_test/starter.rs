//! Starting and stopping nodes.

use anyhow::Result;
use cassandra::RestartMode;
use host::{FileStep, Injection, Join, Restartable};
use std::path::PathBuf;
use target_spec::{HostIndex, NodeIndex};
use versions::Release;

/// Ways to start nodes: normally, without their data, with another clock, or as new nodes.
pub trait Starter {
    /// Returns the process of a node, and the command that starts the node again.
    ///
    /// # Errors
    /// The node does not run.
    fn restartable(&self, node: NodeIndex) -> Result<Restartable>;

    /// Returns the injection that stops a node in order. Healing restarts the node.
    ///
    /// # Errors
    /// The node does not run. Or it is attached, and the user does not permit the action.
    fn stopping(&self, node: NodeIndex) -> Result<Injection>;

    /// Writes a node's configuration for the release `to`. Returns the injection that stops the
    /// node. Healing restarts the node with that release. Every later start also uses that release.
    ///
    /// # Errors
    /// The node does not run, or no such upgrade was prepared.
    fn upgrade(&mut self, node: NodeIndex, to: &Release) -> Result<Injection>;

    /// Returns the injection that stops a node. Healing restarts the node with its earlier release.
    /// Every later start also uses that release.
    ///
    /// # Errors
    /// The node was not upgraded.
    fn downgrade(&mut self, node: NodeIndex) -> Result<Injection>;

    /// Returns the injection that kills a node. Healing restarts the node.
    ///
    /// # Errors
    /// As [`Starter::stopping`].
    fn killing(&self, node: NodeIndex) -> Result<Injection>;

    /// Returns the injection that pauses a node's process.
    ///
    /// # Errors
    /// As [`Starter::stopping`].
    fn pausing(&self, node: NodeIndex) -> Result<Injection>;

    /// Returns the process of a node, with a start that begins without data and streams the data
    /// from other nodes. Also returns the data folders of the node.
    ///
    /// # Errors
    /// The node does not run.
    fn anew(&self, node: NodeIndex, how: RestartMode) -> Result<(Restartable, Vec<PathBuf>)>;

    /// Returns the process of a node, with a start that makes the node's wall clock off by `by_ms`
    /// (negative: behind). Also returns the steps that change the node's files for this, and the
    /// steps that undo the change.
    ///
    /// # Errors
    /// The node does not run.
    fn shifted(&self, node: NodeIndex, by_ms: i64) -> Result<(Restartable, [FileStep; 2])>;

    /// Returns how another node could join the ring on a host.
    ///
    /// # Errors
    /// The host cannot have another node.
    fn newcomer(&self, host: HostIndex) -> Result<Join>;

    /// Kills the process of a node if it is alive, and starts the node again as the healing does.
    /// With `forgiving`, the node skips unreadable parts of its files.
    ///
    /// # Errors
    /// The node cannot be restarted.
    fn restart(&mut self, node: NodeIndex, forgiving: bool) -> Result<()>;
}
