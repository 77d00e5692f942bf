//! A disk that is pulled out and put back: whatever is done with it fails from one moment on, and
//! what was not synced is lost. Its nodes are started again when it is back.

use crate::behaviour::Fault;
use crate::observation::{self, Observation};
use crate::world::{Via, World};
use anyhow::Result;
use host::{Attempt, Injection};
use std::time::Duration;
use target::fault::{Hit, Options};

/// What carries it out.
pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Removed(hit.node()))
}

struct Removed(usize);

impl Fault for Removed {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let (nodes, processes) = observation::restartables(world, self.0)?;
        world.inject(
            Via::Host(self.0),
            Injection::DiskRemoved { processes },
            &nodes,
            within,
        )
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let is_gone = |tried: &observation::Tried| {
            let is_refused = matches!(tried.write, Attempt::Refused(_));
            // No folder can be listed in which there would be something to be read.
            is_refused && matches!(tried.read, Attempt::Refused(_) | Attempt::None)
        };
        observation::disk_and_nodes(world, self.0, limit, is_gone)
    }
}
