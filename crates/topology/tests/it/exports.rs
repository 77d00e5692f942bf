//! Tests that exports contain the plan. When an export is read back, it equals the plan's placement
//! for any machine, request and names. A reader must not panic on a text that is not an export.

use proptest::prelude::*;
use proptest::sample::Index;
use topology::{
    CpuSet, Housekeeping, HugePages, Machine, PlacementRequest, Plan, Profile, Smt,
    export::{
        FORMATS, Format, Options, Placement, Scope, Source, differences, export, format,
        kubelet_order,
    },
    plan,
    test_machines::{Counts, Numbering, Shape},
};

/// Name that would end a quote, a line, a comment or a value, or that a tool would expand, if it
/// were not escaped.
const HOSTILE: &str =
    "a'b\"c\\ $(touch x) `id` %n |22 --> ]]> \n[Service]\nExecStart=/bin/false \r\0\u{2028}ü#;&<$$";

fn machine(counts: Counts, numbering: Numbering) -> Machine {
    let shape = Shape::regular(counts, numbering, 64);
    shape.machine().expect("a machine")
}

fn all(machine: &Machine, plan: &Plan) -> Vec<(&'static Format, Option<u32>, String)> {
    let options = Options::default();
    let source = Source {
        machine,
        plan,
        options: &options,
    };
    let mut files = Vec::new();
    for format in &FORMATS {
        // A kubelet needs a CPU that no instance has, and some plans do not leave such a CPU.
        let exported = match export(&source, format) {
            Err(_) if format.name == "kubelet" => continue,
            exported => exported.expect("an export"),
        };
        files.extend(exported.into_iter().map(|file| (format, file.instance, file.text)));
    }
    files
}

