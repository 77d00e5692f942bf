//! Predicts the CPUs that the kubelet would assign to the pods of a plan. Under its static policy,
//! pods cannot name CPUs. The kubelet takes the CPUs, pod by pod, from the node that the topology
//! manager chose. It takes whole packages and nodes first, then L3 caches, then cores, then
//! threads. At each level it begins with the fullest element.
//!
//! The simulation follows Kubernetes 1.34 with the options that cassay writes. Kubernetes orders
//! cores by their lowest CPU, and so does the simulation. Kubernetes orders L3 caches by the id of
//! the cache, which a plan does not contain. So the simulation orders L3 caches by their lowest CPU
//! too.

use crate::cpuset::CpuSet;
use crate::export::placement::housekeeping;
use crate::export::{Source, cells};
use crate::machine::Machine;

/// A pod that would run on CPUs other than the planned ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Number of the instance.
    pub instance: u32,
    /// CPUs that the plan assigns to the instance.
    pub planned: CpuSet,
    /// CPUs that the kubelet would assign. `None` if it would refuse the pod.
    pub predicted: Option<CpuSet>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (instance, planned) = (self.instance, &self.planned);
        match &self.predicted {
            Some(cpus) => write!(
                f,
                "instance {instance}: planned on {planned}, the kubelet would take {cpus}"
            ),
            None => write!(
                f,
                "instance {instance}: planned on {planned}, the kubelet would refuse the pod"
            ),
        }
    }
}

/// Returns the CPUs of each instance's pod when the pods start in order on an empty node. An
/// element is `None` if the kubelet would refuse the pod, for example because a node has too little
/// memory beyond its reserve.
pub fn kubelet_order(source: &Source) -> Vec<Option<CpuSet>> {
    let (machine, plan) = (source.machine, source.plan);
    let reserved = source.options.reserved_memory_bytes;
    let mut free = machine.allowed_cpus().difference(&housekeeping(plan));
    let beside = |bytes: u64| bytes.saturating_sub(reserved);
    let nodes = machine.nodes.iter();
    let mut memory: Vec<Option<u64>> = nodes.map(|node| node.memory_bytes.map(beside)).collect();
    let mut predicted = Vec::new();
    for instance in &plan.instances {
        let wanted = (instance.cpus.len(), instance.memory_bytes.unwrap_or(0));
        let nodes = hint(machine, &free, &memory, wanted);
        let cpus = nodes.and_then(|nodes| {
            let here = free.intersection(&cpus_of_nodes(machine, &nodes));
            let cpus = Take::new(machine, here, wanted.0).all()?;
            take_memory(&mut memory, &nodes, wanted.1);
            Some(cpus)
        });
        if let Some(cpus) = &cpus {
            free = free.difference(cpus);
        }
        predicted.push(cpus);
    }
    predicted
}

/// Returns the instances for which the kubelet would choose CPUs other than the planned ones.
pub fn differences(source: &Source) -> Vec<Difference> {
    let predicted = kubelet_order(source);
    let pairs = source.plan.instances.iter().zip(predicted);
    let differences = pairs.map(|(instance, predicted)| Difference {
        instance: instance.index,
        planned: cells::cpus(instance),
        predicted,
    });
    differences.filter(|one| one.predicted.as_ref() != Some(&one.planned)).collect()
}

fn cpus_of_nodes(machine: &Machine, nodes: &[usize]) -> CpuSet {
    let cores = nodes.iter().flat_map(|&node| machine.nodes[node].cores.iter().copied());
    machine.cpus_of(&cores.collect::<Vec<_>>())
}

