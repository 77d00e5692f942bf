//! Tests plans for the development machine and for published topologies of other machines.

mod client;

use super::*;
use std::collections::BTreeSet;
use target_spec::{HostSpec, HostsSpec};
use topology::test_machines::{Counts, Numbering, Shape};

fn set(list: &str) -> CpuSet {
    CpuSet::parse_list(list).unwrap()
}

/// Returns the development machine: one socket with two cores of one thread each.
fn small() -> Machine {
    let shape = Shape::regular(Counts(1, 1, 1, 2, 1), Numbering::Block, 16);
    shape.machine().unwrap()
}

fn xeon() -> Machine {
    Shape::xeon_2x28(Numbering::Block).machine().unwrap()
}

fn epyc() -> Machine {
    Shape::epyc_7601().machine().unwrap()
}

fn spec(nodes: usize, topology: Topology) -> LocalSpec {
    LocalSpec {
        nodes,
        topology,
        heap_bytes: 512 << 20,
        ..LocalSpec::default()
    }
}

fn placed(placing: Placing) -> Topology {
    Topology {
        placing,
        ..Topology::default()
    }
}

fn client_of(layout: &Layout) -> CpuSet {
    layout.client.iter().flatten().copied().collect()
}

fn cpus(layout: &Layout) -> Vec<CpuSet> {
    let nodes = layout.nodes.iter();
    nodes.map(|node| node.confinement.cpus.clone().unwrap()).collect()
}

#[test]
fn nothing_is_said_unless_it_is_asked_for() {
    let layout = Layout::plan(&spec(3, Topology::default()), &small()).unwrap();
    assert_eq!(layout, Layout::default());
}

#[test]
fn a_one_core_node_leaves_a_core_and_reports_the_shared_l3() {
    let topology = Topology {
        cpus: Some(1),
        ..placed(Placing::Pinned)
    };
    let layout = Layout::plan(&spec(1, topology), &small()).unwrap();
    let node = &layout.nodes[0];
    assert_eq!((cpus(&layout), node.processors), (vec![set("0")], 1));
    assert_eq!(layout.client, Some(vec![1]));
    assert_eq!(node.confinement.memory, Memory::Anywhere, "one NUMA node");
    assert!(
        node.options.contains(&"-XX:ParallelGCThreads=1".to_owned()),
        "{node:?}"
    );
    let said = layout.of_client.unwrap();
    assert!(said.contains("nodes use every L3 cache"), "{said}");
}

