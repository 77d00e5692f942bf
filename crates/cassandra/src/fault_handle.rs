//! Handles through which a separate thread breaks and heals nodes. Handles use the agents on the
//! nodes' hosts, MBeans, kubectl and CQL.

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

#[derive(Debug)]
pub struct Handles {
    /// In the order of the cluster's nodes.
    pub nodes: PerNode<NodeHandle>,
    /// Nodes that can be added, one per host. Empty if all nodes share one machine.
    pub newcomers: PerHost<AddedNode>,
    /// Isolated hosts or machines. Empty if all nodes share one machine.
    pub hosts: PerHost<HostHandle>,
    /// Agent of the network switch between simulated hosts. `None` without simulated hosts.
    pub switch: Option<Arc<Agent>>,
    pub operator: Option<OperatorHandle>,
}

#[derive(Debug)]
pub struct NodeHandle {
    pub name: String,
    /// Agent on the node's host, which starts the node. For an attached node that cassay cannot
    /// reach on its machine, the agent on the machine that runs cassay.
    pub agent: Arc<Agent>,
    /// Position of the node's host in [`Handles::hosts`].
    pub host: Option<HostIndex>,
    /// Process of the node. `None` while the node is stopped, or if cassay cannot see the process
    /// of an attached node.
    pub process: Option<Identity>,
    pub own: Option<OwnNode>,
    /// Data for starting the node with the newer release, from the preparation of an upgrade until
    /// the upgrade.
    pub upgraded: Option<UpgradedNode>,
    /// Start command for the older release. Set while the node is upgraded.
    pub former: Option<OwnNode>,
    pub service: Option<NodeService>,
    pub pod: Option<PodHandle>,
    pub address: SocketAddr,
    /// Internode address. If an attached node does not report this address, its CQL address with
    /// the default internode port.
    pub storage: SocketAddr,
    /// All ports on which the node listens.
    pub ports: Vec<u16>,
    pub access: Access,
    pub control: Option<NodeControl>,
}

/// Node that has not joined the ring yet.
#[derive(Debug)]
pub struct AddedNode {
    /// Handle of the node, which has no process yet.
    pub node: NodeHandle,
    /// Start of the process that joins the ring, and the removal of this process when the fault
    /// heals.
    pub join: Join,
}

#[derive(Debug)]
pub struct OwnNode {
    /// Normal start command, and the file for the output of the node.
    pub start: (Command, PathBuf),
    /// Start command with which the node tolerates an unreadable part of the commit log.
    pub forgiving: Command,
    /// Start command for a node that the ring does not contain. The node streams the data that it
    /// will own.
    pub joining: Command,
    /// Start command for joining when the ring may still contain the node. The node takes over its
    /// former tokens.
    pub claiming: Command,
    /// Start command for a node that lost its data. The node takes over its former tokens, and
    /// streams its former data.
    pub replacing: Command,
    pub kept: Vec<PathBuf>,
    pub commit_log: PathBuf,
    pub folder: PathBuf,
    pub conf: PathBuf,
    pub release: (Release, Origin),
    /// CPUs and NUMA nodes to which every start command confines the node.
    pub confinement: Option<Confinement>,
}

#[derive(Debug)]
pub struct UpgradedNode {
    /// Steps that write the configuration for the other release. The existing configuration
    /// remains.
    pub files: Vec<FileStep>,
    pub own: OwnNode,
    /// Start command for the current release, for a later downgrade.
    pub former: OwnNode,
}

/// Start mode of a node that has lost its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartMode {
    Joining,
    /// The node replaces itself, because the ring still contains it and considers it down.
    Replacing,
}

#[derive(Clone, Debug)]
pub struct NodeControl(pub Jolokia);

#[derive(Debug)]
pub struct HostHandle {
    pub name: String,
    /// Number of the host, counted from 1. A simulated host has the same number on the switch.
    pub number: usize,
    /// Address of the host. An attached machine has the internode and CQL addresses of its nodes.
    pub addresses: Vec<Ipv4Addr>,
    pub agent: Arc<Agent>,
    /// Mount point of the host's volume, or the folder of a host without a volume.
    pub folder: PathBuf,
    /// Device name of the host's volume. `None` without a volume.
    pub device: Option<String>,
    /// Pod of a managed or attached host. `None` if the host is not a pod.
    pub pod: Option<PodHandle>,
    /// Permission check. `None` if the cluster is managed.
    pub door: Option<StatementGate>,
}

impl HostHandle {
    /// Checks that cassay may drop packets of the host's nodes. Dropping packets of attached nodes
    /// needs the user's permission on the command line.
    ///
    /// # Errors
    /// The command line does not permit dropping packets.
    pub fn may_lose(&self) -> Result<()> {
        may(self.door.as_ref(), NodeAct::Network, &self.name)
    }
}

