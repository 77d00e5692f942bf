//! Specification of a target, as a study or a command line states it.

use crate::address_translation::Translation;
use crate::attached_host::AttachedHost;
use crate::host::{HostsSpec, RemoteHost};
use crate::index::HostIndex;
use crate::java::JavaChoice;
use crate::kubernetes::{KubernetesCluster, KubernetesOwner};
use crate::null::NullSpec;
use crate::placement::Topology;
use crate::secret::SecretSource;
use crate::serialization::{self, null_as_default};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;
use versions::Release;

/// Maximum number of nodes of a local cluster. It is twice the number in the largest planned
/// cluster. The addresses of one network are enough for these nodes and for the same number of
/// added nodes. In practice, the check of memory limits the number of nodes on a machine.
pub const NODES_COUNT_MAX: usize = 128;

/// Default port of a Jolokia agent.
pub const JOLOKIA_PORT: u16 = 8778;

/// System under test. Two equal values mean the same target.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// Cassandra nodes that cassay starts on this machine.
    Local(LocalSpec),
    /// A running cluster to which cassay attaches.
    Attach(AttachSpec),
    /// cassay's own server, which answers immediately. cassay connects to it like to an attached
    /// cluster.
    Null(NullSpec),
}

impl Target {
    /// Returns the kind of the target: `local`, `attach` or `null`.
    pub fn kind(&self) -> &'static str {
        match self {
            Target::Local(_) => "local",
            Target::Attach(_) => "attach",
            Target::Null(_) => "null",
        }
    }

    /// Returns the specification of a local cluster. `None` for other targets.
    pub fn local(&self) -> Option<&LocalSpec> {
        match self {
            Target::Local(local) => Some(local),
            Target::Attach(_) | Target::Null(_) => None,
        }
    }
}

/// A local cluster of Apache Cassandra, on loopback addresses or on separate hosts.
///
/// Records of kept clusters contain this value, without the release and the data center, which are
/// in other fields of the records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LocalSpec {
    /// The release of Cassandra.
    #[serde(skip)]
    pub release: Release,
    /// Source of the files of the release.
    pub origin: Origin,
    /// Identity of the build. `None` for a release, or if the build did not exist when cassay read
    /// the study.
    pub build: Option<Box<BuildIdentity>>,
    /// Java for the nodes. `None` means an installed Java with a suitable version.
    pub java: Option<JavaChoice>,
    /// Number of nodes, from 1 to [`NODES_COUNT_MAX`].
    pub nodes: usize,
    /// Hosts of the nodes. Hosts for which no number of nodes is stated have equal shares of the
    /// remaining nodes. `None` if the nodes run on loopback addresses.
    pub hosts: Option<HostsSpec>,
    /// Rack of each node, in the order of the nodes. If the list has fewer racks than nodes, the
    /// last rack is repeated. If the list is empty, all nodes are in `rack1`.
    pub racks: Vec<String>,
    /// Name of the only data center.
    #[serde(skip)]
    pub datacenter: String,
    /// Tokens of each node, in ascending order. If the list is empty, each node has `num_tokens`
    /// tokens at equal distances.
    pub tokens: Vec<Vec<i64>>,
    /// Loopback address of the first node. The other nodes have the addresses after it. `None`
    /// means any free address.
    pub address: Option<std::net::Ipv4Addr>,
    /// Size of each node's heap, in bytes. It is the initial as well as the maximum size.
    pub heap_bytes: u64,
    /// Garbage collector of the nodes. `None` means G1, as in Apache's options for Java 17.
    pub collector: Option<Collector>,
    /// Settings of `cassandra.yaml` that are added to cassay's own settings. cassay refuses keys
    /// that it controls itself.
    pub yaml: serde_json::Map<String, serde_json::Value>,
    /// JVM options of the user. They come after cassay's own options, so that they take precedence.
    pub jvm_options: Vec<String>,
    /// True if nodes map the server's classes from an archive, which cassay creates once.
    pub class_sharing: bool,
    /// True if nodes load the library of async-profiler, so that cassay can profile them.
    pub profiler: bool,
    /// Placement of the nodes on their machine.
    #[serde(deserialize_with = "null_as_default")]
    pub topology: Topology,
    /// Time limit for the start, until all nodes answer CQL.
    #[serde(rename = "start_timeout_s", with = "serialization::seconds")]
    pub start_timeout: Duration,
    /// Authentication of clients.
    #[serde(deserialize_with = "null_as_default")]
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
            profiler: false,
            topology: Topology::default(),
            start_timeout: Duration::from_secs(180),
            authentication: Authentication::None,
        }
    }
}

