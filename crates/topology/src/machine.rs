//! The layout of a machine. Every PU (hardware thread) belongs to exactly one core, L3 cache, NUMA
//! node, die and package. The membership comes from the sets of CPUs that the source states. It is
//! never inferred from the distance between two CPU numbers.
//!
//! Indices are positions in the vectors of [`Machine`], not OS numbers. Vectors are ordered by
//! package, node, die, L3, core and thread. Objects of each level are ordered by their lowest OS
//! number.

use serde::{Deserialize, Serialize};

use crate::cpuset::CpuSet;

/// A machine, as far as the source describes it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// Description of the source, such as `/sys under …` or `hwloc XML 2.0`.
    pub source: String,
    /// Packages (physical sockets).
    pub packages: Vec<Package>,
    /// Dies. If the source does not state dies, each package has one die.
    pub dies: Vec<Die>,
    /// NUMA nodes. Nodes with CPUs come first, in the order of their cores. Nodes without CPUs
    /// follow, in the order of their OS numbers.
    pub nodes: Vec<Node>,
    /// Groups of cores that share an L3, or groups of cores that replace them (see
    /// [`L3::is_real`]).
    pub l3: Vec<L3>,
    /// Cores, in the order of their packages and dies.
    pub cores: Vec<Core>,
    /// PUs that are online, in order.
    pub pus: Vec<Pu>,
    /// OS numbers of CPUs that are present but not online. The kernel does not state the core or
    /// package of such a CPU.
    pub offline: CpuSet,
    /// Distances between nodes, as stated by the firmware. `None` if the source does not contain
    /// them.
    pub distances: Option<Distances>,
    /// Network cards and drives.
    pub devices: Vec<Device>,
    /// Notes about omissions and oddities of the source, and about the assumptions that were made
    /// instead. Each note is a sentence.
    pub notes: Vec<String>,
}

/// A physical socket.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Package {
    /// Value of `physical_package_id`, if known.
    pub os: Option<u32>,
    /// Indexes of the package's cores, in ascending order.
    pub cores: Vec<usize>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Die {
    /// Index of the package to which the die belongs.
    pub package: usize,
    /// Indexes of the die's cores, in ascending order.
    pub cores: Vec<usize>,
}

/// A NUMA node.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Node {
    /// OS number of the node, such as 7 for `node7`.
    pub os: u32,
    /// Indices of the node's cores, in ascending order. The list is empty for a node that has only
    /// memory.
    pub cores: Vec<usize>,
    /// Indices of the packages of the node's cores. If the firmware hides NUMA, the list has
    /// several packages.
    pub packages: Vec<usize>,
    /// Memory of the node in bytes. `Some(0)` for a node without memory, and `None` if the source
    /// does not state the memory.
    pub memory_bytes: Option<u64>,
    /// Numbers of pages by size. Ordinary pages are included if the source counts them.
    pub hugepages: Vec<HugePages>,
    /// Sizes of the caches in front of the node's memory in bytes. The cache nearest to the CPUs
    /// comes first.
    pub side_caches_bytes: Vec<u64>,
    /// Kind of memory (`HBM`, `CXL`, `MCDRAM`), if the source states it.
    pub kind: Option<String>,
    /// True if the control group of the reader may use memory of this node.
    pub allowed: bool,
}

/// Huge pages of one size on one node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HugePages {
    /// Size of a page in bytes.
    pub page_bytes: u64,
    /// Number of pages of this size that are reserved on the node.
    pub count: u64,
    /// Number of free pages of this size, if known.
    pub free: Option<u64>,
}

/// Cores that share an L3 cache.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct L3 {
    /// Size of the cache in bytes, if known.
    pub size_bytes: Option<u64>,
    /// True if the cache exists. If the source does not state an L3, the cores of one NUMA node in
    /// one package form a group that replaces it.
    pub is_real: bool,
    /// Indices of the cores that share the cache, in ascending order. The cores may be in several
    /// nodes if sub-NUMA clusters share one L3.
    pub cores: Vec<usize>,
}

/// A physical core.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Core {
    /// Index of the core's package.
    pub package: usize,
    /// Index of the core's die.
    pub die: usize,
    /// Index of the core's NUMA node.
    pub node: usize,
    /// Index of the core's L3 cache.
    pub l3: usize,
    /// Indices of the core's online PUs, ordered by OS number.
    pub pus: Vec<usize>,
    /// Size of the core's L2 cache in bytes, if known.
    pub l2_bytes: Option<u64>,
    pub kind: CoreKind,
}

