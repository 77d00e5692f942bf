//! Tests faults of an attached cluster. Commands in the study inject, detect and heal these faults.
//! A file in the study's folder represents the fault.

use crate::program::{Lab, Started, wait_until};

/// A study with commands for three kinds of faults: `file` breaks and heals, `never` is never
/// detected, and `blind` cannot be detected.
const STUDY: &str = "\
study: attached
question: Is it seen to break and to be whole again?
target:
  attach:
    contact_points: ['ADDRESS']
    faults:
      file: {inject: [touch, broken], see: [test, -e, ./broken], heal: [rm, -f, broken]}
      never: {inject: [touch, never], see: ['false'], heal: [rm, -f, never]}
      blind: {inject: [touch, blind], see: [sh, -c, exit 3], heal: [rm, -f, blind]}
workload: {use: standard1, mix: {write: 1}}
data: {load: {operations: 1k}}
procedure: {fixed: {rate: 500}}
window: {warmup: 0s, measure: 9s}
verify: {reads: none, sample: 0}
faults:
  - {at: 1s, kind: file, for: 1s}
  - {at: 4s, kind: never, for: 1s}
  - {at: 7s, kind: blind, for: 1s}
";

/// Permission that the study's load needs on an attached cluster.
const MAKES: &str = "--allow=create=keyspace1";

/// Returns a lab with the study, and a server in another process.
fn lab(study: &str) -> (Lab, Started) {
    let lab = Lab::new();
    let mut server = lab.start(&["null", "--port", "0"]);
    lab.write(
        "study.yaml",
        &study.replace("ADDRESS", &server.first_line()),
    );
    (lab, server)
}

#[test]
fn each_is_what_was_seen_of_it_and_nothing_stays() {
    let (lab, _server) = lab(STUDY);
    lab.cassay(&["plan", "study.yaml"]).ended_with(2).says(&[
        "study.yaml:7:",
        "`target.attach.faults.file.inject` runs a program on this machine",
        "pass --trust",
    ]);
    let plan = lab.cassay(&["plan", "study.yaml", "--trust", MAKES]).ended_with(0);
    assert!(
        plan.stdout.contains("at 1s for 1s  file of node1"),
        "{plan}"
    );
    let run = lab.cassay(&["run", "study.yaml", "--trust", MAKES, "--json"]);
    let findings = run.json();
    let faults = findings["faults"].as_array().unwrap();
    let verdicts: Vec<(&str, &str)> = faults
        .iter()
        .map(|fault| {
            (
                fault["kind"].as_str().unwrap(),
                fault["verdict"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("file", "confirmed"),
        ("never", "mismatch"),
        ("blind", "inconclusive"),
    ];
    assert_eq!(verdicts, expected, "{run}");
    let evidence = faults[0]["evidence"].as_str().unwrap();
    assert!(
        evidence.contains("test -e ./broken reports the node as broken"),
        "{evidence}"
    );
    let during = &faults[0]["recovery"]["during"]["ops"];
    assert!(during.as_u64() > Some(0), "{}", faults[0]);
    for file in ["broken", "never", "blind"] {
        assert!(!lab.path().join(file).exists(), "{file}");
    }
    assert_eq!(lab.journaled("fault_injecting", None), 3);
}

#[test]
fn faults_of_a_killed_program_heal_and_resume_asks_for_trust() {
    let long = STUDY
        .replace("measure: 9s", "measure: 600s")
        .replace("1s, kind: file, for: 1s", "1s, kind: file, for: 300s");
    let (head, _) = long.split_once("  - {at: 4s").unwrap();
    let (lab, _server) = lab(head);
    let mut run = lab.start(&["run", "study.yaml", "--trust", MAKES]);
    let broken = lab.path().join("broken");
    run.wait_until("it is broken", || broken.exists());
    run.kill();
    wait_until("it is healed", || !broken.exists());
    let said = lab.cassay(&["resume", "latest"]).ended_with(2);
    said.says(&["runs a program on this machine", "pass --trust"]);
}

/// `cassay fault test` tests a fault on an attached cluster that `--target` names. For an
/// impossible fault, the command prints the reason.
#[test]
fn a_kind_is_tried_on_a_cluster_of_others_by_its_address() {
    let lab = Lab::new();
    let mut server = lab.start(&["null", "--port", "0"]);
    let target = format!("attach:{}", server.first_line());
    let words = [
        "fault",
        "test",
        "node-pause",
        "--allow",
        "signal",
        "--target",
    ];
    let said = lab.cassay(&[&words[..], &[&target]].concat());
    said.ended_with(0).says(&[
        "node-pause: not possible here",
        "`attach: {hosts: {ssh: [HOST, …]}}`",
    ]);
    let said = lab.cassay(&["fault", "test", "node-pause", "--target", "10.0.0.1"]);
    said.ended_with(2).says(&["write attach:HOST or attach:HOST:PORT"]);
}
