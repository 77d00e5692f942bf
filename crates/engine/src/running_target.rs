//! A running target of any kind. Starts, queries and stops the target.
//!
//! The null target is a CQL server inside cassay. The engine attaches to the null target as to any
//! other cluster. So a run without Java uses the same code as a run with Java.

use anyhow::{Context, Result, bail};
use cluster::{Cluster, Dirs, Gap, LogsTaken, LogsUntil, RestoreHow, RestoreResult};
use load::EarlierWrites;
use std::collections::BTreeMap;
use std::net::{IpAddr, UdpSocket};
use std::path::Path;
use std::sync::OnceLock;
use store::record::MachineTopologyRecord;
use study::data_state::DataState;
use study::settings::Client;
use target_spec::{Capability, HostKind, NodeIndex, Restarts, Target};
use versions::Release;

/// A running target. Dropping this value stops the target's processes.
pub struct Running {
    /// Target as the study requests it.
    pub settings: Target,
    /// Nodes of the target, and the connections to them.
    pub cluster: Cluster,
    /// State of the target's data.
    pub standing: DataState,
    /// Acknowledged writes to the current data. `None` unless the client recorded all of them.
    pub written: Option<EarlierWrites>,
    /// Names of the existing snapshots.
    pub snapshots: Vec<String>,
    /// Result of waiting for the nodes to settle before cassay took the snapshots.
    pub settled: Option<analysis::rules::Settle>,
    /// Release to which a fault upgraded nodes, if any.
    pub upgraded: Option<Release>,
    /// True if a restart has failed, so that the engine cannot use the target again.
    pub broken: bool,
    /// Settings of each node at the time when the node became ready. Empty if the settings cannot
    /// be read.
    pub node_settings: Vec<(String, BTreeMap<String, String>)>,
    /// Processes of the nodes under the last measured load. Contains the name of each node, and its
    /// PID if known. `None` before the first trial.
    pub warmed: Option<Vec<(String, Option<u32>)>>,
    /// Position up to which the engine has copied the logs of the nodes.
    pub logs: LogsTaken,
    /// Topology of the target's machines. The engine reads it only once, because the topology of a
    /// large machine consists of thousands of files.
    pub machines: OnceLock<Vec<MachineTopologyRecord>>,
}

