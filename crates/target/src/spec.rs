//! What a target is asked to be, as a study or a command line says it; checked by [`crate::start`].
//!
//! Only descriptions live here: making one of these touches nothing but memory.

use std::path::PathBuf;
use std::time::Duration;

/// The version of Apache Cassandra that the checked-in supply is pinned to.
pub const CASSANDRA_VERSION: &str = "5.0.8";

/// The most nodes of a local cluster: three replicas is what one machine can reasonably carry.
pub const NODES_COUNT_MAX: usize = 3;

/// Which system is under test.
#[derive(Clone, Debug)]
pub enum Spec {
    /// Cassandra nodes that we start on this machine.
    Local(LocalSpec),
    /// A cluster that somebody else runs.
    Attach(AttachSpec),
}

/// A local cluster of Apache Cassandra on loopback addresses.
#[derive(Clone, Debug)]
pub struct LocalSpec {
    /// Version of Cassandra; [`CASSANDRA_VERSION`] unless `CASSANDRA_HOME` names a distribution.
    pub version: String,
    /// How many nodes, 1 to [`NODES_COUNT_MAX`].
    pub nodes: usize,
    /// Rack of each node, in order; the last one is used again when there are fewer than nodes.
    /// Empty: `rack1` for all.
    pub racks: Vec<String>,
    /// Name of the one data center.
    pub datacenter: String,
    /// Loopback address of the first node, the others following it; a free one when absent.
    pub address: Option<std::net::Ipv4Addr>,
    /// Heap of each node in bytes, initial and maximal.
    pub heap_bytes: u64,
    /// Settings of `cassandra.yaml` beyond ours; keys that cassay owns are refused.
    pub yaml: serde_json::Map<String, serde_json::Value>,
    /// Options of the JVM after ours, so that they win.
    pub jvm_options: Vec<String>,
    /// How long all nodes together may take until they answer CQL.
    pub start_timeout: Duration,
}

impl Default for LocalSpec {
    fn default() -> LocalSpec {
        LocalSpec {
            version: CASSANDRA_VERSION.to_string(),
            nodes: 1,
            racks: Vec::new(),
            datacenter: "dc1".to_string(),
            address: None,
            heap_bytes: 1 << 30,
            yaml: serde_json::Map::new(),
            jvm_options: Vec::new(),
            start_timeout: Duration::from_secs(180),
        }
    }
}

/// An existing cluster.
#[derive(Clone, Debug, Default)]
pub struct AttachSpec {
    /// `host` or `host:port` (port 9042 when left out; `[v6]:port` for IPv6). At least one.
    pub contact_points: Vec<String>,
    /// User name; requires a password.
    pub user: Option<String>,
    /// Where the password is. It is never given on a command line, where `ps` shows it.
    pub password: Option<SecretSource>,
    /// TLS; plain TCP when absent.
    pub tls: Option<TlsSpec>,
    /// Only nodes of this data center are used; all when absent.
    pub datacenter: Option<String>,
}

/// Where a secret is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// The first line of a file.
    File(PathBuf),
    /// The value of an environment variable.
    Env(String),
}

/// How TLS is done.
#[derive(Clone, Debug)]
pub struct TlsSpec {
    /// PEM file of certificate authorities; the system's trust store when absent.
    pub ca: Option<PathBuf>,
    /// Whether the server's certificate is verified. `false` has to be written out.
    pub verify: bool,
    /// The name the certificate must carry; the contact point's host when absent.
    pub server_name: Option<String>,
}

impl Default for TlsSpec {
    fn default() -> TlsSpec {
        TlsSpec {
            ca: None,
            verify: true,
            server_name: None,
        }
    }
}

/// The two folders that cassay may write to for a target.
#[derive(Clone, Debug)]
pub struct Dirs {
    /// Jars and unpacked files that survive runs.
    pub cache: PathBuf,
    /// Data, logs and state of clusters that run now.
    pub data: PathBuf,
}
