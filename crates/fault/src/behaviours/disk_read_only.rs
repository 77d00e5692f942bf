//! A failing disk: its file system becomes read-only, as ext4 does after an error of its device.
//! After healing, the nodes on the disk are restarted.

use crate::behaviour::Fault;
use crate::cluster_under_test::{ExecutedBy, World};
use crate::observation::{self, Observation};
use anyhow::Result;
use host::{Attempt, Injection};
use std::time::Duration;
use target_spec::HostIndex;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(ReadOnly(hit.host()))
}

/// Error number for a write to a read-only file system (EROFS).
const EROFS: i32 = 30;

struct ReadOnly(HostIndex);

impl Fault for ReadOnly {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let (nodes, processes) = observation::restartables(world, self.0)?;
        world.inject(
            ExecutedBy::Host(self.0),
            Injection::DiskReadOnly { processes },
            &nodes,
            within,
        )
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let is_read_only = |tried: &observation::DiskTest| {
            // Only the write counts. Newer kernels refuse to open files on such a disk, although
            // files that are already open remain readable.
            tried.write == Attempt::Refused(EROFS)
        };
        observation::disk_and_nodes(world, self.0, limit, is_read_only)
    }
}
