//! A node that loses all its data, as with a failed disk. The agent kills the node, and removes its
//! data files, commit log and hints. Healing replaces the node as an administrator would: it starts
//! with empty folders, takes over its former tokens, and streams its data from other nodes.

use super::node_kill;
use crate::behaviour::Fault;
use crate::cluster_under_test::{ExecutedBy, World};
use crate::observation::Observation;
use crate::ring;
use anyhow::Result;
use cassandra::RestartMode;
use host::Injection;
use std::time::Duration;
use target_spec::NodeIndex;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(NodeDataLoss(hit.node()))
}

struct NodeDataLoss(NodeIndex);

impl Fault for NodeDataLoss {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        ring::another(world, self.0)?;
        let (process, folders) = world.anew(self.0, RestartMode::Replacing)?;
        let what = Injection::Wipe { process, folders };
        world.inject(ExecutedBy::Node(self.0), what, &[self.0], within)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let lost = lost(world, self.0, limit);
        ring::and_back(world, lost, self.0, limit)
    }

    fn is_healing(&mut self, world: &mut dyn World) -> bool {
        ring::is_streaming(world, self.0)
    }
}

/// The fault is present if the node is down with empty data folders, and healed if the node is up
/// with data.
pub(crate) fn lost(world: &mut dyn World, node: NodeIndex, limit: Duration) -> Observation {
    let gone = node_kill::gone(world, node, limit);
    Observation::combine(gone, ring::emptied(world, node))
}
