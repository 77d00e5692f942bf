//! A running target, local or attached: its nodes, how to reach them, what it can do.
//!
//! What is done with a target is an `impl Cluster` beside the work that it is: how it settles is in
//! `settle.rs`, its snapshots are in `snapshot/cluster.rs`. They all know this file, and it knows
//! none of them: whether nodes are ours is told here, by [`Cluster::local`].
//!
//! Dropping a [`Cluster`] stops and removes all that [`crate::start`] started, and nothing else.

use crate::access::Access;
use crate::attach::Attached;
use crate::attach::hosts::AttachedHosts;
use crate::clean::statements_for;
use crate::door::{Door, Permit, all_marked};
use crate::handle::Handles;
use crate::jolokia::Jolokia;
use crate::local::Nodes;
use crate::mark::MarkedTable;
use crate::node::{NodeDied, NodeInfo};
use crate::session::Session;
use anyhow::{Context, Result, bail};
use host::Hosts;
use host::process::Identity;
use null::NullServer;
use std::time::Duration;
use target::{Ability, Capability, Object};

/// How long a control statement may take: schema changes on a busy laptop take seconds.
pub(crate) const CONTROL_TIMEOUT: Duration = Duration::from_secs(30);

/// A running target.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<NodeInfo>,
    access: Access,
    capabilities: Vec<Capability>,
    control: Control,
    /// The server behind a null target. It ends last, after the connections to it.
    null: Option<NullServer>,
}

/// By what a target is controlled.
#[derive(Debug)]
enum Control {
    /// Its processes, which are ours.
    Local(Box<Nodes>),
    /// By what its owner gives us.
    Attached(Box<Attached>),
}

impl Cluster {
    pub(crate) fn of_local(nodes: Nodes) -> Cluster {
        Cluster {
            nodes: nodes.describe(),
            access: nodes.access().clone(),
            capabilities: nodes.capabilities(),
            control: Control::Local(Box::new(nodes)),
            null: None,
        }
    }

    pub(crate) fn of_attached(
        nodes: Vec<NodeInfo>,
        access: Access,
        capabilities: Vec<Capability>,
        attached: Attached,
    ) -> Cluster {
        Cluster {
            nodes,
            access,
            capabilities,
            control: Control::Attached(Box::new(attached)),
            null: None,
        }
    }

    /// With the server of ours that is behind it.
    pub(crate) fn with_null(self, server: NullServer) -> Cluster {
        Cluster {
            null: Some(server),
            access: Access {
                door: None,
                ..self.access
            },
            ..self
        }
    }

    /// Whether it was there before, so that nothing may be done to it which is not permitted.
    pub fn is_attached(&self) -> bool {
        self.access.door.is_some()
    }

    /// Says what may be done to a cluster that is not ours; until then it is only read.
    pub fn permit(&self, permit: Permit) {
        if let Some(door) = &self.access.door {
            door.permit(permit);
        }
    }

    /// The tables of earlier runs that statements were let through for.
    pub fn earlier(&self) -> Vec<MarkedTable> {
        self.access.door.as_ref().map(Door::earlier).unwrap_or_default()
    }

    /// The user's own tables that stay on a cluster that cassay did not start: those that this run
    /// made or wrote to, and did not drop.
    pub fn left(&self) -> Vec<Object> {
        self.access.door.as_ref().map(Door::left).unwrap_or_default()
    }

    /// All tables whose comment says that cassay made them, with the run that it names.
    ///
    /// # Errors
    /// The cluster cannot be asked.
    pub fn marked_tables(&self) -> Result<Vec<MarkedTable>> {
        all_marked(&mut self.session()?)
    }

    /// The statements that drop such tables: a keyspace where nothing else is in it, tables
    /// otherwise.
    ///
    /// # Errors
    /// The cluster cannot be asked.
    pub fn drops(&self, own: &[MarkedTable]) -> Result<Vec<String>> {
        statements_for(own, &mut self.session()?)
    }

    /// The nodes that take load, at least one.
    pub fn nodes(&self) -> &[NodeInfo] {
        &self.nodes
    }

    /// How a client gets in.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Every [`Ability`], in the order of [`Ability::ALL`], there or not.
    pub fn capabilities(&self) -> &[Capability] {
        &self.capabilities
    }

    /// Whether the target has an ability.
    pub fn can(&self, ability: Ability) -> bool {
        let found = self.capabilities.iter().find(|one| one.ability == ability);
        found.is_some_and(|one| one.present)
    }

    /// A control session on the first node.
    ///
    /// # Errors
    /// See [`Session::open`].
    pub fn session(&self) -> Result<Session> {
        self.session_to(self.nodes.first().context("the cluster has no node")?)
    }

    /// A control session on `node`; if that is not where it was, on where the others know it to be
    /// now.
    ///
    /// # Errors
    /// See [`Session::open`].
    pub fn session_to(&self, node: &NodeInfo) -> Result<Session> {
        let open = || Session::open(node.address, &self.access, CONTROL_TIMEOUT);
        match open() {
            Err(_) if !self.follow().is_empty() => open(),
            opened => opened,
        }
    }

