//! The way back of an upgrade: nodes that were upgraded get the files that they had before it, are
//! started as the release that they were, and are repaired.
//!
//! What must hold: files are kept of a node that was drained and is stopped, before the other
//! release has seen them. What was written since is not in them, so that a node is back only when
//! it was repaired by the others, and that begins when all are of one release again: nodes of two
//! do not stream to each other.

use super::{DRAINED_WITHIN, counted, files};
use crate::behaviour::{Tell, Work};
use crate::behaviours::node_repair;
use crate::itself;
use crate::rolling::Round;
use crate::world::{Via, World};
use anyhow::{Context, Result, bail};
use cluster::{Operation, UpgradeStep};
use std::time::Duration;
use target::fault::{Hit, Options};

/// Between two looks.
const POLL: Duration = Duration::from_millis(200);

/// How long replicas may take to show what they compared.
const LIMIT: Duration = Duration::from_secs(5);

/// How long a node is given to be back by itself whose files are kept or swapped: more than that
/// takes, since it must not start in the middle of it. Linking a million files takes seconds.
pub(super) const SWAPPED_WITHIN: Duration = Duration::from_secs(600);

/// How long the repair of one node may take: of 1 TB at 40 MB/s, 7 hours.
const REPAIRED_WITHIN: Duration = Duration::from_secs(12 * 3600);

/// Nodes that can go back.
#[derive(Debug, Default)]
pub(super) struct WayBack {
    /// Those whose files are kept, in the order of their upgrade, and what they were.
    kept: Vec<KeptNode>,
    /// Whether all of them are back and repaired.
    is_over: bool,
}

/// A node whose files are kept.
#[derive(Clone, Debug)]
struct KeptNode {
    node: usize,
    release: String,
}

impl WayBack {
    /// Keeps the files of a node that was `release`, was drained and is stopped.
    pub fn keep(&mut self, world: &mut dyn World, node: usize, release: String) -> Result<()> {
        world.keep_files(node)?;
        self.kept.push(KeptNode { node, release });
        Ok(())
    }

    /// What was kept last, in words.
    pub fn said(&self) -> Option<String> {
        let kept = self.kept.last()?;
        Some(format!(
            "the files that it had as {} are kept",
            kept.release
        ))
    }

    /// Whether all of them are back and repaired.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// The nodes that can go back, the last that was upgraded first.
    pub fn nodes(&self) -> Vec<usize> {
        self.kept.iter().rev().map(|kept| kept.node).collect()
    }

    /// Goes it, unless the run is interrupted: its nodes are not needed any more then.
    ///
    /// # Errors
    /// A node does not come back as what it was, or cannot be repaired.
    pub fn go(&mut self, world: &mut dyn World, tell: Tell<'_>) -> Result<()> {
        self.all_back(world, tell)?;
        for node in self.nodes() {
            if host::process::is_interrupted() {
                return Ok(());
            }
            let said = repaired(world, node).with_context(|| format!("repair node{}", node + 1));
            tell(world.now_ns(), format!("node{} {}", node + 1, said?));
        }
        self.is_over = !host::process::is_interrupted();
        Ok(())
    }

    /// One after the other is what it was.
    fn all_back(&self, world: &mut dyn World, tell: Tell<'_>) -> Result<()> {
        let was = |node: usize| {
            let found = self.kept.iter().find(|kept| kept.node == node);
            found.map_or("", |kept| &kept.release)
        };
        let holds = |world: &mut dyn World, node: usize| itself::is_release(world, node, was(node));
        let mut round = Round::of(self.nodes());
        while !host::process::is_interrupted() {
            let mut undrained = None;
            let restart = &mut |world: &mut dyn World, node: usize| {
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
                        "it is {was} again, with the files that it had as that: {}",
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

/// Drains and stops a node, swaps its files for those that were kept, and starts it as what it was;
/// why it could not be drained, if so. That matters little: what it would write is thrown away.
fn swap(world: &mut dyn World, node: usize) -> Result<Option<String>> {
    let drain = Operation::Upgrade(UpgradeStep::Drain);
    let drained = world.tell(node, drain, DRAINED_WITHIN);
    let stop = world.downgrade(node)?;
    world.inject(Via::Node(node), stop, &[node], SWAPPED_WITHIN)?;
    world.put_files_back(node)?;
    world.heal_node(node)?;
    let why = |error| format!("node{} was not drained: {error:#}", node + 1);
    Ok(drained.err().map(why))
}

/// Has a node repair all keyspaces of clients; what it and the other replicas say of it.
fn repaired(world: &mut dyn World, node: usize) -> Result<String> {
    let mut repair = node_repair::behaviour(&Hit::Node(node), &Options::default());
    // Which tables others had compared for it before. Nodes of 4.0 do not show it.
    let before = repair.look(world, LIMIT);
    repair.inject(world, REPAIRED_WITHIN)?;
    let said = loop {
        match repair.proceed(world)? {
            Work::Done(said) => break said,
            Work::Going | Work::Did(_) => {}
        }
        if host::process::is_interrupted() {
            bail!("it was interrupted");
        }
        world.wait(POLL);
    };
    if before.broken.is_none() {
        return Ok(format!("was repaired ({said}), which no other node shows"));
    }
    let seen = repair.look(world, LIMIT);
    if seen.broken == Some(false) {
        bail!("it says that it was done ({said}), and {}", seen.words);
    }
    Ok(format!("was repaired ({said}): {}", seen.words))
}
