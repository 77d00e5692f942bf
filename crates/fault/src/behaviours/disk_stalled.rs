//! A hanging disk: writes neither complete nor fail, as with a controller that resets its bus. The
//! kernel cannot kill a node that waits for such a write.

use crate::behaviour::Fault;
use crate::cluster_under_test::{ExecutedBy, World};
use crate::observation::{self, Observation};
use anyhow::Result;
use host::{Attempt, Injection};
use std::time::Duration;
use target_spec::HostIndex;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(DiskStalled(hit.host()))
}

struct DiskStalled(HostIndex);

impl Fault for DiskStalled {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        world.inject(
            ExecutedBy::Host(self.0),
            Injection::DiskStalled,
            &[],
            within,
        )
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let is_stalled = |tried: &observation::DiskTest| tried.write == Attempt::Silent;
        observation::disk_and_nodes(world, self.0, limit, is_stalled)
    }
}
