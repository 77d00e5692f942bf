//! The target while it runs, whichever kind it is: started, asked, stopped.
//!
//! The null target is a server of ours that speaks CQL: it is attached to like any other cluster,
//! so that a run without Java takes the same way as one with it.

use crate::plan::Standing;
use crate::settings::{self, Latency, Secret, Target};
use anyhow::{Context, Result, bail};
use load::Written;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use target::null::{NullServer, NullSpec, Stall};
use target::{
    Ability, AttachSpec, Cluster, Dirs, HostSpec, HostsSpec, JolokiaAccess, LinkSpec, LocalSpec,
    SecretSource, Spec, TlsSpec,
};

/// A running target. Dropping it stops what was started.
pub struct Running {
    /// What it was asked to be.
    pub settings: Target,
    /// The nodes and the way in.
    pub cluster: Cluster,
    /// What stands on it.
    pub standing: Standing,
    /// Acknowledged writes to the data that stands, as far as all of them were written down.
    pub written: Option<Written>,
    /// Settings of each node when it was ready; empty where they cannot be read.
    pub node_settings: Vec<(String, BTreeMap<String, String>)>,
    /// The server behind a null target. After the cluster: connections end before it does.
    null: Option<NullServer>,
}

/// Reads and writes that the server counted, and where.
#[derive(Clone, Debug)]
pub struct Counted {
    /// Where the counts come from.
    pub source: String,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
}

impl Running {
    /// Starts or attaches.
    pub fn start(target: &Target, dirs: &Dirs, say: &mut dyn FnMut(&str)) -> Result<Running> {
        let (spec, null) = match target {
            Target::Local(local) => (Spec::Local(local_spec(local)), None),
            Target::Attach(attach) => (Spec::Attach(attach_spec(attach)), None),
            Target::Null(null) => {
                let server =
                    NullServer::start(&null_spec(null)?).context("start the null target")?;
                let spec = AttachSpec {
                    contact_points: vec![server.address().to_string()],
                    ..AttachSpec::default()
                };
                (Spec::Attach(spec), Some(server))
            }
        };
        let cluster = target::start(&spec, dirs, say)?;
        let node_settings = if null.is_none() && cluster.can(Ability::Settings) {
            cluster.settings()?
        } else {
            Vec::new()
        };
        Ok(Running {
            settings: target.clone(),
            cluster,
            standing: Standing::default(),
            written: None,
            node_settings,
            null,
        })
    }

    /// Whether it is the null target.
    pub fn is_null(&self) -> bool {
        self.null.is_some()
    }

    /// Whether nodes run on this machine, and share its cores with the client.
    pub fn shares_cores(&self) -> bool {
        self.cluster
            .nodes()
            .iter()
            .any(|node| node.address.ip().is_loopback())
    }

    /// Memory of the machine for each local node, bytes; none for nodes elsewhere.
    pub fn memory_bytes(&self) -> Option<u64> {
        let Target::Local(local) = &self.settings else {
            return None;
        };
        let text = std::fs::read_to_string("/proc/meminfo").ok()?;
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("MemTotal:"))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kib * 1024 / local.nodes.max(1) as u64)
    }

    /// The server's own counts until now; none where it keeps none.
    pub fn counts(&self, keyspace: &str) -> Result<Option<Counted>> {
        if let Some(null) = &self.null {
            let counts = null.counts();
            return Ok(Some(Counted {
                source: "the null target".to_owned(),
                reads: counts.reads,
                writes: counts.writes,
            }));
        }
        let counts = self.cluster.operation_counts(keyspace)?;
        Ok(counts.map(|counts| Counted {
            source: counts.source,
            reads: counts.reads,
            writes: counts.writes,
        }))
    }

    /// Settings that differ from those at the start: `node1 concurrent_reads`.
    pub fn settings_changed(&self) -> Result<Vec<String>> {
        if self.node_settings.is_empty() {
            return Ok(Vec::new());
        }
        let mut changed = Vec::new();
        for ((node, before), (_, after)) in self.node_settings.iter().zip(self.cluster.settings()?)
        {
            let differs = |name: &&String| before.get(*name) != after.get(*name);
            let names = before
                .keys()
                .chain(after.keys().filter(|k| !before.contains_key(*k)));
            changed.extend(names.filter(differs).map(|name| format!("{node} {name}")));
        }
        Ok(changed)
    }

    /// The nodes for the engine.
    pub fn nodes(&self) -> Vec<load::Node> {
        let nodes = self.cluster.nodes().iter();
        nodes
            .map(|node| load::Node {
                address: node.address,
                name: node.name.clone(),
                tokens: node.tokens.clone(),
            })
            .collect()
    }

    /// The way in for the engine.
    pub fn access(&self, lz4: bool) -> load::Access {
        let access = self.cluster.access();
        load::Access {
            credentials: access
                .credentials
                .as_ref()
                .map(|c| (c.user.clone(), c.password.reveal().to_owned())),
            tls: access.tls.as_ref().map(|tls| load::Tls {
                config: tls.config.clone(),
                server_name: tls.server_name.clone(),
            }),
            compression: lz4.then_some(load::Compression::Lz4),
        }
    }

    /// For the journal: what the nodes are and how they are set.
    pub fn describe(&self) -> Value {
        let nodes: Vec<Value> = self
            .cluster
            .nodes()
            .iter()
            .map(|node| {
                let settings = self
                    .node_settings
                    .iter()
                    .find(|(name, _)| *name == node.name);
                json!({
                    "name": node.name,
                    "address": node.address.to_string(),
                    "version": node.version,
                    "datacenter": node.datacenter,
                    "rack": node.rack,
                    "tokens": node.tokens.len(),
                    "settings": settings.map(|(_, settings)| settings),
                })
            })
            .collect();
        json!({"kind": self.settings.kind(), "nodes": nodes})
    }

    /// Collects the nodes' logs, then stops what was started. Logs that cannot be had do not keep
    /// it running.
    pub fn stop(self, logs: Option<&Path>) -> Result<()> {
        let collected = match logs {
            Some(into) if self.cluster.can(Ability::Logs) => self.cluster.collect_logs(into),
            _ => Ok(()),
        };
        self.cluster.stop()?;
        drop(self.null);
        collected.context("collect the logs of the nodes")
    }
}

