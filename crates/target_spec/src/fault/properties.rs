//! Properties in which kinds of faults differ, and the affected part of a cluster.

use std::fmt;

/// Kind of target of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultPlace {
    /// A node.
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
    /// Data in the memory of its process.
    Memory,
    /// Data that was not synced to its disk.
    Unsynced,
    /// All its replicas, while other nodes keep theirs.
    Copy,
    /// Its replicas, if there are no more nodes than replicas. Otherwise other nodes receive them
    /// before.
    HandedOver,
    /// The order of writes with its timestamps.
    Order,
}

/// Duration of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Duration stated in the study.
    Stated,
    /// It is healed as soon as it was observed.
    Moment,
    /// It lasts until its task is done, but not longer than the study states.
    Task,
    /// Duration stated in the study, from the end of the injection, which takes some time.
    Staged,
}

impl Length {
    /// Returns true if a study states its maximum duration.
    pub fn is_said(self) -> bool {
        self != Length::Moment
    }

    /// Returns true if it performs a task that takes some time.
    pub fn works(self) -> bool {
        matches!(self, Length::Task | Length::Staged)
    }
}

/// Affected part of a cluster: nodes and hosts by their index, from 0. Descriptions count from 1:
/// `node2`, `host1 from host2 and host3`, `node1 and node2`, `all nodes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hit {
    /// A node.
    Node(usize),
    /// A host.
    Host(usize),
    /// Hosts that are separated from other hosts.
    Split(Vec<usize>, Vec<usize>),
    /// Some of the nodes, in the order of their turns.
    Nodes(Vec<usize>),
    /// All nodes.
    Cluster,
}

impl fmt::Display for Hit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words(|host| format!("host{}", host + 1)))
    }
}

impl Hit {
    /// Returns the affected part for a kind that affects nodes one after the other: these nodes, or
    /// all if `nodes` is empty.
    #[must_use]
    pub fn cluster(nodes: &[usize]) -> Hit {
        match nodes {
            [] => Hit::Cluster,
            some => Hit::Nodes(some.to_vec()),
        }
    }

    /// Describes it, with names for the hosts.
    pub fn words(&self, name: impl Fn(usize) -> String) -> String {
        let names = |all: &[usize]| {
            let names: Vec<String> = all.iter().map(|host| name(*host)).collect();
            names.join(" and ")
        };
        let node = |index: &usize| format!("node{}", index + 1);
        match self {
            Hit::Node(index) => node(index),
            Hit::Nodes(all) => all.iter().map(node).collect::<Vec<_>>().join(" and "),
            Hit::Host(index) => name(*index),
            Hit::Split(of, from) if from.is_empty() => names(of),
            Hit::Split(of, from) => format!("{} from {}", names(of), names(from)),
            Hit::Cluster => "all nodes".to_owned(),
        }
    }

    /// Returns the hosts on both sides. Both are empty for a fault without sides.
    pub fn sides(&self) -> (Vec<usize>, Vec<usize>) {
        match self {
            Hit::Split(of, from) => (of.clone(), from.clone()),
            Hit::Node(_) | Hit::Host(_) | Hit::Nodes(_) | Hit::Cluster => (Vec::new(), Vec::new()),
        }
    }

    /// Returns the index of the affected node or host.
    pub fn node(&self) -> usize {
        match self {
            Hit::Node(index) | Hit::Host(index) => *index,
            Hit::Split(of, _) | Hit::Nodes(of) => of.first().copied().unwrap_or(0),
            Hit::Cluster => 0,
        }
    }
}
