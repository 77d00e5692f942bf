//! The pods that nodes of others are, where Kubernetes has told of them: by what they are called,
//! and taken away or cut off.

use crate::capability::Answer;
use crate::node::NodeInfo;
use anyhow::Result;
use kubernetes::{FoundCluster, FoundNode, FoundPod, Kubectl, NodePod, Operator};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use target::PodPlace;

/// By what they are taken away and cut off.
pub(crate) const BY_CLUSTER: &str = "by the cluster that they are in, where the command line \
                                     allows it";

/// Why there are none.
pub(crate) const NO_PODS: &str = "nothing says that the nodes are pods; \
     `attach: {kubernetes: {service: NAME}}` would";

/// Pods, and who makes them.
#[derive(Debug, Default)]
pub(crate) struct Pods {
    /// By where they answer CQL.
    all: BTreeMap<SocketAddr, PodPlace>,
    /// Where they offer metrics, likewise.
    metrics: BTreeMap<SocketAddr, u16>,
    /// Where there are some.
    pub operator: Option<Operator>,
}

impl Pods {
    /// Those of nodes as the cluster has told of them.
    pub fn found(kubectl: &Kubectl, cluster: &FoundCluster) -> Pods {
        let pod = |node: &FoundNode| Some((node.point, place(kubectl, node.pod.as_ref()?)));
        Pods {
            all: cluster.nodes.iter().filter_map(pod).collect(),
            metrics: cluster
                .nodes
                .iter()
                .filter_map(|node| Some((node.point, node.metrics_port?)))
                .collect(),
            operator: Some(Operator::of(kubectl, &cluster.operated)),
        }
    }

    /// Nodes with the names of their pods, which stay when addresses do not.
    pub fn named(&self, mut nodes: Vec<NodeInfo>) -> Vec<NodeInfo> {
        for node in &mut nodes {
            if let Some(pod) = self.all.get(&node.address) {
                node.name.clone_from(&pod.name);
                node.host.clone_from(&pod.name);
            }
        }
        nodes
    }

    /// Where nodes offer metrics: each by its name.
    pub fn metrics_of(&self, nodes: &[NodeInfo]) -> Vec<(String, SocketAddr)> {
        let end = |node: &NodeInfo| {
            let port = self.metrics.get(&node.address)?;
            Some((node.name.clone(), SocketAddr::new(node.address.ip(), *port)))
        };
        nodes.iter().filter_map(end).collect()
    }

    /// The pod of each node, in their order.
    ///
    /// # Errors
    /// One has no name.
    pub fn of_nodes(&self, nodes: &[NodeInfo]) -> Result<Vec<Option<Arc<NodePod>>>> {
        let pod = |node: &NodeInfo| {
            let place = self.all.get(&node.address);
            place.map(|place| NodePod::of(place).map(Arc::new)).transpose()
        };
        nodes.iter().map(pod).collect()
    }
}

/// Where a pod is, of which no container is meant.
pub(super) fn place(kubectl: &Kubectl, pod: &FoundPod) -> PodPlace {
    PodPlace {
        context: kubectl.context().map(str::to_owned),
        namespace: pod.namespace.clone(),
        name: pod.name.clone(),
        container: String::new(),
        node: pod.node.clone(),
    }
}

/// Whether every node is a pod.
pub(super) fn every(nodes: &[NodeInfo], pods: &[Option<Arc<NodePod>>]) -> Answer {
    let others = nodes.iter().zip(pods).filter(|(_, pod)| pod.is_none());
    let names: Vec<&str> = others.map(|(node, _)| node.name.as_str()).collect();
    match names[..] {
        [] => Ok(BY_CLUSTER.to_owned()),
        _ if names.len() == nodes.len() => Err(NO_PODS.to_owned()),
        _ => Err(format!("these nodes are no pods: {}", names.join(", "))),
    }
}
