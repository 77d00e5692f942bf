//! Tests the section about the slowest operations.

use crate::fixture;
use report::{RunView, page, text};
use store::record::{SlowOperationRecord, TailEventKind, TailEventsRecord, TailRecord};

const SENTENCE: &str =
    "71 of the 100 slowest operations (31 ms or more) fell into 3 garbage collections of node2.";

fn view() -> RunView {
    let mut view = fixture::run(1);
    let collections = TailEventsRecord {
        kind: TailEventKind::Collection,
        place: "node2".to_owned(),
        matched: 71,
        sent_there: 30,
        events: 3,
        events_in_window: 5,
        covered: 0.004,
        expected: 0.4,
        chance: 0.001,
        explains: true,
        ..TailEventsRecord::default()
    };
    view.findings.tails = vec![TailRecord {
        operations: 100,
        from_ms: 31.25,
        explained: 71,
        events: vec![collections],
        says: SENTENCE.to_owned(),
        ..TailRecord::default()
    }];
    let trial = view.trials.iter_mut().find(|trial| trial.index == 0).expect("trial 0");
    trial.slowest = vec![SlowOperationRecord {
        number: 4_711,
        kind: "read".to_owned(),
        node: Some("node2".to_owned()),
        due_s: 7.25,
        sent_s: Some(7.2501),
        end_s: 7.75,
        latency_ms: 500.0,
        at_least: true,
        outcome: "client_timeout".to_owned(),
        ..SlowOperationRecord::default()
    }];
    view
}

#[test]
fn the_slowest_operations_stand_with_the_events_that_match() {
    let shown = text(&page(&view()));
    let from = shown.find("THE SLOWEST OPERATIONS").expect("the section");
    let shown = &shown[from..];
    let words = [
        "71 of 100",
        "garbage collection",
        "node2",
        "3 of 5",
        "0.0010",
    ];
    for words in words {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let one_line = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains(SENTENCE), "{shown}");
    assert!(
        shown.lines().all(|line| line.chars().count() <= 100),
        "{shown}"
    );
}

#[test]
fn a_run_of_an_earlier_version_has_no_such_section() {
    let shown = text(&page(&fixture::run(1)));
    assert!(!shown.contains("THE SLOWEST OPERATIONS"));
}
