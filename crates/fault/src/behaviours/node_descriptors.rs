//! A node without free file descriptors. Existing connections continue, but the node accepts no new
//! connections, and operations that need a new file fail.

use crate::behaviour::Fault;
use crate::cluster_under_test::{Agents, ExecutedBy, World};
use crate::observation::{self, Health, Observation, Presence};
use anyhow::Result;
use host::{Injection, Query, QueryAnswer};
use std::time::Duration;
use target_spec::NodeIndex;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Descriptors(hit.node()))
}

/// Number of free descriptors below which the fault counts as present. A node frees some
/// descriptors when it closes files. A healthy node has thousands of free descriptors.
const DESCRIPTORS_LOW: u64 = 8;

struct Descriptors(NodeIndex);

impl Descriptors {
    fn files(&self, world: &mut dyn Agents) -> Result<Observation> {
        let process = observation::running(world, self.0)?;
        match world.see(ExecutedBy::Node(self.0), Query::Descriptors(process))? {
            QueryAnswer::Descriptors { free, open } => Ok(Observation {
                fault: Presence::from(free < DESCRIPTORS_LOW),
                target: Health::from(free >= DESCRIPTORS_LOW),
                words: format!("the node's process has {open} open files and may open {free} more"),
            }),
            other => Err(observation::other_answer(&other)),
        }
    }
}

impl Fault for Descriptors {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let process = observation::running(world, self.0)?;
        world.inject(
            ExecutedBy::Node(self.0),
            Injection::Descriptors(process),
            &[self.0],
            within,
        )
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let files = self.files(world);
        let files = observation::or_unseen("the kernel", files);
        Observation::combine(files, observation::client(world, self.0, limit))
    }
}
