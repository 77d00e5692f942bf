//! A snapshot of a node under load. The node flushes, and hard-links all its files, which then use
//! space until the snapshot is removed.

use crate::behaviour::{Fault, Tell, Work};
use crate::cluster_under_test::{ExecutedBy, HealResult, World};
use crate::node_operation::{AT_ONCE, Task, count};
use crate::observation::{self, Health, Observation, Presence};
use anyhow::Result;
use cassandra::Operation;
use host::Injection;
use std::collections::BTreeSet;
use std::time::Duration;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Snapshot(Task::new(hit.node())))
}

/// Name of the snapshot. With a fixed name, cassay detects the leftover of an earlier fault.
const TAG: &str = "cassay-fault";

struct Snapshot(Task);

impl Snapshot {
    fn operation(keyspaces: Vec<String>) -> Operation {
        let tag = TAG.to_owned();
        Operation::Snapshot { tag, keyspaces }
    }

    fn observation(&mut self, world: &mut dyn World) -> Result<Observation> {
        let Task {
            node, keyspaces, ..
        } = &mut self.0;
        if keyspaces.is_empty() {
            *keyspaces = world.keyspaces(*node, AT_ONCE)?;
        }
        let files = world.data_files(*node, keyspaces, Some(TAG))?;
        let tables: BTreeSet<_> = files.iter().map(|file| &file.table).collect();
        Ok(Observation {
            fault: Presence::from(!files.is_empty()),
            target: Health::from(files.is_empty()),
            words: if files.is_empty() {
                "the node's disk contains no snapshot".to_owned()
            } else {
                format!(
                    "the node's disk contains a snapshot: {} of {}, {} bytes",
                    count(files.len(), "file"),
                    count(tables.len(), "table"),
                    files.iter().map(|file| file.bytes).sum::<u64>()
                )
            },
        })
    }
}

impl Fault for Snapshot {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let node = self.0.node;
        // The agent must be able to remove the snapshot from its beginning.
        let back = world.clearing(node, &self.0.keyspaces, TAG)?;
        let what = Injection::Files {
            reader: None,
            forth: Vec::new(),
            back,
        };
        world.inject(ExecutedBy::Node(node), what, &[], within)?;
        self.0.begin(world, within, Snapshot::operation)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let seen = self.observation(world);
        let seen = observation::or_unseen("its disk", seen);
        seen.and(|| observation::client(world, self.0.node, limit))
    }

    fn proceed(&mut self, world: &mut dyn World) -> Result<Work> {
        self.0.proceed(world)
    }

    fn heal(&mut self, world: &mut dyn World, _: Tell<'_>) -> Result<HealResult> {
        let clear = Operation::ClearSnapshot {
            tag: TAG.to_owned(),
            keyspaces: self.0.keyspaces.clone(),
        };
        let ended = self.0.end(world, &clear);
        // Afterwards, the agent removes files that the node could not remove.
        let told = world.tell(self.0.node, clear, AT_ONCE);
        let mended = world.heal()?;
        ended.and(told).map(|_| mended)
    }
}
