//! Random packet loss to and from a host. TCP retransmits lost packets later, so operations do not
//! fail, but take longer.

use crate::behaviour::Fault;
use crate::cluster_under_test::{Agents, ExecutedBy, World};
use crate::network;
use crate::observation::{self, Health, Observation, Presence};
use anyhow::Result;
use host::{Query, QueryAnswer};
use measure::number;
use std::time::Duration;
use target_spec::HostIndex;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, options: &Options) -> Box<dyn Fault> {
    Box::new(Lossy {
        host: hit.host(),
        share: options.loss.unwrap_or(1.0),
    })
}

/// Number of connection attempts per observation. An observation then misses a loss of 5 % with a
/// probability of 0.5 %, and a loss of 1 % with a probability of 9 %.
const TRIES: u32 = 200;

/// Time limit of one connection attempt. It is shorter than TCP's first retransmission after one
/// second, but long enough for a busy machine.
const TRY_LIMIT: Duration = Duration::from_millis(300);

/// Share of connection attempts that may fail on a busy machine without the fault.
const OWN_LOSS: f64 = 0.01;

struct Lossy {
    host: HostIndex,
    share: f64,
}

impl Lossy {
    fn tries(&self, world: &mut dyn Agents) -> Result<Observation> {
        let (other, address) = observation::other_way(world, self.host)?;
        let sight = Query::Tries {
            address,
            tries: TRIES,
            limit: TRY_LIMIT,
        };
        let open = match world.see(ExecutedBy::Host(other), sight)? {
            QueryAnswer::Open(open) => open,
            other => return Err(observation::other_answer(&other)),
        };
        let lost = 1.0 - f64::from(open) / f64::from(TRIES);
        // An attempt needs a packet in each direction, and both may be lost.
        let expected = 1.0 - (1.0 - self.share).powi(2);
        Ok(Observation {
            fault: Presence::from(lost >= (expected / 2.0).max(OWN_LOSS) && lost > 0.0),
            target: Health::from(lost <= OWN_LOSS.max(expected / 8.0)),
            words: format!(
                "{open} of {TRIES} connections from {} open immediately (with the fault, {} % \
                 fail)",
                observation::host_name(world, other),
                number::significant(100.0 * expected, 2)
            ),
        })
    }
}

impl Fault for Lossy {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        network::lose(world, self.host, self.share, within)
    }

    fn look(&mut self, world: &mut dyn World, _: Duration) -> Observation {
        let tries = self.tries(world);
        observation::or_unseen("another host", tries)
    }
}
