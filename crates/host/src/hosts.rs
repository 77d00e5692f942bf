//! Stand-ins for machines: a network namespace on a switch, control groups and a volume each.
//!
//! What must hold: everything is held by descriptors and mounts that go with this process and its
//! children, however they end. Only directories outlive them, of control groups and in the
//! cluster's folder: they are listed by [`HostsState::before`] before the first is made, and
//! [`Hosts::clear`] removes them. In the machine's own namespaces there is one link end per
//! cluster and no mount.

use crate::cgroup::Group;
use crate::net::{self, Namespace};
use crate::switch::{self, Switch};
use crate::volume::{self, Volume};
use crate::{Host, HostSpec, HostsSpec, HostsState, able, holder};
use anyhow::{Context, Result};
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

/// The hosts of one cluster. Dropping them ends them, unless they are kept.
#[derive(Debug)]
pub struct Hosts {
    state: HostsState,
    /// `None` once they have ended: with its last holder the switch goes.
    switch: Option<Switch>,
    hosts: Vec<Host>,
    /// Whether they end with us.
    ours: bool,
}

impl Hosts {
    /// Makes the hosts of `spec`. `folder` is the cluster's: host 1 has its volume, or a plain
    /// folder, at `folder/host1`. [`HostsState::before`] has to be on disk by now.
    ///
    /// # Errors
    /// What this machine cannot do, all of it with what would bring it; nothing is left then.
    pub fn make(
        id: &str,
        spec: &HostsSpec,
        folder: &Path,
        say: &mut dyn FnMut(&str),
    ) -> Result<Hosts> {
        check(spec, folder)?;
        able::require(&spec.host)?;
        let mut state = HostsState::before(id, spec, folder)?;
        let switch = Switch::make()?;
        state.network = Some(switch.network);
        let network = switch.network;
        let mut hosts = Hosts {
            state,
            switch: None,
            hosts: Vec::new(),
            ours: true,
        };
        for number in 1..=spec.count {
            let host = hosts.make_host(number, &switch, &spec.host);
            let host = host.with_context(|| format!("make host{number}"))?;
            hosts.hosts.push(host);
        }
        hosts.switch = Some(switch);
        say(&format!(
            "{} hosts in the network {}/{}",
            spec.count,
            network,
            net::PREFIX
        ));
        hosts.warn(say);
        Ok(hosts)
    }

    fn make_host(&mut self, number: usize, switch: &Switch, spec: &HostSpec) -> Result<Host> {
        let state = &mut self.state.hosts[number - 1];
        let namespace = Namespace::new()?;
        switch.plug(number, &namespace)?;
        state.address = Some(switch.address(number));
        let group = Group::make(state.places.clone())?;
        group.limit(spec)?;
        let volume = match spec.volume_bytes {
            Some(bytes) => {
                let volume = Volume::make(&state.folder, bytes)?;
                state.device = Some(volume.device().to_string());
                Some(volume)
            }
            None => {
                std::fs::create_dir_all(&state.folder)
                    .with_context(|| format!("make {}", state.folder.display()))?;
                None
            }
        };
        let host = Host::new(state, number, namespace, switch, group, volume)?;
        host.limit_link(&spec.link)?;
        Ok(host)
    }

    /// What is not as it should be, though the hosts work.
    fn warn(&self, say: &mut dyn FnMut(&str)) {
        for host in &self.hosts {
            if host.volume().is_some_and(|one| !one.is_direct()) {
                say(&format!(
                    "{}: the file system of {} cannot pass the machine's page cache by, so data is \
                     cached twice: in the host's memory and outside",
                    host.name(),
                    host.folder().display()
                ));
            }
        }
    }

    /// The hosts, in order.
    pub fn all(&self) -> &[Host] {
        &self.hosts
    }

    /// The hosts, to change their limits.
    pub fn all_mut(&mut self) -> &mut [Host] {
        &mut self.hosts
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
        let number = slot * self.hosts.len() + index + 1;
        anyhow::ensure!(
            number <= switch::HOSTS_COUNT_MAX,
            "a network has {} addresses for nodes, and number {number} is asked for",
            switch::HOSTS_COUNT_MAX
        );
        let switch = self.switch.as_ref().context("the hosts have ended")?;
        let address = switch.address(number);
        host.add_address(address)?;
        Ok(address)
    }

