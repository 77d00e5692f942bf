//! Tests groups within a host's group, with plain files instead of the kernel's files. The tests
//! check the values that are written to each file. The tests of the agent check the kernel's
//! behaviour with whole hosts.

use super::*;
use crate::cpu_affinity::Memory;
use target_spec::HostSpec;
use tempfile::TempDir;

/// A machine of 8 CPUs and 2 NUMA nodes. The only host has a group for a node and a group for the
/// other processes.
struct Tree {
    root: TempDir,
    place: CgroupDir,
    group: Group,
}

/// Files that are written in a group, in both versions.
const FILES: [&str; 11] = [
    "cgroup.subtree_control",
    "cpuset.cpus",
    "cpuset.mems",
    "cpu.max",
    "cpu.weight",
    "cpu.cfs_period_us",
    "cpu.cfs_quota_us",
    "cpu.shares",
    "memory.max",
    "memory.swap.max",
    "memory.limit_in_bytes",
];

impl Tree {
    fn new(unified: bool) -> Tree {
        let root = tempfile::tempdir().unwrap();
        let place = CgroupDir {
            dir: root.path().join("cassay-x-h1"),
            unified,
            controllers: ["cpuset", "cpu", "memory"].map(str::to_string).to_vec(),
        };
        let below: &[&str] = if unified {
            &["node1", LEAF]
        } else {
            &["node1"]
        };
        for name in below {
            std::fs::create_dir_all(place.dir.join(name)).unwrap();
        }
        let effective = if unified {
            ["cpuset.cpus.effective", "cpuset.mems.effective"]
        } else {
            ["cpuset.effective_cpus", "cpuset.effective_mems"]
        };
        for (name, value) in effective.into_iter().zip(["0-7\n", "0-1\n"]) {
            std::fs::write(root.path().join(name), value).unwrap();
        }
        let group = Group::existing(vec![place.clone()]);
        let tree = Tree { root, place, group };
        tree.empty();
        for (name, value) in [
            ("cpuset.cpus", "0-7\n"),
            ("cpuset.mems", "0-1\n"),
            ("cpu.max", "max 100000\n"),
            ("cpu.weight", "100\n"),
            ("memory.max", "max\n"),
            ("memory.swap.max", "max\n"),
        ] {
            tree.host(name, value);
        }
        tree
    }

    /// Empties the files, since a plain file would keep the end of a longer earlier value. The
    /// kernel handles each write as a whole.
    fn empty(&self) {
        for dir in groups_in(&self.place.dir).iter().chain([&self.place.dir]) {
            for name in FILES {
                std::fs::write(dir.join(name), "").unwrap();
            }
        }
    }

    fn host(&self, name: &str, value: &str) {
        std::fs::write(self.place.dir.join(name), value).unwrap();
    }

    fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.place.dir.join(path)).unwrap()
    }
}

fn set(list: &str) -> CpuSet {
    CpuSet::parse_list(list).unwrap()
}

fn to(cpus: Option<&str>, memory: Memory) -> Confinement {
    Confinement {
        name: "node1".to_owned(),
        cpus: cpus.map(set),
        memory,
    }
}

/// Rust does not issue a system call for an empty value. In version 2, a node that had been bound
/// to memory therefore once kept its memory nodes when it restarted without a binding. A host kept
/// its CPUs in the same way. cassay reported no error.
#[test]
fn a_withdrawn_limit_is_overwritten_and_not_left_as_it_was() {
    for unified in [true, false] {
        let tree = Tree::new(unified);
        let bound = to(Some("2-3"), Memory::Bound(set("0")));
        tree.group.confine(&tree.place, &bound).unwrap();
        assert_eq!(tree.text("node1/cpuset.cpus"), "2-3");
        assert_eq!(tree.text("node1/cpuset.mems"), "0");
        tree.group.confine(&tree.place, &to(None, Memory::Anywhere)).unwrap();
        assert_eq!(tree.text("node1/cpuset.cpus"), "0-7");
        assert_eq!(tree.text("node1/cpuset.mems"), "0-1");

        tree.empty();
        tree.host("cpuset.cpus", "5");
        tree.group.limit_cpus(None).unwrap();
        assert_eq!(tree.text("cpuset.cpus"), "0-7", "unified: {unified}");
    }
}

fn limited() -> HostSpec {
    HostSpec {
        cpus: Some(vec![0, 1, 2, 3]),
        cpu_quota: Some(1.5),
        memory_bytes: Some(1 << 30),
        ..HostSpec::default()
    }
}

/// Java 17 reads only the limits of its own group. So a JVM in a host of 1 GiB once mistook the
/// machine's memory for that of the host.
#[test]
fn each_version_2_group_gets_its_limits_when_made_and_changed() {
    let tree = Tree::new(true);
    tree.empty();
    tree.host("cpuset.mems", "0-1\n");
    tree.group.limit(&limited(), None).unwrap();
    for group in ["", "all/", "node1/"] {
        let text = |name: &str| tree.text(&format!("{group}{name}"));
        assert_eq!(text("cpu.max"), "150000 100000", "{group:?}");
        assert_eq!(text("memory.max"), "1073741824", "{group:?}");
        assert_eq!(text("memory.swap.max"), "0", "{group:?}");
        assert_eq!(text("cpuset.cpus"), "0,1,2,3", "{group:?}");
    }
    // The group of a JVM gets the weight of its host. The group of the unconfined processes has
    // only a few threads, so it keeps the default weight.
    assert_eq!(tree.text("node1/cpu.weight"), "800");
    assert_eq!(tree.text("all/cpu.weight"), "");

    // Simulates that the group is created again, with empty files.
    for name in FILES {
        std::fs::write(tree.place.dir.join("node1").join(name), "").unwrap();
    }
    let part = to(Some("2"), Memory::Anywhere);
    let mut command = remote::process::command(Path::new("/bin/true"));
    for group in ["", "all/", "node1/"] {
        std::fs::write(tree.place.dir.join(group).join("cgroup.procs"), "").unwrap();
    }
    drop(tree.group.admit(&mut command, &part).unwrap());
    assert_eq!(tree.text("node1/cpu.max"), "150000 100000");
    assert_eq!(tree.text("node1/memory.max"), "1073741824");
    assert_eq!(tree.text("node1/cpuset.cpus"), "2");

    tree.empty();
    tree.group.limit(&HostSpec::default(), None).unwrap();
    assert_eq!(tree.text("node1/cpu.max"), "max 100000");
    assert_eq!(tree.text("node1/memory.max"), "max");
    assert_eq!(tree.text("all/cpuset.cpus"), "0-7");
    assert_eq!(tree.text("node1/cpuset.cpus"), "", "it has separate CPUs");
}

