//! A host that loses its power under writes that one node acknowledges: what a periodic commit log
//! has not synced is lost, is found, and may be; a batch one loses nothing. Needs root.

use super::hosts::refusal;
use crate::program::{Lab, skip};
use serde_json::Value;

/// A host of two is off for a while, and has no replica elsewhere of what is on it.
const STUDY: &str = "\
study: power
question: What is lost of what one node acknowledged, when its power goes?
target: {local: {hosts: 2, heap: 512MiB, class_sharing: true,
  host: {memory: 2GiB, volume: 1GiB}}}
keyspace: {replication: {dc1: 1}}
workload: {use: kv, mix: {write: 4, insert: 4, read: 1}, consistency: ONE}
client: {timeout: 2s}
data: {load: {operations: 2k}, settle: none}
faults: [{at: 14s, kind: host-power-off, where: {host: 2}, for: 3s}]
variants:
  periodic: {target: {local: {yaml: {commitlog_sync: periodic, commitlog_sync_period: 10s}}}}
  batch: {target: {local: {yaml: {commitlog_sync: batch}}}}
procedure: {fixed: {rate: 200}}
window: {warmup: 2s, measure: 50s}
repeat: {blocks: 1}
verify: {sample: all}
";

#[test]
#[ignore = "starts two real Cassandras as root: cargo xtask cassandra"]
fn a_loss_of_power_loses_what_was_not_synced_and_nothing_of_a_batch_commit_log() {
    if let Some(why) = refusal() {
        return skip(&why);
    }
    let lab = Lab::with(STUDY);
    // What every third of the requests meets while its only replica is off makes it what it is.
    let findings = lab.cassay(&["run", "study.yaml", "--json"]).json();
    let trials = findings["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 2, "{findings:#}");
    for trial in trials {
        let fault = &trial["faults"][0];
        assert_eq!(fault["verdict"], "confirmed", "{fault:#}");
        let back = &trial["read_back"];
        let count = |name: &str| back[name].as_u64().unwrap_or(0);
        assert!(count("writes_acknowledged") > 1000, "{back:#}");
        let gone = count("lost") + count("stale");
        for never in ["wrong", "resurrected", "unread"] {
            assert_eq!(count(never), 0, "{never}: {back:#}");
        }
        let is_periodic = trial["variant"] == "periodic";
        // Two hundred operations a second, half of them on a node that has not synced for seconds.
        assert_eq!(gone > 0, is_periodic, "{back:#}");
        let is_blamed = of_durability(&trial["reasons"]).any(|reason| reason["result"] == "fail");
        assert!(!is_blamed, "{:#}", trial["reasons"]);
    }
}

fn of_durability(reasons: &Value) -> impl Iterator<Item = &Value> {
    let all = reasons.as_array().into_iter().flatten();
    all.filter(|reason| reason["rule"] == "V14")
}
