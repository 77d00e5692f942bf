//! A network that is cut: nothing goes from some hosts to others, in either direction. Clients
//! reach both sides.

use crate::behaviour::Fault;
use crate::observation::{self, Observation};
use crate::world::{Via, World};
use anyhow::Result;
use host::{Injection, Link, Loss};
use std::time::Duration;
use target::fault::{Hit, Options};

/// What carries it out.
pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Cut {
        hit: hit.clone(),
        is_one_way: false,
    })
}

pub(crate) struct Cut {
    pub hit: Hit,
    pub is_one_way: bool,
}

impl Fault for Cut {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let (of, from) = self.hit.sides();
        let hosts = world.hosts();
        let links = |side: &[usize]| -> Vec<Link> {
            let numbers = side.iter().filter_map(|index| hosts.get(*index));
            numbers.map(|host| Link::Host(host.number)).collect()
        };
        let (of, from) = (links(&of), links(&from));
        let losses = if self.is_one_way {
            vec![Loss::one_way(&of, &from)]
        } else {
            Loss::both_ways(&of, &from)
        };
        world.inject(Via::Switch, Injection::Packets(losses), &[], within)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let (of, from) = self.hit.sides();
        observation::ways(world, &of, &from, limit)
    }
}
