//! Processes that are confined to a part of their host: what the kernel says of all their threads.

use super::hosts::{able, id, make, spec};
use host::{Agent, Confinement, CpuSet, Host, HostAbility, HostSpec, Memory, Start, process};
use std::path::Path;

/// Python is not everywhere: threads of a shell are processes of their own.
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

/// The CPUs that this process may use: at least one. The kernel lists those that are offline too,
/// which no group has.
fn own_cpus() -> CpuSet {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let own = host::Whereabouts::own().unwrap().all_cpus();
    own.intersection(&set(&online))
}

#[test]
fn a_process_of_a_stand_in_is_confined_and_its_children_with_it_until_it_is_started_anew() {
    if !able(&[HostAbility::Network, HostAbility::Cpus]) {
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
        host.agent()
            .end_process(process, std::time::Duration::ZERO)
            .unwrap();
    }
    let process = started(host.agent(), &output, None);
    assert_eq!(host.agent().whereabouts(process).unwrap().all_cpus(), all);
    // With one more inside, it all goes.
    started(host.agent(), &output, on(&all.first().unwrap().to_string()));
    hosts.end().unwrap();
    assert!(!place.dir.exists());
}

#[test]
fn without_groups_a_process_is_confined_by_what_its_threads_inherit() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("cluster");
    let agent = Agent::of_machine(&id("confine-here"), &folder).unwrap();
    let first = own_cpus().first().unwrap().to_string();
    let process = started(&agent, &folder.join("output"), on(&first));
    let found = agent.whereabouts(process).unwrap();
    assert_eq!(found.all_cpus(), set(&first));
    assert!(found.threads > 0);
    agent.end().unwrap();
}

#[test]
fn what_a_host_has_not_is_refused_and_nothing_is_started() {
    if !able(&[HostAbility::Network, HostAbility::Cpus]) {
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
    for (name, cpus, word) in [("node1", "4000", "4000"), ("../x", "0", "no name")] {
        let to = Confinement {
            name: name.to_owned(),
            cpus: Some(set(cpus)),
            memory: Memory::Anywhere,
        };
        let start = Start::new(&sleep(), &output).unwrap().confined(Some(to));
        let error = format!("{:#}", host.agent().start_by(&start).unwrap_err());
        assert!(error.contains(word), "{error}");
    }
    hosts.end().unwrap();
}
