//! Tests the settings of a machine that consists of files. The files have normal or arbitrary
//! content, or are missing.

use super::*;
use proptest::prelude::*;
use std::os::unix::fs::symlink;

const PID: u32 = 4242;

/// A machine with one node. Each entry is the path and the content of a file.
const MACHINE: &[(&str, &str)] = &[
    ("proc/sys/vm/max_map_count", "65530\n"),
    ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
    (
        "proc/meminfo",
        "MemTotal:       24684084 kB\nMemFree: 1 kB\nSwapTotal:       2048 kB\n",
    ),
    (
        "proc/cpuinfo",
        "processor : 0\nflags : fpu hypervisor tsc\n",
    ),
    (
        "sys/kernel/mm/transparent_hugepage/enabled",
        "always [madvise] never\n",
    ),
    ("sys/devices/system/cpu/online", "0-3\n"),
    (
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "powersave\n",
    ),
    (
        "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
        "powersave\n",
    ),
    (
        "sys/devices/system/cpu/cpufreq/scaling_governor",
        "none of a cpu\n",
    ),
    ("sys/devices/system/node/has_memory", "0-1\n"),
    (".dockerenv", ""),
    (
        "proc/self/mountinfo",
        "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
         21 20 7:0 / /var/lib/cass\\040andra rw - ext4 /dev/loop0 rw\n\
         22 20 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n\
         23 20 0:44 / /o rw - overlay overlay rw,lowerdir=/x\n",
    ),
    (
        "proc/interrupts",
        "            CPU0       CPU1\n  1:  7 9  IO-APIC 1-edge i8042\n \
         24:  0  12  PCI-MSIX-0000:00:03.0 1-edge  virtio2-input.0\n \
         25:  30  1  PCI-MSIX-0000:00:04.0 1-edge  nvme0q1\n \
         26:  3  0  PCI-MSIX-0000:00:05.0 1-edge  ens5-Tx-Rx-0\n \
         27:  3  0  PCI-MSIX-0000:00:05.0 1-edge  ens51-Tx\nNMI:  0 0 Non-maskable\n",
    ),
    ("sys/class/net/ens5/mtu", "1500"),
    ("proc/irq/24/smp_affinity_list", "0-3\n"),
    ("proc/irq/24/effective_affinity_list", "1\n"),
    ("proc/irq/25/smp_affinity_list", "0\n"),
    ("proc/4242/cgroup", "0::/a/b\n"),
    ("sys/fs/cgroup/a/b/memory.max", "max\n"),
    ("sys/fs/cgroup/a/memory.max", "1073741824\n"),
    ("sys/fs/cgroup/a/b/cpu.max", "150000 100000\n"),
    ("sys/fs/cgroup/a/cpu.max", "max 100000\n"),
    (
        "proc/4242/status",
        "Name:\tjava\nCpus_allowed_list:\t0-1\nMems_allowed_list:\t0\n",
    ),
    (
        "proc/4242/limits",
        "Limit                     Soft Limit           Hard Limit           Units     \n\
         Max processes             96365                96365                processes \n\
         Max open files            20000                40000                files     \n\
         Max locked memory         unlimited            unlimited            bytes     \n",
    ),
    (
        "proc/4242/cmdline",
        "/opt/java\0-Xmx8G\0-Dcassandra.password=hunter2\0-Xmxhunter2\0-XX:+UseNUMA\0\
         -XX:+UseNUMAhunter2\0-XX:ParallelGCThreads=4\0-javaagent:a.jar=pw=hunter2\0\
         org.apache.Daemon\0",
    ),
    ("proc/4242/environ", "PASSWORD=hunter2\0"),
    (
        "proc/4242/maps",
        "7f00-7f01 r-xp 0 08:01 1  /usr/lib/libjemalloc.so.2\n",
    ),
    ("sys/devices/pci/block/sda/queue/read_ahead_kb", "128\n"),
    (
        "sys/devices/pci/block/sda/queue/scheduler",
        "none [mq-deadline] bfq\n",
    ),
    ("sys/devices/pci/block/sda/queue/rotational", "0\n"),
    ("sys/devices/pci/block/sda/sda1/partition", "1\n"),
    (
        "sys/devices/virtual/block/loop0/queue/read_ahead_kb",
        "4096\n",
    ),
    ("sys/devices/virtual/block/loop0/queue/scheduler", "none\n"),
    (
        "sys/devices/virtual/block/loop0/loop/backing_file",
        "/images/volume\n",
    ),
];

