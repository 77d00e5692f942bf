//! Divides a machine into equal parts, for tests that add one part at a time.

use measure::number::counted;
use serde::{Deserialize, Serialize};

use crate::cpuset::CpuSet;
use crate::machine::Machine;

/// Kind of part into which a machine is divided.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Units {
    /// Cores, with all their threads.
    Cores,
    /// Groups of cores that share an L3.
    L3,
    /// NUMA nodes.
    Numa,
    /// Packages of the machine, each in a socket.
    Sockets,
}

impl Units {
    /// All kinds of parts, ordered by size, with the smallest first.
    pub const ALL: [Units; 4] = [Units::Cores, Units::L3, Units::Numa, Units::Sockets];

    /// Returns the name of this kind in a study.
    pub fn name(self) -> &'static str {
        match self {
            Units::Cores => "cores",
            Units::L3 => "l3",
            Units::Numa => "numa",
            Units::Sockets => "sockets",
        }
    }

    /// Returns the kind with this name. Returns `None` if the name is unknown.
    pub fn from_name(name: &str) -> Option<Units> {
        Units::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Formats a number of parts with its noun, such as `1 core` or `2 cores`.
    pub fn counted(self, count: usize) -> String {
        let one = match self {
            Units::Cores => "core",
            Units::L3 => "L3 cache",
            Units::Numa => "NUMA node",
            Units::Sockets => "socket",
        };
        counted(count, one)
    }
}

/// A part of a machine.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Part {
    /// OS numbers of the part's usable CPUs. The set is not empty.
    pub cpus: CpuSet,
    /// Index of the part's package. For a part in several packages, this is the package of its
    /// first core.
    pub package: usize,
}

impl Machine {
    /// Returns the parts of the machine that have usable CPUs. All parts of the first package come
    /// first, then all parts of the second.
    pub fn parts(&self, units: Units) -> Vec<Part> {
        let mut cores: Vec<Vec<usize>> = match units {
            Units::Cores => (0..self.cores.len()).map(|core| vec![core]).collect(),
            Units::L3 => self.l3.iter().map(|one| one.cores.clone()).collect(),
            Units::Numa => self.nodes.iter().map(|one| one.cores.clone()).collect(),
            Units::Sockets => self.packages.iter().map(|one| one.cores.clone()).collect(),
        };
        cores.retain(|cores| !cores.is_empty());
        cores.sort_by_key(|cores| (self.cores[cores[0]].package, cores[0]));
        let allowed = self.allowed_cpus();
        let part = |cores: &Vec<usize>| Part {
            cpus: self.cpus_of(cores).intersection(&allowed),
            package: self.cores[cores[0]].package,
        };
        let parts = cores.iter().map(part);
        parts.filter(|part| !part.cpus.is_empty()).collect()
    }

    /// Returns the same machine, on which only these CPUs are allowed.
    #[must_use]
    pub fn only(&self, cpus: &CpuSet) -> Machine {
        let mut machine = self.clone();
        for pu in &mut machine.pus {
            pu.allowed &= cpus.contains(pu.os);
        }
        machine
    }

    /// Returns all CPUs that share an L3 with one of these CPUs, including these CPUs.
    pub fn l3_neighbours(&self, cpus: &CpuSet) -> CpuSet {
        let groups = self.l3.iter().map(|group| self.cpus_of(&group.cores));
        let touched = groups.filter(|group| !group.is_disjoint(cpus));
        touched.flat_map(|group| group.iter().collect::<Vec<_>>()).collect()
    }

    /// Returns all CPUs that share a core with one of these CPUs, including these CPUs.
    pub fn core_neighbours(&self, cpus: &CpuSet) -> CpuSet {
        let cores = (0..self.cores.len()).map(|core| self.cpus_of(&[core]));
        let touched = cores.filter(|core| !core.is_disjoint(cpus));
        touched.flat_map(|core| core.iter().collect::<Vec<_>>()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_machines::{Numbering, Shape};

    fn lists(machine: &Machine, units: Units) -> Vec<String> {
        let parts = machine.parts(units);
        parts.iter().map(|part| part.cpus.to_string()).collect()
    }

    #[test]
    fn parts_fill_one_package_before_the_next_whatever_the_numbers() {
        let machine = Shape::xeon_2x28(Numbering::RoundRobin).machine().unwrap();
        let sockets = lists(&machine, Units::Sockets);
        assert_eq!(sockets.len(), 2);
        assert!(sockets[0].starts_with("0,2,4"), "{sockets:?}");
        let cores = machine.parts(Units::Cores);
        assert_eq!(cores.len(), 56);
        assert!(cores[..28].iter().all(|part| part.package == 0));
        assert!(cores[28..].iter().all(|part| part.package == 1));
        assert_eq!(cores[1].cpus.len(), 2, "with its sibling");
    }

    #[test]
    fn the_parts_of_an_epyc_are_its_nodes_and_its_complexes() {
        let machine = Shape::epyc_7601().machine().unwrap();
        assert_eq!(machine.parts(Units::Numa).len(), 8);
        assert_eq!(machine.parts(Units::L3).len(), 16);
        let first = &machine.parts(Units::L3)[0].cpus;
        assert_eq!(machine.l3_neighbours(first), *first);
        let node = &machine.parts(Units::Numa)[0].cpus;
        assert_eq!(machine.l3_neighbours(node), *node);
    }

    #[test]
    fn cpus_that_may_not_be_used_are_in_no_part() {
        let machine = Shape::epyc_7601().machine().unwrap();
        let some = &machine.parts(Units::L3)[3].cpus;
        let machine = machine.only(some);
        for units in Units::ALL {
            let parts = machine.parts(units);
            let all: CpuSet = parts.iter().flat_map(|part| part.cpus.iter()).collect();
            assert_eq!(all, *some);
        }
        assert_eq!(machine.parts(Units::Cores).len(), 4);
        assert_eq!(Units::from_name("l3"), Some(Units::L3));
        assert_eq!(Units::L3.counted(2), "2 L3 caches");
    }
}
