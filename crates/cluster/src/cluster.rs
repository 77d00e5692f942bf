//! A running target, local or attached: its nodes, how to reach them, what it can do.
//!
//! Long because all that can be done with a target stands here: whether its nodes are ours is
//! decided here, and what is to be done then is done elsewhere.
//!
//! Dropping a [`Cluster`] stops and removes all that [`crate::start`] started, and nothing else.

use crate::access::Access;
use crate::attach::Attached;
use crate::capability::{Ability, Capability};
use crate::cause::LogMarks;
use crate::counts::OperationCounts;
use crate::data_use::DataUse;
use crate::door::Permit;
use crate::handle::Handles;
use crate::jolokia::Jolokia;
use crate::local::{
    HostInfo, NodeConfiguration, NodePlace, Nodes, Observed, Proof, Restarts, SchemaOption,
};
use crate::node::{NodeDied, NodeInfo};
use crate::placing::{PartUsed, Topology};
use crate::probe::{ProbeSpec, Probes};
use crate::session::{ServerError, Session};
use crate::settle::Settle;
use crate::snapshot::{
    Fingerprint, RestoreHow, Restored, Snapshot, attached, offline, online, own,
};
use crate::spec::LocalSpec;
use crate::status::{NodeState, Overview};
use crate::{attach, cause, counts, data_use, local, page_cache, probe, settle, snapshot, status};
use anyhow::{Context, Result, bail};
use host::Agent;
use host::process::Identity;
use null::NullServer;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

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
    Local(Box<local::Nodes>),
    /// By what its owner gives us.
    Attached(Attached),
}

impl Cluster {
    pub(crate) fn of_local(nodes: local::Nodes, info: Vec<NodeInfo>) -> Cluster {
        Cluster {
            nodes: info,
            access: nodes.access().clone(),
            capabilities: local::capabilities(&nodes),
            control: Control::Local(Box::new(nodes)),
            null: None,
        }
    }

