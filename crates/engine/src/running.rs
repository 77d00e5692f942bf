//! The target while it runs, whichever kind it is: started, asked, stopped.
//!
//! The null target is a server of ours that speaks CQL: it is attached to like any other cluster,
//! so that a run without Java takes the same way as one with it.

use anyhow::{Context, Result, bail};
use cluster::{Cluster, Dirs, Gap, LogsTaken, LogsUntil, RestoreHow, Restored};
use load::Written;
use std::collections::BTreeMap;
use std::net::{IpAddr, UdpSocket};
use std::path::Path;
use std::sync::OnceLock;
use store::record::MachineTopologyRecord;
use study::data_state::DataState;
use study::settings::Client;
use target::{Ability, HostsAre, Restarts, Target};
use versions::Release;

/// A running target. Dropping it stops what was started.
pub struct Running {
    /// What it was asked to be.
    pub settings: Target,
    /// The nodes and the way in.
    pub cluster: Cluster,
    /// What stands on it.
    pub standing: DataState,
    /// Acknowledged writes to the data that stands, as far as all of them were written down.
    pub written: Option<Written>,
    /// Names of the snapshots that were made.
    pub snapshots: Vec<String>,
    /// How settling ended before the snapshots were made.
    pub settled: Option<analysis::rules::Settle>,
    /// The release that nodes were brought to, if they were.
    pub upgraded: Option<Release>,
    /// Whether a restart has failed: nothing more can be done with it.
    pub broken: bool,
    /// Settings of each node when it was ready; empty where they cannot be read.
    pub node_settings: Vec<(String, BTreeMap<String, String>)>,
    /// How far the logs of its nodes were copied.
    pub logs: LogsTaken,
    /// What its machines look like, once somebody has asked: thousands of files of a large one.
    pub machines: OnceLock<Vec<MachineTopologyRecord>>,
}

impl Running {
    /// Starts or attaches.
    pub fn start(target: &Target, dirs: &Dirs, say: &mut dyn FnMut(&str)) -> Result<Running> {
        let cluster = cluster::start(target, dirs, say)?;
        let node_settings = node_settings(&cluster)?;
        Ok(Running {
            settings: target.clone(),
            cluster,
            standing: DataState::default(),
            written: None,
            snapshots: Vec::new(),
            settled: None,
            upgraded: None,
            broken: false,
            node_settings,
            logs: LogsTaken::default(),
            machines: OnceLock::new(),
        })
    }

    /// Gives the nodes another configuration; the data stays.
    ///
    /// # Errors
    /// A node did not come back; the target is of no more use then.
    pub fn reconfigure(
        &mut self,
        target: &Target,
        restarts: Restarts,
        say: &mut dyn FnMut(&str),
    ) -> Result<()> {
        let Target::Local(local) = target else {
            bail!("only nodes of our own can be given another configuration");
        };
        self.broken = true;
        self.cluster
            .reconfigure(local, restarts, say)
            .context("restart the nodes with another configuration")?;
        self.node_settings = node_settings(&self.cluster)?;
        // What hosts may use of them may be another part now.
        self.machines = OnceLock::new();
        self.settings = target.clone();
        self.broken = false;
        Ok(())
    }

    /// Takes note of the releases that its nodes run now: of other ones than they were started as,
    /// they are of no use for another trial, since files do not go back.
    ///
    /// # Errors
    /// The nodes are not ours.
    pub fn took_releases(&mut self, releases: &[Option<Release>]) -> Result<()> {
        let Target::Local(local) = &self.settings else {
            return Ok(());
        };
        let others = releases.iter().flatten().find(|release| **release != local.release);
        self.upgraded = others.cloned();
        self.cluster.took_releases(releases)
    }

    /// Brings the data back to a snapshot.
    ///
    /// # Errors
    /// It could not be done, or a node's files differ from the snapshot's afterwards.
    pub fn restore(
        &mut self,
        name: &str,
        how: RestoreHow,
        say: &mut dyn FnMut(&str),
    ) -> Result<Restored> {
        let restored = self.cluster.snapshot_restore(name, how, say);
        restored.with_context(|| format!("restore the snapshot {name}"))
    }

