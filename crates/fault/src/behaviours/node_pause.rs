//! A node that is up but silent: its JVM is stopped (SIGSTOP) and continued (SIGCONT). The kernel
//! keeps connections open and accepts new ones, but clients get no responses.

use crate::behaviour::Fault;
use crate::cluster_under_test::{ExecutedBy, World};
use crate::observation::{self, Observation};
use anyhow::Result;
use std::time::Duration;
use target_spec::NodeIndex;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Pause(hit.node()))
}

struct Pause(NodeIndex);

impl Fault for Pause {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let pause = world.pausing(self.0)?;
        world.inject(ExecutedBy::Node(self.0), pause, &[self.0], within)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        // State `T`: stopped by a signal.
        let kernel = observation::process(world, self.0, |state| state == Some('T'));
        Observation::combine(kernel, observation::client(world, self.0, limit))
    }
}
