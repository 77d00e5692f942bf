//! Operations on a node by MBeans, for several kinds of faults.

use crate::behaviour::Work;
use crate::cluster_under_test::{Mbeans, World};
use anyhow::Result;
use cassandra::Operation;
use std::time::Duration;
use target_spec::NodeIndex;

/// Time limit of short operations and queries.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(30);

const STOP_LIMIT: Duration = Duration::from_secs(30);

/// Interval between two requests to stop an operation.
const POLL: Duration = Duration::from_millis(500);

pub(crate) struct Task {
    pub node: NodeIndex,
    pub keyspaces: Vec<String>,
    is_at_work: bool,
}

impl Task {
    pub fn new(node: NodeIndex) -> Task {
        Task {
            node,
            keyspaces: Vec::new(),
            is_at_work: false,
        }
    }

    /// Determines the keyspaces, and starts the operation on them.
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

    pub fn proceed(&mut self, world: &mut dyn Mbeans) -> Result<Work> {
        let Some(ended) = world.operated(self.node) else {
            return Ok(Work::Going);
        };
        self.is_at_work = false;
        let own = "; these keyspaces belong to Cassandra itself: no client has created a keyspace";
        let is_own = self.keyspaces.iter().all(|keyspace| cassandra::is_own(keyspace));
        ended.map(|words| Work::Done(words + if is_own { own } else { "" }))
    }

    /// Requests the end of the operation repeatedly until it has ended. Does nothing if it has
    /// ended.
    pub fn end(&mut self, world: &mut dyn World, stop: &Operation) -> Result<()> {
        let until_ns = world.now_ns() + STOP_LIMIT.as_nanos() as u64;
        while self.is_at_work {
            // An error only means that the operation was stopped.
            if world.operated(self.node).is_some() {
                self.is_at_work = false;
                break;
            }
            let told = world.tell(self.node, stop.clone(), AT_ONCE);
            if world.now_ns() >= until_ns {
                anyhow::bail!(match told {
                    Ok(_) => "the operation continues, although cassay told the node to stop it"
                        .to_owned(),
                    Err(error) => format!("cassay cannot stop the operation: {error:#}"),
                });
            }
            world.wait(POLL);
        }
        Ok(())
    }
}

/// Formats a number with its noun, such as `1 file` or `2 files`.
pub(crate) fn count(count: usize, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    }
}
