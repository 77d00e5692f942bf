//! Tests of packet loss on a machine's own network through the machine's agent. A namespace
//! simulates the machine, which a script in place of `ssh` enters.

use crate::hosts::{LIMIT, id, wait_until};
use crate::network::SILENCE;
use crate::outlive::{PART, load, part, save};
use crate::ssh::open_ssh;
use host::process::{self, Identity, Life, all_pids, command_line};
use host::{
    Agent, Broken, Destination, HostLoss, Hosts, Injection, PacketDirection, PortEnd, Query,
    QueryAnswer, Reach,
};
use linux::capability::machine_capabilities;
use linux::net::Namespace;
use linux::packet_filter::Filter;
use measure::clock;
use rustix::process::Signal;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;
use target_spec::{HostsSpec, RemoteHost};

const MACHINE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const OTHER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

/// Ports without a listener, which refuse connections.
const CQL: u16 = 9042;
const SSH: u16 = 22;

/// Simulated machine, and another machine that observes it.
struct Lab {
    machine: Namespace,
    other: Namespace,
}

impl Lab {
    /// Creates the two machines. Returns `None` and reports the reason if this machine does not
    /// permit the simulation.
    fn new() -> Option<Lab> {
        if let Some(missing) = machine_capabilities().iter().find(|one| !one.present) {
            crate::skipped::unable(&format!("{missing:?}"));
            return None;
        }
        let (machine, other) = (Namespace::new().unwrap(), Namespace::new().unwrap());
        machine.socket().unwrap().veth("link", "link", &other).unwrap();
        for (namespace, address) in [(&machine, MACHINE), (&other, OTHER)] {
            let mut links = namespace.socket().unwrap();
            links.address("link", address).unwrap();
            links.up("lo", None).unwrap();
            links.up("link", None).unwrap();
        }
        Some(Lab { machine, other })
    }

    /// Starts this test program as a child, which runs its part of a test. The `ssh` of the child
    /// leads to the simulated machine.
    fn command(&self, test: &str, folder: &Path) -> Child {
        let there = self.machine.as_fd().as_raw_fd();
        let own = std::process::id();
        let inside = open_ssh(folder, "inside");
        let enter = format!(
            "exec nsenter --net=/proc/{own}/fd/{there} {} \"$@\"",
            inside.display()
        );
        let ssh = crate::ssh::program(folder, "ssh", &enter);
        let bin = ssh.parent().unwrap().display().to_string();
        let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
        let mut command = process::command(&std::env::current_exe().unwrap());
        command
            .args(["--exact", test, "--nocapture"])
            .env(PART, "command")
            .env("PATH", path)
            .current_dir(folder)
            .stdout(Stdio::null());
        process::spawn(command, Life::Ours).unwrap()
    }

    fn tables(&self) -> Vec<String> {
        let tables = || Filter::<HostLoss>::open().unwrap().tables().unwrap();
        self.machine.inside(tables).unwrap()
    }

    fn reach(&self, port: u16, limit: Duration) -> Reach {
        let address = SocketAddr::from((MACHINE, port));
        self.other.inside(|| Reach::connect(address, limit)).unwrap().unwrap()
    }
}

fn make(name: &str, folder: &Path) -> Hosts {
    let machine = RemoteHost {
        ssh: "db1".to_owned(),
        folder: Some(folder.join("there")),
        address: Some(MACHINE),
        ..RemoteHost::default()
    };
    let spec = HostsSpec {
        count: 1,
        machines: vec![machine],
        ..HostsSpec::default()
    };
    Hosts::over_ssh(&id(name), &spec, &mut |_| ()).unwrap()
}

fn all_of_cql() -> Injection {
    let loss = HostLoss {
        way: PacketDirection::In,
        peers: Vec::new(),
        tcp_ports: vec![CQL],
        end: PortEnd::Ours,
        share: 1.0,
    };
    Injection::HostPackets(loss.both_ways().to_vec())
}

fn dropped(agent: &Agent, broken: Broken) -> Vec<u64> {
    match agent.see(Query::Dropped(broken)).unwrap() {
        QueryAnswer::Dropped(dropped) => dropped,
        other => panic!("{other:?}"),
    }
}

