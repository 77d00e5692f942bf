//! Describes a machine and the placement of processes in sentences. The sentences state the
//! resources that the client shares with nodes, a way to avoid this, and the limits of a machine of
//! this size.

use super::machine_records::{Cpus, MachineView, PlacedProcess, describe_cpus};

/// Maximum number of names in a sentence.
const NAMES_MAX: usize = 4;

/// Describes the resources that the client shares with the nodes on its machine. Returns an empty
/// list if no client or no node ran on the machine.
pub fn about_client(seen: &MachineView<'_>, placed: &[PlacedProcess<'_>]) -> Vec<String> {
    let (client, nodes): (Vec<_>, Vec<_>) = placed
        .iter()
        .filter(|one| !one.cpus.is_empty())
        .partition(|one| one.record.is_client());
    let Some(client) = client.first() else {
        return Vec::new();
    };
    if nodes.is_empty() {
        return Vec::new();
    }
    let with = |mine: &Cpus| {
        let shares = |node: &&&PlacedProcess<'_>| !node.cpus.is_disjoint(mine);
        nodes
            .iter()
            .filter(shares)
            .map(|node| node.record.who.as_str())
            .collect::<Vec<_>>()
    };
    let cores = around(&seen.cores, &client.cpus);
    let l3 = around(&seen.l3, &client.cpus);
    let (by_cpu, by_core, by_l3) = (with(&client.cpus), with(&cores), with(&l3));
    let taken: Cpus = nodes.iter().flat_map(|node| &node.cpus).copied().collect();
    let free = |groups: &[Cpus]| free_of(groups, &taken, &client.allowed);
    if !by_cpu.is_empty() {
        let shared: Cpus = client.cpus.intersection(&taken).copied().collect();
        return vec![format!(
            "The client may run on {} on which {} may run too. {}",
            describe_cpus(&shared),
            names(&by_cpu),
            avoided(&free(&seen.cores), "core", seen.cores.len())
        )];
    }
    if !by_core.is_empty() {
        return vec![format!(
            "The client shares cores with {}, but uses other threads of these cores. {}",
            names(&by_core),
            avoided(&free(&seen.cores), "core", seen.cores.len())
        )];
    }
    if !by_l3.is_empty() {
        return vec![format!(
            "The client shares no core with a node, but an L3 cache with {}. {}",
            names(&by_l3),
            avoided(&free(&seen.l3), "L3 cache", seen.l3.len())
        )];
    }
    let sentence = if seen.l3.is_empty() {
        "The client shares no core with a node, as intended by the placement. The machine does not \
         report whether they share an L3 cache."
    } else {
        "The client shares neither a core nor an L3 cache with a node, as intended by the \
         placement."
    };
    vec![sentence.to_owned()]
}

fn around(groups: &[Cpus], cpus: &Cpus) -> Cpus {
    let touched = groups.iter().filter(|group| !group.is_disjoint(cpus));
    touched.flatten().copied().collect()
}

/// Returns the allowed CPUs of the groups on which no node runs.
fn free_of(groups: &[Cpus], taken: &Cpus, allowed: &Cpus) -> Cpus {
    let free = groups.iter().filter(|group| group.is_disjoint(taken));
    free.flatten().filter(|cpu| allowed.contains(cpu)).copied().collect()
}

/// Explains whether the client could have avoided sharing units with nodes. Either some units were
/// free, or the machine has only one unit, or the nodes use all units.
fn avoided(free: &Cpus, what: &str, count: usize) -> String {
    if !free.is_empty() {
        return format!(
            "Another placement could have avoided that: no node may run on any {what} of {}.",
            describe_cpus(free)
        );
    }
    match count {
        0 | 1 => format!("No placement could have avoided that: the machine has only one {what}."),
        _ => format!(
            "Only moving the nodes could have avoided that: they may run on every {what} that the \
             client may use."
        ),
    }
}

fn names(all: &[&str]) -> String {
    match all {
        few if few.len() <= NAMES_MAX => measure::number::listed(few),
        _ => format!(
            "{} and {} other nodes",
            all[..NAMES_MAX].join(", "),
            all.len() - NAMES_MAX
        ),
    }
}

/// Describes the effects that a machine of this size cannot show.
pub fn about_size(seen: &MachineView<'_>) -> Vec<String> {
    let mut said = Vec::new();
    if seen.numa_nodes.len() <= 1 {
        said.push(
            "The machine has only one NUMA node, so the cost of access to another NUMA node is \
             unknown."
                .to_owned(),
        );
    } else if seen.packages.len() == 1 {
        said.push(
            "The machine has only one socket, so the cost of access to another socket is unknown."
                .to_owned(),
        );
    }
    match seen.l3.len() {
        0 => said.push(
            "The machine does not report which cores share an L3 cache, so the run shows nothing \
             about L3 caches."
                .to_owned(),
        ),
        1 => said.push(
            "The machine has only one L3 cache, so the benefit of keeping a node within one cache \
             is unknown."
                .to_owned(),
        ),
        _ => {}
    }
    if seen.threads_per_core() == 1 {
        said.push(
            "Each core has one thread, so the run shows nothing about threads that share a core."
                .to_owned(),
        );
    }
    said
}

#[cfg(test)]
mod tests;
