//! A plan, which is made by [`crate::plan`]. It contains the CPUs and memory of each instance, the
//! hardware that it sees, and the settings of its JVM and its Cassandra.

use std::fmt;

use measure::number::counted;
use serde::{Deserialize, Serialize};

use crate::cpuset::CpuSet;
use crate::request::{PlacementRequest, Profile};
use crate::warnings::Warning;

/// The whole plan for one machine. The same machine and request give the same bytes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// [`crate::fingerprint`] of the machine of the plan. The plan is valid only for that machine.
    pub fingerprint: String,
    /// Request that the plan fulfils.
    pub wish: PlacementRequest,
    /// The instances, in order.
    pub instances: Vec<Instance>,
    /// Hardware that vSphere 7 would show each VM.
    pub vsphere7: VirtualTopology,
    /// Hardware that vSphere 8 would show each VM.
    pub vsphere8: VirtualTopology,
    /// CPUs that are reserved for interrupts and the host, by node. May be empty.
    pub housekeeping: Vec<NodeCpus>,
    /// Allowed CPUs that belong neither to an instance nor to the housekeeping.
    pub idle: CpuSet,
    /// Costs of the placement.
    pub costs: Costs,
    /// Lower bounds of the costs of any placement of this request on this machine.
    pub bounds: Bounds,
    /// Rack of all instances, for `cassandra-rackdc.properties`.
    pub rack: String,
    /// Reasons for the plan, with a sentence for each choice.
    pub reasons: Vec<String>,
    /// Arguments against the plan, in sentences. May be empty.
    pub warnings: Vec<Warning>,
    /// Number of exchanges that the planner evaluated.
    pub exchanges_weighed: u64,
}

/// An instance and its resources.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Instance {
    /// Number, from 0.
    pub index: u32,
    /// OS numbers of its CPUs in the order of its vCPUs, so that vCPU *i* runs on `cpus[i]`.
    /// Threads of a core follow one another.
    pub cpus: Vec<u32>,
    /// Its cells in the order of the vCPUs. A cell is a part on one node, if it fits there.
    pub cells: Vec<Cell>,
    /// Its cores, by index in the machine, in the order of the vCPUs.
    pub cores: Vec<usize>,
    /// Its L3 groups, by index in the machine, ascending.
    pub l3: Vec<usize>,
    /// OS numbers of its NUMA nodes, ascending.
    pub nodes: Vec<u32>,
    /// Its packages, by index in the machine, ascending.
    pub packages: Vec<usize>,
    /// Memory by node, in the order of the cells. The parts add up to `memory_bytes`. Empty if no
    /// memory is known.
    pub memory: Vec<NodeBytes>,
    /// Memory in bytes. `None` if neither the request nor the machine states an amount.
    pub memory_bytes: Option<u64>,
    /// Hardware that a guest with this pinning sees.
    pub pinned: VirtualTopology,
    /// Devices on its nodes, by name.
    pub devices: Vec<String>,
    /// Start options of its JVM.
    pub jvm: Jvm,
    /// Settings of its Cassandra.
    pub yaml: Yaml,
}

/// A part of an instance that should be on one NUMA node. It is a virtual NUMA node, or a NUMA
/// client in the terms of ESXi.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// OS numbers of its CPUs in the order of its vCPUs.
    pub cpus: Vec<u32>,
    /// OS numbers of its nodes. There are several only if no single node had enough space.
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
    /// Amount of memory, bytes.
    pub bytes: u64,
}

/// Virtual hardware. vCPUs = sockets × dies × cores × threads.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VirtualTopology {
    /// Virtual sockets.
    pub sockets: u32,
    /// Dies of each socket. They represent the boundary of the L3 if all parts are equal.
    pub dies: u32,
    /// Cores of each die.
    pub cores: u32,
    /// Threads of each core.
    pub threads: u32,
    /// vCPUs of each virtual NUMA node. One entry means that the guest sees no NUMA.
    pub vnuma: Vec<u32>,
    /// vCPUs of each virtual L3, in order.
    pub vl3: Vec<u32>,
}

impl VirtualTopology {
    /// Returns the vCPUs of each socket, which vSphere calls cores per socket.
    pub fn vcpus_per_socket(&self) -> u32 {
        self.dies * self.cores * self.threads
    }

    /// Returns the number of all vCPUs.
    pub fn vcpus(&self) -> u32 {
        self.sockets * self.vcpus_per_socket()
    }
}

