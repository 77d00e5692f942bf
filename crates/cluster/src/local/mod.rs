//! A cluster of our own: Cassandra nodes on this machine, on hosts of their own or on loopback
//! addresses.
//!
//! Long because starting is one story with many endings, each with its own message.
//!
//! Nodes live in one folder with a written state, see [`state`]; they end with us, however we end,
//! unless the cluster was made to be kept. The first node comes up alone and makes the ring; the
//! others follow together, which is safe because their tokens are given and nothing is streamed.

mod classes;
mod compare;
mod jvm;
mod logs;
pub(crate) mod marks;
mod newcomer;
pub(crate) mod node;
pub(crate) mod place;
mod placement;
mod ports;
mod proof;
mod ready;
mod record;
mod reopen;
mod restart;
pub(crate) mod roles;
mod room;
mod settings;
mod spec_refusal;
mod startable;
pub(crate) mod state;

pub(crate) use node::LocalNode;
pub use place::HostInfo;
pub use placement::unplaceable;
pub use proof::{Effect, NodeConfiguration, NodePlace, Observed, Proof, SchemaOption};
pub(crate) use proof::{keyspace_proofs, table_proofs};
pub(crate) use reopen::cluster as reopen;
pub use restart::Restarts;
pub use room::memory_bytes;
pub use settings::{YamlRefusal, yaml_refusal};
pub(crate) use settings::{changed, properties};
pub use spec_refusal::{SpecRefusal, refusals as spec_refusals};
pub use startable::{free_disk_bytes, not_startable};

use crate::access::Access;
use crate::capability::{self, Capability};
use crate::cluster::Cluster;
use crate::handle::{Anew, Handles, HostHandle, NodeControl, NodeHandle, OwnNode};
use crate::java::{self, Java};
use crate::jolokia::Jolokia;
use crate::node::{NodeDied, NodeInfo};
use crate::node_files::NodeFiles;
use crate::spec::{Dirs, LocalSpec, NODES_COUNT_MAX};
use crate::supply::{self, Supply};
use anyhow::{Context, Result, bail};
use classes::Classes;
use host::process::Identity;
use host::{Agent, Hosts, HostsSpec, HostsState};
use measure::clock::{self, Deadline};
use measure::number::counted;
use node::OUTPUT;
use placement::{Layout, Placement};
use ports::{Claim, Ports};
use record::SpecState;
use settings::NodeLayout;
use state::{NodeState, State};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// The nodes of a local cluster. Dropping it kills them and removes their folder, unless it is
/// meant to be kept.
#[derive(Debug)]
pub(crate) struct Nodes {
    folder: PathBuf,
    state: State,
    /// What the nodes were last started as.
    spec: LocalSpec,
    nodes: Vec<LocalNode>,
    /// Where on their machine the nodes run.
    layout: Layout,
    /// What nodes are on, and by whose agents they are started.
    ground: Ground,
    program: Program,
    /// The nodes' addresses are ours, also while none of them listens.
    claim: Option<Claim>,
    /// Password of the MBean agents.
    secret: String,
    /// How clients get in.
    access: Access,
    /// Whether the cluster is still ours to remove.
    armed: bool,
    /// Held while a command works on a kept cluster, so that no second one does.
    _lock: Option<std::fs::File>,
}

/// What nodes are on.
#[derive(Debug)]
enum Ground {
    /// This machine, with an address for each.
    Machine(Arc<Agent>),
    /// Hosts that are more than addresses.
    Hosts(Hosts),
}

/// What every node is started with.
#[derive(Clone, Debug)]
struct Program {
    java: Java,
    supply: Supply,
    classes: Classes,
    /// Where what survives runs is.
    cache: PathBuf,
}

