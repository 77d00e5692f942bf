//! Nodes of a managed cluster: their processes, their persistent state, and how cassay ends them.

use super::host_layout::HostLayout;
use super::node_process::LocalNode;
use super::node_process::NodeDied;
use super::persistent_state::{self, State};
use super::placement::{Layout, Placement};
use super::ports::Claim;
use super::program::{Program, Upgrade};
use super::settings::{self, NodeLayout};
use anyhow::Result;
use cassandra::{Access, Jolokia, NodeFiles, NodeInfo};
use host::process::Identity;
use host::{Agent, Host, Hosts};
use kubernetes::PodSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use target_spec::{HostSpec, LocalSpec};

/// Nodes of a managed cluster. Dropping this value kills the nodes and removes their folder, unless
/// the cluster is kept.
#[derive(Debug)]
pub(crate) struct Nodes {
    pub(super) folder: PathBuf,
    pub(super) state: State,
    /// Spec of the nodes' last start.
    pub(super) spec: LocalSpec,
    pub(super) nodes: Vec<LocalNode>,
    /// Placement of the nodes and the client.
    pub(super) layout: Layout,
    /// Hosts of the nodes, with agents that start the nodes.
    pub(super) ground: HostLayout,
    pub(super) program: Program,
    /// Program on each remote machine. Empty if the nodes run on this machine.
    pub(super) programs: Vec<Program>,
    /// Program of upgraded nodes. `None` until an upgrade is prepared.
    pub(super) upgrade: Option<Upgrade>,
    /// Claim on the nodes' addresses, which remains valid while no node listens.
    pub(super) claim: Option<Claim>,
    pub(super) secret: String,
    pub(super) access: Access,
    pub(super) armed: bool,
    /// Lock by which this command has exclusive use of a kept cluster.
    pub(super) _lock: Option<std::fs::File>,
    /// Pods that cassay created as hosts. This field is dropped last.
    pub(super) _pods: Option<PodSet>,
}

impl Nodes {
    /// Returns the placement of a node. Returns `None` if the spec requests no placement, or the
    /// node was added later.
    pub(super) fn placement(&self, node: &LocalNode) -> Option<&Placement> {
        let all = self.layout.nodes.iter();
        let mut all = all.filter(|one| one.confinement.name == node.layout.name);
        all.next()
    }

    /// Returns the program of a node, with file paths on the node's host.
    pub(super) fn program_of(&self, node: &LocalNode) -> &Program {
        let hosts = self.hosts().map(Hosts::all).unwrap_or_default();
        let host = hosts.iter().position(|host| host.name() == node.layout.host);
        let (program, programs) = match self.upgrade_of(node) {
            Some(upgrade) => (&upgrade.program, &upgrade.programs),
            None => (&self.program, &self.programs),
        };
        host.and_then(|host| programs.get(host)).unwrap_or(program)
    }

    pub fn are_on_machines(&self) -> bool {
        self.hosts().is_some_and(Hosts::are_machines)
    }

    /// Builds a node without a process.
    ///
    /// # Errors
    /// The host of the node is not one of the cluster's hosts.
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

    pub fn started(&mut self, index: usize, process: Identity) -> Result<()> {
        let before = &self.nodes[index];
        let starts = before.starts;
        // MBean connections to the old process are broken.
        self.nodes[index] = self.node_of(before.layout.clone())?;
        self.nodes[index].starts = starts.map(|starts| starts + 1);
        self.state.nodes[index].process = Some(process);
        self.nodes[index].process = Some(process);
        self.state.write(&self.folder)
    }

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

    pub fn spec(&self) -> &LocalSpec {
        &self.spec
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    pub fn node(&self, index: usize) -> &LocalNode {
        &self.nodes[index]
    }

    /// Returns the nodes that have died or become unreachable, except those in `expected`.
    pub fn died(&self, expected: &[&str]) -> Vec<NodeDied> {
        // Without the hosts' network, all nodes are unreachable, although their processes continue.
        if let Some(lost) = self.hosts().and_then(Hosts::lost) {
            return self.nodes.iter().map(|node| node.lost(&lost)).collect();
        }
        let nodes = self.nodes.iter().filter(|node| !expected.contains(&node.layout.name.as_str()));
        nodes.filter_map(LocalNode::died).collect()
    }

    pub fn access(&self) -> &Access {
        &self.access
    }

    pub fn all(&self) -> &[LocalNode] {
        &self.nodes
    }

    /// Returns the isolated hosts. `None` if the hosts are only addresses.
    pub fn hosts(&self) -> Option<&Hosts> {
        self.ground.hosts()
    }

    /// Returns the isolated host of a node. `None` if the host is only an address.
    pub fn host_of(&self, index: usize) -> Option<&Host> {
        let name = &self.nodes.get(index)?.layout.host;
        self.hosts()?.all().iter().find(|host| host.name() == *name)
    }

    /// Returns the agents of all hosts, each with its isolated host if any.
    pub fn agents(&self) -> Vec<(&Arc<Agent>, Option<&Host>)> {
        match &self.ground {
            HostLayout::Machine(agent) => vec![(agent, None)],
            HostLayout::Hosts(hosts) => {
                let all = hosts.all().iter();
                all.map(|host| (host.agent(), Some(host))).collect()
            }
        }
    }

    /// Returns the names and process ids of the nodes that an agent has started.
    pub fn processes_of(&self, agent: &Arc<Agent>) -> impl Iterator<Item = (&str, u32)> {
        self.nodes.iter().filter_map(move |node| {
            let process = node.process.filter(|_| Arc::ptr_eq(&node.host, agent))?;
            Some((node.layout.name.as_str(), process.pid))
        })
    }

    /// Returns each node's name and folder. The folder is a path on the node's host.
    pub fn data_folders(&self) -> impl Iterator<Item = (&str, PathBuf)> {
        let nodes = self.nodes.iter().map(|node| &node.layout);
        nodes.map(|layout| (layout.name.as_str(), layout.folder.clone()))
    }

    /// Returns the requested limits of hosts. `None` if the hosts cannot be limited.
    pub(super) fn limits(&self) -> Option<&HostSpec> {
        self.hosts()?;
        self.spec.hosts.as_ref().map(|hosts| &hosts.host)
    }

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

    /// Returns each node's name and MBean client. `None` if the node has no Jolokia agent.
    pub fn jolokias(&self) -> impl Iterator<Item = (&str, Option<&Jolokia>)> {
        self.nodes.iter().map(|node| (node.layout.name.as_str(), node.jolokia.as_ref()))
    }

    /// Keeps the processes running after this command, until the command `down`. Before this call,
    /// dropping the value removes the cluster, so that an unfinished cluster does not remain.
    ///
    /// # Errors
    /// The state cannot be written. The cluster is then removed.
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

    /// Kills the processes, see [`persistent_state::remove`], and removes the folder.
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
            // The agents ended normally, so only the folder remains.
            return persistent_state::remove_folder(&self.folder);
        }
        // Agents may have been killed, so the recorded state determines the removal.
        let removed = persistent_state::remove(&self.folder, &self.state).map(drop);
        ended.and(removed)
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        // Callers that need the result use stop(). After a failure, the next command removes the
        // leftovers.
        let _ = self.end();
    }
}
