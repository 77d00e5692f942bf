//! Tests pictures of machines with the processes on them. The tests use small machines, large
//! machines and several machines, and variants that place nodes in different ways.

use crate::golden::keep;
use crate::{fixture, lab};
use quick_xml::Reader;
use quick_xml::events::Event;
use report::{RunView, page};
use std::collections::BTreeMap;
use store::record::*;

/// Number of packages, of NUMA nodes per package, of L3 caches per NUMA node, of cores per L3
/// group, and of threads per core.
#[derive(Clone, Copy)]
struct Counts(u32, u32, u32, u32, u32);

/// Returns a machine of equal parts. The second threads of all cores come after the first threads.
fn machine(host: &str, counts: Counts) -> MachineTopologyRecord {
    let Counts(packages, nodes, l3s, cores, threads) = counts;
    let (in_node, in_package) = (l3s * cores, nodes * l3s * cores);
    let all = packages * in_package;
    let list = |first: u32, count: u32| {
        let of = |thread| {
            format!(
                "{}-{}",
                thread * all + first,
                thread * all + first + count - 1
            )
        };
        (0..threads).map(of).collect::<Vec<_>>().join(",")
    };
    let parts = |size: u32| (0..all / size).map(move |at| at * size);
    let core = |core: u32| {
        let cpus = (0..threads).map(|thread| (thread * all + core).to_string());
        cpus.collect::<Vec<_>>().join(",")
    };
    let package = |at: u32| PackageRecord {
        os: Some(at / in_package),
        cpus: list(at, in_package),
    };
    let node = |at: u32| NumaNodeRecord {
        os: at / in_node,
        cpus: list(at, in_node),
        memory_bytes: Some(64 << 30),
        kind: String::new(),
    };
    let l3 = |at: u32| L3Record {
        cpus: list(at, cores),
        size_bytes: Some(32 << 20),
        is_real: true,
    };
    let node_count = packages * nodes;
    let distance = |from: u32, to: u32| match (from == to, from / nodes == to / nodes) {
        (true, _) => 10,
        (false, true) => 12,
        _ => 32,
    };
    let row = |from: u32| (0..node_count).map(|to| distance(from, to)).collect();
    MachineTopologyRecord {
        hosts: vec![MachineHostRecord {
            name: host.into(),
            cpus: format!("0-{}", all * threads - 1),
            mems: (0..node_count).map(|at| at.to_string()).collect::<Vec<_>>().join(","),
        }],
        source: "files of /".into(),
        packages: parts(in_package).map(package).collect(),
        dies: Vec::new(),
        numa_nodes: parts(in_node).map(node).collect(),
        l3: parts(cores).map(l3).collect(),
        cores: (0..all).map(core).collect(),
        distances: (0..node_count).map(row).collect(),
        devices: vec![DeviceRecord {
            kind: "nvme".into(),
            name: "nvme0n1".into(),
            numa_node: Some(1),
        }],
        ..MachineTopologyRecord::default()
    }
}

/// Returns a machine of two CPUs, with `count` simulated hosts.
pub fn small(count: usize) -> MachineTopologyRecord {
    let mut small = machine("host1", Counts(1, 1, 1, 2, 1));
    small.numa_nodes[0].memory_bytes = Some(24 << 30);
    small.devices.clear();
    small.distances.clear();
    small.hosts = (1..=count)
        .map(|number| MachineHostRecord {
            name: format!("host{number}"),
            cpus: "0-1".into(),
            mems: "0".into(),
        })
        .collect();
    small
}

fn placement(who: &str, host: &str, cpus: &str, mems: &str) -> PlacementRecord {
    PlacementRecord {
        who: who.into(),
        host: host.into(),
        cpus: cpus.into(),
        mems: mems.into(),
        threads: 120,
        topology: "auto".into(),
        ..PlacementRecord::default()
    }
}

