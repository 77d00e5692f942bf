//! Tests of life cycles on a simulated clock, with nodes that behave as expected and others that do
//! not.

mod long_operations;
mod sim;
mod staged;
mod upgrades;
mod user_programs;

use super::*;
use anyhow::Result;
use cassandra::{DataFile, Deletion, Members, Operation, PodSeen, RestartMode, Row, View};
use host::{FileStep, HostLoss, Injection, Join, PortEnd, Query, QueryAnswer, Restartable};
use serde_json::{Map, Value};
use sim::{HIT, HIT_HOST, LEAVING_NS, Sim, at_once, course, words};
use std::path::PathBuf;
use std::time::Duration;
use target_spec::fault::{FaultKind, Hit, KINDS, Length, Options};
use target_spec::{Capability, HostIndex, NodeIndex, PerHost, PerNode};

const S: u64 = 1_000_000_000;

#[test]
fn every_fault_is_confirmed_both_ways_and_ends_on_command() {
    for kind in at_once() {
        let (verdict, steps, sim) = course(kind, Sim::default());
        assert_eq!(verdict, FaultVerdict::Confirmed, "{}: {steps:?}", kind.name);
        let order = ["checked", "injecting", "seen", "healing", "whole"];
        assert_eq!(words(&steps), order, "{}", kind.name);
        match kind.length {
            Length::Moment => assert!(steps[3].at_ns < S, "{}: at once", kind.name),
            _ => assert_eq!(steps[3].at_ns, 10 * S, "{}", kind.name),
        }
        let armed = sim.injected[0];
        assert!(armed > Duration::from_secs(10), "the agent heals later");
    }
}

/// Returns the kinds of faults on remote machines, whose links cassay does not change.
fn machine_kinds() -> impl Iterator<Item = &'static FaultKind> {
    let is_of_links =
        |one: &Capability| [Capability::LinkRate, Capability::LinkDelay].contains(one);
    at_once().filter(move |kind| !kind.needs.iter().any(is_of_links))
}

#[test]
fn machines_lose_themselves_what_a_switch_would() {
    for kind in machine_kinds() {
        for breaks_another in [false, true] {
            let sim = Sim {
                are_machines: true,
                breaks_another,
                ..Sim::default()
            };
            let (verdict, steps, _) = course(kind, sim);
            let expected = if breaks_another {
                FaultVerdict::Mismatch
            } else {
                FaultVerdict::Confirmed
            };
            assert_eq!(verdict, expected, "{}: {steps:?}", kind.name);
        }
    }
}

/// Other users share a machine's network, so cassay may drop only packets of connections to nodes'
/// ports.
#[test]
fn machines_lose_nothing_but_what_belongs_to_ports_of_nodes() {
    for (name, at, clients) in [
        ("net-partition", 3, false),
        ("net-one-way", 3, false),
        ("net-client-cut", 1, true),
        ("net-down", 1, true),
        ("net-loss", 1, true),
        ("host-power-off", 1, true),
    ] {
        let kind = FaultKind::find(name).unwrap();
        let sim = Sim {
            are_machines: true,
            stays_broken: true,
            ..Sim::default()
        };
        let (.., sim) = course(&kind, sim);
        let ports: Vec<u16> = sim.nodes().remove(HIT).ports;
        let hosts: Vec<_> = sim.hosts().into_iter().map(|host| host.addresses[0]).collect();
        assert!(!sim.own_losses.is_empty(), "{name}");
        for (_, loss) in &sim.own_losses {
            assert!(loss.tcp_ports.iter().all(|port| ports.contains(port)));
            assert!(!loss.tcp_ports.is_empty() && loss.peers.iter().all(|one| hosts.contains(one)));
            // Without peers, the port must belong to a node on the machine itself.
            assert!(
                !loss.peers.is_empty() || loss.end == PortEnd::Ours,
                "{loss:?}"
            );
        }
        let mut by: Vec<HostIndex> = sim.own_losses.iter().map(|(at, _)| *at).collect();
        by.dedup();
        assert_eq!(by.len(), at, "{name}: {by:?}");
        let meets_clients = |loss: &HostLoss| loss.peers.is_empty();
        let met = sim.own_losses.iter().any(|(_, loss)| meets_clients(loss));
        assert_eq!(met, clients, "{name}");
    }
}