/// Kinds of cores. Some machines have several kinds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoreKind {
    /// The machine has only one kind of core.
    Uniform,
    /// The fastest kind of core.
    Performance,
    /// Any slower kind of core.
    Efficiency,
}

/// A hardware thread, which the OS calls a CPU.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Pu {
    /// The OS number of the CPU.
    pub os: u32,
    /// Index of the core to which the thread belongs.
    pub core: usize,
    /// Position of the thread among the online threads of the core, counted from 0 and ordered by
    /// OS number.
    pub thread: u32,
    /// True if the control group and the affinity of the reader permit the use of the CPU.
    pub allowed: bool,
}

/// Distances between nodes. A distance of 10 means local. The distances may be asymmetric.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Distances {
    /// Distances as `rows[from][to]`, by the indices of the nodes. A distance is 0 if the source
    /// does not state it.
    pub rows: Vec<Vec<u32>>,
}

/// A device with its nearest node.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Device {
    pub kind: DeviceKind,
    /// Name of the device in the OS, such as `eth0` or `nvme0n1`.
    pub name: String,
    /// OS number of the nearest node. `None` if the number is unknown.
    pub node_os: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// A network interface.
    Network,
    /// An NVMe controller or drive.
    Nvme,
    /// A block device other than an NVMe drive.
    Block,
}

/// Distance between nodes of one package if the source does not state distances. It is 16, as in
/// the table of an EPYC.
pub const DISTANCE_SAME_PACKAGE: u32 = 16;
/// Distance between packages if the source does not state distances. It is 32, as in the table of
/// an EPYC.
pub const DISTANCE_OTHER_PACKAGE: u32 = 32;
/// Distance of a node to itself, by definition of the ACPI table.
pub const DISTANCE_LOCAL: u32 = 10;

impl Machine {
    /// Returns the largest number of online threads per core.
    pub fn threads_per_core(&self) -> u32 {
        let most = self.cores.iter().map(|core| core.pus.len()).max();
        most.unwrap_or(0) as u32
    }

    /// Returns the indices of the nodes that have CPUs.
    pub fn cpu_nodes(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.nodes.len()).filter(|&node| !self.nodes[node].cores.is_empty())
    }

    /// Returns the OS numbers of the online CPUs of these cores.
    pub fn cpus_of(&self, cores: &[usize]) -> CpuSet {
        let pus = cores.iter().flat_map(|&core| &self.cores[core].pus);
        pus.map(|&pu| self.pus[pu].os).collect()
    }

    /// Returns the OS numbers of all online CPUs.
    pub fn cpus(&self) -> CpuSet {
        self.pus.iter().map(|pu| pu.os).collect()
    }

    /// Returns the OS numbers of the online CPUs that may be used.
    pub fn allowed_cpus(&self) -> CpuSet {
        let allowed = self.pus.iter().filter(|pu| pu.allowed);
        allowed.map(|pu| pu.os).collect()
    }

    /// Returns the index of the PU with this OS number. Returns `None` if no online PU has this
    /// number.
    pub fn pu_of(&self, os: u32) -> Option<usize> {
        self.pus.iter().position(|pu| pu.os == os)
    }

    /// Returns the distance from one node to another. The nodes are identified by index. If the
    /// distances are unknown, returns 10 for the same node, 16 within a package and 32 between
    /// packages.
    pub fn distance(&self, from: usize, to: usize) -> u32 {
        let stated = self.distances.as_ref().map(|table| table.rows[from][to]);
        match stated {
            Some(distance) if distance > 0 => distance,
            _ if from == to => DISTANCE_LOCAL,
            _ => {
                let (from, to) = (&self.nodes[from].packages, &self.nodes[to].packages);
                if from.iter().any(|package| to.contains(package)) {
                    DISTANCE_SAME_PACKAGE
                } else {
                    DISTANCE_OTHER_PACKAGE
                }
            }
        }
    }

    /// Returns the memory of all nodes in bytes. Returns `None` if no node states its memory.
    pub fn memory_bytes(&self) -> Option<u64> {
        let stated = self.nodes.iter().filter_map(|node| node.memory_bytes);
        stated.fold(None, |sum, bytes| {
            Some(sum.unwrap_or(0u64).saturating_add(bytes))
        })
    }
}
