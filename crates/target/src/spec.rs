//! What a target is asked to be, as a study or a command line says it.

use crate::attached_host::AttachedHost;
use crate::host::{HostsSpec, RemoteHost};
use crate::java::JavaChoice;
use crate::kubernetes::{KubernetesCluster, KubernetesOwner};
use crate::null::NullSpec;
use crate::placing::Topology;
use crate::secret::SecretSource;
use crate::translation::Translation;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;
use versions::Release;

/// The most nodes of a local cluster: twice the largest that is planned for, and as many as fit
/// the addresses of one network with as many again to be added. What machines can carry, the check
/// of their memory decides.
pub const NODES_COUNT_MAX: usize = 128;

/// The port that a Jolokia agent takes unless it is told another.
pub const JOLOKIA_PORT: u16 = 8778;

/// Which system is under test. Two are the same if they are equal.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// Cassandra nodes that we start on this machine.
    Local(LocalSpec),
    /// A cluster that somebody else runs.
    Attach(AttachSpec),
    /// A server of ours that answers at once. It is attached to.
    Null(NullSpec),
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
    pub fn local(&self) -> Option<&LocalSpec> {
        match self {
            Target::Local(local) => Some(local),
            Target::Attach(_) | Target::Null(_) => None,
        }
    }
}

/// A local cluster of Apache Cassandra: on loopback addresses, or on hosts of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalSpec {
    /// The release of Cassandra.
    pub release: Release,
    /// Where its files come from.
    pub origin: Origin,
    /// What tells it from others of that name, as far as it was there when the study was read.
    pub build: Option<Box<BuildIdentity>>,
    /// The Java that nodes run on; none: one that fits, found among those that are installed.
    pub java: Option<JavaChoice>,
    /// How many nodes, 1 to [`NODES_COUNT_MAX`]; with hosts, a multiple of their number.
    pub nodes: usize,
    /// The hosts that nodes live on, the same number on each; none: loopback addresses.
    pub hosts: Option<HostsSpec>,
    /// Rack of each node, in order; the last one is used again when there are fewer than nodes.
    /// Empty: `rack1` for all.
    pub racks: Vec<String>,
    /// Name of the one data center.
    pub datacenter: String,
    /// Tokens of each node, ascending; empty: as many as `num_tokens` says, spread evenly.
    pub tokens: Vec<Vec<i64>>,
    /// Loopback address of the first node, the others following it; a free one when absent.
    pub address: Option<std::net::Ipv4Addr>,
    /// Heap of each node in bytes, initial and maximal.
    pub heap_bytes: u64,
    /// Garbage collector; none: G1, as Apache's options for Java 17 have it.
    pub collector: Option<Collector>,
    /// Settings of `cassandra.yaml` beyond ours; keys that cassay owns are refused.
    pub yaml: serde_json::Map<String, serde_json::Value>,
    /// Options of the JVM after ours, so that they win.
    pub jvm_options: Vec<String>,
    /// Whether nodes map the server's classes from an archive that was made once.
    pub class_sharing: bool,
    /// Where on their machine the nodes run.
    pub topology: Topology,
    /// How long all nodes together may take until they answer CQL.
    pub start_timeout: Duration,
    /// Who may connect.
    pub authentication: Authentication,
}

impl Default for LocalSpec {
    fn default() -> LocalSpec {
        LocalSpec {
            release: versions::DEFAULT.release(),
            origin: Origin::Maven,
            build: None,
            java: None,
            nodes: 1,
            hosts: None,
            racks: Vec::new(),
            datacenter: "dc1".to_string(),
            tokens: Vec::new(),
            address: None,
            heap_bytes: 1 << 30,
            collector: None,
            yaml: serde_json::Map::new(),
            jvm_options: Vec::new(),
            class_sharing: false,
            topology: Topology::default(),
            start_timeout: Duration::from_secs(180),
            authentication: Authentication::None,
        }
    }
}

impl LocalSpec {
    /// The machines that its hosts are; none where they are stand-ins, or there are no hosts.
    pub fn machines(&self) -> &[RemoteHost] {
        self.hosts.as_ref().map_or(&[], |hosts| &hosts.machines)
    }

    /// The same on the machines that are there: where pods were only numbered, those that run.
    #[must_use]
    pub fn on_machines(&self, hosts: Option<&HostsSpec>) -> LocalSpec {
        let mut spec = self.clone();
        if let (Some(own), Some(hosts)) = (&mut spec.hosts, hosts)
            && own.pods.is_some()
        {
            own.machines.clone_from(&hosts.machines);
        }
        spec
    }