#[test]
fn nodes_of_machines_are_not_started_elsewhere() {
    let kind = FaultKind::find("host-power-off").unwrap();
    let mut sim = Sim {
        ordered_ns: 60 * S,
        are_machines: true,
        ..Sim::default()
    };
    let options = Options {
        ha_after: Some(Duration::from_secs(5)),
        ..Options::default()
    };
    let (hit, options) = (&Hit::Host(HIT_HOST), &options);
    let outcome = run(
        &kind,
        hit,
        options,
        &mut sim,
        Duration::from_secs(60),
        &mut |_| (),
    );
    assert!(sim.injected.is_empty(), "nothing was broken");
    let told = outcome.steps.iter().any(|step| step.words.contains("impossible for machines"));
    assert!(told, "{outcome:#?}");
}

#[test]
fn a_fault_that_does_nothing_is_a_mismatch() {
    for kind in at_once() {
        let sim = Sim {
            breaks_another: true,
            ..Sim::default()
        };
        let (verdict, steps, _) = course(kind, sim);
        assert_eq!(verdict, FaultVerdict::Mismatch, "{}", kind.name);
        let order = ["checked", "injecting", "unseen", "healing", "whole"];
        assert_eq!(words(&steps), order);
        assert!(!steps[2].words.is_empty());
    }
}

#[test]
fn a_target_that_is_not_whole_before_is_not_broken() {
    let sim = Sim {
        silent: true,
        ..Sim::default()
    };
    let (verdict, steps, sim) = course(&KINDS[0], sim);
    assert_eq!((verdict, sim.injected.len()), (FaultVerdict::Mismatch, 0));
    assert_eq!(words(&steps), ["waiting", "unseen"]);
}

#[test]
fn a_look_that_cannot_be_had_accuses_nobody() {
    let sim = Sim {
        nobody_looks: true,
        ..Sim::default()
    };
    let (verdict, steps, _) = course(&KINDS[0], sim);
    assert_eq!(verdict, FaultVerdict::Inconclusive, "{steps:?}");
}

#[test]
fn a_fault_that_does_not_heal_is_a_mismatch() {
    let sim = Sim {
        stays_broken: true,
        ..Sim::default()
    };
    let (verdict, steps, sim) = course(&KINDS[0], sim);
    assert_eq!(verdict, FaultVerdict::Mismatch, "{steps:?}");
    assert_eq!(steps.last().unwrap().what, FaultStep::NotWhole);
    assert!(sim.now_ns >= 10 * S + KINDS[0].healed_within.as_nanos() as u64);
}

/// Cassandra may stop permanently after a disk failure, or after it could not open a file.
#[test]
fn a_node_that_does_not_come_back_by_itself_is_started_again() {
    let kind = FaultKind::find("node-descriptors").unwrap();
    for stops_itself in [false, true] {
        let sim = Sim {
            stops_itself,
            ..Sim::default()
        };
        let (verdict, steps, sim) = course(&kind, sim);
        assert_eq!(verdict, FaultVerdict::Confirmed, "{steps:?}");
        assert_eq!(sim.restarts_count, usize::from(stops_itself));
        let is_restarted = words(&steps).contains(&"restarted");
        assert_eq!(is_restarted, stops_itself, "and it is said");
    }
}

#[test]
fn nodes_of_a_host_without_power_are_started_elsewhere() {
    let kind = FaultKind::find("host-power-off").unwrap();
    let mut sim = Sim {
        ordered_ns: 60 * S,
        ..Sim::default()
    };
    let options = Options {
        ha_after: Some(Duration::from_secs(5)),
        ..Options::default()
    };
    let (hit, options) = (&Hit::Host(HIT_HOST), &options);
    let outcome = run(
        &kind,
        hit,
        options,
        &mut sim,
        Duration::from_secs(60),
        &mut |_| (),
    );
    assert_eq!(outcome.verdict(), FaultVerdict::Confirmed, "{outcome:#?}");
    let order = [
        "checked",
        "injecting",
        "seen",
        "acted",
        "back",
        "healing",
        "whole",
    ];
    assert_eq!(words(&outcome.steps), order);
    assert!(
        outcome.at_ns(FaultStep::Acted) >= Some(5 * S),
        "{outcome:#?}"
    );
    let said = &outcome.steps[3].words;
    assert_eq!(
        said,
        "cassay starts the nodes of the host on host2, with their volume"
    );
}

