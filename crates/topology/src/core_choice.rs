//! Chooses the cores of each instance. Instances are spread over the nodes and, within a node, on
//! as few L3 caches as possible. The algorithm is greedy, and [`crate::improve`] exchanges cells
//! afterwards.
//!
//! The algorithm allocates one [`Unit`] at a time. A unit is a whole core, one thread of each core
//! or, if cores must be shared, a single thread.

use crate::machine::Machine;
use crate::request::Smt;

/// CPUs of one core that the placement allocates together.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub core: usize,
    pub package: usize,
    pub node: usize,
    pub l3: usize,
    /// OS numbers of the unit's CPUs.
    pub cpus: Vec<u32>,
}

/// Units in the order of the machine, and the state of their allocation.
#[derive(Clone)]
pub(crate) struct Pool {
    pub units: Vec<Unit>,
    /// Number of cells that use each unit.
    pub uses: Vec<u32>,
    /// Maximum number of uses of a unit. A unit with fewer uses is free.
    pub layer: u32,
    /// Indices of the units of each pair of node and package.
    pub domains: Vec<Vec<usize>>,
    /// Free memory of each node in bytes. `None` if the placement does not take the memory of the
    /// node into account.
    pub memory: Vec<Option<u64>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PlacedCell {
    pub vcpus: u32,
    /// Indexes of the cell's units, in ascending order.
    pub units: Vec<usize>,
    /// Memory of the cell, as the node and the number of bytes.
    pub memory: Vec<(usize, u64)>,
}

/// Inputs of a placement, except the pool.
pub(crate) struct Order<'a> {
    pub machine: &'a Machine,
    /// Number of vCPUs of each cell of an instance.
    pub cells: &'a [u32],
    pub instances: u32,
    /// Memory of an instance in bytes. `None` if the placement does not take memory into account.
    pub memory_bytes: Option<u64>,
    /// Indices of the nodes to which instances should be close.
    pub near: &'a [usize],
    /// Maximum number of times a CPU may be allocated.
    pub layers: u32,
}

impl Pool {
    /// Returns a pool of the cores for which `is_usable` returns true.
    pub fn select(
        machine: &Machine,
        smt: Smt,
        share: bool,
        is_usable: impl Fn(usize) -> bool,
    ) -> Pool {
        let mut units = Vec::new();
        for (index, core) in machine.cores.iter().enumerate().filter(|(core, _)| is_usable(*core)) {
            let allowed = core.pus.iter().map(|&pu| &machine.pus[pu]).filter(|pu| pu.allowed);
            let cpus: Vec<u32> = allowed.map(|pu| pu.os).collect();
            let parts: Vec<Vec<u32>> = match (smt, share) {
                _ if cpus.is_empty() => continue,
                (Smt::OnePerCore, _) => vec![vec![cpus[0]]],
                (Smt::Pack, false) => vec![cpus],
                (Smt::Pack, true) => cpus.into_iter().map(|cpu| vec![cpu]).collect(),
            };
            units.extend(parts.into_iter().map(|cpus| Unit {
                core: index,
                package: core.package,
                node: core.node,
                l3: core.l3,
                cpus,
            }));
        }
        let mut domains: Vec<((usize, usize), Vec<usize>)> = Vec::new();
        for (index, unit) in units.iter().enumerate() {
            let key = (unit.node, unit.package);
            match domains.last_mut().filter(|(last, _)| *last == key) {
                Some((_, members)) => members.push(index),
                None => domains.push((key, vec![index])),
            }
        }
        // The placement takes the memory of a node into account if it may be used and its size is
        // known.
        let nodes = machine.nodes.iter();
        let memory =
            nodes.map(|node| node.memory_bytes.map(|bytes| bytes * u64::from(node.allowed)));
        Pool {
            uses: vec![0; units.len()],
            layer: 1,
            domains: domains.into_iter().map(|(_, members)| members).collect(),
            memory: memory.collect(),
            units,
        }
    }

    pub fn threads(&self) -> u32 {
        self.units.iter().map(|unit| unit.cpus.len() as u32).sum()
    }

    pub fn is_free(&self, unit: usize) -> bool {
        self.uses[unit] < self.layer
    }

    fn free_threads(&self, units: &[usize]) -> u32 {
        let free = units.iter().filter(|&&unit| self.is_free(unit));
        free.map(|&unit| self.units[unit].cpus.len() as u32).sum()
    }

    /// Returns the number of cells with `vcpus` vCPUs that fit on the free units of a domain, if
    /// cells do not share units.
    pub fn fits(&self, domain: usize, vcpus: u32) -> u32 {
        self.hold(self.domains[domain].iter().copied(), vcpus)
    }

    /// Returns the number of cells as [`Pool::fits`] does, but for a whole node. A cell may use
    /// several packages of the node.
    pub fn fits_node(&self, node: usize, vcpus: u32) -> u32 {
        let units = (0..self.units.len()).filter(|&unit| self.units[unit].node == node);
        self.hold(units, vcpus)
    }

