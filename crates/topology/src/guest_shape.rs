//! Virtual topologies: the number of virtual NUMA nodes, sockets and L3 caches that a guest has for
//! its vCPUs.
//!
//! The sizes for vSphere follow the publications of VMware and Denneman. A VM has several virtual
//! nodes only if it has at least 9 vCPUs and more vCPUs than a node has cores. The virtual nodes
//! have equal sizes if possible. With hot-add, a VM has a single virtual node. The size of the
//! virtual L3 cache of ESXi 8 is not published, so this module assumes the size of the physical L3
//! cache.

use crate::core_choice::Pool;
use crate::machine::Machine;
use crate::plan::VirtualTopology;
use crate::request::{PlacementRequest, Profile, Smt, Unit};

/// Minimum number of vCPUs of a VM with virtual NUMA. ESXi does not show NUMA to smaller VMs
/// (`numa.vcpu.min`).
pub(crate) const VNUMA_VCPUS_MIN: u32 = 9;

/// Capacities of the smallest node, package and L3, in vCPUs, and the numbers of nodes and
/// packages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub node: u32,
    pub nodes: u32,
    pub package: u32,
    pub packages: u32,
    pub l3: u32,
}

impl Sizes {
    /// Returns the sizes of the smallest node, package and L3 among the cores of the pool, in cores
    /// or threads.
    pub fn smallest(machine: &Machine, pool: &Pool, unit: Unit) -> Sizes {
        let threads = pool.units.iter().map(|unit| unit.cpus.len() as u32).max().unwrap_or(1);
        let factor = match unit {
            Unit::Threads => threads,
            Unit::Cores => 1,
        };
        let smallest = |count: usize, place: fn(&crate::core_choice::Unit) -> usize| {
            let mut cores = vec![0u32; count];
            pool.units.iter().for_each(|unit| cores[place(unit)] += 1);
            let used: Vec<u32> = cores.into_iter().filter(|&cores| cores > 0).collect();
            (
                used.iter().min().map_or(1, |cores| cores * factor),
                used.len().max(1) as u32,
            )
        };
        let (node, nodes) = smallest(machine.nodes.len(), |unit| unit.node);
        let (package, packages) = smallest(machine.packages.len(), |unit| unit.package);
        let (l3, _) = smallest(machine.l3.len(), |unit| unit.l3);
        Sizes {
            node,
            nodes,
            package,
            packages,
            l3,
        }
    }
}

/// Splits `vcpus` into as few parts as possible of at most `size` each. Prefers equal parts if
/// these are at most twice as many, and at most `parts_max`.
pub(crate) fn split(vcpus: u32, size: u32, parts_max: u32) -> Vec<u32> {
    split_from(vcpus, vcpus.div_ceil(size.max(1)), parts_max)
}

/// Splits `vcpus` as [`split`] does, but into at least `parts` parts.
pub(crate) fn split_from(vcpus: u32, parts: u32, parts_max: u32) -> Vec<u32> {
    let parts = parts.clamp(1, vcpus.max(1));
    let limit = (2 * parts).min(parts_max);
    let equal = (parts..=limit.max(parts)).find(|parts| vcpus.is_multiple_of(*parts));
    let parts = equal.unwrap_or(parts);
    let (each, larger) = (vcpus / parts, vcpus % parts);
    (0..parts).map(|part| each + u32::from(part < larger)).collect()
}

/// Returns the hardware that a VM sees under vSphere 7 or 8.
pub(crate) fn vsphere(wish: &PlacementRequest, profile: Profile, sizes: Sizes) -> VirtualTopology {
    let vnuma = if wish.hot_add || wish.vcpus < VNUMA_VCPUS_MIN {
        vec![wish.vcpus]
    } else {
        split(wish.vcpus, sizes.node, sizes.nodes)
    };
    if profile == Profile::Vsphere7 {
        return VirtualTopology {
            sockets: wish.vcpus,
            dies: 1,
            cores: 1,
            threads: 1,
            vnuma,
            vl3: vec![1; wish.vcpus as usize],
        };
    }
    let sockets = sockets(wish.vcpus, &vnuma, sizes);
    let vl3 = vnuma.iter().flat_map(|&cell| groups(cell, sizes.l3)).collect();
    VirtualTopology {
        sockets,
        dies: 1,
        cores: wish.vcpus / sockets,
        threads: 1,
        vnuma,
        vl3,
    }
}

/// Returns the hardware of a guest that is pinned to CPUs whose cells and L3 caches have these
/// sizes.
pub(crate) fn pinned(
    wish: &PlacementRequest,
    vnuma: Vec<u32>,
    vl3: Vec<u32>,
    threads: u32,
    sizes: Sizes,
) -> VirtualTopology {
    let vnuma = if wish.hot_add {
        vec![wish.vcpus]
    } else {
        vnuma
    };
    let are_pairs = wish.smt == Smt::Pack && vnuma.iter().all(|cell| cell % threads == 0);
    let threads = if are_pairs { threads } else { 1 };
    let sockets = sockets(wish.vcpus, &vnuma, sizes);
    // A die represents an L3 cache if every socket has the same number of L3 caches and all of them
    // have the same size.
    let groups = vl3.len() as u32;
    let are_equal = vl3.iter().all(|&group| group == vl3[0] && group % threads == 0);
    let dies = if are_equal && groups.is_multiple_of(sockets) {
        groups / sockets
    } else {
        1
    };
    VirtualTopology {
        sockets,
        dies,
        cores: wish.vcpus / sockets / dies / threads,
        threads,
        vnuma,
        vl3,
    }
}

/// Returns the number of sockets. The guest has one socket for each package that it needs. The
/// condition is that all sockets are equal, and that the sizes of sockets and NUMA nodes are
/// multiples of one another. Otherwise the guest has a single socket.
fn sockets(vcpus: u32, vnuma: &[u32], sizes: Sizes) -> u32 {
    let parts = split(vcpus, sizes.package, sizes.packages);
    let (socket, count) = (parts[0], parts.len() as u32);
    let are_equal = parts.iter().all(|&part| part == socket);
    let nests = vnuma.iter().all(|&cell| socket % cell == 0 || cell % socket == 0);
    if are_equal && nests { count } else { 1 }
}

fn groups(cell: u32, size: u32) -> Vec<u32> {
    let size = size.max(1);
    let mut groups = vec![size; (cell / size) as usize];
    groups.extend(Some(cell % size).filter(|&rest| rest > 0));
    groups
}