impl NodeHandle {
    /// Sends a CQL query on a new connection, and waits for the answer.
    ///
    /// # Errors
    /// The node does not answer within `limit`, or the connection fails.
    pub fn ask(&self, limit: Duration) -> Result<()> {
        let mut session = Session::open(self.address, &self.access, limit)?;
        session.query("SELECT key FROM system.local").map(drop)
    }

    /// Returns the lower and the upper bound, in ms, of the node's wall clock minus the wall clock
    /// of the machine that runs cassay.
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

    /// Updates `process`. The process changes if an agent restarts the node after a cassay command
    /// that broke the node was killed.
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

    /// # Errors
    /// cassay did not start the node.
    pub fn own(&self) -> Result<&OwnNode> {
        let own = self.own.as_ref();
        own.with_context(|| format!("cassay did not start {}", self.name))
    }

    /// Returns an injection that shuts the node down cleanly. Healing restarts the node.
    ///
    /// # Errors
    /// A managed node has no running process. For an attached node, the study contains no stop
    /// program, or the command line does not permit this action.
    pub fn stopping(&self) -> Result<Injection> {
        match &self.service {
            Some(service) => service.breaking(ServiceBreak::Stop, self.process),
            None => self.restartable().map(Injection::Stop),
        }
    }

    /// Returns an injection that kills the node. Healing restarts the node.
    ///
    /// # Errors
    /// The errors of [`NodeHandle::stopping`].
    pub fn killing(&self) -> Result<Injection> {
        match &self.service {
            Some(service) => service.breaking(ServiceBreak::Kill, self.process),
            None => self.restartable().map(Injection::Kill),
        }
    }

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

    /// Returns the process of the node and the command that restarts the node.
    ///
    /// # Errors
    /// The node is not running, or is not managed.
    pub fn restartable(&self) -> Result<Restartable> {
        let stopped = || format!("the process of {} is not running", self.name);
        let process = self.process.with_context(stopped)?;
        let start = self.own()?.usual(self.address)?;
        Ok(Restartable::by(process, start))
    }

    /// Writes the configuration for the release `to`, and returns an injection that stops the node.
    /// Healing and all later starts use that release.
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

    /// Returns an injection that stops the upgraded node. Healing and all later starts use its
    /// former release.
    ///
    /// # Errors
    /// The node was not upgraded.
    pub fn downgrade(&mut self) -> Result<Injection> {
        let not = || format!("cassay did not upgrade {}", self.name);
        self.own = Some(self.former.take().with_context(not)?);
        self.restartable().map(Injection::Stop)
    }

    /// Returns the release that the next start of the node uses. `None` if the node is not managed.
    pub fn release(&self) -> Option<&Release> {
        self.own.as_ref().map(|own| &own.release.0)
    }

    /// Returns two steps for `cassandra.yaml`: a step that sets the keys in `yaml`, and a step that
    /// restores the current file.
    ///
    /// # Errors
    /// The file cannot be read, only cassay may set one of the keys, or the node is not managed.
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

    /// Returns the process of the node, and a start command that skips unreadable parts of the
    /// commit log. A normal start would fail if a power loss left the header of a segment
    /// incomplete.
    ///
    /// # Errors
    /// The node is not running, or is not managed.
    pub fn forgiving(&self) -> Result<Restartable> {
        let (before, own) = (self.restartable()?, self.own()?);
        let start = own.started_by(&own.forgiving)?;
        Ok(Restartable::by(before.process, start))
    }

    /// Returns the process of the node, and a start command whose wall clock differs by `by_ms`
    /// from the real one. A negative value sets the clock back. The two steps install and remove
    /// the library that shifts the clock.
    ///
    /// # Errors
    /// The node is not running, or is not managed.
    pub fn shifted(&self, by_ms: i64) -> Result<(Restartable, [FileStep; 2])> {
        let library = self.own()?.folder.join("clock.so");
        let (one, file) = self.restartable()?.shifted(by_ms, &library)?;
        Ok((one, [file, FileStep::Remove(library)]))
    }

    /// Returns the process of the node, and a start command for a node without its data.
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

    /// # Errors
    /// The node is not managed.
    pub fn kept(&self) -> Result<&[PathBuf]> {
        Ok(&self.own()?.kept)
    }

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
    /// Returns the normal start. Afterwards, the agent restarts the node if it ends, and checks its
    /// state at its CQL address.
    ///
    /// # Errors
    /// A word of the command is not UTF-8.
    pub fn usual(&self, cql: SocketAddr) -> Result<Start> {
        let start = self.started_by(&self.start.0)?;
        start.kept_up(cql, &self.forgiving)
    }

    /// Returns a start with `command`, and with the node's output file and confinement.
    ///
    /// # Errors
    /// The errors of [`OwnNode::usual`].
    pub fn started_by(&self, command: &Command) -> Result<Start> {
        let start = Start::new(command, &self.start.1)?;
        Ok(start.confined(self.confinement.clone()))
    }
}

impl NodeControl {
    /// Returns the addresses of the nodes that the queried node considers up.
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
