//! Starts a managed cluster. The first node starts alone and forms the ring. The other nodes start
//! in parallel, which is safe because cassay assigns their tokens and they stream no data.

use super::host_layout::HostLayout;
use super::nodes::Nodes;
use super::persistent_state::{self, NodeState, State};
use super::placement::Layout;
use super::ports::{self, Ports};
use super::program::{Classes, Program, made_absolute};
use super::{assign_hosts, class_archive, jvm, machines, memory_and_disk, ready, roles, settings};
use crate::dirs::Dirs;
use anyhow::{Context, Result, anyhow, bail};
use host::{Agent, Hosts, HostsState};
use kubernetes::PodSet;
use measure::clock::{self, Deadline};
use measure::number::counted;
use std::net::Ipv4Addr;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use target_spec::{HostIndex, HostsSpec, JavaWanted, LocalSpec, NODES_COUNT_MAX};

/// Starts the cluster of `spec`, and waits until every node answers and considers the other nodes
/// up.
///
/// # Errors
/// Java, jars, memory, disk, ports or settings are unsuitable, or a node dies or does not answer in
/// time. After an error, no node continues to run.
pub(crate) fn start(spec: &LocalSpec, dirs: &Dirs, say: &mut dyn FnMut(&str)) -> Result<Nodes> {
    check(spec)?;
    let clusters = persistent_state::clusters_folder(dirs);
    // Only the folder of each cluster is private. Existing parent folders keep their permissions.
    private()
        .recursive(true)
        .create(&clusters)
        .with_context(|| format!("make {}", clusters.display()))?;
    let clusters = made_absolute(&clusters)?;
    let mut spec = spec.clone();
    spec.origin = supply::meant((&spec.release, &spec.origin), &mut supply::plainly(say))?;
    let spec = &spec;
    let on_machines = !spec.machines().is_empty();
    let mut program = Program::for_spec(spec, dirs, say)?;
    if !on_machines {
        program.share_classes(spec, &clusters, say)?;
        memory_and_disk::check(spec.nodes, spec.heap_bytes, &clusters)?;
    }
    let wanted = assign_hosts::wanted(spec, say)?;
    let began_ns = clock::now_ns();
    if !on_machines {
        say(&starting(spec, &program));
    }
    let mut nodes = Nodes::new(spec, &clusters, program, wanted, say)?;
    if let Some(first) = nodes.programs.first() {
        say(&starting(spec, first));
    }
    nodes.settle()?;
    nodes.bring_up(say)?;
    let seconds = (clock::now_ns() - began_ns) as f64 / clock::SECOND_NS as f64;
    say(&format!("ready after {seconds:.1} s"));
    Ok(nodes)
}

fn starting(spec: &LocalSpec, program: &Program) -> String {
    format!(
        "cassay starts Cassandra {} on {} (Java {}, heap {} MiB)",
        program.supply.release,
        counted(spec.nodes, "node"),
        program.java.version,
        spec.heap_bytes >> 20
    )
}

/// Creates the pods for hosts, and waits until they run. Returns the spec with these pods as
/// machines. Returns `None` if the hosts are not pods.
fn made_pods(
    wanted: Option<&HostsSpec>,
    say: &mut dyn FnMut(&str),
) -> Result<Option<(HostsSpec, PodSet)>> {
    let Some((wanted, pods)) = wanted.and_then(|wanted| Some((wanted, wanted.pods.as_ref()?)))
    else {
        return Ok(None);
    };
    let set = PodSet::make(pods, wanted.count, say).context("create the pods of the hosts")?;
    let wanted = HostsSpec {
        machines: set.machines()?,
        ..wanted.clone()
    };
    Ok(Some((wanted, set)))
}

fn made_ground(
    (id, folder): (&str, &Path),
    wanted: Option<&HostsSpec>,
    agent: Option<Agent>,
    say: &mut dyn FnMut(&str),
) -> Result<HostLayout> {
    match (wanted, agent) {
        (Some(wanted), Some(agent)) => {
            Hosts::make(id, wanted, folder, agent, say).map(HostLayout::Hosts)
        }
        (Some(wanted), None) => Hosts::over_ssh(id, wanted, say).map(HostLayout::Hosts),
        (None, Some(agent)) => Ok(HostLayout::Machine(Arc::new(agent))),
        (None, None) => Err(anyhow!("the placement leaves no CPUs for the nodes")),
    }
}

