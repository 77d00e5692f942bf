//! How one gets to a machine, or to a pod, as a target names it.

use anyhow::{Context, Result};
use reach::{Destination, Pod};
use std::net::IpAddr;
use target::{NODE_FOLDER, RemoteHost};

/// How a machine is reached.
///
/// # Errors
/// Its name is none for ssh, or its folder is no plain path.
pub fn destination(machine: &RemoteHost) -> Result<Destination> {
    let folder = match &machine.folder {
        Some(folder) => Some(folder.to_str().context("a folder that is no Unicode")?),
        None => None,
    };
    let Some(pod) = &machine.pod else {
        return Destination::new(&machine.ssh, machine.sudo, folder);
    };
    let there = Pod {
        context: pod.context.clone(),
        namespace: pod.namespace.clone(),
        name: pod.name.clone(),
        container: pod.container.clone(),
        node: pod.node.clone(),
        address: machine.address.map(IpAddr::V4),
    };
    Destination::of_pod(there, folder.unwrap_or(NODE_FOLDER))
}
