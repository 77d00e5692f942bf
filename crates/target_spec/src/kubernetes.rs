//! Kubernetes settings of a target: an attached cluster, or pods for managed nodes. This module
//! also checks names as Kubernetes does.

use crate::host::RemoteHost;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Kubernetes resource that describes a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KubernetesOwner {
    /// A K8ssandraCluster, with all of its data centers in the namespace.
    K8ssandra(String),
    /// A CassandraDatacenter that cass-operator manages.
    CassOperator(String),
    /// A service, regardless of how it was created.
    Service(String),
}

impl KubernetesOwner {
    /// Describes the resource, for example as `the CassandraDatacenter dc1`.
    pub fn words(&self) -> String {
        match self {
            KubernetesOwner::K8ssandra(name) => format!("the K8ssandraCluster {name}"),
            KubernetesOwner::CassOperator(name) => format!("the CassandraDatacenter {name}"),
            KubernetesOwner::Service(name) => format!("the service {name}"),
        }
    }
}

/// Location of an attached cluster in Kubernetes, and settings for the access to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubernetesCluster {
    /// Context in kubectl's configuration. `None` means the current context.
    pub context: Option<String>,
    /// Namespace of the cluster. `None` means the namespace of the context.
    pub namespace: Option<String>,
    /// Resource that describes the cluster.
    pub owner: KubernetesOwner,
    /// Name of the secret with `username` and `password`. `None` means the secret that the
    /// cluster's operator creates.
    pub secret: Option<String>,
    /// Agents that cassay starts in the pods of the cluster. `None` if it does not start agents.
    pub agents: Option<PodAgents>,
    /// Names of the series that cassay reads from the metrics endpoints of the pods. In a name, `*`
    /// matches any text. If the list is empty, cassay does not read the endpoints.
    pub metrics: Vec<String>,
}

/// Agents that cassay runs in the pods of an attached cluster, with the folders that they use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodAgents {
    /// Container in which the node runs. `None` means the default container of the pod.
    pub container: Option<String>,
    /// Folder for the program and the other files of the agent. `None` means `/tmp`.
    pub folder: Option<PathBuf>,
    /// Folder with the logs of the node, which cassay only reads. `None` if the study does not name
    /// it.
    pub logs: Option<PathBuf>,
    /// Folder with the data of the node. `None` if the study does not name it. cassay reads only
    /// the settings of the disk that contains the folder.
    pub data: Option<PathBuf>,
}

/// Pods in which managed nodes run, with one node in each pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePods {
    /// Context in kubectl's configuration. `None` means the current context.
    pub context: Option<String>,
    /// Namespace of the pods. `None` means the namespace of the context.
    pub namespace: Option<String>,
    /// CPU request and CPU limit of each pod, in thousandths of a CPU.
    pub millicpus: u32,
    /// Memory request and memory limit of each pod, in bytes.
    pub memory_bytes: u64,
    /// Image of the container. It must contain a shell, and a Java on which Cassandra runs.
    pub image: String,
    /// Size of the volume of each pod, in bytes. If it is `None`, the data is in a folder of the
    /// pod's Kubernetes node.
    pub volume_bytes: Option<u64>,
    /// Storage class of the volumes. `None` means the default class of the Kubernetes cluster.
    pub storage_class: Option<String>,
    /// True if each pod must run on a separate Kubernetes node.
    pub one_per_node: bool,
    /// Machine type of the Kubernetes nodes on which the pods are scheduled. If it is `None`, the
    /// pods may run on any machine type.
    pub machine_type: Option<String>,
}

impl NodePods {
    /// Returns placeholders for `count` pods, which cassay uses until the pods run. A placeholder
    /// has only a number and a separate folder.
    pub fn numbered(&self, count: usize) -> Vec<RemoteHost> {
        let one = |number: usize| RemoteHost {
            ssh: format!("pod {number}"),
            folder: Some(NODE_FOLDER.into()),
            ..RemoteHost::default()
        };
        (1..=count).map(one).collect()
    }
}

/// Mount point of the volume in the pod of a managed node. It contains the program, the jars and
/// the data of the node.
pub const NODE_FOLDER: &str = "/cassay";

impl Default for NodePods {
    fn default() -> NodePods {
        NodePods {
            context: None,
            namespace: None,
            millicpus: 2000,
            memory_bytes: 4 << 30,
            image: String::new(),
            volume_bytes: None,
            storage_class: None,
            one_per_node: true,
            machine_type: None,
        }
    }
}

/// Location of a running pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodPlace {
    /// Context in kubectl's configuration. `None` means the current context.
    pub context: Option<String>,
    pub namespace: String,
    pub name: String,
    pub container: String,
    /// Name of the Kubernetes node on which the pod runs.
    pub node: String,
}

/// Maximum length of a name in characters, according to the API reference of Kubernetes ("DNS
/// subdomain names").
const NAME_LENGTH_MAX: usize = 253;

/// Returns true if Kubernetes accepts a text as the name of an object, a namespace or a container.
/// Such a name consists of one or several labels, as RFC 1123 defines them, with dots between the
/// labels.
pub fn is_kubernetes_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_part = |part: &str| {
        part.starts_with(is_plain)
            && part.ends_with(is_plain)
            && part.chars().all(|c| is_plain(c) || c == '-')
    };
    text.len() <= NAME_LENGTH_MAX && text.split('.').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_parts_of_lower_case_letters_and_digits() {
        let longest = "a".repeat(NAME_LENGTH_MAX);
        for name in ["a", "0", "load-3-x7k2p", "db.example-1", longest.as_str()] {
            assert!(is_kubernetes_name(name), "{name:?}");
        }
        let too_long = format!("{longest}a");
        let others = [
            "", "-x", "a-", "A", "a b", "a/b", "a;b", "a_b", ".a", "a.", "a..b", "a.-b", "é",
        ];
        for name in others.into_iter().chain([too_long.as_str()]) {
            assert!(!is_kubernetes_name(name), "{name:?}");
        }
    }
}
