//! Starting and stopping nodes.

use anyhow::Result;
use cassandra::RestartMode;
use host::{FileStep, Injection, Join, Restartable};
use std::path::PathBuf;
use target_spec::{HostIndex, NodeIndex};
use versions::Release;

/// Starts of nodes: in the usual way, without their data, with another clock, or as new nodes.
pub trait Starter {
    /// Returns the process of a node, and the command that starts it again.
    ///
    /// # Errors
    /// The node does not run.
    fn restartable(&self, node: NodeIndex) -> Result<Restartable>;

    /// Returns the injection that stops a node in order and restarts it on healing.
    ///
    /// # Errors
    /// The node does not run. Or it is attached, and the user does not permit the action.
    fn stopping(&self, node: NodeIndex) -> Result<Injection>;

    /// Writes a node's configuration for the release `to`. Returns the injection that stops the
    /// node and restarts it with that release on healing. Every later start also uses that release.
    ///
    /// # Errors
    /// The node does not run, or no such upgrade was prepared.
    fn upgrade(&mut self, node: NodeIndex, to: &Release) -> Result<Injection>;

    /// Returns the injection that stops a node and restarts it with its earlier release on healing.
    /// Every later start also uses that release.
    ///
    /// # Errors
    /// The node was not upgraded.
    fn downgrade(&mut self, node: NodeIndex) -> Result<Injection>;

    /// Returns the injection that kills a node and restarts it on healing.
    ///
    /// # Errors
    /// As [`Starter::stopping`].
    fn killing(&self, node: NodeIndex) -> Result<Injection>;

    /// Returns the injection that pauses a node's process.
    ///
    /// # Errors
    /// As [`Starter::stopping`].
    fn pausing(&self, node: NodeIndex) -> Result<Injection>;

    /// Returns the process of a node, with the start without its data, which it streams from the
    /// others. Also returns its data folders.
    ///
    /// # Errors
    /// The node does not run.
    fn anew(&self, node: NodeIndex, how: RestartMode) -> Result<(Restartable, Vec<PathBuf>)>;

    /// Returns the process of a node, with a start that makes its wall clock off by `by_ms`
    /// (negative: behind). Also returns the steps that change its files for this, and the steps
    /// that undo the change.
    ///
    /// # Errors
    /// The node does not run.
    fn shifted(&self, node: NodeIndex, by_ms: i64) -> Result<(Restartable, [FileStep; 2])>;

    /// Returns how another node could join on a host.
    ///
    /// # Errors
    /// The host can have no other node.
    fn newcomer(&self, host: HostIndex) -> Result<Join>;

    /// Kills a node's process if it lives, and starts it again in the way of the healing. With
    /// `forgiving`, it skips unreadable parts of its files.
    ///
    /// # Errors
    /// The node cannot be restarted.
    fn restart(&mut self, node: NodeIndex, forgiving: bool) -> Result<()>;
}
