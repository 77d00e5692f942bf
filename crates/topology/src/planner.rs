//! Makes a plan from a machine and a request. The planner checks the request, reserves the
//! housekeeping CPUs, determines the sizes of the cells and places the cells. Then it exchanges
//! cells until no exchange reduces the costs, and describes the result.

mod feasible;
mod finish;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use crate::core_choice::{Order, PlacedCell, Pool, place};
use crate::cpuset::CpuSet;
use crate::guest_shape::{Sizes, VNUMA_VCPUS_MIN, split, split_from};
use crate::improve::improve;
use crate::machine::{CoreKind, Machine};
use crate::plan::{Infeasible, NodeCpus, Plan};
use crate::request::{Housekeeping, PlacementRequest, Profile, Unit};

/// Plans the request on the machine. The same arguments always yield the same plan, byte for byte.
pub fn plan(machine: &Machine, wish: &PlacementRequest) -> Result<Plan, Infeasible> {
    feasible::check(machine, wish)?;
    let Some(attempt) = attempt(machine, wish) else {
        return Err(feasible::explain(machine, wish));
    };
    Ok(finish::plan(machine, wish, attempt))
}

/// Returns, for each core, the CPUs that instances of a request can have on this machine.
/// Housekeeping CPUs are excluded, and each core has only those threads that the request uses.
pub fn usable(machine: &Machine, wish: &PlacementRequest) -> Vec<CpuSet> {
    let whole = Pool::select(machine, wish.smt, false, |_| true);
    let reserved = reserve(machine, wish, &whole);
    let kept = Pool::select(machine, wish.smt, false, |core| !reserved.contains(&core));
    let cpus = |unit: &crate::core_choice::Unit| unit.cpus.iter().copied().collect();
    kept.units.iter().map(cpus).collect()
}

/// Returns the machine's fingerprint of 32 digits. It is a hash of sibling sets, packages, nodes,
/// L3 caches and distances. A plan is valid only for a machine with the same fingerprint.
pub fn fingerprint(machine: &Machine) -> String {
    let mut text = String::new();
    for core in &machine.cores {
        let siblings: CpuSet = core.pus.iter().map(|&pu| machine.pus[pu].os).collect();
        let node = machine.nodes[core.node].os;
        text += &format!("{siblings};{};{node};{}\n", core.package, core.l3);
    }
    for row in machine.distances.iter().flat_map(|table| &table.rows) {
        text += &format!("{row:?}\n");
    }
    let digest = Sha256::digest(text.as_bytes());
    HEXLOWER.encode(&digest[..16])
}

/// A placement that succeeded, and the compromises that it required.
pub(crate) struct Attempt {
    pub pool: Pool,
    pub instances: Vec<Vec<PlacedCell>>,
    pub housekeeping: Vec<NodeCpus>,
    /// True if the plan omits the housekeeping CPUs of perftune's rule, because the instances did
    /// not fit with them.
    pub gave_up_housekeeping: bool,
    /// True if several instances may share a core, because its threads are allocated separately.
    pub shares_cores: bool,
    /// True if the placement uses slower cores in addition to the fastest cores.
    pub mixes_kinds: bool,
    /// Sizes of the node, package and L3 before housekeeping CPUs are reserved, in the unit of the
    /// request.
    pub sizes: Sizes,
    /// Number of cells of an instance, if the memory requires more cells than the CPUs do.
    pub memory_cells: Option<u32>,
    pub weighed: u64,
    /// Indices of the nodes to which instances should be close.
    pub near: Vec<usize>,
}

/// Compromises of one attempt. `keep` reserves the housekeeping CPUs, `share` lets instances share
/// cores, and `mix` adds slower cores. Attempts are made in order of preference.
#[derive(Clone, Copy)]
struct Compromises {
    keep: bool,
    share: bool,
    mix: bool,
    /// True if cells are divided by cores instead of threads. With threads, equal parts may have
    /// odd numbers of threads, which wastes a thread in each part.
    by_core: bool,
}

