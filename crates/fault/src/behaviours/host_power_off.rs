//! A host that loses power, and later gets power again. Its processes, its network and the unsynced
//! data of its volume are lost immediately. With high availability, as with vSphere HA, the host's
//! nodes meanwhile start on another host with their volume and addresses.

use crate::behaviour::Fault;
use crate::cluster_under_test::{ExecutedBy, World};
use crate::network;
use crate::observation::{self, Observation, Presence};
use anyhow::{Context, Result};
use host::Injection;
use std::net::IpAddr;
use std::time::Duration;
use target_spec::fault::{Hit, Options};
use target_spec::{HostIndex, NO_HA_OF_MACHINES};

pub(crate) fn behaviour(hit: &Hit, options: &Options) -> Box<dyn Fault> {
    Box::new(PowerOff {
        host: hit.host(),
        ha_after: options.ha_after,
        ha_on: options.ha_on,
        is_moved: false,
    })
}

struct PowerOff {
    host: HostIndex,
    /// Time after which the nodes start on another host. `None` without high availability.
    ha_after: Option<Duration>,
    /// Host on which the nodes start. `None` means the next host in order.
    ha_on: Option<HostIndex>,
    is_moved: bool,
}

impl Fault for PowerOff {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let [why, hint] = NO_HA_OF_MACHINES;
        anyhow::ensure!(
            self.ha_after.is_none() || world.has_switch(),
            "`ha` {why}\nhint: {hint}"
        );
        let (nodes, processes) = observation::restartables(world, self.host)?;
        // After this cut, no host receives packets that this host still sends.
        network::cut_off(world, self.host, within)?;
        world.inject(
            ExecutedBy::Host(self.host),
            Injection::PowerOff { processes },
            &nodes,
            within,
        )
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let others = observation::others_reach(world, self.host, limit);
        let mut look = Observation::combine(others, observation::clients(world, self.host, limit));
        // Moved nodes answer on the other host. The target is healthy only when they run on their
        // original host again.
        if self.is_moved && look.fault == Presence::Absent {
            look.fault = Presence::Present;
        }
        look
    }

    fn later(&self) -> Option<Duration> {
        self.ha_after
    }

    fn act(&mut self, world: &mut dyn World, within: Duration) -> Result<String> {
        let hosts = world.hosts();
        let host = hosts.get(self.host).context("the host does not exist")?;
        let next = HostIndex(self.host.number() % hosts.len().max(1));
        let on = self.ha_on.unwrap_or(next);
        anyhow::ensure!(
            on != self.host && hosts.get(on).is_some(),
            "cassay cannot start the nodes of {} on {}",
            self.host.name(),
            on.name()
        );
        let device = host.device.clone().context("the host has no volume")?;
        let (nodes, start) = observation::restartables(world, self.host)?;
        for (_, node) in observation::nodes_on(world, self.host) {
            if let IpAddr::V4(address) = node.cql.ip() {
                world.inject(
                    ExecutedBy::Host(on),
                    Injection::TakeAddress(address),
                    &[],
                    within,
                )?;
            }
        }
        let adopt = Injection::Adopt {
            device,
            folder: host.folder.clone(),
            start,
        };
        world.inject(ExecutedBy::Host(on), adopt, &nodes, within)?;
        self.is_moved = true;
        Ok(format!(
            "cassay starts the nodes of the host on {}, with their volume",
            on.name()
        ))
    }
}