    /// Whether its first node is a null target that another process runs: it keeps no options of
    /// tables, and says nothing of Cassandra.
    ///
    /// # Errors
    /// The node does not answer.
    pub fn is_null_server(&self) -> Result<bool> {
        if self.local().is_some() {
            return Ok(false);
        }
        let named = self.session()?.query("SELECT cluster_name FROM system.local")?;
        let name = named.rows.first().and_then(|row| row.first()?.as_str());
        Ok(name == Some(null::CLUSTER_NAME))
    }

    /// The nodes of ours that have ended, and how, but for those that are `expected` to be away.
    /// None of an attached cluster, whose processes are out of sight.
    pub fn died(&self, expected: &[&str]) -> Vec<NodeDied> {
        match &self.control {
            Control::Local(nodes) => nodes.died(expected),
            Control::Attached(_) => Vec::new(),
        }
    }

    /// What it is broken and healed by. Nodes that are not ours are broken by programs of their
    /// owner's, which an agent of ours on this machine runs.
    ///
    /// # Errors
    /// Its logs cannot be looked at, or that agent cannot be started.
    pub fn handles(&self) -> Result<Handles> {
        match &self.control {
            Control::Local(nodes) => nodes.handles(),
            Control::Attached(attached) => attached.handles(&self.nodes, &self.access),
        }
    }

    /// The index of a node, of which a study has the index too. Those that are not ours are counted
    /// by their contact points there.
    ///
    /// # Errors
    /// There is no such node.
    pub fn index_of(&self, asked: usize) -> Result<usize> {
        match &self.control {
            Control::Local(_) => {
                let known = (asked < self.nodes.len()).then_some(asked);
                known.with_context(|| format!("there is no node {}", asked + 1))
            }
            Control::Attached(attached) => attached.index_of(asked, &self.nodes),
        }
    }

    /// What its hosts are called, in their order; nothing where nodes share the machine.
    pub fn host_names(&self) -> Vec<String> {
        match &self.control {
            Control::Local(nodes) => {
                let hosts = nodes.hosts().map(Hosts::all).unwrap_or_default();
                hosts.iter().map(|host| host.name().to_owned()).collect()
            }
            Control::Attached(attached) => {
                attached.hosts.all.iter().map(|host| host.name.clone()).collect()
            }
        }
    }

    /// Takes note that the process of a node of ours is another one now.
    ///
    /// # Errors
    /// It cannot be written down.
    pub fn started(&mut self, node: usize, process: Identity) -> Result<()> {
        let not_ours = "the nodes are not ours to start";
        self.restarting(not_ours, |nodes| nodes.started(node, process))
    }

    /// Stops and removes what was started, and says what went wrong; dropping does the same
    /// silently.
    ///
    /// # Errors
    /// A process or a folder could not be removed.
    pub fn stop(self) -> Result<()> {
        match self.control {
            Control::Local(nodes) => nodes.stop(),
            Control::Attached(attached) => attached.hosts.end(),
        }
    }

    /// The MBeans of all nodes, by name and in their order, if every node shows them.
    pub(crate) fn agents(&self) -> Option<Vec<(&str, &Jolokia)>> {
        let of = |node: &'_ NodeInfo| self.agent(&node.name).ok();
        let agents = self.nodes.iter().map(|node| Some((node.name.as_str(), of(node)?)));
        agents.collect()
    }

    /// The MBeans of one node, or why they are out of sight.
    pub(crate) fn agent(&self, name: &str) -> std::result::Result<&Jolokia, String> {
        match &self.control {
            Control::Local(nodes) => {
                let agent = nodes.jolokias().find(|(node, _)| *node == name);
                agent.and_then(|(_, agent)| agent).ok_or_else(|| {
                    "the distribution in use comes without a Jolokia agent".to_string()
                })
            }
            Control::Attached(attached) => {
                let index = self.nodes.iter().position(|node| node.name == name);
                match index.and_then(|index| attached.agents.get(index)) {
                    Some(agent) => agent.as_ref().map_err(Clone::clone),
                    None => Err("no access to Jolokia agents is given".to_string()),
                }
            }
        }
    }

    /// The processes, where they are ours.
    pub(crate) fn local(&self) -> Option<&Nodes> {
        match &self.control {
            Control::Local(nodes) => Some(nodes.as_ref()),
            Control::Attached(_) => None,
        }
    }

    /// By what nodes are controlled that are not ours.
    pub(crate) fn attached(&self) -> Option<&Attached> {
        match &self.control {
            Control::Attached(attached) => Some(attached),
            Control::Local(_) => None,
        }
    }

    /// The machines of nodes that are not ours, where there is a way to them.
    pub(crate) fn attached_hosts(&self) -> Option<&AttachedHosts> {
        let hosts = &self.attached()?.hosts;
        Some(hosts).filter(|hosts| !hosts.all.is_empty())
    }

    /// The server of ours behind a null target.
    pub(crate) fn null_server(&self) -> Option<&NullServer> {
        self.null.as_ref()
    }

    /// Does what may restart nodes of ours, and describes them anew, however it ended.
    pub(crate) fn restarting<T>(
        &mut self,
        not_ours: &str,
        work: impl FnOnce(&mut Nodes) -> Result<T>,
    ) -> Result<T> {
        let Control::Local(nodes) = &mut self.control else {
            bail!("{not_ours}");
        };
        let result = work(nodes);
        self.nodes = nodes.describe();
        result
    }
}
