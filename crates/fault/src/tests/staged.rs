//! Tests of faults whose injection takes some time: shifted clocks and added nodes.

use super::long_operations::{Works, run_fault};
use super::*;
use target_spec::fault::{FaultKind, Hit, Options};

#[test]
fn a_clock_offset_has_the_requested_size_and_direction() {
    let (verdict, steps, _) = run_fault("node-clock-ahead", Works::default(), false);
    assert_eq!(verdict, FaultVerdict::Confirmed, "{steps:?}");
    assert_eq!(words(&steps)[1..3], ["injecting", "seen"]);
    assert!(steps[2].at_ns >= S / 2, "it has to start for it");
    let said = "the time that the node returns to a client is 60000 ms ahead of the client's";
    assert_eq!(steps[2].words, said);
    assert!(steps.last().unwrap().words.contains("0 ms ahead of the client's"));

    let (verdict, steps, _) = run_fault("node-clock-behind", Works::default(), false);
    assert_eq!(verdict, FaultVerdict::Mismatch, "{steps:?}");
    let (verdict, ..) = run_fault("node-clock-ahead", Works::default(), true);
    assert_eq!(verdict, FaultVerdict::Mismatch, "another one was started");
}

/// The other nodes consider the node down because it announced a later gossip generation before.
#[test]
fn a_node_that_all_others_hold_to_be_down_is_started_once_more() {
    let mut sim = Sim {
        is_shunned: true,
        ordered_ns: 10 * S,
        ..Sim::default()
    };
    let kind = FaultKind::find("node-clock-ahead").unwrap();
    let ((hit, options), length) = (
        (&Hit::Node(HIT), &Options::tried()),
        Duration::from_secs(10),
    );
    let outcome = run(&kind, hit, options, &mut sim, length, &mut |_| ());
    assert_eq!(outcome.verdict(), FaultVerdict::Confirmed, "{outcome:#?}");
    let all = words(&outcome.steps);
    assert_eq!(all[all.len() - 3..], ["healing", "restarted", "whole"]);
    let [healing, restarted, whole] = &outcome.steps[all.len() - 3..] else {
        unreachable!()
    };
    assert!(restarted.at_ns - healing.at_ns >= 60 * S, "{outcome:#?}");
    let why = "the node answers clients, but all other nodes consider it down";
    assert!(restarted.words.ends_with(why), "{restarted:?}");
    let up = "the other nodes report the node as up and normal";
    assert!(whole.words.contains(up), "{whole:?}");
}

/// Earlier, the clock of a node with a start of half a minute was shifted for half a minute less
/// than planned.
#[test]
fn agents_leave_a_fault_in_preparation_while_it_is_renewed() {
    let mut sim = Sim {
        works: Works::starting_within(35 * S),
        ordered_ns: 90 * S,
        ..Sim::default()
    };
    let kind = FaultKind::find("node-clock-ahead").unwrap();
    let ((hit, options), length) = (
        (&Hit::Node(HIT), &Options::tried()),
        Duration::from_secs(50),
    );
    let outcome = run(&kind, hit, options, &mut sim, length, &mut |_| ());
    assert_eq!(outcome.verdict(), FaultVerdict::Confirmed, "{outcome:#?}");
    let held_ns = outcome.at_ns(holds_from(&kind)).unwrap();
    assert!((35 * S..37 * S).contains(&held_ns), "{outcome:#?}");
    assert_eq!(sim.renewed.len(), 4, "{:?}", sim.renewed);
    for (at_ns, within) in &sim.renewed {
        assert!(
            at_ns + within.as_nanos() as u64 > 90 * S,
            "not before its end"
        );
    }
}

#[test]
fn a_node_that_is_added_joins_and_leaves_again() {
    let add = |joins_within_ns| {
        let sim = Sim {
            joins_within_ns,
            ..Sim::default()
        };
        course(&FaultKind::find("node-add").unwrap(), sim)
    };
    let (verdict, steps, sim) = add(2 * S);
    assert_eq!(verdict, FaultVerdict::Confirmed, "{steps:#?}");
    let order = ["checked", "injecting", "seen", "done", "healing", "whole"];
    assert_eq!(words(&steps), order);
    assert!(steps[2].words.contains("joining"), "{steps:#?}");
    assert!(steps[3].words.contains("up and normal"), "{steps:#?}");
    assert!(
        steps[3].at_ns >= 2 * S && steps[4].at_ns == 10 * S,
        "{steps:#?}"
    );
    assert!(
        steps[5].words.contains("no member") && steps[5].words.contains("process no longer exists"),
        "{steps:#?}"
    );
    let told: Vec<_> = sim.at_work.iter().map(|(node, what, _)| (*node, what)).collect();
    assert_eq!(told, [(sim::ADDED, &Operation::Decommission)]);

    // A node that has not joined has no data, so it is not decommissioned.
    let (verdict, steps, sim) = add(60 * S);
    assert_eq!(
        verdict,
        FaultVerdict::Confirmed,
        "it was seen, and is gone: {steps:#?}"
    );
    assert_eq!(
        words(&steps)[2..],
        ["seen", "unfinished", "healing", "whole"]
    );
    assert_eq!(sim.at_work.len(), 0);
}

/// A node refuses to remove another node that it considers up.
#[test]
fn a_fault_time_counts_from_when_peers_mark_the_node_down() {
    for (name, acts) in [("node-remove", true), ("node-decommission", false)] {
        let kind = FaultKind::find(name).unwrap();
        let (verdict, steps, sim) = course(&kind, Sim::default());
        assert_eq!(verdict, FaultVerdict::Confirmed, "{name}: {steps:#?}");
        let all: Vec<_> = words(&steps).into_iter().filter(|what| *what != "acted").collect();
        let order = ["checked", "injecting", "seen", "done", "healing", "whole"];
        assert_eq!(all, order, "{name}: {steps:#?}");
        let said = |what: FaultStep| steps.iter().find(|step| step.what == what);
        assert_eq!(said(FaultStep::Acted).is_some(), acts, "{name}: {steps:#?}");
        if let Some(told) = said(FaultStep::Acted) {
            let words = "node 2 considers the node down, and removes it from the ring";
            assert_eq!(told.words, words);
        }
        let done = said(FaultStep::Done).unwrap();
        assert!(done.words.contains("the node left the ring"), "{done:?}");
        assert!(done.words.contains("no member"), "{name}: {done:?}");
        assert!(done.at_ns >= sim.at_work[0].2, "{name}: {steps:#?}");
    }
}
