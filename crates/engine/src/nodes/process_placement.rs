//! Reads from the kernel on which CPUs and NUMA nodes a trial's nodes and client run.

use super::machines;
use crate::load_run::workers_on;
use crate::running_target::Running;
use anyhow::{Result, bail};
use cluster::NodePlace;
use host::EffectiveAffinity;
use std::collections::BTreeMap;
use store::record::{MachineHostRecord, PlacementRecord};
use study::settings::Settings;
use target_spec::HostKind;
use topology::CpuSet;

/// Name of the client's machine if the client does not run on a simulated host.
const THIS_MACHINE: &str = "this machine";

/// Returns the placement of the nodes, and the placement that the client's workers will have.
///
/// # Errors
/// The kernel does not report the placement of a process.
pub(super) fn records(
    running: &Running,
    settings: &Settings,
    observed: Option<Vec<Result<NodePlace, String>>>,
) -> Result<Vec<PlacementRecord>> {
    let places = match observed {
        Some(places) => {
            let places: Result<Vec<NodePlace>, String> = places.into_iter().collect();
            places.map_err(anyhow::Error::msg)?
        }
        // The observation of the cluster failed, so this code reads the places separately.
        None => running.cluster.places()?,
    };
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let local = settings.target.local();
    let topology = local.map_or("none", |local| local.topology.placing.name());
    let there = hosts_elsewhere(running)?;
    let mut records: Vec<PlacementRecord> =
        places.into_iter().map(|place| node(running, place, topology, &there)).collect();
    let mut client = client(running, settings)?;
    topology.clone_into(&mut client.topology);
    records.push(client);
    for sentence in running.cluster.placement_sentences() {
        // A sentence about a single node begins with the name of the node. Any other sentence is
        // about all nodes.
        let first = sentence.split(' ').next().unwrap_or_default();
        let of = records.iter().position(|record| record.who == first);
        records[of.unwrap_or(0)].notes.push(sentence.clone());
    }
    Ok(records)
}

/// Returns the CPUs of each host that is a separate machine, by the name of the host.
///
/// # Errors
/// A host does not report its topology.
fn hosts_elsewhere(running: &Running) -> Result<BTreeMap<String, CpuSet>> {
    if running.cluster.hosts_are().is_this_machine() {
        return Ok(BTreeMap::new());
    }
    let machines = machines::read(running)?;
    let hosts = machines.into_iter().flat_map(|machine| machine.hosts);
    let cpus = |host: MachineHostRecord| match CpuSet::parse_list(&host.cpus) {
        Ok(cpus) => Ok((host.name, cpus)),
        Err(why) => bail!("read the list of CPUs of {}: {why}", host.name),
    };
    hosts.map(cpus).collect()
}

fn node(
    running: &Running,
    place: NodePlace,
    topology: &str,
    there: &BTreeMap<String, CpuSet>,
) -> PlacementRecord {
    let NodePlace { node, host, found } = place;
    let hosts = running.cluster.hosts_are();
    let cpus = if hosts.is_this_machine() {
        online()
    } else {
        there.get(&host).cloned()
    };
    PlacementRecord {
        who: node,
        host: if hosts == HostKind::Addresses {
            THIS_MACHINE.to_owned()
        } else {
            host
        },
        topology: topology.to_owned(),
        ..to_record(&found, cpus)
    }
}

/// Returns the CPUs of this machine, which all simulated hosts with nodes share.
fn online() -> Option<CpuSet> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online").ok()?;
    CpuSet::parse_list(&text).ok()
}

/// Returns the NUMA nodes on which the kernel allocates memory for the process. These are the NUMA
/// nodes that the cgroup allows. If a policy binds most of the memory, returns only the NUMA nodes
/// of that policy.
fn memory_nodes(found: &EffectiveAffinity) -> CpuSet {
    let all = found.all_memory_nodes();
    let sum: u64 = found.policy_bytes.values().sum();
    let bound = found.policy_bytes.iter().find_map(|(policy, bytes)| {
        let nodes = policy.strip_prefix("bind:")?;
        (bytes * 2 > sum).then(|| CpuSet::parse_list(nodes).ok())?
    });
    bound.map_or(all.clone(), |bound| all.intersection(&bound))
}

/// Returns the placement of the client. The load generator pins the workers only when the load
/// begins, but their CPUs are already known.
fn client(running: &Running, settings: &Settings) -> Result<PlacementRecord> {
    let found = EffectiveAffinity::own()?;
    let cpus = running.client_cpus(&settings.client);
    let threads = workers_on(&settings.client, usize::MAX, &cpus);
    let used: Vec<String> = cpus.iter().take(threads).map(usize::to_string).collect();
    let kept = to_record(&found, online());
    Ok(PlacementRecord {
        who: PlacementRecord::CLIENT.to_owned(),
        host: THIS_MACHINE.to_owned(),
        cpus: if used.is_empty() {
            kept.cpus
        } else {
            used.join(",")
        },
        threads,
        mems: kept.mems,
        ..PlacementRecord::default()
    })
}

/// Converts the placement of a process to its record. `online` contains the CPUs of the machine, if
/// they are known.
fn to_record(found: &EffectiveAffinity, online: Option<CpuSet>) -> PlacementRecord {
    let cpus = found.all_cpus();
    PlacementRecord {
        // For a process that is not bound, the kernel lists all possible CPUs, even those that the
        // machine does not have.
        cpus: online.map_or(cpus.clone(), |online| cpus.intersection(&online)).to_string(),
        mems: memory_nodes(found).to_string(),
        threads: found.threads,
        resident_bytes: found.resident_bytes.clone(),
        ..PlacementRecord::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_a_policy_binds_is_from_there_alone() {
        let all = CpuSet::parse_list("0-3").unwrap();
        let with = |policies: &[(&str, u64)]| {
            let policies = policies.iter();
            memory_nodes(&EffectiveAffinity {
                memory_nodes: [(all.clone(), 50)].into(),
                policy_bytes: policies.map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect(),
                ..EffectiveAffinity::default()
            })
            .to_string()
        };
        assert_eq!(with(&[]), "0-3");
        assert_eq!(with(&[("bind:1", 900), ("default", 100)]), "1");
        assert_eq!(with(&[("bind:1", 100), ("default", 900)]), "0-3");
        assert_eq!(with(&[("interleave:0-1", 900)]), "0-3");
    }
}