    /// Which Cassandra it is: `Cassandra 5.0.8`, and of what is no release where it comes from and
    /// what tells it from others.
    pub fn cassandra_words(&self) -> String {
        let mut words = format!("Cassandra {}", self.release);
        match &self.origin {
            Origin::Maven => {}
            Origin::Home(home) => words.push_str(&format!(" of {}", home.display())),
            Origin::Tarball { file, .. } => words.push_str(&format!(" of {}", file.display())),
            Origin::Build { command, home } => {
                let command = command.join(" ");
                words.push_str(&format!(" built by `{command}` in {}", home.display()));
            }
        }
        let build = self.build.as_ref();
        words.extend(build.map(|build| format!(", {}", build.words())));
        words
    }

    /// Whether its hosts are pods that are made for it.
    pub fn is_in_pods(&self) -> bool {
        self.hosts.as_ref().is_some_and(|hosts| hosts.pods.is_some())
    }

    /// How many nodes each host has, in their order; without hosts, one has all of them.
    pub fn nodes_of_hosts(&self) -> Vec<usize> {
        let count = self.hosts.as_ref().map_or(1, |hosts| hosts.count.max(1));
        let stated = |host: usize| self.machines().get(host).and_then(|machine| machine.nodes);
        let stated: Vec<Option<usize>> = (0..count).map(stated).collect();
        let taken: usize = stated.iter().flatten().sum();
        let silent = stated.iter().filter(|nodes| nodes.is_none()).count();
        let each = self.nodes.saturating_sub(taken) / silent.max(1);
        stated.into_iter().map(|nodes| nodes.unwrap_or(each)).collect()
    }

    /// Nodes on the host that has most of them; without hosts, all of them.
    pub fn nodes_per_host(&self) -> usize {
        self.nodes_of_hosts().into_iter().max().unwrap_or_default()
    }

    /// Where the nodes are, in their order: they are dealt to the hosts in turn, until each has its
    /// own number.
    pub fn seats(&self) -> Vec<Seat> {
        let shares = self.nodes_of_hosts();
        let slots = 0..shares.iter().copied().max().unwrap_or_default();
        let shares = shares.iter().enumerate();
        let of_slot = |slot: usize| {
            let takers = shares.clone().filter(move |(_, share)| slot < **share);
            takers.map(move |(host, _)| Seat { host, slot })
        };
        slots.flat_map(of_slot).collect()
    }
}

/// Where the files of a release come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// From our cache, which is filled from a Maven repository.
    #[default]
    Maven,
    /// From an unpacked distribution, or from a source tree that was built.
    Home(PathBuf),
    /// From a distribution as one file.
    Tarball {
        /// The file.
        file: PathBuf,
        /// Its SHA-256 in lower-case hexadecimal digits.
        sha256: String,
    },
    /// From a folder that a command makes.
    Build {
        /// The program with its arguments, which runs in the folder.
        command: Vec<String>,
        /// The folder, where an unpacked distribution or a built source tree is then.
        home: PathBuf,
    },
}

/// What tells what somebody has built from others that call themselves the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildIdentity {
    /// SHA-256 over its jars, or of its tarball, in lower-case hexadecimal digits.
    pub digest: String,
    /// The commit of git that its source tree is at.
    pub commit: Option<String>,
}

impl BuildIdentity {
    /// Digits that are shown: enough to tell builds from each other.
    const DIGITS: usize = 12;

    /// In a few words.
    pub fn words(&self) -> String {
        let digest = self.digest.get(..Self::DIGITS).unwrap_or(&self.digest);
        let commit = self.commit.as_deref().map(|commit| {
            let short = commit.get(..Self::DIGITS).unwrap_or(commit);
            format!(", commit {short}")
        });
        format!("sha256 {digest}{}", commit.unwrap_or_default())
    }
}

/// Where a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Its host, from 0.
    pub host: usize,
    /// Which of its host's nodes it is, from 0.
    pub slot: usize,
}

measure::word_enum! {
    /// Who may connect to a cluster of ours.
    #[derive(Default)]
    pub enum Authentication {
        /// Every user of this machine.
        #[default]
        None = "none",
        /// Who has the password of the one role that we make; it is in a file of the cluster's
        /// folder.
        Password = "password",
    }
}

measure::word_enum! {
    /// Garbage collectors of the JVM.
    pub enum Collector {
        /// `-XX:+UseG1GC`
        G1 = "g1",
        /// `-XX:+UseZGC`
        Z = "zgc",
        /// `-XX:+UseShenandoahGC`: not in every build of the JDK.
        Shenandoah = "shenandoah",
        /// `-XX:+UseParallelGC`
        Parallel = "parallel",
    }
}

impl Collector {
    /// The JVM's flag that chooses it.
    pub fn flag(self) -> &'static str {
        match self {
            Collector::G1 => "UseG1GC",
            Collector::Z => "UseZGC",
            Collector::Shenandoah => "UseShenandoahGC",
            Collector::Parallel => "UseParallelGC",
        }
    }

    /// The JVM's option that chooses it.
    pub fn option(self) -> String {
        format!("-XX:+{}", self.flag())
    }
}

