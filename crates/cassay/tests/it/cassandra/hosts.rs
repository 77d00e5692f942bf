//! Tests nodes on separate hosts: racks follow hosts, and limits apply inside each host. A command
//! must leave no process, link, mount, loop device or control group behind, however it ends. Needs
//! root.

use super::{
    HEAP, KeptClusterGuard, assert_nothing_is_left, dirs, jvms, small, start_with_stand_in,
};
use crate::program::{Lab, skip, wait_until};
use ::cassandra::{Effect, Proof};
use cluster::kept_cluster;
use host::capabilities;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use target_spec::{Capability, LocalSpec, Restarts};

/// Arguments that start three hosts, which are small enough for any machine.
const UP: [&str; 13] = [
    "target",
    "up",
    "--hosts",
    "3",
    "--heap",
    HEAP,
    "--host-volume",
    "2GiB",
    "--host-memory",
    "1500MiB",
    "--host-quota",
    "1.5",
    "--json",
];

/// Returns the reason why this machine does not allow emulated hosts, or `None` if it does.
pub(crate) fn refusal() -> Option<String> {
    let needed = [
        Capability::Hosts,
        Capability::CpuLimit,
        Capability::MemoryLimit,
        Capability::Volume,
    ];
    let missing =
        |able: &&target_spec::CapabilityStatus| needed.contains(&able.capability) && !able.present;
    let able = capabilities().iter().find(missing)?;
    Some(format!("{}: {}", able.capability, able.detail))
}

fn state(lab: &Lab) -> Option<Value> {
    let folder = std::fs::read_dir(lab.clusters()).ok()?.next()?.ok()?.path();
    let text = std::fs::read_to_string(folder.join("state.json")).ok()?;
    serde_json::from_str(&text).ok()
}

fn id_of(state: &Value) -> &str {
    state["id"].as_str().expect("an id")
}

/// Returns the traces that a cluster's hosts have left on the machine.
fn traces(lab: &Lab, state: &Value) -> Vec<String> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let folder = lab.clusters().display().to_string();
    let mut found = Vec::new();
    if let Some(network) = state["hosts"]["network"].as_str() {
        let parts: Vec<&str> = network.split('.').collect();
        let link = format!("/sys/class/net/cassay{}-{}", parts[1], parts[2]);
        found.extend(Path::new(&link).exists().then_some(link));
    }
    let mounts = read("/proc/self/mountinfo");
    found.extend(mounts.lines().filter(|line| line.contains(&folder)).map(str::to_string));
    let loops = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    for device in loops {
        let file = device.path().join("loop/backing_file");
        let backing = read(&file.display().to_string());
        found.extend(backing.contains(&folder).then_some(backing));
    }
    let hosts = state["hosts"]["hosts"].as_array().into_iter().flatten();
    for place in hosts.flat_map(|host| host["places"].as_array().into_iter().flatten()) {
        let dir = PathBuf::from(place["dir"].as_str().expect("a directory"));
        found.extend(dir.exists().then(|| dir.display().to_string()));
    }
    found
}

#[track_caller]
fn assert_all_is_gone(lab: &Lab, state: &Value) {
    wait_until("no trace of hosts", || traces(lab, state).is_empty());
    assert_nothing_is_left(lab);
}

