//! Kubernetes settings of a target: an attached cluster, or pods for managed nodes; also the names
//! that Kubernetes accepts.

use crate::host::RemoteHost;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Resource that describes the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KubernetesOwner {
    /// A K8ssandraCluster, with all of its data centers in that namespace.
    K8ssandra(String),
    /// A CassandraDatacenter of cass-operator.
    CassOperator(String),
    /// A service, of any origin.
    Service(String),
}

impl KubernetesOwner {
    /// Describes it: `the CassandraDatacenter dc1`.
    pub fn words(&self) -> String {
        match self {
            KubernetesOwner::K8ssandra(name) => format!("the K8ssandraCluster {name}"),
            KubernetesOwner::CassOperator(name) => format!("the CassandraDatacenter {name}"),
            KubernetesOwner::Service(name) => format!("the service {name}"),
        }
    }
}

/// Location of an attached cluster in Kubernetes, and the access to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubernetesCluster {
    /// Context of kubectl's configuration. `None` means the current one.
    pub context: Option<String>,
    /// Its namespace. `None` means that of the context.
    pub namespace: Option<String>,
    /// Resource that describes it.
    pub owner: KubernetesOwner,
    /// Secret with `username` and `password`. `None` means the secret of its operator.
    pub secret: Option<String>,
    /// Agents that are started in its pods. `None` means no agents.
    pub agents: Option<PodAgents>,
    /// Series to read from the metrics endpoints of its pods. `*` represents any text. If empty,
    /// the endpoints are not read.
    pub metrics: Vec<String>,
}

/// Agents in pods of an attached cluster, and the folders that they use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodAgents {
    /// Container that the node runs in. `None` means the default container of the pod.
    pub container: Option<String>,
    /// Folder for the program and for the agent's files. `None` means `/tmp`.
    pub folder: Option<PathBuf>,
    /// Folder with the logs of the node, which are only read.
    pub logs: Option<PathBuf>,
    /// Folder with its data, whose disk settings are read.
    pub data: Option<PathBuf>,
}

/// The pods that managed nodes run in, with one node in each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePods {
    /// Context of kubectl's configuration. `None` means the current one.
    pub context: Option<String>,
    /// The namespace. `None` means that of the context.
    pub namespace: Option<String>,
    /// CPUs of each, as request and limit, in thousandths.
    pub millicpus: u32,
    /// Memory of each, as request and limit, in bytes.
    pub memory_bytes: u64,
    /// Image of the container, which has a shell and a Java that Cassandra runs on.
    pub image: String,
    /// Size of the volume of each, in bytes. `None` means a folder of its node.
    pub volume_bytes: Option<u64>,
    /// Class of the volumes. `None` means the default of the cluster.
    pub storage_class: Option<String>,
    /// True if two pods must not be on the same node.
    pub one_per_node: bool,
    /// Machine type of the nodes that they are scheduled on. `None` means any type.
    pub machine_type: Option<String>,
}

impl NodePods {
    /// Returns placeholders for `count` pods until they run. They have only numbers, and separate
    /// folders.
    pub fn numbered(&self, count: usize) -> Vec<RemoteHost> {
        let one = |number: usize| RemoteHost {
            ssh: format!("pod {number}"),
            folder: Some(NODE_FOLDER.into()),
            ..RemoteHost::default()
        };
        (1..=count).map(one).collect()
    }
}

/// Mount point of the volume in such a pod. The program, the jars and the data of the node are
/// below it.
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
    /// Context of kubectl's configuration. `None` means the current one.
    pub context: Option<String>,
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub name: String,
    /// Name of the container in it.
    pub container: String,
    /// Node that it runs on.
    pub node: String,
}

/// Maximum length of a name, by the API reference of Kubernetes ("DNS subdomain names").
const NAME_LENGTH_MAX: usize = 253;

/// Returns true if Kubernetes accepts a text as the name of an object, a namespace or a container:
/// one or several parts between dots, as RFC 1123 defines them.
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
