//! Equal parts of a machine, one after the other: what a machine is scaled up by.

use serde::{Deserialize, Serialize};

use crate::cpuset::CpuSet;
use crate::machine::Machine;

/// What a machine is cut into.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Units {
    /// Cores, with all their threads.
    Cores,
    /// Groups of cores that share an L3.
    L3,
    /// NUMA nodes.
    Numa,
    /// The packages of the machine, each in a socket.
    Sockets,
}

impl Units {
    /// All of them, the smallest first.
    pub const ALL: [Units; 4] = [Units::Cores, Units::L3, Units::Numa, Units::Sockets];

    /// As in a study.
    pub fn name(self) -> &'static str {
        match self {
            Units::Cores => "cores",
            Units::L3 => "l3",
            Units::Numa => "numa",
            Units::Sockets => "sockets",
        }
    }

    /// The units of a name.
    pub fn of_name(name: &str) -> Option<Units> {
        Units::ALL.into_iter().find(|one| one.name() == name)
    }

    /// So many of them, in words.
    pub fn counted(self, count: usize) -> String {
        let one = match self {
            Units::Cores => "core",
            Units::L3 => "L3 group",
            Units::Numa => "NUMA node",
            Units::Sockets => "socket",
        };
        counted(count, one)
    }
}

/// So many, in words.
pub(crate) fn counted(count: usize, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    }
}

/// One part of a machine.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Part {
    /// OS numbers of its CPUs that may be used; at least one.
    pub cpus: CpuSet,
    /// Its package, by index; that of its first core where it is in several.
    pub package: usize,
}

impl Machine {
    /// The parts of the machine that have CPUs which may be used: all of the first package, then
    /// all of the second.
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

    /// The same machine, of which only these CPUs may be used.
    #[must_use]
    pub fn only(&self, cpus: &CpuSet) -> Machine {
        let mut machine = self.clone();
        for pu in &mut machine.pus {
            pu.allowed &= cpus.contains(pu.os);
        }
        machine
    }

    /// The CPUs that share an L3 with one of these, these among them.
    pub fn l3_neighbours(&self, cpus: &CpuSet) -> CpuSet {
        let groups = self.l3.iter().map(|group| self.cpus_of(&group.cores));
        let touched = groups.filter(|group| !group.is_disjoint(cpus));
        touched.flat_map(|group| group.iter().collect::<Vec<_>>()).collect()
    }

    /// The same for cores.
    pub fn core_neighbours(&self, cpus: &CpuSet) -> CpuSet {
        let cores = (0..self.cores.len()).map(|core| self.cpus_of(&[core]));
        let touched = cores.filter(|core| !core.is_disjoint(cpus));
        touched.flat_map(|core| core.iter().collect::<Vec<_>>()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Numbering, Shape};

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
    fn what_may_not_be_used_is_in_no_part() {
        let machine = Shape::epyc_7601().machine().unwrap();
        let some = &machine.parts(Units::L3)[3].cpus;
        let machine = machine.only(some);
        for units in Units::ALL {
            let parts = machine.parts(units);
            let all: CpuSet = parts.iter().flat_map(|part| part.cpus.iter()).collect();
            assert_eq!(all, *some);
        }
        assert_eq!(machine.parts(Units::Cores).len(), 4);
        assert_eq!(Units::of_name("l3"), Some(Units::L3));
        assert_eq!(Units::L3.counted(2), "2 L3 groups");
    }
}
