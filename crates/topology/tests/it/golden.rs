//! Tests plans with known results. The sources are worked examples on the machines of VMware's and
//! AMD's studies, and the published behaviour of ESXi.

use topology::{
    CpuSet, Housekeeping, Machine, PlacementRequest, Plan, Profile, Unit, VirtualTopology, costs,
    distribute, naive, plan,
    test_machines::{Counts, Numbering, Shape},
};

fn planned(shape: &Shape, wish: &PlacementRequest) -> Plan {
    plan(&shape.machine().expect("a machine"), wish).expect("a plan")
}

fn sets(plan: &Plan) -> Vec<String> {
    let set = |cpus: &[u32]| cpus.iter().copied().collect::<CpuSet>().to_string();
    plan.instances.iter().map(|instance| set(&instance.cpus)).collect()
}

/// Checks the CPU sets and nodes of the first instances.
fn check(plan: &Plan, expected: &[(&str, &[u32])]) {
    for (instance, (cpus, nodes)) in plan.instances.iter().zip(expected) {
        let own: CpuSet = instance.cpus.iter().copied().collect();
        assert_eq!(
            (own.to_string().as_str(), instance.nodes.as_slice()),
            (*cpus, *nodes)
        );
    }
}

const VSPHERE_AB: [&str; 8] = [
    "0-6,56-62",
    "28-34,84-90",
    "7-13,63-69",
    "35-41,91-97",
    "14-20,70-76",
    "42-48,98-104",
    "21-27,77-83",
    "49-55,105-111",
];

#[test]
fn eight_vms_of_14_on_2x28_never_cross() {
    let shape = Shape::xeon_2x28(Numbering::Block);
    let plan = planned(&shape, &PlacementRequest::new(8, 14));
    assert_eq!(sets(&plan), VSPHERE_AB);
    let nodes: Vec<&[u32]> = plan.instances.iter().map(|one| one.nodes.as_slice()).collect();
    assert_eq!(nodes, [&[0], &[1], &[0], &[1], &[0], &[1], &[0], &[1]]);
    assert_eq!((plan.costs.crossing_node, plan.costs.shared_cores), (0, 0));
    assert!(plan.idle.is_empty());
    assert_eq!(
        plan.instances[0].cpus[..4],
        [0, 56, 1, 57],
        "threads of a core follow one another"
    );
    assert!(
        plan.warnings.iter().any(|text| text.contains("no CPU remains")),
        "{:?}",
        plan.warnings
    );
    let pinned = &plan.instances[0].pinned;
    assert_eq!(
        (pinned.sockets, pinned.dies, pinned.cores, pinned.threads),
        (1, 1, 7, 2)
    );
    let vsphere8 = &plan.vsphere8;
    assert_eq!((vsphere8.sockets, vsphere8.vcpus_per_socket()), (1, 14));
    assert_eq!((&vsphere8.vnuma, &vsphere8.vl3), (&vec![14], &vec![14]));
    assert_eq!(
        (plan.vsphere7.sockets, plan.vsphere7.vcpus_per_socket()),
        (14, 1)
    );
    assert_eq!(plan.instances[0].jvm.parallel_gc_threads, 11);
}

/// The expected sets are those that hwloc-distrib 2.9.0 returns.
#[test]
fn without_a_reserve_an_even_split_of_the_tree_is_the_same() {
    for (shape, instances, vcpus) in [
        (Shape::xeon_2x28(Numbering::Block), 8, 14),
        (Shape::xeon_2x28(Numbering::RoundRobin), 8, 14),
        (Shape::epyc_7601(), 8, 16),
        (Shape::epyc_7601(), 16, 8),
        (Shape::epyc_7601(), 4, 32),
    ] {
        let machine = shape.machine().unwrap();
        let mut ours = sets(&plan(&machine, &PlacementRequest::new(instances, vcpus)).unwrap());
        let split = distribute(&machine, instances as usize);
        let mut split: Vec<String> = split.iter().map(CpuSet::to_string).collect();
        ours.sort();
        split.sort();
        assert_eq!(ours, split);
    }
}

#[test]
fn round_robin_numbers_change_the_names_and_nothing_else() {
    let plan = planned(
        &Shape::xeon_2x28(Numbering::RoundRobin),
        &PlacementRequest::new(8, 14),
    );
    check(
        &plan,
        &[
            ("0,2,4,6,8,10,12,56,58,60,62,64,66,68", &[0]),
            ("1,3,5,7,9,11,13,57,59,61,63,65,67,69", &[1]),
        ],
    );
}

