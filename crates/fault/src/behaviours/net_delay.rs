//! Network delay: packets to and from a host arrive later, as if the host were in another region.

use super::net_slow;
use crate::behaviour::Fault;
use crate::cluster_under_test::{Agents, ExecutedBy, World};
use crate::observation::{self, Health, Observation, Presence};
use anyhow::Result;
use host::{Query, QueryAnswer, Reach};
use std::time::Duration;
use target_spec::fault::{Hit, Options};
use target_spec::{HostIndex, LinkSpec};

pub(crate) fn behaviour(hit: &Hit, options: &Options) -> Box<dyn Fault> {
    Box::new(Late {
        host: hit.host(),
        delay: options.delay.unwrap_or_default(),
    })
}

struct Late {
    host: HostIndex,
    delay: Duration,
}

impl Late {
    fn round_trip(&self, world: &mut dyn Agents, limit: Duration) -> Result<Observation> {
        let (other, address) = observation::other_way(world, self.host)?;
        let limit = limit + self.delay * 4;
        let took = match world.see(ExecutedBy::Host(other), Query::Reach { address, limit })? {
            QueryAnswer::Reach(Reach::Reached(took)) => took,
            QueryAnswer::Reach(_) => {
                anyhow::bail!(
                    "{} does not reach the host",
                    observation::host_name(world, other)
                )
            }
            other => return Err(observation::other_answer(&other)),
        };
        let both_ways = self.delay * 2;
        Ok(Observation {
            fault: Presence::from(took >= both_ways),
            target: Health::from(took < both_ways),
            words: format!(
                "{} connects to the host in {:.1} ms (the fault adds {:.1} ms)",
                observation::host_name(world, other),
                took.as_secs_f64() * 1e3,
                both_ways.as_secs_f64() * 1e3
            ),
        })
    }
}

impl Fault for Late {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let link = LinkSpec {
            rate_bits_per_s: None,
            delay: Some(self.delay),
        };
        net_slow::limit(world, self.host, link, within)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let trip = self.round_trip(world, limit);
        observation::or_unseen("another host", trip)
    }
}
