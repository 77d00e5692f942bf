//! Tests a host that loses its power under writes that one node acknowledges. Writes that a
//! periodic commit log had not synced are lost. The run reports the lost writes, and accepts the
//! loss. Needs root.

use super::hosts::refusal;
use super::only_trial;
use crate::program::{Lab, skip};

/// One of two hosts is off for a while, and its data has no other replica. The commit log must not
/// be synced shortly before the power loss. With the default period of 10 s, a sync just before the
/// loss could save all writes.
const STUDY: &str = "\
study: power
question: What is lost of what one node acknowledged, when its power goes?
target: {local: {hosts: 2, heap: 512MiB, class_sharing: true,
  yaml: {commitlog_sync: periodic, commitlog_sync_period: 600s},
  host: {memory: 2GiB, volume: 1GiB}}}
keyspace: {replication: {dc1: 1}}
workload: {use: kv, mix: {write: 4, insert: 4, read: 1}, consistency: ONE}
client: {timeout: 2s}
data: {load: {operations: 2k}, settle: compactions}
faults: [{at: 14s, kind: host-power-off, where: {host: 2}, for: 3s}]
procedure: {fixed: {rate: 200}}
window: {warmup: 2s, measure: 50s}
repeat: {blocks: 1}
verify: {sample: all}
";

#[test]
#[ignore = "starts two real Cassandras as root: cargo xtask cassandra"]
fn a_power_loss_loses_unsynced_data_which_is_found_and_allowed() {
    if let Some(why) = refusal() {
        return skip(&why);
    }
    let lab = Lab::with(STUDY);
    // Half of the requests fail while their only replica is off. These failures decide the verdict.
    let said = lab.cassay(&["run", "study.yaml", "--json"]);
    let trial = only_trial(&said);
    let fault = &trial["faults"][0];
    assert_eq!(fault["verdict"], "confirmed", "{fault:#}");
    let back = &trial["read_back"];
    let count = |name: &str| back[name].as_u64().unwrap_or(0);
    assert!(count("writes_acknowledged") > 1000, "{back:#}");
    // The load has 200 operations per second. Half of the operations are on a node that has not
    // synced for seconds.
    assert!(count("lost") + count("stale") > 0, "{back:#}");
    for never in ["wrong", "resurrected", "unread"] {
        assert_eq!(count(never), 0, "{never}: {back:#}");
    }
    assert_eq!(back["promise"], "none", "{back:#}");
    let rules = trial["rules"].as_array().into_iter().flatten();
    let blamed = rules.filter(|rule| rule["rule"] == "V14" && rule["result"] == "fail");
    assert_eq!(blamed.count(), 0, "{:#}", trial["rules"]);
}
