//! Stand-ins for machines: a network on a switch, control groups and a volume each, held by an
//! agent each.
//!
//! What must hold: everything is held by the agents' namespaces and mounts, and goes with them,
//! however they end. Only directories could outlive them, of control groups and in the cluster's
//! folder: they are listed by [`HostsState::before`] before the first is made, and
//! [`Hosts::clear`] removes them. In the machine's own namespaces there is one link end per
//! cluster and no mount.

use crate::agent::Agent;
use crate::calls::MakeHost;
use crate::switch::Switch;
use crate::undo::{Undo, undo};
use crate::{Host, HostsState};
use anyhow::{Context, Result};
use kernel::{able, links, net, volume};
use measure::number::counted;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use target::{HostSpec, HostsSpec};

/// The hosts of one cluster. Dropping them ends them, with the cluster's folder, unless they are
/// kept.
#[derive(Debug)]
pub struct Hosts {
    state: HostsState,
    /// Before the switch: their links end before it does.
    hosts: Vec<Host>,
    switch: Switch,
}

impl Hosts {
    /// Makes the hosts of `spec`, by the agent of their switch, which has made `folder`: host 1 has
    /// its volume, or a plain folder, at `folder/host1`. [`HostsState::before`] has to be on disk
    /// by now.
    ///
    /// # Errors
    /// What this machine cannot do, all of it with what would bring it; nothing is left then.
    pub fn make(
        id: &str,
        spec: &HostsSpec,
        folder: &Path,
        switch: Agent,
        say: &mut dyn FnMut(&str),
    ) -> Result<Hosts> {
        check(spec, folder)?;
        able::require(&spec.host)?;
        let mut state = HostsState::before(id, spec, folder)?;
        let switch = Switch::make(switch)?;
        let network = switch.network;
        state.network = Some(network);
        let mut hosts = Hosts {
            state,
            hosts: Vec::new(),
            switch,
        };
        for number in 1..=spec.count {
            let host = hosts
                .make_host(number, &spec.host, folder, say)
                .with_context(|| format!("make host{number}"))?;
            hosts.hosts.push(host);
        }
        say(&format!(
            "{} in the network {network}/{}",
            counted(spec.count, "host"),
            net::PREFIX
        ));
        Ok(hosts)
    }

    fn make_host(
        &mut self,
        number: usize,
        spec: &HostSpec,
        folder: &Path,
        say: &mut dyn FnMut(&str),
    ) -> Result<Host> {
        let state = &mut self.state.hosts[number - 1];
        let agent = Agent::begin(&self.state.id, &state.name, folder)?;
        self.switch.plug(number, &agent)?;
        state.address = Some(self.switch.address(number));
        let made = agent.call(&MakeHost {
            places: state.places.clone(),
            folder: state.folder.clone(),
            volume_bytes: spec.volume_bytes,
        })?;
        state.device = made.device;
        if !made.is_direct {
            say(&format!(
                "{}: the file system of {} cannot pass the machine's page cache by, so data is \
                 cached twice: in the host's memory and outside",
                state.name,
                state.folder.display()
            ));
        }
        let host = Host::new(state, number, agent, &self.switch);
        host.set_limits(spec)?;
        Ok(host)
    }

    /// The hosts, in order.
    pub fn all(&self) -> &[Host] {
        &self.hosts
    }

    /// The agent of the switch between them.
    pub fn switch(&self) -> &Arc<Agent> {
        &self.switch.agent
    }

    /// The address of the node in `slot` of the host at `index`, both counted from 0: the host's
    /// own for the first, a further one of its link for others, which it gets now.
    ///
    /// # Errors
    /// The network has no more, or the kernel refuses.
    pub fn address(&self, index: usize, slot: usize) -> Result<Ipv4Addr> {
        let host = self.hosts.get(index).context("there is no such host")?;
        if slot == 0 {
            return Ok(host.address());
        }
        let address = self.address_of(index, slot)?;
        host.add_address(address)?;
        Ok(address)
    }

