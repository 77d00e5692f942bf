//! Tests clients in pods. Several clients together do the same as one client, and cassay reports
//! the failure of a pod.

use super::{Field, TRUST, assert_gone_of_each, kubectl, left, running, texts};
use crate::null_target::fleet::{counts, lines};
use crate::null_target::rule;
use crate::program::{ProgramOutput, Started, wait_until};
use serde_json::Value;

#[test]
#[ignore = "needs a Kubernetes: cargo xtask kubernetes"]
fn clients_in_pods_do_what_one_client_does() {
    let field = Field::new();
    let said = field.lab.cassay(&texts(&field.run(3, &[]))).measured(&field.lab);
    let together = said.json()["trials"][0].clone();
    wait_until("nothing of ours is left there", || left().is_empty());
    let alone = [
        "run",
        "study.yaml",
        "--json",
        TRUST[0],
        "--allow=write=keyspace1",
    ];
    let alone = field.lab.cassay(&alone).measured(&field.lab).json()["trials"][0].clone();
    assert_eq!(counts(&together), counts(&alone), "{together:#}");
    for id in ["V2", "V6"] {
        assert_eq!(rule(&together, id)["result"], "pass", "{together:#}");
    }
    let clients = together["clients"].as_array().expect("clients");
    assert_eq!(clients.len(), 3);
    let count = |one: &Value| one["latency_ms"]["count"].as_u64().unwrap_or(0);
    let each: Vec<u64> = clients.iter().map(count).collect();
    assert!(each.iter().all(|count| *count > 0), "{each:?}");
    assert_eq!(
        Some(each.iter().sum()),
        together["all"]["latency_ms"]["count"].as_u64()
    );
    assert_eq!(
        together["all"]["latency_ms"]["count"],
        alone["all"]["latency_ms"]["count"]
    );
    for one in clients {
        let place = one["place"].as_str().unwrap_or_default();
        assert!(
            place.starts_with("cassay-clients-") && place.contains(" on "),
            "{place}"
        );
        assert_eq!(one["workers"], 1, "{one:#}");
    }
}

#[test]
#[ignore = "needs a Kubernetes: cargo xtask kubernetes"]
fn a_verb_that_is_missing_is_told_by_the_plan() {
    let field = Field::new();
    let rbac = field.lab.cassay(&["kubernetes", "rbac", "--user", "ann"]).ended_with(0).stdout;
    let with = |role: &str, command: &str| {
        let file = field.lab.write("role.yaml", role);
        kubectl(&["apply", "-f", &file.to_string_lossy()]);
        let arguments = field.run(2, &["--set=client.kubernetes.context=ann"]);
        let mut arguments = texts(&arguments);
        arguments[0] = command;
        field.lab.cassay(&arguments)
    };
    let less = rbac.replace("verbs: [get, create]", "verbs: [get]");
    assert_ne!(less, rbac);
    let said = with(&less, "plan").ended_with(2);
    let words = "not allowed: you may not create pods/exec in the namespace default";
    assert!(said.stderr.contains(words), "{}", said.stderr);
    assert_eq!(
        said.stderr.matches("not allowed").count(),
        1,
        "{}",
        said.stderr
    );
    with(&rbac, "plan").ended_with(0);
    // The role that `rbac` prints must be sufficient for a run.
    with(&rbac, "run").measured(&field.lab);
    wait_until("nothing of ours is left there", || left().is_empty());
}

#[test]
#[ignore = "needs a Kubernetes: cargo xtask kubernetes"]
fn a_pod_that_is_evicted_is_told_of() {
    let field = Field::new();
    let arguments = field.run(2, &["--set=window.measure=60s"]);
    let mut started = Started::new(field.lab.command(&texts(&arguments)));
    let is_on = || !lines(&field.lab, "clients.ndjson").is_empty();
    started.wait_until("it measures", is_on);
    let pod = running().first().expect("a pod").trim_start_matches("pod/").to_owned();
    let at = format!("/api/v1/namespaces/default/pods/{pod}/eviction");
    let eviction = serde_json::json!({
        "apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": {"name": pod, "namespace": "default"},
    });
    let file = field.lab.write("eviction.json", &eviction.to_string());
    kubectl(&["create", "--raw", &at, "-f", &file.to_string_lossy()]);
    let said = started.end();
    let trial = said.json()["trials"][0].clone();
    assert_eq!(trial["verdict"], "invalid", "{trial:#}");
    let detail = rule(&trial, "V4")["detail"].as_str().unwrap_or_default().to_owned();
    assert!(
        detail.contains(&pod) && detail.contains("EvictionByEvictionAPI"),
        "{detail}"
    );
    wait_until("nothing of ours is left there", || left().is_empty());
}

#[test]
#[ignore = "needs a Kubernetes: cargo xtask kubernetes"]
fn nothing_stays_of_a_command_that_was_killed() {
    let mut fields = Vec::new();
    let start = || {
        let Field { lab, _null: null } = Field::new();
        fields.push(null);
        let field = Field { lab, _null: None };
        let arguments = field.run(2, &["--set=window.measure=60s"]);
        let started = Started::new(field.lab.command(&texts(&arguments)));
        (field.lab, started)
    };
    assert_gone_of_each(start, |lab| !lines(lab, "clients.ndjson").is_empty());
}

/// If a pod cannot be created, cassay reports the reason in one sentence, and leaves no object
/// behind.
#[test]
#[ignore = "needs a Kubernetes: cargo xtask kubernetes"]
fn a_pod_that_cannot_run_is_told_of() {
    let field = Field::new();
    let said =
        |set: &str| -> ProgramOutput { field.lab.cassay(&texts(&field.run(1, &["--set", set]))) };
    let image = said("client.kubernetes.image=nobody.invalid/nothing:1");
    assert!(image.stderr.contains("is not running"), "{}", image.stderr);
    assert!(
        image.stderr.contains("nobody.invalid/nothing:1"),
        "{}",
        image.stderr
    );
    let context = said("client.kubernetes.context=nowhere");
    assert!(
        context.stderr.contains("kubectl config get-contexts"),
        "{}",
        context.stderr
    );
    wait_until("nothing of ours is left there", || left().is_empty());
}
