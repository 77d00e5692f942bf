//! Tests CPU masks, names of threads, and the affinity of a real process of this machine.

use super::*;
use remote::process::{self, Life};
use std::path::{Path, PathBuf};

fn set(list: &str) -> CpuSet {
    CpuSet::parse_list(list).unwrap()
}

#[test]
fn a_mask_has_a_bit_for_each_number_and_ends_with_the_last() {
    assert_eq!(Mask::from_set(&set("")).0, [0]);
    assert_eq!(Mask::from_set(&set("0,3")).0, [9]);
    assert_eq!(Mask::from_set(&set("64,127")).0, [0, 1 | 1 << 63]);
    assert_eq!(Mask::from_set(&set("384")).0.len(), 7);
}

#[test]
fn a_name_is_one_folder_and_no_path() {
    check_name("node-1_a").unwrap();
    for name in ["", ".", "..", "a/b", "node 1", "n\n"] {
        assert!(check_name(name).is_err(), "{name:?}");
    }
}

/// Without a group, a process confines itself when it starts. The test checks the CPUs that the
/// kernel reports for this process.
#[test]
fn a_process_without_a_group_starts_with_cpus_and_memory_policy() {
    let own = EffectiveAffinity::read(Path::new("/proc/self")).unwrap();
    let cpu = own.all_cpus().first().unwrap();
    let one: CpuSet = [cpu].into_iter().collect();
    let confinement = Confinement {
        name: "node1".to_owned(),
        cpus: Some(one.clone()),
        memory: Memory::Anywhere,
    };
    let mut command = process::command(Path::new("/bin/sh"));
    command.args(["-c", "read line"]);
    command.stdin(std::process::Stdio::piped());
    let pending = admit(&mut command, None, Some(&confinement)).unwrap();
    assert!(pending.is_none());
    let mut child = process::spawn(command, Life::Ours).unwrap();
    let folder = PathBuf::from(format!("/proc/{}", child.id()));
    let found = EffectiveAffinity::read(&folder).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(found.all_cpus(), one);
}

/// When cassay ran under `numactl --interleave=all`, the memory of each node without a policy was
/// once also interleaved.
#[test]
fn a_process_that_is_told_no_policy_does_not_take_over_ours() {
    let own = EffectiveAffinity::own().unwrap();
    let nodes = own.all_memory_nodes();
    if own.policy_bytes.is_empty() || Mask::from_set(&nodes).govern(libc::MPOL_INTERLEAVE).is_err()
    {
        return crate::skip_report::unable("no memory policies");
    }
    let policies = |to: Option<&Confinement>| {
        let mut command = process::command(Path::new("/bin/sh"));
        command.args(["-c", "read line"]);
        command.stdin(std::process::Stdio::piped());
        admit(&mut command, None, to).unwrap();
        // A process inherits the memory policy of the thread that starts it. So this thread starts
        // the process, and not the thread of `process::spawn`, which has another policy.
        let mut child = command.spawn().unwrap();
        let found = EffectiveAffinity::read(&PathBuf::from(format!("/proc/{}", child.id())));
        child.kill().unwrap();
        child.wait().unwrap();
        found.unwrap().policy_bytes
    };
    let confinement = Confinement {
        name: "node1".to_owned(),
        cpus: None,
        memory: Memory::Anywhere,
    };
    let inherited = policies(None);
    let ours = format!("interleave:{nodes}");
    assert!(inherited.contains_key(&ours), "{inherited:?}");
    let found = policies(Some(&confinement));
    assert!(found.keys().eq(["default"]), "{found:?}");
    govern_by_default().unwrap();
}
