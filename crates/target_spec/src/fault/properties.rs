//! Properties in which kinds of faults differ, and the part of a cluster that a fault affects.

use crate::index::{HostIndex, NodeIndex};
use std::fmt;

/// Kind of target on which a fault acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultPlace {
    /// One node of the cluster.
    Node,
    /// A host, with all its nodes.
    Host,
    /// Hosts that are separated from other hosts.
    Split,
    /// All nodes, one after the other.
    Cluster,
}

/// Data that a node may lose because of a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataLoss {
    /// No data is lost.
    #[default]
    Nothing,
    /// Data in the memory of the node's process.
    Memory,
    /// Data that was not synced to the node's disk.
    Unsynced,
    /// All replicas of the node, while other nodes keep theirs.
    Copy,
    /// Replicas of the node, if the cluster has no more nodes than replicas. Otherwise other nodes
    /// receive them first.
    HandedOver,
    /// The order of writes, which depends on their timestamps.
    Order,
}

/// Duration of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// The study states the duration.
    Stated,
    /// The fault is healed as soon as it was observed.
    Moment,
    /// The fault lasts until its task is done, but not longer than the study states.
    Task,
    /// The study states the duration. It counts from the end of the injection, which takes some
    /// time.
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

/// Part of a cluster that a fault affects. Nodes and hosts are given by their index. Descriptions
/// count from 1: `node2`, `host1 from host2 and host3`, `node1 and node2`, `all nodes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hit {
    /// The node with this index.
    Node(NodeIndex),
    /// The host with this index.
    Host(HostIndex),
    /// Hosts that are separated from other hosts.
    Split(Sides),
    /// Some of the nodes, in the order in which the fault affects them.
    Nodes(Vec<NodeIndex>),
    /// All nodes of the cluster.
    Cluster,
}

/// Two sides of a network that are separated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sides {
    /// Hosts that are cut off from the others.
    pub of: Vec<HostIndex>,
    /// Hosts from which they are cut off.
    pub from: Vec<HostIndex>,
}

impl fmt::Display for Hit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words(HostIndex::name))
    }
}

impl Hit {
    /// Returns the affected part for a kind that affects nodes one after the other. It consists of
    /// these nodes, or of all nodes if `nodes` is empty.
    #[must_use]
    pub fn cluster(nodes: &[NodeIndex]) -> Hit {
        match nodes {
            [] => Hit::Cluster,
            some => Hit::Nodes(some.to_vec()),
        }
    }

    /// Describes the affected part, with names for the hosts.
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

    /// Returns the hosts on both sides. Both lists are empty for a fault without sides.
    pub fn sides(&self) -> Sides {
        match self {
            Hit::Split(split) => split.clone(),
            Hit::Node(_) | Hit::Host(_) | Hit::Nodes(_) | Hit::Cluster => Sides::default(),
        }
    }

    /// Returns the affected node, for a kind that affects a node. If the fault does not affect a
    /// particular node, returns the first node.
    pub fn node(&self) -> NodeIndex {
        match self {
            Hit::Node(node) => *node,
            Hit::Nodes(nodes) => nodes.first().copied().unwrap_or_default(),
            Hit::Host(_) | Hit::Split(_) | Hit::Cluster => NodeIndex::default(),
        }
    }

    /// Returns the affected host, for a kind that affects a host. If the fault does not affect a
    /// particular host, returns the first host.
    pub fn host(&self) -> HostIndex {
        match self {
            Hit::Host(host) => *host,
            Hit::Split(split) => split.of.first().copied().unwrap_or_default(),
            Hit::Node(_) | Hit::Nodes(_) | Hit::Cluster => HostIndex::default(),
        }
    }
}
