//! Tests unusual machines, and texts that do not describe a machine. The reader must return a
//! machine or an error. It must not panic or hang.

use proptest::prelude::*;
use topology::{
    CpuSet, DeviceKind, Housekeeping, Machine, PlacementRequest, draw, plan,
    test_machines::{Counts, Numbering, Shape},
};

fn xeon() -> Shape {
    Shape::regular(Counts(2, 1, 1, 4, 2), Numbering::Block, 64)
}

fn list(text: &str) -> CpuSet {
    CpuSet::parse_list(text).expect("a list")
}

#[test]
fn offline_cpus_are_counted_and_not_seated() {
    let mut shape = xeon();
    shape
        .cpus
        .iter_mut()
        .filter(|cpu| cpu.os == 9)
        .for_each(|cpu| cpu.online = false);
    let machine = shape.machine().unwrap();
    assert_eq!(machine.offline, list("9"));
    assert_eq!(
        machine.cores.iter().filter(|core| core.pus.len() == 1).count(),
        1
    );
    let all = plan(&machine, &PlacementRequest::new(1, 15)).unwrap();
    assert_eq!(all.instances[0].cpus.len(), 15);
}

#[test]
fn a_machine_without_l3_groups_by_node_and_says_so() {
    let mut shape = xeon();
    shape.cpus.iter_mut().for_each(|cpu| cpu.l3 = None);
    let machine = shape.machine().unwrap();
    assert_eq!((machine.l3.len(), machine.l3[0].is_real), (2, false));
    assert!(
        machine.notes.iter().any(|note| note.contains("no L3")),
        "{:?}",
        machine.notes
    );
}

#[test]
fn nodes_of_memory_only_and_of_cpus_only_are_kept_apart() {
    let mut shape = xeon();
    shape.memory_gib.insert(5, 512);
    shape.memory_gib.insert(1, 0);
    shape.distances = None;
    let machine = shape.machine().unwrap();
    let found: Vec<(u32, usize, Option<u64>)> = machine
        .nodes
        .iter()
        .map(|node| {
            (
                node.os,
                node.cores.len(),
                node.memory_bytes.map(|bytes| bytes >> 30),
            )
        })
        .collect();
    assert_eq!(
        found,
        [(0, 4, Some(64)), (1, 4, Some(0)), (5, 0, Some(512))]
    );
    assert!(draw(&machine, None).contains("node 5: 512 GiB, no CPUs"));
}

#[test]
fn sparse_numbers_of_nodes_are_kept() {
    let mut shape = Shape::regular(Counts(4, 2, 1, 6, 1), Numbering::Block, 32);
    let numbers = [0, 1, 2, 33, 34, 45, 72, 73];
    shape.cpus.iter_mut().for_each(|cpu| cpu.node = numbers[cpu.node as usize]);
    shape.memory_gib = numbers.iter().map(|&os| (os, 32)).collect();
    let machine = shape.machine().unwrap();
    assert_eq!(
        machine.nodes.iter().map(|node| node.os).collect::<Vec<_>>(),
        numbers
    );
    let planned = plan(&machine, &PlacementRequest::new(8, 6)).unwrap();
    assert_eq!(planned.instances[7].memory[0].node, 73);
}

#[test]
fn cpus_that_the_control_group_closes_are_not_given_out() {
    let shape = Shape {
        allowed: Some(list("0-3,8-11")),
        ..xeon()
    };
    let machine = shape.machine().unwrap();
    assert_eq!(
        (machine.pus.len(), machine.allowed_cpus()),
        (16, list("0-3,8-11"))
    );
    let planned = plan(&machine, &PlacementRequest::new(1, 8)).unwrap();
    assert!(
        planned.instances[0]
            .cpus
            .iter()
            .all(|&cpu| machine.allowed_cpus().contains(cpu))
    );
    assert_eq!(
        plan(&machine, &PlacementRequest::new(1, 9)).unwrap_err().vcpus_max,
        Some(8)
    );
}

