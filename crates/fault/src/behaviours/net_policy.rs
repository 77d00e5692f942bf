//! A Kubernetes network policy that blocks new connections to and from a node's pod. The API server
//! only stores policies. Another component enforces them, and usually does not affect existing
//! connections. So another node's pod observes the fault by new connections.

use crate::behaviour::Fault;
use crate::cluster_under_test::World;
use crate::observation::{self, Observation};
use anyhow::Result;
use std::time::Duration;
use target_spec::HostIndex;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Policy(hit.host()))
}

struct Policy(HostIndex);

impl Fault for Policy {
    fn inject(&mut self, world: &mut dyn World, _: Duration) -> Result<()> {
        world.isolate(self.0)
    }

    /// Most network plugins admit connections from the machine that runs the pod. So clients can
    /// only confirm that the target is healthy.
    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let others = observation::others_reach(world, self.0, limit);
        others.and(|| observation::clients(world, self.0, limit))
    }

    fn is_ours(&self) -> bool {
        false
    }
}
