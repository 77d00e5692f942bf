//! Computes the memory of instances. If the request states the memory, an instance has the memory
//! that was taken during the placement. Otherwise all instances have the same amount, which fits on
//! the nodes of their CPUs.

use std::collections::BTreeMap;

use crate::core_choice::PlacedCell;
use crate::machine::Machine;
use crate::plan::NodeBytes;
use crate::planner::Attempt;
use crate::request::PlacementRequest;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Returns the memory assumed for an instance if the request does not state it. This is an equal
/// share of the machine's memory, limited so that each node has enough memory for its instances.
/// The amount is in whole GiB, or in MiB if it is below 1 GiB or if whole GiB do not fit. Returns
/// `None` if the memory of the machine is unknown or too small.
pub(super) fn assumed(
    machine: &Machine,
    attempt: &Attempt,
    wish: &PlacementRequest,
) -> Option<u64> {
    let homes = (0..machine.nodes.len()).filter(|&node| !machine.nodes[node].cores.is_empty());
    let all: u64 = homes.filter_map(|node| attempt.pool.memory[node]).sum();
    let equal = all / u64::from(wish.instances);
    // Number of the instance's CPUs whose memory comes from a node, for each such node.
    let mut cpus: BTreeMap<usize, u64> = BTreeMap::new();
    for cell in attempt.instances.iter().flatten() {
        for (node, count) in cpus_by_node(machine, attempt, cell) {
            *cpus.entry(node).or_default() += count;
        }
    }
    let of_nodes = cpus.iter().filter_map(|(&node, &cpus)| {
        let has = u128::from(attempt.pool.memory[node]?);
        Some((has * u128::from(wish.vcpus) / u128::from(cpus)) as u64)
    });
    let bytes = of_nodes.min()?.min(equal);
    let unit = if bytes < GIB { MIB } else { GIB };
    let mut bytes = bytes / unit * unit;
    // The last part of an instance's memory includes the remainder of the division. A full node
    // does not have space for the remainder, so the loop tries smaller amounts.
    while bytes > 0 && !fits(machine, attempt, bytes) {
        bytes = bytes.saturating_sub(MIB);
    }
    Some(bytes).filter(|&bytes| bytes > 0)
}

/// Returns true if each node has enough memory when each instance has `bytes`.
fn fits(machine: &Machine, attempt: &Attempt, bytes: u64) -> bool {
    let mut taken: BTreeMap<usize, u64> = BTreeMap::new();
    for placed in &attempt.instances {
        let parts = placed.iter().flat_map(|cell| cpus_by_node(machine, attempt, cell));
        for (node, part) in in_proportion(bytes, parts.collect()) {
            *taken.entry(node).or_default() += part;
        }
    }
    taken
        .iter()
        .all(|(&node, &part)| attempt.pool.memory[node].is_none_or(|has| part <= has))
}

/// Returns the memory of an instance by node. This is the memory that was taken during the
/// placement, or `assumed` in proportion to the instance's CPUs on each node. The sum is exact.
pub(super) fn by_node(
    machine: &Machine,
    attempt: &Attempt,
    placed: &[PlacedCell],
    assumed: Option<u64>,
) -> Vec<NodeBytes> {
    let parts: Vec<(usize, u64)> = match assumed {
        Some(bytes) => {
            let cells = placed.iter();
            let parts = cells.flat_map(|cell| cpus_by_node(machine, attempt, cell));
            in_proportion(bytes, parts.collect())
        }
        None => placed.iter().flat_map(|cell| cell.memory.clone()).collect(),
    };
    let part = |(node, bytes): (usize, u64)| NodeBytes {
        node: machine.nodes[node].os,
        bytes,
    };
    parts.into_iter().map(part).collect()
}

/// Counts the CPUs of a cell by the node that provides their memory. This is the node of the CPU,
/// or the nearest node with memory.
fn cpus_by_node(machine: &Machine, attempt: &Attempt, cell: &PlacedCell) -> BTreeMap<usize, u64> {
    let pool = &attempt.pool;
    let units = cell.units.iter().map(|&unit| &pool.units[unit]);
    let nodes = units.flat_map(|unit| unit.cpus.iter().map(|_| unit.node));
    let mut by_node = BTreeMap::new();
    for own in nodes.take(cell.vcpus as usize) {
        let with_memory = (0..machine.nodes.len()).filter(|&node| pool.memory[node] != Some(0));
        let nearest = with_memory.min_by_key(|&to| (to != own, machine.distance(own, to), to));
        *by_node.entry(nearest.unwrap_or(own)).or_default() += 1;
    }
    by_node
}

/// Splits `bytes` in proportion to these weights. The last share includes the rounding remainder.
fn in_proportion(bytes: u64, weights: Vec<(usize, u64)>) -> Vec<(usize, u64)> {
    let mut left = bytes;
    let mut weight_left: u64 = weights.iter().map(|(_, weight)| weight).sum();
    let cut = |(node, weight): (usize, u64)| {
        let part = u128::from(left) * u128::from(weight) / u128::from(weight_left.max(1));
        (left, weight_left) = (left - part as u64, weight_left - weight);
        (node, part as u64)
    };
    weights.into_iter().map(cut).collect()
}