/// The target crate's own form of a local target.
pub(crate) fn local_spec(local: &settings::Local) -> LocalSpec {
    LocalSpec {
        version: local.version.clone(),
        nodes: local.nodes,
        hosts: local.hosts.as_ref().map(hosts_spec),
        // Of every node: the target itself would repeat the last one.
        racks: (0..local.nodes)
            .map(|node| local.rack_of(node).to_owned())
            .collect(),
        datacenter: local.datacenter.clone(),
        heap_bytes: local.heap_bytes,
        collector: local.collector,
        yaml: local.yaml.iter().cloned().collect(),
        jvm_options: local.jvm.clone(),
        start_timeout: Duration::from_nanos(local.start_timeout_ns),
        ..LocalSpec::default()
    }
}

fn hosts_spec(hosts: &settings::Hosts) -> HostsSpec {
    HostsSpec {
        count: hosts.count,
        isolation: hosts.isolation,
        host: HostSpec {
            cpus: hosts.cpus.clone(),
            cpu_quota: hosts.cpu_quota,
            memory_bytes: hosts.memory_bytes,
            volume_bytes: hosts.volume_bytes,
            link: LinkSpec {
                rate_bits_per_s: hosts.link_rate_bits,
                delay: hosts.link_delay_ns.map(Duration::from_nanos),
            },
        },
    }
}

/// The target crate's own form of an attached target.
pub(crate) fn attach_spec(attach: &settings::Attach) -> AttachSpec {
    AttachSpec {
        contact_points: attach.contact_points.clone(),
        user: attach.user.clone(),
        password: attach.password.as_ref().map(secret_source),
        tls: attach.tls.as_ref().map(tls_spec),
        datacenter: attach.datacenter.clone(),
        jolokia: attach.jolokia.as_ref().map(|jolokia| JolokiaAccess {
            port: jolokia.port,
            user: jolokia.user.clone(),
            password: jolokia.password.as_ref().map(secret_source),
            tls: jolokia.tls.as_ref().map(tls_spec),
        }),
    }
}

fn secret_source(secret: &Secret) -> SecretSource {
    match secret {
        Secret::File(path) => SecretSource::File(path.clone()),
        Secret::Env(name) => SecretSource::Env(name.clone()),
    }
}

fn tls_spec(tls: &settings::Tls) -> TlsSpec {
    TlsSpec {
        ca: tls.ca.clone(),
        verify: tls.verify,
        server_name: tls.server_name.clone(),
    }
}

/// The null target's own form of the settings.
pub fn null_spec(null: &settings::Null) -> Result<NullSpec> {
    let mut errors = Vec::new();
    for (name, share) in &null.errors {
        match target::null::error_code(name) {
            Some(code) => errors.push((code, *share)),
            None => bail!("`{name}` is not an error that the null target answers"),
        }
    }
    Ok(NullSpec {
        latency: match null.latency {
            Latency::None => target::null::Latency::None,
            Latency::Fixed(ns) => target::null::Latency::Fixed { ns },
            Latency::Exponential(mean_ns) => target::null::Latency::Exponential { mean_ns },
            Latency::Uniform(from_ns, to_ns) => target::null::Latency::Uniform { from_ns, to_ns },
        },
        stall: null.stall_ns.map(|(every, length)| Stall {
            every: Duration::from_nanos(every),
            length: Duration::from_nanos(length),
        }),
        errors,
        cpus: null.cpu.into_iter().collect(),
        ..NullSpec::default()
    })
}