fn check(machine: &Machine, plan: &Plan) {
    let files = all(machine, plan);
    let texts = |files: Vec<(_, _, String)>| files.into_iter().map(|(.., text)| text).collect();
    let (first, again): (Vec<_>, Vec<_>) = (texts(files.clone()), texts(all(machine, plan)));
    assert_eq!(first, again, "the same plan, the same bytes");
    for (format, instance, text) in files {
        let instance = instance.map(|index| &plan.instances[index as usize]);
        let planned = Placement::planned(plan, instance, format.carries);
        let mut read = (format.read)(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        // A placement contains neither the threads of the emulator nor the reserve of the kubelet.
        let ignored = std::mem::take(&mut read.ignored);
        let others = [
            "<emulatorpin",
            "<iothreadpin",
            "kubeR",
            "systemR",
            "eviction",
            "reservedM",
        ];
        let is_other = |line: &String| others.iter().any(|other| line.starts_with(other));
        assert!(ignored.iter().all(is_other), "{ignored:?}");
        let mut planned = planned;
        // If a format has one line for all options, the test splits the planned options into words
        // too.
        if let (Some(ours), Some(theirs)) = (&mut planned.jvm, &read.jvm)
            && ours != theirs
        {
            *ours = ours.join(" ").split_whitespace().map(str::to_owned).collect();
        }
        assert_eq!(read, planned, "{}\n{text}", format.name);
    }
}

fn wishes() -> impl Strategy<Value = (Counts, Numbering, PlacementRequest)> {
    let counts = (1..3u32, 1..4u32, 1..3u32, 1..6u32, 1..3u32);
    let numbering = prop_oneof![
        Just(Numbering::Block),
        Just(Numbering::RoundRobin),
        Just(Numbering::Adjacent),
        Just(Numbering::RoundNodes),
    ];
    let profile = prop_oneof![
        Just(Profile::Vsphere7),
        Just(Profile::Vsphere8),
        Just(Profile::Pinned),
        Just(Profile::None),
    ];
    let size = (1..5u32, 1..20u32, 1..(40u64 << 20), any::<[bool; 3]>());
    let host = prop_oneof![any::<String>(), Just(HOSTILE.to_owned())];
    (counts, numbering, profile, size, host).prop_map(|(counts, numbering, profile, size, host)| {
        let (packages, nodes, l3, cores, threads) = counts;
        let (instances, vcpus, kib, [has_memory, is_packed, keeps]) = size;
        let wish = PlacementRequest {
            profile,
            memory_bytes: has_memory.then_some((kib + 8192) << 10),
            smt: if is_packed {
                Smt::Pack
            } else {
                Smt::OnePerCore
            },
            housekeeping: if keeps {
                Housekeeping::PerNode(1)
            } else {
                Housekeeping::None
            },
            host,
            ..PlacementRequest::new(instances, vcpus)
        };
        (Counts(packages, nodes, l3, cores, threads), numbering, wish)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn an_export_read_back_is_the_plans_placement((counts, numbering, wish) in wishes()) {
        let machine = machine(counts, numbering);
        if let Ok(mut plan) = plan(&machine, &wish) {
            plan.rack = wish.host.clone();
            check(&machine, &plan);
            let options = Options::default();
            let order = kubelet_order(&Source {
                machine: &machine,
                plan: &plan,
                options: &options,
            });
            let mut given = CpuSet::default();
            for cpus in order.iter().flatten() {
                prop_assert!(cpus.is_disjoint(&given), "{cpus} twice");
                prop_assert_eq!(cpus.len(), wish.vcpus as usize);
                given.extend(cpus.iter());
            }
        }
    }

    #[test]
    fn no_text_makes_a_reader_panic(
        edits in prop::collection::vec((any::<Index>(), any::<u8>(), 0..3u8), 1..12),
        of in any::<Index>(),
        reader in any::<Index>(),
    ) {
        let (_, _, text) = of.get(&SAMPLES).clone();
        let mut bytes = text.into_bytes();
        for (at, byte, how) in edits {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => drop(bytes.drain(at..bytes.len().min(at + usize::from(byte)))),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        let _ = (reader.get(&FORMATS).read)(&text);
        for format in &FORMATS {
            let _ = (format.read)(&text);
        }
    }
}

type Sample = (&'static str, Option<u32>, String);

static SAMPLES: std::sync::LazyLock<Vec<Sample>> = std::sync::LazyLock::new(|| {
    let machine = machine(Counts(2, 4, 2, 4, 2), Numbering::Block);
    let wish = PlacementRequest {
        housekeeping: Housekeeping::PerNode(1),
        host: HOSTILE.to_owned(),
        ..PlacementRequest::new(2, 28)
    };
    let plan = plan(&machine, &wish).expect("a plan");
    let files = all(&machine, &plan).into_iter();
    files.map(|(format, instance, text)| (format.name, instance, text)).collect()
});

#[test]
fn no_name_breaks_out_of_its_quotes() {
    let machine = machine(Counts(2, 1, 1, 8, 2), Numbering::Block);
    let mut plan = plan(&machine, &PlacementRequest::new(2, 14)).unwrap();
    plan.rack = HOSTILE.to_owned();
    plan.wish.host = HOSTILE.to_owned();
    plan.fingerprint = HOSTILE.to_owned();
    for instance in &mut plan.instances {
        instance.jvm.options.push(HOSTILE.to_owned());
    }
    check(&machine, &plan);
    for (format, _, text) in all(&machine, &plan) {
        let ends = text.lines().any(|line| line.starts_with("ExecStart") || line == "[Service] ");
        assert!(
            !ends && !text.contains('\r') && !text.contains('\0'),
            "{}",
            format.name
        );
    }
}

#[test]
fn huge_pages_are_used_where_every_node_has_enough_for_all() {
    let mut machine = machine(Counts(2, 1, 1, 8, 2), Numbering::Block);
    let wish = PlacementRequest {
        memory_bytes: Some(16 << 30),
        ..PlacementRequest::new(2, 16)
    };
    let page = |count| HugePages {
        page_bytes: 1 << 30,
        count,
        free: None,
    };
    for (count, has_pages) in [(15, false), (16, true)] {
        for node in &mut machine.nodes {
            node.hugepages = vec![page(count)];
        }
        let plan = plan(&machine, &wish).unwrap();
        let text = &all(&machine, &plan)[0].2;
        assert_eq!(
            text.contains("<page size='1048576' unit='KiB' nodeset='0'/>"),
            has_pages
        );
    }
}

#[test]
fn vsphere_gets_cores_per_socket_and_never_a_cpu_affinity() {
    let machine = machine(Counts(2, 1, 1, 28, 2), Numbering::Block);
    for (profile, vmx, spec) in [
        (
            Profile::Vsphere7,
            "cpuid.coresPerSocket = \"1\"",
            "\"numCoresPerSocket\": 1,",
        ),
        (
            Profile::Vsphere8,
            "cpuid.coresPerSocket = \"14\"",
            "\"numCoresPerSocket\": 0,",
        ),
    ] {
        let wish = PlacementRequest {
            profile,
            ..PlacementRequest::new(8, 14)
        };
        let plan = plan(&machine, &wish).unwrap();
        for (format, _, text) in all(&machine, &plan) {
            assert!(format.name != "vmx" || text.contains(vmx), "{text}");
            assert!(format.name != "configspec" || text.contains(spec), "{text}");
            assert!(!text.contains("sched.cpu.affinity"));
        }
    }
}

/// The static policy of Kubernetes 1.34 fills the lowest NUMA node of an empty machine first,
/// although the plan spreads the instances. The kubelet refuses a pod whose memory does not fit in
/// addition to the reserve.
#[test]
fn the_kubelet_fills_a_node_where_the_plan_spreads() {
    let machine = machine(Counts(2, 1, 1, 28, 2), Numbering::Block);
    let said = |wish: PlacementRequest| {
        let plan = plan(&machine, &wish).unwrap();
        let options = Options::default();
        let source = Source {
            machine: &machine,
            plan: &plan,
            options: &options,
        };
        let said = differences(&source).into_iter();
        said.map(|one| one.to_string()).collect::<Vec<_>>()
    };
    let wish = PlacementRequest {
        housekeeping: Housekeeping::PerNode(1),
        memory_bytes: Some(16 << 30),
        ..PlacementRequest::new(2, 14)
    };
    assert_eq!(
        said(wish.clone()),
        ["instance 1: planned on 29-35,85-91, the kubelet would take 8-14,64-70"]
    );
    let two = |memory_bytes| PlacementRequest {
        memory_bytes: Some(memory_bytes),
        ..wish.clone()
    };
    assert_eq!(said(two(40 << 30)), Vec::<String>::new());
    let refused = said(two(64 << 30));
    assert!(
        refused[0].ends_with("the kubelet would refuse the pod"),
        "{refused:?}"
    );
}

#[test]
fn every_format_is_found_by_its_name() {
    for row in &FORMATS {
        assert_eq!(format(row.name).map(|found| found.what), Some(row.what));
        assert!(matches!(row.scope, Scope::Instance(_) | Scope::Host(_)));
    }
}

/// Files that users already have, and that cassay did not export.
#[test]
fn ordinary_files_are_read_as_far_as_they_place_something() {
    let read = |name: &str, text: &str| (format(name).unwrap().read)(text).unwrap();
    let bare =
        "<domain type='kvm'><name>db1</name><memory unit='GiB'>8</memory><vcpu>4</vcpu></domain>";
    let bare = read("libvirt", bare);
    assert_eq!((bare.cpus, bare.memory_bytes), (None, Some(8 << 30)));
    let pinned = read(
        "libvirt",
        "<domain><vcpu placement='static' cpuset='8-9'>2</vcpu>\
         <cputune><vcpupin vcpu='0' cpuset='2-3'/><emulatorpin cpuset='0-1'/></cputune></domain>",
    );
    assert_eq!(pinned.cpus, Some(vec![2, 3, 8, 9]));
    let vmx = read(
        "vmx",
        ".encoding = \"UTF-8\"\ndisplayName = \"db1\"\nnumvcpus = \"8\"\nmemSize = \"65536\"\n\
         sched.cpu.affinity = \"0,1,2,3\"\nnuma.nodeAffinity = \"0\"\n",
    );
    assert_eq!(vmx.cpus, Some(vec![0, 1, 2, 3]));
    assert_eq!(vmx.memory_bytes, Some(64 << 30));
    assert_eq!(vmx.guest.unwrap().vnuma, [8]);
    let pod = read(
        "pod",
        "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: c, resources: {requests: {cpu: '4', \
         memory: 8Gi}, limits: {cpu: '4', memory: 8Gi}}}]}\n",
    );
    assert_eq!((pod.cpus, pod.memory_bytes), (None, Some(8 << 30)));
    let unit = "[Unit]\nDescription=db\n[Service]\nExecStart=/usr/sbin/cassandra -f\n";
    assert_eq!(read("systemd", unit), Placement::default());
    let bound = read("systemd", &format!("{unit}CPUAffinity=0-2 8\nNUMAMask=1\n"));
    assert_eq!(bound.cpus, Some(vec![0, 1, 2, 8]));
    assert_eq!(bound.memory_nodes, CpuSet::parse_list("1").ok());
    let script = read(
        "numactl",
        "#!/bin/sh\nnumactl --physcpubind=0-3 cassandra -f\n",
    );
    assert_eq!(script.cpus, Some(vec![0, 1, 2, 3]));
    let env = read(
        "cassandra-env",
        "# ours\nMAX_HEAP_SIZE=8G\nJVM_OPTS=\"$JVM_OPTS -Xss512k\"\n",
    );
    assert_eq!(env.jvm, Some(vec!["-Xss512k".to_owned()]));
}

/// The notations are those in the manuals of libvirt, systemd, numactl and VMware's tools.
#[test]
fn files_are_read_in_every_form_that_their_manuals_give() {
    let read = |name: &str, text: &str| (format(name).unwrap().read)(text).unwrap();
    let list = |text: &str| CpuSet::parse_list(text).ok();
    let domain = |cpuset: &str, unit: &str| {
        format!("<domain><memory unit='{unit}'>2</memory><vcpu cpuset='{cpuset}'>3</vcpu></domain>")
    };
    let taken_out = read("libvirt", &domain("0-5,^1,^3-4, 9", "TiB"));
    assert_eq!(taken_out.cpus, Some(vec![0, 2, 5, 9]));
    assert_eq!(taken_out.memory_bytes, Some(2 << 40));
    assert_eq!(
        read("libvirt", &domain("0", "TB")).memory_bytes,
        Some(2_000_000_000_000)
    );

    let unit = |lines: &str| read("systemd", &format!("[Service]\n{lines}\n"));
    assert_eq!(
        unit("CPUAffinity=0 1\nCPUAffinity=4-5").cpus,
        Some(vec![0, 1, 4, 5])
    );
    assert_eq!(
        unit("CPUAffinity=0 1\nCPUAffinity=\nCPUAffinity=7").cpus,
        Some(vec![7])
    );
    assert_eq!(
        unit("CPUAffinity=9\nAllowedCPUs = 0-1 3").cpus,
        Some(vec![0, 1, 3])
    );
    assert_eq!(
        unit("CPUAffinity=0-1 \\\n# why\n  4").cpus,
        Some(vec![0, 1, 4])
    );
    let environment = unit("Environment=\"A=b c\" 'JVM_EXTRA_OPTS=-Xmx2G -Xss1m' D=e");
    let options = ["-Xmx2G", "-Xss1m"].map(str::to_owned).to_vec();
    assert_eq!(environment.jvm, Some(options));

    let script = |line: &str| {
        read(
            "numactl",
            &format!("#!/bin/sh\n{line} bin/cassandra -C 9\n"),
        )
    };
    for line in [
        "exec numactl -C 2-3 -m 1",
        "numactl --physcpubind 2-3 --membind 1",
        "/usr/bin/numactl -C2-3 -m1 --",
        "numactl -l --physcpubind=2-3 --interleave=1",
    ] {
        let placed = script(line);
        assert_eq!(placed.cpus, Some(vec![2, 3]), "{line}");
        assert_eq!(placed.memory_nodes, list("1"), "{line}");
    }
    let of_nodes = script("numactl --cpunodebind=0-1 --membind=0");
    assert_eq!((of_nodes.cpus, of_nodes.cpus_of_nodes), (None, list("0-1")));
    assert!(script("exec numactl --interleave=all").interleaves_all);

    let vmx = read("vmx", "memsize = \"2048\"\nNUMA.nodeaffinity = \"1\"\n");
    assert_eq!(vmx.memory_bytes, Some(2 << 30));
    assert_eq!(vmx.memory_nodes, list("1"));
    assert_eq!(vmx.guest.map(|guest| guest.sockets), Some(1));
}
