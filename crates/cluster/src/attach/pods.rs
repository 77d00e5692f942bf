//! Pods of attached nodes in Kubernetes: locations, names and metrics endpoints.

use crate::capability::Answer;
use anyhow::Result;
use cassandra::NodeInfo;
use kubernetes::{FoundCluster, FoundNode, FoundPod, Kubectl, NodePod, Operator};
use measure::number::counted;
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use target_spec::PodPlace;

pub(crate) const BY_CLUSTER: &str = "the API of the Kubernetes cluster, if the command line \
                                     permits it (--allow)";

pub(crate) const NO_PODS: &str = "cassay does not know that the nodes are pods; add `attach: \
     {kubernetes: {service: NAME}}` or `local: {pods: {image: NAME}}`";

/// Time limit for a connection to a metrics endpoint.
const CONNECT_LIMIT: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct Pods {
    /// By the CQL address of the node.
    all: BTreeMap<SocketAddr, PodPlace>,
    /// Ports that may be metrics endpoints, by the CQL address of the node.
    metrics: BTreeMap<SocketAddr, Vec<u16>>,
    pub operator: Option<Operator>,
}

impl Pods {
    /// Collects the pods of a discovered cluster, and on request the possible metrics ports.
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
            operator: Some(Operator::find(kubectl, &cluster.operated)),
        }
    }

    /// Names nodes after their pods, because a pod keeps its name when its address changes.
    pub fn name_nodes(&self, mut nodes: Vec<NodeInfo>) -> Vec<NodeInfo> {
        for node in &mut nodes {
            if let Some(pod) = self.all.get(&node.address) {
                node.name.clone_from(&pod.name);
                node.host.clone_from(&pod.name);
            }
        }
        nodes
    }

    /// Returns the name and the metrics endpoint of each node. The endpoint is the first port that
    /// accepts a connection. Nodes without such a port are absent. Tries all nodes in parallel.
    pub fn metrics_of(
        &self,
        nodes: &[NodeInfo],
        say: &mut dyn FnMut(&str),
    ) -> Vec<(String, SocketAddr)> {
        let end = |node: &NodeInfo| {
            let ports = self.metrics.get(&node.address)?.iter();
            let mut ends = ports.map(|port| SocketAddr::new(node.address.ip(), *port));
            let takes = |end: &SocketAddr| TcpStream::connect_timeout(end, CONNECT_LIMIT).is_ok();
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
            "cassay reads metrics of {} of {}",
            found.len(),
            counted(nodes.len(), "node")
        ));
        found
    }

    /// Returns the pod of each node, in node order. `None` for a node outside a known pod.
    ///
    /// # Errors
    /// A pod has no name.
    pub fn node_pods(&self, nodes: &[NodeInfo]) -> Result<Vec<Option<Arc<NodePod>>>> {
        let pod = |node: &NodeInfo| {
            let place = self.all.get(&node.address);
            place.map(|place| NodePod::open(place).map(Arc::new)).transpose()
        };
        nodes.iter().map(pod).collect()
    }
}

/// Returns the location of a pod. The container is empty.
pub(super) fn place(kubectl: &Kubectl, pod: &FoundPod) -> PodPlace {
    PodPlace {
        context: kubectl.context().map(str::to_owned),
        namespace: pod.namespace.clone(),
        name: pod.name.clone(),
        container: String::new(),
        node: pod.node.clone(),
    }
}

pub(super) fn every(nodes: &[NodeInfo], pods: &[Option<Arc<NodePod>>]) -> Answer {
    let others = nodes.iter().zip(pods).filter(|(_, pod)| pod.is_none());
    let names: Vec<&str> = others.map(|(node, _)| node.name.as_str()).collect();
    match names[..] {
        [] => Ok(BY_CLUSTER.to_owned()),
        _ if names.len() == nodes.len() => Err(NO_PODS.to_owned()),
        _ => Err(format!("these nodes are not pods: {}", names.join(", "))),
    }
}
