//! Tests of volume faults that end without a request, because the time limit expires, the host
//! ends, or the agent is killed. The volume must be restored or removed.

use crate::endings::{agents_of_cluster, kill};
use crate::hosts::{LIMIT, assert_gone, link_of, start, wait_until};
use crate::volumes::{SHORT, breaks, hosts, is_whole, put, tried, works};
use host::process::Identity;
use host::{Attempt, Host, Hosts, Injection, end_agents};
use measure::clock;
use rustix::process::Signal;

/// Returns one fault of each kind that affects a volume.
fn each(host: &Host) -> Vec<Injection> {
    let path = put(host, "file", &[3; 100_000]);
    let process = || vec![works(host)];
    vec![
        Injection::PowerOff {
            processes: process(),
        },
        Injection::DiskRemoved {
            processes: process(),
        },
        Injection::DiskReadOnly {
            processes: process(),
        },
        Injection::DiskErrors {
            path: path.clone(),
            at: 5000,
            processes: process(),
        },
        Injection::DiskStalled,
        Injection::DiskFull { leave_bytes: 0 },
        Injection::DiskCorrupt {
            path,
            at: 5000,
            bytes: 10_000,
        },
    ]
}

fn writer(host: &Host) -> Identity {
    let folder = host.folder().display();
    let line = format!("cd {folder}; while :; do echo x > x; sync x; done");
    start(host, &line).0
}

#[test]
fn the_guard_of_a_killed_agent_leaves_no_volume_fault() {
    let mut number = 0;
    loop {
        let Some((_root, hosts)) = hosts(&format!("guard{number}"), 2) else {
            return;
        };
        let (state, link) = (hosts.state(), link_of(&hosts.state()));
        let host = &hosts.all()[0];
        let Some(what) = each(host).into_iter().nth(number) else {
            return;
        };
        number += 1;
        let writer = writer(host);
        breaks(host, what);
        kill(&[host.agent().process()]);
        wait_until("who writes has ended", || !writer.alive());
        for place in &state.hosts[0].places {
            wait_until("its control group has gone", || !place.dir.exists());
        }
        let folder = &state.hosts[0].folder;
        wait_until("its folder has gone", || !folder.exists());
        hosts.end().unwrap();
        assert_gone(&state, link);
    }
}

#[test]
fn whatever_is_broken_is_gone_when_the_hosts_are_ended() {
    let mut number = 0;
    loop {
        let Some((_root, hosts)) = hosts(&format!("ended{number}"), 1) else {
            return;
        };
        let (state, link) = (hosts.state(), link_of(&hosts.state()));
        let host = &hosts.all()[0];
        let Some(what) = each(host).into_iter().nth(number) else {
            return;
        };
        number += 1;
        let writer = writer(host);
        breaks(host, what);
        hosts.end().unwrap();
        assert!(!writer.alive());
        assert_gone(&state, link);
    }
}

#[test]
fn every_volume_fault_ends_by_itself_after_its_time() {
    let Some((_root, hosts)) = hosts("within", 1) else {
        return;
    };
    let host = &hosts.all()[0];
    for what in each(host) {
        let name = format!("{what:?}");
        let broken = host.agent().inject(what, SHORT).unwrap();
        // The agent refuses another fault while the first one lasts.
        let mut next = None;
        wait_until(&name, || {
            next = host.agent().inject(Injection::DiskStalled, LIMIT).ok();
            next.is_some()
        });
        assert!(host.agent().heal(broken).unwrap().by_itself, "{name}");
        host.agent().heal(next.unwrap()).unwrap();
        assert!(is_whole(host), "{name}");
    }
}

/// A frozen file system continues to exist even if it is not mounted. A process that waits for the
/// volume keeps the host's other resources.
#[test]
fn a_frozen_volume_of_a_killed_agent_and_guard_is_cleared() {
    let Some((_root, hosts)) = hosts("frozen", 1) else {
        return;
    };
    let (state, link) = (hosts.state(), link_of(&hosts.state()));
    let host = &hosts.all()[0];
    let writer = writer(host);
    breaks(host, Injection::DiskStalled);
    assert_eq!(tried(host, SHORT).0, Attempt::Silent);
    let names = ["switch", "host1"];
    let agents: Vec<_> = names.map(|name| agents_of_cluster(&state.id, name, false)).concat();
    agents.iter().for_each(|agent| agent.signal(Signal::STOP));
    kill(&names.map(|name| agents_of_cluster(&state.id, name, true)).concat());
    kill(&agents);
    wait_until("they have ended", || {
        agents.iter().all(|agent| !agent.alive())
    });
    clock::sleep(SHORT);
    let device = state.hosts[0].device.as_ref().unwrap();
    let backing = format!("/sys/block/{device}/loop/backing_file");
    let text = std::fs::read_to_string(&backing).unwrap();
    assert!(text.contains("host1.img (deleted)"), "{text}");
    assert!(writer.alive(), "it cannot be killed");
    Hosts::thaw(&state).unwrap();
    end_agents(&state.id).unwrap();
    Hosts::clear(&state).unwrap();
    assert!(!writer.alive());
    assert_gone(&state, link);
    Hosts::clear(&state).unwrap();
}