    /// The nodes' processes, by node.
    pub fn pids(&self) -> Vec<(String, Option<u32>)> {
        let nodes = self.cluster.nodes().iter();
        nodes.map(|node| (node.name.clone(), node.pid)).collect()
    }

    /// The process of a node.
    pub fn process_of(&self, node: usize) -> Option<u32> {
        self.cluster.nodes().get(node)?.pid
    }

    /// The nodes whose process is another one than in `before`.
    pub fn pids_changed(&self, before: &[(String, Option<u32>)]) -> Vec<String> {
        let now = self.pids().into_iter();
        now.filter(|node| !before.contains(node)).map(|(name, _)| name).collect()
    }

    /// Whether it is the null target.
    pub fn is_null(&self) -> bool {
        matches!(self.settings, Target::Null(_))
    }

    /// The CPUs that the workers are pinned to: those of the study, else those that the placement
    /// of the nodes keeps for them; none: not pinned.
    pub fn client_cpus(&self, client: &Client) -> Vec<usize> {
        if client.cpus.is_empty() {
            self.cluster.client_cpus().unwrap_or_default()
        } else {
            client.cpus.clone()
        }
    }

    /// Whether nodes run on this machine, on cores that the client uses too. Hosts or nodes with
    /// CPUs of their own leave it those that it is pinned to.
    pub fn shares_cores(&self, client: &Client) -> bool {
        let client_cpus = self.client_cpus(client);
        let Some(local) = self.settings.local().filter(|local| local.machines().is_empty()) else {
            return self.is_on_this_machine();
        };
        let taken = self.cluster.taken_cpus();
        let are_stand_ins = self.cluster.hosts_are() == HostsAre::StandIns;
        let hosts = local.hosts.as_ref().filter(|_| are_stand_ins);
        let theirs = match &taken[..] {
            [] => hosts.and_then(|hosts| hosts.host.cpus.as_deref()),
            taken => Some(taken),
        };
        let theirs = theirs.unwrap_or_default();
        let is_apart = !theirs.is_empty()
            && !client_cpus.is_empty()
            && theirs.iter().all(|cpu| !client_cpus.contains(cpu));
        !is_apart
    }

    /// Whether nodes run on this machine that we did not start.
    pub fn has_strange_nodes(&self) -> bool {
        matches!(self.settings, Target::Attach(_)) && self.is_on_this_machine()
    }

    fn is_on_this_machine(&self) -> bool {
        let mut nodes = self.cluster.nodes().iter();
        // An address can be bound where it belongs, and nowhere else.
        let is_own = |ip: IpAddr| ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok();
        nodes.any(|node| is_own(node.address.ip()))
    }

