//! Placement of nodes on their machine: translates the planner's result into kernel settings and
//! JVM options.
//!
//! Simulated hosts share this machine with the client, so all nodes are planned together. The
//! client uses CPUs that the nodes leave free, under another L3 cache if possible.

pub(crate) use self::machine_part::PartUsed;
use anyhow::{Context, Result};
use host::{Confinement, Memory};
use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::path::Path;
use target_spec::{LocalSpec, Placing, Topology, memory_bytes};
use topology::{CpuSet, Housekeeping, Instance, Machine, Part, PlacementRequest, Plan, Smt, Units};

mod client_cpus;
mod machine_part;
mod machines;
mod sentences;

use super::jvm;
use measure::number::counted;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// In node order. Empty if the spec requests no placement.
    pub nodes: Vec<Placement>,
    /// CPUs of the client, first the first threads of all cores, then the second threads. `None`
    /// means all CPUs of the machine.
    pub client: Option<Vec<u32>>,
    /// Sentences about the placement of the nodes, with reasons.
    pub sentences: Vec<String>,
    /// Sentence about the CPUs of the client. `None` if the placement does not restrict the client.
    pub of_client: Option<String>,
    /// Part of the machine that all nodes together use. `None` means the whole machine.
    pub part: Option<PartUsed>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    /// Kernel settings that confine the node.
    pub confinement: Confinement,
    /// JVM options of the placement.
    pub options: Vec<String>,
    /// Number of CPUs that the JVM should use.
    pub processors: u32,
    /// NUMA nodes whose memory an unbound Cassandra node must be able to use. Empty if the machine
    /// has fewer than two NUMA nodes.
    pub reaches: CpuSet,
}

impl Layout {
    /// Plans the nodes of a spec on their machine.
    ///
    /// # Errors
    /// The machine lacks CPUs or memory, or nodes without fixed CPUs should leave cores free.
    pub fn plan(spec: &LocalSpec, machine: &Machine) -> Result<Layout> {
        let wish = &spec.topology;
        if wish.is_silent() {
            return Ok(Layout::default());
        }
        let floats = matches!(wish.placing, Placing::None | Placing::OneSocketPerVcpu);
        anyhow::ensure!(
            !floats || wish.housekeeping == 0,
            "with `{}`, nodes may use every core, but the study requires that {} of each NUMA node \
             {} free\nhint: use `placing: auto` or `placing: pinned`",
            wish.placing.name(),
            counted(wish.housekeeping as usize, "core"),
            if wish.housekeeping == 1 { "is" } else { "are" }
        );
        let hosts = spec.hosts.as_ref();
        let hosts = hosts
            .and_then(|hosts| hosts.host.cpus.as_ref())
            .map(|cpus| cpus.iter().map(|cpu| *cpu as u32).collect::<CpuSet>());
        let of_hosts = hosts.map_or_else(|| machine.clone(), |cpus| machine.only(&cpus));
        let mut layout = Layout::default();
        // The client may always use the CPUs that hosts may not use.
        let beside = machine.allowed_cpus().difference(&of_hosts.allowed_cpus());
        let reserved = client_cpus::reserved(spec, &of_hosts, beside.len());
        let ground = ground(wish, &of_hosts, &reserved)?;
        layout.part = wish.part.map(|(units, _)| part_used(units, &of_hosts, &ground));
        layout.place(spec, &ground, machine)?;
        let taken: Option<CpuSet> = match wish.placing {
            // Unconfined nodes may run on any CPU, so no CPU is only for the client.
            Placing::None | Placing::OneSocketPerVcpu if !wish.is_confined() => None,
            _ => Some(layout.taken()),
        };
        if let Some(taken) = taken {
            let wanted = wish.client.unwrap_or(1) as usize;
            layout.seat_client(machine, &taken, wanted);
        }
        Ok(layout)
    }

    /// Returns the CPUs of all nodes together.
    pub fn taken(&self) -> CpuSet {
        let of_each = self.nodes.iter().filter_map(|one| one.confinement.cpus.as_ref());
        of_each.flat_map(CpuSet::iter).collect()
    }

