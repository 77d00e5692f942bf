//! Tests which events explain the slowest operations of a trial.

use super::*;
use measure::KindCounts;
use store::record::PhaseTimeRecord;

/// Returns a trial with a window from 10 s to 70 s.
fn finding() -> TrialFinding {
    let phase = PhaseTimeRecord {
        name: "measure".to_owned(),
        from_s: 10.0,
        to_s: 70.0,
    };
    TrialFinding {
        phases: vec![phase],
        ops_total: 60_000,
        ..TrialFinding::default()
    }
}

/// Returns `count` operations that were sent to `node`, were due at equal intervals during a stall,
/// and end with the stall.
fn stuck(count: usize, node: &str, from_s: f64, to_s: f64) -> Vec<SlowOperationRecord> {
    let one = |index: usize| {
        let due_s = from_s + (to_s - from_s) * index as f64 / count as f64;
        SlowOperationRecord {
            node: Some(node.to_owned()),
            due_s,
            sent_s: Some(due_s),
            end_s: to_s,
            latency_ms: (to_s - due_s) * 1e3,
            ..SlowOperationRecord::default()
        }
    };
    (0..count).map(one).collect()
}

fn pause(node: &str, end_s: f64, ms: f64) -> SampleRecord {
    SampleRecord {
        t_s: end_s,
        name: "gc.pause.young".to_owned(),
        place: node.to_owned(),
        unit: "ms".to_owned(),
        value: ms,
    }
}

#[test]
fn collections_of_the_node_that_stalled_are_named() {
    let mut slowest = stuck(71, "node2", 20.0, 20.03);
    slowest.extend(stuck(29, "node1", 40.0, 40.03));
    let mut observed = ObservedEvents::default();
    observed.add_sample(&pause("node2", 20.03, 30.0));
    observed.add_sample(&pause("node2", 50.0, 30.0));
    observed.add_sample(&pause("node1", 60.0, 30.0));
    observed.add_sample(&SampleRecord {
        name: "safepoint.stopped".to_owned(),
        ..pause("node1", 40.03, 30.0)
    });
    let tail = match_events(&finding(), &slowest, &observed);
    assert_eq!((tail.operations, tail.explained), (100, 71));
    let [events] = &tail.events[..] else {
        panic!("{:#?}", tail.events)
    };
    assert_eq!(
        (events.kind, &*events.place),
        (TailEventKind::Collection, "node2")
    );
    assert_eq!((events.matched, events.sent_there), (71, 71));
    assert_eq!((events.events, events.events_in_window), (1, 2));
    assert!(events.explains && tail.is_explained());
    let said = sentences::tail::sentences(&tail, false);
    assert!(
        said.ends_with("fell into 1 garbage collection of node2."),
        "{said}"
    );
}

/// The replica that stalls is often not the node to which the client sent the operation.
#[test]
fn operations_sent_to_another_node_match_too() {
    let slowest = stuck(100, "node1", 20.0, 20.03);
    let mut observed = ObservedEvents::default();
    observed.add_sample(&pause("node2", 20.03, 30.0));
    let tail = match_events(&finding(), &slowest, &observed);
    assert_eq!(
        (tail.events[0].matched, tail.events[0].sent_there),
        (100, 0)
    );
    assert!(tail.events[0].explains);
}

#[test]
fn a_fault_is_an_event_from_injection_to_healing() {
    let slowest = stuck(100, "node1", 20.0, 20.2);
    let mut observed = ObservedEvents::default();
    observed.add_fault(&FaultRecord {
        kind: "node-pause".to_owned(),
        place: Some("node1".to_owned()),
        injected_s: Some(20.0),
        healing_s: Some(20.2),
        whole_s: Some(23.0),
        ..FaultRecord::default()
    });
    observed.add_fault(&FaultRecord::default());
    let tail = match_events(&finding(), &slowest, &observed);
    assert_eq!((tail.explained, tail.events.len()), (100, 1));
    assert!((tail.events[0].covered - 0.2 / 60.0).abs() < 1e-9);
    let said = sentences::tail::sentences(&tail, false);
    assert!(
        said.ends_with("fell into the fault node-pause of node1."),
        "{said}"
    );
}

/// One collection covers a tenth of the window, and all slow operations belong to one stall. So the
/// stall may well be within the collection by chance.
#[test]
fn matches_that_chance_can_explain_explain_nothing() {
    let slowest = stuck(100, "node1", 20.0, 20.03);
    let mut observed = ObservedEvents::default();
    observed.add_sample(&pause("node1", 24.0, 6_000.0));
    let tail = match_events(&finding(), &slowest, &observed);
    assert_eq!((tail.events[0].matched, tail.explained), (100, 0));
    assert!(!tail.events[0].explains && !tail.is_explained());
}

#[test]
fn retries_explain_if_other_operations_have_fewer() {
    for (retries, explains) in [(80, true), (50_000, false)] {
        let mut slowest = stuck(100, "node1", 20.0, 20.03);
        slowest.iter_mut().take(80).for_each(|one| one.retries = 1);
        let mut finding = finding();
        let mut counts = KindCounts::default();
        counts[KindCount::Retries] = retries;
        finding.counts.insert("read".to_owned(), counts);
        let tail = match_events(&finding, &slowest, &ObservedEvents::default());
        let [events] = &tail.events[..] else {
            panic!("{:#?}", tail.events)
        };
        assert_eq!((events.kind, events.matched), (TailEventKind::Retry, 80));
        assert_eq!(events.explains, explains, "{events:#?}");
    }
}
