//! The nodes of a cluster of our own: their processes, what is written down of them, and their end.

use super::host_layout::HostLayout;
use super::node::LocalNode;
use super::placement::{Layout, Placement};
use super::ports::Claim;
use super::program::{Program, Upgrade};
use super::settings::{self, NodeLayout};
use super::state::{self, State};
use crate::access::Access;
use crate::jolokia::Jolokia;
use crate::node::{NodeDied, NodeInfo};
use crate::node_files::NodeFiles;
use anyhow::Result;
use host::process::Identity;
use host::{Agent, Host, Hosts};
use kubernetes::PodSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use target::{HostSpec, LocalSpec};

/// The nodes of a local cluster. Dropping it kills them and removes their folder, unless it is
/// meant to be kept.
#[derive(Debug)]
pub(crate) struct Nodes {
    pub(super) folder: PathBuf,
    pub(super) state: State,
    /// What the nodes were last started as.
    pub(super) spec: LocalSpec,
    pub(super) nodes: Vec<LocalNode>,
    /// Where on their machine the nodes run.
    pub(super) layout: Layout,
    /// What nodes are on, and by whose agents they are started.
    pub(super) ground: HostLayout,
    pub(super) program: Program,
    /// The same as it is on each machine; empty where nodes run on this one.
    pub(super) programs: Vec<Program>,
    /// What nodes are started from after an upgrade, once one was prepared.
    pub(super) upgrade: Option<Upgrade>,
    /// The nodes' addresses are ours, also while none of them listens.
    pub(super) claim: Option<Claim>,
    /// Password of the MBean agents.
    pub(super) secret: String,
    /// How clients get in.
    pub(super) access: Access,
    /// Whether the cluster is still ours to remove.
    pub(super) armed: bool,
    /// Held while a command works on a kept cluster, so that no second one does.
    pub(super) _lock: Option<std::fs::File>,
    /// The pods that its hosts are, where they were made for it: gone after everything else.
    pub(super) _pods: Option<PodSet>,
}

impl Nodes {
    /// Where a node runs; none if nothing is said of it, or if it was added to the others.
    pub(super) fn placement(&self, node: &LocalNode) -> Option<&Placement> {
        let all = self.layout.nodes.iter();
        let mut all = all.filter(|one| one.confinement.name == node.layout.name);
        all.next()
    }

    /// What a node is started from, on its host.
    pub(super) fn program_of(&self, node: &LocalNode) -> &Program {
        let hosts = self.hosts().map(Hosts::all).unwrap_or_default();
        let host = hosts.iter().position(|host| host.name() == node.layout.host);
        let (program, programs) = match self.upgrade_of(node) {
            Some(upgrade) => (&upgrade.program, &upgrade.programs),
            None => (&self.program, &self.programs),
        };
        host.and_then(|host| programs.get(host)).unwrap_or(program)
    }

    /// Whether its nodes run on machines of their own.
    pub fn are_on_machines(&self) -> bool {
        self.hosts().is_some_and(Hosts::are_machines)
    }

    /// A node without a process.
    ///
    /// # Errors
    /// Its host is none of these.
    pub(super) fn node_of(&self, layout: NodeLayout) -> Result<LocalNode> {
        let agent = SocketAddr::from((layout.address, layout.ports.jolokia));
        let has_agent = self.program.supply.jolokia.is_some();
        let jolokia = has_agent.then(|| Jolokia::new(agent, settings::JOLOKIA_USER, &self.secret));
        Ok(LocalNode {
            host: Arc::clone(self.ground.agent_of(&layout.host)?),
            layout,
            jolokia,
            process: None,
            starts: None,
        })
    }

    /// Writes down that a node's process is this one.
    pub fn started(&mut self, index: usize, process: Identity) -> Result<()> {
        let before = &self.nodes[index];
        let starts = before.starts;
        // The connections to the MBeans of a process that has ended are of no use.
        self.nodes[index] = self.node_of(before.layout.clone())?;
        self.nodes[index].starts = starts.map(|starts| starts + 1);
        self.state.nodes[index].process = Some(process);
        self.nodes[index].process = Some(process);
        self.state.write(&self.folder)
    }

    /// The nodes, for those who use them.
    pub fn describe(&self) -> Vec<NodeInfo> {
        let info = |node: &LocalNode| NodeInfo {
            name: node.layout.name.clone(),
            host: node.layout.host.clone(),
            address: node.cql_address(),
            datacenter: node.layout.datacenter.clone(),
            rack: node.layout.rack.clone(),
            tokens: node.layout.tokens.clone(),
            pid: node.process.map(|process| process.pid),
            version: node.layout.release.to_string(),
        };
        self.nodes.iter().map(info).collect()
    }