/// Starts the cluster of `spec` and waits until every node answers and sees the others.
///
/// # Errors
/// See the messages: Java, Maven, memory, disk, ports, settings, a node that dies or does not
/// answer in time. Nothing is left running.
pub(crate) fn start(spec: &LocalSpec, dirs: &Dirs, say: &mut dyn FnMut(&str)) -> Result<Cluster> {
    check(spec)?;
    let clusters = state::clusters_folder(dirs);
    // Parents that are there keep what they allow; each cluster's folder is private in any case.
    private()
        .recursive(true)
        .create(&clusters)
        .with_context(|| format!("make {}", clusters.display()))?;
    let clusters = made_absolute(&clusters)?;
    let home = supply::home()?;
    let mut program = Program::find(&spec.version, dirs, home.as_deref(), say)?;
    program.share_classes(spec, &clusters, say)?;
    room::check(spec.nodes, spec.heap_bytes, &clusters)?;
    let wanted = place::wanted(spec, say)?;
    let began_ns = clock::now_ns();
    say(&format!(
        "starting Cassandra {} on {} (Java {}, heap {} MiB)",
        program.supply.version,
        counted(spec.nodes, "node"),
        program.java.version,
        spec.heap_bytes >> 20
    ));
    let mut nodes = Nodes::new(spec, &clusters, program, home, wanted, say)?;
    nodes.settle()?;
    nodes.bring_up(say)?;
    let seconds = (clock::now_ns() - began_ns) as f64 / clock::SECOND_NS as f64;
    say(&format!("ready after {seconds:.1} s"));
    let info = nodes.describe();
    Ok(Cluster::of_local(nodes, info))
}

