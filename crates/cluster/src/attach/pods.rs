//! The pods that nodes of others are, where Kubernetes has told of them: by what they are called,
//! and taken away or cut off.

use crate::capability::Answer;
use crate::node::NodeInfo;
use anyhow::Result;
use kubernetes::{FoundCluster, FoundNode, FoundPod, Kubectl, NodePod, Operator};
use measure::number::counted;
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use target::PodPlace;

/// By what they are taken away and cut off.
pub(crate) const BY_CLUSTER: &str = "by the cluster that they are in, where the command line \
                                     allows it";

/// Why there are none.
pub(crate) const NO_PODS: &str = "nothing says that the nodes are pods; \
     `attach: {kubernetes: {service: NAME}}` or `local: {pods: {image: NAME}}` would";

/// How long a metrics end point may take to take a connection.
const TAKEN_WITHIN: Duration = Duration::from_secs(1);

/// Pods, and who makes them.
#[derive(Debug, Default)]
pub(crate) struct Pods {
    /// By where they answer CQL.
    all: BTreeMap<SocketAddr, PodPlace>,
    /// Where they may offer metrics, likewise.
    metrics: BTreeMap<SocketAddr, Vec<u16>>,
    /// Where there are some.
    pub operator: Option<Operator>,
}

impl Pods {
    /// Those of nodes as the cluster has told of them; with where they offer metrics, if that is
    /// wanted.
    pub fn found(kubectl: &Kubectl, cluster: &FoundCluster, wants_metrics: bool) -> Pods {
        let pod = |node: &FoundNode| Some((node.point, place(kubectl, node.pod.as_ref()?)));
        Pods {
            all: cluster.nodes.iter().filter_map(pod).collect(),
            metrics: cluster
                .nodes
                .iter()
                .filter(|_| wants_metrics)
                .map(|node| (node.point, node.metrics_ports.clone()))
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

    /// Where nodes offer metrics, each by its name: at the first port of theirs that takes a
    /// connection. All are tried at once.
    pub fn metrics_of(
        &self,
        nodes: &[NodeInfo],
        say: &mut dyn FnMut(&str),
    ) -> Vec<(String, SocketAddr)> {
        let end = |node: &NodeInfo| {
            let ports = self.metrics.get(&node.address)?.iter();
            let mut ends = ports.map(|port| SocketAddr::new(node.address.ip(), *port));
            let takes = |end: &SocketAddr| TcpStream::connect_timeout(end, TAKEN_WITHIN).is_ok();
            Some((node.name.clone(), ends.find(takes)?))
        };
        if self.metrics.is_empty() {
            return Vec::new();
        }
        let found: Vec<_> = std::thread::scope(|scope| {
            let tried: Vec<_> = nodes.iter().map(|node| scope.spawn(|| end(node))).collect();
            let ends = tried.into_iter().map(|tried| match tried.join() {
                Ok(end) => end,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            ends.flatten().collect()
        });
        say(&format!(
            "metrics are read of {} of {}",
            found.len(),
            counted(nodes.len(), "node")
        ));
        found
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