#[test]
fn sub_numa_clusters_take_two_vms_each() {
    let shape = Shape::regular(Counts(2, 2, 1, 14, 2), Numbering::Block, 128);
    let plan = planned(&shape, &PlacementRequest::new(8, 14));
    let expected: [(&str, &[u32]); 2] = [("0-6,56-62", &[0]), ("14-20,70-76", &[1])];
    check(&plan, &expected);
    assert_eq!(sets(&plan)[4], "7-13,63-69");
    assert_eq!(plan.instances[4].nodes, [0]);
    assert_eq!(plan.costs.crossing_node, 0);
}

#[test]
fn perftunes_reserve_is_dropped_if_too_large_and_a_fit_is_named() {
    let shape = Shape::xeon_2x28(Numbering::Block);
    let wish = PlacementRequest {
        housekeeping: Housekeeping::Perftune,
        ..PlacementRequest::new(8, 14)
    };
    let plan = planned(&shape, &wish);
    assert_eq!(sets(&plan), VSPHERE_AB);
    assert!(plan.housekeeping.is_empty());
    assert!(plan.warnings[0].contains("V=12"), "{:?}", plan.warnings);
    let fits = planned(&shape, &PlacementRequest { vcpus: 12, ..wish });
    let kept: Vec<String> = fits.housekeeping.iter().map(|one| one.cpus.to_string()).collect();
    assert_eq!(kept, ["0-1,56-57", "28-29,84-85"]);
}

#[test]
fn contiguous_numbers_share_cores_or_cross_sockets() {
    let wish = PlacementRequest::new(8, 14);
    let block = Shape::xeon_2x28(Numbering::Block).machine().unwrap();
    let rival = naive(&block, &wish);
    let found = costs(&block, &rival, &[]);
    assert_eq!((found.shared_cores, found.crossing_node), (56, 0));
    let dell = Shape::xeon_2x28(Numbering::RoundRobin).machine().unwrap();
    let found = costs(&dell, &naive(&dell, &wish), &[]);
    assert_eq!((found.crossing_package, found.crossing_node), (8, 8));
}

#[test]
fn a_node_each_on_epyc_is_the_natural_plan() {
    let plan = planned(&Shape::epyc_7601(), &PlacementRequest::new(8, 16));
    for (k, instance) in plan.instances.iter().enumerate() {
        let k = k as u32;
        assert_eq!(
            sets(&plan)[k as usize],
            format!("{}-{},{}-{}", 8 * k, 8 * k + 7, 64 + 8 * k, 71 + 8 * k)
        );
        assert_eq!(instance.nodes, [k]);
        assert_eq!(instance.l3, [2 * k as usize, 2 * k as usize + 1]);
        let guest = &instance.pinned;
        assert_eq!(
            (guest.sockets, guest.dies, guest.cores, guest.threads),
            (1, 2, 4, 2)
        );
        assert_eq!(
            (
                instance.jvm.parallel_gc_threads,
                instance.jvm.conc_gc_threads
            ),
            (13, 3)
        );
        assert!(!instance.jvm.use_numa);
    }
}

#[test]
fn an_l3_each_goes_round_the_nodes_first() {
    let plan = planned(&Shape::epyc_7601(), &PlacementRequest::new(16, 8));
    let found = sets(&plan);
    assert_eq!(
        (found[0].as_str(), found[1].as_str()),
        ("0-3,64-67", "8-11,72-75")
    );
    assert_eq!(found[8], "4-7,68-71");
    assert_eq!(plan.costs.shared_l3, 0);
    let jvm = &plan.instances[0].jvm;
    assert_eq!((jvm.parallel_gc_threads, jvm.conc_gc_threads), (8, 2));
}