    /// Places the nodes on `ground`, the part of `machine` that nodes may use.
    fn place(&mut self, spec: &LocalSpec, ground: &Machine, machine: &Machine) -> Result<()> {
        let wish = &spec.topology;
        let allowed = ground.allowed_cpus();
        let quota = quota(spec);
        let asked = request(spec, ground);
        let vcpus = asked.vcpus;
        if wish.placing == Placing::None {
            self.nodes = (0..spec.nodes)
                .map(|index| anywhere(index, allowed.clone(), quota, ground))
                .collect();
            self.sentences.push(format!(
                "the kernel places the nodes anywhere on {}",
                allowed.describe()
            ));
            return Ok(());
        }
        if wish.placing == Placing::OneSocketPerVcpu {
            let cpus = wish.is_confined().then_some(allowed);
            self.nodes =
                (0..spec.nodes).map(|index| blind(index, vcpus, cpus.clone(), ground)).collect();
            self.sentences.push(format!(
                "the JVM of each node counts {}, and has no information on sockets, caches and \
                 NUMA nodes; the kernel runs the threads anywhere",
                counted(vcpus as usize, "CPU")
            ));
            return Ok(());
        }
        let plan = plan(&asked, ground)?;
        let kept: CpuSet = plan.housekeeping.iter().flat_map(|one| one.cpus.iter()).collect();
        let free = ground.only(&allowed.difference(&kept));
        let place = |instance: &Instance| match wish.placing {
            Placing::Auto => at_home(instance, wish.cpus, quota, &free),
            _ => pinned(instance, ground),
        };
        self.nodes = plan.instances.iter().map(place).collect();
        let other = collector(spec).1;
        self.sentences.extend(sentences::plan_sentences(&plan, &self.nodes, other));
        if machine.allowed_cpus().is_subset(&self.taken()) {
            self.sentences.push(sentences::NONE_LEFT.to_owned());
        }
        Ok(())
    }
}

/// Returns for each spec the reason why its nodes cannot be placed on this machine. `None` if they
/// can, or if the spec requests no placement. Inspects the machine at most once.
pub fn unplaceable(specs: &[&LocalSpec]) -> Vec<Option<String>> {
    let machine = LazyCell::new(|| Machine::read(Path::new("/")));
    let why = |spec: &&LocalSpec| {
        // cassay inspects a remote machine only when it connects to it.
        if spec.topology.is_silent() || !spec.machines().is_empty() {
            return None;
        }
        match &*machine {
            Ok(machine) => Layout::plan(spec, machine).err().map(|why| format!("{why:#}")),
            Err(why) => Some(why.to_string()),
        }
    };
    specs.iter().map(why).collect()
}

/// Returns the part of the machine that nodes may use.
fn ground(wish: &Topology, machine: &Machine, reserved: &CpuSet) -> Result<Machine> {
    let allowed = machine.allowed_cpus().difference(reserved);
    anyhow::ensure!(
        !allowed.is_empty(),
        "the client needs {}, so no CPU remains for nodes\nhint: reserve fewer CPUs for the client",
        counted(wish.client.unwrap_or(0) as usize, "CPU")
    );
    let Some((units, count)) = wish.part else {
        return Ok(machine.only(&allowed));
    };
    let parts = machine.only(&allowed).parts(units);
    let count = count as usize;
    anyhow::ensure!(
        count <= parts.len(),
        "nodes need {} of this machine, but only {} are available\nhint: use at most {}, or \
         reserve fewer CPUs for the client",
        units.counted(count),
        units.counted(parts.len()),
        parts.len()
    );
    let of_part = |part: &Part| part.cpus.iter().collect::<Vec<_>>();
    let cpus: CpuSet = parts[..count].iter().flat_map(of_part).collect();
    Ok(machine.only(&cpus))
}

fn request(spec: &LocalSpec, ground: &Machine) -> PlacementRequest {
    let wish = &spec.topology;
    let nodes = spec.nodes.max(1) as u32;
    let mut asked = PlacementRequest::new(nodes, 1);
    asked.profile = topology::Profile::None;
    asked.memory_bytes = Some(memory_bytes(1, spec.heap_bytes));
    asked.smt = wish.smt.unwrap_or(Smt::Pack);
    asked.collector = collector(spec).0;
    if wish.housekeeping > 0 {
        asked.housekeeping = Housekeeping::PerNode(wish.housekeeping);
    }
    let cores: Vec<usize> = topology::usable(ground, &asked).iter().map(CpuSet::len).collect();
    let room = cores.iter().sum::<usize>() as u32;
    let threads = cores.iter().max().map_or(1, |threads| *threads as u32);
    asked.vcpus = wish.cpus.unwrap_or_else(|| share(room, threads, nodes));
    if wish.placing == Placing::Auto {
        // A NUMA node may have several Cassandra nodes.
        asked.overcommit = overcommit(nodes * asked.vcpus, room);
    }
    asked
}

