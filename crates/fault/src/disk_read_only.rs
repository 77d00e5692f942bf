//! A disk that fails: its file system can only be read, as ext4 makes it after an error of its
//! device. Its nodes are started again when it was mended.

use crate::look::{self, Look};
use crate::node_kill::STARTED_WITHIN;
use crate::{By, Fault, Kind, Length, Loses, Place, World};
use anyhow::Result;
use cluster::Ability;
use host::{Attempt, Break};
use std::time::Duration;

pub(crate) const KIND: Kind = Kind {
    name: "disk-read-only",
    what: "the host's volume can only be read",
    needs: &[Ability::Hosts, Ability::VolumeReadOnly],
    place: Place::Host,
    takes: &[],
    must: &[],
    length: Length::Stated,
    takes_away: true,
    loses: Loses::Unsynced,
    healed_within: STARTED_WITHIN,
    make: |hit, _| Box::new(ReadOnly(hit.node())),
};

/// The error number of a file system that can only be read.
const EROFS: i32 = 30;

struct ReadOnly(usize);

impl Fault for ReadOnly {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let (nodes, processes) = look::restartables(world, self.0)?;
        world.inject(
            By::Host(self.0),
            Break::DiskReadOnly { processes },
            &nodes,
            within,
        )
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Look {
        let is_read_only = |tried: &look::Tried| {
            // Newer kernels open no file there any more; who has one open reads it.
            tried.write == Attempt::Refused(EROFS)
        };
        look::disk_and_nodes(world, self.0, limit, is_read_only)
    }
}
