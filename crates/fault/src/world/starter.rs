//! What a fault asks where nodes are started.

use anyhow::Result;
use cluster::RestartMode;
use host::{Injection, Join, Restartable, Step as FileStep};
use std::path::PathBuf;
use versions::Release;

/// What starts nodes: again, without their data, with another clock, or new.
pub trait Starter {
    /// The process of a node, with what starts it again.
    ///
    /// # Errors
    /// It does not run.
    fn restartable(&self, node: usize) -> Result<Restartable>;

    /// What stops a node in order, so that healing starts it.
    ///
    /// # Errors
    /// It does not run; or it is not ours, and that is not allowed.
    fn stopping(&self, node: usize) -> Result<Injection>;

    /// Writes down how a node is configured as the release that it is brought to, and gives what
    /// stops it, so that healing starts it as that one, and whatever starts it later, too.
    ///
    /// # Errors
    /// It does not run, or no such upgrade was prepared.
    fn upgrade(&mut self, node: usize, to: &Release) -> Result<Injection>;

    /// What stops a node, so that healing starts it as the release that it was before its upgrade,
    /// and whatever starts it later, too.
    ///
    /// # Errors
    /// It was not upgraded.
    fn downgrade(&mut self, node: usize) -> Result<Injection>;

    /// What kills a node, so that healing starts it.
    ///
    /// # Errors
    /// As [`Starter::stopping`].
    fn killing(&self, node: usize) -> Result<Injection>;

    /// What pauses the process of a node.
    ///
    /// # Errors
    /// As [`Starter::stopping`].
    fn pausing(&self, node: usize) -> Result<Injection>;

    /// The process of a node, with what starts it without its data, which it streams from the
    /// others; and the folders of its data.
    ///
    /// # Errors
    /// It does not run.
    fn anew(&self, node: usize, how: RestartMode) -> Result<(Restartable, Vec<PathBuf>)>;

    /// The process of a node, with what starts it with a wall clock that is off by so many
    /// milliseconds (below 0, behind); what is done to its files for that, and what undoes it.
    ///
    /// # Errors
    /// It does not run.
    fn shifted(&self, node: usize, by_ms: i64) -> Result<(Restartable, [FileStep; 2])>;

    /// How a host would have one node more.
    ///
    /// # Errors
    /// It can have none.
    fn newcomer(&self, host: usize) -> Result<Join>;

    /// Kills the process of a node, if it lives, and starts another one, in the way in which
    /// healing has started it; `forgiving`, it skips what of its files cannot be read.
    ///
    /// # Errors
    /// It cannot be done.
    fn restart(&mut self, node: usize, forgiving: bool) -> Result<()>;
}
