//! A disk that is removed and inserted again. After the removal, all I/O fails, and unsynced data
//! is lost. When the disk is inserted again, its nodes are restarted.

use crate::behaviour::Fault;
use crate::cluster_under_test::{ExecutedBy, World};
use crate::observation::{self, Observation};
use anyhow::Result;
use host::{Attempt, Injection};
use std::time::Duration;
use target_spec::HostIndex;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(DiskRemoved(hit.host()))
}

struct DiskRemoved(HostIndex);

impl Fault for DiskRemoved {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let (nodes, processes) = observation::restartables(world, self.0)?;
        world.inject(
            ExecutedBy::Host(self.0),
            Injection::DiskRemoved { processes },
            &nodes,
            within,
        )
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let is_gone = |tried: &observation::DiskTest| {
            let is_refused = matches!(tried.write, Attempt::Refused(_));
            // Without access to the folder, the disk test finds no file to read.
            is_refused && matches!(tried.read, Attempt::Refused(_) | Attempt::None)
        };
        observation::disk_and_nodes(world, self.0, limit, is_gone)
    }
}
