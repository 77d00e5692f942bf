//! What is planned: which instance gets which CPUs and memory, what it sees of them, and how its
//! JVM and its Cassandra are set. Pure data; [`crate::plan`] makes it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::cpuset::CpuSet;
use crate::request::{PlacementRequest, Profile};
use crate::units;

/// The whole plan for one machine. The same machine and wish give the same bytes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// [`crate::fingerprint`] of the machine it was made for; it holds for no other.
    pub fingerprint: String,
    /// What was wished for.
    pub wish: PlacementRequest,
    /// The instances, in order.
    pub instances: Vec<Instance>,
    /// What vSphere 7 would show each VM.
    pub vsphere7: VirtualTopology,
    /// What vSphere 8 would show each VM.
    pub vsphere8: VirtualTopology,
    /// What is kept free for interrupts and the host, by node; empty when nothing is.
    pub housekeeping: Vec<NodeCpus>,
    /// Allowed CPUs that neither an instance nor the housekeeping has.
    pub idle: CpuSet,
    /// What the placement costs.
    pub costs: Costs,
    /// The least that any placement of this wish costs here.
    pub bounds: Bounds,
    /// The rack of all instances, for `cassandra-rackdc.properties`.
    pub rack: String,
    /// Why it is so: a sentence for each choice.
    pub reasons: Vec<String>,
    /// What speaks against it, in sentences; empty when nothing does.
    pub warnings: Vec<String>,
    /// How much was tried to make it: exchanges that were weighed.
    pub exchanges_weighed: u64,
}

/// One instance and everything it needs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Instance {
    /// From 0.
    pub index: u32,
    /// OS numbers of its CPUs in the order of its vCPUs: vCPU *i* runs on `cpus[i]`. Threads of a
    /// core follow one another.
    pub cpus: Vec<u32>,
    /// Its cells (parts on one node each where they fit), in the order of the vCPUs.
    pub cells: Vec<Cell>,
    /// Its cores, by index in the machine, in the order of the vCPUs.
    pub cores: Vec<usize>,
    /// Its L3 groups, by index in the machine, ascending.
    pub l3: Vec<usize>,
    /// OS numbers of its NUMA nodes, ascending.
    pub nodes: Vec<u32>,
    /// Its packages, by index in the machine, ascending.
    pub packages: Vec<usize>,
    /// How much of its memory comes from which node; in the order of the cells. Together they are
    /// `memory_bytes`; empty where no memory is known.
    pub memory: Vec<NodeBytes>,
    /// Its memory in bytes; `None` when the wish names none and the machine does not say its own.
    pub memory_bytes: Option<u64>,
    /// What a guest sees that is pinned like this.
    pub pinned: VirtualTopology,
    /// Devices on its nodes, by name.
    pub devices: Vec<String>,
    /// How its JVM is started.
    pub jvm: Jvm,
    /// How its Cassandra is set.
    pub yaml: Yaml,
}

/// A part of an instance that is meant to be on one NUMA node: a virtual NUMA node, or what ESXi
/// calls a NUMA client.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// OS numbers of its CPUs in the order of its vCPUs.
    pub cpus: Vec<u32>,
    /// OS numbers of its nodes; more than one only where no node had room.
    pub nodes: Vec<u32>,
}

/// CPUs of a node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NodeCpus {
    /// OS number of the node.
    pub node: u32,
    /// OS numbers of the CPUs.
    pub cpus: CpuSet,
}

/// Memory of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NodeBytes {
    /// OS number of the node.
    pub node: u32,
    /// How much memory, in bytes.
    pub bytes: u64,
}

/// Virtual hardware. vCPUs = sockets × dies × cores × threads.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VirtualTopology {
    /// Virtual sockets.
    pub sockets: u32,
    /// Dies of each socket; they carry the boundary of the L3 where all parts are equal.
    pub dies: u32,
    /// Cores of each die.
    pub cores: u32,
    /// Threads of each core.
    pub threads: u32,
    /// vCPUs of each virtual NUMA node; one entry means that the guest sees no NUMA.
    pub vnuma: Vec<u32>,
    /// vCPUs of each virtual L3, in order.
    pub vl3: Vec<u32>,
}

impl VirtualTopology {
    /// vCPUs of each socket: what vSphere calls cores per socket.
    pub fn vcpus_per_socket(&self) -> u32 {
        self.dies * self.cores * self.threads
    }

    /// All vCPUs.
    pub fn vcpus(&self) -> u32 {
        self.sockets * self.vcpus_per_socket()
    }
}

