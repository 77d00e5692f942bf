//! A node is stopped as an administrator would stop it, and later started. On SIGTERM, the node
//! announces its shutdown, flushes its memtables and exits.

use super::node_kill;
use crate::behaviour::Fault;
use crate::cluster_under_test::{ExecutedBy, World};
use crate::observation::Observation;
use anyhow::Result;
use std::time::Duration;
use target_spec::NodeIndex;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Stop(hit.node()))
}

pub(crate) struct Stop(pub NodeIndex);

impl Fault for Stop {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let stop = world.stopping(self.0)?;
        world.inject(ExecutedBy::Node(self.0), stop, &[self.0], within)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        node_kill::gone(world, self.0, limit)
    }
}
