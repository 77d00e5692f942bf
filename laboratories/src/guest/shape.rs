//! The shapes of guests. A shape has the configuration of QEMU, the changes in the running guest,
//! and the plans that are made on it. To add a guest, add a row to [`SHAPES`].

use std::collections::BTreeSet;

/// OS numbers, in ascending order.
pub type Numbers = BTreeSet<u32>;

/// A guest. Cores are numbered throughout the machine, in the order of sockets and dies. Threads of
/// a core have neighbouring numbers, as in QEMU.
pub struct Shape {
    pub name: &'static str,
    /// The property that this shape tests.
    pub about: &'static str,
    pub sockets: u32,
    /// Number of dies of each socket.
    pub dies: u32,
    /// Number of cores of each die.
    pub cores: u32,
    /// Number of threads of each core.
    pub threads: u32,
    /// Nodes, numbered from 0 in the order of their cores. Nodes without cores come last. Linux
    /// numbers nodes in the order in which the firmware first names them. With only one node, the
    /// firmware does not name nodes.
    pub nodes: &'static [Node],
    /// Distances, indexed by `[from][to]`. If the list is empty, the firmware does not state
    /// distances.
    pub distances: &'static [&'static [u32]],
    /// Number of the first core that is absent, but could be plugged in. `None` if all cores are
    /// present.
    pub absent_from: Option<u32>,
    /// CPUs that the guest switches off while it runs.
    pub offline: &'static [u32],
    /// Nodes that are not online, because they have neither memory nor a present CPU.
    pub gone_nodes: &'static [u32],
    pub cgroup: Cgroup,
    /// Node to which a control group is confined. A step of the guest also reads the machine from
    /// inside this group.
    pub confined_to: u32,
    pub wishes: &'static [Wish],
    /// The same machine in hwloc's synthetic notation, if this notation can express it. The plans
    /// for this description must equal those of the guest.
    pub synthetic: Option<&'static str>,
}

/// A NUMA node.
pub struct Node {
    pub cores: &'static [u32],
    /// Memory of the node in MiB. It is 0 if the node has no memory.
    pub memory_mib: u64,
    /// Size of the cache in front of the node's memory in MiB. It is 0 if the node has no cache.
    /// With a cache, QEMU gives the guest an HMAT (a table of memory attributes).
    pub side_cache_mib: u64,
}

/// Version of the control groups that the guest mounts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Cgroup {
    V1,
    V2,
}

