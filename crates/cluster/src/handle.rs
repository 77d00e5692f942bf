//! A cluster of ours as somebody holds it who breaks and heals it, on a thread of his own: by its
//! hosts' agents, and as a client sees its nodes.

use crate::access::Access;
use crate::jolokia::Jolokia;
use crate::local::changed;
use crate::operation::is_own;
use crate::session::Session;
use anyhow::{Context, Result};
use host::process::Identity;
use host::{Agent, Bytes, Restartable, Step};
use serde_json::{Map, Value};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// All nodes and hosts of a cluster of ours.
#[derive(Debug)]
pub struct Handles {
    /// In the order of [`crate::Cluster::nodes`].
    pub nodes: Vec<NodeHandle>,
    /// Those that are more than addresses, in their order; none where nodes share the machine.
    pub hosts: Vec<HostHandle>,
    /// The agent of the switch between them.
    pub switch: Option<Arc<Agent>>,
}

/// A node of ours.
#[derive(Debug)]
pub struct NodeHandle {
    /// Its name.
    pub name: String,
    /// That of its host, by which it is started.
    pub agent: Arc<Agent>,
    /// The index of its host among [`Handles::hosts`].
    pub host: Option<usize>,
    /// Its process; none while it is stopped.
    pub process: Option<Identity>,
    /// What starts it, and the file that gets what it says.
    pub start: (Command, PathBuf),
    /// What starts it though a part of its commit log cannot be read.
    pub forgiving: Command,
    /// Where it answers CQL.
    pub address: SocketAddr,
    /// Where it answers other nodes.
    pub storage: SocketAddr,
    /// Everything of the node is in here, as its host has it.
    pub folder: PathBuf,
    /// How a client gets in.
    pub access: Access,
    /// By what it is told to do something; none where it shows no MBeans.
    pub control: Option<NodeControl>,
}

/// What a node is asked and told by its MBeans.
#[derive(Clone, Debug)]
pub struct NodeControl(pub(crate) Jolokia);

/// A host of ours.
#[derive(Debug)]
pub struct HostHandle {
    /// `host1`.
    pub name: String,
    /// Its place on the switch, counted from 1.
    pub number: usize,
    /// Its own address.
    pub address: Ipv4Addr,
    /// Its agent.
    pub agent: Arc<Agent>,
    /// Where its volume is mounted; its plain folder without one.
    pub folder: PathBuf,
    /// The name of its volume's device; none without a volume.
    pub device: Option<String>,
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

    /// Its largest file with data, and its bytes: of tables of clients, or else of Cassandra's own.
    ///
    /// # Errors
    /// It has none, or its folders cannot be listed.
    pub fn data_file(&self) -> Result<(PathBuf, u64)> {
        let files = self.data_files(&[], None)?.into_iter();
        let largest = files.max_by_key(|file| (!is_own(&file.keyspace), file.bytes));
        let largest = largest.map(|file| (file.table.join(file.name), file.bytes));
        largest.with_context(|| format!("{} has no file with data", self.name))
    }

    /// Its process, and what starts it again.
    ///
    /// # Errors
    /// It does not run.
    pub fn restartable(&self) -> Result<Restartable> {
        let stopped = || format!("{} does not run", self.name);
        let process = self.process.with_context(stopped)?;
        let (command, output) = &self.start;
        Restartable::new(process, command, output)
    }

    /// What gives its `cassandra.yaml` other values for some keys, and what brings back what stands
    /// there now.
    ///
    /// # Errors
    /// The file cannot be read, or a key is not to be set.
    pub fn configured(&self, yaml: &Map<String, Value>) -> Result<(Step, Step)> {
        let path = self.folder.join("conf").join("cassandra.yaml");
        let before = self.agent.read(&path)?;
        let text = String::from_utf8_lossy(&before);
        let after = changed(&text, yaml).with_context(|| format!("change {}", path.display()))?;
        let write = |bytes: Vec<u8>| Step::Write {
            path: path.clone(),
            bytes: Bytes(bytes),
            is_private: false,
        };
        Ok((write(after.into_bytes()), write(before)))
    }

    /// As [`NodeHandle::restartable`], started so that it skips what of its commit log cannot be
    /// read. A segment whose head was not synced when the power went keeps a node from starting.
    ///
    /// # Errors
    /// It does not run.
    pub fn forgiving(&self) -> Result<Restartable> {
        let before = self.restartable()?;
        Restartable::new(before.process, &self.forgiving, &self.start.1)
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
        let live = answer.first().and_then(|value| value.as_ref()?.as_array());
        let live = live.context("a node does not list LiveNodes")?;
        let names = live.iter().filter_map(|one| one.as_str());
        let plain = names.map(|name| name.trim_start_matches('/').to_owned());
        Ok(plain.collect())
    }
}