#[test]
fn eight_nodes_on_an_epyc_get_one_numa_node_and_its_memory_each() {
    let layout = Layout::plan(
        &spec(
            8,
            Topology {
                cpus: Some(16),
                ..placed(Placing::Pinned)
            },
        ),
        &epyc(),
    )
    .unwrap();
    let homes: BTreeSet<String> = layout
        .nodes
        .iter()
        .map(|node| match &node.confinement.memory {
            Memory::Bound(nodes) => nodes.to_string(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(homes.len(), 8);
    let all = cpus(&layout);
    assert_eq!(
        all.iter().map(CpuSet::len).sum::<usize>(),
        layout.taken().len()
    );
    assert_eq!(layout.client, None);
    assert!(
        layout.of_client.as_ref().unwrap().contains("competes"),
        "{layout:?}"
    );
}

#[test]
fn the_client_has_an_l3_of_its_own_where_there_are_enough() {
    let layout = Layout::plan(&spec(3, placed(Placing::Pinned)), &epyc()).unwrap();
    let client = client_of(&layout);
    let machine = epyc();
    assert!(machine.l3_neighbours(&client).is_disjoint(&layout.taken()));
    // Each of the two sockets has one L3 cache and runs one Cassandra node.
    let layout = Layout::plan(&spec(2, placed(Placing::Pinned)), &xeon()).unwrap();
    let client = client_of(&layout);
    assert!(xeon().core_neighbours(&client).is_disjoint(&layout.taken()));
    assert!(client.len() >= 28, "{client}");
    let first: CpuSet = layout.client.iter().flatten().copied().take(14).collect();
    assert_eq!(
        xeon().core_neighbours(&first).len(),
        28,
        "a core each: {first}"
    );
}

#[test]
fn at_home_nodes_share_what_their_numa_node_has() {
    let topology = Topology {
        cpus: Some(28),
        ..placed(Placing::Auto)
    };
    let layout = Layout::plan(&spec(4, topology), &xeon()).unwrap();
    let all = cpus(&layout);
    assert!(all.iter().all(|cpus| cpus.len() == 56), "{all:?}");
    assert_eq!(
        all.iter().collect::<BTreeSet<_>>().len(),
        2,
        "two on each socket"
    );
    let options = &layout.nodes[0].options;
    assert!(
        options.contains(&"-XX:ActiveProcessorCount=28".to_owned()),
        "{options:?}"
    );
}

#[test]
fn nodes_that_run_anywhere_interleave_their_memory() {
    let topology = Topology {
        cpus: Some(14),
        ..placed(Placing::OneSocketPerVcpu)
    };
    let layout = Layout::plan(&spec(8, topology), &xeon()).unwrap();
    let node = &layout.nodes[7];
    assert_eq!(node.confinement.cpus, None);
    assert_eq!(node.confinement.memory, Memory::Interleaved(set("0-1")));
    assert_eq!(node.processors, 14);
    assert_eq!(layout.client, None);
}

#[test]
fn a_part_is_the_first_units_and_the_rest_is_the_clients() {
    let topology = Topology {
        part: Some((Units::Numa, 3)),
        ..placed(Placing::Pinned)
    };
    let layout = Layout::plan(&spec(3, topology), &epyc()).unwrap();
    let parts = epyc().parts(Units::Numa);
    let first: CpuSet = parts[..3].iter().flat_map(|part| part.cpus.iter()).collect();
    assert_eq!(layout.taken(), first);
    assert_eq!(layout.client.clone().unwrap().len(), 128 - 48);
    let used = layout.part.clone().unwrap();
    assert_eq!(
        (used.units_per_socket, used.sockets, &used.split[..]),
        (4, 2, &[3][..])
    );
    let five = spec(
        1,
        Topology {
            part: Some((Units::Numa, 5)),
            placing: Placing::None,
            ..topology
        },
    );
    let layout = Layout::plan(&five, &epyc()).unwrap();
    assert_eq!(layout.part.clone().unwrap().split, [4, 1]);
    assert_eq!(
        (layout.taken().len(), layout.nodes[0].options.len()),
        (80, 0)
    );
    let all = spec(
        1,
        Topology {
            part: Some((Units::Cores, 3)),
            ..topology
        },
    );
    let error = format!("{:#}", Layout::plan(&all, &small()).unwrap_err());
    assert!(
        error.contains("3 cores of this machine, but only 2 cores"),
        "{error}"
    );
}

#[test]
fn a_layout_that_does_not_fit_is_refused_with_a_hint() {
    let error = Layout::plan(&spec(3, placed(Placing::Pinned)), &small()).unwrap_err();
    let error = format!("{error:#}");
    assert!(error.contains("place 3 nodes of 1 CPU each"), "{error}");
    assert!(error.contains("hint"), "{error}");
    let auto = Layout::plan(&spec(3, placed(Placing::Auto)), &small()).unwrap();
    assert!(cpus(&auto).iter().all(|one| *one == set("0-1")));
}

fn on_hosts(spec: LocalSpec, host: HostSpec) -> LocalSpec {
    LocalSpec {
        hosts: Some(HostsSpec {
            count: 1,
            host,
            ..HostsSpec::default()
        }),
        ..spec
    }
}

/// Without an option for the CPU count, a JVM uses at most the CPU quota of its host.
#[test]
fn a_jvm_without_a_cpu_count_uses_the_quota_of_its_host() {
    let host = HostSpec {
        cpu_quota: Some(1.5),
        ..HostSpec::default()
    };
    let part = Some((Units::Cores, 4));
    for (topology, counted) in [
        (placed(Placing::Auto), 2),
        (
            Topology {
                cpus: Some(4),
                ..placed(Placing::Auto)
            },
            4,
        ),
        (
            Topology {
                part,
                ..placed(Placing::None)
            },
            2,
        ),
        (
            Topology {
                part,
                ..placed(Placing::Pinned)
            },
            8,
        ),
    ] {
        let spec = on_hosts(spec(1, topology), host.clone());
        let layout = Layout::plan(&spec, &xeon()).unwrap();
        assert_eq!(layout.nodes[0].processors, counted, "{topology:?}");
    }
}

#[test]
fn only_the_cpus_of_the_hosts_are_used() {
    let host = HostSpec {
        cpus: Some(vec![1]),
        ..HostSpec::default()
    };
    let spec = on_hosts(spec(1, placed(Placing::Pinned)), host);
    let layout = Layout::plan(&spec, &small()).unwrap();
    assert_eq!(cpus(&layout), [set("1")]);
    assert_eq!(layout.client, Some(vec![0]), "what they leave");
}

fn six_cores() -> Machine {
    let shape = Shape::regular(Counts(1, 1, 1, 6, 2), Numbering::Block, 16);
    shape.machine().unwrap()
}

#[test]
fn no_node_has_the_cores_of_housekeeping() {
    let topology = Topology {
        housekeeping: 1,
        ..placed(Placing::Auto)
    };
    let whole = Topology {
        part: Some((Units::Sockets, 2)),
        ..topology
    };
    let layout = Layout::plan(&spec(2, whole), &xeon()).unwrap();
    let all = cpus(&layout);
    assert!(all.iter().all(|cpus| cpus.len() == 54), "{all:?}");
    assert_eq!(layout.nodes[0].processors, 54);
    let layout = Layout::plan(&spec(2, topology), &six_cores()).unwrap();
    // One core is reserved for housekeeping, and the last core for the client.
    assert_eq!(layout.taken().len(), 8, "{:?}", cpus(&layout));
}

#[test]
fn the_default_share_leaves_housekeeping_and_one_thread_a_core() {
    let part = Some((Units::Cores, 6));
    let wish = Topology {
        part,
        ..placed(Placing::Pinned)
    };
    for (topology, each) in [
        (wish, 6),
        (
            Topology {
                housekeeping: 1,
                ..wish
            },
            4,
        ),
        (
            Topology {
                smt: Some(Smt::OnePerCore),
                ..wish
            },
            3,
        ),
        (
            Topology {
                smt: Some(Smt::OnePerCore),
                housekeeping: 1,
                ..wish
            },
            2,
        ),
    ] {
        let layout = Layout::plan(&spec(2, topology), &six_cores()).unwrap();
        let counts: Vec<usize> = cpus(&layout).iter().map(CpuSet::len).collect();
        assert_eq!(counts, [each; 2], "{topology:?}");
        for placing in [Placing::Auto, Placing::Pinned] {
            for nodes in 1..=5 {
                let topology = Topology {
                    placing,
                    ..topology
                };
                Layout::plan(&spec(nodes, topology), &six_cores()).unwrap();
            }
        }
    }
    // Reserved CPUs must not prevent Cassandra nodes from sharing NUMA nodes.
    let topology = Topology {
        placing: Placing::Auto,
        cpus: Some(7),
        housekeeping: 1,
        ..wish
    };
    Layout::plan(&spec(4, topology), &six_cores()).unwrap();
}

#[test]
fn an_overcommit_factor_always_covers_the_request() {
    for room in 1..=300 {
        for asked in 1..=900 {
            let times = overcommit(asked, room);
            assert!(
                f64::from(room) * times >= f64::from(asked),
                "{asked}/{room}"
            );
            assert!(
                times.ceil() <= f64::from(asked.div_ceil(room)),
                "{asked}/{room}"
            );
        }
    }
}

#[test]
fn memory_interleaves_over_nodes_if_the_collector_ignores_numa() {
    let topology = Topology {
        cpus: Some(32),
        ..placed(Placing::Pinned)
    };
    for (option, name) in [
        ("Shenandoah", "Shenandoah"),
        ("Serial", "Serial"),
        ("G1", ""),
    ] {
        for placing in [Placing::Pinned, Placing::Auto] {
            let spec = LocalSpec {
                jvm_options: vec![format!("-XX:+Use{option}GC")],
                ..spec(
                    1,
                    Topology {
                        placing,
                        ..topology
                    },
                )
            };
            let layout = Layout::plan(&spec, &epyc()).unwrap();
            let takes_turns = matches!(layout.nodes[0].confinement.memory, Memory::Interleaved(_));
            assert_eq!(takes_turns, !name.is_empty(), "{layout:?}");
            let said = layout.sentences.join("\n");
            let expected = format!("and {name} on JDK 17, which has no NUMA support");
            assert_eq!(said.contains(&expected), takes_turns, "{said}");
        }
    }
}

#[test]
fn each_reason_of_memory_is_said_once_and_of_whom_it_is() {
    // Three nodes of 18 cores run on two sockets of 28 cores, so the third node spans both sockets.
    let topology = Topology {
        cpus: Some(36),
        ..placed(Placing::Pinned)
    };
    let layout = Layout::plan(&spec(3, topology), &xeon()).unwrap();
    let on_both: Vec<&str> = layout
        .nodes
        .iter()
        .filter(|node| node.confinement.memory == Memory::Bound(set("0-1")))
        .map(|node| node.confinement.name.as_str())
        .collect();
    assert_eq!(on_both.len(), 1, "{layout:?}");
    let reasons: Vec<&String> =
        layout.sentences.iter().filter(|said| said.contains("UseNUMA")).collect();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    let starts = |name: &str| reasons.iter().any(|said| said.starts_with(name));
    assert!(
        starts(&format!("{}: 2 NUMA nodes", on_both[0])),
        "{reasons:?}"
    );
}

#[test]
fn sentences_are_about_the_nodes_and_the_real_machine() {
    let said = |nodes: usize, topology: Topology, machine: &Machine| {
        let layout = Layout::plan(&spec(nodes, topology), machine).unwrap();
        layout.sentences.join("\n")
    };
    let four = Topology {
        part: Some((Units::Cores, 4)),
        ..placed(Placing::Pinned)
    };
    let none_left = |said: &str| said.contains(sentences::NONE_LEFT);
    let of_part = said(2, four, &six_cores());
    assert!(!of_part.contains("every CPU"), "{of_part}");
    let all = Topology {
        part: Some((Units::Cores, 6)),
        ..four
    };
    assert!(none_left(&said(2, all, &six_cores())));
    let one = Topology {
        part: Some((Units::Cores, 1)),
        ..four
    };
    let shared = said(2, one, &six_cores());
    assert!(shared.contains("several nodes share 1 core"), "{shared}");
    // The first two nodes use 18 of the 28 cores of a socket each, so the third node spans both
    // sockets.
    let wide = Topology {
        cpus: Some(36),
        ..placed(Placing::Pinned)
    };
    let split = said(3, wide, &xeon());
    assert!(
        split.contains("no NUMA node had space for a part of node"),
        "{split}"
    );
    for said in [of_part, shared, split] {
        assert!(!said.contains("instances"), "{said}");
    }
}
