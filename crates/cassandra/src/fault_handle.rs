//! Handles that let a separate thread break and heal nodes, through the agents of the nodes' hosts
//! and as a CQL client.

use crate::config_file::change;
use crate::credentials::Access;
use crate::jolokia::Jolokia;
use crate::permission_gate::StatementGate;
use crate::pod::{OperatorHandle, PodHandle};
use crate::process_tags;
use crate::service::{NodeService, may};
use crate::session::Session;
use anyhow::{Context, Result};
use host::process::Identity;
use host::{
    Agent, Bytes, Confinement, FileStep, Injection, Join, Restartable, ServiceBreak, Start,
};
use measure::clock;
use serde_json::{Map, Value};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use target_spec::{HostIndex, NodeAct, Origin, PerHost, PerNode};
use versions::Release;

/// Handles of all nodes and hosts of a cluster.
#[derive(Debug)]
pub struct Handles {
    /// Handles of the nodes, in the order of the cluster.
    pub nodes: PerNode<NodeHandle>,
    /// Nodes that can be added, one for each host. Empty if the nodes share one machine.
    pub newcomers: PerHost<AddedNode>,
    /// Isolated hosts or machines, in order. Empty if the nodes share one machine.
    pub hosts: PerHost<HostHandle>,
    /// Agent of the switch between the hosts. `None` without simulated hosts.
    pub switch: Option<Arc<Agent>>,
    /// Kubernetes operator that manages the nodes of an attached cluster, if any.
    pub operator: Option<OperatorHandle>,
}

/// Handle of a managed or attached node.
#[derive(Debug)]
pub struct NodeHandle {
    /// Name of the node.
    pub name: String,
    /// Agent of the node's host, which starts the node. If the node is attached, the agent on the
    /// machine that runs cassay.
    pub agent: Arc<Agent>,
    /// Position of the node's host in [`Handles::hosts`].
    pub host: Option<HostIndex>,
    /// Process of the node. `None` while the node is stopped, or if cassay cannot see the process
    /// of an attached node.
    pub process: Option<Identity>,
    /// Start commands and files of the node. `None` if the node is not managed.
    pub own: Option<OwnNode>,
    /// Start command for the newer release. Set when an upgrade is prepared.
    pub upgraded: Option<UpgradedNode>,
    /// Start command for the older release. Set when the node is upgraded.
    pub former: Option<OwnNode>,
    /// Service of an attached node whose machine can be reached.
    pub service: Option<NodeService>,
    /// Pod of an attached node. `None` if the node is managed, or does not run in a pod.
    pub pod: Option<PodHandle>,
    /// CQL address of the node.
    pub address: SocketAddr,
    /// Internode address of the node. If an attached node does not report this address, its CQL
    /// address with the default internode port.
    pub storage: SocketAddr,
    /// All ports on which the node listens.
    pub ports: Vec<u16>,
    /// Credentials and TLS of clients.
    pub access: Access,
    /// MBeans of the node. `None` if the MBeans are not accessible.
    pub control: Option<NodeControl>,
}

/// A node that has not joined the ring yet.
#[derive(Debug)]
pub struct AddedNode {
    /// Handle for the node after it has been added. The node has no process yet.
    pub node: NodeHandle,
    /// Start of the process that joins the ring, and the later removal of this process.
    pub join: Join,
}

/// Start commands and file locations of a managed node.
#[derive(Debug)]
pub struct OwnNode {
    /// Normal start command, and the file that receives its output.
    pub start: (Command, PathBuf),
    /// Start command that makes the node tolerate an unreadable part of the commit log.
    pub forgiving: Command,
    /// Start command for a node that is not in the ring. The node joins, and streams the data that
    /// it will own.
    pub joining: Command,
    /// Start command for joining if the ring may still contain the node. The node takes over the
    /// tokens that it had.
    pub claiming: Command,
    /// Start command for a node that lost its data. The node takes over the tokens that it had, and
    /// streams the data that it had.
    pub replacing: Command,
    /// Data folders of the node, as paths on its host.
    pub kept: Vec<PathBuf>,
    /// The folder among `kept` that contains the commit log.
    pub commit_log: PathBuf,
    /// Folder of all files of the node, as a path on its host.
    pub folder: PathBuf,
    /// Configuration folder of the node.
    pub conf: PathBuf,
    /// Release that the node runs, and the source of that release.
    pub release: (Release, Origin),
    /// CPUs and memory nodes to which the node is confined. They apply to all start commands.
    pub confinement: Option<Confinement>,
}