/// Formats it as `1 socket × 2 dies × 4 cores × 2 threads, 1 NUMA node of 16`.
impl fmt::Display for VirtualTopology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
        let nodes = counted(self.vnuma.len(), "NUMA node");
        write!(f, ", {nodes} of {}", parts(&self.vnuma))?;
        let l3 = counted(self.vl3.len(), "L3");
        write!(f, ", {l3} of {}", parts(&self.vl3))
    }
}

/// Start options of a JVM.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Jvm {
    /// Options in their original order.
    pub options: Vec<String>,
    /// `-Xms` and `-Xmx` in bytes. `None` if no memory is known. Never 32 to 38 GB, because such
    /// heaps have uncompressed pointers, and hold fewer objects than a heap of 31 GB.
    pub heap_bytes: Option<u64>,
    /// `-XX:ActiveProcessorCount`.
    pub active_processors: u32,
    /// `-XX:ParallelGCThreads`, with the value that HotSpot would choose for these CPUs. It is not
    /// given to ZGC.
    pub parallel_gc_threads: u32,
    /// `-XX:ConcGCThreads`, likewise.
    pub conc_gc_threads: u32,
    /// True if `-XX:+UseNUMA` is set.
    pub use_numa: bool,
    /// Nodes that the JVM sees and to which it is bound. The numbers are those of the guest or, for
    /// a process, those of the machine.
    pub nodes: CpuSet,
    /// Arguments of numactl that replace the start script's `--interleave=all`. Empty means no
    /// arguments.
    pub numactl: Vec<String>,
    /// Reason for the NUMA settings.
    pub numa_reason: String,
}

/// Settings of cassandra.yaml.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Yaml {
    /// Most reads at once, for the setting of the same name.
    pub concurrent_reads: u32,
    /// Most writes at once, for the setting of the same name.
    pub concurrent_writes: u32,
    /// Most counter writes at once, for the setting of the same name.
    pub concurrent_counter_writes: u32,
    /// Most compactions at once, for the setting of the same name.
    pub concurrent_compactors: u32,
}

/// Costs of a placement, the most important first. Two placements are compared in this order.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Costs {
    /// Instances with CPUs in more than one package.
    pub crossing_package: u32,
    /// Instances with CPUs in more than one NUMA node.
    pub crossing_node: u32,
    /// Cores whose CPUs several instances share.
    pub shared_cores: u32,
    /// Sum over the L3 groups of the number of instances in each, minus the first.
    pub shared_l3: u32,
    /// Difference between the numbers of allocated CPUs on the fullest node and on the emptiest
    /// node.
    pub imbalance_cpus: u32,
    /// Sum of the distances between the nodes of an instance, and to the devices that it requests.
    pub distance: u64,
}

/// Lower bounds of the costs of any placement.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Bounds {
    /// max(0, N − Σ ⌊cores of a package ÷ cores of an instance⌋)
    pub crossing_package: u32,
    /// max(0, N − Σ ⌊cores of a node ÷ cores of an instance⌋)
    pub crossing_node: u32,
}

/// A request that this machine cannot fulfil, with the missing resources, and possible requests.
#[derive(Clone, PartialEq, Debug, thiserror::Error, Serialize, Deserialize)]
#[error("{what}\nhint: {hint}")]
pub struct Infeasible {
    /// The shortage, with the numbers.
    pub what: String,
    /// Description of a request that would fit.
    pub hint: String,
    /// Largest number of vCPUs for this number of instances.
    pub vcpus_max: Option<u32>,
    /// Largest number of instances of this size.
    pub instances_max: Option<u32>,
    /// Overcommit at which the request would fit.
    pub overcommit: Option<f64>,
}

impl Plan {
    /// Describes the numbers of instances that cross nodes and packages, and the lower bounds.
    /// `what` is the noun for an instance.
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

    /// Returns the hardware that instance `index` sees under the request's profile. `None` for a
    /// process, which sees the machine.
    pub fn guest(&self, index: usize) -> Option<&VirtualTopology> {
        match self.wish.profile {
            Profile::Vsphere7 => Some(&self.vsphere7),
            Profile::Vsphere8 => Some(&self.vsphere8),
            Profile::Pinned => self.instances.get(index).map(|instance| &instance.pinned),
            Profile::None => None,
        }
    }
}
