//! A cluster as somebody holds it who breaks and heals it, on a thread of his own: by its
//! hosts' agents, and as a client sees its nodes.

use crate::access::Access;
use crate::door::Door;
use crate::jolokia::Jolokia;
use crate::local::{changed, marks};
use crate::pod::{OperatorHandle, PodHandle};
use crate::service::{NodeService, may};
use crate::session::Session;
use anyhow::{Context, Result};
use host::process::Identity;
use host::{Agent, Bytes, Confinement, Injection, Join, Restartable, ServiceBreak, Start, Step};
use measure::clock;
use serde_json::{Map, Value};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use target::{NodeAct, Origin};
use versions::Release;

/// All nodes and hosts of a cluster.
#[derive(Debug)]
pub struct Handles {
    /// In the order of [`crate::Cluster::nodes`].
    pub nodes: Vec<NodeHandle>,
    /// Those that could be added to them, by host; none where nodes share the machine.
    pub newcomers: Vec<AddedNode>,
    /// Those that are more than addresses, in their order; none where nodes share the machine.
    pub hosts: Vec<HostHandle>,
    /// The agent of the switch between them; none between machines.
    pub switch: Option<Arc<Agent>>,
    /// Who runs them in Kubernetes, if they are not ours.
    pub operator: Option<OperatorHandle>,
}

/// A node of ours, or of a cluster that is attached to.
#[derive(Debug)]
pub struct NodeHandle {
    /// Its name.
    pub name: String,
    /// That of its host, by which it is started; that of this machine, if it is not ours.
    pub agent: Arc<Agent>,
    /// The index of its host among [`Handles::hosts`].
    pub host: Option<usize>,
    /// Its process; none while it is stopped, or if it is not ours.
    pub process: Option<Identity>,
    /// What only a node of ours has.
    pub own: Option<OwnNode>,
    /// How it is started as another release, once an upgrade was prepared.
    pub upgraded: Option<UpgradedNode>,
    /// How it is started as the release that it was, once it was upgraded.
    pub former: Option<OwnNode>,
    /// What only a node has that is not ours, and whose machine there is a way to.
    pub service: Option<NodeService>,
    /// The pod that it is; none where it is none, or it is ours.
    pub pod: Option<PodHandle>,
    /// Where it answers CQL.
    pub address: SocketAddr,
    /// Where it answers other nodes; where it answers CQL, if it is not ours.
    pub storage: SocketAddr,
    /// All ports at which it answers anybody.
    pub ports: Vec<u16>,
    /// How a client gets in.
    pub access: Access,
    /// By what it is told to do something; none where it shows no MBeans.
    pub control: Option<NodeControl>,
}

/// A node that is none yet.
#[derive(Debug)]
pub struct AddedNode {
    /// As it is when it has been added, without a process.
    pub node: NodeHandle,
    /// How it joins the others.
    pub join: Join,
}

/// How a node of ours is started, and where its files are.
#[derive(Debug)]
pub struct OwnNode {
    /// What starts it, and the file that gets what it says.
    pub start: (Command, PathBuf),
    /// What starts it though a part of its commit log cannot be read.
    pub forgiving: Command,
    /// What starts it when the ring has nothing of it: it joins, and streams what it is to own.
    pub joining: Command,
    /// The same, if the ring should have it still: it takes its own place.
    pub claiming: Command,
    /// What starts it when it has lost its data: it takes its own place, and streams what it had.
    pub replacing: Command,
    /// The folders of all that it keeps of its data, as its host has them.
    pub kept: Vec<PathBuf>,
    /// The one of them with its commit log.
    pub commit_log: PathBuf,
    /// Everything of the node is in here, as its host has it.
    pub folder: PathBuf,
    /// The folder of its configuration.
    pub conf: PathBuf,
    /// The release that it runs, and where that comes from.
    pub release: (Release, Origin),
    /// Where on its machine it runs, however it is started.
    pub confinement: Option<Confinement>,
}

/// How a node is started as another release.
#[derive(Debug)]
pub struct UpgradedNode {
    /// What makes its configuration, beside the one that it has.
    pub files: Vec<Step>,
    /// How it is started.
    pub own: OwnNode,
    /// How it is started as what it was, after that.
    pub former: OwnNode,
}

/// How a node is started that has nothing of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartMode {
    /// The ring has nothing of it.
    Joining,
    /// The ring holds it to be down.
    Replacing,
}

/// What a node is asked and told by its MBeans.
#[derive(Clone, Debug)]
pub struct NodeControl(pub(crate) Jolokia);