#[test]
fn side_caches_and_devices_have_their_node() {
    let network = vec![("eth0".to_owned(), 1), ("eth1".to_owned(), -1)];
    let shape = Shape {
        side_cache_gib: Some(96),
        network,
        ..xeon()
    };
    let machine = shape.machine().unwrap();
    assert_eq!(machine.nodes[0].side_caches_bytes, [96 << 30]);
    let found: Vec<_> = machine.devices.iter().map(|d| (d.kind, d.node_os)).collect();
    assert_eq!(
        found,
        [(DeviceKind::Network, Some(1)), (DeviceKind::Network, None)]
    );
    let near = PlacementRequest {
        near: vec!["eth0".to_owned()],
        ..PlacementRequest::new(1, 4)
    };
    assert_eq!(plan(&machine, &near).unwrap().instances[0].nodes, [1]);
}

#[test]
fn an_l3_per_node_gives_24_nodes_and_large_plans_stay_small() {
    for (nodes, count) in [(1, 2), (4, 8), (12, 24)] {
        let machine = Shape::epyc_9654(nodes).machine().unwrap();
        assert_eq!((machine.cpu_nodes().count(), machine.l3.len()), (count, 24));
        for (instances, vcpus) in [
            (24, 16),
            (8, 48),
            (12, 32),
            (48, 8),
            (2, 192),
            (5, 30),
            (7, 54),
        ] {
            let planned = plan(&machine, &PlacementRequest::new(instances, vcpus)).unwrap();
            assert!(
                planned.exchanges_weighed < 20_000,
                "{nodes} {instances}×{vcpus}: {}",
                planned.exchanges_weighed
            );
            assert_eq!(planned.costs.shared_cores, 0);
        }
    }
}

#[test]
fn the_same_machine_is_read_from_files_xml_and_notation() {
    let notation =
        "pack:2 group:4 [numa(memory=64GiB)] l3:2(size=32MiB) core:4 pu:2(indexes=2*64:1*2)";
    let notation = Machine::from_bytes(notation.as_bytes(), "text").unwrap();
    let shape = Shape::epyc_7601();
    let files = shape.machine().unwrap();
    let xml = Machine::from_bytes(shape.xml().as_bytes(), "x.xml").unwrap();
    assert_eq!(topology::fingerprint(&files), topology::fingerprint(&xml));
    assert_eq!(files.distances, xml.distances);
    for other in [&notation, &xml] {
        assert_eq!(
            (&files.cores, &files.pus, &files.l3),
            (&other.cores, &other.pus, &other.l3)
        );
        assert_eq!(files.nodes[3], other.nodes[3]);
    }
}

#[test]
fn synthetic_numbers_are_those_of_hwloc() {
    for (text, node0) in [
        (
            "pack:2 [numa] l3:1 l2:28 core:1 pu:2(indexes=2*56:1*2)",
            "0-27,56-83",
        ),
        (
            "pack:2 numa:1 core:2 pu:2(indexes=0,4,2,6,1,5,3,7)",
            "0,2,4,6",
        ),
        ("socket:2 die:2 [numa] l3cache:1 core:2 pu:1", "0-1"),
        ("2 3 4 5 6", "0-119"),
        ("pack:2 numa:2 core:2 pu:2(indexes=numa:core)", "0,4,8,12"),
    ] {
        let machine = Machine::from_bytes(text.as_bytes(), "text").unwrap();
        assert_eq!(
            machine.cpus_of(&machine.nodes[0].cores).to_string(),
            node0,
            "{text}"
        );
    }
}

