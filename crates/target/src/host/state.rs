//! What is written down about hosts, so that another command can end or reach them.

use super::cgroup::{self, Place};
use crate::process::Identity;
use crate::spec::HostsSpec;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// The hosts of a cluster, in its `state.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HostsState {
    /// The cluster's.
    pub id: String,
    /// Their network; absent until it is made.
    pub network: Option<Ipv4Addr>,
    /// The process that holds kept hosts.
    pub holder: Option<Identity>,
    pub hosts: Vec<HostState>,
}

/// One host in `state.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HostState {
    pub name: String,
    /// Absent until its network is made.
    pub address: Option<Ipv4Addr>,
    /// Its volume's mount point, or its plain folder.
    pub folder: PathBuf,
    pub volume_bytes: Option<u64>,
    /// Its loop device; absent until it is made.
    pub device: Option<String>,
    /// The directories of its control groups: all that outlives a killed command.
    pub places: Vec<Place>,
    /// The descriptor by which the holder has its network.
    pub namespace_fd: Option<i32>,
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
            namespace_fd: None,
        };
        Ok(HostsState {
            id: id.to_string(),
            network: None,
            holder: None,
            hosts: (1..=spec.count).map(host).collect(),
        })
    }
}