    fn hold(&self, units: impl Iterator<Item = usize>, vcpus: u32) -> u32 {
        let (mut cells, mut threads) = (0, 0);
        for unit in units.filter(|&unit| self.is_free(unit)) {
            threads += self.units[unit].cpus.len() as u32;
            if threads >= vcpus {
                (cells, threads) = (cells + 1, 0);
            }
        }
        cells
    }

    fn node(&self, domain: usize) -> usize {
        self.units[self.domains[domain][0]].node
    }

    /// Chooses free units of a domain for `vcpus` vCPUs, or all free units if they are not enough.
    /// The function prefers the L3 cache with the best fit. If no L3 cache has enough free units,
    /// it first takes whole free L3 caches. The remainder comes from the L3 cache with the best
    /// fit.
    pub fn choose(&self, domain: usize, vcpus: u32) -> Vec<usize> {
        let mut groups: Vec<(usize, Vec<usize>, bool)> = Vec::new();
        for &unit in &self.domains[domain] {
            let l3 = self.units[unit].l3;
            if groups.last().is_none_or(|group| group.0 != l3) {
                groups.push((l3, Vec::new(), true));
            }
            if let Some((_, members, is_whole)) = groups.last_mut() {
                if self.is_free(unit) {
                    members.push(unit)
                } else {
                    *is_whole = false
                }
            }
        }
        let threads = |members: &[usize]| -> u32 {
            members.iter().map(|&unit| self.units[unit].cpus.len() as u32).sum()
        };
        let mut groups: Vec<(Vec<usize>, u32, bool)> = groups
            .into_iter()
            .map(|(_, members, is_whole)| (threads(&members), members, is_whole))
            .map(|(threads, members, is_whole)| (members, threads, is_whole))
            .filter(|(members, ..)| !members.is_empty())
            .collect();
        let mut chosen = Vec::new();
        let mut missing = vcpus;
        while missing > 0 && !groups.is_empty() {
            let best = groups
                .iter()
                .enumerate()
                .filter(|(_, group)| group.1 >= missing)
                .min_by_key(|(index, group)| (group.1, *index));
            let whole = || groups.iter().position(|group| group.2 && group.1 <= missing);
            let most = || groups.iter().enumerate().max_by_key(|(i, g)| (g.1, usize::MAX - i));
            let next = best.map(|(index, _)| index).or_else(whole);
            let Some(next) = next.or_else(|| most().map(|(index, _)| index)) else {
                break;
            };
            for unit in groups.remove(next).0 {
                if missing == 0 {
                    break;
                }
                missing = missing.saturating_sub(self.units[unit].cpus.len() as u32);
                chosen.push(unit);
            }
        }
        chosen.sort_unstable();
        chosen
    }

    pub fn take(&mut self, units: &[usize]) {
        units.iter().for_each(|&unit| self.uses[unit] += 1);
    }

    pub fn give_back(&mut self, units: &[usize]) {
        units.iter().for_each(|&unit| self.uses[unit] -= 1);
    }

    /// Takes memory from these nodes in order. If they have too little, returns `None` and leaves
    /// their memory unchanged.
    fn take_memory(&mut self, nodes: &[usize], bytes: u64) -> Option<Vec<(usize, u64)>> {
        let mut taken = Vec::new();
        let mut missing = bytes;
        for &node in nodes {
            let part = self.memory[node].unwrap_or(u64::MAX).min(missing);
            if part > 0 {
                taken.push((node, part));
                missing -= part;
            }
        }
        if missing > 0 {
            return None;
        }
        for &(node, part) in &taken {
            if let Some(free) = &mut self.memory[node] {
                *free -= part;
            }
        }
        Some(taken)
    }
}

/// Returns the cells of every instance. Returns `None` if the pool has too few units or too little
/// memory.
pub(crate) fn place(pool: &mut Pool, order: &Order<'_>) -> Option<Vec<Vec<PlacedCell>>> {
    let vcpus: u32 = order.cells.iter().sum();
    let all: Vec<usize> = (0..pool.units.len()).collect();
    let mut instances = Vec::new();
    for _ in 0..order.instances {
        while pool.free_threads(&all) < vcpus && pool.layer < order.layers {
            pool.layer += 1;
        }
        let mut cells: Vec<PlacedCell> = Vec::new();
        for &cell in order.cells {
            let bytes = order.memory_bytes.map(|bytes| share(bytes, cell, vcpus));
            let placed = place_cell(pool, order, &cells, cell, bytes)?;
            cells.push(placed);
        }
        settle_memory(&mut cells, order.memory_bytes);
        instances.push(cells);
    }
    Some(instances)
}

/// Returns a cell's share of an instance's memory, rounded up. The last cell takes less.
fn share(bytes: u64, cell: u32, vcpus: u32) -> u64 {
    (u128::from(bytes) * u128::from(cell)).div_ceil(u128::from(vcpus.max(1))) as u64
}

