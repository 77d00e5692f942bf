//! Kubernetes settings of a target: an attached cluster, or pods for managed nodes. Also checks
//! names as Kubernetes does.

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
    /// A service, regardless of its creator.
    Service(String),
}

impl KubernetesOwner {
    /// Describes the resource: `the CassandraDatacenter dc1`.
    pub fn words(&self) -> String {
        match self {
            KubernetesOwner::K8ssandra(name) => format!("the K8ssandraCluster {name}"),
            KubernetesOwner::CassOperator(name) => format!("the CassandraDatacenter {name}"),
            KubernetesOwner::Service(name) => format!("the service {name}"),
        }
    }
}

/// Location of an attached cluster in Kubernetes, and access to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubernetesCluster {
    /// Context of kubectl's configuration. `None` means the current context.
    pub context: Option<String>,
    /// Namespace of the cluster. `None` means the namespace of the context.
    pub namespace: Option<String>,
    /// Resource that describes the cluster.
    pub owner: KubernetesOwner,
    /// Secret with `username` and `password`. `None` means the secret that the cluster's operator
    /// creates.
    pub secret: Option<String>,
    /// Agents that are started in the pods of the cluster. `None` means no agents.
    pub agents: Option<PodAgents>,
    /// Names of the series to read from the metrics endpoints of the pods. `*` represents any text.
    /// If empty, the endpoints are not read.
    pub metrics: Vec<String>,
}

/// Agents that cassay runs in the pods of an attached cluster, and the folders that they use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodAgents {
    /// Container in which the node runs. `None` means the default container of the pod.
    pub container: Option<String>,
    /// Folder for the program and the other files of the agent. `None` means `/tmp`.
    pub folder: Option<PathBuf>,
    /// Folder with the logs of the node. cassay only reads the logs.
    pub logs: Option<PathBuf>,
    /// Folder with the data of the node. cassay reads the settings of the folder's disk.
    pub data: Option<PathBuf>,
}

/// The pods in which managed nodes run, with one node in each pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePods {
    /// Context of kubectl's configuration. `None` means the current context.
    pub context: Option<String>,
    /// Namespace of the pods. `None` means the namespace of the context.
    pub namespace: Option<String>,
    /// CPU request and limit of each pod, in thousandths of a CPU.
    pub millicpus: u32,
    /// Memory request and limit of each pod, in bytes.
    pub memory_bytes: u64,
    /// Image of the container. It has a shell, and a Java on which Cassandra runs.
    pub image: String,
    /// Size of the volume of each pod, in bytes. `None` means a folder of the pod's Kubernetes
    /// node.
    pub volume_bytes: Option<u64>,
    /// Storage class of the volumes. `None` means the default class of the Kubernetes cluster.
    pub storage_class: Option<String>,
    /// True if two pods must not be on the same Kubernetes node.
    pub one_per_node: bool,
    /// Machine type of the Kubernetes nodes on which the pods are scheduled. `None` means any type.
    pub machine_type: Option<String>,
}

impl NodePods {
    /// Returns placeholders for `count` pods, which are used until the pods run. They have only
    /// numbers, and separate folders.
    pub fn numbered(&self, count: usize) -> Vec<RemoteHost> {
        let one = |number: usize| RemoteHost {
            ssh: format!("pod {number}"),
            folder: Some(NODE_FOLDER.into()),
            ..RemoteHost::default()
        };
        (1..=count).map(one).collect()
    }
}

/// Mount point of the volume in a pod of a managed node. The program, the jars and the data of the
/// node are below it.
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
    /// Context of kubectl's configuration. `None` means the current context.
    pub context: Option<String>,
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub name: String,
    /// Name of the container in the pod.
    pub container: String,
    /// Kubernetes node on which the pod runs.
    pub node: String,
}

/// Maximum length of a name, according to the API reference of Kubernetes ("DNS subdomain names").
const NAME_LENGTH_MAX: usize = 253;

/// Returns true if Kubernetes accepts a text as the name of an object, a namespace or a container.
/// Such a name consists of one or several parts with dots between them, as RFC 1123 defines them.
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
