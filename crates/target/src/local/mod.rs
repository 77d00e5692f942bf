//! A cluster of our own: Cassandra nodes on loopback addresses of this machine.
//!
//! Long because starting is one story with many endings, each with its own message.
//!
//! Nodes live in one folder with a written state, see [`state`]; they end with us, however we end,
//! unless the cluster was made to be kept. The first node comes up alone and makes the ring; the
//! others follow together, which is safe because their tokens are given and nothing is streamed.

mod jvm;
mod ports;
mod ready;
mod room;
mod settings;
pub(crate) mod state;

pub use room::memory_bytes;

use crate::capability::{self, Capability};
use crate::cluster::{Cluster, NodeDied, NodeInfo};
use crate::java;
use crate::jolokia::Jolokia;
use crate::process::{self, Identity, Life};
use crate::spec::{Dirs, LocalSpec, NODES_COUNT_MAX};
use crate::supply::{self, Supply};
use anyhow::{Context, Result, bail};
use measure::clock::{self, Deadline};
use settings::NodeLayout;
use state::{NodeState, State};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// How many log lines an error carries: enough for an exception with its cause.
const LOG_LINES_COUNT: usize = 25;

/// How much of a log line an error carries.
const LOG_CHARS_SHOWN: usize = 300;

/// The nodes of a local cluster. Dropping it kills them and removes their folder, unless it is
/// meant to be kept.
#[derive(Debug)]
pub(crate) struct Nodes {
    folder: PathBuf,
    state: State,
    nodes: Vec<Node>,
    /// Whether the cluster is still ours to remove.
    armed: bool,
}

/// One process and what belongs to it.
#[derive(Debug)]
struct Node {
    layout: NodeLayout,
    jolokia: Option<Jolokia>,
    child: Option<Child>,
}

impl Node {
    fn cql_address(&self) -> SocketAddr {
        SocketAddr::from((self.layout.address, self.layout.ports.cql))
    }

    /// Whether the process has ended, and how.
    fn died(&mut self) -> Option<NodeDied> {
        let status = self.child.as_mut()?.try_wait().ok()??;
        let log_tail = log_tail(&self.layout.logs());
        Some(NodeDied {
            name: self.layout.name.clone(),
            status: explain(status, &log_tail),
            log_tail,
        })
    }
}

/// Starts the cluster of `spec` and waits until every node answers and sees the others.
///
/// # Errors
/// See the messages: Java, Maven, memory, disk, ports, settings, a node that dies or does not
/// answer in time. Nothing is left running.
pub(crate) fn start(
    spec: &LocalSpec,
    dirs: &Dirs,
    keep: bool,
    say: &mut dyn FnMut(&str),
) -> Result<Cluster> {
    check(spec)?;
    let java = java::find()?;
    let cache = made_absolute(&dirs.cache)?;
    let clusters = made_absolute(&state::clusters_folder(dirs))?;
    let home = std::env::var_os("CASSANDRA_HOME").filter(|home| !home.is_empty());
    let home = home.map(|home| {
        Path::new(&home)
            .canonicalize()
            .context("look at CASSANDRA_HOME")
    });
    let supply = supply::resolve(&cache, &spec.version, home.transpose()?.as_deref(), say)?;
    room::check(spec.nodes, spec.heap_bytes, &clusters)?;
    let (addresses, ports) = ports::choose(spec.nodes, spec.address)?;
    let began_ns = clock::now_ns();
    say(&format!(
        "starting Cassandra {} on {} (Java {}, heap {} MiB)",
        supply.version,
        plural(spec.nodes, "node"),
        java.version,
        spec.heap_bytes >> 20
    ));
    let mut nodes = Nodes::prepare(spec, &clusters, &supply, &addresses, ports)?;
    let launch = Launch {
        java: &java.program,
        supply: &supply,
        heap_bytes: spec.heap_bytes,
        options: &spec.jvm_options,
        life: if keep { Life::Detached } else { Life::Ours },
    };
    nodes.bring_up(&launch, Deadline::after(spec.start_timeout), spec, say)?;
    let seconds = (clock::now_ns() - began_ns) as f64 / clock::SECOND_NS as f64;
    say(&format!("ready after {seconds:.1} s"));
    let info = nodes.describe(&supply.version);
    Ok(Cluster::of_local(nodes, info))
}

