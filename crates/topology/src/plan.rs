//! A plan, which [`crate::plan`] makes. It contains the CPUs and memory of each instance, the
//! hardware that the instance sees, and the settings of its JVM and of Cassandra.

use std::fmt;

use measure::number::counted;
use serde::{Deserialize, Serialize};

use crate::cpuset::CpuSet;
use crate::request::{PlacementRequest, Profile};
use crate::warnings::Warning;

/// The whole plan for one machine. The same machine and request always yield the same bytes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Fingerprint ([`crate::fingerprint`]) of the machine for which the plan was made. The plan is
    /// valid only for this machine.
    pub fingerprint: String,
    /// Request that the plan fulfils.
    pub wish: PlacementRequest,
    /// The instances, in order.
    pub instances: Vec<Instance>,
    /// Hardware that vSphere 7 would show each VM.
    pub vsphere7: VirtualTopology,
    /// Hardware that vSphere 8 would show each VM.
    pub vsphere8: VirtualTopology,
    /// CPUs that are reserved for interrupts and the host, by node. The list may be empty.
    pub housekeeping: Vec<NodeCpus>,
    /// Allowed CPUs that are neither assigned to an instance nor reserved for housekeeping.
    pub idle: CpuSet,
    /// Costs of the placement.
    pub costs: Costs,
    /// Lower bounds of the costs of any placement of this request on this machine.
    pub bounds: Bounds,
    /// Rack of all instances, for `cassandra-rackdc.properties`.
    pub rack: String,
    /// Reasons for the plan. Each choice is explained by a sentence.
    pub reasons: Vec<String>,
    /// Arguments against the plan, in sentences. May be empty.
    pub warnings: Vec<Warning>,
    /// Number of exchanges of cells that the planner evaluated.
    pub exchanges_weighed: u64,
}

/// An instance and its resources.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Instance {
    /// Number of the instance, counted from 0.
    pub index: u32,
    /// OS numbers of the instance's CPUs in the order of its vCPUs, so that vCPU *i* runs on
    /// `cpus[i]`. The threads of a core are consecutive vCPUs.
    pub cpus: Vec<u32>,
    /// Cells of the instance in the order of the vCPUs. A cell is on one node, if it fits on that
    /// node.
    pub cells: Vec<Cell>,
    /// Indices of the instance's cores in the machine, in the order of the vCPUs.
    pub cores: Vec<usize>,
    /// Indices of the instance's L3 caches in the machine, in ascending order.
    pub l3: Vec<usize>,
    /// OS numbers of the instance's NUMA nodes, in ascending order.
    pub nodes: Vec<u32>,
    /// Indices of the instance's packages in the machine, in ascending order.
    pub packages: Vec<usize>,
    /// Memory of the instance on each node, in the order of the cells. The amounts add up to
    /// `memory_bytes`. The list is empty if the memory is not known.
    pub memory: Vec<NodeBytes>,
    /// Memory of the instance in bytes. `None` if neither the request nor the machine states an
    /// amount.
    pub memory_bytes: Option<u64>,
    /// Hardware that a guest sees if each of its vCPUs is pinned to its CPU in `cpus`.
    pub pinned: VirtualTopology,
    /// Names of the devices on the instance's nodes.
    pub devices: Vec<String>,
    /// Start options of the instance's JVM.
    pub jvm: Jvm,
    /// Settings of the instance's `cassandra.yaml`.
    pub yaml: Yaml,
}

/// The vCPUs of an instance that should be on one NUMA node. A cell corresponds to a virtual NUMA
/// node, or to a NUMA client in the terms of ESXi.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// OS numbers of the cell's CPUs in the order of its vCPUs.
    pub cpus: Vec<u32>,
    /// OS numbers of the cell's nodes. The cell has several nodes only if no single node had enough
    /// space.
    pub nodes: Vec<u32>,
}

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
    /// Amount of memory, in bytes.
    pub bytes: u64,
}

/// Virtual hardware. The number of vCPUs is sockets × dies × cores × threads.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VirtualTopology {
    /// Number of virtual sockets.
    pub sockets: u32,
    /// Number of dies of each socket. A die represents a virtual L3 cache if all virtual L3 caches
    /// have the same size.
    pub dies: u32,
    /// Number of cores of each die.
    pub cores: u32,
    /// Number of threads of each core.
    pub threads: u32,
    /// Number of vCPUs of each virtual NUMA node. If the list has only one entry, the guest does
    /// not see NUMA.
    pub vnuma: Vec<u32>,
    /// Number of vCPUs of each virtual L3 cache, in order.
    pub vl3: Vec<u32>,
}

impl VirtualTopology {
    /// Returns the number of vCPUs of each socket, which vSphere calls cores per socket.
    pub fn vcpus_per_socket(&self) -> u32 {
        self.dies * self.cores * self.threads
    }

