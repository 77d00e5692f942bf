//! A network that is far: packets to and from a host arrive later, as from another region.

use crate::look::{self, Look, Looked};
use crate::net_slow;
use crate::{By, Fault, Kind, Knob, Length, Loses, Place, World};
use anyhow::Result;
use cluster::Ability;
use host::{LinkSpec, Reach, Seen, Sight};
use std::time::Duration;

pub(crate) const KIND: Kind = Kind {
    name: "net-delay",
    what: "packets to and from a host arrive later",
    needs: &[Ability::Hosts, Ability::LinkDelay],
    place: Place::Host,
    takes: &[Knob::Delay],
    must: &[Knob::Delay],
    length: Length::Stated,
    takes_away: false,
    loses: Loses::Nothing,
    healed_within: Duration::from_secs(60),
    make: |hit, options| {
        Box::new(Late {
            host: hit.node(),
            delay: options.delay.unwrap_or_default(),
        })
    },
};

struct Late {
    host: usize,
    delay: Duration,
}

impl Late {
    fn round_trip(&self, world: &mut dyn World, limit: Duration) -> Result<Looked> {
        let (other, address) = look::other_way(world, self.host)?;
        let limit = limit + self.delay * 4;
        let took = match world.see(By::Host(other), Sight::Reach { address, limit })? {
            Seen::Reach(Reach::Reached(took)) => took,
            Seen::Reach(_) => anyhow::bail!("host{} does not reach it", other + 1),
            other => return Err(look::other_answer(&other)),
        };
        let both_ways = self.delay * 2;
        Ok(Look {
            broken: Some(took >= both_ways),
            whole: Some(took < both_ways),
            words: format!(
                "host{} connects to it in {:.1} ms (the fault: {:.1} ms more)",
                other + 1,
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

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Look {
        let trip = self.round_trip(world, limit);
        look::or_unseen("another host", trip)
    }
}