/// Data for starting a node with another release.
#[derive(Debug)]
pub struct UpgradedNode {
    /// Steps that write the configuration for the other release, next to the existing
    /// configuration.
    pub files: Vec<FileStep>,
    /// Start command for the other release.
    pub own: OwnNode,
    /// Start command for the current release, which a later downgrade uses.
    pub former: OwnNode,
}

/// Way to start a node that has lost its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartMode {
    /// The node starts as a new node, because the ring does not contain it.
    Joining,
    /// The node starts as a replacement of itself, because the ring still contains it and considers
    /// it down.
    Replacing,
}

/// Client of a node's MBeans.
#[derive(Clone, Debug)]
pub struct NodeControl(pub Jolokia);

/// Handle of a host.
#[derive(Debug)]
pub struct HostHandle {
    /// Name of the host, such as `host1`.
    pub name: String,
    /// Number of the host among all hosts, counted from 1. A simulated host has the same number on
    /// the switch.
    pub number: usize,
    /// Address of the host. If the host is an attached machine, the internode and CQL addresses of
    /// its nodes.
    pub addresses: Vec<Ipv4Addr>,
    /// Agent of the host.
    pub agent: Arc<Agent>,
    /// Mount point of the host's volume. If the host has no volume, the folder of the host.
    pub folder: PathBuf,
    /// Device name of the host's volume. `None` if the host has no volume.
    pub device: Option<String>,
    /// Pod of the host, managed or attached. `None` if the host is not a pod.
    pub pod: Option<PodHandle>,
    /// Permission check of an attached cluster.
    pub door: Option<StatementGate>,
}

impl HostHandle {
    /// Checks that cassay may drop packets of the host's nodes. This is the case if the nodes are
    /// managed, or if the command line names this action.
    ///
    /// # Errors
    /// The command line does not permit dropping packets.
    pub fn may_lose(&self) -> Result<()> {
        may(self.door.as_ref(), NodeAct::Network, &self.name)
    }
}

impl NodeHandle {
    /// Sends a CQL query on a new connection, and returns as soon as the node answers.
    ///
    /// # Errors
    /// The node does not answer within `limit`. The error contains the reason.
    pub fn ask(&self, limit: Duration) -> Result<()> {
        let mut session = Session::open(self.address, &self.access, limit)?;
        session.query("SELECT key FROM system.local").map(drop)
    }

    /// Returns the lower and the upper bound of the offset between the node's wall clock and the
    /// wall clock of this machine, in ms. The offset is negative if the clock of the node is
    /// behind.
    ///
    /// # Errors
    /// The node does not answer within `limit`.
    pub fn clock_off_ms(&self, limit: Duration) -> Result<[i64; 2]> {
        let mut session = Session::open(self.address, &self.access, limit)?;
        let wall_ms = || (clock::unix_ns() / clock::MILLISECOND_NS) as i64;
        let before_ms = wall_ms();
        let said = session.query("SELECT toUnixTimestamp(now()) FROM system.local")?;
        let after_ms = wall_ms();
        let cell = said.rows.first().and_then(|row| row.first());
        let ms = cell.and_then(cql::Value::as_i64).context("the node returned no time")?;
        Ok([ms - after_ms, ms - before_ms])
    }

    /// Updates the known process of the node. The process changes if a killed cassay command broke
    /// the node and an agent then restarted it.
    pub fn refresh(&mut self) {
        if let Some(service) = &self.service {
            self.process = service.process();
        }
        let Some(own) = &self.own else {
            return;
        };
        let lives = |process: &Identity| self.agent.how_ended(*process).is_none();
        if self.process.as_ref().is_none_or(|process| !lives(process)) {
            self.process = process_tags::started_by(&self.agent, &own.start.0).or(self.process);
        }
    }

