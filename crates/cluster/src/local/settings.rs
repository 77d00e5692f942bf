//! Generates the complete configuration files of a node. Apart from addresses, paths and the size
//! of the commit log, the files do not depend on the machine.
//!
//! If Apache's `cassandra.yaml` differs from the server's built-in default, this module uses
//! Apache's value, so that the measured performance is that of a normal Cassandra.

use super::ports::Ports;
use super::roles;
use anyhow::{Context, Result, bail, ensure};
use cassandra::config_file::{jolokia_file, merge, refuse, write_yaml};
use host::{Agent, Bytes, FileStep};
use measure::number::counted;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use target_spec::{Authentication, LocalSpec, yaml_named};
use versions::Release;

/// `num_tokens` in Apache's `cassandra.yaml` since 4.0.
const TOKENS_COUNT: u64 = 16;

/// Layout of one node, from which cassay generates the node's files.
#[derive(Clone, Debug)]
pub(crate) struct NodeLayout {
    pub name: String,
    pub address: Ipv4Addr,
    pub ports: Ports,
    pub release: Release,
    pub conf_name: String,
    pub datacenter: String,
    pub rack: String,
    pub tokens: Vec<i64>,
    /// Internode address of the seed, which is the first node.
    pub seed: SocketAddrV4,
    /// Internode addresses of all nodes, in order.
    pub all: Vec<SocketAddrV4>,
    pub host: String,
    /// Folder of all files of the node, as a path on its host.
    pub folder: PathBuf,
    /// Maximum total size of commit log segments, in MiB.
    pub commitlog_total_mib: u64,
    pub authentication: Authentication,
}

impl NodeLayout {
    pub fn storage(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.address, self.ports.storage)
    }

    pub fn is_seed(&self) -> bool {
        self.storage() == self.seed
    }

    pub fn logs(&self) -> PathBuf {
        self.folder.join("logs")
    }

    pub fn conf(&self) -> PathBuf {
        self.folder.join(&self.conf_name)
    }

    pub fn kept(&self) -> Vec<PathBuf> {
        DATA_FOLDERS.map(|name| self.folder.join(name)).to_vec()
    }

    pub fn commit_log(&self) -> PathBuf {
        self.folder.join(COMMIT_LOG)
    }
}

const DATA_FOLDERS: [&str; 5] = ["data", COMMIT_LOG, "hints", "saved_caches", "cdc_raw"];

const COMMIT_LOG: &str = "commitlog";

/// Name of a node's configuration folder before any upgrade.
pub(super) const CONF: &str = "conf";

/// Configuration file of a node that has its data.
pub(super) const CONFIG: &str = "cassandra.yaml";

/// Configuration file of a node that must stream its data.
pub(super) const JOINING: &str = "joining.yaml";

/// Refuses settings that only cassay may set, and numbers of tokens that do not permit a ring.
///
/// # Errors
/// Keys are refused. The error lists all of them, each with its reason.
pub(crate) fn check_overrides(spec: &LocalSpec) -> Result<()> {
    refuse((&spec.release, &spec.origin), &spec.yaml, &Map::new())
}

/// Returns the number of tokens per node, which the user may set.
pub(crate) fn tokens_count(yaml: &Map<String, Value>) -> u64 {
    let count = yaml.get("num_tokens").and_then(versions::whole_number);
    count.and_then(|count| u64::try_from(count).ok()).unwrap_or(TOKENS_COUNT)
}

/// Returns the tokens of every node. Without tokens in `spec`, they have equal distances.
pub(crate) fn ring_of(spec: &LocalSpec) -> Vec<Vec<i64>> {
    if spec.tokens.is_empty() {
        ring(spec.nodes, tokens_count(&spec.yaml))
    } else {
        spec.tokens.clone()
    }
}

/// Checks that the tokens of `spec` form a ring for its nodes.
///
/// # Errors
/// The number of nodes with tokens differs from the number of nodes, `num_tokens` is also set, a
/// node has no tokens, or a token occurs twice or is reserved.
pub(crate) fn check_tokens(spec: &LocalSpec) -> Result<()> {
    if spec.tokens.is_empty() {
        return Ok(());
    }
    ensure!(
        spec.tokens.len() == spec.nodes,
        "the settings contain tokens for {}, but the cluster needs tokens for {}",
        counted(spec.tokens.len(), "node"),
        counted(spec.nodes, "node")
    );
    ensure!(
        !spec.yaml.contains_key("num_tokens"),
        "the settings contain the tokens of the nodes, so num_tokens has no effect: omit num_tokens"
    );
    let mut seen = BTreeSet::new();
    for (tokens, number) in spec.tokens.iter().zip(1..) {
        ensure!(
            !tokens.is_empty(),
            "the settings contain no token for node{number}"
        );
        let twice = tokens.iter().find(|token| !seen.insert(**token) || **token == i64::MIN);
        if let Some(token) = twice {
            bail!(
                "the token {token} of node{number} belongs to another node, or is the reserved \
                 minimum"
            );
        }
    }
    Ok(())
}