    /// What the nodes were last started as.
    pub fn spec(&self) -> &LocalSpec {
        &self.spec
    }

    /// Where on their machine the nodes and the client run.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// One node, counted from 0 as in [`Cluster::nodes`].
    pub fn node(&self, index: usize) -> &LocalNode {
        &self.nodes[index]
    }

    /// The nodes that have died, but for those that are `expected` to be away.
    pub fn died(&self, expected: &[&str]) -> Vec<NodeDied> {
        // Their processes go on then, and nobody reaches them.
        if let Some(lost) = self.hosts().and_then(Hosts::lost) {
            return self.nodes.iter().map(|node| node.lost(&lost)).collect();
        }
        let nodes = self.nodes.iter().filter(|node| !expected.contains(&node.layout.name.as_str()));
        nodes.filter_map(LocalNode::died).collect()
    }

    /// How clients get in.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// All nodes, in order.
    pub fn all(&self) -> &[LocalNode] {
        &self.nodes
    }

    /// The hosts, where they are more than addresses.
    pub fn hosts(&self) -> Option<&Hosts> {
        self.ground.hosts()
    }

    /// The host of a node, where it is more than an address.
    pub fn host_of(&self, index: usize) -> Option<&Host> {
        let name = &self.nodes.get(index)?.layout.host;
        self.hosts()?.all().iter().find(|host| host.name() == *name)
    }

    /// The agents of all hosts, with the stand-in that one is for.
    pub fn agents(&self) -> Vec<(&Arc<Agent>, Option<&Host>)> {
        match &self.ground {
            HostLayout::Machine(agent) => vec![(agent, None)],
            HostLayout::Hosts(hosts) => {
                let all = hosts.all().iter();
                all.map(|host| (host.agent(), Some(host))).collect()
            }
        }
    }

    /// The nodes that run by an agent, with their process ids.
    pub fn processes_of(&self, agent: &Arc<Agent>) -> impl Iterator<Item = (&str, u32)> {
        self.nodes.iter().filter_map(move |node| {
            let process = node.process.filter(|_| Arc::ptr_eq(&node.host, agent))?;
            Some((node.layout.name.as_str(), process.pid))
        })
    }

    /// Where the nodes keep their data, as their hosts have it.
    pub fn data_folders(&self) -> impl Iterator<Item = (&str, PathBuf)> {
        let nodes = self.nodes.iter().map(|node| &node.layout);
        nodes.map(|layout| (layout.name.as_str(), layout.folder.clone()))
    }

    /// What hosts were asked to be limited to, where they can be limited.
    pub(super) fn limits(&self) -> Option<&HostSpec> {
        self.hosts()?;
        self.spec.hosts.as_ref().map(|hosts| &hosts.host)
    }

    /// Where the files of the nodes are, in their order.
    pub fn files(&self) -> Vec<NodeFiles<'_>> {
        let nodes = self.all().iter().map(|node| NodeFiles {
            name: node.layout.name.as_str(),
            host: &node.host,
            folder: &node.layout.folder,
            version: node.layout.release.version(),
            agent: node.jolokia.as_ref(),
        });
        nodes.collect()
    }

    /// The MBeans of each node, by its name; `None` where there is no agent.
    pub fn jolokias(&self) -> impl Iterator<Item = (&str, Option<&Jolokia>)> {
        self.nodes.iter().map(|node| (node.layout.name.as_str(), node.jolokia.as_ref()))
    }

    /// Leaves the processes running from now on: `down` will end them. Until here, a cluster that
    /// is meant to be kept counts as ours, so that one that was killed half-made is cleared.
    ///
    /// # Errors
    /// The state cannot be written; the cluster is removed then.
    pub fn keep(mut self) -> Result<(PathBuf, State)> {
        match &self.ground {
            HostLayout::Hosts(hosts) => hosts.keep()?,
            HostLayout::Machine(agent) => agent.keep()?,
        }
        self.state.keep = true;
        self.state.write(&self.folder)?;
        self.armed = false;
        Ok((self.folder.clone(), self.state.clone()))
    }

    /// Kills the processes and removes the folder; see [`state::remove`] for why outright.
    pub fn stop(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.armed) {
            return Ok(());
        }
        let ended = match &self.ground {
            HostLayout::Hosts(hosts) => hosts.end(),
            HostLayout::Machine(agent) => agent.end(),
        };
        if self.are_on_machines() && ended.is_ok() {
            // Their agents have ended in order, and told so.
            return state::remove_folder(&self.folder);
        }
        // Once more by what is written down: agents may have been killed.
        let removed = state::remove(&self.folder, &self.state).map(drop);
        ended.and(removed)
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        // Who wants to know calls stop(); what is left here, the next command clears.
        let _ = self.end();
    }
}
