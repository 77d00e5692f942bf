//! Where on their machine the nodes of a trial and the client run, as the kernel says it.

use super::machines;
use crate::offer::workers_on;
use crate::running::Running;
use anyhow::Result;
use cluster::NodePlace;
use host::Whereabouts;
use std::collections::BTreeMap;
use store::record::{MachineHostRecord, PlacementRecord};
use study::settings::Settings;
use target::HostsAre;
use topology::CpuSet;

/// What the client's machine is called where it is no stand-in.
const THIS_MACHINE: &str = "this machine";

/// Of the nodes, and of the client's workers as they will be.
///
/// # Errors
/// The kernel does not tell of one of them.
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
        // What else did not answer says nothing of where they run.
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
        // What is of one node begins with its name; the rest is of all of them.
        let first = sentence.split(' ').next().unwrap_or_default();
        let of = records.iter().position(|record| record.who == first);
        records[of.unwrap_or(0)].notes.push(sentence.clone());
    }
    Ok(records)
}

/// The CPUs of hosts that are machines of their own, by their names.
///
/// # Errors
/// One does not say what it looks like.
fn hosts_elsewhere(running: &Running) -> Result<BTreeMap<String, CpuSet>> {
    if running.cluster.hosts_are().is_this_machine() {
        return Ok(BTreeMap::new());
    }
    let machines = machines::of(running)?;
    let hosts = machines.into_iter().flat_map(|machine| machine.hosts);
    let cpus = |host: MachineHostRecord| Some((host.name, CpuSet::parse_list(&host.cpus).ok()?));
    Ok(hosts.filter_map(cpus).collect())
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
        host: if hosts == HostsAre::Addresses {
            THIS_MACHINE.to_owned()
        } else {
            host
        },
        topology: topology.to_owned(),
        ..of(&found, cpus)
    }
}

/// The CPUs of this machine, which is that of all stand-ins that nodes are started on.
fn online() -> Option<CpuSet> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online").ok()?;
    CpuSet::parse_list(&text).ok()
}

/// Where memory comes from: as far as its group lets it, and if most of it has a policy that binds
/// it, from there alone.
fn memory_nodes(found: &Whereabouts) -> CpuSet {
    let all = found.all_memory_nodes();
    let sum: u64 = found.policy_bytes.values().sum();
    let bound = found.policy_bytes.iter().find_map(|(policy, bytes)| {
        let nodes = policy.strip_prefix("bind:")?;
        (bytes * 2 > sum).then(|| CpuSet::parse_list(nodes).ok())?
    });
    bound.map_or(all.clone(), |bound| all.intersection(&bound))
}

/// The workers are pinned when load begins; before that it is known to what.
fn client(running: &Running, settings: &Settings) -> Result<PlacementRecord> {
    let found = Whereabouts::own()?;
    let cpus = running.client_cpus(&settings.client);
    let threads = workers_on(&settings.client, usize::MAX, &cpus);
    let used: Vec<String> = cpus.iter().take(threads).map(usize::to_string).collect();
    let kept = of(&found, online());
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

/// Of a machine with the CPUs `online`, as far as they are known.
fn of(found: &Whereabouts, online: Option<CpuSet>) -> PlacementRecord {
    let cpus = found.all_cpus();
    PlacementRecord {
        // The kernel lists for who is not bound all that could ever be there.
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
            memory_nodes(&Whereabouts {
                memory_nodes: [(all.clone(), 50)].into(),
                policy_bytes: policies.map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect(),
                ..Whereabouts::default()
            })
            .to_string()
        };
        assert_eq!(with(&[]), "0-3");
        assert_eq!(with(&[("bind:1", 900), ("default", 100)]), "1");
        assert_eq!(with(&[("bind:1", 100), ("default", 900)]), "0-3");
        assert_eq!(with(&[("interleave:0-1", 900)]), "0-3");
    }
}