#[test]
fn version_2_delegates_controllers_in_a_host_unlike_version_1() {
    let tree = Tree::new(true);
    tree.group.make_leaf(&tree.place).unwrap();
    // Each controller is enabled by a separate write, and a plain file contains only the last one.
    let on = tree.text("cgroup.subtree_control");
    assert_eq!(on, "+memory");
    let tree = Tree::new(false);
    tree.group.make_leaf(&tree.place).unwrap();
    assert_eq!(tree.text("cgroup.subtree_control"), "");
    assert!(!tree.place.dir.join(LEAF).exists());
    tree.group.limit(&limited(), None).unwrap();
    assert_eq!(tree.text("node1/memory.limit_in_bytes"), "");
}

/// If limits changed while a node restarted, the node's group was once removed before the node had
/// entered it.
#[test]
fn limits_wait_for_a_process_that_goes_into_its_group() {
    let tree = Tree::new(true);
    for group in ["", "all/", "node1/"] {
        std::fs::write(tree.place.dir.join(group).join("cgroup.procs"), "").unwrap();
    }
    let mut command = remote::process::command(Path::new("/bin/true"));
    let part = to(Some("2"), Memory::Anywhere);
    let pending = tree.group.admit(&mut command, &part).unwrap();
    std::thread::scope(|scope| {
        let limited = scope.spawn(|| tree.group.limit_cpus(Some(&[0, 1, 2])).unwrap());
        assert!(tree.group.confined.try_lock().is_err());
        assert_eq!(tree.text("cpuset.cpus"), "0-7\n", "not changed yet");
        drop(pending);
        limited.join().unwrap();
    });
    assert!(tree.text("cpuset.cpus").starts_with("0,1,2"));
    assert_eq!(tree.group.lock().keys().collect::<Vec<_>>(), ["node1"]);
}

/// Version 2 accepts any list of numbers. If none of the requested memory nodes belongs to the
/// host, the group gets all nodes of the host. So a node that was bound to memory outside its host
/// once used any memory.
#[test]
fn the_kernel_gives_the_requested_limit_or_an_error_has_both() {
    let tree = Tree::new(true);
    for (key, given, error) in [
        ("cpuset.cpus", "4-7", ""),
        ("cpuset.cpus", "4", "to the CPUs 4-7, but its host has 0-7"),
        (
            "cpuset.cpus",
            "0-7",
            "to the CPUs 4-7, but its host has 0-7",
        ),
        ("cpuset.mems", "1", ""),
        (
            "cpuset.mems",
            "0-1",
            "to the memory of NUMA nodes 1, but its host has 0-1",
        ),
    ] {
        for name in ["cpuset.cpus", "cpuset.mems"] {
            std::fs::write(tree.place.dir.join("node1").join(name), "").unwrap();
        }
        let effective = tree.place.dir.join(format!("node1/{key}.effective"));
        std::fs::write(&effective, given).unwrap();
        let part = to(Some("4-7"), Memory::Bound(set("1")));
        let done = tree.group.confine(&tree.place, &part);
        let said = done.map_or_else(|error| error.to_string(), |()| String::new());
        assert!(
            said.ends_with(error) && said.is_empty() == error.is_empty(),
            "{said}"
        );
        std::fs::remove_file(&effective).unwrap();
    }
}

/// A host that would lose all CPUs of a group within it must keep its CPUs. Otherwise the kernel
/// would give this group all CPUs of the host.
#[test]
fn a_host_keeps_the_cpus_that_a_process_in_it_is_confined_to() {
    let tree = Tree::new(true);
    let part = to(Some("4-7"), Memory::Anywhere);
    tree.group.lock().insert(part.name.clone(), part);
    let error = format!("{:#}", tree.group.limit_cpus(Some(&[0, 4])).unwrap_err());
    assert!(
        error.contains("node1 is confined to the CPUs 4-7"),
        "{error}"
    );
    assert_eq!(tree.text("cpuset.cpus"), "0-7\n");
    tree.host("cpuset.cpus.effective", "4-7\n");
    let error = format!(
        "{:#}",
        tree.group.limit_cpus(Some(&[4, 5, 6, 7, 9])).unwrap_err()
    );
    assert!(
        error.contains("4,5,6,7,9") && error.contains("the group has only the CPUs 4-7"),
        "{error}"
    );
}

#[test]
fn nothing_is_never_written() {
    let tree = Tree::new(true);
    let file = tree.root.path().join("cpuset.mems.effective");
    for value in ["", " \n"] {
        let error = write(&file, value).unwrap_err().to_string();
        assert!(error.contains("the kernel would ignore it"), "{error}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "0-1\n");
}