    pub(crate) fn of_attached(nodes: Vec<NodeInfo>, access: Access, attached: Attached) -> Cluster {
        Cluster {
            capabilities: attach::capabilities(&nodes, &attached.agents),
            nodes,
            access,
            control: Control::Attached(attached),
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

    /// Whether its first node is a null target that another process runs: it keeps no options of
    /// tables, and says nothing of Cassandra.
    ///
    /// # Errors
    /// The node does not answer.
    pub fn is_null_server(&self) -> Result<bool> {
        if self.local().is_some() {
            return Ok(false);
        }
        let named = self
            .session()?
            .query("SELECT cluster_name FROM system.local")?;
        let name = named.rows.first().and_then(|row| row.first()?.as_str());
        Ok(name == Some(null::CLUSTER_NAME))
    }

    /// The server's own exact counts of client operations on `keyspace`, summed over the nodes
    /// since they started; `None` when the server keeps none. Compare two readings.
    ///
    /// # Errors
    /// A node does not answer.
    pub fn operation_counts(&self, keyspace: &str) -> Result<Option<OperationCounts>> {
        match &self.null {
            Some(server) => Ok(Some(OperationCounts::of_null(&server.counts()))),
            None => counts::read(self, keyspace),
        }
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
        // A null target has none but those of its plan.
        for node in self.nodes.iter().filter(|_| self.null.is_none()) {
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

    /// The index of a node, of which a study has the number, counted from 1. Those that are not
    /// ours are counted by their contact points.
    ///
    /// # Errors
    /// There is no such node.
    pub fn index_of(&self, number: usize) -> Result<usize> {
        match &self.control {
            Control::Local(_) => {
                let index = number.checked_sub(1);
                let known = index.filter(|index| *index < self.nodes.len());
                known.with_context(|| format!("there is no node {number}"))
            }
            Control::Attached(attached) => attached.index_of(number, &self.nodes),
        }
    }

    /// Takes note that the process of a node of ours, counted from 1, is another one now.
    ///
    /// # Errors
    /// It cannot be written down.
    pub fn started(&mut self, number: usize, process: Identity) -> Result<()> {
        let not_ours = "the nodes are not ours to start";
        self.restarting(not_ours, |nodes| nodes.started(number - 1, process))
    }

    /// Copies the log folder of every node of ours to `into/<node>/`. Nothing for an attached one.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn collect_logs(&self, into: &Path) -> Result<()> {
        match &self.control {
            Control::Local(nodes) => nodes.collect_logs(into),
            Control::Attached(_) => Ok(()),
        }
    }

    /// Turns the nodes of ours into those of `spec`: each is drained, stopped, given its new files
    /// and started. In turn, it answers CQL and is seen by all others before the next one.
    /// Returns the names of the nodes that were restarted: none if nothing differs that a JVM reads
    /// at its start. [`Cluster::nodes`] has the new process ids afterwards.
    ///
    /// # Errors
    /// It is not a cluster of ours; `spec` cannot be had by restarting (see
    /// [`LocalSpec::restart_suffices`]); a node does not come back, with the last lines of its log.
    /// The cluster is of no use then.
    pub fn reconfigure(
        &mut self,
        spec: &LocalSpec,
        restarts: Restarts,
        say: &mut dyn FnMut(&str),
    ) -> Result<Vec<String>> {
        let not_ours = "only a local target can be given another configuration";
        self.restarting(not_ours, |nodes| nodes.reconfigure(spec, restarts, say))
    }

    /// Gives the nodes of a local cluster other places on their machine: they restart one after
    /// the other. Their names.
    ///
    /// # Errors
    /// As [`Cluster::reconfigure`]; or the machine has not what is asked for.
    pub fn place(&mut self, topology: Topology, say: &mut dyn FnMut(&str)) -> Result<Vec<String>> {
        let not_ours = "only nodes of ours can be placed on their machine";
        self.restarting(not_ours, |nodes| {
            let spec = LocalSpec {
                topology,
                ..nodes.spec().clone()
            };
            nodes.reconfigure(&spec, Restarts::InTurn, say)
        })
    }

    /// What every node says of itself, beside what was asked of it.
    ///
    /// # Errors
    /// A node does not answer.
    pub fn observe(&self) -> Result<Observed> {
        if let Control::Local(nodes) = &self.control {
            return nodes.observe();
        }
        let of_node = |(node, settings)| NodeConfiguration {
            node,
            settings,
            ..NodeConfiguration::default()
        };
        Ok(Observed {
            nodes: self.settings()?.into_iter().map(of_node).collect(),
            ..Observed::default()
        })
    }

    /// Of each of the tables, by its name, the options that were asked for beside what every node's
    /// schema says of them.
    ///
    /// # Errors
    /// A node does not answer, or has no such table.
    pub fn table_proofs(
        &self,
        keyspace: &str,
        tables: &BTreeMap<String, Vec<SchemaOption>>,
    ) -> Result<Vec<Proof>> {
        local::table_proofs(self, keyspace, tables)
    }

    /// What each node says of the options of a keyspace itself.
    ///
    /// # Errors
    /// As [`Cluster::table_proofs`].
    pub fn keyspace_proofs(&self, keyspace: &str, options: &[SchemaOption]) -> Result<Vec<Proof>> {
        local::keyspace_proofs(self, keyspace, options)
    }

    /// The hosts that the nodes live on, each once, in the order of the nodes.
    ///
    /// # Errors
    /// The kernel does not tell the limits of a host of ours.
    pub fn hosts(&self) -> Result<Vec<HostInfo>> {
        match self.local().and_then(local::Nodes::hosts) {
            Some(hosts) => HostInfo::of_hosts(hosts),
            None => Ok(HostInfo::of_addresses(&self.nodes)),
        }
    }

    /// Where its nodes that run are on their machines, as the kernel says; of an attached cluster
    /// nothing.
    ///
    /// # Errors
    /// A host's agent does not tell.
    pub fn places(&self) -> Result<Vec<NodePlace>> {
        self.local().map_or(Ok(Vec::new()), local::Nodes::places)
    }

    /// What the client has of the machine beside nodes that are placed, in a sentence.
    pub fn client_sentence(&self) -> Option<&str> {
        self.local()?.layout().of_client.as_deref()
    }

    /// How its nodes are placed and why, a sentence each. Nothing where nothing is said of it.
    pub fn placement_sentences(&self) -> &[String] {
        let layout = self.local().map(local::Nodes::layout);
        layout.map_or(&[], |layout| &layout.sentences)
    }

    /// The part of their machine that its nodes have; none: all of it.
    pub fn part(&self) -> Option<&PartUsed> {
        self.local()?.layout().part.as_ref()
    }

    /// The CPUs that are kept for the client, where nodes are placed.
    pub fn client_cpus(&self) -> Option<Vec<usize>> {
        let layout = self.local().map(local::Nodes::layout)?;
        let cpus = layout.client.as_ref()?;
        Some(cpus.iter().map(|cpu| *cpu as usize).collect())
    }

    /// The CPUs that its nodes are confined to; empty where one of them is not.
    pub fn taken_cpus(&self) -> Vec<usize> {
        let Some(layout) = self.local().map(local::Nodes::layout) else {
            return Vec::new();
        };
        let mut nodes = layout.nodes.iter();
        match nodes.all(|node| node.confinement.cpus.is_some()) {
            true => layout.taken().iter().map(|cpu| cpu as usize).collect(),
            false => Vec::new(),
        }
    }

    /// How far the hosts are kept apart: `hosts` (a network, control groups and a volume each),
    /// `loopback` (addresses of this machine), or `attach` (not ours).
    pub fn isolation(&self) -> &'static str {
        match &self.control {
            Control::Local(nodes) if nodes.hosts().is_some() => "hosts",
            Control::Local(_) => "loopback",
            Control::Attached(_) => "attach",
        }
    }

    /// How every node is.
    ///
    /// # Errors
    /// No node answers.
    pub fn states(&self) -> Result<Vec<NodeState>> {
        status::states(self)
    }

    /// Each node's share of `keyspace`, 1.0 being one whole copy: what `nodetool status` calls
    /// effective ownership.
    ///
    /// # Errors
    /// The first node does not answer, there is no such keyspace, or its replication strategy is
    /// not known.
    pub fn ownership(&self, keyspace: &str) -> Result<BTreeMap<String, f64>> {
        status::ownership(self, keyspace)
    }

    /// The indexes of the nodes that hold a partition of `keyspace`, by its token: its owner first.
    ///
    /// # Errors
    /// As [`Cluster::ownership`].
    pub fn replicas(&self, keyspace: &str, token: i64) -> Result<Vec<usize>> {
        status::replicas(self, keyspace, token)
    }

    /// States and ownership in one look: of `keyspace`, or of all that are not Cassandra's own.
    pub fn overview(&self, keyspace: Option<&str>) -> Overview {
        status::overview_of(self, keyspace)
    }

    /// What each node keeps of `keyspace`. Flush first (see [`Cluster::settle`]): what is in memory
    /// takes no room yet.
    ///
    /// # Errors
    /// There is no such keyspace, or a node does not answer or shows nothing of it.
    pub fn data_use(&self, keyspace: &str) -> Result<Vec<DataUse>> {
        data_use::read(self, keyspace)
    }

    /// Takes the files of all nodes' data out of the page cache. `false`: not all of it, because
    /// the nodes are not ours, or map their files (`disk_access_mode: mmap`), and what is mapped
    /// stays.
    ///
    /// On hosts that are kept apart, each host's whole cache goes, mapped or not. Otherwise no root
    /// is needed, and nothing else on the machine loses its cache.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn drop_page_cache(&self) -> Result<bool> {
        match &self.control {
            Control::Local(nodes) => page_cache::drop_of(self, nodes),
            Control::Attached(_) => Ok(false),
        }
    }

    /// Starts the probes of `spec`; `tables` of `keyspace` are those whose own figures are read.
    ///
    /// # Errors
    /// A probe cannot start at all: the message says which and why. What some probe cannot see is
    /// no error, see [`Cluster::unseen`].
    pub fn probe(&self, spec: &ProbeSpec, keyspace: &str, tables: &[&str]) -> Result<Probes> {
        probe::start(self, spec, keyspace, tables)
    }

    /// The processes of our agents that look: their work is ours.
    pub fn host_agents(&self) -> Vec<u32> {
        let agents = self.local().map(Nodes::agents).unwrap_or_default();
        let pid = |(agent, _): (&Arc<Agent>, _)| agent.process().pid;
        agents.into_iter().map(pid).collect()
    }

    /// The devices that hold the volumes of our hosts, by their names below `/sys/block`: what they
    /// move is ours, the journals of their file systems too.
    pub fn host_devices(&self) -> Vec<String> {
        let agents = self.local().map(Nodes::agents).unwrap_or_default();
        let hosts = agents.into_iter().filter_map(|(_, host)| host);
        let devices = hosts.filter_map(|host| host.device().map(str::to_owned));
        devices.collect()
    }

    /// What the probes of `spec` cannot see, each with the reason and what would bring it.
    pub fn unseen(&self, spec: &ProbeSpec) -> Vec<String> {
        probe::unseen(self, spec)
    }

    /// How far the nodes' logs go now; nothing for an attached cluster.
    pub fn log_marks(&self) -> LogMarks {
        match &self.control {
            Control::Local(nodes) => LogMarks::of(&nodes.files()),
            Control::Attached(_) => LogMarks::default(),
        }
    }

    /// Why nodes of ours refuse, a sentence for each of which something is known: the state of its
    /// volume, and the first line of its log since `marks` that says why it stopped.
    pub fn causes(&self, marks: &LogMarks) -> Vec<String> {
        match &self.control {
            Control::Local(nodes) => cause::causes(&nodes.files(), marks),
            Control::Attached(_) => Vec::new(),
        }
    }

    /// Puts the data of `tables` (none: all) of `keyspace` away under `name`: flushes, and links
    /// every SSTable. Settle first: what is put away unsettled is brought back unsettled.
    ///
    /// # Errors
    /// The name is taken or cannot be used, there is no such table, or the cluster gives no access
    /// to what this needs; the message names the node and what is missing.
    pub fn snapshot_create(
        &self,
        name: &str,
        keyspace: &str,
        tables: &[&str],
        say: &mut dyn FnMut(&str),
    ) -> Result<Snapshot> {
        snapshot::check_name(name)?;
        match &self.control {
            Control::Local(nodes) => own::create(self, &nodes.files(), name, keyspace, tables, say),
            Control::Attached(_) => attached::create(self, name, keyspace, tables, say),
        }
    }

    /// All snapshots, by name: those that every node has a part of.
    ///
    /// # Errors
    /// A node does not answer, or its files cannot be read.
    pub fn snapshots(&self) -> Result<Vec<Snapshot>> {
        match &self.control {
            Control::Local(nodes) => own::list(&nodes.files()),
            Control::Attached(_) => attached::list(self),
        }
    }

    /// Brings the tables of a snapshot back to what they were, and checks on every node that they
    /// consist of the same SSTables. What was written since is gone. All bytes of a snapshot of
    /// ours are read the first time that this process uses it.
    ///
    /// # Errors
    /// There is no such snapshot, a file of it is damaged, a volume has no room, a node is down,
    /// refuses, or has other SSTables afterwards; the message names the node and the table or file,
    /// and says what is left and how to go on if anything was changed.
    pub fn snapshot_restore(
        &mut self,
        name: &str,
        how: RestoreHow,
        say: &mut dyn FnMut(&str),
    ) -> Result<Restored> {
        snapshot::check_name(name)?;
        match (&mut self.control, how) {
            (Control::Local(nodes), RestoreHow::Online) => online::restore(nodes, name, say),
            (Control::Attached(_), RestoreHow::Online) => attached::restore(self, name, say),
            (_, RestoreHow::Offline) => {
                let not_ours = "an attached cluster cannot be restored offline: its processes are \
                                not ours to stop; restore online";
                self.restarting(not_ours, |nodes| offline::restore(nodes, name, say))
            }
        }
    }

    /// Reads every file of a snapshot and compares it with what was put away: by node, whether its
    /// part is whole.
    ///
    /// # Errors
    /// There is no such snapshot, or it is on the disks of an attached cluster, out of sight.
    pub fn snapshot_verify(&self, name: &str) -> Result<Vec<(String, Result<(), String>)>> {
        snapshot::check_name(name)?;
        match &self.control {
            Control::Local(nodes) => own::verify(&nodes.files(), name),
            Control::Attached(_) => bail!(
                "the files of an attached cluster are out of sight: {name} is compared only when \
                 it is restored"
            ),
        }
    }

    /// Removes a snapshot on all nodes, a part too that only some of them have.
    ///
    /// # Errors
    /// No node has it, or it cannot be removed.
    pub fn snapshot_remove(&self, name: &str) -> Result<()> {
        snapshot::check_name(name)?;
        match &self.control {
            Control::Local(nodes) => own::remove(&nodes.files(), name),
            Control::Attached(_) => attached::remove(self, name),
        }
    }

    /// The layout of `tables` (none: all) of `keyspace` on each node, by its name. It means
    /// something while nothing is compacted.
    ///
    /// # Errors
    /// There is no such table, or a node's files and MBeans are both out of sight.
    pub fn fingerprints(
        &self,
        keyspace: &str,
        tables: &[&str],
    ) -> Result<BTreeMap<String, Fingerprint>> {
        let tables = snapshot::schema::tables(&mut self.session()?, keyspace, tables)?;
        match &self.control {
            Control::Local(nodes) => own::fingerprints(&nodes.files(), keyspace, &tables),
            Control::Attached(_) => attached::fingerprints(self, keyspace, &tables),
        }
    }

    /// Stops and removes what was started, and says what went wrong; dropping does the same
    /// silently.
    ///
    /// # Errors
    /// A process or a folder could not be removed.
    pub fn stop(self) -> Result<()> {
        match self.control {
            Control::Local(nodes) => nodes.stop(),
            Control::Attached(_) => Ok(()),
        }
    }

    /// The processes, to be stopped by somebody else.
    pub(crate) fn into_local(self) -> Option<local::Nodes> {
        match self.control {
            Control::Local(nodes) => Some(*nodes),
            Control::Attached(_) => None,
        }
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
                    None => Err("no access to a Jolokia agent is given".to_string()),
                }
            }
        }
    }

    /// The processes, where they are ours.
    pub(crate) fn local(&self) -> Option<&local::Nodes> {
        match &self.control {
            Control::Local(nodes) => Some(nodes.as_ref()),
            Control::Attached(_) => None,
        }
    }

    /// Does what may restart nodes of ours, and describes them anew, however it ended.
    fn restarting<T>(
        &mut self,
        not_ours: &str,
        work: impl FnOnce(&mut local::Nodes) -> Result<T>,
    ) -> Result<T> {
        let Control::Local(nodes) = &mut self.control else {
            bail!("{not_ours}");
        };
        let result = work(nodes);
        self.nodes = nodes.describe();
        result
    }
}
