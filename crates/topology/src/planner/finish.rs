//! Makes the plan from a placement. The plan lists the resources of each instance, in OS numbers.

mod instance_memory;
mod reasons;

use crate::core_choice::PlacedCell;
use crate::cpuset::CpuSet;
use crate::guest_shape::{pinned, vsphere};
use crate::improve::costs;
use crate::jvm;
use crate::machine::Machine;
use crate::plan::{Bounds, Cell, Instance, Plan, VirtualTopology};
use crate::planner::{Attempt, fingerprint, vsphere_sizes};
use crate::request::{PlacementRequest, Profile, Smt};

pub(super) fn plan(machine: &Machine, wish: &PlacementRequest, attempt: Attempt) -> Plan {
    let sizes = vsphere_sizes(machine, wish);
    let vsphere7 = vsphere(wish, Profile::Vsphere7, sizes);
    let vsphere8 = vsphere(wish, Profile::Vsphere8, sizes);
    let assumed = match wish.memory_bytes {
        Some(_) => None,
        None => instance_memory::assumed(machine, &attempt, wish),
    };
    let mut plan = Plan {
        fingerprint: fingerprint(machine),
        wish: wish.clone(),
        instances: Vec::new(),
        vsphere7,
        vsphere8,
        housekeeping: attempt.housekeeping.clone(),
        idle: CpuSet::default(),
        costs: Default::default(),
        bounds: bounds(wish, &attempt),
        rack: rack(&wish.host),
        reasons: Vec::new(),
        warnings: Vec::new(),
        exchanges_weighed: attempt.weighed,
    };
    for (index, cells) in attempt.instances.iter().enumerate() {
        let instance = instance(machine, &plan, &attempt, (index, cells), assumed);
        plan.instances.push(instance);
    }
    let given: Vec<Vec<u32>> = plan.instances.iter().map(|one| one.cpus.clone()).collect();
    plan.costs = costs(machine, &given, &attempt.near);
    let mut taken: CpuSet = given.iter().flatten().copied().collect();
    plan.housekeeping.iter().for_each(|node| taken.extend(node.cpus.iter()));
    plan.idle = machine.allowed_cpus().difference(&taken);
    reasons::explain(machine, &attempt, &mut plan);
    plan
}

/// Returns the rack of a host. Machines in one rack are assumed to fail together, so a rack for
/// each machine keeps replicas on different machines.
fn rack(host: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.".contains(c) {
            c
        } else {
            '-'
        }
    };
    format!("rack-{}", host.chars().map(plain).collect::<String>())
}

fn instance(
    machine: &Machine,
    plan: &Plan,
    attempt: &Attempt,
    (index, placed): (usize, &[PlacedCell]),
    assumed: Option<u64>,
) -> Instance {
    let wish = &plan.wish;
    let unit = |unit: &usize| &attempt.pool.units[*unit];
    let ascending = |mut list: Vec<usize>| {
        list.sort_unstable();
        list.dedup();
        list
    };
    let units = || placed.iter().flat_map(|cell| &cell.units).map(unit);
    let mut cores: Vec<usize> = units().map(|unit| unit.core).collect();
    cores.dedup();
    let nodes = ascending(units().map(|unit| unit.node).collect());
    let node_os = |node: usize| machine.nodes[node].os;
    let cells = cells(machine, attempt, placed);
    let cpus: Vec<u32> = cells.iter().flat_map(|cell| cell.cpus.iter().copied()).collect();
    let memory_bytes = wish.memory_bytes.or(assumed);
    let threads = if attempt.shares_cores || wish.smt == Smt::OnePerCore {
        1
    } else {
        common_threads(attempt)
    };
    let vnuma = cells.iter().map(|cell| cell.cpus.len() as u32).collect();
    let pinned = pinned(
        wish,
        vnuma,
        l3_parts(machine, &cells),
        threads,
        attempt.sizes,
    );
    let set: CpuSet = cpus.iter().copied().collect();
    let own: CpuSet = nodes.iter().map(|&node| node_os(node)).collect();
    let seen = nodes_seen(plan, &own, &pinned);
    let is_near = |node: Option<u32>| node.is_some_and(|node| own.contains(node));
    let devices = machine.devices.iter().filter(|device| is_near(device.node_os));
    Instance {
        index: index as u32,
        l3: ascending(cores.iter().map(|&core| machine.cores[core].l3).collect()),
        packages: ascending(cores.iter().map(|&core| machine.cores[core].package).collect()),
        nodes: own.iter().collect(),
        memory: instance_memory::by_node(machine, attempt, placed, assumed),
        memory_bytes,
        pinned,
        devices: devices.map(|device| device.name.clone()).collect(),
        jvm: jvm::jvm(wish, &set, &seen, memory_bytes),
        yaml: jvm::yaml(wish, cpus.len() as u32, cores.len() as u32),
        cpus,
        cells,
        cores,
    }
}

