//! The cluster that is broken, as faults see it: a real one ([`crate::Live`]) or a simulated one.

mod agents;
mod client;
mod files;
mod mbeans;
mod pods;
mod starter;
mod timer;

pub use agents::Agents;
pub use client::Client;
pub use files::NodeFiles;
pub use mbeans::Mbeans;
pub use pods::Pods;
pub use starter::Starter;
pub use timer::Timer;

use host::process::Identity;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// By whose agent something is done or seen. Nodes and hosts are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// That of a node's host, or of the machine that nodes share.
    Node(usize),
    /// That of a host.
    Host(usize),
    /// That of the switch between hosts, where there is one.
    Switch,
}

/// What came of healing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Healed {
    /// Whether agents had done it already, by themselves.
    pub by_itself: bool,
    /// The nodes that were started.
    pub started: Vec<usize>,
    /// What became of what was broken, if that is not the same every time.
    pub became: Option<String>,
}

/// A node of the cluster that is broken.
#[derive(Clone, Debug)]
pub struct NodeSeen {
    /// Its process; none while it is stopped.
    pub process: Option<Identity>,
    /// Its host; none where nodes share the machine.
    pub host: Option<usize>,
    /// Where it answers clients.
    pub cql: SocketAddr,
    /// Where it answers other nodes.
    pub storage: SocketAddr,
    /// Whether its process is ours, so that one that is not known is not there.
    pub is_ours: bool,
    /// All ports at which it answers anybody.
    pub ports: Vec<u16>,
}

/// A host of the cluster that is broken.
#[derive(Clone, Debug)]
pub struct HostSeen {
    /// Its name, as reports have it.
    pub name: String,
    /// Its number on the switch, if there is one, counted from 1.
    pub number: usize,
    /// Its own address; of a machine of others, those by which its nodes reach others.
    pub addresses: Vec<Ipv4Addr>,
    /// Where its volume is mounted; its plain folder without one.
    pub folder: PathBuf,
    /// The name of its volume's device; none without a volume.
    pub device: Option<String>,
}

/// The cluster that is broken, whoever looks at it, and a clock.
pub trait World: Timer + Agents + Starter + NodeFiles + Mbeans + Client + Pods {}

impl<T: Timer + Agents + Starter + NodeFiles + Mbeans + Client + Pods> World for T {}
