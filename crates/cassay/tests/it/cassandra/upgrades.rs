//! Tests nodes that are upgraded to another release while they serve.

use super::faults::{assert_confirmed, run};
use super::{assert_nothing_is_left, folders, jvms};
use crate::program::{Lab, line, wait_until};

/// Returns the Cassandra line before the tested line, and the tested line.
fn lines() -> [&'static versions::Line; 2] {
    let lines = versions::LINES;
    let to = line().map_or(versions::DEFAULT, |line| {
        versions::Line::find(&line).expect("a line")
    });
    // The first line has no predecessor, so the test uses an upgrade from the first line instead.
    let at = to.age().max(1);
    [lines[at - 1], lines[at]]
}

/// Returns a study of two nodes of the Cassandra line before the tested line. Its upgrade has a
/// time limit of `limit_s` seconds. Both nodes have all rows.
fn upgraded(nodes: &str, limit_s: u32) -> String {
    let [from, to] = lines().map(|line| line.name);
    let mode = match to {
        "5.0" => ", yaml: {storage_compatibility_mode: UPGRADING}",
        _ => "",
    };
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
window: {{warmup: 2s, measure: {}s}}
verify: {{sample: all}}
faults:
  - {{at: 5s, kind: rolling-upgrade, to: {to}, upgrade_sstables: after,
     for: {limit_s}s{nodes}{mode}}}
",
        limit_s + 15
    )
}

/// The test upgrades only one of the nodes, so that this node has enough time to start on a busy
/// machine. A longer test upgrades both nodes.
#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn a_node_upgrade_under_load_loses_no_acknowledged_write() {
    let said = ["cassay stopped node2", "1 of 2 nodes run Cassandra"];
    assert_upgrades(&upgraded(", nodes: [2]", 110), &said);
}

/// Runs a study with an upgrade. Fails if the evidence lacks one of the texts in `said`, or if data
/// was lost.
fn assert_upgrades(study: &str, said: &[&str]) {
    let lab = Lab::with(study);
    let (trial, faults) = run(&lab);
    let [upgrade] = &faults[..] else {
        panic!("{faults:#?}")
    };
    assert_confirmed(upgrade);
    let evidence = &upgrade.evidence;
    // Cassandra 4.1 writes the file format of 4.0. Each of the other lines has a separate format.
    let files = match lines()[1].name {
        "4.1" => "the node rewrote no file",
        "5.0" => "of oa",
        _ => ": it had",
    };
    for said in said.iter().chain([&files]) {
        assert!(evidence.contains(said), "{said}: {evidence}");
    }
    assert_eq!(trial["verify"]["missing"], 0, "{trial:#}");
    assert_eq!(trial["verify"]["wrong"], 0, "{trial:#}");
    assert_nothing_is_left(&lab);
}

/// Tests kills in each phase of a fault, for `cargo xtask kills`. The gate has one test for each
/// signal, in `endings.rs`.
mod kills {
    use super::*;

    #[test]
    #[ignore = "starts a real Cassandra: cargo xtask kills"]
    fn kill_9_in_the_middle_of_an_upgrade_leaves_nothing() {
        killed_when(&upgraded(", nodes: [2]", 85), "fault_injecting");
    }

    #[test]
    #[ignore = "starts a real Cassandra: cargo xtask kills"]
    fn kill_9_in_the_middle_of_a_way_back_leaves_nothing() {
        killed_when(&long::canary(), "fault_healing");
    }

    /// Kills a run as soon as the event `begins` is in the journal of the run. Checks that no JVM
    /// and no folder of a node remains.
    fn killed_when(study: &str, begins: &str) {
        let lab = Lab::with(study);
        let mut run = lab.start(&["run", "study.yaml"]);
        run.wait_for("· measure:");
        wait_until(&format!("{begins} is written down"), || {
            lab.journaled(begins, Some(0)) == 1
        });
        run.kill();
        wait_until("nothing is left", || {
            jvms(&lab).is_empty() && folders(&lab).is_empty()
        });
        let said = lab.cassay(&["list", "--json"]).ended_with(0);
        assert_eq!(said.json()[0]["state"], "interrupted");
    }
}

/// Tests that are too long for the gate.
mod long {
    use super::*;

    #[test]
    #[ignore = "starts a real Cassandra: cargo xtask cassandra"]
    fn nodes_upgraded_under_load_lose_no_acknowledged_write() {
        let said = [
            "cassay stopped node1",
            "cassay stopped node2",
            "2 of 2 nodes run Cassandra",
            "the nodes agree on the schema",
        ];
        assert_upgrades(&upgraded("", 130), &said);
    }

    /// Returns a study with three nodes of the Cassandra line before the tested line. The first
    /// node is upgraded, observed for some seconds, and rolled back.
    pub(super) fn canary() -> String {
        let [from, to] = lines().map(|line| line.name);
        format!(
            "study: canary
question: Does a canary lose anything that goes back?
target: {{local: {{cassandra: {from}, nodes: 3, heap: 512MiB, class_sharing: true,
  yaml: {{read_request_timeout: 60s, write_request_timeout: 60s}}}}}}
keyspace: {{replication: 3}}
workload: {{use: kv, mix: {{write: 1, read: 1}}, consistency: QUORUM}}
client: {{in_flight_max: 30k}}
data: {{load: {{operations: 1k}}, settle: none}}
procedure: {{fixed: {{rate: 40}}}}
window: {{warmup: 2s, measure: 240s}}
verify: {{sample: all}}
faults:
  - {{at: 15s, kind: rolling-upgrade, to: {to}, upgrade_sstables: after, nodes: [1],
     back: snapshot, for: 25s}}
"
        )
    }

    #[test]
    #[ignore = "starts a real Cassandra: cargo xtask cassandra"]
    fn a_canary_rolls_back_is_repaired_and_loses_no_write() {
        let lab = Lab::with(&canary());
        let (trial, faults) = run(&lab);
        let [upgrade] = &faults[..] else {
            panic!("{faults:#?}")
        };
        assert_confirmed(upgrade);
        let evidence = &upgrade.evidence;
        let [before, after] = lines();
        let (from, to) = (before.pinned, after.pinned);
        let compared = match before.name {
            // Cassandra 4.0 lacks the table with the settings that cassay would compare.
            "4.0" => "but no other node reports the repair",
            _ => "node2 and node3 compared",
        };
        let said = [
            format!("cassay saved the node's files from {from}"),
            format!("1 of 3 nodes run Cassandra {to}: node1 is {to}, node2 is {from}"),
            format!("the node runs {from} again, with its files from that release"),
            "node1 was repaired (".to_owned(),
            compared.to_owned(),
            format!(
                "node1 is {from}, node2 is {from}, node3 is {from}, the nodes agree on the schema"
            ),
        ];
        let places: Vec<Option<usize>> = said.iter().map(|words| evidence.rfind(words)).collect();
        let are_said = places.iter().all(Option::is_some);
        assert!(are_said && places.is_sorted(), "{places:?}: {evidence}");
        assert_eq!(trial["verify"]["missing"], 0, "{trial:#}");
        assert_eq!(trial["verify"]["wrong"], 0, "{trial:#}");
        // The period after the upgrade begins when the upgraded node is back and repaired.
        let recovery = upgrade.recovery.as_ref().expect("what it did to the load");
        assert!(
            recovery.during.is_some() && recovery.after.is_some(),
            "{recovery:#?}"
        );
        assert_nothing_is_left(&lab);
    }
}
