//! A network policy that lets nothing through to and from the pod of a node: no connection that
//! begins. Who enforces it is another one than who has made it, and most let be what stood before;
//! so another node's pod looks, by connections of its own.

use crate::behaviour::Fault;
use crate::observation::{self, Observation};
use crate::world::World;
use anyhow::Result;
use std::time::Duration;
use target::fault::{Hit, Options};

/// What carries it out.
pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Policy(hit.node()))
}

struct Policy(usize);

impl Fault for Policy {
    fn inject(&mut self, world: &mut dyn World, _: Duration) -> Result<()> {
        world.isolate(self.0)
    }

    /// What clients meet depends on where they are: most who enforce policies let through what
    /// comes from the machine that a pod is on.
    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let others = observation::others_reach(world, self.0, limit);
        others.and(|| observation::clients(world, self.0, limit))
    }

    fn is_ours(&self) -> bool {
        false
    }
}
