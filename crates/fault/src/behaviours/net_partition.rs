//! A network partition: packets between two groups of hosts are lost in both directions. Clients
//! reach both groups.

use crate::behaviour::Fault;
use crate::cluster_under_test::World;
use crate::network;
use crate::observation::{self, Observation};
use anyhow::Result;
use std::time::Duration;
use target_spec::fault::{Hit, Options, Sides};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Partition {
        sides: hit.sides(),
        is_one_way: false,
    })
}

pub(crate) struct Partition {
    pub sides: Sides,
    pub is_one_way: bool,
}

impl Fault for Partition {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        network::cut(world, &self.sides, self.is_one_way, within)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        observation::ways(world, &self.sides, limit)
    }
}
