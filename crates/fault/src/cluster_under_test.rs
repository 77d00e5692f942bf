//! Interface through which faults act on a cluster: a real one ([`crate::Live`]) or a simulated
//! one.

mod agents;
mod client;
mod files;
mod mbeans;
mod pods;
mod start_and_stop;
mod timer;

pub use agents::Agents;
pub use client::Client;
pub use files::NodeFiles;
pub use mbeans::Mbeans;
pub use pods::Pods;
pub use start_and_stop::Starter;
pub use timer::Timer;

use host::process::Identity;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use target_spec::{HostIndex, NodeIndex};

/// Agent that executes an injection or observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutedBy {
    /// Agent of the host of this node, or of the machine that all nodes share.
    Node(NodeIndex),
    /// Agent of a host.
    Host(HostIndex),
    /// Agent of the switch between simulated hosts.
    Switch,
}

/// Result of healing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HealResult {
    /// True if agents had already healed the fault by themselves.
    pub by_itself: bool,
    /// Nodes that the healing started.
    pub started: Vec<NodeIndex>,
    /// Remark on the result of healing, for faults whose healing can have different results.
    pub became: Option<String>,
}

/// A node of the target cluster.
#[derive(Clone, Debug)]
pub struct NodeSeen {
    /// Process of the node. `None` while the node is not running.
    pub process: Option<Identity>,
    /// Host of the node. `None` if all nodes share one machine.
    pub host: Option<HostIndex>,
    /// CQL address of the node.
    pub cql: SocketAddr,
    /// Internode address of the node.
    pub storage: SocketAddr,
    /// True if cassay manages the process. If `process` of such a node is `None`, the node is not
    /// running.
    pub is_ours: bool,
    /// All ports on which the node listens.
    pub ports: Vec<u16>,
}

/// A host of the target cluster.
#[derive(Clone, Debug)]
pub struct HostSeen {
    /// Name of the host in reports.
    pub name: String,
    /// Number of the host, counted from 1. On simulated hosts, this is also the number of the host
    /// on the switch.
    pub number: usize,
    /// Addresses of the host. For an attached machine, these are the addresses from which its nodes
    /// connect to other nodes.
    pub addresses: Vec<Ipv4Addr>,
    /// Mount point of the host's volume, or a plain folder if the host has no volume.
    pub folder: PathBuf,
    /// Device name of the host's volume. `None` if the host has no volume.
    pub device: Option<String>,
}

/// Target cluster with all observers, and a clock.
pub trait World: Timer + Agents + Starter + NodeFiles + Mbeans + Client + Pods {}

impl<T: Timer + Agents + Starter + NodeFiles + Mbeans + Client + Pods> World for T {}