/// A host of ours.
#[derive(Debug)]
pub struct HostHandle {
    /// `host1`.
    pub name: String,
    /// Its place among them, counted from 1; of a stand-in that on the switch, too.
    pub number: usize,
    /// Its own address; of a machine of others, those by which its nodes reach others.
    pub addresses: Vec<Ipv4Addr>,
    /// Its agent.
    pub agent: Arc<Agent>,
    /// Where its volume is mounted; its plain folder without one.
    pub folder: PathBuf,
    /// The name of its volume's device; none without a volume.
    pub device: Option<String>,
    /// The pod that it is, of others or of ours; none where it is none.
    pub pod: Option<PodHandle>,
    /// The door of a cluster that is not ours.
    pub(crate) door: Option<Door>,
}

impl HostHandle {
    /// That it may lose packets of its nodes: they are ours, or the command line names it.
    ///
    /// # Errors
    /// It does not.
    pub fn may_lose(&self) -> Result<()> {
        may(self.door.as_ref(), NodeAct::Network, &self.name)
    }
}

impl NodeHandle {
    /// Asks it over CQL, on a new connection: nothing, if it has answered.
    ///
    /// # Errors
    /// It has not, within `limit`; why.
    pub fn ask(&self, limit: Duration) -> Result<()> {
        let mut session = Session::open(self.address, &self.access, limit)?;
        session.query("SELECT key FROM system.local").map(drop)
    }

    /// How far its wall clock is from ours: at least and at most, ms; below 0, behind.
    ///
    /// # Errors
    /// It does not tell within `limit`.
    pub fn clock_off_ms(&self, limit: Duration) -> Result<[i64; 2]> {
        let mut session = Session::open(self.address, &self.access, limit)?;
        let wall_ms = || (clock::unix_ns() / clock::MILLISECOND_NS) as i64;
        let before_ms = wall_ms();
        let said = session.query("SELECT toUnixTimestamp(now()) FROM system.local")?;
        let after_ms = wall_ms();
        let cell = said.rows.first().and_then(|row| row.first());
        let ms = cell.and_then(cql::Value::as_i64).context("it tells no time")?;
        Ok([ms - after_ms, ms - before_ms])
    }

    /// Takes note of its process if it has another one now: an agent starts a node again that a
    /// killed command had broken.
    pub fn refresh(&mut self) {
        if let Some(service) = &self.service {
            self.process = service.process();
        }
        let Some(own) = &self.own else {
            return;
        };
        let lives = |process: &Identity| self.agent.how_ended(*process).is_none();
        if self.process.as_ref().is_none_or(|process| !lives(process)) {
            self.process = marks::started_by(&self.agent, &own.start.0).or(self.process);
        }
    }

    pub(crate) fn own(&self) -> Result<&OwnNode> {
        let own = self.own.as_ref();
        own.with_context(|| format!("{} is not ours", self.name))
    }

    /// What stops it in order, so that healing starts it.
    ///
    /// # Errors
    /// It does not run, or is not ours and nothing stops it that the command line names.
    pub fn stopping(&self) -> Result<Injection> {
        match &self.service {
            Some(service) => service.breaking(ServiceBreak::Stop, self.process),
            None => self.restartable().map(Injection::Stop),
        }
    }

    /// What kills it, so that healing starts it.
    ///
    /// # Errors
    /// As [`NodeHandle::stopping`].
    pub fn killing(&self) -> Result<Injection> {
        match &self.service {
            Some(service) => service.breaking(ServiceBreak::Kill, self.process),
            None => self.restartable().map(Injection::Kill),
        }
    }

    /// What pauses its process.
    ///
    /// # Errors
    /// As [`NodeHandle::stopping`].
    pub fn pausing(&self) -> Result<Injection> {
        match &self.service {
            Some(service) => service.breaking(ServiceBreak::Pause, self.process),
            None => {
                let stopped = || format!("{} does not run", self.name);
                self.process.map(Injection::Pause).with_context(stopped)
            }
        }
    }

    /// Its process, and what starts it again.
    ///
    /// # Errors
    /// It does not run, or is not ours.
    pub fn restartable(&self) -> Result<Restartable> {
        let stopped = || format!("{} does not run", self.name);
        let process = self.process.with_context(stopped)?;
        let start = self.own()?.usual(self.address)?;
        Ok(Restartable::by(process, start))
    }

    /// Writes down how it is configured as the release that it is to be brought to, and gives what
    /// stops it, so that healing starts it as that one; so does everything that starts it from now
    /// on.
    ///
    /// # Errors
    /// It does not run, its configuration cannot be written, or no such upgrade was prepared.
    pub fn upgrade(&mut self, to: &Release) -> Result<Injection> {
        let of_release = |one: &mut UpgradedNode| one.own.release.0 == *to;
        let upgraded = self.upgraded.take_if(of_release).with_context(|| {
            format!("no upgrade of {} to Cassandra {to} was prepared", self.name)
        })?;
        self.agent.change(upgraded.files)?;
        self.own = Some(upgraded.own);
        self.former = Some(upgraded.former);
        self.restartable().map(Injection::Stop)
    }

