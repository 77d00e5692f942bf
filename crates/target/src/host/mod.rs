//! Stand-ins for machines: a network namespace on a switch, control groups and a volume each.
//!
//! What must hold: everything is held by descriptors and mounts that go with this process and its
//! children, however they end. Only directories outlive them, of control groups and in the
//! cluster's folder: they are listed by [`HostsState::before`] before the first is made, and
//! [`Hosts::clear`] removes them. In the machine's own namespaces there is one link end per
//! cluster and no mount.

mod able;
mod cgroup;
mod holder;
mod message;
mod net;
mod state;
mod switch;
#[cfg(test)]
mod tests;
mod volume;

pub use able::{Able, HostAbility, abilities};
pub use volume::{VolumeUse, separate_mounts};

pub(crate) use cgroup::Place;
pub(crate) use state::{HostState, HostsState};

use crate::spec::{HostSpec, HostsSpec, LinkSpec};
use anyhow::{Context, Result};
use cgroup::Group;
use net::{Namespace, Netlink};
use rustix::fd::{AsFd, OwnedFd};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::File;
use std::net::Ipv4Addr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use switch::Switch;
use volume::Volume;

/// The hosts of one cluster. Dropping them ends them, unless they are kept.
#[derive(Debug)]
pub(crate) struct Hosts {
    state: HostsState,
    switch: Switch,
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
        let mut hosts = Hosts {
            state,
            switch,
            hosts: Vec::new(),
            ours: true,
        };
        for number in 1..=spec.count {
            let host = hosts.make_host(number, &spec.host);
            let host = host.with_context(|| format!("make host{number}"))?;
            hosts.hosts.push(host);
        }
        say(&format!(
            "{} hosts in the network {}/{}",
            spec.count,
            hosts.switch.network,
            net::PREFIX
        ));
        hosts.warn(say);
        Ok(hosts)
    }

    fn make_host(&mut self, number: usize, spec: &HostSpec) -> Result<Host> {
        let state = &mut self.state.hosts[number - 1];
        let namespace = Namespace::new()?;
        self.switch.plug(number, &namespace)?;
        state.address = Some(self.switch.address(number));
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
        let host = Host::new(state, number, namespace, &self.switch, group, volume)?;
        host.limit_link(&spec.link)?;
        Ok(host)
    }

    /// What is not as it should be, though the hosts work.
    fn warn(&self, say: &mut dyn FnMut(&str)) {
        for host in &self.hosts {
            if host.volume.as_ref().is_some_and(|one| !one.is_direct()) {
                say(&format!(
                    "{}: the file system of {} cannot pass the machine's page cache by, so data is \
                     cached twice: in the host's memory and outside",
                    host.name,
                    host.folder.display()
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

    /// The address of the node in `slot` of the host at `index`, both counted from 0: the host's own
    /// for the first, a further one of its link for others, which it gets now.
    ///
    /// # Errors
    /// The network has no more, or the kernel refuses.
    pub fn address(&self, index: usize, slot: usize) -> Result<Ipv4Addr> {
        let host = self.hosts.get(index).context("there is no such host")?;
        if slot == 0 {
            return Ok(host.address);
        }
        let number = slot * self.hosts.len() + index + 1;
        anyhow::ensure!(
            number <= switch::HOSTS_COUNT_MAX,
            "a network has {} addresses for nodes, and number {number} is asked for",
            switch::HOSTS_COUNT_MAX
        );
        let address = self.switch.address(number);
        let mut links = host.links.lock().unwrap_or_else(PoisonError::into_inner);
        links
            .host
            .address(switch::HOST_LINK, address)
            .with_context(|| format!("give {} the address {address}", host.name))?;
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
            if let Some(volume) = &host.volume {
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
        let namespaces: Vec<&Namespace> = self.hosts.iter().map(|host| &*host.namespace).collect();
        let holder = holder::start(&self.state.id, &self.switch.namespace, &namespaces)?;
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
            let volume = known
                .device
                .as_ref()
                .map(|device| Volume::of(known.folder.clone(), device.clone()));
            let mut host = Host::new(known, at + 1, namespace, &switch, group, volume)?;
            host.folder = holder.path(&known.folder);
            host.mounts = Some(Arc::clone(&mounts));
            hosts.push(host);
        }
        Ok(Hosts {
            state: state.clone(),
            switch,
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

/// One host.
#[derive(Debug)]
pub(crate) struct Host {
    name: String,
    address: Ipv4Addr,
    /// Where we see its files, and where its processes see them.
    folder: PathBuf,
    folder_inside: PathBuf,
    namespace: Arc<Namespace>,
    /// The mount namespace of its processes, where it is not ours.
    mounts: Option<Arc<OwnedFd>>,
    links: Mutex<Links>,
    group: Group,
    volume: Option<Volume>,
    volume_bytes: Option<u64>,
}

/// Both ends of a host's link.
#[derive(Debug)]
struct Links {
    host: Netlink,
    switch: Netlink,
    port: String,
}

/// Where the figures of a host are.
#[derive(Clone, Debug)]
pub(crate) struct HostSources {
    /// Its control groups; each says which controllers it has.
    pub groups: Vec<Place>,
    /// The name of its volume's device in `/proc/diskstats`; none without a volume.
    pub device: Option<String>,
    namespace: Arc<Namespace>,
}

impl HostSources {
    /// A file below `/proc/net` as the host has it: `dev`, `snmp`, `netstat`, `sockstat`. Opened
    /// once it can be read for ever, whatever runs on the host.
    ///
    /// # Errors
    /// There is no such file.
    pub fn proc_net(&self, name: &str) -> Result<File> {
        self.namespace.proc_net(name)
    }

    /// The directory of a controller of version 1, or the one of version 2 that has it.
    pub fn group(&self, controller: &str) -> Option<&Path> {
        let has = |place: &&Place| place.controllers.iter().any(|name| name == controller);
        Some(&self.groups.iter().find(has)?.dir)
    }

    /// The directory of version 2, for the pressure and CPU time that it has even without
    /// controllers.
    pub fn unified(&self) -> Option<&Path> {
        Some(&self.groups.iter().find(|place| place.unified)?.dir)
    }
}

impl Host {
    fn new(
        state: &HostState,
        number: usize,
        namespace: Namespace,
        switch: &Switch,
        group: Group,
        volume: Option<Volume>,
    ) -> Result<Host> {
        let links = Links {
            host: namespace.socket()?,
            switch: switch.namespace.socket()?,
            port: switch::port(number),
        };
        Ok(Host {
            name: state.name.clone(),
            address: switch.address(number),
            folder: state.folder.clone(),
            folder_inside: state.folder.clone(),
            namespace: Arc::new(namespace),
            mounts: None,
            links: Mutex::new(links),
            group,
            volume,
            volume_bytes: state.volume_bytes,
        })
    }

    /// `host1`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its address, which answers on this machine and on all hosts of the cluster.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Its volume's mount point, or its plain folder without a volume, as we see it.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The same folder as processes on the host see it; another path for kept hosts only.
    pub fn folder_inside(&self) -> &Path {
        &self.folder_inside
    }

    /// Lets the child of `command` start on this host. A working folder must be set before: it is
    /// kept, and it is one of the host's paths.
    ///
    /// # Errors
    /// The host is gone.
    pub fn enter(&self, command: &mut Command) -> Result<()> {
        let doors = self.group.doors()?;
        let namespace = Arc::clone(&self.namespace);
        let mounts = self.mounts.clone();
        let folder = match command.get_current_dir() {
            Some(folder) if mounts.is_some() => {
                Some(CString::new(folder.as_os_str().as_bytes()).context("a folder with a zero")?)
            }
            _ => None,
        };
        let enter = move || {
            for door in &doors {
                // To the kernel, "0" is the process that writes it.
                rustix::io::write(door, b"0")?;
            }
            let network = Some(LinkNameSpaceType::Network);
            move_into_link_name_space((*namespace).as_fd(), network)?;
            if let Some(mounts) = &mounts {
                move_into_link_name_space(mounts.as_fd(), Some(LinkNameSpaceType::Mount))?;
            }
            if let Some(folder) = &folder {
                rustix::process::chdir(folder.as_c_str())?;
            }
            Ok(())
        };
        // SAFETY: between fork and exec only system calls are made: no allocation, no lock.
        unsafe { command.pre_exec(enter) };
        Ok(())
    }

    /// Changes the limits of this host while it runs. Its volume stays as it is.
    ///
    /// # Errors
    /// This machine cannot do it (then the limits may be partly changed), or another size of the
    /// volume is asked for.
    pub fn set_limits(&mut self, spec: &HostSpec) -> Result<()> {
        anyhow::ensure!(
            spec.volume_bytes == self.volume_bytes,
            "{}: the size of a volume is fixed when its host is made; start the cluster anew",
            self.name
        );
        able::require(spec)?;
        let limit = || -> Result<()> {
            self.group.limit(spec)?;
            self.limit_link(&spec.link)
        };
        limit().with_context(|| format!("limit {}", self.name))
    }

    /// Both directions: what the switch sends to the host, and what the host sends.
    fn limit_link(&self, link: &LinkSpec) -> Result<()> {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let port = links.port.clone();
        links.switch.limit(&port, link)?;
        links.host.limit(switch::HOST_LINK, link)
    }

    /// The limits that the kernel has for this host: `cpus` (a list), `cpu_quota` (cores),
    /// `memory` (bytes), `link_rate` (bit/s) and `link_delay` (ns, one way). What is not limited is
    /// absent, but for `cpus`.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn limits(&self) -> Result<BTreeMap<String, String>> {
        let mut limits = self.group.limits()?;
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let port = links.port.clone();
        let (to, from) = (
            links.switch.limits(&port)?,
            links.host.limits(switch::HOST_LINK)?,
        );
        anyhow::ensure!(
            to == from,
            "{}: its link is limited to {to:?} towards it and {from:?} from it",
            self.name
        );
        if let Some(rate) = to.rate_bits_per_s {
            limits.insert("link_rate".to_string(), rate.to_string());
        }
        if let Some(delay) = to.delay {
            limits.insert("link_delay".to_string(), delay.as_nanos().to_string());
        }
        Ok(limits)
    }

    /// Writes what is written but not on its volume yet, then drops the page cache that is charged
    /// to this host, while its processes run on. Files that another host or program has read first
    /// are charged to that one.
    ///
    /// # Errors
    /// The kernel cannot do it.
    pub fn drop_page_cache(&self) -> Result<()> {
        let flush = || -> Result<()> {
            let folder = File::open(&self.folder)?;
            rustix::fs::syncfs(&folder)?;
            Ok(())
        };
        flush()
            .and_then(|()| self.group.drop_cache())
            .with_context(|| format!("drop the page cache of {}", self.name))
    }

    /// The space of its volume; without one, of the file system that its folder is on.
    ///
    /// # Errors
    /// The folder is gone.
    pub fn usage(&self) -> Result<VolumeUse> {
        volume::usage(&self.folder)
    }

    /// Whether it has a volume of its own.
    pub fn has_volume(&self) -> bool {
        self.volume.is_some()
    }

    /// Where its figures are.
    pub fn sources(&self) -> HostSources {
        HostSources {
            groups: self.group.places().to_vec(),
            device: self.volume.as_ref().map(|one| one.device().to_string()),
            namespace: Arc::clone(&self.namespace),
        }
    }
}