/// Returns the tokens of every node in ascending order. Tokens alternate between the nodes at equal
/// distances. So every node owns the same share, and random tokens cannot cause differences between
/// trials.
pub(crate) fn ring(nodes: usize, tokens_per_node: u64) -> Vec<Vec<i64>> {
    let count = nodes as u128 * u128::from(tokens_per_node);
    let token = |index: u128| {
        // The middle of slice `index` of 2^64, because the minimum token is reserved.
        let unsigned = ((2 * index + 1) << 64) / (2 * count);
        (unsigned as u64 ^ (1 << 63)) as i64
    };
    let of_node = |node: usize| {
        let indexes =
            (0..u128::from(tokens_per_node)).map(move |j| j * nodes as u128 + node as u128);
        indexes.map(token).collect()
    };
    (0..nodes).map(of_node).collect()
}

/// Returns the tokens of a node that joins the nodes of a [`ring`]. The existing nodes give up
/// shares that differ by at most one slice.
pub(crate) fn further_tokens(nodes: usize, tokens_per_node: u64) -> Vec<i64> {
    let (nodes, tokens) = (nodes as u128, u128::from(tokens_per_node));
    let token = |index: u128| {
        // The new node takes a slice from each node in turn, except the last 1/(nodes + 1) of the
        // slice.
        let ends = 2 * (index * nodes + index % nodes) + 1;
        let parts = 2 * (nodes + 1);
        let unsigned = ((ends * (nodes + 1) - 2) << 64) / (parts * nodes * tokens);
        // The server reserves the smallest token.
        ((unsigned as u64).max(1) ^ (1 << 63)) as i64
    };
    (0..tokens).map(token).collect()
}

/// Returns the steps that create the node's folders and write its files.
pub(crate) fn files(
    node: &NodeLayout,
    yaml: &Map<String, Value>,
    jolokia_password: &str,
) -> Vec<FileStep> {
    let others = ["logs", &node.conf_name, "tmp"].map(|name| node.folder.join(name));
    let folders = node.kept().into_iter().chain(others).map(FileStep::Folder);
    let put = |name: &str, text: String| FileStep::write(node.conf().join(name), text);
    let jolokia = format!(
        "host={}\nport={}\nuser={JOLOKIA_USER}\npassword={jolokia_password}\n\
         discoveryEnabled=false\nbacklog=4\nexecutor=fixed\nthreadNr={JOLOKIA_THREADS}\n",
        node.address, node.ports.jolokia
    );
    let rack = format!("dc={}\nrack={}\n", node.datacenter, node.rack);
    let files = [
        put(CONFIG, write_yaml(&yaml_of(node, yaml))),
        put(JOINING, write_yaml(&joining_of(node, yaml))),
        put("logback.xml", logback_of(&node.logs())),
        put("cassandra-rackdc.properties", rack),
        FileStep::Write {
            path: jolokia_file(&node.conf()),
            bytes: Bytes(jolokia.into_bytes()),
            is_private: true,
        },
    ];
    folders.chain(files).collect()
}

/// Number of threads of the Jolokia agent: one for a long operation such as an import, and one for
/// the probes during that time.
const JOLOKIA_THREADS: usize = 2;

/// Reads the password of a node's Jolokia agent from its configuration file.
///
/// # Errors
/// The file is missing, or does not contain a password.
pub(crate) fn read_secret(host: &Agent, node: &NodeLayout) -> Result<String> {
    let path = jolokia_file(&node.conf());
    let text = String::from_utf8_lossy(&host.read(&path)?).into_owned();
    let found = text
        .lines()
        .find_map(|line| line.strip_prefix("password="))
        .with_context(|| format!("{} has no password", path.display()))?;
    Ok(found.to_string())
}

pub(crate) const JOLOKIA_USER: &str = "cassay";

/// Merges the user's settings over cassay's settings. Keys get the names of the node's release
/// line.
fn yaml_of(node: &NodeLayout, overrides: &Map<String, Value>) -> Map<String, Value> {
    let line = node.release.line();
    let mut own = yaml_named(line, &base(node));
    // Drops settings that the release line lacks. For example, 4.0 has no setting for the
    // consistency of role writes.
    own.retain(|key, _| line.has_setting(key));
    merge(own, &yaml_named(line, overrides))
}

