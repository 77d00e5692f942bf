//! Records of a machine and of the placement of processes on it, for `nodes.json`.
//!
//! Every set of CPUs or of NUMA nodes is a list in the kernel's format (`0-3,8`). A machine of 384
//! threads therefore takes some kilobytes. CPUs and nodes have the numbers of the OS.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum of the numbers that are read. The kernel itself is built for at most 8192 CPUs.
const NUMBERS_MAX: u32 = 8192;

/// Topology of a machine. The shares of its CPU time are in [`crate::record::MachineRecord`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineTopologyRecord {
    /// Hosts on this machine. There are several if they are simulated hosts on one machine.
    #[serde(default)]
    pub hosts: Vec<MachineHostRecord>,
    /// Description of the source of the information.
    #[serde(default)]
    pub source: String,
    /// Physical sockets.
    #[serde(default)]
    pub packages: Vec<PackageRecord>,
    /// Dies. If they are unknown, one for each package.
    #[serde(default)]
    pub dies: Vec<DieRecord>,
    /// NUMA nodes, including those without CPUs.
    #[serde(default)]
    pub numa_nodes: Vec<NumaNodeRecord>,
    /// Groups of cores that share an L3, or a substitute.
    #[serde(default)]
    pub l3: Vec<L3Record>,
    /// CPUs of each core, in the order of its threads.
    #[serde(default)]
    pub cores: Vec<String>,
    /// CPUs of each kind of core (`performance`, `efficiency`). Empty if all are of one kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<String, String>,
    /// CPUs that exist but are not online. Their place is unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub offline: String,
    /// Distances between the NUMA nodes, in their order here; 10 means local, and 0 unknown. Empty
    /// if the machine states none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distances: Vec<Vec<u32>>,
    /// Network cards and drives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceRecord>,
    /// Missing or odd information, and the assumptions made instead, with a sentence for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Part of a machine that a host may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineHostRecord {
    /// Name of the host: `host1`, `this machine`.
    pub name: String,
    /// CPUs that are online and that its processes may use.
    #[serde(default)]
    pub cpus: String,
    /// NUMA nodes whose memory they may use.
    #[serde(default)]
    pub mems: String,
}

/// A physical socket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageRecord {
    /// Number that the firmware gives it, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os: Option<u32>,
    /// Its CPUs that are online.
    pub cpus: String,
}

/// A die.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DieRecord {
    /// Index of its package in the list of packages.
    pub package: usize,
    /// Its CPUs that are online.
    pub cpus: String,
}

/// A NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumaNodeRecord {
    /// Number of the node.
    pub os: u32,
    /// Its CPUs that are online; empty for a node with memory only.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cpus: String,
    /// Its memory, bytes. `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Kind of its memory, if known: `HBM`, `CXL`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
}

/// Cores that share an L3.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct L3Record {
    /// Its CPUs that are online. They may be of several NUMA nodes.
    pub cpus: String,
    /// Its size, bytes, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// True if this cache exists. Without it, the cores of a NUMA node are a substitute.
    pub is_real: bool,
}

/// A device and its location.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRecord {
    /// Kind of the device: `network`, `nvme`, `block`.
    pub kind: String,
    /// Name of the device: `eth0`, `nvme0n1`.
    pub name: String,
    /// Number of the nearest NUMA node. `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<u32>,
}

/// Place where a node or the client ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacementRecord {
    /// Name of the node, or `client`.
    pub who: String,
    /// Name of its host, as in [`MachineTopologyRecord::hosts`]. A process outside the simulated
    /// hosts of a machine is on `this machine`.
    pub host: String,
    /// CPUs that its threads may run on: `0-3,8`.
    pub cpus: String,
    /// NUMA nodes that its memory may come from. Empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mems: String,
    /// Number of its threads.
    #[serde(default)]
    pub threads: usize,
    /// Its resident memory, bytes, by NUMA node. Empty if unknown.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resident_bytes: BTreeMap<u32, u64>,
    /// Topology keyword of the variant: `none`, `auto`, `pinned`, `one-socket-per-vcpu`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub topology: String,
    /// Remarks on the place, with a sentence for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl PlacementRecord {
    /// Name of the client in `who`.
    pub const CLIENT: &'static str = "client";

    /// Returns true if this is the place of the client.
    pub fn is_client(&self) -> bool {
        self.who == PlacementRecord::CLIENT
    }
}

/// Part of a machine that its nodes ran on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartRecord {
    /// Unit of the counts: `cores`, `l3`, `numa` or `sockets`.
    pub unit: String,
    /// Number of units in use on each socket that has any, in order.
    pub split: Vec<u32>,
    /// Number of units that fill one socket of the machine.
    pub units_per_socket: u32,
    /// Number of sockets of the machine.
    pub sockets: u32,
    /// True if the client ran on CPUs of the nodes.
    #[serde(default)]
    pub client_shares: bool,
}

/// Returns the numbers in a list of the kernel. Leaves out malformed parts, so that a record with
/// an odd list can still be shown.
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