/// Returns a builder of folders that only their owner can enter.
fn private() -> std::fs::DirBuilder {
    let mut builder = std::fs::DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Refuses a specification that cannot be started, before cassay creates anything.
pub(super) fn check(spec: &LocalSpec) -> Result<()> {
    if !(1..=NODES_COUNT_MAX).contains(&spec.nodes) {
        bail!(
            "a local target has 1 to {NODES_COUNT_MAX} nodes, not {}",
            spec.nodes
        );
    }
    for name in spec.racks.iter().chain([&spec.datacenter]) {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(plain) {
            bail!(
                "the name {name:?} of a data center or rack must consist of letters, digits, '-', \
                 '_' and '.'"
            );
        }
    }
    jvm::check_collector(spec)?;
    class_archive::check(spec)?;
    assign_hosts::check(spec)?;
    settings::check_tokens(spec)?;
    settings::check_overrides(spec)
}

impl Nodes {
    /// Creates a cluster without nodes: its agents, its folder and its state. Records each object
    /// that could outlive the agents before it creates the object.
    pub(super) fn new(
        spec: &LocalSpec,
        clusters: &Path,
        program: Program,
        wanted: Option<&HostsSpec>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Nodes> {
        let id = persistent_state::new_id();
        let folder = clusters.join(&id);
        let (hosts, pods) = made_pods(wanted, say)?.unzip();
        let wanted = hosts.as_ref().or(wanted);
        let spec = &spec.on_machines(wanted);
        let machines = wanted.filter(|wanted| wanted.are_machines());
        // Hosts on this machine need an agent. For remote machines, a folder suffices.
        let agent = match (machines, wanted) {
            (Some(_), _) => {
                private()
                    .create(&folder)
                    .with_context(|| format!("make {}", folder.display()))?;
                None
            }
            (None, Some(_)) => Some(Agent::start_switch(&id, &folder)?),
            (None, None) => Some(Agent::start_on_machine(&id, &folder)?),
        };
        let mut state = State::new(
            id,
            program.supply.release.to_string(),
            spec.datacenter.clone(),
        );
        state.put_spec(spec)?;
        let before = wanted.map(|wanted| match machines {
            Some(_) => HostsState::for_machines(&state.id, &wanted.machines),
            None => HostsState::before(&state.id, wanted, &folder),
        });
        state.hosts = before.transpose()?;
        state.write(&folder)?;
        let made = made_ground((&state.id, &folder), wanted, agent, say);
        if machines.is_some() && made.is_err() {
            // No agent removes this folder. Remaining files show why the removal failed.
            let _ = std::fs::remove_dir_all(&folder);
        }
        let ground = made?;
        if let HostLayout::Hosts(hosts) = &ground {
            state.hosts = Some(hosts.state());
            state.write(&folder)?;
        }
        let mut nodes = Nodes {
            state,
            spec: spec.clone(),
            nodes: Vec::new(),
            layout: Layout::default(),
            ground,
            program,
            programs: Vec::new(),
            upgrade: None,
            claim: None,
            secret: roles::random_secret()?,
            access: roles::make(spec, &folder)?,
            folder,
            armed: true,
            _lock: None,
            _pods: pods,
        };
        if let Some(hosts) = nodes.ground.hosts().filter(|hosts| hosts.are_machines()) {
            machines::check_room(hosts, spec)?;
        }
        nodes.supply(say)?;
        Ok(nodes)
    }

    /// Uploads the nodes' programs to their machines.
    pub(super) fn supply(&mut self, say: &mut dyn FnMut(&str)) -> Result<()> {
        if let Some(hosts) = self.ground.hosts().filter(|hosts| hosts.are_machines()) {
            self.programs = machines::programs(
                hosts,
                (&self.program, &JavaWanted::from_spec(&self.spec)),
                say,
            )?;
            self.share_classes_there(&self.spec.clone(), say)?;
        }
        Ok(())
    }

    pub(super) fn settle(&mut self) -> Result<()> {
        self.layout = self.lay_out(&self.spec)?;
        match &self.ground {
            HostLayout::Machine(_) => {
                let chosen = ports::choose(self.spec.nodes, self.spec.address)?;
                self.claim = Some(chosen.claim);
                let ports = chosen.ports;
                let addresses = chosen.addresses.into_iter();
                self.prepare(&addresses.map(|address| (address, ports)).collect::<Vec<_>>())
            }
            HostLayout::Hosts(hosts) => {
                let places = assign_hosts::places(&self.spec, hosts)?;
                self.prepare(&places)
            }
        }
    }

    /// Plans the placement of the nodes of `spec`, together for simulated hosts, because these
    /// share one machine.
    pub(super) fn lay_out(&self, spec: &LocalSpec) -> Result<Layout> {
        if spec.topology.is_silent() {
            return Ok(Layout::default());
        }
        let Some(hosts) = self.hosts().filter(|hosts| hosts.are_machines()) else {
            return Layout::plan(spec, &self.ground.agent(HostIndex(0)).machine()?);
        };
        let machines = hosts.all().iter().map(|host| {
            let name = host.agent().name();
            Ok((name.to_owned(), host.agent().machine()?))
        });
        Layout::plan_machines(spec, &machines.collect::<Result<Vec<_>>>()?)
    }

    fn prepare(&mut self, places: &[(Ipv4Addr, Ports)]) -> Result<()> {
        let layouts = assign_hosts::layouts(&self.spec, &self.folder, &self.ground, places)?;
        for layout in layouts {
            let node = self.node_of(layout)?;
            let files = settings::files(&node.layout, &self.spec.yaml, &self.secret);
            node.host.change(files)?;
            let layout = &node.layout;
            self.state.nodes.push(NodeState {
                name: layout.name.clone(),
                host: layout.host.clone(),
                address: layout.address,
                cql_port: layout.ports.cql,
                rack: layout.rack.clone(),
                ports: Some(layout.ports),
                process: None,
            });
            self.nodes.push(node);
        }
        self.state.write(&self.folder)
    }

    pub(super) fn bring_up(&mut self, say: &mut dyn FnMut(&str)) -> Result<()> {
        let limit = self.spec.start_timeout;
        let deadline = Deadline::after(limit);
        self.launch(0)?;
        self.first_answer(0, deadline)?;
        if self.nodes.len() > 1 {
            say(&format!(
                "{} answers, so cassay starts the other nodes",
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

    /// Waits for the first response of a node that has never run before.
    fn first_answer(&mut self, index: usize, deadline: Deadline) -> Result<()> {
        let (nodes, limit) = (&mut self.nodes[..], self.spec.start_timeout);
        match self.access.credentials {
            Some(_) => ready::asks_for_password(nodes, index, deadline, limit),
            None => ready::answers(nodes, index, &self.access, deadline, limit),
        }
    }

    pub(super) fn launch(&mut self, index: usize) -> Result<()> {
        // After a kept cluster is reopened, the path of its class data archive is not yet known.
        let is_here = !self.are_on_machines();
        if is_here && self.spec.class_sharing && self.program.classes == Classes::Loaded {
            let clusters = self.folder.parent().context("find the folder of clusters")?;
            let program = &mut self.program;
            program.share_classes(&self.spec, clusters, &mut |_| ())?;
        }
        // Counts the logs before this start creates another one.
        let node = &mut self.nodes[index];
        node.starts = Some(node.starts.map_or_else(|| node.starts_count(), Ok)?);
        let node = &self.nodes[index];
        let start = self.own(node)?.usual(node.cql_address())?;
        let started = node.host.start_by(&start);
        let process =
            started.with_context(|| format!("start {}", self.nodes[index].layout.name))?;
        self.started(index, process)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unstartable_spec_is_refused_before_anything_is_made() {
        let refused = |change: &dyn Fn(&mut LocalSpec)| {
            let mut spec = LocalSpec::default();
            change(&mut spec);
            check(&spec).unwrap_err().to_string()
        };
        check(&LocalSpec::default()).unwrap();
        assert!(refused(&|spec| spec.nodes = 0).contains("1 to 128 nodes, not 0"));
        assert!(refused(&|spec| spec.nodes = 129).contains("1 to 128 nodes, not 129"));
        let racks = vec!["rack=1\n".to_string()];
        assert!(refused(&|spec| spec.racks = racks.clone()).contains("\"rack=1\\n\""));
    }
}