impl LocalSpec {
    /// Returns the remote machines on which the hosts run. Returns an empty slice for simulated
    /// hosts, or if the cluster has no hosts.
    pub fn machines(&self) -> &[RemoteHost] {
        self.hosts.as_ref().map_or(&[], |hosts| &hosts.machines)
    }

    /// Returns the specification with the machines that are actually running. Running pods replace
    /// the placeholders, which have only numbers.
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

    /// Describes the Cassandra version, for example as `Cassandra 5.0.8`. For a build that is not a
    /// release, adds the source and the identity of the build.
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

    /// Returns true if the hosts are pods that cassay creates.
    pub fn is_in_pods(&self) -> bool {
        self.hosts.as_ref().is_some_and(|hosts| hosts.pods.is_some())
    }

    /// Returns the number of nodes of each host, in the order of the hosts. If the cluster has no
    /// hosts, returns one entry for all nodes.
    pub fn nodes_of_hosts(&self) -> Vec<usize> {
        let count = self.hosts.as_ref().map_or(1, |hosts| hosts.count.max(1));
        let stated = |host: usize| self.machines().get(host).and_then(|machine| machine.nodes);
        let stated: Vec<Option<usize>> = (0..count).map(stated).collect();
        let taken: usize = stated.iter().flatten().sum();
        let silent = stated.iter().filter(|nodes| nodes.is_none()).count();
        let each = self.nodes.saturating_sub(taken) / silent.max(1);
        stated.into_iter().map(|nodes| nodes.unwrap_or(each)).collect()
    }

    /// Returns the largest number of nodes on a host. If the cluster has no hosts, returns the
    /// number of all nodes.
    pub fn nodes_per_host(&self) -> usize {
        self.nodes_of_hosts().into_iter().max().unwrap_or_default()
    }

    /// Returns the host and the slot of each node, in the order of the nodes. Nodes are assigned to
    /// the hosts in turn, until each host has its number of nodes.
    pub fn seats(&self) -> Vec<Seat> {
        let shares = self.nodes_of_hosts();
        let slots = 0..shares.iter().copied().max().unwrap_or_default();
        let shares = shares.iter().enumerate();
        let of_slot = |slot: usize| {
            let takers = shares.clone().filter(move |(_, share)| slot < **share);
            takers.map(move |(host, _)| Seat {
                host: HostIndex(host),
                slot,
            })
        };
        slots.flat_map(of_slot).collect()
    }
}

/// Source of the files of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The cache of cassay, which cassay fills from a Maven repository.
    #[default]
    Maven,
    /// An unpacked distribution, or a built source tree.
    Home(PathBuf),
    /// A distribution in a single file.
    Tarball {
        file: PathBuf,
        /// SHA-256 of the file, in lower-case hexadecimal digits.
        sha256: String,
    },
    /// A folder that a command builds.
    Build {
        /// The program with its arguments. It runs in the folder `home`.
        command: Vec<String>,
        /// The folder that the command builds. After the command, it contains an unpacked
        /// distribution or a built source tree.
        home: PathBuf,
    },
}

/// Identity of a build. It distinguishes the build from other builds with the same name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildIdentity {
    /// SHA-256 of the build's jars, or of its tarball, in lower-case hexadecimal digits.
    pub digest: String,
    /// Git commit of the source tree. `None` if unknown.
    pub commit: Option<String>,
}

impl BuildIdentity {
    /// Number of digits of a digest that cassay displays. It is large enough to distinguish builds.
    const DIGITS: usize = 12;

    /// Describes the identity of the build in a few words.
    pub fn words(&self) -> String {
        let digest = self.digest.get(..Self::DIGITS).unwrap_or(&self.digest);
        let commit = self.commit.as_deref().map(|commit| {
            let short = commit.get(..Self::DIGITS).unwrap_or(commit);
            format!(", commit {short}")
        });
        format!("sha256 {digest}{}", commit.unwrap_or_default())
    }
}

/// The host of a node, and the index of the node on this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Host of the node.
    pub host: HostIndex,
    /// Index of the node among the nodes of its host, starting at 0.
    pub slot: usize,
}

measure::word_enum! {
    /// Authentication of a managed cluster.
    #[derive(Default)]
    pub enum Authentication {
        /// Every user of this machine may connect without a password.
        #[default]
        None = "none",
        /// Clients need the password of the only role. cassay creates this role, and stores the
        /// password in a file in the folder of the cluster.
        Password = "password",
    }
}

