//! Clients that are cut from a host, while other hosts reach it: its nodes are up for all but those
//! who ask.

use crate::behaviour::Fault;
use crate::observation::{self, Observation};
use crate::world::{Via, World};
use anyhow::{Context, Result};
use host::{Injection, Link, Loss};
use std::time::Duration;
use target::fault::{Hit, Options};

/// What carries it out.
pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Cut(hit.node()))
}

struct Cut(usize);

impl Fault for Cut {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let host = world.hosts().into_iter().nth(self.0).context("there is no such host")?;
        let nodes = observation::nodes_on(world, self.0);
        let both = Loss::both_ways(&[Link::Machine], &[Link::Host(host.number)]);
        let ports: Vec<u16> = nodes.iter().map(|(_, node)| node.cql.port()).collect();
        let only_clients = |loss: Loss| Loss {
            tcp_ports: ports.clone(),
            ..loss
        };
        let losses = both.into_iter().map(only_clients).collect();
        world.inject(Via::Switch, Injection::Packets(losses), &[], within)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let clients = observation::clients(world, self.0, limit);
        // The others have to be heard there whatever becomes of clients.
        let others = observation::others_reach(world, self.0, limit);
        Observation {
            broken: observation::both(clients.broken, others.whole),
            whole: observation::both(clients.whole, others.whole),
            words: format!("{}, {}", clients.words, others.words),
        }
    }
}