impl Running {
    /// Starts the target, or attaches to it.
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
            warmed: None,
            logs: LogsTaken::default(),
            machines: OnceLock::new(),
        })
    }

    /// Gives the nodes another configuration, and keeps the data.
    ///
    /// # Errors
    /// cassay did not start the nodes, or a node is not up afterwards. In the latter case, the
    /// engine cannot use the target again.
    pub fn reconfigure(
        &mut self,
        target: &Target,
        restarts: Restarts,
        say: &mut dyn FnMut(&str),
    ) -> Result<()> {
        let Target::Local(local) = target else {
            bail!("cassay can change the configuration only of nodes that it started");
        };
        self.broken = true;
        self.cluster
            .reconfigure(local, restarts, say)
            .context("restart the nodes with another configuration")?;
        self.node_settings = node_settings(&self.cluster)?;
        // The hosts may now use other CPUs or memory of the machines, so the engine must read the
        // topology again.
        self.machines = OnceLock::new();
        self.settings = target.clone();
        self.broken = false;
        Ok(())
    }

    /// Records the releases that the nodes run now. Does nothing if cassay did not start the nodes.
    /// If a release differs from that of the study, the engine cannot use the target for another
    /// trial, because data files cannot be downgraded.
    ///
    /// # Errors
    /// The cluster does not manage its nodes.
    pub fn took_releases(&mut self, releases: &[Option<Release>]) -> Result<()> {
        let Target::Local(local) = &self.settings else {
            return Ok(());
        };
        let others = releases.iter().flatten().find(|release| **release != local.release);
        self.upgraded = others.cloned();
        self.cluster.took_releases(releases)
    }

    /// Restores the data of a snapshot.
    ///
    /// # Errors
    /// The restore failed, or the files of a node differ from the snapshot afterwards.
    pub fn restore(
        &mut self,
        name: &str,
        how: RestoreHow,
        say: &mut dyn FnMut(&str),
    ) -> Result<RestoreResult> {
        let restored = self.cluster.snapshot_restore(name, how, say);
        restored.with_context(|| format!("restore the snapshot {name}"))
    }

    /// Returns the name and the process id of each node.
    pub fn pids(&self) -> Vec<(String, Option<u32>)> {
        let nodes = self.cluster.nodes().iter();
        nodes.map(|node| (node.name.clone(), node.pid)).collect()
    }

    /// Returns the process id of a node.
    pub fn process_of(&self, node: NodeIndex) -> Option<u32> {
        self.cluster.node_at(node).ok()?.pid
    }

    /// Returns the nodes whose process id differs from that in `before`.
    pub fn pids_changed(&self, before: &[(String, Option<u32>)]) -> Vec<String> {
        let now = self.pids().into_iter();
        now.filter(|node| !before.contains(node)).map(|(name, _)| name).collect()
    }

    /// Returns true if the target is the null target.
    pub fn is_null(&self) -> bool {
        matches!(self.settings, Target::Null(_))
    }

    /// Returns the CPUs to which the workers are pinned. The study names these CPUs, or the
    /// placement of the nodes reserves them for the workers. The list is empty if the workers are
    /// not pinned.
    pub fn client_cpus(&self, client: &Client) -> Vec<usize> {
        if client.cpus.is_empty() {
            self.cluster.client_cpus().unwrap_or_default()
        } else {
            client.cpus.clone()
        }
    }

    /// Returns true if nodes on this machine may share cores with the client. Returns false if the
    /// nodes and the client are pinned to different CPUs.
    pub fn shares_cores(&self, client: &Client) -> bool {
        let client_cpus = self.client_cpus(client);
        let Some(local) = self.settings.local().filter(|local| local.machines().is_empty()) else {
            return self.is_on_this_machine();
        };
        let taken = self.cluster.taken_cpus();
        let are_stand_ins = self.cluster.hosts_are() == HostKind::StandIns;
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

    /// Returns true if nodes that cassay did not start run on this machine.
    pub fn has_strange_nodes(&self) -> bool {
        matches!(self.settings, Target::Attach(_)) && self.is_on_this_machine()
    }

    fn is_on_this_machine(&self) -> bool {
        let mut nodes = self.cluster.nodes().iter();
        // If this machine can bind the address of a node, the node runs on this machine.
        let is_own = |ip: IpAddr| ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok();
        nodes.any(|node| is_own(node.address.ip()))
    }

    /// Returns the memory that is available to each node that cassay started, in bytes. This is the
    /// node's part of the memory of its host or machine, or the smallest part of several machines.
    /// Returns `None` for other nodes, or if the memory is unknown.
    pub fn memory_bytes(&self) -> Option<u64> {
        let Target::Local(local) = &self.settings else {
            return None;
        };
        // If hosts are isolated, the memory limit of a host also covers the page cache of its
        // nodes.
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

    /// Returns the settings that differ from those at the start, such as `node1 concurrent_reads`.
    /// Omits settings that describe how a node enters its ring, because they differ if the node was
    /// replaced without data. Also omits the addresses of a node that has moved to another address.
    pub fn settings_changed(&self) -> Result<Vec<String>> {
        // A different release has different settings, so a comparison would be meaningless.
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

    fn has_moved(&self, name: &str) -> bool {
        let moves = &self.cluster.access().moves;
        let mut nodes = self.cluster.nodes().iter();
        nodes.any(|node| node.name == name && moves.called(node.address) != node.address)
    }

    /// Returns the nodes for the load generator.
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

    /// Returns the access to the nodes that the load generator needs.
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

    /// Removes snapshots that an earlier start of this run left on an attached cluster when it was
    /// killed. `stamp` is the prefix of the names of these snapshots.
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
                format!("remove the snapshot {name}; `nodetool clearsnapshot` also removes it")
            })?;
        }
        Ok(())
    }

    /// Copies the new lines of the nodes' logs. Returns the nodes whose logs could not be read.
    pub fn collect_logs(&mut self, into: &Path, until: LogsUntil) -> Vec<Gap> {
        if self.cluster.can(Capability::Logs) {
            self.cluster.collect_logs(&mut self.logs, into, until)
        } else {
            Vec::new()
        }
    }

    /// Collects the logs of the nodes, then stops the processes that cassay started, and removes
    /// snapshots from an attached cluster. Returns the nodes whose logs could not be read, and an
    /// error if a process or a snapshot remains. Missing logs do not prevent the stop.
    pub fn stop(mut self, logs: Option<&Path>) -> (Vec<Gap>, Result<()>) {
        let missing = match logs {
            Some(into) => self.collect_logs(into, LogsUntil::Now),
            None => Vec::new(),
        };
        // Snapshots of local nodes disappear with the nodes. Snapshots on an attached cluster are
        // removed here.
        let removed = match self.settings {
            Target::Attach(_) => self.remove_snapshots(),
            Target::Local(_) | Target::Null(_) => Ok(()),
        };
        (missing, self.cluster.stop().and(removed))
    }
}

/// Returns the effective settings of every node, or an empty list if the target does not report
/// settings.
fn node_settings(cluster: &Cluster) -> Result<Vec<(String, BTreeMap<String, String>)>> {
    if cluster.can(Capability::Settings) {
        cluster.settings()
    } else {
        Ok(Vec::new())
    }
}

fn is_address(name: &str) -> bool {
    const ADDRESSES: [&str; 4] = [
        "listen_address",
        "rpc_address",
        "broadcast_address",
        "broadcast_rpc_address",
    ];
    ADDRESSES.contains(&name)
}

/// Returns true if a setting only describes how a node enters its ring.
fn is_of_entry(name: &str) -> bool {
    name == "auto_bootstrap" || name.starts_with("seed_provider")
}