/// Returns the nodes to which the topology manager would align a pod. Their number is the smallest
/// that is sufficient for the pod, because the kubelet refuses a larger number. Among sets of this
/// size, the manager prefers the nodes that are closest to one another, then the lowest nodes. This
/// function tries a set of several nodes only if they follow one another in the order of the
/// machine. Such nodes are the closest. Returns `None` if no such set is sufficient.
fn hint(
    machine: &Machine,
    free: &CpuSet,
    memory: &[Option<u64>],
    (vcpus, bytes): (usize, u64),
) -> Option<Vec<usize>> {
    let nodes: Vec<usize> = machine.cpu_nodes().collect();
    let holds = |run: &[usize], free: &CpuSet, memory: &dyn Fn(usize) -> Option<u64>| {
        let room = run.iter().map(|&node| memory(node)).sum::<Option<u64>>();
        cpus_of_nodes(machine, run).intersection(free).len() >= vcpus
            && room.is_none_or(|room| room >= bytes)
    };
    let (all, whole) = (machine.cpus(), |node: usize| {
        machine.nodes[node].memory_bytes
    });
    let runs = |size: usize| nodes.windows(size);
    let size = (1..=nodes.len()).find(|&size| runs(size).any(|run| holds(run, &all, &whole)))?;
    let now = |node: usize| memory[node];
    let fitting = runs(size).filter(|run| holds(run, free, &now));
    let distance = |run: &[usize]| -> u64 {
        let pairs = run.iter().flat_map(|&a| run.iter().map(move |&b| (a, b)));
        pairs.map(|(a, b)| u64::from(machine.distance(a, b))).sum()
    };
    let lowest = |run: &[usize]| run.iter().map(|&node| machine.nodes[node].os).min();
    let best = fitting.min_by_key(|run| (distance(run), lowest(run)));
    best.map(<[usize]>::to_vec)
}

fn take_memory(memory: &mut [Option<u64>], nodes: &[usize], mut bytes: u64) {
    for &node in nodes {
        if let Some(room) = &mut memory[node] {
            let part = bytes.min(*room);
            *room -= part;
            bytes -= part;
        }
    }
}

/// State of the selection of CPUs for one pod.
struct Take<'a> {
    machine: &'a Machine,
    free: CpuSet,
    taken: CpuSet,
    needed: usize,
}

/// Levels of the machine that can be allocated as a whole.
#[derive(Clone, Copy)]
enum TopologyLevel {
    Package,
    Node,
    L3,
    Core,
}

