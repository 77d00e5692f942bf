//! Second stage of the placement. This stage exchanges cells between instances and moves cells to
//! free cores, as long as this reduces the costs of the placement. Costs are compared in the order
//! of [`Costs`].

use crate::core_choice::{PlacedCell, Pool};
use crate::machine::Machine;
use crate::plan::Costs;

/// Maximum number of exchanges and moves that are evaluated. The largest machines need far fewer.
const EXCHANGES_MAX: u64 = 100_000;

/// Returns the costs of a placement from any source. `placement` has the OS numbers of each
/// instance's CPUs. `near` has the indices of the nodes to which instances should be close.
pub fn costs(machine: &Machine, placement: &[Vec<u32>], near: &[usize]) -> Costs {
    let mut core_of = std::collections::BTreeMap::new();
    machine.pus.iter().for_each(|pu| _ = core_of.insert(pu.os, pu.core));
    let cores = placement.iter().map(|cpus| {
        let mut cores: Vec<usize> =
            cpus.iter().filter_map(|cpu| core_of.get(cpu).copied()).collect();
        cores.sort_unstable();
        cores
    });
    cost_of(machine, &cores.collect::<Vec<_>>(), near)
}

/// Returns the costs of a placement. `instances` has the cores of each instance, in which a core
/// occurs once for each of its CPUs.
fn cost_of(machine: &Machine, instances: &[Vec<usize>], near: &[usize]) -> Costs {
    let mut costs = Costs::default();
    let mut of_core = vec![0u32; machine.cores.len()];
    let mut of_l3 = vec![0u32; machine.l3.len()];
    let mut of_node = vec![0u32; machine.nodes.len()];
    for cores in instances {
        let distinct = |place: fn(&crate::machine::Core) -> usize| {
            let mut places: Vec<usize> = cores.iter().map(|&c| place(&machine.cores[c])).collect();
            places.sort_unstable();
            places.dedup();
            places
        };
        cores.iter().for_each(|&core| of_node[machine.cores[core].node] += 1);
        let mut own = cores.clone();
        own.dedup();
        own.iter().for_each(|&core| of_core[core] += 1);
        distinct(|core| core.l3).iter().for_each(|&l3| of_l3[l3] += 1);
        costs.crossing_package += u32::from(distinct(|core| core.package).len() > 1);
        let nodes = distinct(|core| core.node);
        costs.crossing_node += u32::from(nodes.len() > 1);
        for (index, &from) in nodes.iter().enumerate() {
            for &to in &nodes[index + 1..] {
                costs.distance += u64::from(machine.distance(from, to));
            }
            let nearest = near.iter().map(|&to| machine.distance(from, to)).min();
            costs.distance += u64::from(nearest.unwrap_or(0));
        }
    }
    costs.shared_cores = of_core.iter().filter(|&&count| count > 1).count() as u32;
    costs.shared_l3 = of_l3.iter().map(|count| count.saturating_sub(1)).sum();
    let usable = machine.cpu_nodes().filter(|&node| {
        machine.nodes[node]
            .cores
            .iter()
            .any(|&core| machine.cores[core].pus.iter().any(|&pu| machine.pus[pu].allowed))
    });
    let given: Vec<u32> = usable.map(|node| of_node[node]).collect();
    let (most, least) = (given.iter().max(), given.iter().min());
    costs.imbalance_cpus = most.unwrap_or(&0) - least.unwrap_or(&0);
    costs
}

/// Exchanges and moves cells until no change reduces the costs, or until [`EXCHANGES_MAX`] changes
/// have been evaluated. Returns the number of evaluated changes. If each instance is on one node,
/// no exchange helps, because the exchange of two equal instances does not change the costs.
pub(crate) fn improve(
    machine: &Machine,
    pool: &mut Pool,
    instances: &mut [Vec<PlacedCell>],
    near: &[usize],
) -> u64 {
    let now = cost(machine, pool, instances, near);
    let mut search = Search {
        machine,
        pool,
        instances,
        near,
        now,
        weighed: 0,
    };
    loop {
        let mut is_better = false;
        for instance in 0..search.instances.len() {
            for cell in 0..search.instances[instance].len() {
                if search.crosses(instance) {
                    is_better |= search.exchange(CellPlace { instance, cell });
                    is_better |= search.shift(CellPlace { instance, cell });
                }
            }
        }
        if !is_better || search.weighed >= EXCHANGES_MAX {
            return search.weighed;
        }
    }
}

#[derive(Clone, Copy)]
struct CellPlace {
    instance: usize,
    cell: usize,
}

