//! CPUs of the client on a machine that it shares with nodes. cassay reserves them before it plans
//! the nodes, or uses CPUs that the nodes leave free.

use super::Layout;
use target_spec::{LocalSpec, Placing};
use topology::{CpuSet, Machine, Part, Units};

/// Minimum number of L3 caches for reserving all cores under one of them for the client.
const L3_GROUPS_FOR_CLIENT: usize = 4;

/// Without a reserved L3 cache, the client gets the number of cores divided by this number.
const CORES_FOR_CLIENT: usize = 4;

/// Returns the CPUs of `machine` to reserve for the client before planning. `beside` is the number
/// of CPUs that only the client may use.
pub(super) fn reserved(spec: &LocalSpec, machine: &Machine, beside: usize) -> CpuSet {
    let wish = &spec.topology;
    let none = CpuSet::default();
    let cores = machine.parts(Units::Cores);
    if let Some(count) = wish.client {
        let mut kept = CpuSet::default();
        // Reserves whole cores, beginning with the last one.
        for core in cores.iter().rev() {
            if beside + kept.len() >= count as usize {
                break;
            }
            core.cpus.iter().for_each(|cpu| {
                kept.insert(cpu);
            });
        }
        return kept;
    }
    // If the user fixes the CPUs of the nodes, the client gets the CPUs that the nodes leave free.
    let floats = matches!(wish.placing, Placing::None | Placing::OneSocketPerVcpu);
    if wish.cpus.is_some() || wish.part.is_some() || floats || beside > 0 {
        return none;
    }
    let groups = machine.parts(Units::L3);
    if groups.len() >= L3_GROUPS_FOR_CLIENT && groups.len() > spec.nodes {
        return groups.last().map_or(none, |group| group.cpus.clone());
    }
    let count = cores.len() / CORES_FOR_CLIENT;
    if cores.len() - count < spec.nodes {
        return none;
    }
    let last = cores.iter().rev().take(count);
    last.flat_map(|core| core.cpus.iter()).collect()
}

impl Layout {
    /// Assigns `wanted` free CPUs to the client, if possible under another L3 cache than the nodes,
    /// otherwise on other cores, otherwise on other threads.
    pub(super) fn seat_client(&mut self, machine: &Machine, taken: &CpuSet, wanted: usize) {
        let allowed = machine.allowed_cpus();
        let beside = [
            allowed.difference(&machine.l3_neighbours(taken)),
            allowed.difference(&machine.core_neighbours(taken)),
            allowed.difference(taken),
        ];
        let best = beside.iter().position(|cpus| cpus.len() >= wanted);
        let cpus = best.map(|at| beside[at].clone());
        let list = cpus.as_ref().map_or(String::new(), CpuSet::describe);
        let where_it_is = match (best, tells_l3(machine)) {
            (Some(0), true) => "under an L3 cache that no node uses",
            (Some(0), false) => {
                "on a NUMA node that no Cassandra node uses; this machine does not report which \
                 cores share an L3 cache"
            }
            (Some(1), true) => "on cores that no node uses; nodes use every L3 cache",
            (Some(1), false) => {
                "on cores that no node uses; this machine does not report which cores share an L3 \
                 cache"
            }
            _ if beside[1].is_empty() => {
                "which are hardware threads of cores that nodes also use: no core is free"
            }
            _ => {
                "some of which are hardware threads of cores that nodes also use: too few cores \
                 are free"
            }
        };
        self.of_client = Some(match best {
            Some(_) => format!("the client runs on {list}, {where_it_is}"),
            None => "nodes use every CPU, so the client competes with them".to_owned(),
        });
        self.client = cpus.map(|cpus| in_turn(machine, &cpus));
    }
}

/// Returns true if all groups of cores are real L3 caches. Without reported L3 caches, the cores of
/// a NUMA node form a group.
fn tells_l3(machine: &Machine) -> bool {
    let allowed = machine.allowed_cpus();
    let groups = machine.l3.iter();
    let mut used = groups.filter(|group| !machine.cpus_of(&group.cores).is_disjoint(&allowed));
    used.all(|group| group.is_real)
}

/// Returns CPUs in the order in which workers use them: the first thread of each core, then the
/// second threads.
fn in_turn(machine: &Machine, cpus: &CpuSet) -> Vec<u32> {
    let cores = machine.only(cpus).parts(Units::Cores);
    let threads = |core: &Part| core.cpus.iter().enumerate().collect::<Vec<_>>();
    let mut all: Vec<(usize, u32)> = cores.iter().flat_map(threads).collect();
    // The stable sort preserves the order of the cores.
    all.sort_by_key(|(thread, _)| *thread);
    all.into_iter().map(|(_, cpu)| cpu).collect()
}
