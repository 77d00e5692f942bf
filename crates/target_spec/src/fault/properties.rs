//! Properties in which kinds of faults differ, and the part of a cluster that one hits.

use std::fmt;

/// Kind of place that a fault hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultPlace {
    /// A node.
    Node,
    /// A host, with all its nodes.
    Host,
    /// Hosts, separated from other hosts.
    Split,
    /// All nodes, one after the other.
    Cluster,
}

/// Data that a node may lose by a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataLoss {
    /// No data is lost.
    #[default]
    Nothing,
    /// Data in the memory of its process.
    Memory,
    /// Data that was not synced to its disk.
    Unsynced,
    /// All its replicas: other nodes keep theirs.
    Copy,
    /// Its replicas, if there are no more nodes than replicas: otherwise other nodes receive them
    /// before.
    HandedOver,
    /// The order of writes that it timestamps.
    Order,
}

/// Duration of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Duration stated in the study.
    Stated,
    /// It is healed as soon as it was seen.
    Moment,
    /// Until its task is done, and no longer than the study states.
    Task,
    /// Duration stated in the study, from the end of the injection, which takes a while.
    Staged,
}

impl Length {
    /// Returns true if a study states its maximum duration.
    pub fn is_said(self) -> bool {
        self != Length::Moment
    }

    /// Returns true if it performs a task that takes a while.
    pub fn works(self) -> bool {
        matches!(self, Length::Task | Length::Staged)
    }
}

/// Part of a cluster that is hit: nodes and hosts by their index, from 0. In words they are counted
/// from 1: `node2`, `host1 from host2 and host3`, `node1 and node2`, `all nodes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hit {
    /// A node.
    Node(usize),
    /// A host.
    Host(usize),
    /// Hosts, separated from other hosts.
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
    /// Returns the hit of a kind that proceeds through the cluster: these nodes, or all if `nodes`
    /// is empty.
    #[must_use]
    pub fn cluster(nodes: &[usize]) -> Hit {
        match nodes {
            [] => Hit::Cluster,
            some => Hit::Nodes(some.to_vec()),
        }
    }

    /// Returns it in words, for hosts that have names of their own.
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

    /// Returns the hosts of both sides; both empty for a hit without sides.
    pub fn sides(&self) -> (Vec<usize>, Vec<usize>) {
        match self {
            Hit::Split(of, from) => (of.clone(), from.clone()),
            Hit::Node(_) | Hit::Host(_) | Hit::Nodes(_) | Hit::Cluster => (Vec::new(), Vec::new()),
        }
    }

    /// Returns the index of the node or host that is hit.
    pub fn node(&self) -> usize {
        match self {
            Hit::Node(index) | Hit::Host(index) => *index,
            Hit::Split(of, _) | Hit::Nodes(of) => of.first().copied().unwrap_or(0),
            Hit::Cluster => 0,
        }
    }
}