#[test]
fn the_lscpu_table_has_every_cpu_and_a_summary_its_assumptions() {
    let row = |cpu: u32, core: u32, socket: u32| {
        format!(
            "{{\"cpu\":{cpu},\"node\":{socket},\"socket\":{socket},\"core\":\"{core}\",\
                 \"l1d:l1i:l2:l3\":\"{core}:{core}:{core}:{socket}\",\"online\":true}}"
        )
    };
    let rows = [row(0, 0, 0), row(1, 1, 1), row(2, 0, 0), row(3, 1, 1)].join(",");
    let machine = Machine::from_bytes(format!("{{\"cpus\":[{rows}]}}").as_bytes(), "j").unwrap();
    assert_eq!(
        (
            machine.packages.len(),
            machine.l3.len(),
            machine.threads_per_core()
        ),
        (2, 2, 2)
    );
    assert_eq!(machine.cpus_of(&[0]), list("0,2"));
    let field = |name: &str, data: &str| format!("{{\"field\":\"{name}:\",\"data\":\"{data}\"}}");
    let fields = [
        field("On-line CPU(s) list", "0-7"),
        field("Thread(s) per core", "2"),
        field("Socket(s)", "2"),
        field("L3 cache", "64 MiB (2 instances)"),
        field("NUMA node0 CPU(s)", "0,1,4,5"),
        field("NUMA node1 CPU(s)", "2,3,6,7"),
    ];
    let text = format!("{{\"lscpu\":[{}]}}", fields.join(","));
    let machine = Machine::from_bytes(text.as_bytes(), "j").unwrap();
    assert_eq!(
        (
            machine.packages.len(),
            machine.l3.len(),
            machine.cores.len()
        ),
        (2, 2, 4)
    );
    assert_eq!(machine.cpus_of(&[0]), list("0,4"));
    assert!(machine.notes.iter().any(|note| note.contains("cassay assumes")));
}

/// lscpu before util-linux 2.41 writes a numeric column without a value as a dash without quotes.
#[test]
fn a_bare_dash_of_lscpu_is_an_absent_value() {
    let row = |cpu: u32, values: &str| format!("{{\"cpu\":{cpu},{values}}}");
    let online =
        "\"node\": 0, \"socket\":0,\"core\":0,\"l1d:l1i:l2:l3\":\"-:0:0:0\",\"online\":true";
    let offline =
        "\"node\": -,\"socket\": -, \"core\":-\n,\"l1d:l1i:l2:l3\":\"-\",\"online\":false";
    let rows = [row(0, online), row(1, offline)].join(",");
    let text = format!("{{\"cpus\":[{rows}]}}");
    let machine = Machine::from_bytes(text.as_bytes(), "j").unwrap();
    assert_eq!((machine.pus.len(), machine.offline.clone()), (1, list("1")));
    let without_numa = online.replace("0, \"socket", "-, \"socket");
    let text = format!("{{\"cpus\":[{}]}}", row(0, &without_numa));
    let machine = Machine::from_bytes(text.as_bytes(), "j").unwrap();
    assert_eq!(machine.nodes.len(), 1);
    assert_eq!(machine.cpus_of(&[0]), list("0"));
}

/// Before util-linux 2.37, lscpu translates the table. In German, the value for an offline CPU is
/// `nein`, and cassay once treated such a CPU as online.
#[test]
fn translated_lscpu_is_refused_with_the_command_for_english() {
    for (text, part) in [
        (
            "{\"cpus\":[{\"cpu\":\"0\",\"online\":\"ja\"},{\"cpu\":\"1\",\"online\":\"nein\"}]}",
            "online \"ja\"",
        ),
        (
            "{\"lscpu\":[{\"field\":\"Architektur:\",\"data\":\"x86_64\"},\
             {\"field\":\"Liste der Online-CPU(s):\",\"data\":\"0-3\"}]}",
            "begins with \"Architektur:\"",
        ),
    ] {
        let said = Machine::from_bytes(text.as_bytes(), "m.json").unwrap_err().to_string();
        let has = |part: &str| said.contains(part);
        assert!(
            has(part) && has("another language") && has("LC_ALL=C lscpu -J"),
            "{said}"
        );
    }
}

