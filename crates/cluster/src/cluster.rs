//! A running target, local or attached: its nodes, how to reach them, what it can do.
//!
//! Dropping a [`Cluster`] stops and removes all that [`crate::start`] started, and nothing else.

use crate::access::Access;
use crate::capability::{Ability, Capability};
use crate::counts::OperationCounts;
use crate::jolokia::Jolokia;
use crate::session::{ServerError, Session};
use crate::settle::Settle;
use crate::{attach, counts, local, settle};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// A running target.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<NodeInfo>,
    access: Access,
    capabilities: Vec<Capability>,
    /// The processes, where they are ours.
    local: Option<local::Nodes>,
    /// The agents of an attached cluster, in the order of the nodes; empty without access to them.
    agents: Vec<attach::Agent>,
}

/// One Cassandra process, as far as it can be seen.
#[derive(Clone, Debug)]
pub struct NodeInfo {
    /// `node1` for a node of ours, the address for an attached one.
    pub name: String,
    /// The host it lives on: `host1`, or the address for an attached one.
    pub host: String,
    /// Where it answers CQL.
    pub address: SocketAddr,
    /// Data center.
    pub datacenter: String,
    /// Rack.
    pub rack: String,
    /// The tokens it owns, ascending.
    pub tokens: Vec<i64>,
    /// Process id, when it runs on this machine as our child.
    pub pid: Option<u32>,
    /// Version of Cassandra.
    pub version: String,
}

/// A node of ours that runs no more.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{name} has died ({status}); its last log lines:\n{log_tail}")]
pub struct NodeDied {
    /// Which node.
    pub name: String,
    /// Exit status or signal, and what it may mean.
    pub status: String,
    /// The last lines of its log.
    pub log_tail: String,
}

impl Cluster {
    pub(crate) fn of_local(nodes: local::Nodes, info: Vec<NodeInfo>) -> Cluster {
        Cluster {
            nodes: info,
            access: nodes.access().clone(),
            capabilities: local::capabilities(&nodes),
            local: Some(nodes),
            agents: Vec::new(),
        }
    }

    pub(crate) fn of_attached(
        nodes: Vec<NodeInfo>,
        access: Access,
        agents: Vec<attach::Agent>,
    ) -> Cluster {
        Cluster {
            capabilities: attach::capabilities(&nodes, &agents),
            nodes,
            access,
            local: None,
            agents,
        }
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

    /// A control session on `node`.
    ///
    /// # Errors
    /// See [`Session::open`].
    pub fn session_to(&self, node: &NodeInfo) -> Result<Session> {
        Session::open(node.address, &self.access, CONTROL_TIMEOUT)
    }

    /// The server's own exact counts of client operations on `keyspace`, summed over the nodes
    /// since they started; `None` when the server keeps none. Compare two readings.
    ///
    /// # Errors
    /// A node does not answer.
    pub fn operation_counts(&self, keyspace: &str) -> Result<Option<OperationCounts>> {
        counts::read(self, keyspace)
    }

    /// Flushes the tables of `keyspace`, asks for the compactions that are due, and waits until
    /// they have come to rest, at most for `limit`.
    ///
    /// # Errors
    /// A node does not answer.
    pub fn settle(
        &self,
        keyspace: &str,
        tables: &[&str],
        limit: Duration,
        say: &mut dyn FnMut(&str),
    ) -> Result<Settle> {
        settle::run(self, keyspace, tables, limit, say)
    }

    /// The effective settings of every node (`system_views.settings`), by node name; empty when a
    /// server has no such table or does not show it to this user.
    ///
    /// # Errors
    /// A node does not answer.
    pub fn settings(&self) -> Result<Vec<(String, BTreeMap<String, String>)>> {
        let mut all = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let mut session = self.session_to(node)?;
            match session.pairs("SELECT name, value FROM system_views.settings") {
                Ok(settings) => all.push((node.name.clone(), settings)),
                Err(error) if error.downcast_ref::<ServerError>().is_some() => {
                    return Ok(Vec::new());
                }
                Err(error) => {
                    return Err(error.context(format!("read the settings of {}", node.name)));
                }
            }
        }
        Ok(all)
    }

    /// Whether all nodes of ours still run. Always true for an attached cluster, whose processes
    /// are out of sight.
    ///
    /// # Errors
    /// The first node that has died.
    pub fn alive(&mut self) -> Result<(), NodeDied> {
        match &mut self.local {
            Some(local) => local.alive(),
            None => Ok(()),
        }
    }

    /// Copies the log folder of every node of ours to `into/<node>/`. Nothing for an attached one.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn collect_logs(&self, into: &Path) -> Result<()> {
        match &self.local {
            Some(local) => local.collect_logs(into),
            None => Ok(()),
        }
    }

    /// Stops and removes what was started, and says what went wrong; dropping does the same
    /// silently.
    ///
    /// # Errors
    /// A process or a folder could not be removed.
    pub fn stop(mut self) -> Result<()> {
        match self.local.take() {
            Some(local) => local.stop(),
            None => Ok(()),
        }
    }

    /// The processes, to be stopped by somebody else.
    pub(crate) fn into_local(mut self) -> Option<local::Nodes> {
        self.local.take()
    }

    /// The MBeans of all nodes, by name and in their order, if every node shows them.
    pub(crate) fn agents(&self) -> Option<Vec<(&str, &Jolokia)>> {
        let of = |node: &'_ NodeInfo| self.agent(&node.name).ok();
        let agents = self
            .nodes
            .iter()
            .map(|node| Some((node.name.as_str(), of(node)?)));
        agents.collect()
    }

    /// The MBeans of one node, or why they are out of sight.
    pub(crate) fn agent(&self, name: &str) -> std::result::Result<&Jolokia, String> {
        if let Some(local) = &self.local {
            let agent = local.jolokias().find(|(node, _)| *node == name);
            return agent.and_then(|(_, agent)| agent).ok_or_else(|| {
                "the distribution in use comes without a Jolokia agent".to_string()
            });
        }
        let index = self.nodes.iter().position(|node| node.name == name);
        match index.and_then(|index| self.agents.get(index)) {
            Some(agent) => agent.as_ref().map_err(Clone::clone),
            None => Err("no access to a Jolokia agent is given".to_string()),
        }
    }

    pub(crate) fn local(&self) -> Option<&local::Nodes> {
        self.local.as_ref()
    }

    pub(crate) fn local_mut(&mut self) -> Option<&mut local::Nodes> {
        self.local.as_mut()
    }

    /// Describes the nodes anew, after some were restarted.
    pub(crate) fn refresh(&mut self) {
        if let Some(local) = &self.local {
            self.nodes = local.describe();
        }
    }
}

/// How long a control statement may take: schema changes on a busy laptop take seconds.
const CONTROL_TIMEOUT: Duration = Duration::from_secs(30);