    /// Returns the start commands and files of a managed node.
    ///
    /// # Errors
    /// cassay did not start the node.
    pub fn own(&self) -> Result<&OwnNode> {
        let own = self.own.as_ref();
        own.with_context(|| format!("cassay did not start {}", self.name))
    }

    /// Returns the injection that shuts the node down cleanly. Healing restarts the node.
    ///
    /// # Errors
    /// The node is not running. For an attached node, the study sets no program that stops the
    /// node, or the command line does not permit this action.
    pub fn stopping(&self) -> Result<Injection> {
        match &self.service {
            Some(service) => service.breaking(ServiceBreak::Stop, self.process),
            None => self.restartable().map(Injection::Stop),
        }
    }

    /// Returns the injection that kills the node. Healing restarts the node.
    ///
    /// # Errors
    /// The errors of [`NodeHandle::stopping`].
    pub fn killing(&self) -> Result<Injection> {
        match &self.service {
            Some(service) => service.breaking(ServiceBreak::Kill, self.process),
            None => self.restartable().map(Injection::Kill),
        }
    }

    /// Returns the injection that pauses the process of the node.
    ///
    /// # Errors
    /// The errors of [`NodeHandle::stopping`].
    pub fn pausing(&self) -> Result<Injection> {
        match &self.service {
            Some(service) => service.breaking(ServiceBreak::Pause, self.process),
            None => {
                let stopped = || format!("the process of {} is not running", self.name);
                self.process.map(Injection::Pause).with_context(stopped)
            }
        }
    }

    /// Returns the process of the node, and the start command that restarts it.
    ///
    /// # Errors
    /// The node is not running, or is not managed.
    pub fn restartable(&self) -> Result<Restartable> {
        let stopped = || format!("the process of {} is not running", self.name);
        let process = self.process.with_context(stopped)?;
        let start = self.own()?.usual(self.address)?;
        Ok(Restartable::by(process, start))
    }

    /// Writes the configuration for the release `to`. Returns the injection that stops the node.
    /// Healing restarts the node with that release. Every later start also uses that release.
    ///
    /// # Errors
    /// The node is not running, cassay cannot write the configuration, or the upgrade to `to` was
    /// not prepared.
    pub fn upgrade(&mut self, to: &Release) -> Result<Injection> {
        let of_release = |one: &mut UpgradedNode| one.own.release.0 == *to;
        let upgraded = self.upgraded.take_if(of_release).with_context(|| {
            format!(
                "cassay did not prepare an upgrade of {} to Cassandra {to}",
                self.name
            )
        })?;
        self.agent.change(upgraded.files)?;
        self.own = Some(upgraded.own);
        self.former = Some(upgraded.former);
        self.restartable().map(Injection::Stop)
    }

    /// Returns the injection that stops the node. Healing restarts the node with its earlier
    /// release. Every later start also uses that release.
    ///
    /// # Errors
    /// The node was not upgraded.
    pub fn downgrade(&mut self) -> Result<Injection> {
        let not = || format!("cassay did not upgrade {}", self.name);
        self.own = Some(self.former.take().with_context(not)?);
        self.restartable().map(Injection::Stop)
    }

    /// Returns the release that the node runs, or that it will run after its next start. Returns
    /// `None` if the node is not managed.
    pub fn release(&self) -> Option<&Release> {
        self.own.as_ref().map(|own| &own.release.0)
    }

    /// Returns the step that changes the keys in `yaml` in `cassandra.yaml`, and the step that
    /// restores the current file.
    ///
    /// # Errors
    /// The file cannot be read, or only cassay may set one of the keys.
    pub fn configured(&self, yaml: &Map<String, Value>) -> Result<(FileStep, FileStep)> {
        let own = self.own()?;
        let path = own.conf.join("cassandra.yaml");
        let of = (&own.release.0, &own.release.1);
        let before = self.agent.read(&path)?;
        let text = String::from_utf8_lossy(&before);
        let after =
            change(&text, of, yaml).with_context(|| format!("change {}", path.display()))?;
        let write = |bytes: Vec<u8>| FileStep::Write {
            path: path.clone(),
            bytes: Bytes(bytes),
            is_private: false,
        };
        Ok((write(after.into_bytes()), write(before)))
    }