    /// The same address, which its link need not have.
    ///
    /// # Errors
    /// The network has no more.
    pub fn address_of(&self, index: usize, slot: usize) -> Result<Ipv4Addr> {
        let number = slot * self.hosts.len() + index + 1;
        anyhow::ensure!(
            number <= links::HOSTS_COUNT_MAX,
            "a network has {} addresses for nodes, and number {number} is asked for",
            links::HOSTS_COUNT_MAX
        );
        Ok(self.switch.address(number))
    }

    /// What is needed to find them again.
    pub fn state(&self) -> HostsState {
        self.state.clone()
    }

    /// Kills what runs on them and removes them, kept or not, with the cluster's folder. A second
    /// call does nothing.
    ///
    /// # Errors
    /// The first thing that does not go; all others are removed all the same.
    pub fn end(&self) -> Result<()> {
        let ended = std::thread::scope(|scope| {
            let agents = self.hosts.iter().map(Host::agent);
            let ends: Vec<_> = agents.map(|agent| scope.spawn(|| agent.end())).collect();
            let all = ends.into_iter().map(|end| match end.join() {
                Ok(ended) => ended,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            all.fold(Ok(()), Result::and)
        });
        ended.and(self.switch.agent.end())
    }

    /// Why there is no network between them any more; none as long as there is.
    pub fn lost(&self) -> Option<String> {
        let why = self.switch.agent.lost()?;
        Some(format!(
            "the network between the hosts has ended with the agent of their switch ({why})"
        ))
    }

    /// Lets them outlive us: their agents go on, and wait for the next command.
    ///
    /// # Errors
    /// An agent cannot do it.
    pub fn keep(&self) -> Result<()> {
        for host in &self.hosts {
            host.agent().keep()?;
        }
        self.switch.agent.keep()
    }

    /// Hosts that an earlier command has kept; `folder` is the cluster's. Dropping these leaves
    /// them as they are.
    ///
    /// # Errors
    /// Their agents are gone (the machine was started anew, or they were killed), or of another
    /// build.
    pub fn reach(state: &HostsState, folder: &Path) -> Result<Hosts> {
        let network = state.network.context("no network is noted for these hosts")?;
        let switch = Switch::reach(network, folder)?;
        let mut hosts = Vec::new();
        for (known, number) in state.hosts.iter().zip(1..) {
            let agent = Agent::reach(&known.name, folder)?;
            hosts.push(Host::new(known, number, agent, &switch));
        }
        let state = state.clone();
        Ok(Hosts {
            state,
            hosts,
            switch,
        })
    }

    /// Lets go on what waits for a volume of `state` that was frozen: before that it cannot be
    /// killed. Only to be called when their owner has ended.
    ///
    /// # Errors
    /// The first volume that cannot be thawed; all others are all the same.
    pub fn thaw(state: &HostsState) -> Result<()> {
        let thaws = |one: &Undo| matches!(one, Undo::Thaw(_));
        let all: Vec<Undo> = state.undo().into_iter().filter(thaws).collect();
        undo(&all)
    }

    /// Removes what the hosts of `state` have left. Only to be called when their owner and their
    /// agents have ended. What is gone already is no error.
    ///
    /// # Errors
    /// The first thing that does not go; all others are removed all the same.
    pub fn clear(state: &HostsState) -> Result<()> {
        undo(&state.undo())
    }
}

/// What can be said without touching anything.
fn check(spec: &HostsSpec, folder: &Path) -> Result<()> {
    anyhow::ensure!(
        (1..=links::HOSTS_COUNT_MAX).contains(&spec.count),
        "{} hosts: one network has 1 to {}",
        spec.count,
        links::HOSTS_COUNT_MAX
    );
    anyhow::ensure!(
        spec.host.link.rate_bits_per_s != Some(0),
        "a link rate of 0 bit/s would cut the host off; leave it out for no limit"
    );
    if let Some(bytes) = spec.host.volume_bytes {
        let wanted = bytes.saturating_mul(spec.count as u64);
        let free = volume::usage(folder)?.available_bytes;
        anyhow::ensure!(
            wanted <= free,
            "{} volumes of {bytes} bytes take {wanted} bytes, and {} has {free} free: make them \
             smaller or choose another data folder",
            spec.count,
            folder.display()
        );
    }
    Ok(())
}
