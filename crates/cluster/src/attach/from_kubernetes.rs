//! Discovers an attached cluster in Kubernetes, and completes its spec.

use super::pods::{self, Pods};
use anyhow::{Context, Result};
use kubernetes::{FoundCluster, FoundNode, Kubectl};
use measure::number::counted;
use std::net::IpAddr;
use std::path::PathBuf;
use target_spec::{
    AttachSpec, AttachedHost, KubernetesCluster, PodAgents, PodPlace, RemoteHost, SecretSource,
};

/// Default folder in attached pods' containers, to which cassay copies its program.
const FOLDER: &str = "/tmp/cassay";

/// Completes the spec with contact points, data center, credentials and pods from Kubernetes.
///
/// # Errors
/// The cluster does not exist, no node is ready, or the user may not read a required object.
pub(super) fn spec(
    spec: &AttachSpec,
    there: &KubernetesCluster,
    say: &mut dyn FnMut(&str),
) -> Result<(AttachSpec, Pods)> {
    let kubectl = Kubectl::new(there.context.as_deref(), there.namespace.as_deref())?;
    let found = kubernetes::find(&kubectl, &there.owner, there.secret.as_deref())
        .with_context(|| format!("request {} from Kubernetes", there.owner.words()))?;
    say(&format!(
        "{} has {} that are ready to serve",
        there.owner.words(),
        counted(found.nodes.len(), "node")
    ));
    let only = match &found.datacenters[..] {
        [one] => Some(one.clone()),
        _ => None,
    };
    for sentence in offers(&found, there) {
        say(&sentence);
    }
    let hosts = match &there.agents {
        Some(agents) => found.nodes.iter().map(|node| host(&kubectl, node, agents)).collect(),
        None => Ok(Vec::new()),
    };
    let pods = Pods::found(&kubectl, &found, !there.metrics.is_empty());
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

/// Returns hints about ports of the pods that the study could also use.
fn offers(found: &FoundCluster, there: &KubernetesCluster) -> Vec<String> {
    let first = |of: fn(&FoundNode) -> Option<u16>| found.nodes.iter().find_map(of);
    let offered = first(|node| node.metrics_ports.first().copied());
    let metrics = offered.filter(|_| there.metrics.is_empty()).map(|port| {
        format!(
            "the pods may provide metrics on port {port}; set `metrics` of \
             `target.attach.kubernetes` to read them"
        )
    });
    let management = first(|node| node.management_port).map(|port| {
        format!("the pods have a management API on port {port}, which cassay does not use")
    });
    metrics.into_iter().chain(management).collect()
}

/// Returns a host that represents all pods until cassay has discovered them.
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

fn host(kubectl: &Kubectl, node: &FoundNode, agents: &PodAgents) -> Result<AttachedHost> {
    let no_pod = || {
        format!(
            "{} is not a pod, so cassay cannot start an agent in it",
            node.point
        )
    };
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