#[test]
fn a_node_that_keeps_its_data_or_its_place_is_a_mismatch() {
    let keeps_data = || Sim {
        keeps_data: true,
        ..Sim::default()
    };
    let stays_member = || Sim {
        stays_member: true,
        ..Sim::default()
    };
    for (name, sim, said) in [
        ("data-lost", keeps_data(), "the node's folders contain data"),
        (
            "node-remove",
            keeps_data(),
            "the node's folders contain data",
        ),
        ("node-remove", stays_member(), "is refused"),
        ("node-decommission", stays_member(), "is refused"),
    ] {
        let (verdict, steps, _) = course(&FaultKind::find(name).unwrap(), sim);
        assert_eq!(verdict, FaultVerdict::Mismatch, "{name}: {steps:?}");
        let is_seen = steps.iter().any(|step| step.what == FaultStep::Seen);
        assert!(!is_seen, "{name}: {steps:?}");
        let mut failed = steps.iter().filter(|step| step.what != FaultStep::Acted);
        let told = failed.any(|step| step.words.contains(said));
        assert!(told, "{name}: {steps:?}");
    }
}

#[test]
fn a_node_that_the_others_hold_to_be_down_is_not_back() {
    let sim = Sim {
        stays_down: true,
        ..Sim::default()
    };
    let (verdict, steps, _) = course(&FaultKind::find("data-lost").unwrap(), sim);
    assert_eq!(verdict, FaultVerdict::Mismatch, "{steps:?}");
    let last = steps.last().unwrap();
    assert_eq!(last.what, FaultStep::NotWhole);
    assert!(last.words.contains("report the node as down"), "{last:?}");
}

/// The time limit of the healing applies only to a node that does not stream.
#[test]
fn a_node_that_streams_is_waited_for() {
    for name in ["data-lost", "node-decommission", "node-remove"] {
        let kind = FaultKind::find(name).unwrap();
        let streams_until_ns = 20 * S + kind.healed_within.as_nanos() as u64;
        let sim = Sim {
            streams_until_ns,
            ..Sim::default()
        };
        let (verdict, steps, _) = course(&kind, sim);
        assert_eq!(verdict, FaultVerdict::Confirmed, "{steps:?}");
        assert!(steps.last().unwrap().at_ns >= streams_until_ns, "{steps:?}");
    }
}

/// The ring would refuse a node without data that has not left before.
#[test]
fn a_node_comes_back_when_it_has_left() {
    let kind = FaultKind::find("node-decommission").unwrap();
    let mut sim = Sim {
        ordered_ns: LEAVING_NS / 2,
        ..Sim::default()
    };
    let length = Duration::from_nanos(LEAVING_NS / 2);
    let (hit, options) = (&Hit::Node(HIT), &Options::default());
    let outcome = run(&kind, hit, options, &mut sim, length, &mut |_| ());
    assert_eq!(outcome.verdict(), FaultVerdict::Confirmed, "{outcome:#?}");
    assert!(sim.healed_ns >= LEAVING_NS, "{outcome:#?}");
    let last = &outcome.steps.last().unwrap().words;
    assert!(last.ends_with("; the node left the ring"), "{last}");
}

#[test]
fn a_fault_waits_for_a_node_that_comes_back_from_the_one_before() {
    let sim = Sim {
        recovers_ns: 4 * S,
        ..Sim::default()
    };
    let (verdict, steps, _) = course(&KINDS[0], sim);
    assert_eq!(verdict, FaultVerdict::Confirmed, "{steps:?}");
    assert_eq!(words(&steps)[..3], ["waiting", "checked", "injecting"]);
    assert!(steps[2].at_ns >= 4 * S, "{steps:?}");

    let sim = Sim {
        recovers_ns: 20 * S,
        ..Sim::default()
    };
    let (verdict, steps, sim) = course(&KINDS[0], sim);
    assert_eq!(
        verdict,
        FaultVerdict::Mismatch,
        "ordered to end before it could begin"
    );
    assert_eq!(words(&steps), ["waiting", "unseen"]);
    assert!(sim.injected.is_empty());
}