impl<'a> Take<'a> {
    fn new(machine: &'a Machine, free: CpuSet, needed: usize) -> Take<'a> {
        Take {
            machine,
            free,
            taken: CpuSet::default(),
            needed,
        }
    }

    /// Takes CPUs from the widest level to the narrowest, and then single threads. Returns `None`
    /// if the pod requests no CPUs, or more CPUs than are free.
    fn all(mut self) -> Option<CpuSet> {
        if self.needed == 0 || self.needed > self.free.len() {
            return None;
        }
        let has_wide_nodes = self.machine.packages.len() >= self.machine.cpu_nodes().count();
        let (first, second) = if has_wide_nodes {
            (TopologyLevel::Node, TopologyLevel::Package)
        } else {
            (TopologyLevel::Package, TopologyLevel::Node)
        };
        self.take_whole(first);
        self.take_whole(second);
        self.take_l3();
        self.take_whole(TopologyLevel::Core);
        for core in self.ordered(TopologyLevel::Core) {
            for cpu in self.free_of(&core).iter().take(self.needed).collect::<Vec<_>>() {
                self.take([cpu].into_iter().collect());
            }
        }
        (self.needed == 0).then_some(self.taken)
    }

    fn take(&mut self, cpus: CpuSet) {
        self.needed -= cpus.len();
        self.free = self.free.difference(&cpus);
        self.taken.extend(cpus.iter());
    }

    fn free_of(&self, set: &CpuSet) -> CpuSet {
        self.free.intersection(set)
    }

    /// Takes the elements of a level that are completely free and not larger than the number of
    /// CPUs that are still required.
    fn take_whole(&mut self, level: TopologyLevel) {
        for part in self.ordered(level) {
            let is_free = part.is_subset(&self.free) && !part.is_empty();
            if is_free && part.len() <= self.needed {
                self.take(part);
            }
        }
    }

    /// Takes whole L3 caches while they are needed, and then a part of the first L3 cache that is
    /// sufficient for the rest.
    fn take_l3(&mut self) {
        let machine = self.machine;
        let average = |parts: usize| machine.pus.len().checked_div(parts).unwrap_or(0).max(1);
        let (in_group, in_core) = (average(machine.l3.len()), average(machine.cores.len()));
        for group in self.ordered(TopologyLevel::L3) {
            if self.needed >= in_group {
                self.take_whole(TopologyLevel::L3);
            }
            if self.needed == 0 {
                return;
            }
            let part = self.part_of(&self.free_of(&group), in_core);
            if part.len() == self.needed {
                return self.take(part);
            }
        }
    }

    /// Returns the free CPUs of the first cores of an L3 cache. The number of cores is the smallest
    /// that is sufficient for the required CPUs. If the number of required CPUs is odd, the last
    /// CPU is omitted when it is not needed.
    fn part_of(&self, free: &CpuSet, in_core: usize) -> CpuSet {
        let machine = self.machine;
        let core = |cpu: u32| machine.pu_of(cpu).map(|pu| machine.pus[pu].core);
        let lowest = |core: usize| machine.cpus_of(&[core]).first();
        let mut cores: Vec<_> = free.iter().filter_map(core).collect();
        cores.sort_by_key(|&core| lowest(core));
        cores.dedup();
        cores.truncate(self.needed.div_ceil(in_core));
        let part = machine.cpus_of(&cores).intersection(free);
        let is_over = !self.needed.is_multiple_of(2) && in_core > 1 && part.len() > self.needed;
        part.iter().take(part.len() - usize::from(is_over)).collect()
    }

    /// Returns the elements of a level in order. Those of the fullest package come first, and
    /// within it those of the fullest node. If nodes are wider than packages, nodes come before
    /// packages. Elements with the same package and node are ordered by their free CPUs, then by
    /// their number.
    fn ordered(&self, level: TopologyLevel) -> Vec<CpuSet> {
        let machine = self.machine;
        let one = |cores: &[usize]| (cores.first().copied(), machine.cpus_of(cores));
        let parts: Vec<(Option<usize>, CpuSet)> = match level {
            TopologyLevel::Package => {
                machine.packages.iter().map(|part| one(&part.cores)).collect()
            }
            TopologyLevel::Node => machine.nodes.iter().map(|part| one(&part.cores)).collect(),
            TopologyLevel::L3 => machine.l3.iter().map(|part| one(&part.cores)).collect(),
            TopologyLevel::Core => (0..machine.cores.len()).map(|core| one(&[core])).collect(),
        };
        let has_wide_nodes = machine.packages.len() >= machine.cpu_nodes().count();
        let mut keyed = Vec::new();
        for (core, cpus) in parts {
            let free = self.free_of(&cpus).len();
            let Some(core) = core.filter(|_| free > 0) else {
                continue;
            };
            let core = &machine.cores[core];
            let package = self.rank(&machine.packages[core.package].cores);
            let node = self.rank(&machine.nodes[core.node].cores);
            let (first, second) = if has_wide_nodes {
                (node, package)
            } else {
                (package, node)
            };
            keyed.push(((first, second, free, cpus.first()), cpus));
        }
        keyed.sort_by_key(|(key, _)| *key);
        keyed.into_iter().map(|(_, cpus)| cpus).collect()
    }

    fn rank(&self, cores: &[usize]) -> (usize, Option<u32>) {
        let cpus = self.machine.cpus_of(cores);
        (self.free_of(&cpus).len(), cpus.first())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_machines::{Counts, Numbering, Shape};

    /// The expected results are those of takeByTopologyNUMAPacked in Kubernetes 1.34.1, which
    /// agreed with this code in all 23,684 random cases that were compared. The first cores of a
    /// group include cores of which only one thread is free.
    #[test]
    fn cpus_are_taken_in_the_order_of_kubernetes() {
        for (counts, numbering, needed, free, taken) in [
            (Counts(1, 4, 3, 2, 2), Numbering::Adjacent, 3, "5-47", "5-7"),
            (
                Counts(2, 4, 1, 2, 2),
                Numbering::Adjacent,
                5,
                "4,6-14,17-21,23,25-28,30-31",
                "4,8-11",
            ),
            (
                Counts(1, 4, 3, 1, 2),
                Numbering::Adjacent,
                5,
                "5,18-23",
                "5,18-21",
            ),
            (
                Counts(1, 2, 2, 4, 2),
                Numbering::RoundNodes,
                1,
                "15,29,31",
                "29",
            ),
        ] {
            let machine = Shape::regular(counts, numbering, 64).machine().unwrap();
            let free = CpuSet::parse_list(free).unwrap();
            let found = Take::new(&machine, free, needed).all().unwrap();
            assert_eq!(found.to_string(), taken);
        }
    }
}
