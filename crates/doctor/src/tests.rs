//! Tests the rules of `cassay doctor` with tables of facts.
//!
//! Long because it contains the cases of all rules.

use super::*;
use host::settings::{ClockState, Device, Interrupt, Mount, ProcessSettings, Queue};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const GIB: u64 = 1 << 30;

/// Returns a node with four CPUs. All settings of the node have the recommended values.
fn node(name: &str) -> ProcessSettings {
    let limit = |(name, limit): (&str, Option<u64>)| (name.to_owned(), limit);
    ProcessSettings {
        name: name.into(),
        pid: 7,
        limits: Ok([
            ("nofile", Some(1_048_576)),
            ("nproc", Some(32_768)),
            ("memlock", None),
            ("as", None),
        ]
        .map(limit)
        .into()),
        cpus: Ok("0-3".into()),
        memory_nodes: Ok("0".into()),
        memory_limit_bytes: None,
        memory_group: None,
        cpu_quota: None,
        arguments: Ok(["-Xms8G", "-Xmx8G"].map(str::to_owned).to_vec()),
        has_library: Ok(true),
    }
}

/// Returns a host whose settings all have the recommended values.
fn well() -> HostSettings {
    let value = |(name, value): (&str, &str)| (name.to_owned(), Ok(value.to_owned()));
    let values = [
        ("clocksource.available", "tsc hpet"),
        ("clocksource.current", "tsc"),
        ("kernel.numa_balancing", "0"),
        ("net.core.optmem_max", "131072"),
        ("net.core.rmem_max", "16777216"),
        ("net.core.somaxconn", "4096"),
        ("net.core.wmem_max", "16777216"),
        ("net.ipv4.tcp_keepalive_intvl", "10"),
        ("net.ipv4.tcp_keepalive_probes", "3"),
        ("net.ipv4.tcp_keepalive_time", "60"),
        ("net.ipv4.tcp_rmem", "4096\t87380\t16777216"),
        ("net.ipv4.tcp_wmem", "4096\t65536\t16777216"),
        ("thp.defrag", "always defer [never]"),
        ("thp.enabled", "always [madvise] never"),
        ("vm.dirty_background_bytes", "268435456"),
        ("vm.dirty_background_ratio", "0"),
        ("vm.max_map_count", "1048575"),
        ("vm.swappiness", "60"),
        ("vm.zone_reclaim_mode", "0"),
    ];
    let interrupt = |number, name: &str, queue, cpu| Interrupt {
        number,
        name: name.into(),
        queue,
        counts: vec![(cpu, 50_000)],
        cpus: Ok(cpu.to_string()),
    };
    HostSettings {
        values: values.map(value).into(),
        cpus: Ok("0-3".into()),
        memory_nodes: Ok("0".into()),
        governors: [("performance".to_owned(), 4)].into(),
        memory_bytes: Ok(32 * GIB),
        swap_bytes: Ok(0),
        clock: Ok(ClockState {
            is_kept: true,
            error_us: 900,
        }),
        container: None,
        is_virtual: false,
        interrupts: Ok(vec![
            interrupt(1, "eth0-rx-0", Queue::Network, 0),
            interrupt(2, "eth0-rx-1", Queue::Network, 1),
            interrupt(3, "nvme0q1", Queue::Disk, 2),
            interrupt(4, "nvme0q2", Queue::Disk, 3),
        ]),
        own: Some(node("")),
        processes: vec![node("node1")],
        mounts: vec![Mount {
            place: "/data".into(),
            folders: vec!["/data/node1".into()],
            kind: "xfs".into(),
            source: "/dev/nvme0n1".into(),
            devices: vec![Device {
                name: "nvme0n1".into(),
                is_made_of_others: false,
                read_ahead_kib: Ok(8),
                scheduler: Ok("none".into()),
                is_rotational: Ok(false),
            }],
        }],
        unseen: Vec::new(),
    }
}

/// Returns the settings that deviate from the recommendation. Each of them has the form `level
/// setting on: value`.
fn deviating(facts: &HostSettings, told: &[NodeConfiguration]) -> Vec<String> {
    let all = rules::judge(facts, told);
    let bad = all.iter().filter(|one| one.level != Severity::Ok);
    let words = |one: &Finding| {
        let on = if one.on.is_empty() {
            String::new()
        } else {
            format!(" {}", one.on)
        };
        format!("{} {}{on}: {}", one.level.name(), one.setting, one.value)
    };
    bad.map(words).collect()
}