/// Otherwise cassay would mistake a block that a killed command has corrupted for the original.
#[test]
fn a_fault_waits_for_a_volume_that_something_else_has_broken() {
    for kind in at_once().filter(|kind| kind.takes_volume()) {
        let sim = Sim {
            taken_until_ns: 4 * S,
            ..Sim::default()
        };
        let (verdict, steps, _) = course(kind, sim);
        assert_eq!(verdict, FaultVerdict::Confirmed, "{}: {steps:?}", kind.name);
        let begin = &words(&steps)[..3];
        assert_eq!(begin, ["waiting", "checked", "injecting"], "{}", kind.name);
        assert!(steps[2].at_ns >= 4 * S, "{steps:?}");
    }
    let taking = KINDS.iter().filter(|kind| kind.takes_volume());
    assert_eq!(taking.count(), 7, "power off and all disks but a slow one");
}

/// A killed command has left the disk slow. If this speed counted as normal, cassay could not
/// detect the fault.
#[test]
fn a_disk_that_is_still_slow_is_not_taken_as_its_baseline() {
    let sim = Sim {
        slow_until_ns: 4 * S,
        ..Sim::default()
    };
    let (verdict, steps, _) = course(&FaultKind::find("disk-slow").unwrap(), sim);
    assert_eq!(verdict, FaultVerdict::Confirmed, "{steps:?}");
    assert_eq!(words(&steps)[..3], ["waiting", "checked", "injecting"]);
}

/// The volume of a host that is being healed is unmounted, so its agent cannot make observations.
#[test]
fn a_fault_waits_until_somebody_can_look_and_not_for_ever() {
    let sim = Sim {
        unseen_until_ns: 4 * S,
        ..Sim::default()
    };
    let (verdict, steps, _) = course(&KINDS[0], sim);
    assert_eq!(verdict, FaultVerdict::Confirmed, "{steps:?}");
    assert_eq!(words(&steps)[..3], ["waiting", "checked", "injecting"]);

    let sim = Sim {
        unseen_until_ns: u64::MAX,
        ordered_ns: 300 * S,
        ..Sim::default()
    };
    let outcome = run(
        &KINDS[0],
        &Hit::Node(HIT),
        &Options::default(),
        &mut { sim },
        Duration::from_secs(10),
        &mut |_| (),
    );
    assert_eq!(outcome.verdict(), FaultVerdict::Inconclusive, "{outcome:?}");
    assert!(
        outcome.at_ns(FaultStep::Unseen) < Some(60 * S),
        "{outcome:?}"
    );
}

#[test]
fn that_an_agent_has_healed_by_itself_is_said() {
    let sim = Sim {
        healed_before: true,
        ..Sim::default()
    };
    let (verdict, steps, _) = course(&KINDS[0], sim);
    assert_eq!(verdict, FaultVerdict::Confirmed);
    assert!(
        steps[4].words.ends_with("had already healed the fault"),
        "{steps:?}"
    );
}

#[test]
fn every_kind_has_a_unique_name_and_needs_a_managed_cluster() {
    for kind in KINDS {
        assert_eq!(FaultKind::find(&kind.name).as_ref(), Some(kind));
        let can = |target: target_spec::Target| {
            let capabilities = cluster::capabilities_of(&target);
            let has = |needed: &&target_spec::Capability| {
                let mut found = capabilities.iter().filter(|one| one.capability == **needed);
                found.all(|one| one.present)
            };
            kind.needs.iter().all(|needed| has(&needed))
        };
        let attached = target_spec::Target::Attach(target_spec::AttachSpec::default());
        assert!(!kind.needs.is_empty() && !can(attached), "{}", kind.name);
    }
}
