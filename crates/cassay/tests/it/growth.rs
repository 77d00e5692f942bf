//! Tests that a node joins a ring under load, and leaves it again. Needs root.

use crate::cassandra::hosts::refusal;
use crate::cassandra::{assert_nothing_is_left, only_trial};
use crate::program::{Lab, skip};

/// The window may end before or after the new node has joined. In both cases, cassay detects the
/// node, and the node leaves.
const STUDY: &str = "\
study: growth
question: Is anything lost while a node joins and leaves?
target: {local: {hosts: 2, heap: 512MiB, class_sharing: true, host: {memory: 2GiB, volume: 1GiB}}}
keyspace: {replication: {dc1: 2}}
workload: {use: kv, mix: {write: 2, insert: 1, read: 1}, consistency: QUORUM, retries: 3}
client: {timeout: 2s}
data: {load: {operations: 2k}, settle: none}
faults: [{at: 11s, kind: node-add, where: {host: 2}, for: 5s}]
procedure: {fixed: {rate: 100}}
window: {warmup: 2s, measure: 70s}
repeat: {blocks: 1}
verify: {sample: all}
";

#[test]
#[ignore = "three real Cassandras on an idle machine, as root: cargo xtask audit"]
fn audit_of_a_node_that_joins_and_leaves_under_load() {
    if let Some(why) = refusal() {
        return skip(&why);
    }
    let lab = Lab::with(STUDY);
    let said = lab.cassay(&["run", "study.yaml", "--json"]);
    assert_nothing_is_left(&lab);
    let trial = only_trial(&said);
    let fault = &trial["faults"][0];
    assert_eq!(fault["verdict"], "confirmed", "{fault:#}");
    let evidence = fault["evidence"].as_str().unwrap();
    for seen in [
        "seen: the other nodes report the node as joining",
        "whole: the other nodes report the node as no member",
    ] {
        assert!(evidence.contains(seen), "{evidence}");
    }
    let back = &trial["read_back"];
    assert_eq!(back["promise"], "kept", "{back:#}");
    for never in ["lost", "stale", "wrong", "resurrected", "unread"] {
        assert_eq!(back[never].as_u64().unwrap_or(0), 0, "{never}: {back:#}");
    }
}
