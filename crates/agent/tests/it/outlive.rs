//! Tests of kept hosts, which outlive the command that created them.

use crate::hosts::{able, assert_gone, id, link_of, make, shell, spec, wait_until};
use host::process::{self, Life};
use host::{FileStep, Hosts, HostsState};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use target_spec::{Capability, HostSpec, HostsSpec, LinkSpec};

/// Environment variable that marks the child process of a test.
pub const PART: &str = "CASSAY_TEST_PART";

/// Starts this test program as a child, which simulates a command that ends or is killed.
pub fn another(test: &str, folder: &Path) -> Child {
    let mut command = process::command(&std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture"])
        .env(PART, "command")
        .current_dir(folder)
        .stdout(Stdio::null());
    process::spawn(command, Life::Ours).unwrap()
}

/// Returns the working folder if this process is the child of a test.
pub fn part() -> Option<PathBuf> {
    std::env::var_os(PART)?;
    Some(std::env::current_dir().unwrap())
}

pub fn volume_spec() -> HostsSpec {
    let host = HostSpec {
        volume_bytes: Some(128 << 20),
        ..HostSpec::default()
    };
    spec(2, host)
}

/// Writes the state atomically, because another process waits for the file.
pub fn save(state: &HostsState, folder: &Path, name: &str) {
    let part = folder.join("part");
    std::fs::write(&part, serde_json::to_vec(state).unwrap()).unwrap();
    std::fs::rename(&part, folder.join(name)).unwrap();
}

pub fn load(folder: &Path, name: &str) -> HostsState {
    serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap()
}

#[test]
fn kept_hosts_are_reached_by_another_command_and_taken_down() {
    if let Some(folder) = part() {
        let hosts = make("kept", &volume_spec(), &folder.join("cluster"));
        let one = &hosts.all()[0];
        let write = FileStep::write(one.folder().join("file"), "kept");
        one.agent().change(vec![write]).unwrap();
        hosts.keep().unwrap();
        save(&hosts.state(), &folder, "kept");
        return;
    }
    if !able(&[Capability::Hosts, Capability::Volume]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cluster = folder.path().join("cluster");
    let test = "outlive::kept_hosts_are_reached_by_another_command_and_taken_down";
    assert!(another(test, folder.path()).wait().unwrap().success());
    let state = load(folder.path(), "kept");
    let before = link_of(&state);
    assert!(!cluster.join("host1/file").exists(), "not in our mounts");

    let hosts = Hosts::reach(&state, &cluster).unwrap();
    let [one, two] = hosts.all() else {
        panic!("two were kept")
    };
    let file = one.folder().join("file");
    assert_eq!(one.agent().read(&file).unwrap(), b"kept");
    let seen = shell(one, &format!("cat {}", file.display()));
    assert_eq!(seen.text, "kept");
    let total = one.usage().unwrap().total_bytes;
    assert!(total < 128 << 20, "of the volume: {total}");
    if able(&[Capability::LinkRate]) {
        let limits = HostSpec {
            volume_bytes: Some(128 << 20),
            link: LinkSpec {
                rate_bits_per_s: Some(1_000_000_000),
                delay: None,
            },
            ..HostSpec::default()
        };
        two.set_limits(&limits).unwrap();
        assert_eq!(two.limits().unwrap()["link_rate"], "1000000000");
    }
    drop(hosts);
    let hosts = Hosts::reach(&state, &cluster).expect("a drop leaves kept hosts");
    hosts.end().unwrap();
    assert_gone(&state, before);
    wait_until("the cluster's folder has gone", || !cluster.exists());
    let error = format!("{:#}", Hosts::reach(&state, &cluster).unwrap_err());
    assert!(error.contains("No such file"), "{error}");
}

/// The group is like a scope of `systemd-run --scope -p Delegate=yes`, in which cassay creates the
/// hosts' groups. The command and its agents move to a sibling of these groups, because in cgroup
/// version 2 a group with controllers for child groups cannot contain processes.
#[test]
fn a_scope_that_was_delegated_has_the_groups_of_the_hosts() {
    let scope = |folder: &Path| {
        let text = std::fs::read_to_string(folder.join("scope")).unwrap();
        PathBuf::from(text)
    };
    if let Some(folder) = part() {
        let scope = scope(&folder);
        std::fs::write(scope.join("cgroup.procs"), "0").unwrap();
        let hosts = make(
            "scope",
            &spec(1, HostSpec::default()),
            &folder.join("cluster"),
        );
        let state = hosts.state();
        let mut places = state.hosts[0].places.iter();
        let unified = places.find(|place| place.unified).unwrap();
        assert_eq!(unified.dir.parent(), Some(&*scope));
        assert_eq!(
            std::fs::read_to_string(scope.join("cgroup.procs")).unwrap(),
            ""
        );
        hosts.end().unwrap();
        std::fs::write(scope.parent().unwrap().join("cgroup.procs"), "0").unwrap();
        return;
    }
    if !able(&[Capability::Hosts, Capability::CpuLimit]) {
        return;
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let unified = mounts.lines().find(|line| line.contains(" - cgroup2 "));
    let top = unified.and_then(|line| line.split(' ').nth(4));
    let Some(top) = top.filter(|top| !Path::new(top).join("cgroup.type").exists()) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let scope = Path::new(top).join(id("scope"));
    std::fs::create_dir(&scope).unwrap();
    let mark = rustix::fs::setxattr(
        &scope,
        "trusted.delegate",
        b"1",
        rustix::fs::XattrFlags::empty(),
    );
    mark.unwrap();
    std::fs::write(folder.path().join("scope"), scope.display().to_string()).unwrap();
    let test = "outlive::a_scope_that_was_delegated_has_the_groups_of_the_hosts";
    let done = another(test, folder.path()).wait().unwrap();
    let aside = scope.join("cassay-itself");
    wait_until("nobody is left in it", || {
        std::fs::remove_dir(&aside).is_ok() || !aside.exists()
    });
    wait_until("it can be removed", || std::fs::remove_dir(&scope).is_ok());
    assert!(done.success());
}
