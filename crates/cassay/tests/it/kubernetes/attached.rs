//! Tests an attached cluster in Kubernetes. cassay loads, breaks and heals the cluster.

use super::foreign_cluster::ForeignCluster;
use super::{Field, STUDY, assert_gone_in_time, kubectl, left, texts};
use crate::null_target::fleet::lines;
use crate::null_target::rule;
use crate::program::{Lab, wait_until};
use serde_json::Value;

const TARGET: &str = "{attach: {kubernetes: {context: admin, service: db, secret: db-superuser}}}";

/// A study of an attached cluster in Kubernetes, to which tests add faults of pods.
const BROKEN: &str = "\
study: broken
question: What do faults of pods cost?
target: TARGET
keyspace: {name: mine, replication: {datacenter1: 2}}
workload: {use: standard1, mix: {write: 1, read: 1}, consistency: LOCAL_ONE}
data: {load: {operations: 1k}}
procedure: {fixed: {rate: 200}}
verify: {reads: all, sample: 1000}
";

fn broken() -> Lab {
    Lab::with(&BROKEN.replace("TARGET", TARGET))
}

/// Asserts that each fault of a run was observed and healed. Returns the evidence of each fault.
#[track_caller]
fn confirmed(findings: &Value) -> Vec<String> {
    let faults = findings["faults"].as_array().expect("faults");
    let each = faults.iter().map(|fault| {
        assert_eq!(fault["verdict"], "confirmed", "{findings:#}");
        fault["evidence"].as_str().expect("evidence").to_owned()
    });
    each.collect()
}

/// cassay finds the cluster, logs in and loads it from pods. With agents in its containers, the
/// processes of the cluster are visible. The test pauses one node and isolates another node by a
/// network policy. cassay detects both faults. The password of the cluster appears in no output and
/// in no file of results.
#[test]
#[ignore = "needs a Kubernetes: cargo xtask kubernetes"]
fn a_cluster_is_attached_to_by_its_service_and_its_secret() {
    let theirs = ForeignCluster::new(true);
    let target = format!("target: {TARGET}");
    let study = STUDY.replace("target: {attach: {contact_points: [ADDRESS]}}", &target);
    let field = Field {
        lab: Lab::with(&study.replace("reads: none, sample: 0", "reads: all, sample: 100")),
        _null: None,
    };
    let lab = &field.lab;
    let untrusted = lab.cassay(&["plan", "study.yaml"]).ended_with(2);
    untrusted.says(&["`target.attach.kubernetes`", "pass --trust"]);
    let ann = "--set=target.attach.kubernetes.context=ann";
    let said = lab.cassay(&["plan", "study.yaml", "--trust", ann]);
    said.says(&["Forbidden", "cassay kubernetes rbac"]);

    let keyspace = "--set=keyspace={name: mine, replication: {datacenter1: 2}}";
    let run = field.run(2, &["--set=data.load={operations: 500}", keyspace]);
    let mut run = texts(&run);
    run.retain(|word| !word.starts_with("--allow"));
    run.push("--allow=create=mine");
    run.push("--set=target.attach.kubernetes.metrics=['*demo*']");
    let said = lab.cassay(&run).measured(lab);
    let trial = said.json()["trials"][0].clone();
    assert_eq!(rule(&trial, "V14")["result"], "pass", "{trial:#}");
    let clients = trial["clients"].as_array().map(Vec::len);
    assert_eq!(clients, Some(2), "{trial:#}");
    said.says(&["cassay reads metrics of 2 of 2 nodes"]);
    let series = lines(lab, "probes/prometheus.ndjson");
    let is_of = |node: &str| series.iter().any(|one| one["place"] == node && one["value"] == 42.0);
    assert!(is_of("db-0") && is_of("db-1"), "{series:#?}");
    theirs.assert_password_hidden(lab, &said);

    let said = lab.cassay(&[
        "run",
        "study.yaml",
        "--json",
        "--trust",
        "--allow=write=mine,signal,network",
        keyspace,
        "--set=target.attach.kubernetes.agents={container: cassandra}",
        "--set=window.measure=20s",
        "--set=faults=[{at: 2s, kind: node-pause, where: {node: 1}, for: 2s}, \
         {at: 8s, kind: net-policy, where: {node: 2}, for: 5s}]",
    ]);
    let findings = said.json();
    let seen = confirmed(&findings);
    assert!(
        seen[1].contains("db-0 receives no packets from db-1"),
        "{seen:?}"
    );
    assert!(!said.stderr.contains("`probes.processes`"), "{said}");
    theirs.assert_password_hidden(lab, &said);
    wait_until("no network policy is left", || left().is_empty());
}

