//! Hosts that outlive the command that made them, because they are to be kept.

use crate::hosts::{able, assert_gone, link_of, make, shell, spec, wait_until};
use host::process::{self, Life};
use host::{HostAbility, HostSpec, Hosts, HostsSpec, HostsState, LinkSpec};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// A child of this test program reads its part here.
const PART: &str = "CASSAY_TEST_PART";

/// This test program again, in its part of a test, as a command that will end or be killed.
pub fn another(test: &str, folder: &Path) -> Child {
    let mut command = process::command(&std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture"])
        .env(PART, "command")
        .current_dir(folder)
        .stdout(Stdio::null());
    process::spawn(command, Life::Ours).unwrap()
}

/// The folder in which this program is to do its part of a test, if it is such a child.
pub fn part() -> Option<PathBuf> {
    std::env::var_os(PART)?;
    Some(std::env::current_dir().unwrap())
}

/// Two hosts with volumes.
pub fn volume_spec() -> HostsSpec {
    let host = HostSpec {
        volume_bytes: Some(128 << 20),
        ..HostSpec::default()
    };
    spec(2, host)
}

/// Writes in one step, as a reader waits for it.
pub fn save(state: &HostsState, folder: &Path, name: &str) {
    let part = folder.join("part");
    std::fs::write(&part, serde_json::to_vec(state).unwrap()).unwrap();
    std::fs::rename(&part, folder.join(name)).unwrap();
}

/// What [`save`] has written.
pub fn load(folder: &Path, name: &str) -> HostsState {
    serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap()
}

#[test]
fn kept_hosts_are_reached_by_another_command_and_taken_down() {
    if let Some(folder) = part() {
        let hosts = make("kept", &volume_spec(), &folder.join("cluster"));
        std::fs::write(hosts.all()[0].folder().join("file"), "kept").unwrap();
        hosts.keep().unwrap();
        save(&hosts.state(), &folder, "kept");
        return;
    }
    if !able(&[HostAbility::Network, HostAbility::Volume]) {
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
    let inside = one.folder_inside().join("file");
    assert_eq!(std::fs::read(one.folder().join("file")).unwrap(), b"kept");
    let seen = shell(one, &format!("cat {}", inside.display()));
    assert_eq!(seen.text, "kept");
    let total = one.usage().unwrap().total_bytes;
    assert!(total < 128 << 20, "of the volume: {total}");
    if able(&[HostAbility::LinkRate]) {
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
