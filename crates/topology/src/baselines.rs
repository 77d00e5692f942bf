//! Placements by simpler rules, with which tests and reports compare a plan.

use crate::cpuset::CpuSet;
use crate::machine::Machine;
use crate::request::PlacementRequest;

/// Places instance k on the CPUs k·V to k·V + V − 1 of the list of allowed CPUs, like a script that
/// ignores the topology. Returns the CPUs of each instance. CPUs that do not exist are omitted.
pub fn naive(machine: &Machine, wish: &PlacementRequest) -> Vec<Vec<u32>> {
    let all: Vec<u32> = machine.allowed_cpus().iter().collect();
    let vcpus = wish.vcpus.max(1) as usize;
    let parts = all.chunks(vcpus).take(wish.instances as usize);
    parts.map(<[u32]>::to_vec).collect()
}

/// Splits the machine evenly by its tree, like `hwloc-distrib`. The function divides the parts
/// among packages in proportion to the CPUs of each package. It then divides them among nodes, L3
/// caches and cores in the same way. Returns `parts` sets, which together cover the machine.
pub fn distribute(machine: &Machine, parts: usize) -> Vec<CpuSet> {
    let cores: Vec<usize> = (0..machine.cores.len()).collect();
    let mut found = Vec::new();
    share(machine, &cores, parts, 0, &mut found);
    found
}

/// Number of levels of the tree below the machine. The last level is that of cores, whose children
/// are threads.
const LEVELS: usize = 4;

fn share(machine: &Machine, cores: &[usize], parts: usize, level: usize, found: &mut Vec<CpuSet>) {
    if parts == 0 || cores.is_empty() {
        return;
    }
    if parts == 1 || level == LEVELS {
        let set = machine.cpus_of(cores);
        found.extend(std::iter::repeat_n(set, parts));
        return;
    }
    let place = |core: usize| match level {
        0 => machine.cores[core].package,
        1 => machine.cores[core].node,
        2 => machine.cores[core].l3,
        _ => core,
    };
    let weight = |cores: &[usize]| machine.cpus_of(cores).len();
    let all = weight(cores);
    let (mut given, mut passed) = (0, 0);
    for children in cores.chunk_by(|&one, &two| place(one) == place(two)) {
        // Each child gets parts by the rule of hwloc. This is the number of parts that are due up
        // to and including the child, rounded up, minus the parts already assigned. If the number
        // is 0, the child joins the previous set.
        let own = weight(children);
        passed += own;
        let due = (passed * parts).div_ceil(all) - given;
        match found.last_mut().filter(|_| due == 0) {
            Some(last) => last.extend(machine.cpus_of(children).iter()),
            None => share(machine, children, due, level + 1, found),
        }
        given += due;
    }
}
