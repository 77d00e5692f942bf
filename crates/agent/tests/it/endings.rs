//! Tests that all processes end, whichever process is killed at whichever time.

use crate::hosts::{able, assert_gone, id, link_of, make, start, wait_until};
use crate::outlive::{another, load, part, save, volume_spec};
use host::process::{Identity, all_pids, command_line};
use host::{Host, Hosts, HostsState, ProcessEnd, end_agents};
use measure::clock;
use rustix::process::Signal;
use std::time::Duration;
use target_spec::Capability;

pub fn agents_of_cluster(cluster: &str, name: &str, guard: bool) -> Vec<Identity> {
    let mark = format!("CASSAY_AGENT={cluster}");
    let is_one = |pid: u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let marked = environment.split(|&byte| byte == 0).any(|one| one == mark.as_bytes());
        let words = command_line(pid).unwrap_or_default();
        let role = [Some("agent"), Some(name), guard.then_some("guard")];
        let wanted: Vec<&str> = role.into_iter().flatten().collect();
        marked && words.get(1..).is_some_and(|words| words == wanted)
    };
    let all = all_pids().into_iter().filter_map(Identity::read);
    all.filter(|one| is_one(one.pid)).collect()
}

/// Number of rounds of random kills in a normal test run. `cargo xtask kills` runs more.
const ROUNDS: usize = 2;

/// Returns true if `cargo xtask kills` runs this test.
fn is_whole() -> bool {
    std::env::var_os("CASSAY_KILLS").is_some()
}

fn rounds() -> usize {
    if is_whole() { 10 } else { ROUNDS }
}

pub fn kill(all: &[Identity]) {
    all.iter().for_each(|one| one.signal(Signal::KILL));
}

fn assert_nobody_is_left(state: &HostsState) {
    for name in ["switch", "host1", "host2"] {
        for guard in [false, true] {
            wait_until("agents and guards have ended", || {
                agents_of_cluster(&state.id, name, guard).is_empty()
            });
        }
    }
}

/// Starts a process with a child, which signals to the parent do not reach.
fn work(host: &Host) -> Identity {
    let folder = host.folder().display();
    start(host, &format!("cd {folder}; sleep 600 & wait")).0
}

#[test]
fn hosts_of_a_killed_controller_end_by_themselves() {
    if let Some(folder) = part() {
        let spec = volume_spec();
        let cluster = folder.join("cluster");
        let before = HostsState::before(&id("killed"), &spec, &cluster).unwrap();
        save(&before, &folder, "before");
        let hosts = make("killed", &spec, &cluster);
        work(&hosts.all()[0]);
        save(&hosts.state(), &folder, "made");
        // The test kills this child process while it sleeps.
        clock::sleep(Duration::from_secs(600));
        return;
    }
    if !able(&[Capability::Hosts, Capability::Volume]) {
        return;
    }
    let test = "endings::hosts_of_a_killed_controller_end_by_themselves";
    // Kills the controller at several times during the creation of the hosts, and once when all
    // hosts exist.
    let step_ms = if is_whole() { 10 } else { 100 };
    for moment_ms in (0..200).step_by(step_ms).map(Some).chain([None]) {
        let folder = tempfile::tempdir().unwrap();
        let (folder, cluster) = (folder.path(), folder.path().join("cluster"));
        let mut child = another(test, folder);
        wait_until("it begins", || folder.join("before").exists());
        match moment_ms {
            Some(ms) => clock::sleep(Duration::from_millis(ms)),
            None => wait_until("the hosts are made", || folder.join("made").exists()),
        }
        let state = load(folder, "before");
        let made = folder.join("made").exists().then(|| load(folder, "made"));
        let link = made.as_ref().map(link_of);
        child.kill().unwrap();
        child.wait().unwrap();
        match (&made, link) {
            (Some(made), Some(link)) => assert_gone(made, link),
            _ => assert_no_directory(&state),
        }
        // The agent created this folder only after the guard had its undo entry, so the folder must
        // disappear.
        wait_until("the cluster's folder has gone", || !cluster.exists());
        assert_nobody_is_left(&state);
    }
}