/// Returns the placements of nodes and a client that are not pinned. Their threads differ from
/// trial to trial.
pub fn all_over(count: usize, trial: usize) -> Vec<PlacementRecord> {
    let node = |number: usize| PlacementRecord {
        threads: 140 + trial,
        resident_bytes: BTreeMap::from([(0, 1_400_000_000 + ((trial as u64) << 26))]),
        topology: "none".into(),
        ..placement(
            &format!("node{number}"),
            &format!("host{number}"),
            "0-1",
            "0",
        )
    };
    let mut all: Vec<PlacementRecord> = (1..=count).map(node).collect();
    all.push(PlacementRecord {
        threads: 5,
        topology: String::new(),
        ..placement("client", "this machine", "0-1", "")
    });
    all
}

/// Returns a run with the first four trials of the fixture, on these machines. `of` returns the
/// placements of a variant.
fn run(machines: Vec<MachineTopologyRecord>, of: &dyn Fn(&str) -> Vec<PlacementRecord>) -> RunView {
    let mut run = fixture::run(1);
    let variants: Vec<String> = run.plan.trials.iter().map(|one| one.variant.to_string()).collect();
    for (trial, variant) in run.trials.iter_mut().zip(variants).take(4) {
        trial.nodes = Some(NodesRecord {
            isolation: "attach".into(),
            machines: machines.clone(),
            placements: of(&variant),
            ..NodesRecord::default()
        });
    }
    run
}

fn pictures(html: &str) -> Vec<&str> {
    let parts = html.split("<svg role=\"img\"").skip(1);
    parts.map(|part| part.split("</svg>").next().expect("an end")).collect()
}

fn count(svg: &str, class: &str) -> usize {
    let as_band = svg.matches(&format!("class=\"{class} band\"")).count();
    as_band + svg.matches(&format!("class=\"{class}\"")).count()
}

/// Returns a machine with two sockets of four NUMA nodes each, and 64 cores with two threads each.
fn two_sockets() -> MachineTopologyRecord {
    machine("db1", Counts(2, 4, 2, 4, 2))
}

fn on_two_sockets(variant: &str) -> Vec<PlacementRecord> {
    match variant {
        "on" => vec![
            placement("node1", "db1", "0-7,64-71", "0"),
            placement("node2", "db1", "32-39,96-103", "4"),
            PlacementRecord {
                resident_bytes: BTreeMap::from([(6, 3 << 30), (7, 1 << 20), (1, 0)]),
                ..placement("node3", "db1", "48-55,112-119", "6-7")
            },
            placement("client", "db1", "24-27,88-91", "3"),
        ],
        _ => vec![
            placement("node1", "db1", "0-127", ""),
            placement("node2", "db1", "0-127", ""),
            placement("client", "db1", "0-127", ""),
        ],
    }
}

#[test]
fn a_machine_of_two_sockets_is_drawn_for_each_placement() {
    let page = page(&run(vec![two_sockets()], &on_two_sockets));
    keep("two-sockets", &page);
    let html = report::html(&page);
    let pictures = pictures(&html);
    let [off, on] = pictures[..] else {
        panic!("{}", pictures.len())
    };
    // The picture must contain packages, NUMA nodes and L3 caches, and every thread in its colour.
    for picture in [off, on] {
        let boxes = ["box d0", "box d1", "box d2"].map(|class| count(picture, class));
        assert_eq!(boxes, [2, 8, 16]);
        assert_eq!(count(picture, "part"), 128);
    }
    assert_eq!(
        ["o0", "o1", "o2", "marked"].map(|class| count(on, class)),
        [16, 16, 16, 8]
    );
    assert_eq!(count(on, "free"), 128 - 3 * 16);
    assert_eq!(
        ["o0", "o1", "o2", "free"].map(|class| count(off, class)),
        [128, 128, 0, 0]
    );
    assert!(on.contains("CPU 8: free") && on.contains("CPU 103: node2"));
    assert!(on.contains("2 packages, 8 NUMA nodes, 16 L3 caches, 64 cores, 128 CPUs"));
    assert!(on.contains("memory of node3") && on.contains("nvme0n1"));

    let text = report::text(&page);
    let section = &text[text.find("MACHINES, NODES AND CLIENT").expect("the section")..];
    for part in [
        "Where nodes and client ran of on (trials 1, 3)",
        "Where nodes and client ran of off (trials 0, 2)",
        "6: 3 GiB, 7: 1 MiB",
        "The client shares neither a core nor an L3 cache with a node, as intended by the \
         placement.",
        "The client may run on CPUs 0-127 on which node1 and node2 may run too.",
    ] {
        assert!(section.contains(part), "{part:?} is not in\n{section}");
    }
    assert!(!section.contains("Limits of"), "{section}");
}

