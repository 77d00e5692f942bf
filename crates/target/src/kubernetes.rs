//! A cluster of others in Kubernetes, as a user names it.

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
}

/// The pods that nodes of ours run in, one in each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePods {
    /// The context of kubectl's configuration; none: the current one.
    pub context: Option<String>,
    /// The namespace; none: the context's.
    pub namespace: Option<String>,
    /// Whole CPUs of each, requested and not exceeded.
    pub cpus: usize,
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
}

impl Default for NodePods {
    fn default() -> NodePods {
        NodePods {
            context: None,
            namespace: None,
            cpus: 2,
            memory_bytes: 4 << 30,
            image: String::new(),
            volume_bytes: None,
            storage_class: None,
            one_per_node: true,
        }
    }
}