    /// What stops it, so that healing starts it as the release that it was before its upgrade; so
    /// does everything that starts it from now on.
    ///
    /// # Errors
    /// It was not upgraded.
    pub fn downgrade(&mut self) -> Result<Injection> {
        let not = || format!("{} was not upgraded", self.name);
        self.own = Some(self.former.take().with_context(not)?);
        self.restartable().map(Injection::Stop)
    }

    /// The release that it runs, or is about to; none if it is not ours.
    pub fn release(&self) -> Option<&Release> {
        self.own.as_ref().map(|own| &own.release.0)
    }

    /// What gives its `cassandra.yaml` other values for some keys, and what brings back what stands
    /// there now.
    ///
    /// # Errors
    /// The file cannot be read, or a key is not to be set.
    pub fn configured(&self, yaml: &Map<String, Value>) -> Result<(Step, Step)> {
        let own = self.own()?;
        let path = own.conf.join("cassandra.yaml");
        let of = (&own.release.0, &own.release.1);
        let before = self.agent.read(&path)?;
        let text = String::from_utf8_lossy(&before);
        let after =
            changed(&text, of, yaml).with_context(|| format!("change {}", path.display()))?;
        let write = |bytes: Vec<u8>| Step::Write {
            path: path.clone(),
            bytes: Bytes(bytes),
            is_private: false,
        };
        Ok((write(after.into_bytes()), write(before)))
    }

    /// As [`NodeHandle::restartable`], started so that it skips what of its files cannot be
    /// read. A segment whose head was not synced when the power went keeps a node from starting.
    ///
    /// # Errors
    /// It does not run, or is not ours.
    pub fn forgiving(&self) -> Result<Restartable> {
        let (before, own) = (self.restartable()?, self.own()?);
        let start = own.started_by(&own.forgiving)?;
        Ok(Restartable::by(before.process, start))
    }

    /// The same, started with a wall clock that is off by so many milliseconds (below 0, behind);
    /// what is done to its files for that, and what undoes it.
    ///
    /// # Errors
    /// It does not run, or is not ours.
    pub fn shifted(&self, by_ms: i64) -> Result<(Restartable, [Step; 2])> {
        let library = self.own()?.folder.join("clock.so");
        let (one, file) = self.restartable()?.shifted(by_ms, &library)?;
        Ok((one, [file, Step::Remove(library)]))
    }

    /// The same, started without its data.
    ///
    /// # Errors
    /// It does not run, or is not ours.
    pub fn anew(&self, how: RestartMode) -> Result<Restartable> {
        let (before, own) = (self.restartable()?, self.own()?);
        let (command, forgiving) = match how {
            RestartMode::Joining => (&own.joining, &own.claiming),
            RestartMode::Replacing => (&own.replacing, &own.replacing),
        };
        let start = own.started_by(command)?.kept_up(self.address, forgiving)?;
        Ok(Restartable::by(before.process, start))
    }

    /// The folders of all that it keeps of its data, as its host has them.
    ///
    /// # Errors
    /// It is not ours.
    pub fn kept(&self) -> Result<&[PathBuf]> {
        Ok(&self.own()?.kept)
    }

    /// Whether nothing stands in the folders of its data.
    ///
    /// # Errors
    /// They cannot be listed, or it is not ours.
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
    /// What starts it in the usual way, and has its agent keep it up, after healing, where it
    /// answers CQL.
    pub(crate) fn usual(&self, cql: SocketAddr) -> Result<Start> {
        let start = self.started_by(&self.start.0)?;
        start.kept_up(cql, &self.forgiving)
    }

    /// Started by another command, with its output to the same file and in the same place.
    pub(crate) fn started_by(&self, command: &Command) -> Result<Start> {
        let start = Start::new(command, &self.start.1)?;
        Ok(start.confined(self.confinement.clone()))
    }
}

impl NodeControl {
    /// The nodes that it holds to be up, by their addresses.
    ///
    /// # Errors
    /// It does not tell within `limit`.
    pub fn live(&self, limit: Duration) -> Result<Vec<String>> {
        let attribute = ("org.apache.cassandra.db:type=StorageService", "LiveNodes");
        let answer = self.0.with_limit(limit).read(&[attribute])?;
        let live = answer
            .first()
            .and_then(|value| value.as_ref()?.as_array())
            .context("a node does not list LiveNodes")?;
        let names = live.iter().filter_map(|one| one.as_str());
        let plain = names.map(|name| name.trim_start_matches('/').to_owned());
        Ok(plain.collect())
    }
}
