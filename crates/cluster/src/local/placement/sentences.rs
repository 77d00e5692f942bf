//! Describes a plan in sentences about the study's nodes: locations, costs and warnings. Omits the
//! planner's remarks on guests, heaps and racks.

use super::Placement;
use measure::number::counted;
use topology::{CpuSet, Instance, Plan, Warning, WarningKind};

/// Warning that the planner cannot give, because its input is only the nodes' part of the machine.
pub(super) const NONE_LEFT: &str =
    "nodes use every CPU, so no CPU remains for interrupts, the system and the client";

/// Describes planned nodes. `collector` is the name of a collector that the planner does not
/// support.
pub(super) fn plan_sentences(
    plan: &Plan,
    nodes: &[Placement],
    collector: Option<&str>,
) -> Vec<String> {
    let both: Vec<(&Instance, &Placement)> = plan.instances.iter().zip(nodes).collect();
    let mut said: Vec<String> = both.iter().map(|(one, node)| node_sentence(one, node)).collect();
    said.push(plan.crossings("node"));
    said.extend(memory_sentences(&both, collector));
    // This module describes the other kinds of warnings itself. The planner counts nodes from 0
    // instead of `node1`, and treats the nodes' part of the machine as the whole machine.
    let is_kept = |warning: &&Warning| warning.kind == WarningKind::Other;
    let warnings = plan.warnings.iter().filter(is_kept);
    said.extend(warnings.map(|warning| warning.text.replace("instances", "nodes")));
    let names = |is_so: fn(&Instance) -> bool| {
        let those = both.iter().filter(|(one, _)| is_so(one));
        those.map(|(_, node)| node.confinement.name.as_str()).collect::<Vec<_>>()
    };
    // If the study requests overlapping NUMA nodes, the shared cores need no warning.
    if plan.warnings.iter().any(|warning| warning.kind == WarningKind::SharedCores) {
        let cores = counted(plan.costs.shared_cores as usize, "core");
        said.push(format!("several nodes share {cores}"));
    }
    let split = names(|one| one.cells.iter().any(|cell| cell.nodes.len() > 1));
    if !split.is_empty() {
        said.push(format!(
            "no NUMA node had space for a part of {}, so that part is on several NUMA nodes",
            split.join(", ")
        ));
    }
    let away = names(|one| {
        let mut memory = one.memory.iter();
        memory.any(|part| !one.nodes.contains(&part.node))
    });
    if !away.is_empty() {
        said.push(format!(
            "a part of the memory of {} is on NUMA nodes on which these nodes have no CPUs",
            away.join(", ")
        ));
    }
    said
}

fn node_sentence(instance: &Instance, node: &Placement) -> String {
    let numa: CpuSet = instance.nodes.iter().copied().collect();
    let cpus = node.confinement.cpus.as_ref().map(CpuSet::describe);
    format!(
        "{} may use {} of NUMA node {numa}; the plan assigns to this node {} under {}",
        node.confinement.name,
        cpus.unwrap_or_default(),
        counted(instance.cores.len(), "core"),
        counted(instance.l3.len(), "L3 cache"),
    )
}

/// Explains the placement of memory, each reason once. If nodes have different reasons, each
/// sentence begins with node names.
fn memory_sentences(both: &[(&Instance, &Placement)], collector: Option<&str>) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for (instance, node) in both {
        let reason = match collector {
            Some(name) => instance.jvm.numa_reason.replace("Shenandoah", name),
            None => instance.jvm.numa_reason.clone(),
        };
        let name = node.confinement.name.as_str();
        match reasons.iter_mut().find(|(other, _)| *other == reason) {
            Some((_, names)) => names.push(name),
            None => reasons.push((reason, vec![name])),
        }
    }
    let differ = reasons.len() > 1;
    let said = |(reason, names): (String, Vec<&str>)| {
        if differ {
            format!("{}: {reason}", names.join(", "))
        } else {
            reason
        }
    };
    reasons.into_iter().map(said).collect()
}