    /// Returns the process of the node, and a start command with which the node skips unreadable
    /// parts of its files. A normal start would fail if the header of a commit log segment was not
    /// synced before a power loss.
    ///
    /// # Errors
    /// The node is not running, or is not managed.
    pub fn forgiving(&self) -> Result<Restartable> {
        let (before, own) = (self.restartable()?, self.own()?);
        let start = own.started_by(&own.forgiving)?;
        Ok(Restartable::by(before.process, start))
    }

    /// Returns the process of the node, and the start command with a wall clock that is off by
    /// `by_ms` (negative: behind). Also returns the steps that change the node's files for the
    /// shifted clock, and the steps that undo the change.
    ///
    /// # Errors
    /// The node is not running, or is not managed.
    pub fn shifted(&self, by_ms: i64) -> Result<(Restartable, [FileStep; 2])> {
        let library = self.own()?.folder.join("clock.so");
        let (one, file) = self.restartable()?.shifted(by_ms, &library)?;
        Ok((one, [file, FileStep::Remove(library)]))
    }

    /// Returns the process of the node, and the command that starts the node without its data.
    ///
    /// # Errors
    /// The node is not running, or is not managed.
    pub fn anew(&self, how: RestartMode) -> Result<Restartable> {
        let (before, own) = (self.restartable()?, self.own()?);
        let (command, forgiving) = match how {
            RestartMode::Joining => (&own.joining, &own.claiming),
            RestartMode::Replacing => (&own.replacing, &own.replacing),
        };
        let start = own.started_by(command)?.kept_up(self.address, forgiving)?;
        Ok(Restartable::by(before.process, start))
    }

    /// Returns the node's data folders, as paths on its host.
    ///
    /// # Errors
    /// The node is not managed.
    pub fn kept(&self) -> Result<&[PathBuf]> {
        Ok(&self.own()?.kept)
    }

    /// Returns true if the data folders of the node are empty.
    ///
    /// # Errors
    /// The folders cannot be listed, or the node is not managed.
    pub fn is_empty(&self) -> Result<bool> {
        for folder in self.kept()? {
            let entries = self.agent.list(folder, None)?;
            if entries.is_some_and(|entries| !entries.is_empty()) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl OwnNode {
    /// Returns the normal start. After the start, the agent keeps the node up, and checks at its
    /// CQL address whether it is up.
    ///
    /// # Errors
    /// A word of the command is not UTF-8.
    pub fn usual(&self, cql: SocketAddr) -> Result<Start> {
        let start = self.started_by(&self.start.0)?;
        start.kept_up(cql, &self.forgiving)
    }

    /// Returns a start with another command, but with the same output file and confinement.
    ///
    /// # Errors
    /// The errors of [`OwnNode::usual`].
    pub fn started_by(&self, command: &Command) -> Result<Start> {
        let start = Start::new(command, &self.start.1)?;
        Ok(start.confined(self.confinement.clone()))
    }
}

impl NodeControl {
    /// Returns the addresses of the nodes that this node considers up.
    ///
    /// # Errors
    /// The node does not answer within `limit`.
    pub fn live(&self, limit: Duration) -> Result<Vec<String>> {
        let attribute = ("org.apache.cassandra.db:type=StorageService", "LiveNodes");
        let answer = self.0.with_limit(limit).read(&[attribute])?;
        let live = answer
            .first()
            .and_then(|value| value.as_ref()?.as_array())
            .context("a node does not report its LiveNodes, the nodes that it considers up")?;
        let names = live.iter().filter_map(|one| one.as_str());
        let plain = names.map(|name| name.trim_start_matches('/').to_owned());
        Ok(plain.collect())
    }
}
