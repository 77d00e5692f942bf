//! Tests the sentences about small machines.

use super::super::machine_records::MachineView;
use super::*;
use store::record::{
    L3Record, MachineHostRecord, MachineTopologyRecord, NodesRecord, NumaNodeRecord, PackageRecord,
    PlacementRecord,
};

fn machine(l3: &[&str], cores: &[&str], allowed: &str) -> MachineTopologyRecord {
    MachineTopologyRecord {
        hosts: vec![MachineHostRecord {
            name: "here".into(),
            cpus: allowed.into(),
            mems: "0".into(),
        }],
        packages: vec![PackageRecord {
            os: Some(0),
            cpus: allowed.into(),
        }],
        numa_nodes: vec![NumaNodeRecord {
            cpus: allowed.into(),
            ..NumaNodeRecord::default()
        }],
        l3: l3
            .iter()
            .map(|cpus| L3Record {
                cpus: (*cpus).into(),
                size_bytes: None,
                is_real: true,
            })
            .collect(),
        cores: cores.iter().map(|cpus| (*cpus).to_owned()).collect(),
        ..MachineTopologyRecord::default()
    }
}

fn sentences(machine: MachineTopologyRecord, client: &str, nodes: &[&str]) -> String {
    let placement = |who: &str, cpus: &str| PlacementRecord {
        who: who.into(),
        host: "here".into(),
        cpus: cpus.into(),
        ..PlacementRecord::default()
    };
    let mut placements = vec![placement("client", client)];
    let numbered = nodes.iter().enumerate();
    placements.extend(numbered.map(|(at, cpus)| placement(&format!("node{}", at + 1), cpus)));
    let record = NodesRecord {
        machines: vec![machine],
        placements,
        ..NodesRecord::default()
    };
    let seen = MachineView::new(&record.machines[0]);
    about_client(&seen, &seen.placed(&record)).join(" ")
}

/// Returns a machine with two L3 caches. Each L3 cache has two cores with two threads.
fn large() -> MachineTopologyRecord {
    machine(&["0-3", "4-7"], &["0-1", "2-3", "4-5", "6-7"], "0-7")
}

#[test]
fn cpus_shared_by_the_client_are_named_as_avoidable_or_not() {
    let small = || machine(&["0-1"], &["0", "1"], "0-1");
    for (machine, client, nodes, expected) in [
        (
            small(),
            "0-1",
            &["0-1"][..],
            "The client may run on CPUs 0-1 on which node1 may run too. Only moving the nodes \
             could have avoided that: they may run on every core that the client may use.",
        ),
        (
            small(),
            "1",
            &["0"],
            "The client shares no core with a node, but an L3 cache with node1. No placement could \
             have avoided that: the machine has only one L3 cache.",
        ),
        (
            machine(&["0-1"], &["0-1"], "0-1"),
            "1",
            &["0"],
            "The client shares cores with node1, but uses other threads of these cores. No \
             placement could have avoided that: the machine has only one core.",
        ),
        (
            large(),
            "1",
            &["0", "2"],
            "The client shares cores with node1, but uses other threads of these cores. Another \
             placement could have avoided that: no node may run on any core of CPUs 4-7.",
        ),
        (
            large(),
            "2-3",
            &["0-1"],
            "The client shares no core with a node, but an L3 cache with node1. Another placement \
             could have avoided that: no node may run on any L3 cache of CPUs 4-7.",
        ),
        (
            large(),
            "2-3",
            &["0-1", "4-5"],
            "The client shares no core with a node, but an L3 cache with node1. Only moving the \
             nodes could have avoided that: they may run on every L3 cache that the client may \
             use.",
        ),
        (
            large(),
            "4-7",
            &["0-3"],
            "The client shares neither a core nor an L3 cache with a node, as intended by the \
             placement.",
        ),
        (
            machine(&[], &["0", "1"], "0-1"),
            "1",
            &["0"],
            "The client shares no core with a node, as intended by the placement. The machine does \
             not report whether they share an L3 cache.",
        ),
        (small(), "", &["0"], ""),
        (small(), "0", &[], ""),
    ] {
        assert_eq!(sentences(machine, client, nodes), expected);
    }
}

/// CPUs that the client's host may not use do not count as free.
#[test]
fn only_what_the_client_may_use_could_have_been_taken() {
    let mut machine = large();
    machine.hosts[0].cpus = "0-3".into();
    let text = sentences(machine, "2-3", &["0-1"]);
    assert!(
        text.ends_with("every L3 cache that the client may use."),
        "{text}"
    );
}

#[test]
fn many_names_are_counted() {
    let text = sentences(large(), "0", &["0-7"; 7]);
    let expected = "on which node1, node2, node3, node4 and 3 other nodes may run too.";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn sentences_name_the_effects_that_a_machine_cannot_show() {
    let small = machine(&["0-1"], &["0", "1"], "0-1");
    assert_eq!(about_size(&MachineView::new(&small)).len(), 3);
    let mut two = large();
    two.numa_nodes.push(NumaNodeRecord {
        os: 1,
        cpus: "4-7".into(),
        ..NumaNodeRecord::default()
    });
    let said = about_size(&MachineView::new(&two));
    assert!(said[0].starts_with("The machine has only one socket") && said.len() == 1);
    two.packages.push(PackageRecord::default());
    assert!(about_size(&MachineView::new(&two)).is_empty());
}
