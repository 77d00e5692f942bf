//! A disk that fails: its file system can only be read, as ext4 makes it after an error of its
//! device. Its nodes are started again when it was mended.

use crate::behaviour::Fault;
use crate::observation::{self, Observation};
use crate::world::{Via, World};
use anyhow::Result;
use host::{Attempt, Injection};
use std::time::Duration;
use target::fault::{Hit, Options};

/// What carries it out.
pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(ReadOnly(hit.node()))
}

/// The error number of a file system that can only be read.
const EROFS: i32 = 30;

struct ReadOnly(usize);

impl Fault for ReadOnly {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let (nodes, processes) = observation::restartables(world, self.0)?;
        world.inject(
            Via::Host(self.0),
            Injection::DiskReadOnly { processes },
            &nodes,
            within,
        )
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let is_read_only = |tried: &observation::Tried| {
            // Newer kernels open no file there any more; who has one open reads it.
            tried.write == Attempt::Refused(EROFS)
        };
        observation::disk_and_nodes(world, self.0, limit, is_read_only)
    }
}
