//! A running target, managed or attached: its nodes, access to the nodes, and its capabilities.
//!
//! The files of this crate add operations on [`Cluster`] by topic, such as `settle.rs` and
//! `snapshot/cluster.rs`. [`TargetControl`] declares the operations that differ between managed and
//! attached nodes. Dropping a [`Cluster`] stops and removes exactly the processes and objects that
//! [`crate::start`] created.

use crate::attach::AttachedControl;
use crate::attach::hosts::AttachedHosts;
use crate::local::{NodeDied, Nodes};
use crate::target_control::TargetControl;
use anyhow::{Context, Result, bail};
use cassandra::{
    Access, Handles, Jolokia, MarkedTable, Node, NodeInfo, Permit, Session, StatementGate,
    all_marked, follow, statements_for,
};
use host::process::Identity;
use null_server::NullServer;
use std::net::SocketAddr;
use target_spec::{Capability, CapabilityStatus, HostIndex, NodeIndex, Object, PerHost};

#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<NodeInfo>,
    access: Access,
    capabilities: Vec<CapabilityStatus>,
    control: Control,
    /// Server behind a null target. This field is dropped last, after the connections to the
    /// server.
    null: Option<NullServer>,
}

#[derive(Debug)]
enum Control {
    Local(Box<Nodes>),
    Attached(Box<AttachedControl>),
}

impl Cluster {
    pub(crate) fn from_local(nodes: Nodes) -> Cluster {
        Cluster {
            nodes: nodes.describe(),
            access: nodes.access().clone(),
            capabilities: nodes.capabilities(),
            control: Control::Local(Box::new(nodes)),
            null: None,
        }
    }

    pub(crate) fn from_attached(
        nodes: Vec<NodeInfo>,
        access: Access,
        capabilities: Vec<CapabilityStatus>,
        attached: AttachedControl,
    ) -> Cluster {
        Cluster {
            nodes,
            access,
            capabilities,
            control: Control::Attached(Box::new(attached)),
            null: None,
        }
    }

    /// Adds the server of a null target, and removes the permission check.
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

    /// Returns true if cassay attached to an existing cluster. Changes then need permission.
    pub fn is_attached(&self) -> bool {
        self.access.door.is_some()
    }

    /// Grants permissions on an attached cluster. Without them, cassay only reads from the cluster.
    pub fn permit(&self, permit: Permit) {
        if let Some(door) = &self.access.door {
            door.permit(permit);
        }
    }

    /// Returns the tables of earlier runs that statements of this run were permitted to change.
    pub fn earlier(&self) -> Vec<MarkedTable> {
        self.access.door.as_ref().map(StatementGate::earlier).unwrap_or_default()
    }

    /// Returns the tables that this run created or wrote to on an attached cluster, and did not
    /// drop.
    pub fn left(&self) -> Vec<Object> {
        self.access.door.as_ref().map(StatementGate::left).unwrap_or_default()
    }

    /// Returns all tables with a comment that cassay created them, and the run in this comment.
    ///
    /// # Errors
    /// The cluster cannot be queried.
    pub fn marked_tables(&self) -> Result<Vec<MarkedTable>> {
        all_marked(&mut self.session()?)
    }

    /// Returns the statements that drop the tables `own`. If a keyspace contains only these tables,
    /// one statement drops the whole keyspace.
    ///
    /// # Errors
    /// The cluster cannot be queried.
    pub fn drops(&self, own: &[MarkedTable]) -> Result<Vec<String>> {
        statements_for(own, &mut self.session()?)
    }

    /// Returns the nodes that receive load. There is at least one node.
    pub fn nodes(&self) -> &[NodeInfo] {
        &self.nodes
    }

    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Returns the status of every [`Capability`], in the order of [`Capability::ALL`].
    pub fn capabilities(&self) -> &[CapabilityStatus] {
        &self.capabilities
    }

    pub fn can(&self, capability: Capability) -> bool {
        let found = self.capabilities.iter().find(|one| one.capability == capability);
        found.is_some_and(|one| one.present)
    }

    /// Opens a control session with the first node.
    ///
    /// # Errors
    /// The errors of [`Session::open`].
    pub fn session(&self) -> Result<Session> {
        self.first()?.session()
    }

    /// Opens a control session with `node`. If the node has moved, first requests its current
    /// address from the other nodes.
    ///
    /// # Errors
    /// The errors of [`Session::open`].
    pub fn session_to(&self, node: &NodeInfo) -> Result<Session> {
        self.node(node).session()
    }

    pub fn node<'a>(&'a self, info: &'a NodeInfo) -> Node<'a> {
        Node {
            info,
            members: &self.nodes,
            access: &self.access,
            mbeans: self.agent(&info.name),
        }
    }

