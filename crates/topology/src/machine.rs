//! The layout of a machine. Every PU (hardware thread) belongs to exactly one core, L3 group, NUMA
//! node, die and package. The membership comes from the sets of CPUs that the source states. It is
//! never inferred from the distance between two CPU numbers.
//!
//! Indices are positions in the vectors of [`Machine`], not OS numbers. The order everywhere is
//! (package, node, die, L3, core, thread), each by its own lowest OS number.

use serde::{Deserialize, Serialize};

use crate::cpuset::CpuSet;

/// A machine, or the part of one that the source shows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// Description of the source: `/sys under …`, `hwloc XML 2.0`.
    pub source: String,
    /// Packages (physical sockets).
    pub packages: Vec<Package>,
    /// Dies, with one for each package if the source does not contain dies.
    pub dies: Vec<Die>,
    /// NUMA nodes. Those with CPUs come first, in order. Then come those without CPUs, by OS
    /// number.
    pub nodes: Vec<Node>,
    /// Groups of cores that share an L3, or their substitute (see [`L3::is_real`]).
    pub l3: Vec<L3>,
    /// Cores, in the order of their packages and dies.
    pub cores: Vec<Core>,
    /// PUs that are online, in order.
    pub pus: Vec<Pu>,
    /// OS numbers of CPUs that are present but not online. The kernel does not state their
    /// position.
    pub offline: CpuSet,
    /// Distances between nodes as the firmware states them.
    pub distances: Option<Distances>,
    /// Network cards and drives.
    pub devices: Vec<Device>,
    /// Notes in sentences, about omissions and oddities of the source, and the assumptions made
    /// instead.
    pub notes: Vec<String>,
}

/// A physical socket.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Package {
    /// `physical_package_id`, where known.
    pub os: Option<u32>,
    /// Its cores, ascending.
    pub cores: Vec<usize>,
}

/// A die of a package.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Die {
    /// Package of the die.
    pub package: usize,
    /// Its cores, ascending.
    pub cores: Vec<usize>,
}

/// A NUMA node.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Node {
    /// Its number, as in `node7`.
    pub os: u32,
    /// Its cores, ascending. Empty for a node that has only memory.
    pub cores: Vec<usize>,
    /// Packages of its cores. There is more than one if the firmware hides NUMA.
    pub packages: Vec<usize>,
    /// Memory in bytes. `Some(0)` for a node without memory, and `None` if the source does not
    /// state it.
    pub memory_bytes: Option<u64>,
    /// Pages by size, including ordinary pages if the source counts them.
    pub hugepages: Vec<HugePages>,
    /// Sizes in bytes of the caches in front of its memory, the nearest to the CPUs first.
    pub side_caches_bytes: Vec<u64>,
    /// Kind of memory (`HBM`, `CXL`, `MCDRAM`), if the source states it.
    pub kind: Option<String>,
    /// True if the cgroup of the reader may use memory of this node.
    pub allowed: bool,
}

/// Huge pages of one size on one node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HugePages {
    /// Size of a page in bytes.
    pub page_bytes: u64,
    /// Number of reserved pages.
    pub count: u64,
    /// Number of free pages, if known.
    pub free: Option<u64>,
}

/// Cores that share an L3 cache.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct L3 {
    /// Size in bytes, if known.
    pub size_bytes: Option<u64>,
    /// True if the cache exists. If the source contains no L3, the cores of one NUMA node in one
    /// package form a substitute group.
    pub is_real: bool,
    /// Its cores, ascending. They may be in several nodes (sub-NUMA clusters over one L3).
    pub cores: Vec<usize>,
}

/// A physical core.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Core {
    /// Index of its package.
    pub package: usize,
    /// Index of its die.
    pub die: usize,
    /// Index of its NUMA node.
    pub node: usize,
    /// Index of its L3 group.
    pub l3: usize,
    /// Its PUs that are online, by OS number.
    pub pus: Vec<usize>,
    /// Size of its L2 in bytes, if known.
    pub l2_bytes: Option<u64>,
    /// Kind of core.
    pub kind: CoreKind,
}

/// Kinds of cores, for machines that have several.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoreKind {
    /// The machine has only one kind.
    Uniform,
    /// The fastest kind.
    Performance,
    /// Any slower kind.
    Efficiency,
}

/// A hardware thread, which the OS calls a CPU.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Pu {
    /// The OS number of the CPU.
    pub os: u32,
    /// Index of its core.
    pub core: usize,
    /// Position among its core's online threads, from 0, by OS number.
    pub thread: u32,
    /// True if the cgroup and the affinity of the reader allow it.
    pub allowed: bool,
}

/// Distances between nodes. 10 means local. They need not be symmetric.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Distances {
    /// `rows[from][to]`, by index of the node. 0 if the source does not state it.
    pub rows: Vec<Vec<u32>>,
}

/// A device, with the node that it is close to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Device {
    /// Kind of device.
    pub kind: DeviceKind,
    /// Name in the OS: `eth0`, `nvme0n1`.
    pub name: String,
    /// OS number of the nearest node. `None` if the machine does not state it.
    pub node_os: Option<u32>,
}

/// Kinds of devices.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// A network interface.
    Network,
    /// An NVMe controller or drive.
    Nvme,
    /// Any other block device.
    Block,
}

/// Distance between nodes of one package if the source states none. It is 16, as in the table of an
/// EPYC.
pub const DISTANCE_SAME_PACKAGE: u32 = 16;
/// Distance between packages if the source states none. It is 32, as in the table of an EPYC.
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

    /// Returns the index of the PU with this OS number.
    pub fn pu_of(&self, os: u32) -> Option<usize> {
        self.pus.iter().position(|pu| pu.os == os)
    }

    /// Returns the distance from one node to another, by index. If the machine states none, returns
    /// 10 within a node, 16 within a package and 32 beyond.
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

    /// Returns the memory of all nodes in bytes. `None` if no node states its memory.
    pub fn memory_bytes(&self) -> Option<u64> {
        let stated = self.nodes.iter().filter_map(|node| node.memory_bytes);
        stated.fold(None, |sum, bytes| {
            Some(sum.unwrap_or(0u64).saturating_add(bytes))
        })
    }
}