fn cells(machine: &Machine, attempt: &Attempt, placed: &[PlacedCell]) -> Vec<Cell> {
    let units = &attempt.pool.units;
    let cell = |cell: &PlacedCell| {
        let cpus = cell.units.iter().flat_map(|&unit| units[unit].cpus.iter().copied());
        let mut nodes: Vec<usize> = cell.units.iter().map(|&unit| units[unit].node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        Cell {
            cpus: cpus.take(cell.vcpus as usize).collect(),
            nodes: nodes.into_iter().map(|node| machine.nodes[node].os).collect(),
        }
    };
    placed.iter().map(cell).collect()
}

/// Returns the nodes that a JVM sees. For a process, these are the nodes of the machine on which
/// the process runs. In a VM, these are the nodes of the guest.
fn nodes_seen(plan: &Plan, own: &CpuSet, pinned: &VirtualTopology) -> CpuSet {
    match plan.wish.profile {
        Profile::None => own.clone(),
        Profile::Pinned => (0..pinned.vnuma.len() as u32).collect(),
        Profile::Vsphere7 => (0..plan.vsphere7.vnuma.len() as u32).collect(),
        Profile::Vsphere8 => (0..plan.vsphere8.vnuma.len() as u32).collect(),
    }
}

/// Returns the number of threads per core if all cores have the same number, and otherwise 1.
fn common_threads(attempt: &Attempt) -> u32 {
    let mut counts = attempt.pool.units.iter().map(|unit| unit.cpus.len() as u32);
    let first = counts.next().unwrap_or(1);
    if counts.all(|count| count == first) {
        first
    } else {
        1
    }
}

/// Returns the number of vCPUs on each L3 of each cell, in order.
fn l3_parts(machine: &Machine, cells: &[Cell]) -> Vec<u32> {
    let mut parts: Vec<u32> = Vec::new();
    for cell in cells {
        let mut last = None;
        for &cpu in &cell.cpus {
            let core = machine.pu_of(cpu).map(|pu| machine.pus[pu].core);
            let l3 = core.map(|core| machine.cores[core].l3);
            match parts.last_mut().filter(|_| last == Some(l3)) {
                Some(part) => *part += 1,
                None => parts.push(1),
            }
            last = Some(l3);
        }
    }
    parts
}

/// Returns the lower bounds of the costs. The bounds follow from the number of instances that do
/// not fit in a single package or node.
fn bounds(wish: &PlacementRequest, attempt: &Attempt) -> Bounds {
    let pool = &attempt.pool;
    let held = |place: fn(&crate::core_choice::Unit) -> usize| {
        let mut threads = std::collections::BTreeMap::<usize, Vec<u32>>::new();
        for unit in &pool.units {
            threads.entry(place(unit)).or_default().push(unit.cpus.len() as u32);
        }
        // The largest cores are used first, so that each instance needs as few cores as possible.
        let count = |mut cores: Vec<u32>| {
            cores.sort_unstable_by(|one, two| two.cmp(one));
            let (mut count, mut sum) = (0u32, 0);
            for core in cores {
                sum += core;
                if sum >= wish.vcpus {
                    (count, sum) = (count + 1, 0);
                }
            }
            count
        };
        threads.into_values().map(count).sum::<u32>() * wish.overcommit.ceil() as u32
    };
    Bounds {
        crossing_package: wish.instances.saturating_sub(held(|unit| unit.package)),
        crossing_node: wish.instances.saturating_sub(held(|unit| unit.node)),
    }
}