const LINKS: &[(&str, &str)] = &[
    ("sys/dev/block/8:1", "../../devices/pci/block/sda/sda1"),
    ("sys/dev/block/7:0", "../../devices/virtual/block/loop0"),
    ("sys/class/block/sda", "../../devices/pci/block/sda"),
    ("sys/class/block/sda1", "../../devices/pci/block/sda/sda1"),
    ("sys/class/block/loop0", "../../devices/virtual/block/loop0"),
    (
        "proc/4242/fd/7",
        "/var/lib/cass andra/data/k/t/nb-1-big-Data.db",
    ),
    ("proc/4242/fd/8", "/elsewhere/secret.txt"),
    ("proc/4242/fd/9", "socket:[12]"),
];

/// Creates the machine, with other contents of some files. `None` removes a file.
fn machine(others: &[(&str, Option<&[u8]>)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, bytes: &[u8]| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    for (path, text) in MACHINE {
        match others.iter().find(|(other, _)| other == path) {
            Some((_, Some(bytes))) => write(path, bytes),
            Some((_, None)) => {}
            None => write(path, text.as_bytes()),
        }
    }
    for (path, to) in LINKS {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(to, path).unwrap();
    }
    root
}

fn question() -> Question {
    Question {
        processes: vec![("node1".into(), PID), ("node2".into(), 77)],
        with_argument: None,
        arguments: ["-Xmx", "-XX:+UseNUMA", "-XX:ParallelGCThreads="].map(str::to_owned).to_vec(),
        library: "jemalloc".into(),
        folders: vec![
            "/var/lib/cass andra/data".into(),
            "/home".into(),
            "/o".into(),
        ],
        files: vec![(String::new(), "-Data.db".into())],
    }
}

fn read(root: &tempfile::TempDir, question: &Question) -> HostSettings {
    HostSettings::read(root.path(), question)
}

#[test]
fn a_host_is_read_as_its_files_say() {
    let root = machine(&[]);
    let found = read(&root, &question());
    assert_eq!(found.values["vm.max_map_count"], Ok("65530".into()));
    assert_eq!(
        found.values["net.ipv4.tcp_rmem"],
        Ok("4096\t131072\t6291456".into())
    );
    assert_eq!(found.memory_bytes, Ok(24_684_084 << 10));
    assert_eq!(found.swap_bytes, Ok(2 << 20));
    assert_eq!(found.governors, [("powersave".into(), 2)].into());
    assert_eq!(found.container.as_deref(), Some("docker"));
    assert!(found.is_virtual);
    let node = &found.processes[0];
    assert_eq!((&*node.name, node.pid), ("node1", PID));
    let limits = node.limits.as_ref().unwrap();
    assert_eq!(limits["nofile"], Some(20_000));
    assert_eq!(limits["memlock"], None);
    assert!(!limits.contains_key("as"));
    assert_eq!(node.cpus, Ok("0-1".into()));
    assert_eq!(
        (node.memory_limit_bytes, node.cpu_quota),
        (Some(1 << 30), Some(1.5))
    );
    assert_eq!(node.memory_group.as_deref(), Some("/sys/fs/cgroup/a"));
    assert_eq!(node.has_library, Ok(true));
    assert_eq!(found.unseen, ["node2: its process 77 has ended"]);
}

/// The devices of a loop device include the device that contains its file. A partition has the
/// queue of its disk.
#[test]
fn devices_are_followed_down_to_the_disk() {
    let root = machine(&[]);
    let mounts = read(&root, &question()).mounts;
    let names = |mount: &Mount| -> Vec<String> {
        mount.devices.iter().map(|one| one.name.clone()).collect()
    };
    assert_eq!(mounts[0].place, "/var/lib/cass andra");
    assert_eq!(names(&mounts[0]), ["loop0", "sda"]);
    assert!(mounts[0].devices[0].is_made_of_others);
    let sda = &mounts[0].devices[1];
    assert_eq!(sda.read_ahead_kib, Ok(128));
    assert_eq!(sda.scheduler, Ok("mq-deadline".into()));
    assert_eq!(sda.is_rotational, Ok(false));
    assert_eq!(
        (&*mounts[1].place, names(&mounts[1])),
        ("/", vec!["sda".to_owned()])
    );
    assert_eq!((&*mounts[2].kind, names(&mounts[2])), ("overlay", vec![]));
}

#[test]
fn interrupts_are_of_queues_only() {
    let root = machine(&[]);
    let all = read(&root, &question()).interrupts.unwrap();
    let brief: Vec<_> = all.iter().map(|one| (&*one.name, one.queue, &*one.counts)).collect();
    assert_eq!(
        brief,
        [
            ("virtio2-input.0", Queue::Network, &[(1, 12)][..]),
            ("nvme0q1", Queue::Disk, &[(0, 30), (1, 1)]),
            ("ens5-Tx-Rx-0", Queue::Network, &[(0, 3)]),
        ]
    );
    assert_eq!(all[0].cpus, Ok("1".into()));
    assert_eq!(all[1].cpus, Ok("0".into()));
    assert!(all[2].cpus.is_err());
}

/// Arguments may contain secrets even if they are next to flags that cassay reports.
#[test]
fn no_secret_of_a_process_is_told() {
    let root = machine(&[]);
    let mut asked = question();
    asked.processes.clear();
    asked.with_argument = Some("org.apache.Daemon".into());
    let found = read(&root, &asked);
    let arguments = found.processes[0].arguments.as_ref().unwrap();
    assert_eq!(
        arguments,
        &["-Xmx8G", "-XX:+UseNUMA", "-XX:ParallelGCThreads=4"]
    );
    assert_eq!(found.mounts[0].place, "/var/lib/cass andra");
    let told = serde_json::to_string(&found).unwrap();
    assert!(
        !told.contains("hunter2") && !told.contains("secret.txt"),
        "{told}"
    );
}

#[test]
fn an_absent_setting_is_not_told_and_has_a_reason() {
    let absent: Vec<(&str, Option<&[u8]>)> =
        MACHINE.iter().map(|(path, _)| (*path, None)).collect();
    let root = machine(&absent);
    let found = read(&root, &question());
    let why = found.values["vm.max_map_count"].clone().unwrap_err();
    assert_eq!(why, "there is no /proc/sys/vm/max_map_count");
    assert!(found.memory_bytes.is_err() && found.interrupts.is_err() && found.clock.is_err());
    assert!(found.processes[0].limits.is_err());
    let denied = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
    assert_eq!(root::refusal("/x", &denied), "no permission to read /x");
    // One path is a directory instead of a file, and one file is too long.
    std::fs::create_dir_all(root.path().join("proc/sys/vm/swappiness")).unwrap();
    let long = vec![b'1'; (8 << 20) + 1];
    std::fs::write(root.path().join("proc/meminfo"), &long).unwrap();
    let found = read(&root, &question());
    assert!(found.values["vm.swappiness"].is_err());
    assert!(found.memory_bytes.unwrap_err().contains("is longer than"));
}

/// The test reads the settings of the machine on which it runs. Every machine reports its memory
/// and the process itself.
#[test]
fn this_machine_tells_of_itself() {
    let found = HostSettings::read(Path::new("/"), &question());
    assert!(
        found.memory_bytes.is_ok() && found.own.is_some(),
        "{found:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_content_of_a_file_panics(
        index in 0..MACHINE.len(),
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        words in "[0-9a-zA-Z:,./\\\\ \n\t\\[\\]\\-]{0,120}",
        is_text in any::<bool>(),
    ) {
        let bytes = if is_text { words.into_bytes() } else { bytes };
        let root = machine(&[(MACHINE[index].0, Some(&bytes))]);
        let mut asked = question();
        asked.with_argument = Some("org.apache.Daemon".into());
        let found = read(&root, &asked);
        prop_assert!(serde_json::to_string(&found).is_ok());
    }
}