/// A killed pod, and a pod whose machine is drained, come back with other addresses. The load, the
/// control connection and the next trial use the new addresses, and nothing is lost.
#[test]
#[ignore = "needs a Kubernetes: cargo xtask kubernetes"]
fn pods_that_are_taken_away_come_back_and_are_followed() {
    let theirs = ForeignCluster::new(false);
    let before = theirs.ready();
    let lab = broken();
    let forbidden = lab.cassay(&["plan", "study.yaml", "--trust"]);
    assert!(!forbidden.stderr.contains("--allow pods"), "{forbidden}");
    let faults = "--set=faults=[{at: 1s, kind: pod-kill, where: {node: 1}}, \
                  {at: 14s, kind: pod-evict, where: {node: 2}, for: 3s}]";
    let refused = lab.cassay(&["plan", "study.yaml", "--trust", faults]);
    refused.says(&["--allow pods"]);
    let agents = "--set=target.attach.kubernetes.agents={container: cassandra}";
    let refused = lab.cassay(&["plan", "study.yaml", "--trust", faults, agents]).ended_with(2);
    refused.says(&["and thus also cassay's agent in this pod"]);
    let pause = "--set=faults=[{at: 1s, kind: node-pause, where: {node: 1}, for: 1s}]";
    let refused = lab.cassay(&["plan", "study.yaml", "--trust", pause, agents]);
    refused.says(&[
        "node-pause is not available",
        "first process of its container",
    ]);

    let said = lab.cassay(&[
        "run",
        "study.yaml",
        "--json",
        "--trust",
        "--allow=create=mine,pods",
        faults,
        "--set=window={warmup: 1s, measure: 34s}",
        "--set=repeat.blocks=2",
    ]);
    let findings = said.json();
    let seen = confirmed(&findings);
    assert_eq!(seen.len(), 4, "{findings:#}");
    assert!(
        seen.iter().all(|seen| seen.contains("another one is ready")),
        "{seen:?}"
    );
    for trial in findings["trials"].as_array().expect("trials") {
        // The check of rows must not fail, because every row that it reads back exists.
        assert_ne!(rule(trial, "V14")["result"], "fail", "{trial:#}");
        // A new address of a node does not count as a change of the node's configuration.
        let environment = rule(trial, "V11").to_string();
        assert!(!environment.contains("settings changed"), "{environment}");
        let ok = trial["operations"]["ok"].as_u64();
        assert!(ok.is_none_or(|ok| ok > 3_000), "{trial:#}");
    }
    let after = theirs.ready();
    assert!(
        before.iter().all(|one| !after.contains(one)),
        "{before:?} {after:?}"
    );
    theirs.assert_password_hidden(&lab, &said);

    // The fault `operator-restart` restarts all nodes by a rollout, which differs from a restart by
    // cassay.
    let said = lab.cassay(&[
        "run",
        "study.yaml",
        "--json",
        "--trust",
        "--allow=write=mine,pods",
        "--set=faults=[{at: 1s, kind: operator-restart, for: 44s}]",
        "--set=window={warmup: 1s, measure: 46s}",
    ]);
    let seen = confirmed(&said.json());
    let by = "a rollout of the StatefulSet db restarted 2 nodes";
    assert!(seen[0].contains(by), "{seen:?}");
}

/// The load continues, and the next trial uses the node's new address.
#[test]
#[ignore = "needs a Kubernetes: cargo xtask kubernetes"]
fn a_pod_that_somebody_else_deletes_is_followed() {
    let _theirs = ForeignCluster::new(false);
    let lab = broken();
    let mut run = lab.start(&[
        "run",
        "study.yaml",
        "--json",
        "--trust",
        "--allow=create=mine",
        "--set=window={warmup: 1s, measure: 30s}",
        "--set=repeat.blocks=2",
    ]);
    // This study has fewer intervals than the other studies, so the test waits for only eight
    // intervals.
    run.wait_until("it measures", || lines(&lab, "intervals.ndjson").len() >= 8);
    kubectl(&["delete", "pod", "db-0", "--grace-period=1"]);
    let said = run.end();
    let trials = said.json()["trials"].clone();
    assert_ne!(rule(&trials[0], "V14")["result"], "fail", "{trials:#}");
    assert_ne!(rule(&trials[1], "V8")["result"], "fail", "{trials:#}");
    assert_ne!(rule(&trials[1], "V14")["result"], "fail", "{trials:#}");
}

/// Faults heal even if cassay's processes are killed: the network policy is removed, and the
/// machine accepts pods again.
#[test]
#[ignore = "needs a Kubernetes: cargo xtask kubernetes"]
fn faults_in_kubernetes_heal_whichever_process_is_killed() {
    let theirs = ForeignCluster::new(false);
    let is_cordoned = || !kubectl(&["get", "nodes", "-o", "jsonpath={..unschedulable}"]).is_empty();
    let mut started = Vec::new();
    for (kind, agents) in [("net-policy", true), ("pod-evict", false)] {
        let lab = broken();
        let faults =
            format!("--set=faults=[{{at: 1s, kind: {kind}, where: {{node: 2}}, for: 500s}}]");
        let mut words = vec![
            "run",
            "study.yaml",
            "--trust",
            "--allow=create=mine,write=mine,pods,network",
            "--set=window={warmup: 1s, measure: 600s}",
            &faults,
        ];
        if agents {
            words.push("--set=target.attach.kubernetes.agents={container: cassandra}");
        }
        let mut run = lab.start(&words);
        let is_broken = || match kind {
            "net-policy" => left().contains("networkpolicy"),
            _ => is_cordoned() && theirs.ready().len() == 1,
        };
        run.wait_until(kind, is_broken);
        started.push((lab, run));
    }
    let labs: Vec<Lab> = started
        .into_iter()
        .map(|(lab, run)| {
            run.kill();
            lab
        })
        .collect();
    assert_gone_in_time("its pods are broken");
    wait_until("its nodes are ready again", || {
        !is_cordoned() && theirs.ready().len() == 2
    });
    drop(labs);
}
