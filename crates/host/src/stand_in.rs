//! One stand-in for a machine: what runs on it, what limits it, where its figures are.
//!
//! What must hold: a process gets onto a host between its fork and its program, by system calls
//! alone; so no thread of ours ever changes its namespaces.

use super::able;
use super::cgroup::{CgroupDir, Group};
use super::net::{Namespace, Netlink};
use super::state::HostState;
use super::switch::{self, Switch};
use super::volume::{self, Volume, VolumeUse};
use crate::{HostSpec, LinkSpec};
use anyhow::{Context, Result};
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

/// One host.
#[derive(Debug)]
pub struct Host {
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
    pub groups: Vec<CgroupDir>,
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
        let has = |place: &&CgroupDir| place.controllers.iter().any(|name| name == controller);
        Some(&self.groups.iter().find(has)?.dir)
    }

    /// The directory of version 2, for the pressure and CPU time that it has even without
    /// controllers.
    pub fn unified(&self) -> Option<&Path> {
        Some(&self.groups.iter().find(|place| place.unified)?.dir)
    }
}

impl Host {
    /// As `state` says it, with what has been made of it.
    ///
    /// # Errors
    /// Its links cannot be talked to.
    pub(super) fn new(
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

    /// For a host whose mount namespace is not ours: where we see its folder, and the namespace.
    pub(super) fn see_from_outside(&mut self, folder: PathBuf, mounts: Arc<OwnedFd>) {
        self.folder = folder;
        self.mounts = Some(mounts);
    }

    pub(super) fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    pub(super) fn volume(&self) -> Option<&Volume> {
        self.volume.as_ref()
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

    /// Gives its link a further address, unless it has it.
    pub(super) fn add_address(&self, address: Ipv4Addr) -> Result<()> {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let given = links.host.address(switch::HOST_LINK, address);
        given.with_context(|| format!("give {} a further address", self.name))
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
        // The volume is there already, so that this process need not be able to make one.
        able::require(&HostSpec {
            volume_bytes: None,
            ..spec.clone()
        })?;
        let limit = || -> Result<()> {
            self.group.limit(spec)?;
            self.limit_link(&spec.link)
        };
        limit().with_context(|| format!("limit {}", self.name))
    }

    /// Both directions: what the switch sends to the host, and what the host sends.
    pub(super) fn limit_link(&self, link: &LinkSpec) -> Result<()> {
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
    pub(crate) fn sources(&self) -> HostSources {
        HostSources {
            groups: self.group.places().to_vec(),
            device: self.volume.as_ref().map(|one| one.device().to_string()),
            namespace: Arc::clone(&self.namespace),
        }
    }
}