/// A request for a plan that a guest makes.
pub struct Wish {
    pub instances: u32,
    pub vcpus: u32,
    /// Memory of each instance, in MiB.
    pub memory_mib: u64,
    /// Boundary that instances must not cross.
    pub within: Within,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Within {
    L3,
    Node,
    Package,
}

const fn node(cores: &'static [u32], memory_mib: u64) -> Node {
    Node {
        cores,
        memory_mib,
        side_cache_mib: 0,
    }
}

const fn wish(instances: u32, vcpus: u32, memory_mib: u64, within: Within) -> Wish {
    Wish {
        instances,
        vcpus,
        memory_mib,
        within,
    }
}

const PLAIN: Shape = Shape {
    name: "",
    about: "",
    sockets: 1,
    dies: 1,
    cores: 1,
    threads: 1,
    nodes: &[],
    distances: &[],
    absent_from: None,
    offline: &[],
    gone_nodes: &[],
    cgroup: Cgroup::V2,
    confined_to: 0,
    wishes: &[],
    synthetic: None,
};

pub const SHAPES: [Shape; 6] = [
    Shape {
        name: "flat",
        about: "firmware without NUMA",
        cores: 4,
        nodes: &[node(&[0, 1, 2, 3], 512)],
        wishes: &[wish(2, 2, 128, Within::Node)],
        synthetic: Some("pack:1 [numa(memory=512MiB)] l3:1 core:4 pu:1"),
        ..PLAIN
    },
    Shape {
        name: "dies",
        about: "2 packages of 2 dies, each a node; 2 threads per core; EPYC's distances",
        sockets: 2,
        dies: 2,
        cores: 2,
        threads: 2,
        nodes: &[
            node(&[0, 1], 256),
            node(&[2, 3], 256),
            node(&[4, 5], 256),
            node(&[6, 7], 256),
        ],
        distances: &[
            &[10, 16, 32, 32],
            &[16, 10, 32, 32],
            &[32, 32, 10, 16],
            &[32, 32, 16, 10],
        ],
        confined_to: 2,
        wishes: &[
            wish(4, 4, 192, Within::L3),
            wish(8, 2, 64, Within::L3),
            wish(2, 8, 300, Within::Package),
        ],
        synthetic: Some("pack:2 die:2 [numa(memory=256MiB)] l3:1 core:2 pu:2"),
        ..PLAIN
    },
    Shape {
        name: "offline",
        about: "a thread, a core and all CPUs of a node are offline; a node has only memory",
        sockets: 3,
        cores: 4,
        threads: 2,
        nodes: &[
            node(&[0, 1, 2, 3], 256),
            node(&[4, 5, 6, 7], 256),
            node(&[8, 9, 10, 11], 256),
            node(&[], 256),
        ],
        distances: &[
            &[10, 21, 21, 17],
            &[21, 10, 21, 28],
            &[21, 21, 10, 28],
            &[17, 28, 28, 10],
        ],
        offline: &[3, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23],
        cgroup: Cgroup::V1,
        confined_to: 1,
        wishes: &[wish(4, 2, 64, Within::Node), wish(2, 4, 64, Within::Node)],
        ..PLAIN
    },
    Shape {
        name: "interleaved",
        about: "2 nodes below one L3 cache, with alternating CPU numbers",
        sockets: 2,
        cores: 4,
        threads: 2,
        nodes: &[
            node(&[0, 2], 256),
            node(&[1, 3], 256),
            node(&[4, 6], 256),
            node(&[5, 7], 256),
        ],
        distances: &[
            &[10, 11, 21, 21],
            &[11, 10, 21, 21],
            &[21, 21, 10, 11],
            &[21, 21, 11, 10],
        ],
        cgroup: Cgroup::V1,
        confined_to: 3,
        wishes: &[
            wish(4, 4, 192, Within::Node),
            wish(2, 8, 300, Within::Package),
        ],
        ..PLAIN
    },
    Shape {
        name: "gaps",
        about: "node numbers have a gap, because CPUs are absent; CPUs without memory; a node with \
                neither; distances that differ by direction",
        sockets: 4,
        cores: 2,
        threads: 2,
        nodes: &[
            node(&[0, 1], 320),
            node(&[2], 0),
            node(&[3], 0),
            node(&[4, 5], 256),
            node(&[6, 7], 0),
            node(&[], 256),
        ],
        distances: &[
            &[10, 12, 13, 14, 15, 16],
            &[22, 10, 23, 24, 25, 26],
            &[32, 33, 10, 34, 35, 36],
            &[42, 43, 44, 10, 45, 46],
            &[52, 53, 54, 55, 10, 56],
            &[62, 63, 64, 65, 66, 10],
        ],
        absent_from: Some(6),
        offline: &[4, 5],
        gone_nodes: &[4],
        confined_to: 3,
        wishes: &[wish(2, 4, 192, Within::Node), wish(5, 2, 64, Within::Node)],
        ..PLAIN
    },
    Shape {
        name: "eight",
        about: "2 packages of 4 nodes, each with 2 dies, their L3 and a memory-side cache (HMAT)",
        sockets: 2,
        dies: 8,
        cores: 2,
        nodes: &[
            cached(&[0, 1, 2, 3]),
            cached(&[4, 5, 6, 7]),
            cached(&[8, 9, 10, 11]),
            cached(&[12, 13, 14, 15]),
            cached(&[16, 17, 18, 19]),
            cached(&[20, 21, 22, 23]),
            cached(&[24, 25, 26, 27]),
            cached(&[28, 29, 30, 31]),
        ],
        distances: &[
            &[10, 16, 16, 16, 32, 32, 32, 32],
            &[16, 10, 16, 16, 32, 32, 32, 32],
            &[16, 16, 10, 16, 32, 32, 32, 32],
            &[16, 16, 16, 10, 32, 32, 32, 32],
            &[32, 32, 32, 32, 10, 16, 16, 16],
            &[32, 32, 32, 32, 16, 10, 16, 16],
            &[32, 32, 32, 32, 16, 16, 10, 16],
            &[32, 32, 32, 32, 16, 16, 16, 10],
        ],
        confined_to: 5,
        wishes: &[
            wish(16, 2, 64, Within::L3),
            wish(8, 4, 128, Within::Node),
            wish(2, 16, 400, Within::Package),
        ],
        synthetic: Some("pack:2 group:4 [numa(memory=192MiB)] die:2 l3:1 core:2 pu:1"),
        ..PLAIN
    },
];

const fn cached(cores: &'static [u32]) -> Node {
    Node {
        cores,
        memory_mib: 192,
        side_cache_mib: 32,
    }
}

impl Shape {
    /// Returns the number of cores that the machine could have.
    pub fn cores_possible(&self) -> u32 {
        self.sockets * self.dies * self.cores
    }