    /// Memory of the machine for each local node, or of its host, bytes; none for nodes elsewhere.
    pub fn memory_bytes(&self) -> Option<u64> {
        let Target::Local(local) = &self.settings else {
            return None;
        };
        // A host's limit holds its nodes' page cache too, where hosts are kept apart.
        let is_apart = self.cluster.hosts_are().are_apart();
        let limit = local.hosts.as_ref().filter(|_| is_apart);
        if let Some(bytes) = limit.and_then(|hosts| hosts.host.memory_bytes) {
            return Some(bytes / local.nodes_per_host().max(1) as u64);
        }
        if self.cluster.is_on_machines() {
            let machines = self.cluster.machines().ok()?;
            let shares = machines.iter().zip(local.nodes_of_hosts());
            let bytes = shares.map(|((_, machine), nodes)| {
                machine.memory_bytes().map(|bytes| bytes / nodes.max(1) as u64)
            });
            return bytes.min()?;
        }
        let text = std::fs::read_to_string("/proc/meminfo").ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kib * 1024 / local.nodes.max(1) as u64)
    }

    /// Settings that differ from those at the start: `node1 concurrent_reads`; but for those that
    /// say how a node enters its ring, which are others when it comes back with nothing, and the
    /// addresses of one that has moved.
    pub fn settings_changed(&self) -> Result<Vec<String>> {
        // Those of another release are others.
        if self.node_settings.is_empty() || self.upgraded.is_some() {
            return Ok(Vec::new());
        }
        let mut changed = Vec::new();
        for ((node, before), (_, after)) in self.node_settings.iter().zip(self.cluster.settings()?)
        {
            let differs = |name: &&String| before.get(*name) != after.get(*name);
            let has_moved = self.has_moved(node);
            let names = before
                .keys()
                .chain(after.keys().filter(|k| !before.contains_key(*k)))
                .filter(differs)
                .filter(|name| !is_of_entry(name))
                .filter(|name| !has_moved || !is_address(name));
            changed.extend(names.map(|name| format!("{node} {name}")));
        }
        Ok(changed)
    }

    /// Whether a node is at another address than it was at first.
    fn has_moved(&self, name: &str) -> bool {
        let moves = &self.cluster.access().moves;
        let mut nodes = self.cluster.nodes().iter();
        nodes.any(|node| node.name == name && moves.called(node.address) != node.address)
    }

    /// The nodes for the engine.
    pub fn nodes(&self) -> Vec<load::Endpoint> {
        let nodes = self.cluster.nodes().iter();
        nodes
            .map(|node| load::Endpoint {
                address: self.cluster.access().moves.now(node.address),
                called: self.cluster.access().moves.called(node.address),
                proxied_name: self.cluster.access().moves.proxied_name(node.address),
                name: node.name.clone(),
                tokens: node.tokens.clone(),
            })
            .collect()
    }

    /// The way in for the engine.
    pub fn access(&self, compression: Option<load::Compression>) -> load::Access {
        let access = self.cluster.access();
        load::Access {
            credentials: access.load_credentials(),
            tls: access.tls.as_ref().map(|tls| load::Tls {
                config: tls.config.clone(),
                server_name: tls.server_name.clone(),
            }),
            version: access.spoken.now(),
            compression,
        }
    }

    /// Removes snapshots that this run has left on a cluster that is not ours, when it was killed
    /// with all that would have removed them. `stamp` is what their names begin with.
    pub fn remove_strays(&self, stamp: &str) -> Result<()> {
        if !self.cluster.is_attached() {
            return Ok(());
        }
        for found in self.cluster.snapshots()? {
            let is_ours = found.name.strip_prefix(stamp).is_some_and(|end| end.starts_with('-'));
            if is_ours && !self.snapshots.contains(&found.name) {
                self.cluster.snapshot_remove(&found.name)?;
            }
        }
        Ok(())
    }

    fn remove_snapshots(&self) -> Result<()> {
        for name in &self.snapshots {
            let removed = self.cluster.snapshot_remove(name);
            removed.with_context(|| {
                format!("remove the snapshot {name}; `nodetool clearsnapshot` does it too")
            })?;
        }
        Ok(())
    }

    /// Copies what has come to the nodes' logs since the last time; the nodes whose logs could not
    /// be had.
    pub fn collect_logs(&mut self, into: &Path, until: LogsUntil) -> Vec<Gap> {
        if self.cluster.can(Ability::Logs) {
            self.cluster.collect_logs(&mut self.logs, into, until)
        } else {
            Vec::new()
        }
    }

    /// Collects the nodes' logs, then stops what was started; the nodes whose logs could not be
    /// had, which do not keep it running, and how it was stopped.
    pub fn stop(mut self, logs: Option<&Path>) -> (Vec<Gap>, Result<()>) {
        let missing = match logs {
            Some(into) => self.collect_logs(into, LogsUntil::Now),
            None => Vec::new(),
        };
        // Those of our own nodes go with them; what is somebody else's is left as it was.
        let removed = match self.settings {
            Target::Attach(_) => self.remove_snapshots(),
            Target::Local(_) | Target::Null(_) => Ok(()),
        };
        (missing, self.cluster.stop().and(removed))
    }
}

/// The effective settings of every node; none where they cannot be read.
fn node_settings(cluster: &Cluster) -> Result<Vec<(String, BTreeMap<String, String>)>> {
    if cluster.can(Ability::Settings) {
        cluster.settings()
    } else {
        Ok(Vec::new())
    }
}

/// Whether a setting is an address of the node.
fn is_address(name: &str) -> bool {
    const ADDRESSES: [&str; 4] = [
        "listen_address",
        "rpc_address",
        "broadcast_address",
        "broadcast_rpc_address",
    ];
    ADDRESSES.contains(&name)
}

/// Whether a setting only says how a node enters its ring.
fn is_of_entry(name: &str) -> bool {
    name == "auto_bootstrap" || name.starts_with("seed_provider")
}
