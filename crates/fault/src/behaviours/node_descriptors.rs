//! A node that may open no file and no connection more: clients that have one go on, new ones are
//! not answered, and what needs a new file fails.

use crate::behaviour::Fault;
use crate::observation::{self, Observation};
use crate::world::{Agents, Via, World};
use anyhow::Result;
use host::{Injection, Query, QueryAnswer};
use std::time::Duration;
use target::fault::{Hit, Options};

/// What carries it out.
pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Descriptors(hit.node()))
}

/// A node has thousands to spare. Who has fewer than this left is out of them: what it closes
/// meanwhile comes free.
const FEW: u64 = 8;

struct Descriptors(usize);

impl Descriptors {
    fn files(&self, world: &mut dyn Agents) -> Result<Observation> {
        let process = observation::running(world, self.0)?;
        match world.see(Via::Node(self.0), Query::Descriptors(process))? {
            QueryAnswer::Descriptors { free, open } => Ok(Observation {
                broken: Some(free < FEW),
                whole: Some(free >= FEW),
                words: format!("its process has {open} files open and may open {free} more"),
            }),
            other => Err(observation::other_answer(&other)),
        }
    }
}

impl Fault for Descriptors {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let process = observation::running(world, self.0)?;
        world.inject(
            Via::Node(self.0),
            Injection::Descriptors(process),
            &[self.0],
            within,
        )
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let files = self.files(world);
        let files = observation::or_unseen("the kernel", files);
        Observation::of_two(files, observation::client(world, self.0, limit))
    }
}
