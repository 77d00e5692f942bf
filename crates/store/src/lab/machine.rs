//! A machine and what ran where on it, as `nodes.json` has them.
//!
//! Whatever is a set of CPUs or of NUMA nodes is a list as the kernel writes it (`0-3,8`), so that
//! a machine of 384 threads takes some kilobytes. CPUs and nodes have the numbers of the OS.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Numbers from here on are not read: the kernel itself is built for at most 8192 CPUs.
const NUMBERS_MAX: u32 = 8192;

/// What a machine looks like. The shares of CPU time of a machine are
/// [`crate::record::MachineRecord`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineTopologyRecord {
    /// The hosts that are this machine: several where they are stand-ins, made of one machine.
    #[serde(default)]
    pub hosts: Vec<MachineHostRecord>,
    /// What told it, in words.
    #[serde(default)]
    pub source: String,
    /// Physical sockets.
    #[serde(default)]
    pub packages: Vec<PackageRecord>,
    /// Dies; where none is known, one for each package.
    #[serde(default)]
    pub dies: Vec<DieRecord>,
    /// NUMA nodes, those without CPUs too.
    #[serde(default)]
    pub numa_nodes: Vec<NumaNodeRecord>,
    /// Groups of cores that share an L3, or what stands for it.
    #[serde(default)]
    pub l3: Vec<L3Record>,
    /// The CPUs of each core, in the order of its threads: the second is its second thread.
    #[serde(default)]
    pub cores: Vec<String>,
    /// The CPUs of each kind of core (`performance`, `efficiency`); empty where all are of one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<String, String>,
    /// CPUs that are there and not online. Nobody says where they sit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub offline: String,
    /// Distances from each NUMA node to each, in their order here, 10 being local, 0 not told;
    /// empty where the machine states none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distances: Vec<Vec<u32>>,
    /// Network cards and drives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceRecord>,
    /// What was not told or told oddly, and what was assumed instead, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What a host may use of its machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineHostRecord {
    /// `host1`, `this machine`.
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
    /// The number that the firmware gives it, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os: Option<u32>,
    /// Its CPUs that are online.
    pub cpus: String,
}

/// A die.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DieRecord {
    /// Place of its package in the list of packages.
    pub package: usize,
    /// Its CPUs that are online.
    pub cpus: String,
}

/// A NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumaNodeRecord {
    /// Its number.
    pub os: u32,
    /// Its CPUs that are online; empty for one of memory only.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cpus: String,
    /// Its memory, bytes; none where it is not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// What kind of memory it is where that is told: `HBM`, `CXL`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
}

/// Cores that share an L3.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct L3Record {
    /// Its CPUs that are online. They may be of several NUMA nodes.
    pub cpus: String,
    /// Its size, bytes, where it is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Whether there is such a cache; otherwise the cores of a NUMA node stand for it.
    pub is_real: bool,
}

/// A device and where it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRecord {
    /// `network`, `nvme`, `block`.
    pub kind: String,
    /// `eth0`, `nvme0n1`.
    pub name: String,
    /// Number of the NUMA node that it is near to; none where nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<u32>,
}

/// Where a node, or the client, ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacementRecord {
    /// Name of the node, or `client`.
    pub who: String,
    /// Its host, by the name that it has in [`MachineTopologyRecord::hosts`]. What is on none of
    /// the stand-ins of a machine is on `this machine`.
    pub host: String,
    /// CPUs that its threads may run on: `0-3,8`.
    pub cpus: String,
    /// NUMA nodes that its memory may come from; empty if it is not told.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mems: String,
    /// How many threads it had.
    #[serde(default)]
    pub threads: usize,
    /// Its memory that was resident, bytes, by NUMA node; empty if it is not told.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resident_bytes: BTreeMap<u32, u64>,
    /// The word of the variant: `none`, `auto`, `pinned`, `one-socket-per-vcpu`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub topology: String,
    /// What else is to be known of it, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl PlacementRecord {
    /// Who the client is.
    pub const CLIENT: &'static str = "client";

    /// Whether it is the client's.
    pub fn is_client(&self) -> bool {
        self.who == PlacementRecord::CLIENT
    }
}

/// The numbers of a kernel's list. What is no number and no range in it is left out, so that a
/// record with an odd list can still be shown.
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