    pub(crate) fn all(&self) -> Vec<Node<'_>> {
        self.nodes.iter().map(|info| self.node(info)).collect()
    }

    /// Returns the first node, which answers queries about the whole cluster.
    pub(crate) fn first(&self) -> Result<Node<'_>> {
        Ok(self.node(self.nodes.first().context("the cluster has no node")?))
    }

    /// Requests the current addresses of attached nodes from the first node that answers, and
    /// records the addresses. Returns a sentence for each node whose address has changed.
    pub fn follow(&self) -> Vec<String> {
        follow(&self.nodes, &self.access)
    }

    /// Returns the name and the Prometheus endpoint of each node in Kubernetes, as the nodes'
    /// service declares the endpoints.
    pub fn metrics_ends(&self) -> Vec<(String, SocketAddr)> {
        self.attached().map(|attached| attached.metrics.clone()).unwrap_or_default()
    }

    /// Returns true if the first node of an attached cluster is a null server, which neither stores
    /// table options nor reports anything about Cassandra.
    ///
    /// # Errors
    /// The node does not answer.
    pub fn is_null_server(&self) -> Result<bool> {
        if self.local().is_some() {
            return Ok(false);
        }
        let named = self.session()?.query("SELECT cluster_name FROM system.local")?;
        let name = named.rows.first().and_then(|row| row.first()?.as_str());
        Ok(name == Some(null_server::CLUSTER_NAME))
    }

    /// Returns the managed nodes that have ended, except those in `expected`. The list is empty for
    /// an attached cluster.
    pub fn died(&self, expected: &[&str]) -> Vec<NodeDied> {
        self.control().died(expected)
    }

    /// Returns the handles for breaking and healing the cluster.
    ///
    /// # Errors
    /// The logs of a node cannot be read, or the agent cannot be started.
    pub fn handles(&self) -> Result<Handles> {
        self.control().handles(&self.nodes, &self.access)
    }

    /// Converts a study's node index to an index into [`Cluster::nodes`]. For an attached cluster,
    /// the study's index is the position of a contact point.
    ///
    /// # Errors
    /// The cluster does not have this node.
    pub fn index_of(&self, asked: NodeIndex) -> Result<NodeIndex> {
        self.control().index_of(asked, &self.nodes)
    }

    /// Returns the names of the hosts in order. Empty if the nodes share one machine.
    pub fn host_names(&self) -> PerHost<String> {
        self.control().host_names()
    }

    /// # Errors
    /// The cluster does not have this node.
    pub fn node_at(&self, index: NodeIndex) -> Result<&NodeInfo> {
        let found = self.nodes.get(index.0);
        found.with_context(|| format!("node {} does not exist", index.number()))
    }

    /// Returns the host of a node. Returns `None` if the nodes share one machine, or if cassay
    /// cannot reach the host.
    pub fn host_of(&self, node: NodeIndex) -> Option<HostIndex> {
        let name = &self.nodes.get(node.0)?.host;
        self.host_names().position(|host| host == name)
    }

    /// Records the new process of a managed node.
    ///
    /// # Errors
    /// cassay did not start the nodes, or the record cannot be written to disk.
    pub fn started(&mut self, node: NodeIndex, process: Identity) -> Result<()> {
        let not_ours = "cassay did not start the nodes";
        self.restarting(not_ours, |nodes| nodes.started(node.0, process))
    }

    /// Stops and removes all processes and objects that cassay created. Unlike dropping the value,
    /// this function reports failures.
    ///
    /// # Errors
    /// A process or a folder could not be removed.
    pub fn stop(self) -> Result<()> {
        match self.control {
            Control::Local(nodes) => TargetControl::end(nodes),
            Control::Attached(attached) => TargetControl::end(attached),
        }
    }

    /// Returns the names and MBean clients of all nodes, in node order. Returns `None` if the
    /// MBeans of a node are not accessible.
    pub(crate) fn agents(&self) -> Option<Vec<(&str, &Jolokia)>> {
        let of = |node: &'_ NodeInfo| self.agent(&node.name).ok();
        let agents = self.nodes.iter().map(|node| Some((node.name.as_str(), of(node)?)));
        agents.collect()
    }

    /// Returns the MBean client of one node, or the reason why its MBeans are not accessible.
    pub(crate) fn agent(&self, name: &str) -> std::result::Result<&Jolokia, String> {
        let mut names = self.nodes.iter().map(|node| &node.name);
        match names.position(|known| known == name) {
            Some(index) => self.control().jolokia(NodeIndex(index)),
            None => Err(format!("the cluster has no node {name}")),
        }
    }

    pub(crate) fn control(&self) -> &dyn TargetControl {
        match &self.control {
            Control::Local(nodes) => &**nodes,
            Control::Attached(attached) => &**attached,
        }
    }

    pub(crate) fn local(&self) -> Option<&Nodes> {
        match &self.control {
            Control::Local(nodes) => Some(nodes.as_ref()),
            Control::Attached(_) => None,
        }
    }

    pub(crate) fn attached(&self) -> Option<&AttachedControl> {
        match &self.control {
            Control::Attached(attached) => Some(attached),
            Control::Local(_) => None,
        }
    }

    pub(crate) fn attached_hosts(&self) -> Option<&AttachedHosts> {
        self.attached()?.reached()
    }

    pub(crate) fn null_server(&self) -> Option<&NullServer> {
        self.null.as_ref()
    }

    /// Runs `work`, which may restart managed nodes. Then updates the descriptions of the nodes,
    /// even if `work` failed.
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