    /// Returns the number of cores that are present.
    pub fn cores_present(&self) -> u32 {
        self.absent_from.unwrap_or_else(|| self.cores_possible())
    }

    /// Returns the CPUs of these cores that are online after the guest has switched off some of its
    /// CPUs.
    pub fn online_of(&self, cores: impl IntoIterator<Item = u32>) -> Numbers {
        let cpus = cores
            .into_iter()
            .filter(|&core| core < self.cores_present())
            .flat_map(|core| core * self.threads..(core + 1) * self.threads);
        cpus.filter(|cpu| !self.offline.contains(cpu)).collect()
    }

    /// Divides all cores into `count` equal parts, and returns the online CPUs of each part. Parts
    /// without online CPUs are omitted.
    pub fn parts(&self, count: u32) -> Vec<Numbers> {
        let each = self.cores_possible() / count;
        let parts = (0..count).map(|part| self.online_of(part * each..(part + 1) * each));
        parts.filter(|cpus| !cpus.is_empty()).collect()
    }

    /// Returns the online CPUs of a node.
    pub fn node_cpus(&self, node: u32) -> Numbers {
        let cores = self.nodes[node as usize].cores;
        self.online_of(cores.iter().copied())
    }

    /// Returns the numbers of the online nodes.
    pub fn nodes_online(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.nodes.len() as u32).filter(|node| !self.gone_nodes.contains(node))
    }

    pub fn memory_mib(&self) -> u64 {
        self.nodes.iter().map(|node| node.memory_mib).sum()
    }

    pub fn has_side_caches(&self) -> bool {
        self.nodes.iter().any(|node| node.side_cache_mib > 0)
    }
}

/// Formats a set in the kernel's notation.
pub fn list(numbers: &Numbers) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let text = ranges.iter().map(|(first, last)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    });
    text.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shape_can_be_made() {
        for shape in &SHAPES {
            let name = shape.name;
            let cores: Vec<u32> = shape.nodes.iter().flat_map(|n| n.cores).copied().collect();
            let distinct: Numbers = cores.iter().copied().collect();
            assert_eq!(
                distinct.len(),
                cores.len(),
                "{name}: a core is in two nodes"
            );
            let all: Numbers = (0..shape.cores_possible()).collect();
            assert_eq!(distinct, all, "{name}: cores without a node");
            let firsts = shape.nodes.iter().filter_map(|node| node.cores.first());
            let with_cores = shape.nodes.iter().take_while(|node| !node.cores.is_empty());
            assert!(
                firsts.clone().is_sorted(),
                "{name}: Linux numbers nodes in another order"
            );
            assert_eq!(
                firsts.count(),
                with_cores.count(),
                "{name}: nodes without cores come last"
            );
            let square = shape.distances.iter().all(|row| row.len() == shape.nodes.len());
            let count = shape.distances.len();
            assert!(square && [0, shape.nodes.len()].contains(&count), "{name}");
            assert!(
                shape.memory_mib() <= 2048,
                "{name}: too much memory for a laptop"
            );
        }
    }

    #[test]
    fn nodes_are_gone_that_have_neither_cpus_nor_memory() {
        for shape in &SHAPES {
            for (node, had) in (0..).zip(shape.nodes) {
                let is_there = |core: &u32| *core < shape.cores_present();
                let is_empty = had.memory_mib == 0 && !had.cores.iter().any(is_there);
                let is_gone = shape.gone_nodes.contains(&node);
                assert_eq!(is_gone, is_empty, "{} node {node}", shape.name);
            }
        }
    }

    #[test]
    fn a_set_is_written_as_the_kernel_writes_it() {
        for (numbers, text) in [
            (&[][..], ""),
            (&[3], "3"),
            (&[0, 1, 2, 5, 7, 8], "0-2,5,7-8"),
        ] {
            assert_eq!(list(&numbers.iter().copied().collect()), text);
        }
    }
}
