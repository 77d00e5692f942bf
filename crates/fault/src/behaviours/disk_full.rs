//! A full disk: further writes fail, but nodes can read existing data.

use crate::behaviour::Fault;
use crate::cluster_under_test::{ExecutedBy, World};
use crate::observation::{self, Health, Observation, Presence};
use anyhow::Result;
use host::{Injection, Query, QueryAnswer};
use std::time::Duration;
use target_spec::HostIndex;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, options: &Options) -> Box<dyn Fault> {
    Box::new(Full {
        host: hit.host(),
        leave_bytes: options.leave_bytes.unwrap_or(0),
    })
}

/// Number of bytes that may become free during the fault, because nodes delete files.
const SLACK_BYTES: u64 = 8 << 20;

struct Full {
    host: HostIndex,
    leave_bytes: u64,
}

impl Fault for Full {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let what = Injection::DiskFull {
            leave_bytes: self.leave_bytes,
        };
        world.inject(ExecutedBy::Host(self.host), what, &[], within)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let folder = world.hosts().take(self.host).map(|host| host.folder);
        let seen = match folder {
            Some(folder) => world.see(ExecutedBy::Host(self.host), Query::Space { folder }),
            None => Err(anyhow::anyhow!("the host does not exist")),
        };
        let looked = seen.and_then(|seen| match seen {
            QueryAnswer::Space(space) => Ok(space.available_bytes),
            other => Err(observation::other_answer(&other)),
        });
        let most = self.leave_bytes + SLACK_BYTES;
        let looked = looked.map(|left| Observation {
            fault: Presence::from(left <= most),
            target: Health::from(left > most),
            words: format!("the host's volume has {} MiB free", left >> 20),
        });
        let looked = observation::or_unseen("the kernel", looked);
        looked.and(|| observation::clients(world, self.host, limit))
    }
}