impl Program {
    /// Java and the jars of `version`.
    fn find(
        version: &str,
        dirs: &Dirs,
        home: Option<&Path>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Program> {
        let java = java::find()?;
        let cache = made_absolute(&dirs.cache)?;
        Ok(Program {
            java,
            supply: supply::resolve(&cache, version, home, say)?,
            classes: Classes::Loaded,
            cache,
        })
    }

    /// Maps the classes of nodes that are started from now on, or not, as the spec has it.
    fn share_classes(
        &mut self,
        spec: &LocalSpec,
        clusters: &Path,
        say: &mut dyn FnMut(&str),
    ) -> Result<()> {
        self.classes = match spec.class_sharing {
            true => Classes::Mapped(classes::archive(self, clusters, say)?),
            false => Classes::Loaded,
        };
        Ok(())
    }
}

/// Makes folders that only we can enter.
fn private() -> std::fs::DirBuilder {
    let mut builder = std::fs::DirBuilder::new();
    builder.mode(0o700);
    builder
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
    jvm::check_collector(spec)?;
    classes::check(spec)?;
    place::check(spec)?;
    settings::check_overrides(&spec.yaml)
}

impl Nodes {
    /// A cluster that has no nodes yet: its agents, its folder and its state. What would outlive
    /// the agents is written down before any of it is there.
    fn new(
        spec: &LocalSpec,
        clusters: &Path,
        program: Program,
        home: Option<PathBuf>,
        wanted: Option<&HostsSpec>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Nodes> {
        let id = state::new_id();
        let folder = clusters.join(&id);
        let agent = match wanted {
            Some(_) => Agent::of_switch(&id, &folder)?,
            None => Agent::of_machine(&id, &folder)?,
        };
        let mut state = State::new(id, program.supply.version.clone(), spec.datacenter.clone());
        state.spec = Some(SpecState::of(spec));
        state.home = home;
        let before = wanted.map(|wanted| HostsState::before(&state.id, wanted, &folder));
        state.hosts = before.transpose()?;
        state.write(&folder)?;
        let ground = match wanted {
            Some(wanted) => Ground::Hosts(Hosts::make(&state.id, wanted, &folder, agent, say)?),
            None => Ground::Machine(Arc::new(agent)),
        };
        if let Ground::Hosts(hosts) = &ground {
            state.hosts = Some(hosts.state());
            state.write(&folder)?;
        }
        Ok(Nodes {
            state,
            spec: spec.clone(),
            nodes: Vec::new(),
            layout: Layout::default(),
            ground,
            program,
            claim: None,
            secret: roles::random_secret()?,
            access: roles::make(spec, &folder)?,
            folder,
            armed: true,
            _lock: None,
        })
    }

    /// Gives the nodes their places: folders and files, and addresses, which are theirs from now
    /// on.
    fn settle(&mut self) -> Result<()> {
        self.layout = self.lay_out(&self.spec)?;
        match &self.ground {
            Ground::Machine(_) => {
                let chosen = ports::choose(self.spec.nodes, self.spec.address)?;
                self.claim = Some(chosen.claim);
                self.prepare(&chosen.addresses, chosen.ports)
            }
            // In a network of their own, which is nobody else's.
            Ground::Hosts(hosts) => {
                let addresses = place::addresses(&self.spec, hosts)?;
                self.prepare(&addresses, ports::CHOICES[0])
            }
        }
    }

    /// Where on their machine the nodes of `spec` run. All hosts are stand-ins for one machine.
    fn lay_out(&self, spec: &LocalSpec) -> Result<Layout> {
        match spec.topology.is_silent() {
            true => Ok(Layout::default()),
            false => Layout::of(spec, &self.ground.agent(0).machine()?),
        }
    }

    /// Where a node runs; none if nothing is said of it, or if it was added to the others.
    fn placement(&self, node: &LocalNode) -> Option<&Placement> {
        let all = self.layout.nodes.iter();
        let mut all = all.filter(|one| one.confinement.name == node.layout.name);
        all.next()
    }

    /// Folders and files of all nodes.
    fn prepare(&mut self, addresses: &[Ipv4Addr], ports: Ports) -> Result<()> {
        let layouts = place::layouts(&self.spec, &self.folder, &self.ground, addresses, ports)?;
        for (index, layout) in layouts.into_iter().enumerate() {
            let node = self.node_of(index, layout);
            let files = settings::files(&node.layout, &self.spec.yaml, &self.secret);
            node.host.change(files)?;
            let layout = &node.layout;
            self.state.nodes.push(NodeState {
                name: layout.name.clone(),
                host: layout.host.clone(),
                address: layout.address,
                cql_port: ports.cql,
                rack: layout.rack.clone(),
                ports: Some(ports),
                process: None,
            });
            self.nodes.push(node);
        }
        self.state.write(&self.folder)
    }

    /// A node without a process.
    fn node_of(&self, index: usize, layout: NodeLayout) -> LocalNode {
        let agent = SocketAddr::from((layout.address, layout.ports.jolokia));
        let has_agent = self.program.supply.jolokia.is_some();
        let jolokia = has_agent.then(|| Jolokia::new(agent, settings::JOLOKIA_USER, &self.secret));
        LocalNode {
            layout,
            jolokia,
            host: Arc::clone(self.ground.agent(index)),
            process: None,
            starts: None,
        }
    }

    fn bring_up(&mut self, say: &mut dyn FnMut(&str)) -> Result<()> {
        let limit = self.spec.start_timeout;
        let deadline = Deadline::after(limit);
        self.launch(0)?;
        self.first_answer(0, deadline)?;
        if self.nodes.len() > 1 {
            say(&format!(
                "{} answers; starting the others",
                self.nodes[0].layout.name
            ));
        }
        for index in 1..self.nodes.len() {
            self.launch(index)?;
        }
        for index in 1..self.nodes.len() {
            self.first_answer(index, deadline)?;
        }
        roles::set_up(&mut self.nodes, &self.access, deadline, limit)?;
        if self.nodes.len() == 1 {
            return Ok(());
        }
        ready::see_each_other(&mut self.nodes, &self.access, deadline, limit)
    }

    /// Waits until a node that has never run before answers.
    fn first_answer(&mut self, index: usize, deadline: Deadline) -> Result<()> {
        let (nodes, limit) = (&mut self.nodes[..], self.spec.start_timeout);
        match self.access.credentials {
            Some(_) => ready::asks_for_password(nodes, index, deadline, limit),
            None => ready::answers(nodes, index, &self.access, deadline, limit),
        }
    }

    /// Starts one process and writes down that it exists.
    fn launch(&mut self, index: usize) -> Result<()> {
        // Of a kept cluster that was taken up again nobody has looked for it yet.
        if self.spec.class_sharing && self.program.classes == Classes::Loaded {
            let clusters = self.folder.parent().context("the folder of clusters")?;
            let program = &mut self.program;
            program.share_classes(&self.spec, clusters, &mut |_| ())?;
        }
        // Before there is one more.
        let node = &mut self.nodes[index];
        node.starts = Some(node.starts.map_or_else(|| node.starts_count(), Ok)?);
        let node = &self.nodes[index];
        let start = self.own(node)?.usual(node.cql_address())?;
        let started = node.host.start_by(&start);
        let process =
            started.with_context(|| format!("start {}", self.nodes[index].layout.name))?;
        self.started(index, process)
    }

    /// What starts a node, perhaps anew, and where what it says goes.
    fn command_for(&self, node: &LocalNode, anew: Option<Anew>) -> Result<(Command, PathBuf)> {
        let starts = node.starts.map_or_else(|| node.starts_count(), Ok)?;
        let how = (starts + 1, anew);
        let (program, layout) = (&self.program, &node.layout);
        let options = self.placement(node).map(|one| &one.options[..]);
        let own = (layout, options.unwrap_or_default());
        let command = jvm::command(program, &self.state.id, own, &self.spec, how);
        Ok((command, layout.logs().join(OUTPUT)))
    }

    /// Writes down that a node's process is this one.
    pub fn started(&mut self, index: usize, process: Identity) -> Result<()> {
        let before = &self.nodes[index];
        let starts = before.starts;
        // The connections to the MBeans of a process that has ended are of no use.
        self.nodes[index] = self.node_of(index, before.layout.clone());
        self.nodes[index].starts = starts.map(|starts| starts + 1);
        self.state.nodes[index].process = Some(process);
        self.nodes[index].process = Some(process);
        self.state.write(&self.folder)
    }

    /// What all of it is broken and healed by.
    pub fn handles(&self) -> Result<Handles> {
        let hosts = self.hosts().map(Hosts::all).unwrap_or_default();
        let host = |host: &host::Host| HostHandle {
            name: host.name().to_owned(),
            number: host.number(),
            address: host.address(),
            agent: Arc::clone(host.agent()),
            folder: host.folder().to_owned(),
            device: host.device().map(str::to_owned),
        };
        let nodes = self.nodes.iter();
        Ok(Handles {
            nodes: nodes.map(|node| self.handle(node)).collect::<Result<_>>()?,
            newcomers: self.newcomers()?,
            hosts: hosts.iter().map(host).collect(),
            switch: self.hosts().map(|hosts| Arc::clone(hosts.switch())),
        })
    }

    fn handle(&self, node: &LocalNode) -> Result<NodeHandle> {
        let layout = &node.layout;
        let hosts = self.hosts().map(Hosts::all).unwrap_or_default();
        Ok(NodeHandle {
            name: layout.name.clone(),
            agent: Arc::clone(&node.host),
            host: hosts.iter().position(|host| host.name() == layout.host),
            process: node.process,
            own: Some(self.own(node)?),
            address: node.cql_address(),
            storage: SocketAddr::from((layout.address, layout.ports.storage)),
            access: self.access.clone(),
            control: node.jolokia.clone().map(NodeControl),
        })
    }

    /// How a node is started.
    fn own(&self, node: &LocalNode) -> Result<OwnNode> {
        let start = self.command_for(node, None)?;
        let (mut forgiving, _) = self.command_for(node, None)?;
        forgiving.env(jvm::OPTIONS_VARIABLE, jvm::IGNORE_REPLAY_ERRORS);
        let anew = |how| Ok::<_, anyhow::Error>(self.command_for(node, Some(how))?.0);
        let mut claiming = anew(Anew::Joining)?;
        claiming.env(jvm::OPTIONS_VARIABLE, jvm::replacing(&node.layout));
        Ok(OwnNode {
            start,
            forgiving,
            joining: anew(Anew::Joining)?,
            claiming,
            replacing: anew(Anew::Replacing)?,
            kept: node.layout.kept(),
            folder: node.layout.folder.clone(),
            confinement: self.placement(node).map(|one| one.confinement.clone()),
        })
    }

    /// The nodes, for those who use them.
    pub fn describe(&self) -> Vec<NodeInfo> {
        let info = |node: &LocalNode| NodeInfo {
            name: node.layout.name.clone(),
            host: node.layout.host.clone(),
            address: node.cql_address(),
            datacenter: node.layout.datacenter.clone(),
            rack: node.layout.rack.clone(),
            tokens: node.layout.tokens.clone(),
            pid: node.process.map(|process| process.pid),
            version: self.state.version.clone(),
        };
        self.nodes.iter().map(info).collect()
    }

    /// What the nodes were last started as.
    pub fn spec(&self) -> &LocalSpec {
        &self.spec
    }

    /// Where on their machine the nodes and the client run.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// One node, counted from 0 as in [`Cluster::nodes`].
    pub fn node(&self, index: usize) -> &LocalNode {
        &self.nodes[index]
    }

    /// The nodes that have died, but for those that are `expected` to be away.
    pub fn died(&self, expected: &[&str]) -> Vec<NodeDied> {
        // Their processes go on then, and nobody reaches them.
        if let Some(lost) = self.hosts().and_then(Hosts::lost) {
            return self.nodes.iter().map(|node| node.lost(&lost)).collect();
        }
        let nodes = self.nodes.iter();
        let nodes = nodes.filter(|node| !expected.contains(&node.layout.name.as_str()));
        nodes.filter_map(LocalNode::died).collect()
    }

    /// Copies every node's log folder.
    pub fn collect_logs(&self, into: &Path) -> Result<()> {
        let collect = |node| logs::collect(node, into);
        self.nodes.iter().try_for_each(collect)
    }

    /// How clients get in.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// All nodes, in order.
    pub fn all(&self) -> &[LocalNode] {
        &self.nodes
    }

    /// The version of Cassandra that they are.
    pub fn version(&self) -> &str {
        &self.state.version
    }

    /// Where the files of the nodes are, in their order.
    pub fn files(&self) -> Vec<NodeFiles<'_>> {
        let nodes = self.all().iter().map(|node| NodeFiles {
            name: node.layout.name.as_str(),
            host: &node.host,
            folder: &node.layout.folder,
            version: self.version(),
            agent: node.jolokia.as_ref(),
        });
        nodes.collect()
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
        match &self.ground {
            Ground::Hosts(hosts) => hosts.keep()?,
            Ground::Machine(agent) => agent.keep()?,
        }
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
        let ended = match &self.ground {
            Ground::Hosts(hosts) => hosts.end(),
            Ground::Machine(agent) => agent.end(),
        };
        // Once more by what is written down: agents may have been killed.
        let removed = state::remove(&self.folder, &self.state).map(drop);
        ended.and(removed)
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        // Who wants to know calls stop(); what is left here, the next command clears.
        let _ = self.end();
    }
}

/// What a cluster of ours can do.
pub(crate) fn capabilities(nodes: &Nodes) -> Vec<Capability> {
    let has_agents = nodes.nodes.iter().all(|node| node.jolokia.is_some());
    let mbeans = capability::running_mbeans(has_agents);
    capability::of_local(&mbeans, &nodes.hosts_answer())
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
        assert!(refused(&|spec| spec.nodes = 0).contains("1 to 24 nodes, not 0"));
        assert!(refused(&|spec| spec.nodes = 25).contains("1 to 24 nodes, not 25"));
        let racks = vec!["rack=1\n".to_string()];
        assert!(refused(&|spec| spec.racks = racks.clone()).contains("\"rack=1\\n\""));
    }
}
