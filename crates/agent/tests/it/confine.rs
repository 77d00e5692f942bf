//! Tests of confined processes by the CPUs and memory that the kernel reports for all their
//! threads.

use super::hosts::{able, id, make, spec};
use host::{Agent, Confinement, CpuSet, Host, Memory, Start, process};
use std::path::Path;
use target_spec::{Capability, HostSpec};

/// Returns a shell command, whose background job is a child process. Not every machine has Python.
fn sleep() -> std::process::Command {
    let mut command = process::command(Path::new("/bin/sh"));
    command.args(["-c", "sleep 600 & wait"]);
    command
}

fn set(list: &str) -> CpuSet {
    CpuSet::parse_list(list).unwrap()
}

fn on(cpus: &str) -> Option<Confinement> {
    Some(Confinement {
        name: "node1".to_owned(),
        cpus: Some(set(cpus)),
        memory: Memory::Bound(set("0")),
    })
}

fn started(agent: &Agent, output: &Path, to: Option<Confinement>) -> process::Identity {
    let start = Start::new(&sleep(), output).unwrap().confined(to);
    agent.start_by(&start).unwrap()
}

fn group(host: &Host, place: &host::CgroupDir) -> bool {
    assert!(place.dir.exists(), "{host:?}");
    place.dir.join("node1").exists()
}

/// Returns the online CPUs that this process may use. The kernel also lists offline CPUs for a
/// process, but no control group has them.
fn own_cpus() -> CpuSet {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let own = host::EffectiveAffinity::own().unwrap().all_cpus();
    own.intersection(&set(&online))
}

#[test]
fn a_confined_process_keeps_its_children_confined_until_restart() {
    if !able(&[Capability::Hosts, Capability::CpuSet]) {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let hosts = make(
        "confine",
        &spec(1, HostSpec::default()),
        &root.path().join("cluster"),
    );
    let [host] = hosts.all() else {
        panic!("one was asked for")
    };
    let state = hosts.state();
    let cpuset = state.hosts[0].places.iter();
    let mut cpuset = cpuset.filter(|place| place.controllers.iter().any(|one| one == "cpuset"));
    let place = cpuset.next().unwrap();
    let (all, output) = (own_cpus(), host.folder().join("output"));
    for cpu in all.iter().take(2) {
        let one = cpu.to_string();
        let process = started(host.agent(), &output, on(&one));
        let found = host.agent().whereabouts(process).unwrap();
        assert_eq!(
            (found.all_cpus(), found.all_memory_nodes()),
            (set(&one), set("0"))
        );
        assert!(group(host, place));
        let inside = super::hosts::shell(host, "cat /proc/self/status | grep Cpus_allowed_list");
        assert!(
            inside.text.ends_with(&all.to_string()),
            "others are not: {}",
            inside.text
        );
        host.agent().end_process(process, std::time::Duration::ZERO).unwrap();
    }
    let process = started(host.agent(), &output, None);
    assert_eq!(host.agent().whereabouts(process).unwrap().all_cpus(), all);
    // The groups must be removed even if they contain another process.
    started(host.agent(), &output, on(&all.first().unwrap().to_string()));
    hosts.end().unwrap();
    assert!(!place.dir.exists());
}

#[test]
fn without_cgroups_threads_inherit_the_confinement() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("cluster");
    let agent = Agent::start_on_machine(&id("confine-here"), &folder).unwrap();
    let first = own_cpus().first().unwrap().to_string();
    let process = started(&agent, &folder.join("output"), on(&first));
    let found = agent.whereabouts(process).unwrap();
    assert_eq!(found.all_cpus(), set(&first));
    assert!(found.threads > 0);
    agent.end().unwrap();
}

#[test]
fn a_confinement_that_a_host_cannot_apply_starts_nothing() {
    if !able(&[Capability::Hosts, Capability::CpuSet]) {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let hosts = make(
        "confine-no",
        &spec(1, HostSpec::default()),
        &root.path().join("cluster"),
    );
    let host = &hosts.all()[0];
    let output = host.folder().join("output");
    let all = Memory::Anywhere;
    let no_node = Memory::Bound(set("900"));
    for (name, cpus, memory, word) in [
        ("node1", "4000", &all, "4000"),
        ("../x", "0", &all, "not a valid control group name"),
        ("node1", &own_cpus().to_string(), &no_node, "900"),
    ] {
        let to = Confinement {
            name: name.to_owned(),
            cpus: Some(set(cpus)),
            memory: memory.clone(),
        };
        let start = Start::new(&sleep(), &output).unwrap().confined(Some(to));
        let error = format!("{:#}", host.agent().start_by(&start).unwrap_err());
        assert!(error.contains(word), "{error}");
    }
    hosts.end().unwrap();
}

/// Reads a limit of a process's control group, in cgroup version 2 or 1.
fn own_limit(host: &host::HostState, process: process::Identity, files: [&str; 2]) -> String {
    let (controller, _) = files[0].split_once('.').unwrap();
    let mut places = host.places.iter();
    let has = |place: &&host::CgroupDir| place.controllers.iter().any(|one| one == controller);
    let place = places.find(has).unwrap();
    let pid = process.pid.to_string();
    let read = |path: std::path::PathBuf| std::fs::read_to_string(path).ok();
    let is_in = |dir: &std::path::PathBuf| {
        read(dir.join("cgroup.procs")).is_some_and(|text| text.lines().any(|line| line == pid))
    };
    let dirs = ["node1", "all", ""].map(|name| place.dir.join(name));
    let dir = dirs.into_iter().find(is_in).unwrap();
    let text = files.into_iter().find_map(|file| read(dir.join(file)));
    text.unwrap().split_whitespace().next().unwrap().to_owned()
}

/// Java 17 reads only the limits of its own group, not those of parent groups.
#[test]
fn the_group_that_a_process_is_in_has_the_limits_of_its_host() {
    let needs = [
        Capability::Hosts,
        Capability::CpuSet,
        Capability::CpuLimit,
        Capability::MemoryLimit,
    ];
    if !able(&needs) {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let first = own_cpus().first().unwrap();
    let limited = |mib: u64| HostSpec {
        cpus: Some(vec![first as usize]),
        cpu_quota: Some(0.5),
        memory_bytes: Some(mib << 20),
        ..HostSpec::default()
    };
    let folder = root.path().join("cluster");
    let hosts = make("confine-limits", &spec(1, limited(256)), &folder);
    let host = &hosts.all()[0];
    let output = host.folder().join("output");
    let confined = started(host.agent(), &output, on(&first.to_string()));
    let free = started(host.agent(), &output, None);
    for mib in [256_u64, 512] {
        host.set_limits(&limited(mib)).unwrap();
        for process in [confined, free] {
            let limit = |files| own_limit(&hosts.state().hosts[0], process, files);
            let memory = limit(["memory.max", "memory.limit_in_bytes"]);
            assert_eq!(memory, (mib << 20).to_string());
            assert_eq!(limit(["cpu.max", "cpu.cfs_quota_us"]), "50000");
            assert_eq!(limit(["cpuset.cpus", "cpuset.cpus"]), first.to_string());
        }
    }
    hosts.end().unwrap();
}
