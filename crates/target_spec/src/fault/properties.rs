//! Properties in which kinds of faults differ, and the parts of a cluster that faults affect.

use crate::index::{HostIndex, NodeIndex};
use std::fmt;

/// Part of a cluster on which a kind of fault acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultPlace {
    /// One node of the cluster.
    Node,
    /// A host, with all nodes on it.
    Host,
    /// Hosts that the fault separates from other hosts.
    Split,
    /// All nodes of the cluster, one after the other.
    Cluster,
}

/// Data that a node may lose because of a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataLoss {
    /// The node loses no data.
    #[default]
    Nothing,
    /// The node may lose data that is only in the memory of its process.
    Memory,
    /// The node may lose data that was not synced to its disk.
    Unsynced,
    /// The node loses all its replicas, while other nodes keep theirs.
    Copy,
    /// The node loses its replicas if the cluster has no more nodes than replicas. Otherwise, other
    /// nodes receive the replicas first.
    HandedOver,
    /// Writes may lose their order, because the order depends on their timestamps.
    Order,
}

/// Rule that determines the duration of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// The study states the duration.
    Stated,
    /// The fault is healed as soon as cassay has observed it.
    Moment,
    /// The fault lasts until its task is done, but at most for the time that the study states.
    Task,
    /// The study states the duration. The injection takes some time, and the duration counts from
    /// the end of the injection.
    Staged,
}

impl Length {
    /// Returns true if a study states the maximum duration.
    pub fn is_said(self) -> bool {
        self != Length::Moment
    }

    /// Returns true if the fault performs a task that takes some time.
    pub fn works(self) -> bool {
        matches!(self, Length::Task | Length::Staged)
    }
}

/// Part of a cluster that a fault affects. Nodes and hosts are represented by their indexes.
/// Descriptions count from 1, for example `node2`, `host1 from host2 and host3`, `node1 and node2`
/// or `all nodes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hit {
    Node(NodeIndex),
    Host(HostIndex),
    /// Hosts that the fault separates from other hosts.
    Split(Sides),
    /// Some of the nodes, in the order in which the fault affects them.
    Nodes(Vec<NodeIndex>),
    /// All nodes of the cluster.
    Cluster,
}

/// The two sides of a network that a fault separates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sides {
    /// Hosts that the fault cuts off from the hosts in `from`.
    pub of: Vec<HostIndex>,
    /// Hosts from which the fault cuts off the hosts in `of`.
    pub from: Vec<HostIndex>,
}

impl fmt::Display for Hit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words(HostIndex::name))
    }
}

impl Hit {
    /// Returns the affected part for a kind of fault that affects nodes one after the other. The
    /// part consists of these nodes, or of all nodes if `nodes` is empty.
    #[must_use]
    pub fn cluster(nodes: &[NodeIndex]) -> Hit {
        match nodes {
            [] => Hit::Cluster,
            some => Hit::Nodes(some.to_vec()),
        }
    }

    /// Describes the affected part. `name` returns the name of a host.
    pub fn words(&self, name: impl Fn(HostIndex) -> String) -> String {
        let names = |all: &[HostIndex]| {
            let names: Vec<String> = all.iter().map(|host| name(*host)).collect();
            names.join(" and ")
        };
        match self {
            Hit::Node(node) => node.name(),
            Hit::Nodes(all) => {
                let names: Vec<String> = all.iter().map(|node| node.name()).collect();
                names.join(" and ")
            }
            Hit::Host(host) => name(*host),
            Hit::Split(Sides { of, from }) if from.is_empty() => names(of),
            Hit::Split(Sides { of, from }) => format!("{} from {}", names(of), names(from)),
            Hit::Cluster => "all nodes".to_owned(),
        }
    }

    /// Returns the hosts on the two sides. For a fault without sides, the lists are empty.
    pub fn sides(&self) -> Sides {
        match self {
            Hit::Split(split) => split.clone(),
            Hit::Node(_) | Hit::Host(_) | Hit::Nodes(_) | Hit::Cluster => Sides::default(),
        }
    }

    /// Returns the affected node, for a kind of fault that affects a node. If the fault affects no
    /// particular node, returns the first node.
    pub fn node(&self) -> NodeIndex {
        match self {
            Hit::Node(node) => *node,
            Hit::Nodes(nodes) => nodes.first().copied().unwrap_or_default(),
            Hit::Host(_) | Hit::Split(_) | Hit::Cluster => NodeIndex::default(),
        }
    }

    /// Returns the affected host, for a kind of fault that affects a host. If the fault affects no
    /// particular host, returns the first host.
    pub fn host(&self) -> HostIndex {
        match self {
            Hit::Host(host) => *host,
            Hit::Split(split) => split.of.first().copied().unwrap_or_default(),
            Hit::Node(_) | Hit::Nodes(_) | Hit::Cluster => HostIndex::default(),
        }
    }
}