#[test]
fn places_that_are_alike_stand_once_with_their_ranges() {
    let page = page(&lab::run());
    keep("lab-machines", &page);
    let html = report::html(&page);
    let pictures = pictures(&html);
    assert_eq!(pictures.len(), 1);
    assert!(pictures[0].contains("node1, node2, node3 and 1 more"));
    let text = report::text(&page);
    let section = &text[text.find("MACHINES, NODES AND CLIENT").expect("the section")..];
    let unwrapped = section.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "140 to 143",
        "0: 1.3 GiB to 1.49 GiB",
        "Only moving the nodes could have avoided that",
        "The machine has only one NUMA node",
        "The machine has only one L3",
    ] {
        assert!(unwrapped.contains(part), "{part:?} is not in\n{section}");
    }
    assert_eq!(section.matches("Where nodes and client ran").count(), 1);
}

#[test]
fn a_machine_of_384_threads_is_drawn_with_few_tiles() {
    let large = machine("db1", Counts(2, 12, 1, 8, 2));
    let bytes = serde_json::to_string(&large).expect("JSON").len();
    assert!(bytes < 16_000, "{bytes} bytes of record");
    let places = |_: &str| {
        let node = |at: u32| {
            let (first, second) = (at * 8, at * 8 + 192);
            let cpus = format!("{first}-{},{second}-{}", first + 6, second + 6);
            placement(&format!("node{}", at + 1), "db1", &cpus, &at.to_string())
        };
        let mut all: Vec<PlacementRecord> = (0..23).map(node).collect();
        all.push(placement("client", "db1", "184-191,376-383", "23"));
        all
    };
    let page = page(&run(vec![large], &places));
    keep("large", &page);
    let html = report::html(&page);
    let pictures = pictures(&html);
    assert_eq!(pictures.len(), 1);
    let [boxes, parts] = ["box d1", "part"].map(|class| count(pictures[0], class));
    // In each L3 cache, seven cores belong to a node and one core is free, with two threads each.
    // The last L3 cache belongs to the client.
    assert_eq!([boxes, parts], [24, 23 * 4 + 2]);
    assert!(pictures[0].len() < 40_000, "{}", pictures[0].len());
}

/// Each core differs from its neighbour. Without a limit, the picture would have a separate tile
/// for each of thousands of cores.
#[test]
fn a_machine_that_is_cut_up_keeps_its_picture_small() {
    let large = machine("db1", Counts(8, 4, 4, 16, 2));
    let cpus: Vec<String> = (0..4096).step_by(2).map(|cpu| cpu.to_string()).collect();
    let places = |_: &str| vec![placement("node1", "db1", &cpus.join(","), "0-31")];
    let html = report::html(&page(&run(vec![large], &places)));
    let pictures = pictures(&html);
    assert_eq!(count(pictures[0], "part"), 128 * 2);
    assert!(pictures[0].len() < 250_000, "{}", pictures[0].len());

    let huge = machine("db1", Counts(8, 8, 8, 2, 1));
    let html = report::html(&page(&run(vec![huge], &|_| Vec::new())));
    assert!(html.contains("not drawn, because it has too many parts"));
}

