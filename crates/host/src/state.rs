//! What is written down about hosts, so that another command can end or reach them.

use crate::undo::Undo;
use anyhow::{Result, ensure};
use kernel::cgroup::{self, CgroupDir};
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use std::path::{Component, Path, PathBuf};
use target::HostsSpec;

/// The hosts of a cluster, in its `state.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostsState {
    /// The cluster's.
    pub id: String,
    /// Their network; absent until it is made.
    pub network: Option<Ipv4Addr>,
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
            places: cgroup::places(&hierarchies, &format!("cassay-{id}-h{number}")),
        };
        Ok(HostsState {
            id: id.to_string(),
            network: None,
            hosts: (1..=spec.count).map(host).collect(),
        })
    }

    /// What of the hosts would outlive a machine's agents that were killed.
    pub(crate) fn undo(&self) -> Vec<Undo> {
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
            let group = format!("cassay-{id}-h{number}");
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

/// Whether a path goes only down.
fn is_plain(path: &Path) -> bool {
    let mut parts = path.components();
    parts.all(|part| matches!(part, Component::Normal(_) | Component::RootDir))
}