#[test]
fn a_text_that_is_no_machine_is_refused_with_a_hint() {
    let deep = format!("<topology>{}", "<object>".repeat(200_000));
    let many = format!("core:{}", u64::MAX);
    for text in [
        "",
        "{}",
        "[",
        "<a/>",
        "<topology/>",
        "pack:2",
        "pu:0",
        "core:2 pu:2 pu:2",
        "pack:x pu:1",
        "numa:2 [numa] pu:1",
        "pu:99999",
        "(",
        "[numa",
        "pu:2(indexes=0,0)",
        "pu:4(indexes=3*3)",
        "{\"cpus\":[{}]}",
        "{\"lscpu\":[]}",
        "\u{1f}\u{8b}",
        "BZh9junk",
        &deep,
        &many,
        "<topology><object type=\"PU\" os_index=\"99999\"/></topology>",
    ] {
        let error = Machine::from_bytes(text.as_bytes(), "some.file").unwrap_err();
        let said = error.to_string();
        assert!(
            said.contains("some.file") && said.contains("\nhint: "),
            "{said}"
        );
    }
}

fn shapes() -> impl Strategy<Value = (Counts, usize)> {
    ((1u32..3, 1u32..4, 1u32..4, 1u32..6, 1u32..3), 0usize..4)
        .prop_map(|((a, b, c, d, e), numbering)| (Counts(a, b, c, d, e), numbering))
}

const NUMBERINGS: [Numbering; 4] = [
    Numbering::Block,
    Numbering::RoundRobin,
    Numbering::Adjacent,
    Numbering::RoundNodes,
];

/// Returns a machine whose nodes have these amounts of memory in GiB. If the machine has more
/// nodes, the amounts repeat.
fn shape_with(counts: Counts, numbering: usize, gib: &[u64]) -> Shape {
    let mut shape = Shape::regular(counts, NUMBERINGS[numbering], 64);
    for (memory, gib) in shape.memory_gib.values_mut().zip(gib.iter().cycle()) {
        *memory = *gib;
    }
    shape
}

/// Fails if a plan requests more memory from a node than the node has.
fn fits_memory(
    shape: Shape,
    instances: u32,
    vcpus: u32,
    each: Option<u64>,
) -> Result<(), TestCaseError> {
    let machine = shape.machine().expect("a machine");
    let memory_bytes = each.map(|gib| gib << 30);
    let wish = PlacementRequest {
        memory_bytes,
        ..PlacementRequest::new(instances, vcpus)
    };
    let Ok(planned) = plan(&machine, &wish) else {
        return Ok(());
    };
    let all: u64 = shape.memory_gib.values().sum();
    for instance in &planned.instances {
        let memory: u64 = instance.memory.iter().map(|part| part.bytes).sum();
        prop_assert_eq!(memory, instance.memory_bytes.unwrap_or(0));
        let is_known = instance.memory_bytes.is_some();
        prop_assert!(is_known || all == 0, "{} of {all} GiB", instance.index);
    }
    for node in &machine.nodes {
        let parts = planned.instances.iter().flat_map(|one| &one.memory);
        let taken: u64 = parts.filter(|part| part.node == node.os).map(|part| part.bytes).sum();
        let has = node.memory_bytes.unwrap_or(0);
        prop_assert!(taken <= has, "node {}: {taken} of {has}", node.os);
    }
    Ok(())
}

/// Dividing the memory by nine instances and by 21 CPUs leaves remainders. The planner once failed
/// because a node of 1 GiB had no space for them.
#[test]
fn a_node_that_is_full_to_the_byte_has_no_room_for_a_remainder() {
    let few = shape_with(Counts(2, 2, 1, 5, 1), 0, &[4, 1, 2]);
    fits_memory(few, 2, 9, None).unwrap();
    let more = shape_with(Counts(2, 2, 3, 4, 1), 0, &[26, 1, 2, 2]);
    fits_memory(more, 2, 21, None).unwrap();
}

