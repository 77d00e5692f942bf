//! Persistent state of hosts. Another command uses this state to end the hosts or to connect to
//! them.

use crate::undo::Undo;
use anyhow::{Context, Result, ensure};
use linux::cgroup::{self, CgroupDir};
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use std::path::{Component, Path, PathBuf};
use target_spec::{HostsSpec, RemoteHost};

/// Hosts of a cluster, in its `state.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostsState {
    /// Id of the cluster.
    pub id: String,
    /// Network of the hosts. Absent until it is created.
    pub network: Option<Ipv4Addr>,
    /// Machines that are the hosts, in order. The list is empty for simulated hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<RemoteHost>,
    /// Hosts of the cluster, in order.
    pub hosts: Vec<HostState>,
}

/// A host in `state.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostState {
    /// Name of the host, such as `host1`.
    pub name: String,
    /// Address of the host. Absent until the network of the hosts is created.
    pub address: Option<Ipv4Addr>,
    /// Mount point of the host's volume, or the host's folder if it has no volume.
    pub folder: PathBuf,
    /// Size of the host's volume in bytes. `None` if the host has no volume.
    pub volume_bytes: Option<u64>,
    /// Loop device of the host's volume. Absent until the volume is created.
    pub device: Option<String>,
    /// Directories of the host's control groups. If the command is killed, only these directories
    /// remain.
    pub places: Vec<CgroupDir>,
}

impl HostsState {
    /// Lists the objects that would outlive a killed command. The caller must write the list to
    /// disk before it creates any of these objects.
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

    /// Creates the state like [`HostsState::before`], but for remote machines. The state does not
    /// list control groups and volumes, because the guards on the machines have these lists.
    ///
    /// # Errors
    /// A machine has no folder for the state.
    pub fn for_machines(id: &str, machines: &[RemoteHost]) -> Result<HostsState> {
        let host = |(machine, number): (&RemoteHost, usize)| {
            let name = format!("host{number}");
            let no_folder = || format!("{}: the machine has no folder for clusters", machine.ssh);
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

    /// Returns the ssh names of the machines, each with the type of the machine if it is known. The
    /// list is empty for simulated hosts.
    pub fn machine_names(&self) -> Vec<String> {
        self.machines.iter().map(RemoteHost::ssh_name).collect()
    }

    /// Returns true if the hosts are remote machines.
    pub fn are_machines(&self) -> bool {
        !self.machines.is_empty()
    }

    /// Returns the undo list for the objects of the hosts that remain if the agents on this machine
    /// are killed. The list is empty for remote machines, because they have no objects on this
    /// machine.
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

    /// Checks that the state matches the result of [`HostsState::before`] for the cluster `id` in
    /// `folder`. The check is important, because cassay may run as root, removes the directories in
    /// the state, and kills the processes in its control groups.
    ///
    /// # Errors
    /// The state contains other values.
    pub fn check(&self, id: &str, folder: &Path) -> Result<()> {
        ensure!(
            self.id == id,
            "the hosts of the state belong to the cluster {:?}",
            self.id
        );
        ensure!(
            self.machines.is_empty() || self.machines.len() == self.hosts.len(),
            "the state has {} hosts on {} machines, but needs one machine for each host",
            self.hosts.len(),
            self.machines.len()
        );
        for (host, number) in self.hosts.iter().zip(1..) {
            let name = format!("host{number}");
            ensure!(
                host.name == name,
                "host {number} of the state has the unexpected name {:?}",
                host.name
            );
            // The path to the folder of all clusters may have changed since the state was written.
            // So only the end of the path is compared.
            let own = [folder.file_name(), Some(name.as_ref())];
            let mut ends = host.folder.components().rev();
            let [last, before] =
                [ends.next(), ends.next()].map(|part| part.map(Component::as_os_str));
            ensure!(
                [before, last] == own && is_plain(&host.folder),
                "the folder of {name} is {}, outside the folder of the cluster",
                host.folder.display()
            );
            let group = group_name(id, &name);
            for place in &host.places {
                ensure!(
                    place.dir.ends_with(&group) && is_plain(&place.dir) && place.dir.is_absolute(),
                    "a control group of {name} is {}, which does not belong to the cluster",
                    place.dir.display()
                );
            }
        }
        Ok(())
    }
}

/// Returns the name of the control groups of a host such as `host1`.
pub fn group_name(id: &str, host: &str) -> String {
    format!("cassay-{id}-{}", host.replacen("host", "h", 1))
}

/// Returns true if a path consists only of normal components, so that it does not contain `..`.
fn is_plain(path: &Path) -> bool {
    let mut parts = path.components();
    parts.all(|part| matches!(part, Component::Normal(_) | Component::RootDir))
}
