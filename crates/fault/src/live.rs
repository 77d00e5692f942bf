//! A cluster of ours that is really broken, by its hosts' agents.

mod agents;
mod client;
mod files;
mod mbeans;
mod pods;
mod starter;

use crate::world::{Agents, Timer, Via};
use anyhow::{Context, Result};
use cluster::{AddedNode, Handles, Isolation, NodeControl, NodeHandle};
use host::process::Identity;
use host::{Agent, Broken, Restartable};
use measure::clock;
use std::collections::BTreeMap;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use versions::Release;

/// When an agent starts a node again by itself whose controller has gone between killing it and
/// starting it.
const RESTART_LIMIT: Duration = Duration::from_secs(30);

/// Orders healing. Dropping it does, too.
#[derive(Debug)]
pub struct Order(Sender<()>);

impl Order {
    /// Heal now; once more is the same as once.
    pub fn heal(&self) {
        // Who is gone has healed.
        let _ = self.0.send(());
    }
}

/// The two ends of an order.
pub fn orders() -> (Order, Receiver<()>) {
    let (sender, receiver) = channel();
    (Order(sender), receiver)
}

/// A cluster of ours, and the order that ends its fault.
#[derive(Debug)]
pub struct Live {
    handles: Handles,
    /// How many of its nodes are the cluster's; others were added by what broke it.
    members_count: usize,
    orders: Receiver<()>,
    is_ordered: bool,
    broken: Vec<Entry>,
    /// Pods that are cut off.
    isolated: Vec<Isolation>,
    /// A connection to a node that is looked at.
    held: Option<TcpStream>,
    /// What starts nodes that have lost what they kept, by node.
    emptied: BTreeMap<usize, Restartable>,
    /// What nodes were told to do and have not told of: by node.
    at_work: BTreeMap<usize, JoinHandle<Result<String>>>,
}

/// Something that is broken.
#[derive(Debug)]
struct Entry {
    agent: Arc<Agent>,
    broken: Broken,
    /// Whose processes it has touched.
    nodes: Vec<usize>,
}

impl Live {
    /// One that nothing was done to yet.
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

    /// The processes of all nodes of the cluster as they are now, in their order.
    pub fn processes(&self) -> Vec<Option<Identity>> {
        let nodes = self.nodes().into_iter().take(self.members_count);
        nodes.map(|node| node.process).collect()
    }

    /// The releases that the nodes of the cluster run now, in their order.
    pub fn releases(&self) -> Vec<Option<Release>> {
        let members = self.handles.nodes.iter().take(self.members_count);
        members.map(|node| node.release().cloned()).collect()
    }

    /// The node that a host could have.
    fn newcomer_on(&self, host: usize) -> Result<&AddedNode> {
        let found = self.handles.newcomers.get(host);
        found.with_context(|| format!("host{} can have no node more", host + 1))
    }

    fn at(&self, node: usize) -> Result<&NodeHandle> {
        let found = self.handles.nodes.get(node);
        found.with_context(|| format!("there is no node {}", node + 1))
    }

    fn control(&self, node: usize) -> Result<&NodeControl> {
        let known = self.at(node)?;
        let control = known.control.as_ref();
        control.with_context(|| format!("{} shows no MBeans to be told by", known.name))
    }

    /// The agent where the process of a node is.
    fn agent_there(&self, node: usize) -> Result<Arc<Agent>> {
        let known = self.at(node)?;
        let there = known.service.as_ref().map_or(&known.agent, |service| &service.agent);
        Ok(Arc::clone(there))
    }

    /// Takes note of the processes that nodes have after healing, in their order; those that were
    /// started. One of others that was may not have shown its process yet.
    fn note(&mut self, nodes: &[usize], processes: Vec<Identity>) -> Vec<usize> {
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

    fn agent(&self, by: Via) -> Result<Arc<Agent>> {
        let found = match by {
            Via::Node(index) => Some(&self.at(index)?.agent),
            Via::Host(index) => self.handles.hosts.get(index).map(|host| &host.agent),
            Via::Switch => self.handles.switch.as_ref(),
        };
        found.cloned().with_context(|| format!("there is no agent of {by:?}"))
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
