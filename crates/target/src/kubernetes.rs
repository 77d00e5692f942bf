//! What of Kubernetes a target is: a cluster of others as a user names it, or pods for our nodes.

use crate::host::RemoteHost;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What describes it there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KubernetesOwner {
    /// A K8ssandraCluster: all of its data centers in that namespace.
    K8ssandra(String),
    /// A CassandraDatacenter of cass-operator.
    CassOperator(String),
    /// A service, whoever made it.
    Service(String),
}

impl KubernetesOwner {
    /// `the CassandraDatacenter dc1`.
    pub fn words(&self) -> String {
        match self {
            KubernetesOwner::K8ssandra(name) => format!("the K8ssandraCluster {name}"),
            KubernetesOwner::CassOperator(name) => format!("the CassandraDatacenter {name}"),
            KubernetesOwner::Service(name) => format!("the service {name}"),
        }
    }
}

/// Where it is, and what is asked of it there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubernetesCluster {
    /// The context of kubectl's configuration; none: the current one.
    pub context: Option<String>,
    /// Its namespace; none: the context's.
    pub namespace: Option<String>,
    /// What describes it.
    pub owner: KubernetesOwner,
    /// The secret with `username` and `password`; none: its operator's.
    pub secret: Option<String>,
    /// The agents that are started in its pods; none: nothing is started there.
    pub agents: Option<PodAgents>,
    /// Which series of its pods' metrics end points are read, `*` for anything; none: those are not
    /// asked.
    pub metrics: Vec<String>,
}

/// Agents in pods of others, and what they find there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodAgents {
    /// The container that the node runs in; none: the pod's default one.
    pub container: Option<String>,
    /// Where the program is put, and what the agent writes; none: `/tmp`.
    pub folder: Option<PathBuf>,
    /// The folder with the node's logs, which is only read.
    pub logs: Option<PathBuf>,
    /// The folder with its data, of whose disk the settings are looked at.
    pub data: Option<PathBuf>,
}

/// The pods that nodes of ours run in, one in each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePods {
    /// The context of kubectl's configuration; none: the current one.
    pub context: Option<String>,
    /// The namespace; none: the context's.
    pub namespace: Option<String>,
    /// CPUs of each, requested and not exceeded, in thousandths.
    pub millicpus: u32,
    /// Memory of each, requested and not exceeded, in bytes.
    pub memory_bytes: u64,
    /// What they are made of: it has a shell and a Java that Cassandra runs on.
    pub image: String,
    /// The size of the volume of each, in bytes; none: a folder of its node.
    pub volume_bytes: Option<u64>,
    /// The class of the volumes; none: the cluster's default.
    pub storage_class: Option<String>,
    /// Whether no two may be on one node.
    pub one_per_node: bool,
    /// The machine type of the nodes that they are put on; none: any.
    pub machine_type: Option<String>,
}

impl NodePods {
    /// What stands for so many of them until they run: only numbered, in their own folder.
    pub fn numbered(&self, count: usize) -> Vec<RemoteHost> {
        let one = |number: usize| RemoteHost {
            ssh: format!("pod {number}"),
            folder: Some(NODE_FOLDER.into()),
            ..RemoteHost::default()
        };
        (1..=count).map(one).collect()
    }
}

/// Where the volume of such a pod is: the program, jars and the node's data are below.
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

/// Where a pod is that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodPlace {
    /// The context of kubectl's configuration; none: the current one.
    pub context: Option<String>,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The container in it that is meant.
    pub container: String,
    /// The node that it is on.
    pub node: String,
}
