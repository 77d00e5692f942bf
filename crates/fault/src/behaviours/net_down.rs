//! A host with a disconnected network cable: its processes run, but are unreachable. On a remote
//! machine, the link stays up, and the machine drops the packets of its nodes.

use crate::behaviour::Fault;
use crate::cluster_under_test::{Agents, ExecutedBy, World};
use crate::network;
use crate::observation::{self, Health, Observation, Presence};
use anyhow::Result;
use host::{Query, QueryAnswer};
use std::time::Duration;
use target_spec::HostIndex;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(HostLinkDown(hit.host()))
}

struct HostLinkDown(HostIndex);

impl HostLinkDown {
    fn carrier(&self, world: &mut dyn Agents) -> Result<Observation> {
        match world.see(ExecutedBy::Host(self.0), Query::Link)? {
            QueryAnswer::Link { has_carrier, .. } => Ok(Observation {
                fault: Presence::from(!has_carrier),
                target: Health::from(has_carrier),
                words: if has_carrier {
                    "the host's link has a carrier".to_owned()
                } else {
                    "the host's link has no carrier".to_owned()
                },
            }),
            other => Err(observation::other_answer(&other)),
        }
    }
}

impl Fault for HostLinkDown {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        network::cut_off(world, self.0, within)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let cut = if world.has_switch() {
            let carrier = self.carrier(world);
            observation::or_unseen("the kernel", carrier)
        } else {
            observation::others_reach(world, self.0, limit)
        };
        Observation::combine(cut, observation::clients(world, self.0, limit))
    }
}