proptest! {
    #[test]
    fn plans_keep_their_promises(
        (counts, numbering) in shapes(),
        instances in 1u32..7,
        vcpus in 1u32..24,
        kept in 0u32..3,
        shift in 0u32..1000,
    ) {
        let shape = Shape::regular(counts, NUMBERINGS[numbering], 64);
        let count = shape.cpus.len() as u32;
        let machine = shape.machine().unwrap();
        let housekeeping = Housekeeping::PerNode(kept);
        let wish = PlacementRequest { housekeeping, ..PlacementRequest::new(instances, vcpus) };
        let Ok(planned) = plan(&machine, &wish) else {
            // If more CPUs are reserved, the request does not become feasible.
            let more = PlacementRequest { housekeeping: Housekeeping::PerNode(kept + 1), ..wish };
            prop_assert!(plan(&machine, &more).is_err());
            return Ok(());
        };
        let mut seen = CpuSet::default();
        for instance in &planned.instances {
            prop_assert_eq!(instance.cpus.len() as u32, vcpus);
            prop_assert!(instance.cpus.iter().all(|&cpu| seen.insert(cpu)), "a CPU twice");
            let cells: u32 = instance.cells.iter().map(|cell| cell.cpus.len() as u32).sum();
            prop_assert_eq!(cells, vcpus);
            prop_assert_eq!(instance.pinned.vcpus(), vcpus);
            let memory: u64 = instance.memory.iter().map(|part| part.bytes).sum();
            prop_assert_eq!(Some(memory), instance.memory_bytes);
        }
        for node in &planned.housekeeping {
            prop_assert!(node.cpus.iter().all(|cpu| seen.insert(cpu)), "housekeeping given out");
        }
        prop_assert!(planned.costs.crossing_node >= planned.bounds.crossing_node);
        prop_assert!(planned.costs.crossing_package >= planned.bounds.crossing_package);
        let whole = planned.costs.shared_cores == 0;
        if whole && planned.instances.iter().all(|one| one.cells.len() == 1) {
            prop_assert_eq!(planned.costs.crossing_node, planned.bounds.crossing_node);
        }
        prop_assert_eq!(&plan(&machine, &wish).unwrap(), &planned);
        // With other OS numbers, the plan is the same except for these numbers.
        let other = shape.renumbered(|os| (os + shift) % count);
        let other = plan(&other.machine().unwrap(), &wish).unwrap();
        prop_assert_eq!(other.costs, planned.costs);
        prop_assert_eq!(other.instances.len(), planned.instances.len());
    }

    #[test]
    fn no_node_is_asked_for_more_memory_than_it_has(
        (counts, numbering) in shapes(),
        instances in 1u32..7,
        vcpus in 1u32..24,
        gib in prop::collection::vec(0u64..64, 1..9),
        each in prop::option::of(1u64..96),
    ) {
        fits_memory(shape_with(counts, numbering, &gib), instances, vcpus, each)?;
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[a-z0-9:*,()\\[\\] =<>/{}\"]{0,80}") {
        let _ = Machine::from_bytes(text.as_bytes(), "text");
        let _ = CpuSet::parse_list(&text);
        let _ = CpuSet::parse_map(&text);
    }

    #[test]
    fn items_in_any_order_are_read_or_refused(
        items in prop::collection::vec(prop::sample::select(vec![
            "pack:2", "numa:2", "[numa]", "[numa(memory=1GiB)]", "l3:2(size=1MiB)", "core:2",
            "pu:2", "pu:2(indexes=1*2:2*2)", "pu:2(indexes=core)", "die:2", "3", "group:2", "l1i:1",
        ]), 0..8)
    ) {
        if let Ok(machine) = Machine::from_bytes(items.join(" ").as_bytes(), "text") {
            let _ = draw(&machine, plan(&machine, &PlacementRequest::new(2, 3)).ok().as_ref());
        }
    }

    #[test]
    fn a_damaged_description_is_read_or_refused(at in 0usize..6000, byte in any::<u8>()) {
        let mut text = xeon().xml().into_bytes();
        let at = at % text.len();
        text[at] = byte;
        let _ = Machine::from_bytes(&text, "x.xml");
    }
}
