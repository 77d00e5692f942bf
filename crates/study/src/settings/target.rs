//! The system under test, as a study describes it, and what has to be done to get from one
//! description to another.

pub use cluster::{Authentication, Collector, Isolation};

use crate::targets::local_spec;
use crate::tree::Tree;
use std::path::PathBuf;

/// The system under test.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// Real Cassandra on this machine.
    Local(Local),
    /// An existing cluster.
    Attach(Attach),
    /// A server that answers at once.
    Null(Null),
}

impl Target {
    /// `local`, `attach` or `null`.
    pub fn kind(&self) -> &'static str {
        match self {
            Target::Local(_) => "local",
            Target::Attach(_) => "attach",
            Target::Null(_) => "null",
        }
    }

    /// The local cluster that it is; none for others.
    pub fn local(&self) -> Option<&Local> {
        match self {
            Target::Local(local) => Some(local),
            Target::Attach(_) | Target::Null(_) => None,
        }
    }

    /// What has to be done to a target that runs as `from` to have this one.
    pub fn change_from(&self, from: &Target) -> Change {
        match (self, from) {
            _ if self == from => Change::None,
            (Target::Local(local), Target::Local(from)) => local.change_from(from),
            _ => Change::Start,
        }
    }
}

/// What has to be done to get from one target to another, from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Nothing: they are equal.
    None,
    /// The links of the running hosts are set; no node restarts.
    Limits,
    /// The nodes restart, one after the other, with their data.
    Restart,
    /// Another cluster: the running one is stopped, its data is gone.
    Start,
}

/// Real Cassandra on this machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Local {
    /// Version.
    pub version: String,
    /// Number of nodes, of all hosts together.
    pub nodes: usize,
    /// The hosts that the nodes live on; none: loopback addresses.
    pub hosts: Option<Hosts>,
    /// Racks, dealt in turn to the hosts, or without hosts to the nodes; see [`Local::rack_of`].
    pub racks: Vec<String>,
    /// Name of the datacenter.
    pub datacenter: String,
    /// Heap of each node, bytes.
    pub heap_bytes: u64,
    /// Garbage collector; none: Cassandra's own choice.
    pub collector: Option<Collector>,
    /// What differs from the defaults of cassandra.yaml.
    pub yaml: Vec<(String, serde_json::Value)>,
    /// Options added to the JVM's.
    pub jvm: Vec<String>,
    /// Whether nodes map the server's classes from an archive.
    pub class_sharing: bool,
    /// How long a node may take to start, ns.
    pub start_timeout_ns: u64,
    /// Who may connect.
    pub authentication: Authentication,
}

/// Stand-ins for machines, all alike.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hosts {
    /// How many.
    pub count: usize,
    /// Nodes on each.
    pub nodes_per_host: usize,
    /// How far they are kept apart.
    pub isolation: Isolation,
    /// Numbers of the CPUs that a host may use; none: all.
    pub cpus: Option<Vec<usize>>,
    /// CPU time of a host, in cores; none: not limited.
    pub cpu_quota: Option<f64>,
    /// Memory of a host, page cache included, bytes; none: not limited.
    pub memory_bytes: Option<u64>,
    /// Size of a host's data volume, bytes; none: the data is on the machine's own file system.
    pub volume_bytes: Option<u64>,
    /// Rate of a host's link, bit/s; none: not limited.
    pub link_rate_bits: Option<u64>,
    /// Delay of a host's link, one way, ns; none: what the path takes by itself.
    pub link_delay_ns: Option<u64>,
}

impl Local {
    /// Number of the host that a node lives on, both from 0: hosts take nodes in turn, as the
    /// target deals them. Without hosts each node counts as one.
    pub fn host_of(&self, node: usize) -> usize {
        let hosts = self.hosts.as_ref().map_or(self.nodes, |hosts| hosts.count);
        node % hosts.max(1)
    }

    /// The rack of a node, from 0. Nodes of one host are in one rack: they fail together.
    pub fn rack_of(&self, node: usize) -> &str {
        let rack = self.host_of(node) % self.racks.len().max(1);
        self.racks.get(rack).map_or("rack1", String::as_str)
    }

    fn change_from(&self, from: &Local) -> Change {
        // The JVM counts its threads by what its host has when it starts, so that a host of another
        // size takes a restart; a link is not seen by it.
        let started = |local: &Local| {
            let hosts = local.hosts.as_ref();
            let size = hosts.map(|h| (h.cpus.clone(), h.cpu_quota, h.memory_bytes));
            let (yaml, jvm) = (local.yaml.clone(), local.jvm.clone());
            let java = (local.heap_bytes, local.collector, local.class_sharing);
            (java, yaml, jvm, size)
        };
        let link = |local: &Local| {
            let hosts = local.hosts.as_ref();
            hosts.map(|h| (h.link_rate_bits, h.link_delay_ns))
        };
        // The target itself says what a restart can bring about.
        if !local_spec(self).restart_suffices(&local_spec(from)) {
            Change::Start
        } else if started(self) != started(from) {
            Change::Restart
        } else if link(self) != link(from) {
            Change::Limits
        } else {
            Change::None
        }
    }
}

/// An existing cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attach {
    /// `host` or `host:port`.
    pub contact_points: Vec<String>,
    /// User name.
    pub user: Option<String>,
    /// Where the password is.
    pub password: Option<Secret>,
    /// Encryption.
    pub tls: Option<Tls>,
    /// Only nodes of this datacenter.
    pub datacenter: Option<String>,
    /// The way to the nodes' JVMs; none: only what CQL tells.
    pub jolokia: Option<Jolokia>,
}