/// Returns the settings of a node that joins a ring. Another node is its seed, because a seed never
/// streams.
fn joining_of(node: &NodeLayout, overrides: &Map<String, Value>) -> Map<String, Value> {
    let mut others = node.all.iter().filter(|one| **one != node.storage());
    let node = NodeLayout {
        seed: others.next().copied().unwrap_or(node.seed),
        ..node.clone()
    };
    let mut settings = yaml_of(&node, overrides);
    settings.insert("auto_bootstrap".to_owned(), json!(true));
    settings
}

fn base(node: &NodeLayout) -> Map<String, Value> {
    let folder = |name: &str| node.folder.join(name).display().to_string();
    let address = node.address.to_string();
    let tokens: Vec<String> = node.tokens.iter().map(i64::to_string).collect();
    // All nodes are seeds of the first node, so that it gossips with them even if it considers them
    // permanently gone. When a node takes over its own tokens again, no other node contacts it
    // first. With cluster metadata (TCM), the first node does not need these seeds, and would wait
    // half a minute for gossip.
    let tells_all = node.is_seed() && !node.release.line().has_cluster_metadata;
    let seeds: &[SocketAddrV4] = if tells_all { &node.all } else { &[node.seed] };
    let seeds: Vec<String> = seeds.iter().map(SocketAddrV4::to_string).collect();
    let seeds = json!([{ "seeds": seeds.join(",") }]);
    let settings = json!({
        "cluster_name": "cassay",
        "num_tokens": node.tokens.len(),
        "initial_token": tokens.join(","),
        // The nodes of a new cluster have no data to stream.
        "auto_bootstrap": false,
        "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
        "seed_provider": [{
            "class_name": "org.apache.cassandra.locator.SimpleSeedProvider",
            "parameters": seeds,
        }],
        "endpoint_snitch": "GossipingPropertyFileSnitch",
        "listen_address": address,
        "rpc_address": address,
        "storage_port": node.ports.storage,
        "native_transport_port": node.ports.cql,
        "start_native_transport": true,
        "data_file_directories": [folder("data")],
        "commitlog_directory": folder(COMMIT_LOG),
        "hints_directory": folder("hints"),
        "saved_caches_directory": folder("saved_caches"),
        "cdc_raw_directory": folder("cdc_raw"),
        "commitlog_sync": "periodic",
        "commitlog_sync_period": "10000ms",
        "commitlog_segment_size": "32MiB",
        // The server's default depends on the size of its disk.
        "commitlog_total_space": format!("{}MiB", node.commitlog_total_mib),
        "disk_failure_policy": "stop",
        "commit_failure_policy": "stop",
        "concurrent_reads": 32,
        "concurrent_writes": 32,
        "concurrent_counter_writes": 32,
        "memtable_allocation_type": "heap_buffers",
        "compaction_throughput": "64MiB/s",
        "internode_compression": "dc",
        "hinted_handoff_enabled": true,
        "hinted_handoff_throttle": "1024KiB",
        "max_hints_delivery_threads": 2,
        "hints_flush_period": "10000ms",
        // Time for which TRUNCATE waits for a node that does not answer. The default is a minute.
        "truncate_request_timeout": "10s",
        // Snapshots of dropped and truncated tables would fill the disk between trials.
        "auto_snapshot": false,
    });
    let mut settings = match settings {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    settings.extend(roles::yaml(node.authentication));
    settings
}

fn logback_of(logs: &Path) -> String {
    let file = escape(&logs.join("system.log").display().to_string());
    format!(
        r#"<configuration scan="false">
  <shutdownHook class="ch.qos.logback.core.hook.DefaultShutdownHook"/>
  <appender name="SYSTEMLOG" class="ch.qos.logback.core.rolling.RollingFileAppender">
    <file>{file}</file>
    <rollingPolicy class="ch.qos.logback.core.rolling.FixedWindowRollingPolicy">
      <fileNamePattern>{file}.%i</fileNamePattern>
      <minIndex>1</minIndex>
      <maxIndex>3</maxIndex>
    </rollingPolicy>
    <triggeringPolicy class="ch.qos.logback.core.rolling.SizeBasedTriggeringPolicy">
      <maxFileSize>32MB</maxFileSize>
    </triggeringPolicy>
    <encoder>
      <pattern>%-5level [%thread] %date{{ISO8601}} %F:%L - %msg%n</pattern>
    </encoder>
  </appender>
  <root level="INFO">
    <appender-ref ref="SYSTEMLOG"/>
  </root>
</configuration>
"#
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests;
