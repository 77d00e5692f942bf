//! Isolated hosts, each with an agent. Each simulated host has a network on a switch, control
//! groups and a volume. A remote machine has the same objects, as far as it permits them.
//!
//! Invariants: all objects belong to the agents' namespaces and mounts, and always disappear with
//! them. Only directories can remain: those of control groups, and those in the cluster's folder.
//! [`HostsState::before`] lists these directories before the first of them is created, and
//! [`Hosts::clear`] removes them. A cluster adds one link end to the machine's own namespaces, but
//! no mount. On remote machines, only control groups are outside the named folder. The agents'
//! guards and [`Hosts::clear_over_ssh`] remove these groups.

use crate::agent::Agent;
use crate::calls::MakeHost;
use crate::parallel_calls::at_once;
use crate::persistent_state::group_name;
use crate::remote_host::{ClearCluster, Settle};
use crate::switch::Switch;
use crate::undo::{Undo, undo};
use crate::{Host, HostState, HostsState};
use anyhow::{Context, Result};
use linux::{capability, links, net, volume};
use measure::number::counted;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use target_spec::{HostSpec, HostsSpec, RemoteHost, Seat};

/// Hosts of one cluster. Dropping this value ends the hosts and removes the cluster's folder,
/// unless the hosts are kept.
#[derive(Debug)]
pub struct Hosts {
    state: HostsState,
    /// This field is dropped before the switch, because the links of the hosts must end before the
    /// switch does.
    hosts: Vec<Host>,
    /// Switch between simulated hosts. `None` for remote machines, which have their own network.
    switch: Option<Switch>,
}

impl Hosts {
    /// Creates the hosts of `spec`. The agent of their switch has already created `folder`. The
    /// volume of host 1, or its plain folder, is at `folder/host1`. The result of
    /// [`HostsState::before`] must be on disk before this call.
    ///
    /// # Errors
    /// This machine does not permit a required object. The error lists all such objects, each with
    /// the way to enable it. In that case no object remains.
    pub fn make(
        id: &str,
        spec: &HostsSpec,
        folder: &Path,
        switch: Agent,
        say: &mut dyn FnMut(&str),
    ) -> Result<Hosts> {
        check(spec, folder)?;
        capability::require(&spec.host)?;
        let mut state = HostsState::before(id, spec, folder)?;
        let switch = Switch::make(switch)?;
        let network = switch.network;
        state.network = Some(network);
        let mut hosts = Hosts {
            state,
            hosts: Vec::new(),
            switch: None,
        };
        for number in 1..=spec.count {
            let host = hosts
                .make_host((number, &switch), &spec.host, folder, say)
                .with_context(|| format!("create host{number}"))?;
            hosts.hosts.push(host);
        }
        hosts.switch = Some(switch);
        say(&format!(
            "{} in the network {network}/{}",
            counted(spec.count, "host"),
            net::PREFIX
        ));
        Ok(hosts)
    }

    fn make_host(
        &mut self,
        (number, switch): (usize, &Switch),
        spec: &HostSpec,
        folder: &Path,
        say: &mut dyn FnMut(&str),
    ) -> Result<Host> {
        let state = &mut self.state.hosts[number - 1];
        let agent = Agent::begin(&self.state.id, &state.name, folder)?;
        switch.plug(number, &agent)?;
        state.address = Some(switch.address(number));
        let made = agent.call(&MakeHost {
            places: state.places.clone(),
            folder: state.folder.clone(),
            volume_bytes: spec.volume_bytes,
        })?;
        state.device = made.device;
        if !made.is_direct {
            say(&format!(
                "{}: the file system of {} cannot bypass the machine's page cache, so the machine \
                 caches data twice: within the host's memory limit and outside the limit",
                state.name,
                state.folder.display()
            ));
        }
        let host = Host::on_switch(state, number, agent, switch);
        host.set_limits(spec)?;
        Ok(host)
    }

