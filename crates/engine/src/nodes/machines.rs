//! Converts the topology of the hosts' machines to records.

use crate::running_target::Running;
use anyhow::Result;
use std::collections::BTreeMap;
use store::record::{
    DeviceRecord, DieRecord, L3Record, MachineHostRecord, MachineTopologyRecord, NumaNodeRecord,
    PackageRecord,
};
use target_spec::HostKind;
use topology::{CoreKind, CpuSet, DeviceKind, Machine};

/// Returns the machines of a target. The first call reads the topology of the machines, and later
/// calls return the same records.
///
/// # Errors
/// A machine cannot be reached, or does not report its topology.
pub fn read(running: &Running) -> Result<Vec<MachineTopologyRecord>> {
    if let Some(known) = running.machines.get() {
        return Ok(known.clone());
    }
    let cluster = &running.cluster;
    let seen = records(&cluster.machines()?, cluster.hosts_are());
    Ok(running.machines.get_or_init(|| seen).clone())
}

/// Returns a record for each machine. Simulated hosts are always on one machine, so simulated hosts
/// with the same topology share a record. Other hosts never share a record, because two different
/// machines may have the same topology.
fn records(machines: &[(String, Machine)], hosts: HostKind) -> Vec<MachineTopologyRecord> {
    let are_one = hosts.is_this_machine();
    let mut records: Vec<MachineTopologyRecord> = Vec::new();
    for (name, machine) in machines {
        let mut record = record(name, machine);
        let is_same = |known: &MachineTopologyRecord| {
            let (hosts, notes) = (known.hosts.clone(), known.notes.clone());
            MachineTopologyRecord {
                hosts,
                notes,
                ..record.clone()
            } == *known
        };
        match records.iter_mut().find(|known| are_one && is_same(known)) {
            Some(known) => {
                known.hosts.append(&mut record.hosts);
                record.notes.retain(|note| !known.notes.contains(note));
                known.notes.append(&mut record.notes);
            }
            None => records.push(record),
        }
    }
    records
}

fn record(host: &str, machine: &Machine) -> MachineTopologyRecord {
    let list = |cores: &[usize]| machine.cpus_of(cores).to_string();
    let packages = machine.packages.iter();
    let dies = machine.dies.iter();
    let l3 = machine.l3.iter();
    let all = 0..machine.cores.len();
    let mems: CpuSet =
        machine.nodes.iter().filter(|node| node.allowed).map(|node| node.os).collect();
    MachineTopologyRecord {
        hosts: vec![MachineHostRecord {
            name: host.to_owned(),
            cpus: machine.allowed_cpus().to_string(),
            mems: mems.to_string(),
        }],
        source: machine.source.clone(),
        packages: packages
            .map(|package| PackageRecord {
                os: package.os,
                cpus: list(&package.cores),
            })
            .collect(),
        dies: dies
            .map(|die| DieRecord {
                package: die.package,
                cpus: list(&die.cores),
            })
            .collect(),
        numa_nodes: machine.nodes.iter().map(|node| numa_node(machine, node)).collect(),
        l3: l3
            .map(|l3| L3Record {
                cpus: list(&l3.cores),
                size_bytes: l3.size_bytes,
                is_real: l3.is_real,
            })
            .collect(),
        cores: all.map(|core| list(&[core])).collect(),
        kinds: kinds(machine),
        offline: machine.offline.to_string(),
        distances: machine.distances.as_ref().map(|table| table.rows.clone()).unwrap_or_default(),
        devices: machine.devices.iter().map(device).collect(),
        notes: machine.notes.clone(),
    }
}

fn numa_node(machine: &Machine, node: &topology::Node) -> NumaNodeRecord {
    NumaNodeRecord {
        os: node.os,
        cpus: machine.cpus_of(&node.cores).to_string(),
        memory_bytes: node.memory_bytes,
        kind: node.kind.clone().unwrap_or_default(),
    }
}

fn kinds(machine: &Machine) -> BTreeMap<String, String> {
    let of = |kind: CoreKind| {
        let all = 0..machine.cores.len();
        let cores: Vec<usize> = all.filter(|&at| machine.cores[at].kind == kind).collect();
        machine.cpus_of(&cores)
    };
    let kinds = [
        ("performance", of(CoreKind::Performance)),
        ("efficiency", of(CoreKind::Efficiency)),
    ]
    .into_iter()
    .filter(|(_, cpus)| !cpus.is_empty());
    kinds.map(|(name, cpus)| (name.to_owned(), cpus.to_string())).collect()
}

fn device(device: &topology::Device) -> DeviceRecord {
    let kind = match device.kind {
        DeviceKind::Network => "network",
        DeviceKind::Nvme => "nvme",
        DeviceKind::Block => "block",
    };
    DeviceRecord {
        kind: kind.to_owned(),
        name: device.name.clone(),
        numa_node: device.node_os,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(text: &str) -> Machine {
        Machine::from_bytes(text.as_bytes(), "a test").expect("a machine")
    }

    #[test]
    fn a_machine_of_two_sockets_keeps_its_parts() {
        let machine = machine("pack:2 [numa(memory=1GiB)] l3:2 core:2 pu:2");
        let records = records(&[("db1".to_owned(), machine)], HostKind::StandIns);
        let [record] = &records[..] else {
            panic!("{records:?}")
        };
        assert_eq!(record.packages[1].cpus, "8-15");
        assert_eq!(record.numa_nodes[1].cpus, "8-15");
        assert_eq!(record.numa_nodes[1].memory_bytes, Some(1 << 30));
        let l3: Vec<&str> = record.l3.iter().map(|l3| l3.cpus.as_str()).collect();
        assert_eq!(l3, ["0-3", "4-7", "8-11", "12-15"]);
        assert_eq!(record.cores[0], "0-1");
        assert_eq!(record.hosts[0].cpus, "0-15");
        assert!(record.kinds.is_empty());
    }

    /// Two machines of the same type have the same topology. Only simulated hosts are certain to be
    /// on one machine.
    #[test]
    fn stand_ins_share_a_record_and_other_hosts_do_not() {
        let mut limited = machine("core:4 pu:1");
        limited.pus[3].allowed = false;
        limited.notes.push("CPUs 3 are not available here".to_owned());
        let hosts = [
            ("host1".to_owned(), machine("core:4 pu:1")),
            ("host2".to_owned(), limited),
        ];
        let shared = records(&hosts, HostKind::StandIns);
        assert_eq!(shared.len(), 1);
        let allowed: Vec<(&str, &str)> = shared[0]
            .hosts
            .iter()
            .map(|host| (host.name.as_str(), host.cpus.as_str()))
            .collect();
        assert_eq!(allowed, [("host1", "0-3"), ("host2", "0-2")]);
        assert!(shared[0].notes.contains(&"CPUs 3 are not available here".to_owned()));
        assert_eq!(records(&hosts, HostKind::Others).len(), 2);
    }
}