/// A Jolokia agent at each node: HTTP to its JVM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Jolokia {
    /// Its port, the same at every node.
    pub port: u16,
    /// User name.
    pub user: Option<String>,
    /// Where the password is.
    pub password: Option<Secret>,
    /// Encryption.
    pub tls: Option<Tls>,
}

/// Where a secret is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Secret {
    /// In a file.
    File(PathBuf),
    /// In an environment variable.
    Env(String),
    /// It has a name, and the command line says where it is.
    Named(String),
    /// Held in memory; it is shown nowhere.
    Held(cluster::Secret),
}

impl Secret {
    /// What makes a secret of a text under one of the keys that a study has for it.
    pub(crate) fn kind(key: &str) -> Option<fn(&str) -> Secret> {
        match key {
            "secret" => Some(|name| Secret::Named(name.to_owned())),
            "file" => Some(|path| Secret::File(path.into())),
            "env" => Some(|name| Secret::Env(name.to_owned())),
            _ => None,
        }
    }

    /// That of a checked tree.
    pub(crate) fn of(tree: &Tree) -> Option<Secret> {
        let (key, text) = tree.entries().first()?;
        Some(Secret::kind(key)?(text.text()?))
    }
}

/// Encryption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// PEM file of the authority; none: the system's trust store.
    pub ca: Option<PathBuf>,
    /// Whether the server must prove who it is.
    pub verify: bool,
    /// Name in the server's certificate.
    pub server_name: Option<String>,
}

impl Default for Tls {
    /// With the system's trust store, and proof of who the server is.
    fn default() -> Tls {
        Tls {
            ca: None,
            verify: true,
            server_name: None,
        }
    }
}

/// A server that answers at once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Null {
    /// Latency of each answer.
    pub latency: Latency,
    /// Pause: (every, length) in ns.
    pub stall_ns: Option<(u64, u64)>,
    /// Errors by name, with their share.
    pub errors: Vec<(String, f64)>,
    /// The CPU that it is pinned to.
    pub cpu: Option<usize>,
}

/// Latency of the null target, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Latency {
    /// At once.
    #[default]
    None,
    /// Always the same.
    Fixed(u64),
    /// Exponential with this mean.
    Exponential(u64),
    /// Between two limits.
    Uniform(u64, u64),
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn local(change: impl FnOnce(&mut Local)) -> Target {
        let mut local = Local {
            version: "5.0.8".to_owned(),
            nodes: 4,
            hosts: Some(Hosts {
                count: 2,
                nodes_per_host: 2,
                isolation: Isolation::Auto,
                cpus: None,
                cpu_quota: None,
                memory_bytes: None,
                volume_bytes: Some(1 << 30),
                link_rate_bits: None,
                link_delay_ns: None,
            }),
            racks: vec!["a".to_owned(), "b".to_owned()],
            datacenter: "dc1".to_owned(),
            heap_bytes: 1 << 30,
            collector: None,
            yaml: Vec::new(),
            jvm: Vec::new(),
            class_sharing: false,
            start_timeout_ns: 1,
            authentication: Authentication::None,
        };
        change(&mut local);
        Target::Local(local)
    }

    fn hosts(local: &mut Local) -> &mut Hosts {
        local.hosts.as_mut().unwrap()
    }

    #[test]
    fn a_change_costs_no_more_than_it_must() {
        let from = local(|_| {});
        for (to, expected) in [
            (local(|_| {}), Change::None),
            (local(|l| l.start_timeout_ns = 2), Change::None),
            (local(|l| hosts(l).link_rate_bits = Some(1)), Change::Limits),
            (local(|l| hosts(l).cpu_quota = Some(1.5)), Change::Restart),
            (local(|l| l.heap_bytes = 1 << 29), Change::Restart),
            (local(|l| l.collector = Some(Collector::Z)), Change::Restart),
            (
                local(|l| l.authentication = Authentication::Password),
                Change::Start,
            ),
            (local(|l| l.jvm.push("-Xss1m".into())), Change::Restart),
            (local(|l| l.class_sharing = true), Change::Restart),
            (
                local(|l| l.yaml.push(("commitlog_sync".into(), json!("batch")))),
                Change::Restart,
            ),
            (
                local(|l| l.yaml.push(("num_tokens".into(), json!(4)))),
                Change::Start,
            ),
            (local(|l| hosts(l).volume_bytes = None), Change::Start),
            (local(|l| l.racks = vec!["a".into()]), Change::Start),
            (local(|l| l.hosts = None), Change::Start),
            (local(|l| l.version = "5.0.2".into()), Change::Start),
            (Target::Null(Null::default()), Change::Start),
        ] {
            assert_eq!(to.change_from(&from), expected, "{to:?}");
        }
    }

    #[test]
    fn nodes_of_one_host_share_its_rack() {
        let racks = |target: &Target| {
            let local = target.local().unwrap();
            let racks = (0..local.nodes).map(|node| local.rack_of(node).to_owned());
            racks.collect::<Vec<_>>().join("")
        };
        assert_eq!(racks(&local(|_| {})), "abab");
        assert_eq!(racks(&local(|l| l.hosts = None)), "abab");
    }
}
