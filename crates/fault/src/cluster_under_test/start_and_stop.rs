//! Starting and stopping nodes.

use anyhow::Result;
use cassandra::RestartMode;
use host::{FileStep, Injection, Join, Restartable};
use std::path::PathBuf;
use target_spec::{HostIndex, NodeIndex};
use versions::Release;

/// Ways to stop nodes, and to start them: normally, with another release or clock, without their
/// data, or as new nodes.
pub trait Starter {
    /// Returns the process of a node, and the command that starts the node again.
    ///
    /// # Errors
    /// The node is not running.
    fn restartable(&self, node: NodeIndex) -> Result<Restartable>;

    /// Returns the injection that shuts a node down normally. Healing restarts the node.
    ///
    /// # Errors
    /// The node is not running, or it is attached and the user does not permit the action.
    fn stopping(&self, node: NodeIndex) -> Result<Injection>;

    /// Writes a node's configuration for the release `to`. Returns the injection that stops the
    /// node. Healing restarts the node with that release. Every later start also uses that release.
    ///
    /// # Errors
    /// The node is not running, or no such upgrade was prepared.
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
    /// The errors of [`Starter::stopping`].
    fn killing(&self, node: NodeIndex) -> Result<Injection>;

    /// Returns the injection that pauses a node's process.
    ///
    /// # Errors
    /// The errors of [`Starter::stopping`].
    fn pausing(&self, node: NodeIndex) -> Result<Injection>;

    /// Returns the process of a node, with a command that starts the node without data. After this
    /// start, the node streams its data from other nodes. Also returns the data folders of the
    /// node.
    ///
    /// # Errors
    /// The node is not running.
    fn anew(&self, node: NodeIndex, how: RestartMode) -> Result<(Restartable, Vec<PathBuf>)>;

    /// Returns the process of a node, with a start command that shifts the node's wall clock by
    /// `by_ms`. A negative shift sets the clock behind. Also returns the step that writes the
    /// necessary file, and the step that removes it.
    ///
    /// # Errors
    /// The node is not running.
    fn shifted(&self, node: NodeIndex, by_ms: i64) -> Result<(Restartable, [FileStep; 2])>;

    /// Returns the start command and files with which another node can join the ring on a host.
    ///
    /// # Errors
    /// The host cannot have another node.
    fn newcomer(&self, host: HostIndex) -> Result<Join>;

    /// Kills the process of a node if it still runs, and starts the node in the same way as the
    /// healing. With `forgiving`, the node skips unreadable parts of its files.
    ///
    /// # Errors
    /// The node cannot be restarted.
    fn restart(&mut self, node: NodeIndex, forgiving: bool) -> Result<()>;
}