    /// Prepares the machines of `spec` for nodes, in parallel. `ssh` starts an agent on each
    /// machine. If the preparation of one machine fails, no object remains on any machine.
    ///
    /// # Errors
    /// Machines are unreachable, or do not permit the requested objects. The error lists all of
    /// these machines, each with the reason.
    pub fn over_ssh(id: &str, spec: &HostsSpec, say: &mut dyn FnMut(&str)) -> Result<Hosts> {
        let mut state = HostsState::for_machines(id, &spec.machines)?;
        let agents = Agent::start_hosts(id, &spec.machines)?;
        let settle = |(agent, state): (&Agent, &HostState)| {
            agent.call(&Settle {
                group: group_name(id, &state.name),
                folder: state.folder.clone(),
                limits: spec.host.clone(),
            })
        };
        let settled = at_once(agents.iter().zip(&state.hosts), settle)?;
        let mut hosts = Vec::new();
        let machines = spec.machines.iter().zip(agents).zip(settled);
        for (known, ((machine, agent), settled)) in state.hosts.iter_mut().zip(machines) {
            known.address = Some(address_of(machine, &agent)?);
            known.device = settled.device;
            known.places = settled.places;
            known.volume_bytes = spec.host.volume_bytes;
            if settled.is_in_memory {
                say(&format!(
                    "{}: {} is in memory, not on a disk",
                    machine.ssh,
                    known.folder.display()
                ));
            }
            if !settled.is_direct {
                say(&format!(
                    "{}: the file system of {} cannot bypass the machine's page cache, so the \
                     machine caches data twice",
                    machine.ssh,
                    known.folder.display()
                ));
            }
            hosts.push(Host::on_machine(known, hosts.len() + 1, agent)?);
        }
        say(&format!(
            "{}: {}",
            counted(hosts.len(), "machine"),
            spec.names().join(", ")
        ));
        Ok(Hosts {
            state,
            hosts,
            switch: None,
        })
    }

    /// Returns the hosts in order.
    pub fn all(&self) -> &[Host] {
        &self.hosts
    }

    /// Returns the agent of the switch. Returns `None` for remote machines.
    pub fn switch(&self) -> Option<&Arc<Agent>> {
        self.switch.as_ref().map(|switch| &switch.agent)
    }

    /// Returns true if the hosts are remote machines.
    pub fn are_machines(&self) -> bool {
        self.state.are_machines()
    }

    /// Returns the address of a node. On a simulated host, the first node gets the host's own
    /// address. Further nodes get additional addresses, which this call adds to the link of the
    /// host. On a remote machine, all nodes share the address of the machine and differ by their
    /// ports.
    ///
    /// # Errors
    /// The network has no free address, or the kernel refuses to add the address.
    pub fn address(&self, seat: Seat) -> Result<Ipv4Addr> {
        let host = self.hosts.get(seat.host.0).context("the host does not exist")?;
        if seat.slot == 0 || self.are_machines() {
            return Ok(host.address());
        }
        let address = self.address_of(seat)?;
        host.add_address(address)?;
        Ok(address)
    }

    /// Returns the address of a node like [`Hosts::address`], but does not add it to the link of
    /// the host.
    ///
    /// # Errors
    /// The network has no free address.
    pub fn address_of(&self, seat: Seat) -> Result<Ipv4Addr> {
        let Some(switch) = &self.switch else {
            let host = self.hosts.get(seat.host.0).context("the host does not exist")?;
            return Ok(host.address());
        };
        let number = seat.slot * self.hosts.len() + seat.host.number();
        anyhow::ensure!(
            number <= links::HOSTS_COUNT_MAX,
            "a network has {} addresses for nodes, but the study requests number {number}",
            links::HOSTS_COUNT_MAX
        );
        Ok(switch.address(number))
    }

    /// Returns the state with which a later command can find the hosts.
    pub fn state(&self) -> HostsState {
        self.state.clone()
    }