    /// What is needed to find them again.
    pub fn state(&self) -> HostsState {
        self.state.clone()
    }

    /// Kills what runs on them and removes them. A second call does nothing.
    ///
    /// # Errors
    /// The first thing that does not go; all others are removed all the same.
    pub fn end(&mut self) -> Result<()> {
        self.switch = None;
        if !self.ours && self.state.holder.is_some() {
            self.hosts.clear();
            return Hosts::clear(&self.state);
        }
        self.ours = false;
        let mut result = Ok(());
        for host in &self.state.hosts {
            keep_first(&mut result, Group::of(host.places.clone()).end());
        }
        for host in self.hosts.drain(..) {
            if let Some(volume) = host.volume() {
                keep_first(&mut result, volume.end());
            }
        }
        result
    }

    /// Lets them outlive us: a process of its own holds them from now on.
    ///
    /// # Errors
    /// It cannot be started; the hosts have ended then.
    pub fn keep(mut self) -> Result<HostsState> {
        let namespaces: Vec<&Namespace> = self.hosts.iter().map(Host::namespace).collect();
        let switch = self.switch.as_ref().context("the hosts have ended")?;
        let holder = holder::start(&self.state.id, &switch.namespace, &namespaces)?;
        self.state.holder = Some(holder.identity);
        for (host, fd) in self.state.hosts.iter_mut().zip(holder.fds) {
            host.namespace_fd = Some(fd);
        }
        self.ours = false;
        Ok(self.state())
    }

    /// Hosts that an earlier command has kept. Dropping these leaves them as they are.
    ///
    /// # Errors
    /// They are gone (the machine was started anew, their holder was killed), or not ours.
    pub fn reach(state: &HostsState) -> Result<Hosts> {
        let holder = holder::Held::find(state)?;
        let network = state
            .network
            .context("no network is noted for these hosts")?;
        let switch = Switch {
            namespace: holder.switch()?,
            network,
        };
        let mounts = Arc::new(holder.mounts()?);
        let mut hosts = Vec::new();
        for (at, known) in state.hosts.iter().enumerate() {
            let namespace = holder.host(known)?;
            let group = Group::of(known.places.clone());
            group.check()?;
            let volume = known
                .device
                .as_ref()
                .map(|device| Volume::of(known.folder.clone(), device.clone()));
            let mut host = Host::new(known, at + 1, namespace, &switch, group, volume)?;
            host.see_from_outside(holder.path(&known.folder), Arc::clone(&mounts));
            hosts.push(host);
        }
        Ok(Hosts {
            state: state.clone(),
            switch: Some(switch),
            hosts,
            ours: false,
        })
    }

    /// Removes what the hosts of `state` have left, or the kept hosts themselves: kills what runs
    /// on them. Only to be called when their owner has ended. What is gone already is no error.
    ///
    /// # Errors
    /// The first thing that does not go; all others are removed all the same.
    pub fn clear(state: &HostsState) -> Result<()> {
        let mut result = Ok(());
        for host in &state.hosts {
            keep_first(&mut result, Group::of(host.places.clone()).end());
        }
        keep_first(&mut result, holder::end(&state.id));
        for host in &state.hosts {
            match std::fs::remove_file(volume::image(&host.folder)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    let what = format!("remove the image of {}", host.name);
                    keep_first(&mut result, Err(error).context(what));
                }
                _ => {}
            }
            keep_first(&mut result, volume::remove_empty(&host.folder));
        }
        result
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        if self.ours {
            // Nobody is left to hear of it; the next command clears what has stayed.
            let _ = self.end();
        }
    }
}

fn keep_first(result: &mut Result<()>, next: Result<()>) {
    if result.is_ok() {
        *result = next;
    }
}

/// What can be said without touching anything.
fn check(spec: &HostsSpec, folder: &Path) -> Result<()> {
    anyhow::ensure!(
        (1..=switch::HOSTS_COUNT_MAX).contains(&spec.count),
        "{} hosts: one network has 1 to {}",
        spec.count,
        switch::HOSTS_COUNT_MAX
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

#[cfg(test)]
mod tests;
