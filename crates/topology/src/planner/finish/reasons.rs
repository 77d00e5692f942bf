//! Describes the reason for each choice in a plan, and the arguments against the plan.

use crate::guest_shape::VNUMA_VCPUS_MIN;
use crate::machine::Machine;
use crate::plan::Plan;
use crate::planner::{Attempt, feasible};
use crate::request::{Profile, Smt, Unit};
use crate::warnings::{Warning, WarningKind};
use measure::number::bytes as size;

pub(super) fn explain(machine: &Machine, attempt: &Attempt, plan: &mut Plan) {
    plan.reasons = reasons(machine, attempt, plan);
    plan.warnings = warnings(machine, attempt, plan);
    advise(attempt, plan);
}

fn reasons(machine: &Machine, attempt: &Attempt, plan: &Plan) -> Vec<String> {
    let (wish, first) = (&plan.wish, &plan.instances[0]);
    let mut said = Vec::new();
    let cells: Vec<usize> = first.cells.iter().map(|cell| cell.cpus.len()).collect();
    said.push(match (cells.len(), attempt.memory_cells) {
        (_, Some(parts)) => format!(
            "each instance has {parts} parts, because its memory exceeds that of one NUMA node"
        ),
        (1, _) => format!(
            "{} vCPUs fit on one NUMA node, so each instance has one part",
            wish.vcpus
        ),
        (count, _) => format!(
            "{} vCPUs are more than the {} of a NUMA node, so each instance has {count} parts of \
             {cells:?}",
            wish.vcpus, attempt.sizes.node
        ),
    });
    said.push(match wish.smt {
        Smt::Pack if attempt.shares_cores => {
            "whole cores do not suffice, so the plan assigns threads one by one".to_owned()
        }
        Smt::Pack => format!(
            "the plan assigns whole cores, so that no core serves two instances: {} cores for {} \
             vCPUs",
            first.cores.len(),
            wish.vcpus
        ),
        Smt::OnePerCore => {
            "the plan assigns one thread of each core; the other threads are idle".to_owned()
        }
    });
    for instance in &plan.instances {
        let nodes = crate::CpuSet::from_iter(instance.nodes.iter().copied());
        let groups = instance.l3.len();
        let why = match instance.nodes.len() {
            1 => "the node with the most free memory among those with space",
            _ => "the node with the most free memory, and then the nodes nearest to that node",
        };
        said.push(format!(
            "instance {} is on node {nodes} ({why}), on {groups} L3 cache{}",
            instance.index,
            if groups == 1 { "" } else { "s" }
        ));
    }
    said.extend(reasons_of_guests(plan));
    said.extend(reasons_of_jvms(machine, plan));
    said
}

fn reasons_of_guests(plan: &Plan) -> Vec<String> {
    let (wish, first) = (&plan.wish, &plan.instances[0]);
    let mut said = Vec::new();
    said.push(plan.crossings("instance"));
    said.push(format!("vSphere 7 shows each VM {}", plan.vsphere7));
    said.push(format!("vSphere 8 shows each VM {}", plan.vsphere8));
    if wish.profile == Profile::Pinned {
        said.push(format!(
            "with this pinning, a guest should have {}",
            first.pinned
        ));
    }
    said
}

fn reasons_of_jvms(machine: &Machine, plan: &Plan) -> Vec<String> {
    let (wish, first) = (&plan.wish, &plan.instances[0]);
    let mut said = Vec::new();
    if wish.memory_bytes.is_none() {
        said.push(match first.memory_bytes {
            Some(bytes) => format!(
                "no memory was requested: the plan assumes {}, an equal share of the machine or of \
                 the nodes with the most instances",
                size(bytes)
            ),
            None => "the memory of the machine is unknown, so the plan sets no heap".to_owned(),
        });
    }
    if let Some(heap) = first.jvm.heap_bytes {
        said.push(format!(
            "the heap is {} MiB: half the memory, and at most 31 GiB, because a heap of 32 to 38 \
             GB has wider pointers, and contains less data. The rest is page cache",
            heap >> 20
        ));
    }
    let threads = first.jvm.parallel_gc_threads * wish.instances;
    let unbound = crate::parallel_gc_threads(machine.pus.len() as u32) * wish.instances;
    said.push(format!(
        "ActiveProcessorCount limits the JVMs to {threads} parallel GC threads together; without \
         it, they would start {unbound}"
    ));
    said.push(first.jvm.numa_reason.clone());
    said.push(format!(
        "all instances are in rack {}: two replicas of a row never share this machine as long as \
         other machines are in other racks",
        plan.rack
    ));
    said
}

