//! Limited bandwidth to and from a host: excess packets are queued or dropped.

use crate::behaviour::Fault;
use crate::cluster_under_test::{Agents, ExecutedBy, World};
use crate::observation::{self, Health, Observation, Presence};
use anyhow::{Context, Result};
use host::{Injection, Query, QueryAnswer};
use std::net::SocketAddr;
use std::time::Duration;
use target_spec::fault::{Hit, Options};
use target_spec::{HostIndex, LinkSpec};

pub(crate) fn behaviour(hit: &Hit, options: &Options) -> Box<dyn Fault> {
    Box::new(Slow {
        host: hit.host(),
        rate: options.rate_bits_per_s.unwrap_or(1_000_000),
    })
}

/// Planned duration of a transfer at the limited rate, in seconds, long enough that the queue's
/// burst hardly matters.
const LENGTH_S: f64 = 0.5;

/// One and a half times the size of the burst that the queue passes immediately, in bytes.
const BURST_BYTES: u64 = 96 << 10;

const LIMIT: Duration = Duration::from_secs(5);

struct Slow {
    host: HostIndex,
    rate: u64,
}

impl Slow {
    /// Measures the throughput from another host to the target host.
    fn transfer(&self, world: &mut dyn Agents) -> Result<Observation> {
        let (other, address) = observation::other_way(world, self.host)?;
        let port = world.receive(ExecutedBy::Host(self.host), LIMIT)?;
        let bytes = BURST_BYTES + (self.rate as f64 / 8.0 * LENGTH_S) as u64;
        let sight = Query::Transfer {
            address: SocketAddr::new(address.ip(), port),
            bytes,
            limit: LIMIT,
        };
        let took = match world.see(ExecutedBy::Host(other), sight)? {
            QueryAnswer::Transfer(took) => took,
            other => return Err(observation::other_answer(&other)),
        };
        let rate = took.map_or(0.0, |took| {
            bytes as f64 * 8.0 / took.as_secs_f64().max(1e-6)
        });
        let stated = self.rate as f64;
        Ok(Observation {
            // The burst makes the measured rate higher than the limit.
            fault: Presence::from(
                rate <= stated * (1.3 + BURST_BYTES as f64 * 8.0 / (stated * LENGTH_S)),
            ),
            target: Health::from(
                rate > stated * (1.6 + BURST_BYTES as f64 * 8.0 / (stated * LENGTH_S)),
            ),
            words: format!(
                "{} sends the host {:.2} Mbit/s (the fault allows {:.2} Mbit/s)",
                observation::host_name(world, other),
                rate / 1e6,
                stated / 1e6
            ),
        })
    }
}

/// Limits the packets that the switch sends to a host, and the packets that the host sends.
pub(crate) fn limit(
    world: &mut dyn Agents,
    host: HostIndex,
    link: LinkSpec,
    within: Duration,
) -> Result<()> {
    let seen = world.hosts().take(host);
    let number = seen.context("the host does not exist")?.number;
    world.inject(
        ExecutedBy::Switch,
        Injection::LinkTo { number, link },
        &[],
        within,
    )?;
    world.inject(
        ExecutedBy::Host(host),
        Injection::LinkFrom(link),
        &[],
        within,
    )
}

impl Fault for Slow {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let link = LinkSpec {
            rate_bits_per_s: Some(self.rate),
            delay: None,
        };
        limit(world, self.host, link, within)
    }

    fn look(&mut self, world: &mut dyn World, _: Duration) -> Observation {
        let transfer = self.transfer(world);
        observation::or_unseen("another host", transfer)
    }
}