#[test]
#[ignore = "starts three real Cassandras as root: cargo xtask cassandra"]
fn three_hosts_have_racks_and_limits_and_leave_no_trace() {
    if let Some(why) = refusal() {
        return skip(&why);
    }
    let lab = Lab::new();
    let _kept = KeptClusterGuard(&lab);
    let up = [&UP[..], &["--class-sharing"]].concat();
    let up = lab.cassay(&up).ended_with(0).json();
    let nodes = up[0]["nodes"].as_array().expect("nodes").clone();
    let of = |key: &str| -> BTreeSet<String> {
        let text = |node: &Value| node[key].as_str().map(str::to_string);
        nodes.iter().filter_map(text).collect()
    };
    assert_eq!(
        of("rack").into_iter().collect::<Vec<_>>(),
        ["rack1", "rack2", "rack3"]
    );
    assert_eq!(of("address").len(), 3, "{up}");
    let state = state(&lab).expect("a state");
    assert!(traces(&lab, &state).len() > 3, "{state:#}");

    let dirs = dirs(&lab);
    let say = &mut |text: &str| eprintln!("{text}");
    let mut cluster = kept_cluster::open(&dirs, None, say).unwrap();
    assert_eq!(cluster.hosts_are(), target_spec::HostKind::StandIns);
    let hosts = cluster.hosts().unwrap();
    assert_eq!(hosts.len(), 3);
    assert_eq!(hosts[0].limits["cpu_quota"], "1.5 cores");
    let volume = hosts[0].volume_bytes.expect("a volume");
    assert!((1_900 << 20..=2 << 30).contains(&volume), "{hosts:?}");
    let proofs = cluster.observe().unwrap().proofs;
    let of_hosts = |proof: &&Proof| {
        let keys = ["cpu_quota", "memory", "volume"];
        keys.contains(&proof.key.as_str())
    };
    assert_eq!(proofs.iter().filter(of_hosts).count(), 9, "{proofs:#?}");
    assert!(
        proofs.iter().all(|proof| proof.effect.is_proved()),
        "{proofs:#?}"
    );

    let mut smaller = spec_of(&state);
    smaller.hosts.as_mut().expect("hosts").host.cpu_quota = Some(0.75);
    assert_eq!(
        cluster.reconfigure(&smaller, Restarts::Together, say).unwrap(),
        ["node1", "node2", "node3"]
    );
    let proofs = cluster.observe().unwrap().proofs;
    let quotas: Vec<&Proof> = proofs.iter().filter(|one| one.key == "cpu_quota").collect();
    assert_eq!(quotas.len(), 3);
    assert!(
        quotas.iter().all(|one| one.effect == Effect::InEffect("0.75".to_string())),
        "{quotas:#?}"
    );
    drop(cluster);
    assert_eq!(jvms(&lab).len(), 3);

    lab.cassay(&["target", "down"]).ended_with(0);
    assert_all_is_gone(&lab, &state);
}

/// Returns the spec of the cluster, from the arguments of [`UP`].
fn spec_of(state: &Value) -> LocalSpec {
    let hosts = target_spec::HostsSpec {
        count: 3,
        host: target_spec::HostSpec {
            volume_bytes: Some(2 << 30),
            memory_bytes: Some(1500 << 20),
            cpu_quota: Some(1.5),
            ..target_spec::HostSpec::default()
        },
        ..target_spec::HostsSpec::default()
    };
    assert_eq!(state["spec"]["hosts"]["volume_bytes"], json!(2u64 << 30));
    LocalSpec {
        hosts: Some(hosts),
        ..small(3)
    }
}

#[test]
#[ignore = "starts real Cassandras as root: cargo xtask cassandra"]
fn hosts_of_a_command_that_is_killed_end_by_themselves() {
    if let Some(why) = refusal() {
        return skip(&why);
    }
    let lab = Lab::new();
    let run = start_with_stand_in(&lab, &UP);
    wait_until("a JVM", || !jvms(&lab).is_empty());
    let state = state(&lab).expect("a state");
    run.kill();
    wait_until("no trace of hosts", || traces(&lab, &state).is_empty());
    wait_until("no JVM", || jvms(&lab).is_empty());
    wait_until("no folder", || !lab.clusters().join(id_of(&state)).exists());
    assert_all_is_gone(&lab, &state);
}

#[test]
#[ignore = "starts real Cassandras as root: cargo xtask cassandra"]
fn hosts_of_a_command_that_is_interrupted_are_gone_when_it_ends() {
    if let Some(why) = refusal() {
        return skip(&why);
    }
    let lab = Lab::new();
    let run = start_with_stand_in(&lab, &UP);
    wait_until("a JVM", || !jvms(&lab).is_empty());
    let state = state(&lab).expect("a state");
    run.interrupt();
    run.end()
        .ended_with(130)
        .says(&["cassay stopped all processes that it started"]);
    assert_all_is_gone(&lab, &state);
}

#[test]
#[ignore = "starts a real Cassandra as root: cargo xtask cassandra"]
fn hosts_of_a_start_that_fails_leave_nothing() {
    if let Some(why) = refusal() {
        return skip(&why);
    }
    let lab = Lab::new();
    let dirs = dirs(&lab);
    let mut spec = LocalSpec {
        hosts: Some(target_spec::HostsSpec {
            count: 2,
            ..target_spec::HostsSpec::default()
        }),
        ..small(2)
    };
    spec.jvm_options.push("-XX:+UseNoSuchGC".to_string());
    let mut seen = None;
    let say = &mut |text: &str| {
        eprintln!("{text}");
        seen = state(&lab).or(seen.take());
    };
    let error = kept_cluster::up(&spec, &dirs, say).unwrap_err();
    let error = format!("{error:#}");
    assert!(error.contains("this Java does not support"), "{error}");
    assert_all_is_gone(
        &lab,
        &seen.expect("the state of a cluster that was being made"),
    );
}
