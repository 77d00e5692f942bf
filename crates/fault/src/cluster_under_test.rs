//! Interface through which faults act on a real cluster ([`crate::Live`]) or on a simulated one.

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
    /// Agent on the host of this node, or on the machine that all nodes share.
    Node(NodeIndex),
    Host(HostIndex),
    /// Agent of the switch between simulated hosts.
    Switch,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HealResult {
    /// True if agents had already healed the fault.
    pub by_itself: bool,
    pub started: Vec<NodeIndex>,
    /// Remark on the result, for faults whose healing can have different results.
    pub became: Option<String>,
}

#[derive(Clone, Debug)]
pub struct NodeSeen {
    /// `None` while the node is not running.
    pub process: Option<Identity>,
    /// `None` if all nodes share one machine.
    pub host: Option<HostIndex>,
    pub cql: SocketAddr,
    pub storage: SocketAddr,
    /// True if cassay manages the process. Without `process`, such a node is known to be down.
    pub is_ours: bool,
    pub ports: Vec<u16>,
}

#[derive(Clone, Debug)]
pub struct HostSeen {
    pub name: String,
    /// Counted from 1. A simulated host has the same number on the switch.
    pub number: usize,
    /// Addresses of the host. An attached machine has the addresses from which its nodes connect to
    /// other nodes.
    pub addresses: Vec<Ipv4Addr>,
    /// Mount point of the host's volume, or the folder of a host without a volume.
    pub folder: PathBuf,
    /// Device name of the host's volume. `None` without a volume.
    pub device: Option<String>,
}

/// Target cluster with all observers and a clock.
pub trait World: Timer + Agents + Starter + NodeFiles + Mbeans + Client + Pods {}

impl<T: Timer + Agents + Starter + NodeFiles + Mbeans + Client + Pods> World for T {}