#[test]
fn nothing_is_said_of_a_host_that_is_well() {
    assert_eq!(deviating(&well(), &[]), [] as [&str; 0]);
    let mut alone = well();
    alone.processes.clear();
    assert_eq!(deviating(&alone, &[]), [] as [&str; 0]);
}

type Change = fn(&mut HostSettings);

fn set(facts: &mut HostSettings, name: &str, value: &str) {
    facts.values.insert(name.into(), Ok(value.into()));
}

fn limit(facts: &mut HostSettings, name: &str, value: Option<u64>) {
    let limits = facts.processes[0].limits.as_mut().unwrap();
    limits.insert(name.into(), value);
}

fn arguments(facts: &mut HostSettings, all: &[&str]) {
    facts.processes[0].arguments = Ok(all.iter().map(|one| (*one).to_owned()).collect());
}

/// Changes to the kernel settings of a healthy host, and the expected findings.
const OF_KERNEL: &[(Change, &[&str])] = &[
    (
        |f| limit(f, "nofile", Some(1024)),
        &["warning limit.nofile node1: 1024"],
    ),
    (
        |f| limit(f, "nproc", Some(4096)),
        &["warning limit.nproc node1: 4096"],
    ),
    (
        |f| limit(f, "memlock", Some(8 << 20)),
        &["advice limit.memlock node1: 8 MiB"],
    ),
    (
        |f| limit(f, "as", Some(GIB)),
        &["warning limit.as node1: 1 GiB"],
    ),
    (
        |f| set(f, "vm.max_map_count", "65530"),
        &["warning vm.max_map_count: 65530"],
    ),
    (
        |f| {
            f.swap_bytes = Ok(GIB);
            limit(f, "memlock", Some(0));
        },
        &[
            "warning limit.memlock node1: 0 B",
            "warning swap: 1 GiB",
            "advice vm.swappiness: 60",
        ],
    ),
    (
        |f| set(f, "thp.enabled", "[always] madvise never"),
        &["advice thp.enabled: always"],
    ),
    (
        |f| {
            set(f, "thp.enabled", "always madvise [never]");
            arguments(f, &["-Xms8G", "-Xmx8G", "-XX:+UseTransparentHugePages"]);
        },
        &["warning thp.enabled: never, and a JVM has +UseTransparentHugePages"],
    ),
    (|f| set(f, "thp.defrag", "[always] madvise never"), &[]),
    (
        |f| {
            set(f, "thp.defrag", "always [madvise] never");
            arguments(f, &["-Xms8G", "-Xmx8G", "-XX:+UseTransparentHugePages"]);
        },
        &["advice thp.defrag: madvise"],
    ),
    (
        |f| set(f, "vm.zone_reclaim_mode", "1"),
        &["warning vm.zone_reclaim_mode: 1"],
    ),
    (
        |f| {
            set(f, "vm.dirty_background_bytes", "0");
            set(f, "vm.dirty_background_ratio", "10");
        },
        &["advice vm.dirty_background: 3.2 GiB (10 % of memory)"],
    ),
    (
        |f| set(f, "net.ipv4.tcp_rmem", "4096\t131072\t6291456"),
        &["advice net.ipv4.tcp_rmem: 4096 131072 6291456"],
    ),
    (
        |f| set(f, "net.ipv4.tcp_keepalive_time", "7200"),
        &["advice net.ipv4.tcp_keepalive_time: 7200"],
    ),
    (
        |f| set(f, "clocksource.current", "xen"),
        &["warning clock.source: xen"],
    ),
    (|f| set(f, "clocksource.current", "kvm-clock"), &[]),
    (
        |f| {
            f.clock = Ok(ClockState {
                is_kept: false,
                error_us: 0,
            })
        },
        &["warning clock.sync: the kernel reports that no program synchronises the clock"],
    ),
    (
        |f| f.governors = [("powersave".into(), 4)].into(),
        &["advice cpu.governor: powersave"],
    ),
    (|f| set(f, "kernel.numa_balancing", "1"), &[]),
    (
        |f| {
            set(f, "kernel.numa_balancing", "1");
            f.memory_nodes = Ok("0-1".into());
        },
        &["advice kernel.numa_balancing: 1"],
    ),
];