fn attempt(machine: &Machine, wish: &PlacementRequest) -> Option<Attempt> {
    let gives_up = wish.housekeeping == Housekeeping::Perftune;
    let is_hybrid = machine.cores.iter().any(|core| core.kind == CoreKind::Efficiency);
    let mut ways = Vec::new();
    for share in [false, true] {
        for mix in [false, true] {
            for (keep, by_core) in [(true, false), (true, true), (false, false), (false, true)] {
                ways.push(Compromises {
                    keep,
                    share,
                    mix,
                    by_core,
                });
            }
        }
    }
    // Under perftune's rule, the planner gives up the reserve rather than whole cores, because
    // sharing a core costs an instance more than interrupts do.
    let ways = ways.into_iter().filter(|way| (way.keep || gives_up) && (is_hybrid || !way.mix));
    let mut ways = ways.filter(|way| !(way.keep && way.share && gives_up));
    ways.find_map(|way| one_way(machine, wish, way))
}

/// Returns true if the request fits on whole cores, with the requested housekeeping.
pub(crate) fn fits_as_wished(machine: &Machine, wish: &PlacementRequest) -> bool {
    [(false, false), (false, true), (true, false), (true, true)]
        .into_iter()
        .any(|way| {
            let (mix, by_core) = way;
            one_way(
                machine,
                wish,
                Compromises {
                    keep: true,
                    share: false,
                    mix,
                    by_core,
                },
            )
            .is_some()
        })
}

pub(crate) fn fits(machine: &Machine, wish: &PlacementRequest) -> bool {
    attempt(machine, wish).is_some()
}

fn one_way(machine: &Machine, wish: &PlacementRequest, way: Compromises) -> Option<Attempt> {
    let is_kind = |core: usize| way.mix || machine.cores[core].kind != CoreKind::Efficiency;
    let whole = Pool::select(machine, wish.smt, false, is_kind);
    let reserved = if way.keep {
        reserve(machine, wish, &whole)
    } else {
        Vec::new()
    };
    let is_usable = |core: usize| is_kind(core) && !reserved.contains(&core);
    let kept = Pool::select(machine, wish.smt, false, is_usable);
    if kept.units.is_empty() {
        return None;
    }
    let mut pool = Pool::select(machine, wish.smt, way.share, is_usable);
    let (cells, memory_cells) = cells(machine, wish, &kept, way.by_core)?;
    let near = near(machine, wish);
    let order = Order {
        machine,
        cells: &cells,
        instances: wish.instances,
        memory_bytes: wish.memory_bytes,
        near: &near,
        layers: wish.overcommit.ceil() as u32,
    };
    let asked = f64::from(wish.instances) * f64::from(wish.vcpus);
    if asked > f64::from(pool.threads()) * wish.overcommit {
        return None;
    }
    let mut instances = place(&mut pool, &order)?;
    let weighed = improve(machine, &mut pool, &mut instances, &near);
    let sizes = Sizes::smallest(machine, &whole, wish.unit());
    Some(Attempt {
        housekeeping: by_node(machine, &reserved, wish),
        pool,
        instances,
        gave_up_housekeeping: !way.keep && wish.housekeeping == Housekeeping::Perftune,
        shares_cores: way.share,
        mixes_kinds: way.mix,
        sizes,
        memory_cells,
        weighed,
        near,
    })
}

/// Returns the number of vCPUs of each cell of an instance. Also returns the number of cells if the
/// memory determined it. Returns `None` if `by_core` is true and the division by cores is not
/// possible or not necessary.
fn cells(
    machine: &Machine,
    wish: &PlacementRequest,
    pool: &Pool,
    by_core: bool,
) -> Option<(Vec<u32>, Option<u32>)> {
    let sizes = Sizes::smallest(machine, pool, wish.unit());
    let is_vsphere = matches!(wish.profile, Profile::Vsphere7 | Profile::Vsphere8);
    let nodes = 0..machine.nodes.len();
    let on_nodes: u32 = nodes.map(|node| pool.fits_node(node, wish.vcpus)).sum();
    // On a machine with unequal nodes, cells that are sized for the smallest node would split
    // instances that fit on a larger node.
    let fits_on_nodes = !is_vsphere && on_nodes >= wish.instances;
    let is_shown_whole = wish.hot_add || is_vsphere && wish.vcpus < VNUMA_VCPUS_MIN;
    let cells = if fits_on_nodes || is_shown_whole && on_nodes > 0 {
        vec![wish.vcpus]
    } else {
        // If no node is large enough for a guest, the planner places it in several cells even if it
        // has a single virtual NUMA node. ESXi splits such a guest into NUMA clients that the guest
        // does not see.
        split(wish.vcpus, sizes.node, sizes.nodes)
    };
    if by_core {
        let threads = pool.units.iter().map(|unit| unit.cpus.len() as u32).max().unwrap_or(1);
        let is_odd = cells.iter().any(|cell| cell % threads != 0);
        let can = is_odd && wish.vcpus.is_multiple_of(threads) && wish.memory_bytes.is_none();
        let cores = || {
            split(
                wish.vcpus / threads,
                (sizes.node / threads).max(1),
                sizes.nodes,
            )
        };
        return can.then(|| (cores().iter().map(|cores| cores * threads).collect(), None));
    }
    let used = pool.units.iter().map(|unit| unit.node);
    let smallest = used.filter_map(|node| machine.nodes[node].memory_bytes).min();
    let by_memory = match (wish.memory_bytes, smallest.filter(|&bytes| bytes > 0)) {
        (Some(wanted), Some(bytes)) => wanted.div_ceil(bytes).min(u64::from(sizes.nodes)) as u32,
        _ => 1,
    };
    Some(if by_memory > cells.len() as u32 {
        (
            split_from(wish.vcpus, by_memory, sizes.nodes),
            Some(by_memory),
        )
    } else {
        (cells, None)
    })
}

