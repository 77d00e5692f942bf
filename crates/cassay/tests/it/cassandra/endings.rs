//! Tests runs that are ended from outside. Such a run must leave no JVM and no folder behind.

use super::{POINT, assert_nothing_is_left, folders, jvms, start_with_stand_in};
use crate::program::{Lab, Started, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::time::Duration;

/// Returns [`POINT`] with a window that is longer than any delay of a signal.
fn long_point() -> String {
    let long = POINT.replace("measure: 6s", "measure: 600s");
    assert_ne!(long, POINT);
    long
}

fn measuring(lab: &Lab) -> Started {
    let mut run = lab.start(&["run", "study.yaml"]);
    run.wait_for("· measure:");
    assert_eq!(jvms(lab).len(), 1, "one node runs");
    assert_eq!(folders(lab).len(), 1);
    run
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn after_kill_9_no_jvm_and_no_folder_is_left() {
    let lab = Lab::with(&long_point());
    measuring(&lab).kill();
    wait_until_nothing_is_left(&lab);
    let said = lab.cassay(&["list", "--json"]).ended_with(0);
    assert_eq!(said.json()[0]["state"], "interrupted");
    let status = lab.cassay(&["target", "status", "--json"]).ended_with(0);
    assert_eq!(status.json(), serde_json::json!([]));
}

/// Waits until the JVMs and folders of a run have disappeared. The test runs no cleanup command,
/// because agents clean up after themselves.
#[track_caller]
fn wait_until_nothing_is_left(lab: &Lab) {
    wait_until("nothing is left", || {
        jvms(lab).is_empty() && folders(lab).is_empty()
    });
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn kill_9_while_a_node_starts_leaves_nothing_either() {
    let lab = Lab::with(POINT);
    let loads = ["--set", "target.local.class_sharing=false"];
    let run = start_with_stand_in(&lab, &[&["run", "study.yaml"], &loads[..]].concat());
    wait_until("a JVM", || !jvms(&lab).is_empty());
    run.kill();
    wait_until_nothing_is_left(&lab);
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn after_ctrl_c_nothing_is_left_at_once() {
    let lab = Lab::with(&long_point());
    let run = measuring(&lab);
    run.interrupt();
    let said = run.end().ended_with(130);
    assert_nothing_is_left(&lab);
    said.says(&["interrupted: cassay stopped all processes that it started"]);
    let run = lab.run();
    assert_eq!(run.state, store::RunState::Interrupted);
    let logs = run.trial(0).unwrap().expect("the trial").logs_dir();
    assert!(
        logs.join("node1/system.log").is_file(),
        "logs before teardown"
    );
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn a_node_that_dies_makes_the_trial_invalid_and_the_run_ends() {
    let lab = Lab::with(&long_point());
    let run = measuring(&lab);
    for pid in jvms(&lab) {
        kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    }
    let said = run.end().ended_with(3);
    assert_nothing_is_left(&lab);
    let run = lab.run();
    let findings = run.findings.as_ref().expect("an invalid run is kept");
    assert_eq!(findings.verdict, store::record::Verdict::Invalid);
    let reasons = findings.trials[0].reasons.join("\n");
    assert!(
        reasons.contains("node1") && reasons.contains("signal"),
        "{reasons}"
    );
    said.says(&["node1"]);
    assert!(
        findings.trials[0].seconds < 300.0,
        "it did not go on to the end"
    );
    let logs = run.trial(0).unwrap().expect("the trial").logs_dir();
    assert!(logs.join("node1/system.log").is_file());
    assert!(run.report().is_some());
}

/// A stopped process still exists, and its late answers do not show why they are late. So cassay
/// must detect the stop by observing the process.
#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn a_node_that_somebody_stops_is_named_with_its_seconds() {
    let lab = Lab::with(&POINT.replace("measure: 6s", "measure: 15s"));
    let run = measuring(&lab);
    let signal_all = |signal| {
        for pid in jvms(&lab) {
            kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
        }
    };
    signal_all(Signal::STOP);
    // The pause is as long as a short debugger session, and shorter than any timeout.
    measure::clock::sleep(Duration::from_secs(5));
    signal_all(Signal::CONT);
    run.end().ended_with(3);
    assert_nothing_is_left(&lab);
    let findings = lab.run().findings.expect("an invalid run is kept");
    let rules = &findings.trials[0].rules;
    let rule = rules.iter().find(|rule| rule.rule == "V11").unwrap();
    assert_eq!(rule.result, store::record::RuleOutcome::Fail, "{rule:?}");
    let said = "node1: the node's process was stopped (state T), seen from ";
    assert!(rule.detail.contains(said), "{rule:?}");
}