#[test]
fn each_setting_of_the_kernel_is_found_by_its_rule() {
    check(OF_KERNEL);
}

fn check(cases: &[(Change, &[&str])]) {
    for (index, (change, expected)) in cases.iter().enumerate() {
        let mut facts = well();
        change(&mut facts);
        assert_eq!(deviating(&facts, &[]), *expected, "case {index}");
    }
}

fn disk(facts: &mut HostSettings) -> &mut Device {
    &mut facts.mounts[0].devices[0]
}

/// Changes to the disks and their interrupts, and the expected findings.
const OF_DISKS: &[(Change, &[&str])] = &[
    (
        |f| disk(f).read_ahead_kib = Ok(128),
        &["advice disk.read_ahead nvme0n1: 128 KiB"],
    ),
    (
        |f| disk(f).read_ahead_kib = Ok(4096),
        &["warning disk.read_ahead nvme0n1: 4096 KiB"],
    ),
    (
        |f| {
            disk(f).read_ahead_kib = Ok(64);
            disk(f).is_rotational = Ok(true);
        },
        &["advice disk.rotational nvme0n1: 1"],
    ),
    (
        |f| disk(f).scheduler = Ok("bfq".into()),
        &["advice disk.scheduler nvme0n1: bfq"],
    ),
    (
        |f| f.mounts[0].kind = "nfs4".into(),
        &["warning disk.file_system /data: nfs4"],
    ),
    (
        |f| {
            // For a mirror, the rules judge the read-ahead of the mirror itself, and the schedulers
            // of its parts.
            let part = Device {
                read_ahead_kib: Ok(128),
                ..disk(f).clone()
            };
            disk(f).name = "md0".into();
            disk(f).is_made_of_others = true;
            disk(f).scheduler = Ok("nothing known".into());
            f.mounts[0].devices.push(part);
        },
        &[],
    ),
    (
        |f| f.interrupts = Ok(only_on_cpu_0()),
        &[
            "advice irq.network: 100 % on CPU 0 (one queue)",
            "unknown irq.disk: /proc/interrupts contains no such queue",
        ],
    ),
    (
        |f| {
            f.interrupts = Ok(only_on_cpu_0());
            f.processes[0].cpus = Ok("0-1".into());
        },
        &[
            "warning irq.network: 100 % on CPU 0 (one queue), and node1 is bound to this CPU",
            "unknown irq.disk: /proc/interrupts contains no such queue",
        ],
    ),
];

#[test]
fn each_setting_of_a_disk_is_found_by_its_rule() {
    check(OF_DISKS);
}

fn only_on_cpu_0() -> Vec<Interrupt> {
    let facts = well();
    let mut first = facts.interrupts.unwrap().remove(0);
    first.cpus = Ok("0-3".into());
    vec![first]
}

