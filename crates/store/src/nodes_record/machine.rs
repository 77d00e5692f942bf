//! Records of a machine and of the placement of processes on it, for `nodes.json`.
//!
//! Every set of CPUs or of NUMA nodes is a list in the kernel's format (`0-3,8`). So the record of
//! a machine with 384 threads takes only a few kilobytes. CPUs and NUMA nodes have the numbers that
//! the operating system assigns.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Limit below which each number in a list of CPUs or NUMA nodes must be. The kernel supports at
/// most 8192 CPUs.
const NUMBERS_MAX: u32 = 8192;

/// Topology of a machine. The shares of the machine's CPU time are in
/// [`crate::record::MachineRecord`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineTopologyRecord {
    /// Hosts on this machine. Several simulated hosts may share one machine.
    #[serde(default)]
    pub hosts: Vec<MachineHostRecord>,
    /// Description of the source from which the topology was read.
    #[serde(default)]
    pub source: String,
    /// Physical sockets of the machine.
    #[serde(default)]
    pub packages: Vec<PackageRecord>,
    /// Dies of the machine. If the dies are unknown, each package counts as one die.
    #[serde(default)]
    pub dies: Vec<DieRecord>,
    /// NUMA nodes, including those without CPUs.
    #[serde(default)]
    pub numa_nodes: Vec<NumaNodeRecord>,
    /// Groups of cores that share an L3 cache. If the caches are unknown, other groups are used as
    /// a substitute.
    #[serde(default)]
    pub l3: Vec<L3Record>,
    /// CPUs of each core, in the order of the core's threads.
    #[serde(default)]
    pub cores: Vec<String>,
    /// CPUs of each kind of core (`performance`, `efficiency`). Empty if all cores are of the same
    /// kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<String, String>,
    /// CPUs that exist but are not online. The location of these CPUs is unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub offline: String,
    /// Matrix of the distances between the NUMA nodes, in the order of the nodes in this record.
    /// The distance 10 means local, and 0 means unknown. Empty if the machine does not report
    /// distances.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distances: Vec<Vec<u32>>,
    /// Network cards and drives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceRecord>,
    /// Sentences about missing or unusual information, and about the assumptions that replace it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Part of a machine that a host may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineHostRecord {
    /// Name of the host, such as `host1` or `this machine`.
    pub name: String,
    /// CPUs that are online and that the host's processes may use.
    #[serde(default)]
    pub cpus: String,
    /// NUMA nodes whose memory the host's processes may use.
    #[serde(default)]
    pub mems: String,
}

/// A physical socket of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageRecord {
    /// Number that the firmware assigns to the package. `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os: Option<u32>,
    /// CPUs of the package that are online.
    pub cpus: String,
}

/// A die of a package.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DieRecord {
    /// Index of the die's package in the list of packages.
    pub package: usize,
    /// CPUs of the die that are online.
    pub cpus: String,
}

/// A NUMA node of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumaNodeRecord {
    /// Number of the NUMA node.
    pub os: u32,
    /// CPUs of the node that are online. Empty for a node that only has memory.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cpus: String,
    /// Memory of the node, bytes. `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Kind of the node's memory: `HBM` or `CXL`. Empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
}

/// A group of cores that share an L3 cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct L3Record {
    /// CPUs of the group that are online. The CPUs may belong to several NUMA nodes.
    pub cpus: String,
    /// Size of the cache in bytes, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// True if the L3 cache was found. Otherwise, the record is a substitute that contains the
    /// cores of a NUMA node.
    pub is_real: bool,
}

/// A device of the machine, with its location.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRecord {
    /// Kind of the device: `network`, `nvme` or `block`.
    pub kind: String,
    /// Name of the device, such as `eth0` or `nvme0n1`.
    pub name: String,
    /// Number of the NUMA node nearest to the device. `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<u32>,
}

/// Placement of a node or of the client on a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacementRecord {
    /// Name of the node, or `client`.
    pub who: String,
    /// Name of the host on which the process runs, as in [`MachineTopologyRecord::hosts`]. A
    /// process that runs on the machine but outside the simulated hosts has the host name `this
    /// machine`.
    pub host: String,
    /// CPUs on which threads of the process may run, such as `0-3,8`.
    pub cpus: String,
    /// NUMA nodes from which the memory of the process may come. Empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mems: String,
    /// Number of threads of the process.
    #[serde(default)]
    pub threads: usize,
    /// Resident memory of the process by NUMA node, bytes. Empty if unknown.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resident_bytes: BTreeMap<u32, u64>,
    /// Topology keyword of the variant: `none`, `auto`, `pinned` or `one-socket-per-vcpu`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub topology: String,
    /// Remarks on the placement. Each remark is one sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl PlacementRecord {
    /// Value of the field `who` for the client.
    pub const CLIENT: &'static str = "client";

    /// Returns true if this is the placement of the client.
    pub fn is_client(&self) -> bool {
        self.who == PlacementRecord::CLIENT
    }
}

/// Part of a machine on which the nodes of the target ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartRecord {
    /// Unit in which the part is counted: `cores`, `l3`, `numa` or `sockets`.
    pub unit: String,
    /// Number of units in use on each socket, in the order of the sockets. Unused sockets are left
    /// out.
    pub split: Vec<u32>,
    /// Number of units on one socket of the machine.
    pub units_per_socket: u32,
    /// Number of sockets of the machine.
    pub sockets: u32,
    /// True if the client ran on the same CPUs as the nodes.
    #[serde(default)]
    pub client_shares: bool,
}

/// Returns the numbers in a list in the kernel's format. Omits malformed entries, so that a record
/// with a malformed list can still be displayed.
pub fn numbers_of(list: &str) -> BTreeSet<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first <= last && last < NUMBERS_MAX).then_some(first..=last)
    };
    list.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_list_are_read_and_nonsense_is_left_out() {
        let numbers = |list| numbers_of(list).into_iter().collect::<Vec<_>>();
        assert_eq!(numbers("0-3,8"), [0, 1, 2, 3, 8]);
        assert_eq!(numbers(" 5 , 2-2\n"), [2, 5]);
        assert_eq!(numbers("3-1,x,-,4294967295,0-99999999,7"), [7]);
        assert!(numbers("").is_empty());
    }
}