#[test]
fn instances_of_two_nodes_stay_in_a_socket_and_of_four_fill_it() {
    let plan4 = planned(&Shape::epyc_7601(), &PlacementRequest::new(4, 32));
    let nodes: Vec<&[u32]> = plan4.instances.iter().map(|one| one.nodes.as_slice()).collect();
    assert_eq!(nodes, [&[0, 1], &[2, 3], &[4, 5], &[6, 7]]);
    assert_eq!(plan4.instances[0].pinned.vnuma, [16, 16]);
    let jvm = &plan4.instances[0].jvm;
    assert!(jvm.use_numa);
    assert_eq!((jvm.parallel_gc_threads, jvm.conc_gc_threads), (23, 6));
    let plan2 = planned(&Shape::epyc_7601(), &PlacementRequest::new(2, 64));
    assert_eq!(plan2.costs.crossing_package, 0);
    assert_eq!(plan2.instances[0].pinned.vnuma, [16; 4]);
    assert_eq!(plan2.instances[1].nodes, [4, 5, 6, 7]);
    assert!(
        plan2.warnings.iter().any(|text| text.contains("48")),
        "{:?}",
        plan2.warnings
    );
    let plan1 = planned(&Shape::epyc_7601(), &PlacementRequest::new(1, 128));
    let guest = &plan1.instances[0].pinned;
    assert_eq!((guest.sockets, guest.vcpus_per_socket()), (2, 64));
    assert_eq!(guest.vnuma, [16; 8]);
}

#[test]
fn fourteen_on_a_node_of_sixteen_leave_a_core_and_name_its_use() {
    let plan = planned(&Shape::epyc_7601(), &PlacementRequest::new(8, 14));
    assert_eq!(sets(&plan)[0], "0-6,64-70");
    assert_eq!(plan.idle.len(), 16);
    assert_eq!(plan.instances[0].pinned.vl3, [8, 6]);
    let said = plan.reasons.join("\n");
    assert!(
        said.contains("V=16 fills a node, V=8 fills an L3 cache"),
        "{said}"
    );
    assert!(said.contains("preferHT"), "{said}");
    assert_eq!(plan.vsphere8.vnuma, [7, 7]);
    let ht = PlacementRequest {
        unit: Some(Unit::Threads),
        ..PlacementRequest::new(8, 14)
    };
    assert_eq!(planned(&Shape::epyc_7601(), &ht).vsphere8.vnuma, [14]);
    assert_eq!(
        planned(&Shape::epyc_7601(), &PlacementRequest::new(8, 16)).vsphere8.vnuma,
        [8, 8]
    );
}

#[test]
fn fourteen_beside_housekeeping_fit_exactly() {
    let wish = PlacementRequest {
        housekeeping: Housekeeping::Perftune,
        ..PlacementRequest::new(8, 14)
    };
    let plan = planned(&Shape::epyc_7601(), &wish);
    for (k, instance) in plan.instances.iter().enumerate() {
        let k = k as u32;
        let expected = format!("{}-{},{}-{}", 8 * k + 1, 8 * k + 7, 65 + 8 * k, 71 + 8 * k);
        assert_eq!(sets(&plan)[k as usize], expected);
        assert_eq!(instance.nodes, [k]);
        assert_eq!(
            plan.housekeeping[k as usize].cpus.to_string(),
            format!("{},{}", 8 * k, 64 + 8 * k)
        );
    }
    assert!(
        plan.idle.is_empty() && plan.warnings.is_empty(),
        "{:?}",
        plan.warnings
    );
}

#[test]
fn nodes_0_and_2_of_one_socket_follow_one_another() {
    let shape = Shape::regular(Counts(2, 2, 1, 10, 2), Numbering::RoundNodes, 96);
    let plan = planned(&shape, &PlacementRequest::new(4, 20));
    let nodes: Vec<&[u32]> = plan.instances.iter().map(|one| one.nodes.as_slice()).collect();
    assert_eq!(nodes, [&[0], &[2], &[1], &[3]]);
    let first: Vec<String> = (0..20).map(|k| (4 * k).to_string()).collect();
    assert_eq!(sets(&plan)[0], first.join(","));
}

#[test]
fn three_cores_per_l3_are_paired() {
    let shape = Shape::regular(Counts(2, 4, 2, 3, 2), Numbering::Block, 32);
    let plan = planned(&shape, &PlacementRequest::new(8, 12));
    for k in 0..8 {
        let (first, last) = (6 * k, 6 * k + 5);
        assert_eq!(
            sets(&plan)[k],
            format!("{first}-{last},{}-{}", first + 48, last + 48)
        );
        assert_eq!(plan.instances[k].l3.len(), 2);
    }
}

