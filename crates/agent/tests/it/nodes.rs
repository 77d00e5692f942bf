//! Tests of processes that are bound to the CPUs and memory of each NUMA node of this machine in
//! turn. With one NUMA node, these tests prove little, so `cargo xtask guest` runs them in guests
//! with several nodes.

use super::hosts::{able, id, make, spec, wait_until};
use host::{Agent, Confinement, CpuSet, EffectiveAffinity, Memory, Start, process};
use std::path::Path;
use target_spec::{Capability, HostSpec};

/// Number of bytes that the process writes to memory, far more than the size of its program.
const WRITTEN_BYTES: u64 = 4 << 20;

/// Returns a command that fills memory and then sleeps.
fn fill() -> std::process::Command {
    let mut command = process::command(Path::new("/bin/sh"));
    let zeros = format!("head -c {WRITTEN_BYTES} /dev/zero | tr '\\0' a");
    command.args(["-c", &format!("x=$({zeros}); sleep 600 & wait; : $x")]);
    command
}

/// Returns the NUMA nodes that a host may use, with their CPUs. Nodes without CPUs or memory are
/// omitted.
fn nodes(agent: &Agent) -> Vec<(u32, CpuSet)> {
    let machine = agent.machine().unwrap();
    let own = machine.allowed_cpus();
    let least_bytes = WRITTEN_BYTES * 4;
    let has_memory = |bytes: Option<u64>| bytes.is_none_or(|bytes| bytes > least_bytes);
    let nodes = machine
        .nodes
        .iter()
        .filter(|node| node.allowed && has_memory(node.memory_bytes))
        .map(|node| (node.os, machine.cpus_of(&node.cores).intersection(&own)));
    nodes.filter(|(_, cpus)| !cpus.is_empty()).collect()
}

/// Binds a process to each NUMA node, and checks the CPUs and memory that the kernel reports.
fn bind_to_each(agent: &Agent, output: &Path, is_grouped: bool) {
    for (node, cpus) in nodes(agent) {
        let one: CpuSet = [node].into_iter().collect();
        let to = Confinement {
            name: format!("node{node}"),
            cpus: Some(cpus.clone()),
            memory: Memory::Bound(one.clone()),
        };
        let start = Start::new(&fill(), output).unwrap().confined(Some(to));
        let process = agent.start_by(&start).unwrap();
        wait_until("its memory is on its node", || {
            let found = agent.whereabouts(process).unwrap().resident_bytes;
            found.get(&node).is_some_and(|&bytes| bytes >= WRITTEN_BYTES)
        });
        let found = agent.whereabouts(process).unwrap();
        assert_eq!(found.all_cpus(), cpus, "node {node}");
        if is_grouped {
            assert_eq!(found.all_memory_nodes(), one, "{found:?}");
        }
        // Pages of files remain on the NUMA node of the process that read them first.
        let others = found.resident_bytes.iter().filter(|&(&other, _)| other != node);
        let elsewhere: u64 = others.map(|(_, bytes)| bytes).sum();
        assert!(elsewhere < WRITTEN_BYTES, "node {node}: {found:?}");
        agent.end_process(process, std::time::Duration::ZERO).unwrap();
    }
}

#[test]
fn a_group_binds_a_process_to_each_node_of_this_machine() {
    if !able(&[Capability::Hosts, Capability::CpuSet]) {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("cluster");
    let hosts = make("nodes", &spec(1, HostSpec::default()), &folder);
    let host = &hosts.all()[0];
    bind_to_each(host.agent(), &host.folder().join("output"), true);
    hosts.end().unwrap();
}

/// Earlier, a control group (version 2) kept the binding to NUMA nodes after a restart.
#[test]
fn a_restart_forgets_the_binding_of_a_process() {
    if !able(&[Capability::Hosts, Capability::CpuSet]) {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("cluster");
    let hosts = make("nodes-anew", &spec(1, HostSpec::default()), &folder);
    let host = &hosts.all()[0];
    let agent = host.agent();
    // Only memory that the process writes has the current policy.
    let has_filled = |found: &EffectiveAffinity, policy: &str| {
        let bytes = found.policy_bytes.get(policy);
        found.policy_bytes.is_empty() || bytes.is_some_and(|&bytes| bytes >= WRITTEN_BYTES)
    };
    let found = |to: Option<Confinement>, policy: Option<&str>| {
        let start = Start::new(&fill(), &host.folder().join("output")).unwrap();
        let process = agent.start_by(&start.confined(to)).unwrap();
        wait_until("what it writes is under its policy", || {
            let found = agent.whereabouts(process).unwrap();
            policy.is_none_or(|policy| has_filled(&found, policy))
        });
        let found = agent.whereabouts(process).unwrap();
        agent.end_process(process, std::time::Duration::ZERO).unwrap();
        found
    };
    let free = found(None, None);
    let (all_cpus, all) = (free.all_cpus(), free.all_memory_nodes());
    let nodes = nodes(agent);
    let (one, cpus) = &nodes[0];
    let one: CpuSet = [*one].into_iter().collect();
    let with_cpus: CpuSet = nodes.iter().map(|(node, _)| *node).collect();
    let interleave = format!("interleave:{with_cpus}");
    for (memory, cpus, nodes, policy) in [
        (Memory::Bound(one.clone()), Some(cpus), &one, "default"),
        (Memory::Anywhere, None, &all, "default"),
        (
            Memory::Interleaved(with_cpus.clone()),
            None,
            &with_cpus,
            &*interleave,
        ),
        (Memory::Anywhere, None, &all, "default"),
    ] {
        // A kernel without NUMA has no memory policies.
        if policy != "default" && free.policy_bytes.is_empty() {
            continue;
        }
        let to = Confinement {
            name: "node1".to_owned(),
            cpus: cpus.cloned(),
            memory: memory.clone(),
        };
        let found = found(Some(to), Some(policy));
        assert_eq!(&found.all_cpus(), cpus.unwrap_or(&all_cpus), "{memory:?}");
        assert_eq!(&found.all_memory_nodes(), nodes, "{memory:?}");
    }
    hosts.end().unwrap();
}

#[test]
fn affinity_and_policy_bind_a_process_to_each_numa_node() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("cluster");
    let agent = Agent::start_on_machine(&id("nodes-here"), &folder).unwrap();
    bind_to_each(&agent, &folder.join("output"), false);
    agent.end().unwrap();
}
