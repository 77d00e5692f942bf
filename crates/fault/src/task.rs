//! What the kinds have in common by which a node is told to do something by its MBeans.

use crate::behaviour::Work;
use crate::world::{Mbeans, World};
use anyhow::Result;
use cluster::Operation;
use std::time::Duration;

/// How long a node may take that is told to do something that is over at once, or asked something.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(30);

/// How long something may take to end that is told to end.
const ENDED_WITHIN: Duration = Duration::from_secs(30);

/// Between two times that it is told so.
const POLL: Duration = Duration::from_millis(500);

/// Something that a node was told to do.
pub(crate) struct Task {
    pub node: usize,
    /// The keyspaces that it is done to.
    pub keyspaces: Vec<String>,
    is_at_work: bool,
}

impl Task {
    pub fn of(node: usize) -> Task {
        Task {
            node,
            keyspaces: Vec::new(),
            is_at_work: false,
        }
    }

    /// Asks what keyspaces there are, and tells the node what to do to them.
    pub fn begin(
        &mut self,
        world: &mut dyn Mbeans,
        limit: Duration,
        what: impl FnOnce(Vec<String>) -> Operation,
    ) -> Result<()> {
        if self.keyspaces.is_empty() {
            self.keyspaces = world.keyspaces(self.node, AT_ONCE)?;
        }
        world.operate(self.node, what(self.keyspaces.clone()), limit)?;
        self.is_at_work = true;
        Ok(())
    }

    /// How far it has come.
    pub fn proceed(&mut self, world: &mut dyn Mbeans) -> Result<Work> {
        let Some(ended) = world.operated(self.node) else {
            return Ok(Work::Going);
        };
        self.is_at_work = false;
        let own = "; these are Cassandra's own: there are none of clients";
        let is_own = self.keyspaces.iter().all(|keyspace| cluster::is_own(keyspace));
        ended.map(|words| Work::Done(words + if is_own { own } else { "" }))
    }

    /// Tells the node to stop it, until it has; nothing if it is over.
    pub fn end(&mut self, world: &mut dyn World, stop: &Operation) -> Result<()> {
        let until_ns = world.now_ns() + ENDED_WITHIN.as_nanos() as u64;
        while self.is_at_work {
            // What fails now is that which is stopped.
            if world.operated(self.node).is_some() {
                self.is_at_work = false;
                break;
            }
            let told = world.tell(self.node, stop.clone(), AT_ONCE);
            if world.now_ns() >= until_ns {
                anyhow::bail!(match told {
                    Ok(_) => "it does not end, though it was told to".to_owned(),
                    Err(error) => format!("it cannot be ended: {error:#}"),
                });
            }
            world.wait(POLL);
        }
        Ok(())
    }
}

/// `1 file`, `2 files`.
pub(crate) fn count(count: usize, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    }
}