    /// Kills the processes on the hosts, and removes the hosts with the cluster's folder, even if
    /// the hosts are kept. A second call does nothing.
    ///
    /// # Errors
    /// A host cannot be removed. All other hosts are removed nevertheless.
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
        ended.and(self.switch().map_or(Ok(()), |switch| switch.end()))
    }

    /// Returns the reason why the network of the hosts no longer exists. Returns `None` while the
    /// network exists.
    pub fn lost(&self) -> Option<String> {
        let why = self.switch()?.lost()?;
        Some(format!(
            "the network between the hosts no longer exists, because the agent of its switch ended \
             ({why})"
        ))
    }

    /// Lets the hosts outlive this process. Their agents wait for the next command.
    ///
    /// # Errors
    /// An agent cannot wait for another command.
    pub fn keep(&self) -> Result<()> {
        for host in &self.hosts {
            host.agent().keep()?;
        }
        self.switch().map_or(Ok(()), |switch| switch.keep())
    }

    /// Connects to hosts that an earlier command has kept. `folder` is the folder of the cluster.
    /// Dropping the returned value does not end the hosts.
    ///
    /// # Errors
    /// The agents of the hosts have ended, for example by a reboot, or come from another
    /// build of cassay.
    pub fn reach(state: &HostsState, folder: &Path) -> Result<Hosts> {
        if state.are_machines() {
            return Hosts::reach_over_ssh(state);
        }
        let network = state
            .network
            .context("the recorded state contains no network for these hosts")?;
        let switch = Switch::reach(network, folder)?;
        let mut hosts = Vec::new();
        for (known, number) in state.hosts.iter().zip(1..) {
            let agent = Agent::reach(&known.name, folder)?;
            hosts.push(Host::on_switch(known, number, agent, &switch));
        }
        let state = state.clone();
        Ok(Hosts {
            state,
            hosts,
            switch: Some(switch),
        })
    }

    fn reach_over_ssh(state: &HostsState) -> Result<Hosts> {
        let agents = Agent::connect_kept_hosts(&state.id, &state.machines)?;
        let known = state.hosts.iter().zip(1..).zip(agents);
        let hosts = known.map(|((known, number), agent)| Host::on_machine(known, number, agent));
        Ok(Hosts {
            hosts: hosts.collect::<Result<_>>()?,
            state: state.clone(),
            switch: None,
        })
    }

    /// Removes the remains of the cluster of `state` from its machines. The agents of the cluster
    /// may still run. The processes of the cluster's nodes have the argument `mark`. Returns the
    /// number of killed processes.
    ///
    /// # Errors
    /// A machine is unreachable, or a process or file on it cannot be removed. The error lists all
    /// such machines.
    pub fn clear_over_ssh(state: &HostsState, mark: &str) -> Result<usize> {
        let wanted = state.machines.iter().map(crate::destination::destination);
        let agents = Agent::to_all(&wanted.collect::<Result<Vec<_>>>()?)?;
        let clear = |(agent, host): (&Agent, &HostState)| {
            agent.clear_cluster(&ClearCluster {
                id: state.id.clone(),
                folder: host.folder.parent().context("find the folder of a cluster")?.to_owned(),
                host: host.name.clone(),
                places: host.places.clone(),
                mark: mark.to_owned(),
            })
        };
        Ok(at_once(agents.iter().zip(&state.hosts), clear)?.into_iter().sum())
    }

    /// Thaws the frozen volumes of `state`. Until then, processes that wait for these volumes
    /// cannot be killed. This function may be called only when the owner of the hosts has ended.
    ///
    /// # Errors
    /// A volume cannot be thawed. All other volumes are thawed nevertheless.
    pub fn thaw(state: &HostsState) -> Result<()> {
        let thaws = |one: &Undo| matches!(one, Undo::Thaw(_));
        let all: Vec<Undo> = state.undo().into_iter().filter(thaws).collect();
        undo(&all)
    }

    /// Removes the leftovers of the hosts of `state`. This function may be called only when the
    /// owner and the agents of the hosts have ended. A missing object is not an error.
    ///
    /// # Errors
    /// An object cannot be removed. All other objects are removed nevertheless.
    pub fn clear(state: &HostsState) -> Result<()> {
        undo(&state.undo())
    }
}

/// Returns the address at which other machines reach a machine. This is the address in the
/// specification of the machine, or otherwise the address of its sshd.
fn address_of(machine: &RemoteHost, agent: &Agent) -> Result<Ipv4Addr> {
    machine.address_or(agent.address()).with_context(|| {
        format!(
            "{}: cassay does not know the IPv4 address at which other machines reach it\nhint: set \
             the address of the machine: `address: 10.0.0.7`",
            machine.ssh
        )
    })
}

/// Checks the specification, and does not change the machine.
fn check(spec: &HostsSpec, folder: &Path) -> Result<()> {
    anyhow::ensure!(
        (1..=links::HOSTS_COUNT_MAX).contains(&spec.count),
        "{} hosts are not possible: one network has 1 to {} hosts",
        spec.count,
        links::HOSTS_COUNT_MAX
    );
    anyhow::ensure!(
        spec.host.link.rate_bits_per_s != Some(0),
        "a link rate of 0 bit/s would disconnect the host; omit the rate for no limit"
    );
    if let Some(bytes) = spec.host.volume_bytes {
        let wanted = bytes.saturating_mul(spec.count as u64);
        let free = volume::usage(folder)?.available_bytes;
        anyhow::ensure!(
            wanted <= free,
            "{} volumes of {bytes} bytes require {wanted} bytes, but {} has only {free} bytes \
             free: request smaller volumes, or choose another data folder",
            spec.count,
            folder.display()
        );
    }
    Ok(())
}
