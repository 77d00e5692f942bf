//! Nodes of ours in pods.

use super::{NODES, assert_gone_in_time, java_image, left, running};
use crate::null_target::fleet::lines;
use crate::null_target::rule;
use crate::program::{Lab, wait_until};

/// Two nodes of ours in pods: started, loaded, snapshotted and restored, and gone.
#[test]
#[ignore = "needs a Kubernetes: cargo xtask kubernetes"]
fn nodes_of_ours_run_in_pods_and_are_restored() {
    let lab = Lab::new();
    let image = java_image();
    let study = NODES.replace("IMAGE", &image);
    lab.write("study.yaml", &study);
    let fault = "--set=faults=[{at: 2s, kind: node-pause, where: {node: 2}, for: 2s}]";
    let said = lab.cassay(&["run", "study.yaml", "--json", "--trust", fault]).measured(&lab);
    let findings = said.json();
    let trials = findings["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 2, "{findings:#}");
    let faults = findings["faults"].as_array().expect("faults");
    let confirmed = faults.iter().filter(|fault| fault["verdict"] == "confirmed").count();
    assert_eq!((faults.len(), confirmed), (2, 2), "{findings:#}");
    for trial in trials {
        for id in ["V2", "V6", "V13", "V14"] {
            assert_ne!(rule(trial, id)["result"], "fail", "{trial:#}");
        }
    }
    wait_until("nothing of ours is left there", || left().is_empty());
}

/// Nodes go like clients, however far they have come.
#[test]
#[ignore = "needs a Kubernetes: cargo xtask kubernetes"]
fn nothing_stays_of_nodes_whose_command_was_killed() {
    let image = java_image();
    for when in ["made", "running", "measuring"] {
        let lab = Lab::with(&NODES.replace("IMAGE", &image));
        let sets = [
            "--set=target.local.hosts=1",
            "--set=keyspace.replication={dc1: 1}",
            "--set=window.measure=60s",
        ];
        let arguments = [&["run", "study.yaml", "--json", "--trust"], &sets[..]].concat();
        let mut started = lab.start(&arguments);
        let is_on = || match when {
            "made" => !left().is_empty(),
            "running" => running().len() == 1,
            _ => !lines(&lab, "intervals.ndjson").is_empty(),
        };
        started.wait_until(when, is_on);
        started.kill();
        assert_gone_in_time(when);
        // The next command finds nothing that it would have to clear, and says nothing of it.
        let said = lab.cassay(&["target", "status"]).ended_with(0);
        assert!(!said.stderr.contains("error"), "{}", said.stderr);
    }
}
