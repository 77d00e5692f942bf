//! A node that is up and silent: its JVM is stopped (SIGSTOP), and goes on (SIGCONT). Connections
//! stay open, and new ones are taken by the kernel; nobody answers on them.

use crate::look::{self, Look};
use crate::{By, Fault, Kind, Length, Loses, Place, World};
use anyhow::Result;
use cluster::Ability;
use host::Break;
use std::time::Duration;

pub(crate) const KIND: Kind = Kind {
    name: "node-pause",
    what: "the node's process is stopped, and goes on where it was",
    needs: &[Ability::Provision],
    place: Place::Node,
    takes: &[],
    must: &[],
    length: Length::Stated,
    takes_away: false,
    loses: Loses::Nothing,
    healed_within: Duration::from_secs(60),
    make: |hit, _| Box::new(Pause(hit.node())),
};

struct Pause(usize);

impl Fault for Pause {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let process = look::running(world, self.0)?;
        world.inject(By::Node(self.0), Break::Pause(process), &[self.0], within)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Look {
        // `T`: stopped by a signal.
        let kernel = look::process(world, self.0, |state| state == Some('T'));
        Look::of_two(kernel, look::client(world, self.0, limit))
    }
}