/// Corrects the rounding, so that the cells together have exactly the memory of the instance.
fn settle_memory(cells: &mut [PlacedCell], wanted: Option<u64>) {
    let Some(wanted) = wanted else {
        return;
    };
    let parts = cells.iter_mut().flat_map(|cell| &mut cell.memory);
    let mut parts: Vec<&mut (usize, u64)> = parts.collect();
    let mut surplus = parts.iter().map(|part| part.1).sum::<u64>().saturating_sub(wanted);
    for part in parts.iter_mut().rev() {
        let less = surplus.min(part.1);
        part.1 -= less;
        surplus -= less;
    }
}

fn place_cell(
    pool: &mut Pool,
    order: &Order<'_>,
    placed: &[PlacedCell],
    vcpus: u32,
    bytes: Option<u64>,
) -> Option<PlacedCell> {
    let nodes_of = |pool: &Pool, placed: &[PlacedCell]| -> Vec<usize> {
        let units = placed.iter().flat_map(|cell| &cell.units);
        let mut nodes: Vec<usize> = units.map(|&unit| pool.units[unit].node).collect();
        nodes.dedup();
        nodes
    };
    let used = nodes_of(pool, placed);
    let distance = |node: usize| -> u64 {
        used.iter().map(|&from| u64::from(order.machine.distance(from, node))).sum()
    };
    let near = |node: usize| {
        let far = order.near.iter().map(|&to| order.machine.distance(node, to)).min();
        far.unwrap_or(0)
    };
    let has_memory = |pool: &Pool, node: usize| match (pool.memory[node], bytes) {
        (Some(free), Some(bytes)) => free >= bytes,
        _ => true,
    };
    let candidates = (0..pool.domains.len()).filter_map(|domain| {
        let (node, fits) = (pool.node(domain), pool.fits(domain, vcpus));
        let is_open = fits > 0 && !used.contains(&node) && has_memory(pool, node);
        is_open.then(|| (distance(node), u32::MAX - fits, near(node), domain))
    });
    if let Some((.., domain)) = candidates.min() {
        let units = pool.choose(domain, vcpus);
        pool.take(&units);
        let node = pool.node(domain);
        let memory = bytes.map(|bytes| pool.take_memory(&[node], bytes)).unwrap_or(Some(vec![]))?;
        return Some(PlacedCell {
            vcpus,
            units,
            memory,
        });
    }
    scatter(pool, order, &used, vcpus, bytes)
}

/// Places a cell that does not fit on a single node. It is divided among as few nodes as possible,
/// which are close to one another. Returns `None` if the pool has too few free units or too little
/// memory.
fn scatter(
    pool: &mut Pool,
    order: &Order<'_>,
    used: &[usize],
    vcpus: u32,
    bytes: Option<u64>,
) -> Option<PlacedCell> {
    let mut around: Vec<usize> = used.to_vec();
    let mut units: Vec<usize> = Vec::new();
    let mut missing = vcpus;
    while missing > 0 {
        let distance = |node: usize| -> u64 {
            around.iter().map(|&from| u64::from(order.machine.distance(from, node))).sum()
        };
        let open = (0..pool.domains.len()).filter_map(|domain| {
            let free = pool.free_threads(&pool.domains[domain]);
            let is_enough = free >= missing;
            // A node with several packages may have enough units for the cell even if none of its
            // packages has.
            let node = pool.node(domain);
            let in_node = (0..pool.domains.len()).filter(|&other| pool.node(other) == node);
            let of_node: u32 = in_node.map(|other| pool.free_threads(&pool.domains[other])).sum();
            let left = if is_enough { free } else { u32::MAX - free };
            let is_short = units.is_empty() && of_node < missing;
            (free > 0).then(|| (is_short, distance(node), !is_enough, left, domain))
        });
        let (.., domain) = open.min()?;
        let piece = pool.choose(domain, missing);
        let threads: u32 = piece.iter().map(|&unit| pool.units[unit].cpus.len() as u32).sum();
        pool.take(&piece);
        around.push(pool.node(domain));
        units.extend(piece);
        missing = missing.saturating_sub(threads);
    }
    units.sort_unstable();
    let mut nodes: Vec<usize> = units.iter().map(|&unit| pool.units[unit].node).collect();
    nodes.dedup();
    // Takes memory from the nodes of the cell first, and then from the nearest other nodes,
    // including nodes without CPUs.
    let home = *nodes.first()?;
    let mut others: Vec<usize> = (0..order.machine.nodes.len()).collect();
    others.retain(|node| !nodes.contains(node));
    others.sort_by_key(|&node| (order.machine.distance(home, node), node));
    nodes.extend(others);
    let memory = bytes.map(|bytes| pool.take_memory(&nodes, bytes)).unwrap_or(Some(vec![]))?;
    Some(PlacedCell {
        vcpus,
        units,
        memory,
    })
}