    /// Returns the number of all vCPUs.
    pub fn vcpus(&self) -> u32 {
        self.sockets * self.vcpus_per_socket()
    }
}

/// Formats the hardware as in `1 socket × 2 dies × 4 cores × 2 threads, 1 NUMA node of 16`.
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
    /// Options, in the order in which they are passed to the JVM.
    pub options: Vec<String>,
    /// `-Xms` and `-Xmx` in bytes. `None` if the memory is not known. The planner never sets a heap
    /// of 32 to 38 GB. The pointers of such a heap are uncompressed, so it has space for fewer
    /// objects than a heap of 31 GB.
    pub heap_bytes: Option<u64>,
    /// Value of `-XX:ActiveProcessorCount`.
    pub active_processors: u32,
    /// Value of `-XX:ParallelGCThreads`, which is the value that HotSpot would choose for the CPUs
    /// of the instance. The option is not used with ZGC.
    pub parallel_gc_threads: u32,
    /// Value of `-XX:ConcGCThreads`, which is the value that HotSpot would choose for the CPUs of
    /// the instance.
    pub conc_gc_threads: u32,
    /// True if `-XX:+UseNUMA` is set.
    pub use_numa: bool,
    /// NUMA nodes that the JVM sees and to which it is bound. The numbers are those of the guest
    /// or, for a process, those of the machine.
    pub nodes: CpuSet,
    /// Arguments of numactl that replace the start script's `--interleave=all`. The list is empty
    /// if the plan does not use numactl.
    pub numactl: Vec<String>,
    /// Reason for the NUMA settings.
    pub numa_reason: String,
}

/// Settings of cassandra.yaml.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Yaml {
    /// Maximum number of concurrent reads, for the setting `concurrent_reads`.
    pub concurrent_reads: u32,
    /// Maximum number of concurrent writes, for the setting `concurrent_writes`.
    pub concurrent_writes: u32,
    /// Maximum number of concurrent counter writes, for the setting `concurrent_counter_writes`.
    pub concurrent_counter_writes: u32,
    /// Maximum number of concurrent compactions, for the setting `concurrent_compactors`.
    pub concurrent_compactors: u32,
}

/// Costs of a placement. Placements are compared in the order of the fields, of which the first is
/// the most important.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Costs {
    /// Number of instances with CPUs in more than one package.
    pub crossing_package: u32,
    /// Number of instances with CPUs in more than one NUMA node.
    pub crossing_node: u32,
    /// Number of cores whose CPUs are used by several instances.
    pub shared_cores: u32,
    /// Sum, over the L3 caches, of the number of instances that use the cache, minus one. A cache
    /// without instances counts as 0.
    pub shared_l3: u32,
    /// Difference between the numbers of allocated CPUs on the fullest node and on the emptiest
    /// node.
    pub imbalance_cpus: u32,
    /// Sum, over the instances, of the distances between the nodes of the instance, and of the
    /// distances from these nodes to the requested devices.
    pub distance: u64,
}

/// Lower bounds of the costs of any placement.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Bounds {
    /// Lower bound of `Costs::crossing_package`. For N instances, it is max(0, N − Σ ⌊cores of a
    /// package ÷ cores of an instance⌋).
    pub crossing_package: u32,
    /// Lower bound of `Costs::crossing_node`. For N instances, it is max(0, N − Σ ⌊cores of a node
    /// ÷ cores of an instance⌋).
    pub crossing_node: u32,
}

/// The error for a request that the machine cannot fulfil. The error contains the missing
/// resources, and suggestions for requests that would fit.
#[derive(Clone, PartialEq, Debug, thiserror::Error, Serialize, Deserialize)]
#[error("{what}\nhint: {hint}")]
pub struct Infeasible {
    /// Description of the missing resources, with the required and the available numbers.
    pub what: String,
    /// Description of a request that would fit.
    pub hint: String,
    /// Largest number of vCPUs with which the requested number of instances fits. `None` if the
    /// planner found no such number.
    pub vcpus_max: Option<u32>,
    /// Largest number of instances of the requested size that fit. `None` if the planner found no
    /// such number.
    pub instances_max: Option<u32>,
    /// Overcommit at which the machine would have enough CPUs. `None` if the number of CPUs is
    /// sufficient.
    pub overcommit: Option<f64>,
}

impl Plan {
    /// Describes how many instances cross nodes and packages, with the lower bounds. `what` is the
    /// noun for an instance.
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

    /// Returns the hardware that instance `index` sees under the request's profile. Returns `None`
    /// for a process, which sees the machine.
    pub fn guest(&self, index: usize) -> Option<&VirtualTopology> {
        match self.wish.profile {
            Profile::Vsphere7 => Some(&self.vsphere7),
            Profile::Vsphere8 => Some(&self.vsphere8),
            Profile::Pinned => self.instances.get(index).map(|instance| &instance.pinned),
            Profile::None => None,
        }
    }
}