fn warnings(machine: &Machine, attempt: &Attempt, plan: &Plan) -> Vec<Warning> {
    let wish = &plan.wish;
    let mut said = Vec::new();
    if attempt.gave_up_housekeeping {
        let mut text =
            "one core in 16 for interrupts does not fit next to the instances, so the plan omits \
             it"
            .to_owned();
        if let Some(vcpus) = feasible::vcpus_with_housekeeping(machine, wish) {
            text += &format!("; with V={vcpus} this core fits");
        }
        said.push(text.into());
    }
    let given = (wish.instances * wish.vcpus) as usize;
    if given >= machine.allowed_cpus().len() && plan.housekeeping.is_empty() {
        let text = "the plan assigns every CPU, so no CPU remains for the hypervisor, interrupts \
                    and the host";
        said.push(Warning::new(WarningKind::EveryCpu, text.to_owned()));
    }
    if attempt.shares_cores {
        let count = plan.costs.shared_cores;
        let text = format!("several instances share {count} cores");
        said.push(Warning::new(WarningKind::SharedCores, text));
    }
    if attempt.mixes_kinds {
        said.push(
            "the fast cores do not suffice, so the plan also uses slower cores"
                .to_owned()
                .into(),
        );
    }
    if wish.vcpus > wish.max_cpus_per_instance {
        said.push(format!(
            "{} CPUs are more than the {} to which one Cassandra scales; several smaller instances \
             achieve more",
            wish.vcpus, wish.max_cpus_per_instance
        ).into());
    }
    said.extend(warnings_of_memory(attempt, plan));
    for name in &wish.near {
        if machine.devices.iter().all(|device| device.name != *name) {
            said.push(
                format!(
                    "the machine has no device {name}, near which the request places instances"
                )
                .into(),
            );
        }
    }
    said.extend(
        machine
            .notes
            .iter()
            .map(|note| Warning::from(format!("of the machine: {note}"))),
    );
    said
}

/// Returns warnings about properties of memory and CPUs that guests do not see.
fn warnings_of_memory(attempt: &Attempt, plan: &Plan) -> Vec<Warning> {
    let wish = &plan.wish;
    let mut said = Vec::new();
    if attempt.memory_cells.is_some()
        && matches!(wish.profile, Profile::Vsphere7 | Profile::Vsphere8)
    {
        said.push(
            "ESXi does not consider memory: the guest has a node larger than any real node, and \
             does not detect that a part of its memory is remote. Remedy: set cores per socket and \
             virtual NUMA nodes yourself (vSphere 8), numa.consolidate=FALSE (7)"
                .to_owned()
                .into(),
        );
    }
    if wish.hot_add && plan.instances[0].cells.len() > 1 {
        said.push(
            "with CPU hot-add the guest has one NUMA node, but the plan puts it on several"
                .to_owned()
                .into(),
        );
    }
    let split: Vec<u32> = plan
        .instances
        .iter()
        .filter(|one| one.cells.iter().any(|cell| cell.nodes.len() > 1))
        .map(|one| one.index)
        .collect();
    if !split.is_empty() {
        let text = format!("no node had space for a part of instances {split:?}; it is on several");
        said.push(Warning::new(WarningKind::SplitPart, text));
    }
    let away: Vec<u32> = plan
        .instances
        .iter()
        .filter(|one| one.memory.iter().any(|part| !one.nodes.contains(&part.node)))
        .map(|one| one.index)
        .collect();
    if !away.is_empty() {
        let text = format!("instances {away:?} have memory on nodes on which they have no CPUs");
        said.push(Warning::new(WarningKind::MemoryAway, text));
    }
    said
}

fn advise(attempt: &Attempt, plan: &mut Plan) {
    let (wish, sizes) = (&plan.wish, attempt.sizes);
    let threads = attempt.pool.units.iter().map(|unit| unit.cpus.len() as u32).max().unwrap_or(1);
    let factor = if wish.unit() == Unit::Cores {
        threads
    } else {
        1
    };
    let (node, l3) = (sizes.node * factor, sizes.l3 * factor);
    let vcpus = wish.vcpus;
    let mut advice = Vec::new();
    if node > vcpus && node % vcpus != 0 && node / vcpus == 1 {
        advice.push(format!("V={node} fills a node"));
    }
    if l3 < node && vcpus % l3 != 0 {
        let down = vcpus / l3 * l3;
        let near = if down > 0 { down } else { l3 };
        advice.push(format!(
            "V={near} fills {}",
            match near / l3 {
                1 => "an L3 cache".to_owned(),
                count => format!("{count} L3 caches"),
            }
        ));
    }
    if !advice.is_empty() {
        plan.reasons.push(format!("advice: {}", advice.join(", ")));
    }
    let shown = plan.vsphere8.vnuma.len();
    let cores = plan.vsphere8.vnuma.iter().max().copied().unwrap_or(0);
    let fits_threads = vcpus <= node;
    if shown > 1 && fits_threads && wish.unit != Some(Unit::Threads) && vcpus >= VNUMA_VCPUS_MIN {
        plan.reasons.push(format!(
            "ESXi counts cores, not threads: V={vcpus} becomes {shown} virtual NUMA nodes of up to \
             {cores} vCPUs, unless numa.vcpu.preferHT=TRUE, which results in one"
        ));
    }
}
