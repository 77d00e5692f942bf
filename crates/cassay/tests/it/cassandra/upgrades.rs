//! Nodes that are brought to another release while they serve.

use super::faults::{assert_confirmed, run};
use super::{assert_nothing_is_left, folders, jvms};
use crate::program::{Lab, line, wait_until};

/// Two nodes of the line before the one that is tested, which each write and each read asks both.
fn upgraded(nodes: &str) -> String {
    let lines = versions::LINES;
    let to = line().map_or(versions::DEFAULT, |line| {
        versions::Line::of(&line).expect("a line")
    });
    // The first one has none before it: it is where the upgrade begins.
    let at = to.age().max(1);
    let (from, to) = (lines[at - 1].name, lines[at].name);
    format!(
        "study: upgraded
question: Does an upgrade lose anything?
target: {{local: {{cassandra: {from}, nodes: 2, heap: 512MiB, class_sharing: true,
  yaml: {{read_request_timeout: 60s, write_request_timeout: 60s}}}}}}
keyspace: {{replication: 2}}
workload: {{use: kv, mix: {{write: 1, read: 1}}, consistency: ONE}}
client: {{in_flight_max: 30k}}
data: {{load: {{operations: 1k}}, settle: none}}
procedure: {{fixed: {{rate: 40}}}}
window: {{warmup: 2s, measure: 100s}}
verify: {{sample: all}}
faults:
  - {{at: 5s, kind: rolling-upgrade, to: {to}, upgrade_sstables: after, for: 85s{nodes}}}
"
    )
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn nodes_are_upgraded_under_load_and_nothing_acknowledged_is_lost() {
    let lab = Lab::with(&upgraded(""));
    let (trial, faults) = run(&lab);
    let [upgrade] = &faults[..] else {
        panic!("{faults:#?}")
    };
    assert_confirmed(upgrade);
    let evidence = &upgrade.evidence;
    for said in [
        "node1 was ended",
        "node2 was ended",
        "2 of 2 nodes are Cassandra",
        "they agree on the schema",
        "its files have the format",
    ] {
        assert!(evidence.contains(said), "{said}: {evidence}");
    }
    assert_eq!(trial["verify"]["missing"], 0, "{trial:#}");
    assert_eq!(trial["verify"]["wrong"], 0, "{trial:#}");
    assert_nothing_is_left(&lab);
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn kill_9_in_the_middle_of_an_upgrade_leaves_nothing() {
    let lab = Lab::with(&upgraded(", nodes: [2]"));
    let mut run = lab.start(&["run", "study.yaml"]);
    run.wait_for("· measure:");
    wait_until("the upgrade has begun", || {
        lab.journaled("fault_injecting", Some(0)) == 1
    });
    run.kill();
    wait_until("nothing is left", || {
        jvms(&lab).is_empty() && folders(&lab).is_empty()
    });
    let said = lab.cassay(&["list", "--json"]).ended_with(0);
    assert_eq!(said.json()[0]["state"], "interrupted");
}
