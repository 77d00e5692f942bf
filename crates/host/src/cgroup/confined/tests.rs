//! Groups in a host's own, with plain files for those of the kernel: what is written where. What
//! the kernel makes of it is tested with whole hosts, by the agent.

use super::*;
use crate::confine::Memory;
use tempfile::TempDir;

/// A machine of 8 CPUs and 2 NUMA nodes, with a host that has groups for a node and for the rest.
struct Tree {
    root: TempDir,
    place: CgroupDir,
    group: Group,
}

/// What is written to a group of either version.
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
        let effective = match unified {
            true => ["cpuset.cpus.effective", "cpuset.mems.effective"],
            false => ["cpuset.effective_cpus", "cpuset.effective_mems"],
        };
        for (name, value) in effective.into_iter().zip(["0-7\n", "0-1\n"]) {
            std::fs::write(root.path().join(name), value).unwrap();
        }
        let group = Group::of(vec![place.clone()]);
        let tree = Tree { root, place, group };
        tree.empty();
        tree.host("cpuset.cpus", "0-7\n");
        tree.host("cpuset.mems", "0-1\n");
        tree
    }

    /// The kernel takes each write as a whole; a plain file keeps the end of a longer one.
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

/// Rust makes no system call for an empty value: in version 2 a node that was bound before kept its
/// memory nodes when it was started anew without, and a host its CPUs, and nobody saw it.
#[test]
fn what_is_taken_back_is_written_and_not_left_as_it_was() {
    for unified in [true, false] {
        let tree = Tree::new(unified);
        let bound = to(Some("2-3"), Memory::Bound(set("0")));
        drop(tree.group.confine(&tree.place, &bound));
        assert_eq!(tree.text("node1/cpuset.cpus"), "2-3");
        assert_eq!(tree.text("node1/cpuset.mems"), "0");
        tree.group
            .confine(&tree.place, &to(None, Memory::Anywhere))
            .unwrap();
        assert_eq!(tree.text("node1/cpuset.cpus"), "0-7");
        assert_eq!(tree.text("node1/cpuset.mems"), "0-1");

        tree.empty();
        tree.host("cpuset.cpus", "5");
        tree.group.limit_cpus(None).unwrap();
        assert_eq!(tree.text("cpuset.cpus"), "0-7", "unified: {unified}");
    }
}

#[test]
fn nothing_is_never_written() {
    let tree = Tree::new(true);
    let file = tree.root.path().join("cpuset.mems.effective");
    for value in ["", " \n"] {
        let error = write(&file, value).unwrap_err().to_string();
        assert!(error.contains("nothing would be written"), "{error}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "0-1\n");
}