/// An existing cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttachSpec {
    /// `host` or `host:port` (port 9042 when left out; `[v6]:port` for IPv6). At least one, but
    /// where Kubernetes says them.
    pub contact_points: Vec<String>,
    /// The zip archive with which Astra says what there is: certificates, and who knows the nodes,
    /// in the place of contact points and of `tls`.
    pub secure_connect_bundle: Option<PathBuf>,
    /// Where Kubernetes describes it: contact points, data center and credentials come from there.
    pub kubernetes: Option<KubernetesCluster>,
    /// User name; requires a password.
    pub user: Option<String>,
    /// Where the password is. It is never given on a command line, where `ps` shows it.
    pub password: Option<SecretSource>,
    /// TLS; plain TCP when absent.
    pub tls: Option<TlsSpec>,
    /// Only nodes of this data center are used; all when absent.
    pub datacenter: Option<String>,
    /// The Jolokia agent in every node's JVM, for its MBeans; without it only CQL is spoken.
    pub jolokia: Option<JolokiaAccess>,
    /// Where its nodes are reached that it calls by other addresses.
    pub addresses: Translation,
    /// The machines of its nodes; without them nothing of these is seen or done.
    pub hosts: Vec<AttachedHost>,
}

impl AttachSpec {
    /// Whether an operator runs it in Kubernetes.
    pub fn is_operated(&self) -> bool {
        let owner = self.kubernetes.as_ref().map(|there| &there.owner);
        owner.is_some_and(|owner| !matches!(owner, KubernetesOwner::Service(_)))
    }
}

/// How the Jolokia agents of a cluster are reached: on each node's CQL address, at one port.
#[derive(Clone, Debug, PartialEq)]
pub struct JolokiaAccess {
    /// The same on every node.
    pub port: u16,
    /// User name, if the agent wants one; requires a password.
    pub user: Option<String>,
    /// Where the password is.
    pub password: Option<SecretSource>,
    /// HTTPS; plain HTTP when absent. Without a server name the certificate must carry the address.
    pub tls: Option<TlsSpec>,
}

impl Default for JolokiaAccess {
    fn default() -> JolokiaAccess {
        JolokiaAccess {
            port: JOLOKIA_PORT,
            user: None,
            password: None,
            tls: None,
        }
    }
}

/// How TLS is done.
#[derive(Clone, Debug, PartialEq)]
pub struct TlsSpec {
    /// PEM file of certificate authorities; the system's trust store when absent.
    pub ca: Option<PathBuf>,
    /// Whether the server's certificate is verified. `false` has to be written out.
    pub verify: bool,
    /// The name the certificate must carry; the contact point's host when absent.
    pub server_name: Option<String>,
    /// PEM file of the client's own certificate, with those that lead to its authority; it is shown
    /// to servers that want one. With it goes `key`.
    pub cert: Option<PathBuf>,
    /// PEM file of the private key of that certificate.
    pub key: Option<PathBuf>,
}

impl Default for TlsSpec {
    fn default() -> TlsSpec {
        TlsSpec {
            ca: None,
            verify: true,
            server_name: None,
            cert: None,
            key: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dealt(nodes: usize, count: usize, stated: &[Option<usize>]) -> LocalSpec {
        let machine = |nodes: &Option<usize>| RemoteHost {
            nodes: *nodes,
            ..RemoteHost::default()
        };
        LocalSpec {
            nodes,
            hosts: Some(HostsSpec {
                count,
                machines: stated.iter().map(machine).collect(),
                ..HostsSpec::default()
            }),
            ..LocalSpec::default()
        }
    }

    fn hosts_of(spec: &LocalSpec) -> Vec<(usize, usize)> {
        spec.seats().iter().map(|seat| (seat.host, seat.slot)).collect()
    }

    #[test]
    fn nodes_are_dealt_in_turn_until_each_host_has_its_number() {
        let alike = dealt(4, 2, &[]);
        assert_eq!(hosts_of(&alike), [(0, 0), (1, 0), (0, 1), (1, 1)]);
        let kinds = dealt(6, 3, &[Some(1), Some(3), None]);
        assert_eq!(kinds.nodes_of_hosts(), [1, 3, 2]);
        assert_eq!(kinds.nodes_per_host(), 3);
        let seats = [(0, 0), (1, 0), (2, 0), (1, 1), (2, 1), (1, 2)];
        assert_eq!(hosts_of(&kinds), seats);
    }

    #[test]
    fn numbers_that_do_not_come_to_all_nodes_are_seen_by_their_sum() {
        for (spec, sum) in [
            (dealt(5, 3, &[]), 3),
            (dealt(5, 2, &[Some(1), Some(3)]), 4),
            (dealt(2, 2, &[Some(3), None]), 3),
        ] {
            assert_eq!(spec.nodes_of_hosts().iter().sum::<usize>(), sum);
        }
    }
}
