//! Clients cannot reach a host, but other hosts can. So the host's nodes are up for all other
//! nodes, but not for clients.

use crate::behaviour::Fault;
use crate::cluster_under_test::World;
use crate::network;
use crate::observation::{self, Health, Observation, Presence};
use anyhow::Result;
use std::time::Duration;
use target_spec::HostIndex;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(ClientCut(hit.host()))
}

struct ClientCut(HostIndex);

impl Fault for ClientCut {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        network::cut_clients(world, self.0, within)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let clients = observation::clients(world, self.0, limit);
        // Other hosts must still reach the host.
        let others = observation::others_reach(world, self.0, limit);
        let are_spared = match others.target {
            Health::Whole => Presence::Present,
            Health::Impaired => Presence::Absent,
            Health::Unknown => Presence::Unknown,
        };
        Observation {
            fault: clients.fault.and(are_spared),
            ..Observation::combine(clients, others)
        }
    }
}
