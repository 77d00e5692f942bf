//! A node crash: its JVM is killed (SIGKILL) and restarted. The unsynced part of its commit log
//! survives in the machine's page cache.

use crate::behaviour::Fault;
use crate::cluster_under_test::{ExecutedBy, World};
use crate::observation::{self, Observation};
use anyhow::Result;
use std::time::Duration;
use target_spec::NodeIndex;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Kill(hit.node()))
}

struct Kill(NodeIndex);

impl Fault for Kill {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let kill = world.killing(self.0)?;
        world.inject(ExecutedBy::Node(self.0), kill, &[self.0], within)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        gone(world, self.0, limit)
    }
}

/// The fault is present if the node's process has ended, and healed if the process runs and the
/// node answers.
pub(crate) fn gone(world: &mut dyn World, node: NodeIndex, limit: Duration) -> Observation {
    let kernel = observation::process(world, node, |state| state.is_none());
    Observation::combine(kernel, observation::client(world, node, limit))
}
