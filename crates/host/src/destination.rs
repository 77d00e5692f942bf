//! Converts the names of machines and pods in a target to destinations of agents.

use anyhow::{Context, Result};
use remote::{Destination, Pod};
use std::net::IpAddr;
use target_spec::{NODE_FOLDER, RemoteHost};

/// Returns the destination of a machine.
///
/// # Errors
/// The name of the machine is invalid for ssh, or its folder is not a plain path.
pub fn destination(machine: &RemoteHost) -> Result<Destination> {
    let folder = match &machine.folder {
        Some(folder) => {
            Some(folder.to_str().context("read the path of the folder: it is not Unicode")?)
        }
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
    Destination::from_pod(there, folder.unwrap_or(NODE_FOLDER))
}
