//! A cluster that Kubernetes describes: what is said of it there, in the place of its description.

use super::pods::{self, Pods};
use anyhow::{Context, Result};
use kubernetes::{FoundNode, Kubectl};
use measure::number::counted;
use std::net::IpAddr;
use std::path::PathBuf;
use target::{
    AttachSpec, AttachedHost, KubernetesCluster, PodAgents, PodPlace, RemoteHost, SecretSource,
};

/// Where the program is put in containers of others when nobody says another place.
const FOLDER: &str = "/tmp/cassay";

/// The same cluster by its contact points, its data center, its credentials and its pods.
///
/// # Errors
/// It is not there, none of its nodes is ready, or something of it may not be read.
pub(super) fn spec(
    spec: &AttachSpec,
    there: &KubernetesCluster,
    say: &mut dyn FnMut(&str),
) -> Result<(AttachSpec, Pods)> {
    let kubectl = Kubectl::new(there.context.as_deref(), there.namespace.as_deref())?;
    let found = kubernetes::find(&kubectl, &there.owner, there.secret.as_deref())
        .with_context(|| format!("ask Kubernetes for {}", there.owner.words()))?;
    say(&format!(
        "{} has {} that are ready",
        there.owner.words(),
        counted(found.nodes.len(), "node")
    ));
    let only = match &found.datacenters[..] {
        [one] => Some(one.clone()),
        _ => None,
    };
    let hosts = match &there.agents {
        Some(agents) => found.nodes.iter().map(|node| host(&kubectl, node, agents)).collect(),
        None => Ok(Vec::new()),
    };
    let pods = Pods::found(&kubectl, &found.nodes);
    let (user, password) = found.credentials.unzip();
    let spec = AttachSpec {
        contact_points: found.nodes.iter().map(|node| node.point.to_string()).collect(),
        kubernetes: None,
        user,
        password: password.map(SecretSource::Held),
        datacenter: spec.datacenter.clone().or(only),
        hosts: hosts?,
        ..spec.clone()
    };
    Ok((spec, pods))
}

/// What stands for all of its pods before they are looked for.
pub(crate) fn placeholder(agents: &PodAgents) -> AttachedHost {
    AttachedHost {
        remote: RemoteHost {
            ssh: "the pods".to_owned(),
            ..RemoteHost::default()
        },
        addresses: Vec::new(),
        control: None,
        logs: agents.logs.clone(),
        data: agents.data.clone(),
    }
}

/// The pod of a node as a machine of it.
fn host(kubectl: &Kubectl, node: &FoundNode, agents: &PodAgents) -> Result<AttachedHost> {
    let no_pod = || format!("{} is no pod: no agent can be started there", node.point);
    let pod = node.pod.as_ref().with_context(no_pod)?;
    let container = match &agents.container {
        Some(name) => name.clone(),
        None => kubernetes::default_container(kubectl, pod)?,
    };
    let address = match node.point.ip() {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    };
    Ok(AttachedHost {
        remote: RemoteHost {
            ssh: pod.name.clone(),
            folder: Some(agents.folder.clone().unwrap_or_else(|| PathBuf::from(FOLDER))),
            address,
            pod: Some(PodPlace {
                container,
                ..pods::place(kubectl, pod)
            }),
            ..RemoteHost::default()
        },
        addresses: vec![node.point.ip()],
        control: None,
        logs: agents.logs.clone(),
        data: agents.data.clone(),
    })
}
