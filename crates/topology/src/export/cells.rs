//! The NUMA cells of an instance, as the guest in the instance sees them: vCPUs, host nodes and
//! memory of each cell.

use crate::cpuset::CpuSet;
use crate::plan::Instance;

/// A NUMA cell of a guest.
pub struct GuestCell {
    /// Number of the first vCPU of the cell.
    pub first: u32,
    /// Number of vCPUs of the cell, at least one.
    pub count: u32,
    /// OS numbers of the host's nodes that provide the cell's memory.
    pub nodes: CpuSet,
    /// Amount of memory, in the memory unit of the format.
    pub units: u64,
}

pub fn cpus(instance: &Instance) -> CpuSet {
    instance.cpus.iter().copied().collect()
}

/// Returns the nodes that provide an instance's memory. If the memory is not known, returns the
/// nodes of the instance's CPUs.
pub fn memory_nodes(instance: &Instance) -> CpuSet {
    if instance.memory.is_empty() {
        instance.nodes.iter().copied().collect()
    } else {
        instance.memory.iter().map(|part| part.node).collect()
    }
}

/// Returns the cells of a guest whose virtual nodes have these sizes. The memory of the cells adds
/// up to the memory of the instance, in whole units.
pub fn guest_cells(instance: &Instance, vnuma: &[u32], unit_bytes: u64) -> Vec<GuestCell> {
    let all = instance.memory_bytes.unwrap_or(0) / unit_bytes;
    let vcpus = vnuma.iter().map(|&count| u64::from(count)).sum::<u64>();
    let is_by_cell = instance.memory.len() == vnuma.len() && instance.cells.len() == vnuma.len();
    let (mut first, mut left) = (0, all);
    let mut cells = Vec::new();
    for (index, &count) in vnuma.iter().enumerate() {
        let part = instance.memory.get(index).filter(|_| is_by_cell);
        let share = match part {
            Some(part) => part.bytes / unit_bytes,
            None => all / vcpus.max(1) * u64::from(count),
        };
        let units = if index + 1 == vnuma.len() {
            left
        } else {
            share.min(left)
        };
        left -= units;
        let nodes = match part {
            _ if vnuma.len() == 1 => memory_nodes(instance),
            Some(part) => [part.node].into_iter().collect(),
            None => nodes_of(instance, first, count),
        };
        cells.push(GuestCell {
            first,
            count,
            nodes,
            units,
        });
        first += count;
    }
    cells
}

/// Returns the nodes of the cells that contain these vCPUs. If no cell contains them, returns all
/// nodes of the instance.
fn nodes_of(instance: &Instance, first: u32, count: u32) -> CpuSet {
    let (mut start, mut nodes) = (0, CpuSet::default());
    for cell in &instance.cells {
        let end = start + cell.cpus.len() as u32;
        if start < first + count && first < end {
            nodes.extend(cell.nodes.iter().copied());
        }
        start = end;
    }
    if nodes.is_empty() {
        memory_nodes(instance)
    } else {
        nodes
    }
}
