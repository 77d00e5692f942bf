//! What is written down about hosts, so that another command can end or reach them.

use crate::undo::Undo;
use anyhow::{Context, Result, ensure};
use kernel::cgroup::{self, CgroupDir};
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use std::path::{Component, Path, PathBuf};
use target::{HostsSpec, RemoteHost};

/// The hosts of a cluster, in its `state.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostsState {
    /// The cluster's.
    pub id: String,
    /// Their network; absent until it is made.
    pub network: Option<Ipv4Addr>,
    /// The machines that they are, in order; none: stand-ins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<RemoteHost>,
    /// In order.
    pub hosts: Vec<HostState>,
}

/// One host in `state.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostState {
    /// `host1`.
    pub name: String,
    /// Absent until its network is made.
    pub address: Option<Ipv4Addr>,
    /// Its volume's mount point, or its plain folder.
    pub folder: PathBuf,
    /// Size of its volume; none without one.
    pub volume_bytes: Option<u64>,
    /// Its loop device; absent until it is made.
    pub device: Option<String>,
    /// The directories of its control groups: all that outlives a killed command.
    pub places: Vec<CgroupDir>,
}

impl HostsState {
    /// What will outlive us if we are killed, before any of it is made: to be written down first.
    ///
    /// # Errors
    /// The control groups of this machine cannot be read.
    pub fn before(id: &str, spec: &HostsSpec, folder: &Path) -> Result<HostsState> {
        let hierarchies = cgroup::hierarchies()?;
        let host = |number: usize| HostState {
            name: format!("host{number}"),
            address: None,
            folder: folder.join(format!("host{number}")),
            volume_bytes: spec.host.volume_bytes,
            device: None,
            places: cgroup::places(&hierarchies, &group_name(id, &format!("host{number}"))),
        };
        Ok(HostsState {
            id: id.to_string(),
            network: None,
            machines: Vec::new(),
            hosts: (1..=spec.count).map(host).collect(),
        })
    }

    /// The same of machines. What will be of their control groups and volumes, their guards know.
    ///
    /// # Errors
    /// A machine has no folder for it.
    pub fn of_machines(id: &str, machines: &[RemoteHost]) -> Result<HostsState> {
        let host = |(machine, number): (&RemoteHost, usize)| {
            let name = format!("host{number}");
            let no_folder = || format!("{}: it has no folder", machine.ssh);
            let folder = machine.folder.as_ref().with_context(no_folder)?;
            Ok(HostState {
                folder: folder.join(id).join(&name),
                name,
                address: machine.address,
                volume_bytes: None,
                device: None,
                places: Vec::new(),
            })
        };
        Ok(HostsState {
            id: id.to_string(),
            network: None,
            machines: machines.to_vec(),
            hosts: machines.iter().zip(1..).map(host).collect::<Result<_>>()?,
        })
    }

    /// What ssh knows them by, where they are machines, each with its type where that was said.
    pub fn machine_names(&self) -> Vec<String> {
        self.machines.iter().map(RemoteHost::named).collect()
    }

    /// Whether they are machines of their own.
    pub fn are_machines(&self) -> bool {
        !self.machines.is_empty()
    }

    /// What of the hosts would outlive a machine's agents that were killed; nothing here of other
    /// machines.
    pub(crate) fn undo(&self) -> Vec<Undo> {
        if self.are_machines() {
            return Vec::new();
        }
        let of_host = |host: &HostState| {
            [
                Undo::Volume(host.folder.clone()),
                Undo::Groups(host.places.clone()),
                Undo::Thaw(host.folder.clone()),
            ]
        };
        self.hosts.iter().flat_map(of_host).collect()
    }

    /// Makes sure that what is written down is what [`HostsState::before`] names for the cluster
    /// `id` in `folder`: its directories are removed, and the processes in its control groups
    /// killed, as root.
    ///
    /// # Errors
    /// It names anything else.
    pub fn check(&self, id: &str, folder: &Path) -> Result<()> {
        ensure!(self.id == id, "its hosts are those of {:?}", self.id);
        ensure!(
            self.machines.is_empty() || self.machines.len() == self.hosts.len(),
            "it has {} hosts on {} machines",
            self.hosts.len(),
            self.machines.len()
        );
        for (host, number) in self.hosts.iter().zip(1..) {
            let name = format!("host{number}");
            ensure!(
                host.name == name,
                "its host {number} is called {:?}",
                host.name
            );
            // The folder of all clusters may be reached by another path than then.
            let own = [folder.file_name(), Some(name.as_ref())];
            let mut ends = host.folder.components().rev();
            let [last, before] =
                [ends.next(), ends.next()].map(|part| part.map(Component::as_os_str));
            ensure!(
                [before, last] == own && is_plain(&host.folder),
                "the folder of {name} is {}",
                host.folder.display()
            );
            let group = group_name(id, &name);
            for place in &host.places {
                ensure!(
                    place.dir.ends_with(&group) && is_plain(&place.dir) && place.dir.is_absolute(),
                    "a control group of {name} is {}",
                    place.dir.display()
                );
            }
        }
        Ok(())
    }
}

/// The name of the control groups of a host, which is called `host1`.
pub fn group_name(id: &str, host: &str) -> String {
    format!("cassay-{id}-{}", host.replacen("host", "h", 1))
}

/// Whether a path goes only down.
fn is_plain(path: &Path) -> bool {
    let mut parts = path.components();
    parts.all(|part| matches!(part, Component::Normal(_) | Component::RootDir))
}
