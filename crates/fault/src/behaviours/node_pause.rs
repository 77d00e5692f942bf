//! A node that is up and silent: its JVM is stopped (SIGSTOP), and goes on (SIGCONT). Connections
//! stay open, and new ones are taken by the kernel; nobody answers on them.

use crate::behaviour::Fault;
use crate::observation::{self, Observation};
use crate::world::{Via, World};
use anyhow::Result;
use std::time::Duration;
use target::fault::{Hit, Options};

/// What carries it out.
pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Pause(hit.node()))
}

struct Pause(usize);

impl Fault for Pause {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let pause = world.pausing(self.0)?;
        world.inject(Via::Node(self.0), pause, &[self.0], within)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        // `T`: stopped by a signal.
        let kernel = observation::process(world, self.0, |state| state == Some('T'));
        Observation::of_two(kernel, observation::client(world, self.0, limit))
    }
}