/// Changes to the JVMs, and the expected findings.
const OF_JVMS: &[(Change, &[&str])] = &[
    (
        |f| {
            arguments(f, &["-Xms34G", "-Xmx34G"]);
            f.memory_bytes = Ok(128 * GIB);
        },
        &["warning heap.size node1: 34 GiB"],
    ),
    (
        |f| {
            arguments(f, &["-Xms40G", "-Xmx40G"]);
            f.memory_bytes = Ok(128 * GIB);
        },
        &[],
    ),
    (
        |f| arguments(f, &["-Xms1G", "-Xmx8G"]),
        &["advice heap.initial node1: 1 GiB"],
    ),
    (
        |f| arguments(f, &["-Xms20G", "-Xmx20G"]),
        &["advice heap.of_all: 20 GiB of 32 GiB (62 %)"],
    ),
    (
        |f| f.processes[0].memory_limit_bytes = Some(9 * GIB),
        &[
            "warning heap.of_all: 8 GiB of 9 GiB (89 %)",
            "warning heap.in_group node1: 8 GiB of 9 GiB",
        ],
    ),
    (|f| arguments(f, &["-Xms8G", "-Xmx8G", "-XX:+UseNUMA"]), &[]),
    (
        |f| {
            f.memory_nodes = Ok("0-1".into());
            arguments(f, &["-Xms8G", "-Xmx8G", "-XX:+UseNUMA"]);
        },
        &["advice jvm.use_numa node1: on, and bound to one NUMA node"],
    ),
    (
        |f| {
            f.memory_nodes = Ok("0-1".into());
            f.processes[0].memory_nodes = Ok("0-1".into());
        },
        &["advice jvm.use_numa node1: off, with several NUMA nodes"],
    ),
    (
        // Two control groups of 16 GiB have 32 GiB in total, but a group that both nodes share has
        // only 16 GiB.
        |f| in_groups(f, ["/a", "/b"]),
        &["advice cpu.gc_threads_of_all: 8 in 2 JVMs on 4 CPUs"],
    ),
    (
        |f| in_groups(f, ["/a", "/a"]),
        &[
            "advice cpu.gc_threads_of_all: 8 in 2 JVMs on 4 CPUs",
            "warning heap.of_all: 16 GiB of 16 GiB (100 %)",
        ],
    ),
    (
        |f| arguments(f, &["-Xms8G", "-Xmx8G", "-XX:ParallelGCThreads=16"]),
        &[
            "warning cpu.gc_threads_of_all: 16 in 1 JVM on 4 CPUs",
            "warning jvm.parallel_gc_threads node1: 16",
        ],
    ),
    (
        |f| arguments(f, &["-Xms8G", "-Xmx8G", "-XX:ParallelGCThreads=2"]),
        &["advice jvm.parallel_gc_threads node1: 2"],
    ),
    (
        |f| {
            let counted = ["-XX:ActiveProcessorCount=2", "-XX:ParallelGCThreads=2"];
            arguments(f, &[&["-Xms8G", "-Xmx8G"], &counted[..]].concat());
        },
        &[],
    ),
    (
        |f| arguments(f, &["-Xms8G", "-Xmx8G", "-XX:ConcGCThreads=4"]),
        &[],
    ),
    (
        |f| arguments(f, &["-Xms8G", "-Xmx8G", "-XX:ConcGCThreads=9"]),
        &["advice jvm.conc_gc_threads node1: 9"],
    ),
    (
        |f| arguments(f, &["-Xms8G", "-Xmx8G", "-XX:ActiveProcessorCount=8"]),
        &[
            "advice cpu.gc_threads_of_all: 8 in 1 JVM on 4 CPUs",
            "warning jvm.active_processors node1: 8",
            "warning jvm.parallel_gc_threads node1: 8, reckoned",
        ],
    ),
    (
        |f| f.processes[0].cpu_quota = Some(1.5),
        &["advice cpu.quota node1: 1.5 CPUs"],
    ),
    (
        |f| f.processes.extend(["node2", "node3"].map(node)),
        &[
            "warning cpu.gc_threads_of_all: 12 in 3 JVMs on 4 CPUs",
            "advice heap.of_all: 24 GiB of 32 GiB (75 %)",
        ],
    ),
];

#[test]
fn each_setting_of_a_java_machine_is_found_by_its_rule() {
    check(OF_JVMS);
}

fn in_groups(facts: &mut HostSettings, groups: [&str; 2]) {
    facts.processes.push(node("node2"));
    for (process, group) in facts.processes.iter_mut().zip(groups) {
        process.memory_limit_bytes = Some(16 * GIB);
        process.memory_group = Some(group.to_owned());
    }
}

/// The expected numbers of threads are those that Java 17 and Java 25 were observed to choose.
#[test]
fn threads_are_reckoned_as_the_jvm_does() {
    let expected = [
        (1, 1, 1),
        (4, 4, 1),
        (8, 8, 2),
        (12, 10, 3),
        (14, 11, 3),
        (16, 13, 3),
        (20, 15, 4),
        (28, 20, 5),
        (32, 23, 6),
        (48, 33, 8),
        (56, 38, 10),
        (64, 43, 11),
        (112, 73, 18),
        (128, 83, 21),
    ];
    for (cpus, parallel, concurrent) in expected {
        assert_eq!(jvm::parallel_threads(cpus), parallel, "{cpus}");
        assert_eq!(jvm::concurrent_threads(parallel), concurrent, "{cpus}");
    }
}

/// The cpuset became smaller after the JVM had started. The JVM keeps the number of threads that it
/// chose when it started.
#[test]
fn facts_that_a_jvm_reports_count_before_its_command_line() {
    let mut facts = well();
    facts.processes[0].cpus = Ok("0".into());
    let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let told = NodeConfiguration {
        node: "node1".into(),
        flags: BTreeMap::from(
            [("ParallelGCThreads", "4 (default)"), ("UseG1GC", "true")].map(pair),
        ),
        jvm: BTreeMap::from([("processors", "4")].map(pair)),
        ..NodeConfiguration::default()
    };
    let said = deviating(&facts, &[told]);
    assert_eq!(
        said,
        [
            "warning cpu.gc_threads_of_all: 4 in 1 JVM on 1 CPU",
            "warning jvm.active_processors node1: 4",
            "warning jvm.parallel_gc_threads node1: 4",
        ]
    );
}

