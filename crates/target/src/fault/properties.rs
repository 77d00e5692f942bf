//! What kinds of faults differ in, and what one hits.

use std::fmt;

/// What a kind of fault hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A node.
    Node,
    /// A host, with all its nodes.
    Host,
    /// Hosts, against others.
    Split,
    /// All nodes, one after the other.
    Cluster,
}

/// What a node may lose by a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataLoss {
    /// No data is lost.
    #[default]
    Nothing,
    /// What was in the memory of its process.
    Memory,
    /// What was not synced to its disk.
    Unsynced,
    /// Its copy of everything: others have theirs.
    Copy,
    /// Its copy, where there are no more nodes than copies: otherwise others have it before.
    HandedOver,
    /// The order of writes to which it gives their times.
    Order,
}

/// How long a fault holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// As long as the study says.
    Stated,
    /// It is healed as soon as it was seen.
    Moment,
    /// Until what it does is done, and no longer than the study says.
    Task,
    /// As long as the study says, from when it was brought about, which takes a while.
    Staged,
}

impl Length {
    /// Whether a study says how long it is, at the most.
    pub fn is_said(self) -> bool {
        self != Length::Moment
    }

    /// Whether it does something that takes it a while.
    pub fn works(self) -> bool {
        matches!(self, Length::Task | Length::Staged)
    }
}

/// What is hit: nodes and hosts by their index, from 0. In words they are counted from 1: `node2`,
/// `host1 from host2 and host3`, `node1 and node2`, `all nodes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hit {
    /// A node.
    Node(usize),
    /// A host.
    Host(usize),
    /// Hosts, against others.
    Split(Vec<usize>, Vec<usize>),
    /// Some of the nodes, in the order in which they have their turn.
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
    /// What a kind hits that goes through the cluster: these of its nodes; all where none is
    /// named.
    #[must_use]
    pub fn cluster(nodes: &[usize]) -> Hit {
        match nodes {
            [] => Hit::Cluster,
            some => Hit::Nodes(some.to_vec()),
        }
    }

    /// In words, where hosts have names of their own.
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

    /// The hosts of both sides; of one that has none, nothing.
    pub fn sides(&self) -> (Vec<usize>, Vec<usize>) {
        match self {
            Hit::Split(of, from) => (of.clone(), from.clone()),
            Hit::Node(_) | Hit::Host(_) | Hit::Nodes(_) | Hit::Cluster => (Vec::new(), Vec::new()),
        }
    }

    /// The node or the host that is hit.
    pub fn node(&self) -> usize {
        match self {
            Hit::Node(index) | Hit::Host(index) => *index,
            Hit::Split(of, _) | Hit::Nodes(of) => of.first().copied().unwrap_or(0),
            Hit::Cluster => 0,
        }
    }
}
