//! Tests that the slowest operations are explained by the event that slowed them.

use super::{assert_nothing_is_left, faults};
use crate::program::Lab;
use store::record::{TailEventKind, TailEventsRecord};

/// A pause of a second at 300 op/s delays 300 operations. The 100 slowest of these wait for at
/// least 670 ms, which is longer than other stalls of a node with this load. The window is 60 times
/// as long as the pause, so chance cannot explain the matches.
const PAUSED: &str = "\
study: paused
question: What slows the slowest operations?
target: {local: {nodes: 1, heap: 512MiB, class_sharing: true}}
workload: {use: standard1, mix: {write: 1}, consistency: ONE}
data: {settle: none}
procedure: {fixed: {rate: 300}}
client: {timeout: 10s, in_flight_max: 4000}
window: {warmup: 5s, measure: 60s}
verify: {reads: none, sample: 0}
faults:
  - {at: 10s, kind: node-pause, where: {node: 1}, for: 1s}
";

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn a_planted_pause_is_named_for_the_slowest_operations() {
    let lab = Lab::with(PAUSED);
    let (_, injected) = faults::run(&lab);
    assert_nothing_is_left(&lab);
    faults::assert_confirmed(&injected[0]);
    let run = lab.run();
    let slowest = run.trial(0).unwrap().expect("the trial").slowest().unwrap();
    assert_eq!(slowest.len(), 100);
    assert!(slowest.is_sorted_by(|one, other| one.latency_ms >= other.latency_ms));
    assert!(slowest[0].latency_ms >= 400.0, "{:#?}", slowest[0]);
    let findings = run.findings.expect("findings");
    let [tail] = &findings.tails[..] else {
        panic!("{:#?}", findings.tails)
    };
    assert!(tail.is_explained(), "{tail:#?}");
    let is_pause =
        |one: &&TailEventsRecord| one.kind == TailEventKind::Fault && one.fault == "node-pause";
    let Some(pause) = tail.events.iter().find(is_pause) else {
        panic!("{tail:#?}")
    };
    assert!(pause.explains && pause.matched >= 50, "{tail:#?}");
    assert_eq!((pause.place.as_str(), pause.events), ("node1", 1));
    assert_eq!(pause.sent_there, pause.matched, "to the only node");
    let named = "fell into the fault node-pause of node1";
    assert!(
        findings.answer.iter().any(|one| one.contains(named)),
        "{:#?}",
        findings.answer
    );
    let page = std::fs::read_to_string(run.path.join("report.html")).unwrap();
    assert!(page.contains("Slowest operations of trial 0"));
}