/// Makes a folder, and its path absolute: Cassandra runs in another one.
///
/// # Errors
/// It cannot be made, or its path has a character that the JVM's options give another meaning.
fn made_absolute(folder: &Path) -> Result<PathBuf> {
    std::fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    let path = folder
        .canonicalize()
        .with_context(|| format!("resolve {}", folder.display()))?;
    let text = path.to_string_lossy();
    if let Some(bad) = text.chars().find(|c| ":=,%#?".contains(*c)) {
        bail!("{text} cannot be used for Cassandra: the JVM does not take {bad:?} in a path");
    }
    Ok(path)
}

/// What every node is started with.
struct Launch<'a> {
    java: &'a Path,
    supply: &'a Supply,
    heap_bytes: u64,
    options: &'a [String],
    life: Life,
}

fn check(spec: &LocalSpec) -> Result<()> {
    if !(1..=NODES_COUNT_MAX).contains(&spec.nodes) {
        bail!(
            "a local target has 1 to {NODES_COUNT_MAX} nodes, not {}",
            spec.nodes
        );
    }
    for name in spec.racks.iter().chain([&spec.datacenter]) {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(plain) {
            bail!("the data center or rack {name:?} must be of letters, digits, '-', '_' and '.'");
        }
    }
    settings::check_overrides(&spec.yaml)
}

impl Nodes {
    /// Folders, files and state of a cluster whose processes are not started yet.
    fn prepare(
        spec: &LocalSpec,
        clusters: &Path,
        supply: &Supply,
        addresses: &[Ipv4Addr],
        ports: ports::Ports,
    ) -> Result<Nodes> {
        let id = state::new_id();
        let folder = clusters.join(&id);
        std::fs::create_dir(&folder).with_context(|| format!("make {}", folder.display()))?;
        let mut nodes = Nodes {
            state: State::new(id, supply.version.clone(), spec.datacenter.clone()),
            folder,
            nodes: Vec::new(),
            armed: true,
        };
        nodes.state.write(&nodes.folder)?;
        let secret = random_secret()?;
        let ring = settings::ring(spec.nodes, settings::tokens_count(&spec.yaml));
        for (index, (address, tokens)) in addresses.iter().zip(ring).enumerate() {
            let name = format!("node{}", index + 1);
            let rack = spec.racks.get(index).or(spec.racks.last());
            let layout = NodeLayout {
                folder: nodes.folder.join(&name),
                name,
                address: *address,
                ports,
                datacenter: spec.datacenter.clone(),
                rack: rack.cloned().unwrap_or_else(|| "rack1".to_string()),
                tokens,
                seed: addresses[0],
            };
            settings::write(&layout, &spec.yaml, &secret)?;
            nodes.state.nodes.push(NodeState {
                name: layout.name.clone(),
                address: *address,
                cql_port: ports.cql,
                rack: layout.rack.clone(),
                process: None,
            });
            let agent = SocketAddr::from((*address, ports.jolokia));
            let user = settings::JOLOKIA_USER;
            let jolokia = supply
                .jolokia
                .as_ref()
                .map(|_| Jolokia::new(agent, user, &secret));
            nodes.nodes.push(Node {
                layout,
                jolokia,
                child: None,
            });
        }
        nodes.state.write(&nodes.folder)?;
        Ok(nodes)
    }

    fn bring_up(
        &mut self,
        launch: &Launch,
        deadline: Deadline,
        spec: &LocalSpec,
        say: &mut dyn FnMut(&str),
    ) -> Result<()> {
        let limit = spec.start_timeout;
        self.launch(0, launch)?;
        ready::answers(&mut self.nodes[..1], deadline, limit)?;
        if self.nodes.len() == 1 {
            return Ok(());
        }
        say(&format!(
            "{} answers; starting the others",
            self.nodes[0].layout.name
        ));
        for index in 1..self.nodes.len() {
            self.launch(index, launch)?;
        }
        ready::answers(&mut self.nodes, deadline, limit)?;
        ready::see_each_other(&mut self.nodes, deadline, limit)
    }