/// Returns the indices of the cores to reserve for housekeeping.
fn reserve(machine: &Machine, wish: &PlacementRequest, pool: &Pool) -> Vec<usize> {
    let per_node = match &wish.housekeeping {
        Housekeeping::None => return Vec::new(),
        Housekeeping::Cpus(cpus) => {
            let touched = machine.pus.iter().filter(|pu| cpus.contains(pu.os));
            return touched.map(|pu| pu.core).collect();
        }
        Housekeeping::Perftune => None,
        Housekeeping::PerNode(cores) => Some(*cores as usize),
    };
    let mut reserved = Vec::new();
    for node in machine.cpu_nodes() {
        let mut cores: Vec<(usize, usize)> =
            pool.units.iter().filter(|u| u.node == node).map(|u| (u.l3, u.core)).collect();
        // Takes cores from the L3 cache with the fewest remaining cores, so that the other L3
        // caches remain whole.
        for _ in 0..per_node.unwrap_or(cores.len().div_ceil(16)).min(cores.len()) {
            let left = |l3: usize| cores.iter().filter(|core| core.0 == l3).count();
            let fewest = cores.iter().enumerate().min_by_key(|(_, core)| (left(core.0), **core));
            if let Some((index, _)) = fewest {
                reserved.push(cores.remove(index).1);
            }
        }
    }
    reserved
}

fn by_node(machine: &Machine, reserved: &[usize], wish: &PlacementRequest) -> Vec<NodeCpus> {
    let mut found: Vec<NodeCpus> = Vec::new();
    for node in machine.cpu_nodes() {
        let cores = reserved.iter().filter(|&&core| machine.cores[core].node == node);
        let pus = cores.flat_map(|&core| &machine.cores[core].pus);
        let mut cpus: CpuSet = pus.map(|&pu| machine.pus[pu].os).collect();
        if let Housekeeping::Cpus(named) = &wish.housekeeping {
            cpus = cpus.intersection(named);
        }
        let cpus = cpus.intersection(&machine.allowed_cpus());
        if !cpus.is_empty() {
            found.push(NodeCpus {
                node: machine.nodes[node].os,
                cpus,
            });
        }
    }
    found
}

/// Returns the nodes of the devices to which instances should be close.
pub(crate) fn near(machine: &Machine, wish: &PlacementRequest) -> Vec<usize> {
    let named = machine.devices.iter().filter(|device| wish.near.contains(&device.name));
    let numbers = named.filter_map(|device| device.node_os);
    let nodes = numbers.filter_map(|os| machine.nodes.iter().position(|node| node.os == os));
    let mut nodes: Vec<usize> = nodes.collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// Returns the sizes that vSphere uses. The sizes include all cores that may be used, even
/// housekeeping cores.
pub(crate) fn vsphere_sizes(machine: &Machine, wish: &PlacementRequest) -> Sizes {
    let pool = Pool::select(machine, wish.smt, false, |_| true);
    Sizes::smallest(machine, &pool, wish.unit.unwrap_or(Unit::Cores))
}