#[test]
fn every_machine_has_a_drawing_with_or_without_the_client() {
    let machines = ["db1", "db2", "load"].map(|host| machine(host, Counts(1, 1, 2, 4, 1)));
    let places = |_: &str| {
        vec![
            placement("node1", "db1", "0-3", "0"),
            placement("node2", "db2", "4-7", "0"),
            placement("client", "load", "0-7", "0"),
        ]
    };
    let page = page(&run(machines.to_vec(), &places));
    keep("several", &page);
    let html = report::html(&page);
    let pictures = pictures(&html);
    let looks = |at: usize| ["o0", "o1", "marked"].map(|class| count(pictures[at], class));
    assert_eq!([0, 1, 2].map(looks), [[4, 0, 0], [0, 4, 0], [0, 0, 8]]);
    assert!(html.contains("The client ran on another machine than the nodes."));
    assert!(html.contains("db1; db2; load: The machine has only one NUMA node"));
}

#[test]
fn slow_cores_closed_ones_and_memory_without_cpus_are_shown() {
    let mut machine = machine("db1", Counts(1, 1, 1, 6, 1));
    machine.kinds = [
        ("performance".into(), "0-1".into()),
        ("efficiency".into(), "2-5".into()),
    ]
    .into();
    machine.hosts[0].cpus = "0-4".into();
    machine.numa_nodes.push(NumaNodeRecord {
        os: 1,
        memory_bytes: Some(256 << 30),
        kind: "CXL".into(),
        ..NumaNodeRecord::default()
    });
    machine.offline = "6-7".into();
    let page = page(&run(vec![machine], &|_| Vec::new()));
    keep("kinds", &page);
    let html = report::html(&page);
    let picture = pictures(&html)[0];
    assert_eq!(picture.matches(">fast<").count(), 2);
    assert_eq!(picture.matches(">slow<").count(), 4);
    assert_eq!([count(picture, "closed"), count(picture, "free")], [1, 5]);
    assert!(picture.contains("NUMA node 1 without CPUs") && picture.contains("256 GiB CXL"));
    assert!(html.contains("CPUs offline"));
    assert!(!html.contains("Where nodes and client ran"));
}

#[test]
fn a_picture_is_well_formed_and_says_in_words_what_it_shows() {
    let html = report::html(&page(&run(vec![two_sockets()], &on_two_sockets)));
    for picture in pictures(&html) {
        let xml = format!("<svg role=\"img\"{picture}</svg>");
        let mut reader = Reader::from_str(&xml);
        let mut ids = Vec::new();
        loop {
            match reader.read_event().expect("well-formed XML") {
                Event::Start(element) if matches!(element.name().as_ref(), b"title" | b"desc") => {
                    let id = element.try_get_attribute("id").expect("an attribute");
                    ids.extend(id.map(|id| String::from_utf8_lossy(&id.value).into_owned()));
                }
                Event::Eof => break,
                _ => {}
            }
        }
        let labelled = format!("aria-labelledby=\"{} {}\"", ids[0], ids[1]);
        assert!(picture.contains(&labelled), "{ids:?}");
        assert!(!picture.contains("href") && !picture.contains("url("));
    }
}

#[test]
fn programs_get_machines_places_and_what_is_said() {
    let printed: serde_json::Value =
        serde_json::from_str(&report::json(&page(&lab::run()))).expect("JSON");
    let groups = printed["machines"].as_array().expect("groups");
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0]["trials"], serde_json::json!([0, 1, 2, 3]));
    assert_eq!(
        groups[0]["machines"][0]["cores"],
        serde_json::json!(["0", "1"])
    );
    let first = &groups[0]["placements"][0];
    assert_eq!(first["who"], "node1");
    assert_eq!(first["threads"], serde_json::json!([140, 143]));
    assert_eq!(groups[0]["placements"][3]["who"], "client");
    assert_eq!(groups[0]["says"].as_array().map(Vec::len), Some(1));
}

/// Older runs recorded neither machines nor placements.
#[test]
fn a_run_without_machines_has_no_section() {
    let record = r#"{"format": 1, "isolation": "hosts", "nodes": [{"name": "node1",
        "address": "10.0.0.1:9042"}]}"#;
    let mut run = fixture::run(1);
    run.trials[0].nodes = Some(serde_json::from_str(record).expect("an old record"));
    let page = page(&run);
    assert!(page.sections().all(|one| one.id != "machines"));
    assert!(page.data.get("machines").is_none());
}
