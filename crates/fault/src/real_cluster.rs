//! Faults on a real cluster, through the agents of its hosts.

mod agents;
mod client;
mod files;
mod mbeans;
mod pods;
mod starter;

use crate::cluster_under_test::{Agents, ExecutedBy, Timer};
use anyhow::{Context, Result};
use cassandra::{AddedNode, Handles, Isolation, NodeControl, NodeHandle};
use host::process::Identity;
use host::{Agent, Broken, Restartable};
use measure::clock;
use std::collections::BTreeMap;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use target_spec::{HostIndex, NodeIndex, PerNode};
use versions::Release;

/// Time after which an agent restarts a node whose controller has disappeared between kill and
/// start.
const RESTART_LIMIT: Duration = Duration::from_secs(30);

/// Sender of the order to heal a fault. Dropping this value also sends the order.
#[derive(Debug)]
pub struct Order(Sender<()>);

impl Order {
    /// Orders the healing. Repeated calls have no effect.
    pub fn heal(&self) {
        // Without a receiver, the fault is already healed.
        let _ = self.0.send(());
    }
}

/// Creates a sender and a receiver of the order to heal a fault.
pub fn orders() -> (Order, Receiver<()>) {
    let (sender, receiver) = channel();
    (Order(sender), receiver)
}

/// Real cluster, and the receiver of the order to heal its fault.
#[derive(Debug)]
pub struct Live {
    handles: Handles,
    /// Number of nodes before the fault. Further nodes in the list were added by the fault.
    members_count: usize,
    orders: Receiver<()>,
    is_ordered: bool,
    broken: Vec<Entry>,
    /// Pods that this fault isolates.
    isolated: Vec<Isolation>,
    /// Connection to a node for an observation.
    held: Option<TcpStream>,
    /// Start commands of nodes that have lost their data.
    emptied: BTreeMap<NodeIndex, Restartable>,
    /// Operations on nodes whose result has not been fetched yet.
    at_work: BTreeMap<NodeIndex, JoinHandle<Result<String>>>,
}

#[derive(Debug)]
struct Entry {
    agent: Arc<Agent>,
    broken: Broken,
    nodes: Vec<NodeIndex>,
}

impl Live {
    pub fn new(handles: Handles, orders: Receiver<()>) -> Live {
        Live {
            members_count: handles.nodes.len(),
            handles,
            orders,
            is_ordered: false,
            broken: Vec::new(),
            isolated: Vec::new(),
            held: None,
            emptied: BTreeMap::new(),
            at_work: BTreeMap::new(),
        }
    }

    /// Returns the current processes of the cluster's nodes, without added nodes.
    pub fn processes(&self) -> PerNode<Option<Identity>> {
        let nodes = self.nodes().into_iter().take(self.members_count);
        nodes.map(|node| node.process).collect()
    }

    /// Returns the current releases of the cluster's nodes, without added nodes.
    pub fn releases(&self) -> Vec<Option<Release>> {
        let members = self.handles.nodes.iter().take(self.members_count);
        members.map(|node| node.release().cloned()).collect()
    }

    /// Returns the node that cassay can add to a host.
    fn newcomer_on(&self, host: HostIndex) -> Result<&AddedNode> {
        let found = self.handles.newcomers.get(host);
        found.with_context(|| format!("cassay cannot add another node to {}", host.name()))
    }

    fn node_handle(&self, node: NodeIndex) -> Result<&NodeHandle> {
        let found = self.handles.nodes.get(node);
        found.with_context(|| format!("node {} does not exist", node.number()))
    }

    fn control(&self, node: NodeIndex) -> Result<&NodeControl> {
        let known = self.node_handle(node)?;
        let control = known.control.as_ref();
        control
            .with_context(|| format!("this fault needs MBeans, but {} provides none", known.name))
    }

    fn agent_there(&self, node: NodeIndex) -> Result<Arc<Agent>> {
        let known = self.node_handle(node)?;
        let there = known.service.as_ref().map_or(&known.agent, |service| &service.agent);
        Ok(Arc::clone(there))
    }

    /// Records the processes of `nodes` after healing, and returns the started nodes. The process
    /// of an attached node may not be visible yet.
    fn note(&mut self, nodes: &[NodeIndex], processes: Vec<Identity>) -> Vec<NodeIndex> {
        let mut processes = processes.into_iter();
        let mut started = Vec::new();
        for index in nodes {
            let node = &mut self.handles.nodes[*index];
            let now = processes.next();
            if now.is_none() && node.service.is_none() {
                continue;
            }
            if now.is_none() || node.process != now {
                started.push(*index);
            }
            node.process = now;
        }
        started
    }

    fn agent(&self, by: ExecutedBy) -> Result<Arc<Agent>> {
        let found = match by {
            ExecutedBy::Node(index) => Some(&self.node_handle(index)?.agent),
            ExecutedBy::Host(index) => self.handles.hosts.get(index).map(|host| &host.agent),
            ExecutedBy::Switch => self.handles.switch.as_ref(),
        };
        found.cloned().with_context(|| format!("{by:?} has no agent"))
    }
}

impl Timer for Live {
    fn now_ns(&self) -> u64 {
        clock::now_ns()
    }

    fn wait(&mut self, for_: Duration) -> bool {
        if self.is_ordered {
            clock::sleep(for_);
            return true;
        }
        let ordered = self.orders.recv_timeout(for_);
        self.is_ordered = !matches!(ordered, Err(RecvTimeoutError::Timeout));
        self.is_ordered
    }
}