struct Search<'a> {
    machine: &'a Machine,
    pool: &'a mut Pool,
    instances: &'a mut [Vec<PlacedCell>],
    near: &'a [usize],
    now: Costs,
    weighed: u64,
}

impl Search<'_> {
    fn crosses(&self, instance: usize) -> bool {
        let units = self.instances[instance].iter().flat_map(|cell| &cell.units);
        let mut nodes = units.map(|&unit| self.pool.units[unit].node);
        let first = nodes.next();
        nodes.any(|node| Some(node) != first)
    }

    /// Returns true if the last change reduced the costs. In this case, the new costs are stored.
    fn is_cheaper(&mut self) -> bool {
        self.weighed += 1;
        let then = cost(self.machine, self.pool, self.instances, self.near);
        let is_cheaper = then < self.now;
        if is_cheaper {
            self.now = then;
        }
        is_cheaper
    }

    /// Tries to exchange a cell with each equal cell of the other instances.
    fn exchange(&mut self, place: CellPlace) -> bool {
        let CellPlace { instance, cell } = place;
        let mut is_better = false;
        for other in (0..self.instances.len()).filter(|&other| other != instance) {
            for other_cell in 0..self.instances[other].len() {
                let (one, two) = (
                    &self.instances[instance][cell],
                    &self.instances[other][other_cell],
                );
                let is_equal = one.vcpus == two.vcpus && one.units.len() == two.units.len();
                if !is_equal || one.memory.len() > 1 || two.memory.len() > 1 {
                    continue;
                }
                if self.weighed >= EXCHANGES_MAX {
                    return is_better;
                }
                let theirs = CellPlace {
                    instance: other,
                    cell: other_cell,
                };
                self.swap(place, theirs);
                if self.is_cheaper() {
                    is_better = true
                } else {
                    self.swap(place, theirs)
                }
            }
        }
        is_better
    }

    /// Exchanges the units of two cells, and the nodes of their memory. Each cell keeps its amount
    /// of memory.
    fn swap(&mut self, one: CellPlace, two: CellPlace) {
        let mut held = std::mem::take(&mut self.instances[one.instance][one.cell].units);
        std::mem::swap(&mut held, &mut self.instances[two.instance][two.cell].units);
        self.instances[one.instance][one.cell].units = held;
        let node = |cell: &PlacedCell| cell.memory.first().map(|part| part.0);
        let nodes = (
            node(&self.instances[one.instance][one.cell]),
            node(&self.instances[two.instance][two.cell]),
        );
        if let (Some(first), Some(second)) = nodes {
            self.instances[one.instance][one.cell].memory[0].0 = second;
            self.instances[two.instance][two.cell].memory[0].0 = first;
        }
    }

    /// Tries to move a cell to each domain that has enough free cores.
    fn shift(&mut self, CellPlace { instance, cell }: CellPlace) -> bool {
        let mut is_better = false;
        for domain in 0..self.pool.domains.len() {
            let before = self.instances[instance][cell].clone();
            let node = self.pool.units[self.pool.domains[domain][0]].node;
            let room = self.pool.memory[node].unwrap_or(u64::MAX);
            let needs: u64 = before.memory.iter().map(|part| part.1).sum();
            let is_open = self.pool.fits(domain, before.vcpus) > 0 && room >= needs;
            if !is_open || before.memory.len() > 1 || self.weighed >= EXCHANGES_MAX {
                continue;
            }
            let units = self.pool.choose(domain, before.vcpus);
            self.instances[instance][cell].units = units.clone();
            if let Some(part) = self.instances[instance][cell].memory.first_mut() {
                part.0 = node;
            }
            if !self.is_cheaper() {
                self.instances[instance][cell] = before;
                continue;
            }
            is_better = true;
            self.pool.take(&units);
            self.pool.give_back(&before.units);
            if let (Some(free), Some(_)) = (&mut self.pool.memory[node], before.memory.first()) {
                *free -= needs;
            }
            if let Some(&(old, bytes)) = before.memory.first()
                && let Some(free) = &mut self.pool.memory[old]
            {
                *free += bytes;
            }
        }
        is_better
    }
}

fn cost(machine: &Machine, pool: &Pool, instances: &[Vec<PlacedCell>], near: &[usize]) -> Costs {
    let cores = instances.iter().map(|cells| {
        let units = cells.iter().flat_map(|cell| &cell.units);
        let mut cores: Vec<usize> = units
            .flat_map(|&unit| {
                let unit = &pool.units[unit];
                std::iter::repeat_n(unit.core, unit.cpus.len())
            })
            .collect();
        cores.sort_unstable();
        cores
    });
    cost_of(machine, &cores.collect::<Vec<_>>(), near)
}