/// Returns a machine's agent, or its guard.
fn agents_of_machine(cluster: &str, guard: bool) -> Vec<Identity> {
    let name = format!("host1-{cluster}");
    let is_one = |pid: u32| {
        let words = command_line(pid).unwrap_or_default();
        let role = [Some("agent"), Some(&*name), guard.then_some("guard")];
        let wanted: Vec<&str> = role.into_iter().flatten().collect();
        words.get(1..).is_some_and(|words| words == wanted)
    };
    let all = all_pids().into_iter().filter_map(Identity::read);
    all.filter(|one| is_one(one.pid)).collect()
}

#[test]
fn a_machine_loses_packets_until_it_is_healed() {
    const TEST: &str = "machine_network::a_machine_loses_packets_until_it_is_healed";
    if let Some(folder) = part() {
        let hosts = make("heal", &folder);
        let agent = hosts.all()[0].agent();
        let broken = agent.inject(all_of_cql(), LIMIT).unwrap();
        save(&hosts.state(), &folder, "broken");
        wait_until("it was seen", || folder.join("seen").exists());
        assert!(dropped(agent, broken)[0] >= 1);
        assert!(!agent.heal(broken).unwrap().by_itself);
        assert_eq!(dropped(agent, broken), [0; 0]);
        // A failed injection must leave no table, and a fault that is not healed must end at its
        // time limit.
        let nothing = Injection::HostPackets(Vec::new());
        let error = format!("{:#}", agent.inject(nothing, LIMIT).unwrap_err());
        assert!(
            error.contains("the fault selects no packets to drop"),
            "{error}"
        );
        agent.inject(Injection::Reset(vec![CQL]), LIMIT).unwrap();
        let broken = agent.inject(all_of_cql(), SILENCE).unwrap();
        wait_until("its time is over", || dropped(agent, broken).is_empty());
        assert!(agent.heal(broken).unwrap().by_itself);
        save(&hosts.state(), &folder, "whole");
        wait_until("it was seen", || folder.join("seen-whole").exists());
        return;
    }
    let Some(lab) = Lab::new() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    assert!(lab.reach(CQL, LIMIT).is_open());
    let mut child = lab.command(TEST, root.path());
    wait_until("it is broken", || root.path().join("broken").exists());
    let cluster = load(root.path(), "broken").id;
    assert_eq!(lab.tables(), [format!("cassay-{cluster}-h1-broken0")]);
    assert_eq!(lab.reach(CQL, SILENCE), Reach::Silent);
    assert!(lab.reach(SSH, LIMIT).is_open());
    std::fs::write(root.path().join("seen"), "").unwrap();
    wait_until("it is whole", || root.path().join("whole").exists());
    assert!(lab.reach(CQL, LIMIT).is_open());
    assert_eq!(lab.tables(), [""; 0]);
    std::fs::write(root.path().join("seen-whole"), "").unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_machine_is_whole_whoever_is_killed() {
    const TEST: &str = "machine_network::a_machine_is_whole_whoever_is_killed";
    if let Some(folder) = part() {
        let hosts = make("killed", &folder);
        hosts.all()[0].agent().inject(all_of_cql(), LIMIT).unwrap();
        save(&hosts.state(), &folder, "broken");
        // The test kills this child process while it sleeps.
        clock::sleep(Duration::from_secs(600));
        return;
    }
    let Some(lab) = Lab::new() else {
        return;
    };
    for kills_agent in [true, false] {
        let root = tempfile::tempdir().unwrap();
        let mut child = lab.command(TEST, root.path());
        wait_until("it is broken", || root.path().join("broken").exists());
        let cluster = load(root.path(), "broken").id;
        assert_eq!(lab.tables().len(), 1);
        assert_eq!(lab.reach(CQL, SILENCE), Reach::Silent);
        if kills_agent {
            let agents = agents_of_machine(&cluster, false);
            assert_eq!(agents.len(), 1);
            agents[0].signal(Signal::KILL);
        } else {
            child.kill().unwrap();
        }
        wait_until("the table has gone", || lab.tables().is_empty());
        assert!(lab.reach(CQL, LIMIT).is_open());
        let _ = child.kill();
        child.wait().unwrap();
        wait_until("agent and guard have ended", || {
            agents_of_machine(&cluster, false).is_empty()
                && agents_of_machine(&cluster, true).is_empty()
        });
    }
}

fn kill_all(agent_and_guard: [Identity; 2], command: &mut Child) {
    for one in agent_and_guard {
        one.signal(Signal::KILL);
        wait_until("it ended", || !one.alive());
    }
    command.kill().unwrap();
    command.wait().unwrap();
}

/// After a kill of agent and guard, the next command that clears the machine must remove the table.
#[test]
fn the_next_clearing_removes_losses_of_a_killed_agent_and_guard() {
    const TEST: &str =
        "machine_network::the_next_clearing_removes_losses_of_a_killed_agent_and_guard";
    if let Some(folder) = part() {
        if !folder.join("broken").exists() {
            let hosts = make("left", &folder);
            hosts.all()[0].agent().inject(all_of_cql(), LIMIT).unwrap();
            save(&hosts.state(), &folder, "broken");
            clock::sleep(Duration::from_secs(600));
        }
        Hosts::clear_over_ssh(&load(&folder, "broken"), "-Dof.nobody").unwrap();
        return;
    }
    let Some(lab) = Lab::new() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let mut child = lab.command(TEST, root.path());
    wait_until("it is broken", || root.path().join("broken").exists());
    let cluster = load(root.path(), "broken").id;
    let (agent, guard) = (
        agents_of_machine(&cluster, false),
        agents_of_machine(&cluster, true),
    );
    assert_eq!((agent.len(), guard.len()), (1, 1));
    // A stopped guard does not notice the end of its agent.
    guard[0].signal(Signal::STOP);
    kill_all([agent[0], guard[0]], &mut child);
    assert_eq!(lab.tables().len(), 1);
    assert!(lab.command(TEST, root.path()).wait().unwrap().success());
    assert_eq!(lab.tables(), [""; 0]);
    assert!(lab.reach(CQL, LIMIT).is_open());
}

/// The agent records packet losses on an attached machine's disk, so that the next agent can remove
/// them.
#[test]
fn losses_of_an_attached_machine_are_recorded_on_its_disk() {
    const TEST: &str = "machine_network::losses_of_an_attached_machine_are_recorded_on_its_disk";
    if let Some(folder) = part() {
        let there = folder.join("there");
        let machine = Destination::new("db1", false, there.to_str()).unwrap();
        let agents = Agent::to_all(&[machine]).unwrap();
        let said = agents[0].mend(Some(&there)).unwrap();
        if folder.join("broken").exists() {
            return std::fs::write(folder.join("said"), said.join("\n")).unwrap();
        }
        agents[0].inject(all_of_cql(), LIMIT).unwrap();
        std::fs::write(folder.join("broken"), agents[0].process().pid.to_string()).unwrap();
        clock::sleep(Duration::from_secs(600));
        return;
    }
    let Some(lab) = Lab::new() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let mut child = lab.command(TEST, root.path());
    let broken = || std::fs::read_to_string(root.path().join("broken")).unwrap_or_default();
    wait_until("it is broken", || broken().parse::<u32>().is_ok());
    let agent = Identity::read(broken().parse().unwrap()).unwrap();
    let is_guard = |one: &Identity| {
        let status = std::fs::read_to_string(format!("/proc/{}/status", one.pid));
        let of_agent = format!("PPid:\t{}\n", agent.pid);
        let words = command_line(one.pid).unwrap_or_default();
        status.is_ok_and(|text| text.contains(&of_agent))
            && words.last().is_some_and(|word| word == "guard")
    };
    let guard = all_pids().into_iter().filter_map(Identity::read).find(is_guard).unwrap();
    let name = format!("cassay-{}-{}-broken0", agent.pid, agent.start_ticks);
    assert_eq!(lab.tables(), std::slice::from_ref(&name));
    assert_eq!(lab.reach(CQL, SILENCE), Reach::Silent);
    for one in [agent, guard] {
        one.signal(Signal::STOP);
    }
    kill_all([agent, guard], &mut child);
    assert_eq!(lab.tables().len(), 1);
    assert!(lab.command(TEST, root.path()).wait().unwrap().success());
    let said = std::fs::read_to_string(root.path().join("said")).unwrap();
    assert!(
        said.contains(&format!("cassay removed the packet filter {name}")),
        "{said}"
    );
    assert_eq!(lab.tables(), [""; 0]);
    assert!(lab.reach(CQL, LIMIT).is_open());
}