    /// Starts one process and writes down that it exists.
    fn launch(&mut self, index: usize, launch: &Launch) -> Result<()> {
        let node = &mut self.nodes[index];
        let mut command = jvm::command(
            launch.java,
            launch.supply,
            &self.state.id,
            &node.layout,
            launch.heap_bytes,
            launch.options,
        );
        let path = node.layout.logs().join(OUTPUT);
        let output = std::fs::File::create(&path);
        let output = output.with_context(|| format!("write {}", path.display()))?;
        let errors = output.try_clone().context("share the node's output file")?;
        command
            .stdout(Stdio::from(output))
            .stderr(Stdio::from(errors));
        let child = process::spawn(command, launch.life)
            .with_context(|| format!("start {}", node.layout.name))?;
        self.state.nodes[index].process = Identity::of(child.id());
        node.child = Some(child);
        self.state.write(&self.folder)
    }

    fn describe(&self, version: &str) -> Vec<NodeInfo> {
        let info = |node: &Node| NodeInfo {
            name: node.layout.name.clone(),
            // Nodes on loopback addresses share the machine; each counts as a host by itself.
            host: node.layout.name.replace("node", "host"),
            address: node.cql_address(),
            datacenter: node.layout.datacenter.clone(),
            rack: node.layout.rack.clone(),
            tokens: node.layout.tokens.clone(),
            pid: node.child.as_ref().map(Child::id),
            version: version.to_string(),
        };
        self.nodes.iter().map(info).collect()
    }

    /// The first node that has died, if any.
    pub fn alive(&mut self) -> Result<(), NodeDied> {
        match self.nodes.iter_mut().find_map(Node::died) {
            Some(died) => Err(died),
            None => Ok(()),
        }
    }

    /// Copies every node's log folder.
    pub fn collect_logs(&self, into: &Path) -> Result<()> {
        for node in &self.nodes {
            let to = into.join(&node.layout.name);
            std::fs::create_dir_all(&to).with_context(|| format!("make {}", to.display()))?;
            let from = node.layout.logs();
            let entries = std::fs::read_dir(&from);
            for entry in entries.with_context(|| format!("read {}", from.display()))? {
                let path = entry.context("read a log folder")?.path();
                let Some(name) = path.file_name().filter(|_| path.is_file()) else {
                    continue;
                };
                std::fs::copy(&path, to.join(name))
                    .with_context(|| format!("copy {} to {}", path.display(), to.display()))?;
            }
        }
        Ok(())
    }

    /// The MBeans of each node, by its name; `None` where there is no agent.
    pub fn jolokias(&self) -> impl Iterator<Item = (&str, Option<&Jolokia>)> {
        self.nodes
            .iter()
            .map(|node| (node.layout.name.as_str(), node.jolokia.as_ref()))
    }

    /// Leaves the processes running from now on: `down` will end them. Until here, a cluster that
    /// is meant to be kept counts as ours, so that one that was killed half-made is cleared.
    ///
    /// # Errors
    /// The state cannot be written; the cluster is removed then.
    pub fn keep(mut self) -> Result<(PathBuf, State)> {
        self.state.keep = true;
        self.state.write(&self.folder)?;
        self.armed = false;
        Ok((self.folder.clone(), self.state.clone()))
    }

    /// Kills the processes and removes the folder; see [`state::remove`] for why outright.
    pub fn stop(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.armed) {
            return Ok(());
        }
        for node in &mut self.nodes {
            if let Some(child) = &mut node.child {
                // It may have ended already; removing below looks for what is left.
                let _ = child.kill();
            }
        }
        for node in &mut self.nodes {
            if let Some(child) = &mut node.child {
                let _ = child.wait();
            }
        }
        state::remove(&self.folder, &self.state.id).map(drop)
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        // Who wants to know calls stop(); what is left here, the next command clears.
        let _ = self.end();
    }
}

/// What the JVM itself says, in the node's log folder.
const OUTPUT: &str = "jvm.log";