measure::word_enum! {
    /// Garbage collectors of the JVM.
    pub enum Collector {
        /// The collector that `-XX:+UseG1GC` selects.
        G1 = "g1",
        /// The collector that `-XX:+UseZGC` selects.
        Z = "zgc",
        /// The collector that `-XX:+UseShenandoahGC` selects. Some builds of the JDK lack this
        /// collector.
        Shenandoah = "shenandoah",
        /// The collector that `-XX:+UseParallelGC` selects.
        Parallel = "parallel",
    }
}

impl Collector {
    /// Returns the JVM flag that selects the collector.
    pub fn flag(self) -> &'static str {
        match self {
            Collector::G1 => "UseG1GC",
            Collector::Z => "UseZGC",
            Collector::Shenandoah => "UseShenandoahGC",
            Collector::Parallel => "UseParallelGC",
        }
    }

    /// Returns the JVM option that selects the collector.
    pub fn option(self) -> String {
        format!("-XX:+{}", self.flag())
    }
}

/// An existing cluster to which cassay attaches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttachSpec {
    /// Contact points, as `host` or `host:port` (`[v6]:port` for IPv6). The default port is 9042.
    /// At least one contact point is required, unless Kubernetes provides the contact points.
    pub contact_points: Vec<String>,
    /// Astra's secure connect bundle, which is a zip archive. It contains certificates and the
    /// address of the service that lists the nodes. The bundle replaces contact points and `tls`.
    pub secure_connect_bundle: Option<PathBuf>,
    /// Kubernetes resource that provides contact points, data center and credentials. `None` if the
    /// cluster is not in Kubernetes.
    pub kubernetes: Option<KubernetesCluster>,
    /// User name for the connections. It requires a password.
    pub user: Option<String>,
    /// Source of the password. The password itself is never on a command line, because `ps` shows
    /// command lines.
    pub password: Option<SecretSource>,
    /// TLS settings. If it is `None`, connections are plain TCP.
    pub tls: Option<TlsSpec>,
    /// Data center whose nodes cassay uses. If it is `None`, cassay uses all nodes.
    pub datacenter: Option<String>,
    /// Jolokia agent in the JVM of every node, through which cassay reads the MBeans. If it is
    /// `None`, cassay uses only CQL.
    pub jolokia: Option<JolokiaAccess>,
    /// Addresses at which clients can reach nodes, if these differ from the addresses that the
    /// cluster reports.
    pub addresses: Translation,
    /// Machines on which the nodes run. If the list is empty, cassay does not read or change the
    /// machines.
    pub hosts: Vec<AttachedHost>,
}

impl AttachSpec {
    /// Returns true if a Kubernetes operator runs the cluster.
    pub fn is_operated(&self) -> bool {
        let owner = self.kubernetes.as_ref().map(|there| &there.owner);
        owner.is_some_and(|owner| !matches!(owner, KubernetesOwner::Service(_)))
    }
}

/// Access to the Jolokia agents of a cluster. Each agent listens on the CQL address of its node.
/// All agents use the same port.
#[derive(Clone, Debug, PartialEq)]
pub struct JolokiaAccess {
    /// Port of the agent, which is the same on every node.
    pub port: u16,
    /// User name, if the agent requires authentication. A user name requires a password.
    pub user: Option<String>,
    /// Source of the password for the agents.
    pub password: Option<SecretSource>,
    /// HTTPS settings. If it is `None`, connections are plain HTTP. If the settings contain no
    /// server name, the certificate must contain the address.
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

/// TLS settings for connections to a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct TlsSpec {
    /// PEM file of certificate authorities. If it is `None`, cassay uses the trust store of the
    /// system.
    pub ca: Option<PathBuf>,
    /// True if cassay verifies the server's certificate. Only an explicit `false` disables the
    /// verification.
    pub verify: bool,
    /// Name that the certificate must contain. `None` means the host of the contact point.
    pub server_name: Option<String>,
    /// PEM file of the client's certificate, with the chain to its authority. The client sends the
    /// certificate to servers that request one. It requires `key`. `None` if the client has no
    /// certificate.
    pub cert: Option<PathBuf>,
    /// PEM file with the private key of the client's certificate. Required if `cert` is set.
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
        spec.seats().iter().map(|seat| (seat.host.0, seat.slot)).collect()
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