fn assert_no_directory(state: &HostsState) {
    for place in state.hosts.iter().flat_map(|host| &host.places) {
        wait_until("no control group is left", || !place.dir.exists());
    }
}

#[test]
fn the_guard_undoes_the_work_of_a_killed_agent() {
    if !able(&[Capability::Hosts, Capability::Volume]) {
        return;
    }
    for round in 0..rounds() {
        let root = tempfile::tempdir().unwrap();
        let hosts = make(
            &format!("agent{round}"),
            &volume_spec(),
            &root.path().join("cluster"),
        );
        let (state, link) = (hosts.state(), link_of(&hosts.state()));
        let [one, two] = hosts.all() else {
            panic!("two were asked for")
        };
        let (first, second) = (work(one), work(two));
        kill(&[one.agent().process()]);
        wait_until("its end is known", || {
            matches!(
                one.agent().how_ended(first),
                Some(ProcessEnd::WithItsAgent(_))
            )
        });
        wait_until("its process has ended", || !first.alive());
        for place in &state.hosts[0].places {
            wait_until("its control group has gone", || !place.dir.exists());
        }
        assert!(two.agent().how_ended(second).is_none(), "host2 goes on");
        let said = format!("{:#}", one.limits().unwrap_err());
        assert!(said.contains("the agent ended"), "{said}");
        // All other agents and processes end normally.
        hosts.end().unwrap();
        assert_gone(&state, link);
        assert_nobody_is_left(&state);
    }
}

#[test]
fn a_killed_guard_is_replaced() {
    if !able(&[Capability::Hosts, Capability::Volume]) {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let hosts = make("guard", &volume_spec(), &root.path().join("cluster"));
    let (state, link) = (hosts.state(), link_of(&hosts.state()));
    let host = &hosts.all()[0];
    work(host);
    for _ in 0..rounds() {
        let guards = agents_of_cluster(&state.id, "host1", true);
        assert_eq!(guards.len(), 1);
        kill(&guards);
        wait_until("there is another", || {
            let now = agents_of_cluster(&state.id, "host1", true);
            now.len() == 1 && now != guards
        });
    }
    // The last guard has all entries of the undo list.
    kill(&[host.agent().process()]);
    for place in &state.hosts[0].places {
        wait_until("its control group has gone", || !place.dir.exists());
    }
    drop(hosts);
    assert_gone(&state, link);
    assert_nobody_is_left(&state);
}

#[test]
fn leftovers_of_killed_agents_and_guards_are_cleared_by_state() {
    if !able(&[Capability::Hosts, Capability::Volume]) {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let cluster = root.path().join("cluster");
    let hosts = make("both", &volume_spec(), &cluster);
    let (state, link) = (hosts.state(), link_of(&hosts.state()));
    let works = work(&hosts.all()[0]);
    // Stopped agents start no new guards.
    let names = ["switch", "host1", "host2"];
    let agents: Vec<_> = names.map(|name| agents_of_cluster(&state.id, name, false)).concat();
    agents.iter().for_each(|agent| agent.signal(Signal::STOP));
    kill(&names.map(|name| agents_of_cluster(&state.id, name, true)).concat());
    kill(&agents);
    wait_until("the process ended with its agent", || !works.alive());
    let mut places = state.hosts.iter().flat_map(|host| &host.places);
    assert!(
        places.all(|place| place.dir.exists()),
        "directories outlive them"
    );
    end_agents(&state.id).unwrap();
    Hosts::clear(&state).unwrap();
    assert_gone(&state, link);
    Hosts::clear(&state).unwrap();
    assert!(hosts.end().is_ok(), "there is nobody to be told");
}

/// The processes of these hosts continue, but are unreachable.
#[test]
fn hosts_say_that_their_network_has_ended() {
    if !able(&[Capability::Hosts, Capability::Volume]) {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let hosts = make("lost", &volume_spec(), &root.path().join("cluster"));
    assert_eq!(hosts.lost(), None);
    kill(&agents_of_cluster(&hosts.state().id, "switch", false));
    wait_until("it is known", || hosts.lost().is_some());
    let why = hosts.lost().unwrap();
    assert!(why.contains("the agent of its switch"), "{why}");
}