#[test]
fn a_java_that_the_makers_of_a_line_do_not_run_it_on_is_named() {
    let on = |version: &str, java: &str| {
        let told = NodeConfiguration {
            node: "node1".into(),
            version: version.into(),
            jvm: BTreeMap::from([("java".to_owned(), java.to_owned())]),
            ..NodeConfiguration::default()
        };
        deviating(&well(), &[told])
    };
    let said = "advice jvm.version node1: Java 17, with Cassandra 4.0.19";
    assert_eq!(on("4.0.19", "17"), [said]);
    for fits in [
        ("4.0.19", "1.8"),
        ("4.0.19", "11"),
        ("5.0.8", "17"),
        ("3.11.6", "17"),
    ] {
        assert_eq!(on(fits.0, fits.1), Vec::<String>::new(), "{fits:?}");
    }
}

/// If facts are missing, no finding is a warning or advice, and every finding states a value or a
/// reason.
#[test]
fn an_unreadable_setting_is_neither_good_nor_wrong() {
    let no = || Err("no permission".to_owned());
    let mut facts = well();
    facts.values.values_mut().for_each(|value| *value = no());
    facts.memory_bytes = Err("no permission".into());
    facts.swap_bytes = Err("no permission".into());
    facts.clock = Err("no permission".into());
    facts.interrupts = Err("no permission".into());
    facts.cpus = no();
    facts.governors.clear();
    let node = &mut facts.processes[0];
    node.limits = Err("no permission".into());
    (node.cpus, node.memory_nodes) = (no(), no());
    (node.arguments, node.has_library) = (Ok(Vec::new()), Err("no permission".into()));
    let all = rules::judge(&facts, &[]);
    let judged: Vec<_> = all.iter().filter(|one| one.level < Severity::Unknown).collect();
    assert!(judged.is_empty(), "{judged:#?}");
    let unknown = all.iter().filter(|one| one.level == Severity::Unknown);
    assert!(unknown.clone().count() > 25, "{}", unknown.count());
    assert!(all.iter().all(|one| !one.value.is_empty()), "{all:#?}");
}

/// All rules have different names, and each rule has a reason and advice.
#[test]
fn every_rule_has_a_name_of_its_own_a_reason_and_a_way_out() {
    let all = rules::judge(&well(), &[]);
    let names: BTreeSet<_> = all.iter().map(|one| (one.setting, &one.on)).collect();
    assert_eq!(names.len(), all.len());
    for one in &all {
        for text in [&one.why, &one.fix, &one.wanted, &one.value] {
            assert!(!text.is_empty() && !text.contains("{on}"), "{one:?}");
        }
        assert!(one.why.ends_with('.') && !one.source.is_empty(), "{one:?}");
    }
}

/// Pattern of the arguments that a report may contain.
const ARGUMENT: &str = "-(Xm[sx]|XX:[A-Za-z+-]{1,20}=?)[0-9kmgt.]{0,22}";

proptest! {
    #[test]
    fn no_facts_panic(
        value in "[0-9a-z \\[\\],.\\-]{0,24}",
        number in any::<u64>(),
        quota in any::<f64>(),
        arguments in proptest::collection::vec(ARGUMENT, 0..6),
    ) {
        let mut facts = well();
        facts.values.values_mut().for_each(|one| *one = Ok(value.clone()));
        facts.cpus = Ok(value.clone());
        facts.memory_bytes = Ok(number);
        facts.swap_bytes = Ok(number);
        let node = &mut facts.processes[0];
        node.cpus = Ok(value.clone());
        node.memory_nodes = Ok(value);
        node.cpu_quota = Some(quota);
        node.memory_limit_bytes = Some(number);
        node.arguments = Ok(arguments);
        let interrupts = facts.interrupts.as_mut().unwrap();
        interrupts.iter_mut().for_each(|one| one.counts = vec![(0, number), (1, number)]);
        prop_assert!(rules::judge(&facts, &[]).len() > 30);
    }
}
