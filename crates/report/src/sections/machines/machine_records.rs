//! A machine and the processes that ran on it, with parsed lists of CPUs.

use std::collections::BTreeSet;
use store::record::{MachineTopologyRecord, NodesRecord, PlacementRecord, numbers_of};

pub type Cpus = BTreeSet<u32>;

/// A machine record, with its lists of CPUs parsed.
pub struct MachineView<'a> {
    pub record: &'a MachineTopologyRecord,
    pub packages: Vec<Cpus>,
    pub numa_nodes: Vec<Cpus>,
    /// Groups of CPUs that are known to share an L3 cache.
    pub l3: Vec<Cpus>,
    pub cores: Vec<Cpus>,
    /// CPUs that at least one host on the machine may use. If the record contains no such CPUs,
    /// this set contains all CPUs of the machine.
    pub allowed: Cpus,
}

/// A node or the client, as a process on a machine.
pub struct PlacedProcess<'a> {
    pub record: &'a PlacementRecord,
    pub cpus: Cpus,
    /// CPUs that the host of the process may use.
    pub allowed: Cpus,
}

impl<'a> MachineView<'a> {
    pub fn new(record: &'a MachineTopologyRecord) -> MachineView<'a> {
        let real = record.l3.iter().filter(|l3| l3.is_real);
        let cores: Vec<Cpus> = record.cores.iter().map(|cpus| numbers_of(cpus)).collect();
        let of_hosts: Cpus = record.hosts.iter().flat_map(|host| numbers_of(&host.cpus)).collect();
        let all = || cores.iter().flatten().copied().collect();
        MachineView {
            record,
            packages: record.packages.iter().map(|one| numbers_of(&one.cpus)).collect(),
            numa_nodes: record.numa_nodes.iter().map(|one| numbers_of(&one.cpus)).collect(),
            l3: real.map(|l3| numbers_of(&l3.cpus)).collect(),
            allowed: if of_hosts.is_empty() { all() } else { of_hosts },
            cores,
        }
    }

    pub fn placed(&self, of: &'a NodesRecord) -> Vec<PlacedProcess<'a>> {
        let mine = |one: &&PlacementRecord| {
            machine_of(one, of).is_some_and(|machine| std::ptr::eq(machine, self.record))
        };
        let placed = |record: &'a PlacementRecord| {
            let mut hosts = self.record.hosts.iter();
            let host = hosts.find(|host| host.name == record.host && !host.cpus.is_empty());
            PlacedProcess {
                record,
                cpus: numbers_of(&record.cpus),
                allowed: host.map_or_else(|| self.allowed.clone(), |host| numbers_of(&host.cpus)),
            }
        };
        of.placements.iter().filter(mine).map(placed).collect()
    }

    /// Returns the largest number of hardware threads per core.
    pub fn threads_per_core(&self) -> usize {
        self.cores.iter().map(Cpus::len).max().unwrap_or(0)
    }
}

/// Returns the machine on which a process ran, which is the machine of the process's host. If the
/// run simulated hosts on one machine, a process outside these hosts ran on this machine. Returns
/// `None` if the machine is unknown.
pub fn machine_of<'a>(
    placement: &PlacementRecord,
    of: &'a NodesRecord,
) -> Option<&'a MachineTopologyRecord> {
    let is_its = |machine: &&MachineTopologyRecord| {
        let mut hosts = machine.hosts.iter();
        hosts.any(|host| host.name == placement.host)
    };
    let named = of.machines.iter().find(is_its);
    let is_one = matches!(of.isolation.as_str(), "hosts" | "loopback");
    named.or_else(|| match &of.machines[..] {
        [only] if is_one => Some(only),
        _ => None,
    })
}

/// Formats CPUs for a sentence, such as `CPU 3` or `CPUs 0-1,4`.
pub fn describe_cpus(cpus: &Cpus) -> String {
    match cpus.len() {
        1 => format!("CPU {}", list(cpus)),
        _ => format!("CPUs {}", list(cpus)),
    }
}

/// Formats numbers in the list format of the Linux kernel, such as `0-3,8`.
pub fn list(numbers: &Cpus) -> String {
    let mut ranges: Vec<[u32; 2]> = Vec::new();
    for number in numbers.iter().copied() {
        match ranges.last_mut() {
            Some([_, last]) if *last + 1 == number => *last = number,
            _ => ranges.push([number, number]),
        }
    }
    let range = |[first, last]: [u32; 2]| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    };
    let ranges: Vec<String> = ranges.into_iter().map(range).collect();
    ranges.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_written_as_it_is_read() {
        for text in ["", "0", "0-3,8", "1,3,5", "0-7,192-199"] {
            assert_eq!(list(&numbers_of(text)), text);
        }
    }
}