/// `1 socket × 2 dies × 4 cores × 2 threads, 1 NUMA node of 16`.
impl fmt::Display for VirtualTopology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |count: u32, one: &str| units::counted(count as usize, one);
        write!(f, "{}", counted(self.sockets, "socket"))?;
        if self.dies > 1 {
            write!(f, " × {}", counted(self.dies, "die"))?;
        }
        write!(f, " × {}", counted(self.cores, "core"))?;
        if self.threads > 1 {
            write!(f, " × {}", counted(self.threads, "thread"))?;
        }
        let parts = |parts: &[u32]| match parts {
            [first, ..] if parts.iter().all(|part| part == first) => first.to_string(),
            _ => parts.iter().map(u32::to_string).collect::<Vec<_>>().join("+"),
        };
        let nodes = counted(self.vnuma.len() as u32, "NUMA node");
        write!(f, ", {nodes} of {}", parts(&self.vnuma))?;
        let l3 = counted(self.vl3.len() as u32, "L3");
        write!(f, ", {l3} of {}", parts(&self.vl3))
    }
}

/// How a JVM is started.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Jvm {
    /// Options in the order they are given.
    pub options: Vec<String>,
    /// `-Xms` and `-Xmx` in bytes; `None` when no memory is known. Never 32 to 38 GB, where
    /// pointers are wide and the heap holds less than at 31.
    pub heap_bytes: Option<u64>,
    /// `-XX:ActiveProcessorCount`.
    pub active_processors: u32,
    /// `-XX:ParallelGCThreads`: what HotSpot would choose for these CPUs. ZGC is not given it.
    pub parallel_gc_threads: u32,
    /// `-XX:ConcGCThreads`, likewise.
    pub conc_gc_threads: u32,
    /// Whether `-XX:+UseNUMA` is given.
    pub use_numa: bool,
    /// The nodes the JVM is to see and bind, in the numbers of where it runs: of the guest, or of
    /// the machine for a process.
    pub nodes: CpuSet,
    /// Arguments of numactl in place of the start script's `--interleave=all`; empty: none at all.
    pub numactl: Vec<String>,
    /// Why NUMA is set like this.
    pub numa_reason: String,
}

/// Settings of cassandra.yaml.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Yaml {
    /// `concurrent_reads`
    pub concurrent_reads: u32,
    /// `concurrent_writes`
    pub concurrent_writes: u32,
    /// `concurrent_counter_writes`
    pub concurrent_counter_writes: u32,
    /// `concurrent_compactors`
    pub concurrent_compactors: u32,
}

/// What a placement costs, the heaviest first: two placements are compared in this order.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Costs {
    /// Instances with CPUs in more than one package.
    pub crossing_package: u32,
    /// Instances with CPUs in more than one NUMA node.
    pub crossing_node: u32,
    /// Cores that several instances have CPUs of.
    pub shared_cores: u32,
    /// For each L3 group, the instances in it beyond the first; summed.
    pub shared_l3: u32,
    /// CPUs given out on the fullest node, less those on the emptiest.
    pub imbalance_cpus: u32,
    /// Distances between the nodes of an instance, and to the devices it wants; summed.
    pub distance: u64,
}

/// The least that any placement can cost.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Bounds {
    /// max(0, N − Σ ⌊cores of a package ÷ cores of an instance⌋)
    pub crossing_package: u32,
    /// max(0, N − Σ ⌊cores of a node ÷ cores of an instance⌋)
    pub crossing_node: u32,
}

/// A wish that cannot be had here: what lacks, and what could be had instead.
#[derive(Clone, PartialEq, Debug, thiserror::Error, Serialize, Deserialize)]
#[error("{what}\nhint: {hint}")]
pub struct Infeasible {
    /// What lacks, with the numbers.
    pub what: String,
    /// What would fit, in words.
    pub hint: String,
    /// The most vCPUs that so many instances could have.
    pub vcpus_max: Option<u32>,
    /// How many instances of this size would fit.
    pub instances_max: Option<u32>,
    /// The overcommit at which the wish would fit.
    pub overcommit: Option<f64>,
}

impl Plan {
    /// How many instances cross nodes and packages, beside how many must; `what` an instance is.
    pub fn crossings(&self, what: &str) -> String {
        let (costs, bounds) = (self.costs, self.bounds);
        if costs.crossing_node + costs.crossing_package == 0 {
            return format!("no {what} crosses NUMA nodes or packages");
        }
        format!(
            "of {} {what}s {} cross NUMA nodes and {} packages; no placement has fewer than {} and \
             {}",
            self.instances.len(),
            costs.crossing_node,
            costs.crossing_package,
            bounds.crossing_node,
            bounds.crossing_package
        )
    }

    /// What instance `index` sees as its hardware under the wish's profile; `None` for a process,
    /// which sees the machine.
    pub fn guest(&self, index: usize) -> Option<&VirtualTopology> {
        match self.wish.profile {
            Profile::Vsphere7 => Some(&self.vsphere7),
            Profile::Vsphere8 => Some(&self.vsphere8),
            Profile::Pinned => self.instances.get(index).map(|instance| &instance.pinned),
            Profile::None => None,
        }
    }
}