/// Returns the number of CPUs per node for equal shares of `room` CPUs. With at least one core per
/// node, a share consists of whole cores, so that nodes share no core.
fn share(room: u32, threads: u32, nodes: u32) -> u32 {
    let each = room / nodes;
    match each / threads {
        0 => each.max(1),
        cores => cores * threads,
    }
}

/// Returns the overcommitment ratio of CPUs, rounded up against floating-point errors.
fn overcommit(asked: u32, room: u32) -> f64 {
    let (asked, room) = (f64::from(asked), f64::from(room.max(1)));
    let ratio = asked / room;
    let enough = if ratio * room < asked {
        ratio.next_up()
    } else {
        ratio
    };
    enough.max(1.0)
}

fn plan(asked: &PlacementRequest, ground: &Machine) -> Result<Plan> {
    let planned = topology::plan(ground, asked).map_err(anyhow::Error::new);
    planned.with_context(|| {
        format!(
            "place {} of {} each on {}",
            counted(asked.instances as usize, "node"),
            counted(asked.vcpus as usize, "CPU"),
            ground.allowed_cpus().describe()
        )
    })
}

/// Returns the collector for the planner. For a collector that the planner does not support
/// (Serial, Epsilon), returns another one without NUMA support, and the real name.
fn collector(spec: &LocalSpec) -> (topology::Collector, Option<&str>) {
    use topology::Collector::{G1, Parallel, Shenandoah, Zgc};
    let by_option = || {
        let mut options = spec.jvm_options.iter();
        options.find(|option| jvm::is_collector(option))
    };
    let option = match spec.collector {
        Some(collector) => Some(collector.flag()),
        None => by_option().and_then(|option| option.strip_prefix("-XX:+")),
    };
    match option {
        None | Some("UseG1GC") => (G1, None),
        Some("UseZGC") => (Zgc, None),
        Some("UseParallelGC") => (Parallel, None),
        Some("UseShenandoahGC") => (Shenandoah, None),
        Some(other) => {
            let name = other.strip_prefix("Use").unwrap_or(other);
            (Shenandoah, name.strip_suffix("GC").or(Some(name)))
        }
    }
}

/// Restricts memory to `nodes` by `how`, if several NUMA nodes of the machine have memory.
fn memory(ground: &Machine, nodes: CpuSet, how: fn(CpuSet) -> Memory) -> Memory {
    let with_memory = ground.nodes.iter().filter(|node| node.memory_bytes != Some(0));
    match with_memory.count() {
        0 | 1 => Memory::Anywhere,
        _ => how(nodes),
    }
}

/// Returns the NUMA nodes with usable memory.
fn with_memory(machine: &Machine) -> CpuSet {
    let nodes = machine.nodes.iter().filter(|node| node.allowed && node.memory_bytes != Some(0));
    nodes.map(|node| node.os).collect()
}

/// Returns the maximum number of CPUs that a JVM uses by default: the host's CPU quota, rounded up.
fn quota(spec: &LocalSpec) -> u32 {
    let hosts = spec.hosts.as_ref();
    let quota = hosts.and_then(|hosts| hosts.host.cpu_quota);
    quota.map_or(u32::MAX, |cpus| (cpus.ceil() as u32).max(1))
}

fn name(index: usize) -> String {
    format!("node{}", index + 1)
}

/// Returns the number of used units on each socket.
fn part_used(units: Units, machine: &Machine, ground: &Machine) -> PartUsed {
    let by_socket = |machine: &Machine| {
        let mut counts: BTreeMap<usize, u32> = BTreeMap::new();
        for part in machine.parts(units) {
            *counts.entry(part.package).or_default() += 1;
        }
        counts.into_values().collect::<Vec<u32>>()
    };
    let all = by_socket(machine);
    PartUsed {
        units,
        split: by_socket(ground),
        units_per_socket: all.iter().copied().max().unwrap_or(0),
        sockets: all.len() as u32,
    }
}

