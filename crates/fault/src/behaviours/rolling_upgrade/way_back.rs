//! Downgrade after an upgrade. Each node gets its files from before the upgrade, starts with the
//! former release, and is repaired.
//!
//! Invariants: the files were saved from a drained and stopped node before the new release could
//! change them. They lack later writes, so a node counts as rolled back only after a repair.
//! Repairs begin when all nodes run the same release, because nodes of two releases do not stream
//! to each other.

use super::{DRAIN_LIMIT, counted, files};
use crate::behaviour::{Tell, Work};
use crate::behaviours::node_repair;
use crate::cluster_under_test::{ExecutedBy, World};
use crate::node_release;
use crate::observation::Presence;
use crate::rolling::Round;
use anyhow::{Context, Result, bail};
use cassandra::{Operation, UpgradeStep};
use std::time::Duration;
use target_spec::NodeIndex;
use target_spec::fault::{Hit, Options};

const POLL: Duration = Duration::from_millis(200);

const LIMIT: Duration = Duration::from_secs(5);

/// Time after which the agent restarts a node whose files are being saved or replaced. The node
/// must not start earlier. For example, linking a million files takes seconds.
pub(super) const SWAP_LIMIT: Duration = Duration::from_secs(600);

/// Time limit for the repair of one node. A repair of 1 TB at 40 MB/s takes 7 hours.
const REPAIR_LIMIT: Duration = Duration::from_secs(12 * 3600);

#[derive(Debug, Default)]
pub(super) struct WayBack {
    /// Nodes with saved files and their former releases, in the order of the upgrade.
    kept: Vec<KeptNode>,
    /// True if all nodes in `kept` are rolled back and repaired.
    is_over: bool,
}

#[derive(Clone, Debug)]
struct KeptNode {
    node: NodeIndex,
    release: String,
}

impl WayBack {
    /// Saves the files of a node that ran `release`, was drained and is stopped.
    pub fn keep(&mut self, world: &mut dyn World, node: NodeIndex, release: String) -> Result<()> {
        world.keep_files(node)?;
        self.kept.push(KeptNode { node, release });
        Ok(())
    }

    /// Describes the most recently saved files.
    pub fn describe_files(&self) -> Option<String> {
        let kept = self.kept.last()?;
        Some(format!(
            "cassay saved the node's files from {}",
            kept.release
        ))
    }

    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns the nodes that can be downgraded, in the reverse order of the upgrade.
    pub fn nodes(&self) -> Vec<NodeIndex> {
        self.kept.iter().rev().map(|kept| kept.node).collect()
    }

    /// Downgrades and repairs all nodes. After an interrupt by the user, skips the repairs.
    ///
    /// # Errors
    /// A node does not start with its former release, or cannot be repaired.
    pub fn go(&mut self, world: &mut dyn World, tell: Tell<'_>) -> Result<()> {
        self.all_back(world, tell)?;
        for node in self.nodes() {
            if host::process::is_interrupted() {
                return Ok(());
            }
            let said = repaired(world, node).with_context(|| format!("repair {}", node.name()));
            tell(world.now_ns(), format!("{} {}", node.name(), said?));
        }
        self.is_over = !host::process::is_interrupted();
        Ok(())
    }

    fn all_back(&self, world: &mut dyn World, tell: Tell<'_>) -> Result<()> {
        let was = |node: NodeIndex| {
            let found = self.kept.iter().find(|kept| kept.node == node);
            found.map_or("", |kept| &kept.release)
        };
        let holds = |world: &mut dyn World, node: NodeIndex| {
            node_release::is_release(world, node, was(node))
        };
        let mut round = Round::new(self.nodes());
        while !host::process::is_interrupted() {
            let mut undrained = None;
            let restart = &mut |world: &mut dyn World, node: NodeIndex| {
                undrained = swap(world, node)?;
                Ok(())
            };
            let work = round.proceed(world, restart, &holds)?;
            if let Some(why) = undrained {
                tell(world.now_ns(), why);
            }
            match work {
                Work::Going => {
                    world.wait(POLL);
                }
                Work::Did(words) => {
                    let node = round.touched().last().copied().unwrap_or_default();
                    let was = was(node);
                    let back = format!(
                        "the node runs {was} again, with its files from that release: {}",
                        counted(&files(world, node)?)
                    );
                    tell(world.now_ns(), format!("{words}; {back}"));
                }
                Work::Done(_) => break,
            }
        }
        Ok(())
    }
}

/// Drains and stops a node, replaces its files by the saved ones, and starts it with its former
/// release. Returns the reason if draining failed, which is harmless because the flushed data is
/// discarded.
fn swap(world: &mut dyn World, node: NodeIndex) -> Result<Option<String>> {
    let drain = Operation::Upgrade(UpgradeStep::Drain);
    let drained = world.tell(node, drain, DRAIN_LIMIT);
    let stop = world.downgrade(node)?;
    world.inject(ExecutedBy::Node(node), stop, &[node], SWAP_LIMIT)?;
    world.put_files_back(node)?;
    world.heal_node(node)?;
    let why = |error| format!("cassay could not drain {}: {error:#}", node.name());
    Ok(drained.err().map(why))
}

/// Repairs all user keyspaces of a node. Returns the reports of the node and of the other replicas.
fn repaired(world: &mut dyn World, node: NodeIndex) -> Result<String> {
    let mut repair = node_repair::behaviour(&Hit::Node(node), &Options::default());
    // Records earlier validations of other nodes. Nodes of release 4.0 do not report validations.
    let before = repair.look(world, LIMIT);
    repair.inject(world, REPAIR_LIMIT)?;
    let said = loop {
        match repair.proceed(world)? {
            Work::Done(said) => break said,
            Work::Going | Work::Did(_) => {}
        }
        if host::process::is_interrupted() {
            bail!("the command was interrupted");
        }
        world.wait(POLL);
    };
    if before.fault == Presence::Unknown {
        return Ok(format!(
            "was repaired ({said}), but no other node reports the repair"
        ));
    }
    let seen = repair.look(world, LIMIT);
    if seen.fault == Presence::Absent {
        bail!(
            "the node reports the end of the repair ({said}), and {}",
            seen.words
        );
    }
    Ok(format!("was repaired ({said}): {}", seen.words))
}
