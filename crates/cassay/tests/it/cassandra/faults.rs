//! Tests faults of nodes during a measurement.

use super::{assert_nothing_is_left, only_trial};
use crate::program::Lab;
use serde_json::Value;
use store::record::{FaultRecord, IntervalRecord};

/// Two nodes, each with all of the data, so that either can answer. The rate is low, because the
/// test checks that a node answers, and not how fast it answers. Hosts of other tests have a larger
/// CPU weight, and leave only a sixth of a core for a cold node.
const BROKEN: &str = "\
study: broken
question: Does load go on while a node is silent?
target: {local: {nodes: 2, heap: 512MiB, class_sharing: true}}
keyspace: {replication: 2}
workload: {use: standard1, mix: {write: 1}, consistency: ONE}
data: {settle: none}
procedure: {fixed: {rate: 40}}
client: {timeout: 4s, in_flight_max: 2000}
window: {warmup: 2s, measure: 40s}
verify: {reads: none, sample: 0}
faults:
";

/// Asserts that a write succeeded during a fault.
#[track_caller]
fn assert_answered(lab: &Lab, fault: &FaultRecord) {
    let run = lab.run();
    let trial = run.trial(0).unwrap().expect("the trial");
    let intervals = trial.intervals().unwrap().collect::<Result<Vec<IntervalRecord>, _>>().unwrap();
    let (from_s, to_s) = (fault.injected_s.unwrap(), fault.healing_s.unwrap());
    let within = |one: &&IntervalRecord| one.t_s >= from_s && one.t_s + one.seconds <= to_s;
    let within: Vec<&IntervalRecord> = intervals.iter().filter(within).collect();
    let answered = within.iter().any(|one| one.kind == "write" && one.ok > 0);
    assert!(answered, "{fault:#?}\n{within:#?}");
}

/// Runs the study, which has one fault. Returns the result of the only trial, and the record of the
/// fault.
pub(super) fn run(lab: &Lab) -> (Value, Vec<FaultRecord>) {
    let said = lab.cassay(&["run", "study.yaml", "--json"]).measured(lab);
    assert_nothing_is_left(lab);
    let trial = only_trial(&said);
    let run = lab.run();
    let findings = run.findings.expect("findings");
    let of_trial = findings.trials[0].faults.len();
    assert_eq!((findings.faults.len(), of_trial), (1, 1), "{said}");
    (trial, findings.faults)
}

#[track_caller]
pub(super) fn assert_confirmed(fault: &FaultRecord) {
    assert_eq!(
        fault.verdict,
        store::record::FaultVerdict::Confirmed,
        "{fault:#?}"
    );
    let times: Vec<f64> = [
        fault.injected_s,
        fault.seen_s,
        fault.healing_s,
        fault.whole_s,
    ]
    .into_iter()
    .flatten()
    .collect();
    assert!(times.len() == 4 && times.is_sorted(), "{fault:#?}");
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn a_node_is_paused_under_load_while_the_other_answers() {
    let pause = "  - {at: 3s, kind: node-pause, where: {node: 2}, for: 15s}\n";
    let lab = Lab::with(&format!("{BROKEN}{pause}"));
    let (trial, faults) = run(&lab);
    let [paused] = &faults[..] else {
        panic!("{faults:#?}")
    };
    assert_confirmed(paused);
    assert_eq!(
        (paused.kind.as_str(), paused.place.as_deref()),
        ("node-pause", Some("node2"))
    );
    let evidence = &paused.evidence;
    assert!(
        evidence.contains("the kernel reports the node's process as T"),
        "{evidence}"
    );
    // During the fault, requests in flight to the broken node time out, and the other node answers.
    assert!(
        trial["errors"]["client_timeout"].as_u64() > Some(0),
        "{trial:#}"
    );
    assert_answered(&lab, paused);
    let steps_path = lab.run().path.join("trials/00-rate-40/faults.ndjson");
    let all_steps = std::fs::read_to_string(steps_path).unwrap();
    // On a busy machine, the file may also contain waiting steps. The test ignores these steps.
    let steps = all_steps.lines().filter(|line| !line.contains("\"waiting\""));
    assert_eq!(steps.count(), 5);
    for event in ["fault_injecting", "fault_healing"] {
        assert_eq!(lab.journaled(event, Some(0)), 1, "{event}");
    }
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn a_node_is_killed_and_restarted_under_load() {
    let kill = "  - {at: 3s, kind: node-kill, where: {node: 2}, for: 9s}\n";
    let lab = Lab::with(&format!("{BROKEN}{kill}"));
    let (_, faults) = run(&lab);
    let [killed] = &faults[..] else {
        panic!("{faults:#?}")
    };
    assert_confirmed(killed);
    let evidence = &killed.evidence;
    let gone = "the node's process no longer exists, the node does not answer a client";
    assert!(evidence.contains(gone), "{evidence}");
    assert_answered(&lab, killed);
}