/// Lets a node run anywhere in the nodes' part of the machine, without JVM options.
fn anywhere(index: usize, cpus: CpuSet, quota: u32, ground: &Machine) -> Placement {
    let nodes = with_memory(ground);
    Placement {
        reaches: match nodes.len() {
            0 | 1 => CpuSet::default(),
            _ => nodes,
        },
        processors: (cpus.len() as u32).min(quota),
        options: Vec::new(),
        confinement: Confinement {
            name: name(index),
            cpus: Some(cpus),
            memory: Memory::Anywhere,
        },
    }
}

/// Places a node without JVM options for the placement.
fn blind(index: usize, vcpus: u32, cpus: Option<CpuSet>, ground: &Machine) -> Placement {
    Placement {
        reaches: CpuSet::default(),
        confinement: Confinement {
            name: name(index),
            cpus,
            memory: memory(ground, with_memory(ground), Memory::Interleaved),
        },
        options: vec![
            format!("-XX:ActiveProcessorCount={vcpus}"),
            "-XX:-UseNUMA".to_owned(),
        ],
        processors: vcpus,
    }
}

/// Returns the planner's JVM options, except those that a study may set.
fn options(instance: &Instance) -> Vec<String> {
    const OURS: [&str; 4] = [
        "-XX:ActiveProcessorCount=",
        "-Dcassandra.available_processors=",
        "-XX:ParallelGCThreads=",
        "-XX:ConcGCThreads=",
    ];
    let is_ours = |option: &&String| {
        OURS.iter().any(|one| option.starts_with(one)) || option.ends_with("UseNUMA")
    };
    let all = instance.jvm.options.iter();
    all.filter(is_ours).cloned().collect()
}

fn pinned(instance: &Instance, ground: &Machine) -> Placement {
    Placement {
        reaches: CpuSet::default(),
        confinement: Confinement {
            name: name(instance.index as usize),
            cpus: Some(instance.cpus.iter().copied().collect()),
            memory: near(instance, ground),
        },
        options: options(instance),
        processors: instance.jvm.active_processors,
    }
}

/// Chooses memory near the CPUs of an instance. Interleaves it for a collector without NUMA support
/// on several NUMA nodes. Otherwise, all memory that one thread touches first would be on one NUMA
/// node.
fn near(instance: &Instance, ground: &Machine) -> Memory {
    let takes_turns = instance.nodes.len() > 1 && !instance.jvm.use_numa;
    let how = if takes_turns {
        Memory::Interleaved
    } else {
        Memory::Bound
    };
    memory(ground, beside(instance, ground), how)
}

/// Returns the NUMA nodes for an instance's memory. If its CPUs are on several NUMA nodes, returns
/// all of them that have memory. A collector that allocates on the thread's NUMA node needs memory
/// on each of them.
fn beside(instance: &Instance, ground: &Machine) -> CpuSet {
    let planned: CpuSet = instance.memory.iter().map(|one| one.node).collect();
    if instance.nodes.len() == 1 && !planned.is_empty() {
        return planned;
    }
    let all = with_memory(ground);
    let own = all.iter().filter(|node| instance.nodes.contains(node));
    own.chain(planned.iter()).collect()
}

/// Places a node on the CPUs of its NUMA nodes, as far as nodes may use these CPUs.
fn at_home(instance: &Instance, vcpus: Option<u32>, quota: u32, ground: &Machine) -> Placement {
    let home = ground.nodes.iter().filter(|node| instance.nodes.contains(&node.os));
    let cpus: CpuSet = home
        .flat_map(|node| ground.cpus_of(&node.cores).iter().collect::<Vec<_>>())
        .collect();
    let cpus = cpus.intersection(&ground.allowed_cpus());
    let numa = options(instance).into_iter().filter(|one| one.ends_with("UseNUMA"));
    let count = vcpus.map(|count| format!("-XX:ActiveProcessorCount={count}"));
    Placement {
        reaches: CpuSet::default(),
        processors: vcpus.unwrap_or_else(|| (cpus.len() as u32).min(quota)),
        options: numa.chain(count).collect(),
        confinement: Confinement {
            name: name(instance.index as usize),
            cpus: Some(cpus),
            memory: near(instance, ground),
        },
    }
}

#[cfg(test)]
mod tests;
