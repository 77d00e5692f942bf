//! Values of the keys of a study that concern Kubernetes.

use super::{Client, ClientPods, Draft};
use target_spec::{KubernetesCluster, KubernetesOwner, NodePods, PodAgents};

#[derive(Clone, Debug, Default)]
pub(crate) struct KubernetesDraft {
    pub(crate) context: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) owner: Option<KubernetesOwner>,
    pub(crate) secret: Option<String>,
    pub(crate) agents: Option<PodAgents>,
    pub(crate) metrics: Vec<String>,
}

impl KubernetesDraft {
    pub(crate) fn cluster(&self) -> Option<KubernetesCluster> {
        Some(KubernetesCluster {
            context: self.context.clone(),
            namespace: self.namespace.clone(),
            owner: self.owner.clone()?,
            secret: self.secret.clone(),
            agents: self.agents.clone(),
            metrics: self.metrics.clone(),
        })
    }
}

impl Draft {
    pub(crate) fn pod_agents(&mut self) -> &mut PodAgents {
        self.attached_kubernetes.agents.get_or_insert_default()
    }

    pub(crate) fn in_kubernetes(&mut self, owner: KubernetesOwner) {
        self.attached_kubernetes.owner = Some(owner);
    }

    pub(crate) fn node_pods(&mut self) -> &mut NodePods {
        self.hosts.pods.get_or_insert_default()
    }

    pub(crate) fn pods(&mut self) -> &mut ClientPods {
        self.client.kubernetes.get_or_insert_default()
    }

    /// Returns the client settings, in which pods count as machines.
    pub(crate) fn client(&self) -> Client {
        let pods = self.client.kubernetes.iter().flat_map(ClientPods::machines);
        Client {
            machines: self.client.machines.iter().cloned().chain(pods).collect(),
            ..self.client.clone()
        }
    }
}