/// The last lines of the server's log, or of the JVM's own words if it never came to a log.
fn log_tail(logs: &Path) -> String {
    let mut lines = Vec::new();
    for name in [OUTPUT, "system.log"] {
        // A log may hold any bytes.
        let bytes = std::fs::read(logs.join(name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let kept = text.lines().filter(|line| !line.trim().is_empty());
        lines.extend(kept.map(|line| {
            // The server logs its whole configuration as one line of 15 kB.
            let shown: String = line.chars().take(LOG_CHARS_SHOWN).collect();
            format!("  {shown}")
        }));
    }
    let first = lines.len().saturating_sub(LOG_LINES_COUNT);
    lines[first..].join("\n")
}

/// The exit status, with what it most likely means.
fn explain(status: std::process::ExitStatus, log_tail: &str) -> String {
    use std::os::unix::process::ExitStatusExt;
    const SIGKILL: i32 = 9;
    let hint = if status.signal() == Some(SIGKILL) {
        "; somebody killed it, perhaps the kernel for want of memory: see `dmesg`"
    } else if log_tail.contains("OutOfMemoryError") {
        "; its heap or direct memory was too small: give it a larger heap"
    } else if log_tail.contains("Could not reserve enough space") {
        "; the machine has too little memory for the heap"
    } else if log_tail.contains("Address already in use") {
        "; another process has taken one of its ports since they were chosen: try again"
    } else if log_tail.contains("Unrecognized VM option")
        || log_tail.contains("Unrecognized option")
    {
        "; one of the JVM options is unknown to this Java"
    } else if log_tail.contains("ConfigurationException") {
        "; a setting of cassandra.yaml is refused"
    } else {
        ""
    };
    format!("{status}{hint}")
}

/// 128 random bits as hexadecimal digits.
fn random_secret() -> Result<String> {
    use std::io::Read;
    let mut bytes = [0u8; 16];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .context("read random bytes for the agent's password")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn plural(count: usize, noun: &str) -> String {
    if count == 1 {
        return format!("1 {noun}");
    }
    format!("{count} {noun}s")
}

/// What a cluster of ours can do.
pub(crate) fn capabilities(nodes: &Nodes) -> Vec<Capability> {
    let has_agents = nodes.nodes.iter().all(|node| node.jolokia.is_some());
    let mbeans = capability::running_mbeans(has_agents);
    capability::of_local(&mbeans, &Err(capability::NO_HOSTS.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_a_jvm_cannot_name_is_refused() {
        let root = tempfile::tempdir().unwrap();
        assert!(made_absolute(&root.path().join("a b")).unwrap().is_dir());
        let error = made_absolute(&root.path().join("a:b"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("does not take ':' in a path"), "{error}");
    }

    #[test]
    fn what_cannot_be_started_is_refused_before_anything_is_made() {
        let refused = |change: &dyn Fn(&mut LocalSpec)| {
            let mut spec = LocalSpec::default();
            change(&mut spec);
            check(&spec).unwrap_err().to_string()
        };
        check(&LocalSpec::default()).unwrap();
        assert!(refused(&|spec| spec.nodes = 0).contains("1 to 3 nodes, not 0"));
        assert!(refused(&|spec| spec.nodes = 4).contains("1 to 3 nodes, not 4"));
        let racks = vec!["rack=1\n".to_string()];
        assert!(refused(&|spec| spec.racks = racks.clone()).contains("\"rack=1\\n\""));
    }

    #[test]
    fn the_end_of_the_log_is_shown_with_short_lines() {
        let logs = tempfile::tempdir().unwrap();
        let lines: Vec<String> = (0..100)
            .map(|n| format!("line {n}{}\n", "x".repeat(1000)))
            .collect();
        std::fs::write(logs.path().join(OUTPUT), "from the JVM\n").unwrap();
        std::fs::write(logs.path().join("system.log"), lines.concat()).unwrap();
        let tail = log_tail(logs.path());
        assert_eq!(tail.lines().count(), LOG_LINES_COUNT);
        assert!(tail.lines().last().unwrap().starts_with("  line 99xxx"));
        assert!(
            tail.lines()
                .all(|line| line.chars().count() <= LOG_CHARS_SHOWN + 2)
        );
        std::fs::remove_file(logs.path().join("system.log")).unwrap();
        assert_eq!(log_tail(logs.path()), "  from the JVM");
    }

    #[test]
    fn an_exit_status_is_explained_where_the_log_tells_why() {
        use std::os::unix::process::ExitStatusExt;
        let status = std::process::ExitStatus::from_raw;
        assert!(explain(status(9), "").contains("for want of memory"));
        let text = explain(
            status(3 << 8),
            "java.lang.OutOfMemoryError: Java heap space",
        );
        assert!(
            text.contains("exit status: 3") && text.contains("larger heap"),
            "{text}"
        );
        assert_eq!(explain(status(1 << 8), "nothing known"), "exit status: 1");
    }
}