fn esxi(counts: Counts, change: impl Fn(&mut PlacementRequest), vcpus: u32) -> VirtualTopology {
    let mut wish = PlacementRequest {
        profile: Profile::Vsphere8,
        ..PlacementRequest::new(1, vcpus)
    };
    change(&mut wish);
    planned(&Shape::regular(counts, Numbering::Block, 256), &wish).vsphere8
}

#[test]
fn esxi_8_shapes_virtual_machines_as_published() {
    let (two28, two20, four14) = (
        Counts(2, 1, 1, 28, 2),
        Counts(2, 1, 1, 20, 2),
        Counts(4, 1, 1, 14, 2),
    );
    for (counts, vcpus, vnuma) in [
        (two28, 14, vec![14]),
        (two20, 20, vec![20]),
        (two20, 21, vec![11, 10]),
        (two20, 24, vec![12, 12]),
        (two20, 36, vec![18, 18]),
        (four14, 36, vec![12, 12, 12]),
        (Counts(2, 1, 1, 4, 2), 8, vec![8]),
    ] {
        assert_eq!(
            esxi(counts, |_| (), vcpus).vnuma,
            vnuma,
            "{vcpus} on {counts:?}"
        );
    }
    assert_eq!(esxi(two20, |wish| wish.hot_add = true, 36).vnuma, [36]);
    assert_eq!(
        esxi(two20, |wish| wish.unit = Some(Unit::Threads), 36).vnuma,
        [36]
    );
    let twelve = esxi(two20, |wish| wish.memory_bytes = Some(384 << 30), 12);
    assert_eq!(twelve.vnuma, [12], "ESXi does not consider memory");
    assert_eq!(esxi(two28, |_| (), 14).vcpus_per_socket(), 14);
}

#[test]
fn memory_beyond_a_node_is_two_parts_here_and_flagged_for_esxi() {
    let shape = Shape::regular(Counts(2, 1, 1, 20, 2), Numbering::Block, 256);
    let wish = PlacementRequest {
        profile: Profile::Vsphere8,
        memory_bytes: Some(384 << 30),
        ..PlacementRequest::new(1, 12)
    };
    let plan = planned(&shape, &wish);
    let parts: Vec<usize> = plan.instances[0].cells.iter().map(|cell| cell.cpus.len()).collect();
    assert_eq!(parts, [6, 6]);
    let bytes: Vec<u64> = plan.instances[0].memory.iter().map(|part| part.bytes >> 30).collect();
    assert_eq!(bytes, [192, 192]);
    assert!(
        plan.warnings.iter().any(|text| text.contains("a part of its memory is remote")),
        "{:?}",
        plan.warnings
    );
}

#[test]
fn an_excessive_request_is_refused_with_one_that_fits() {
    let machine: Machine = Shape::xeon_2x28(Numbering::Block).machine().unwrap();
    let lack = plan(&machine, &PlacementRequest::new(9, 14)).unwrap_err();
    assert_eq!((lack.vcpus_max, lack.instances_max), (Some(12), Some(8)));
    assert_eq!(lack.overcommit, Some(1.13));
    let dense = PlacementRequest {
        overcommit: 1.13,
        ..PlacementRequest::new(9, 14)
    };
    assert!(plan(&machine, &dense).is_ok());
    let memory = PlacementRequest {
        memory_bytes: Some(128 << 30),
        ..PlacementRequest::new(8, 14)
    };
    let lack = plan(&machine, &memory).unwrap_err();
    assert_eq!(lack.instances_max, Some(4));
    assert!(
        lack.to_string().contains("GiB") && lack.to_string().contains("hint:"),
        "{lack}"
    );
}

/// Each socket has three nodes. A greedy placement would give the second instance a node of each
/// socket.
#[test]
fn an_exchange_brings_an_instance_back_into_its_socket() {
    let shape = Shape::regular(Counts(2, 3, 1, 8, 2), Numbering::Block, 64);
    let plan = planned(&shape, &PlacementRequest::new(2, 32));
    assert_eq!(plan.costs.crossing_package, 0);
    assert!(plan.exchanges_weighed > 0);
    let three = planned(&shape, &PlacementRequest::new(3, 32));
    assert_eq!(
        (three.costs.crossing_package, three.bounds.crossing_package),
        (1, 1)
    );
}
