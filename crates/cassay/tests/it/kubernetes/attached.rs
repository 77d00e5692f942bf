//! A cluster that somebody else runs in Kubernetes.

use super::{Field, NODES, STUDY, java_image, kubectl, left, make, texts};
use crate::null_target::fleet::lines;
use crate::null_target::rule;
use crate::program::{Lab, Said, Started, wait_until};
use serde_json::Value;

/// Every text of a lab's results, and of a command.
fn all_texts(lab: &Lab, said: &Said) -> String {
    let mut text = said.stdout.clone() + &said.stderr;
    let mut folders = vec![lab.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                text += &String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default());
            }
        }
    }
    text
}

/// A node with a password, which another command runs in a pod, behind a service and beside a
/// secret that are none of ours.
struct Theirs {
    node: Started,
    password: String,
    _lab: Lab,
}

impl Theirs {
    fn new() -> Theirs {
        let image = java_image();
        let lab = Lab::with(&NODES.replace("IMAGE", &image));
        let sets = [
            "--set=target.local.hosts=1",
            "--set=target.local.authentication=password",
            "--set=keyspace.replication={dc1: 1}",
            "--set=data.reset=none",
            "--set=repeat.blocks=1",
            "--set=procedure={fixed: {rate: 5}}",
            "--set=window.measure=600s",
        ];
        let arguments = [&["run", "study.yaml", "--json", "--trust"], &sets[..]].concat();
        let mut node = lab.start(&arguments);
        node.wait_until("it measures", || {
            !lines(&lab, "intervals.ndjson").is_empty()
        });
        let mut clusters = std::fs::read_dir(lab.clusters()).expect("clusters").flatten();
        let has_one = |entry: &std::fs::DirEntry| entry.path().join("password").exists();
        let folder = clusters.find(has_one).expect("a cluster with a password").path();
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect(name);
        let password = read("password").trim().to_owned();
        let state: Value = serde_json::from_str(&read("state.json")).expect("a state");
        let pod = state["hosts"]["machines"][0]["ssh"].as_str().expect("a pod");
        make(
            &lab,
            &serde_json::json!({
                "apiVersion": "v1", "kind": "Service",
                "metadata": {"name": "db", "namespace": "default"},
                "spec": {
                    "clusterIP": "None",
                    "selector": {"cassay/set": pod.rsplit_once('-').expect("a number").0},
                    "ports": [{"name": "native", "port": state["nodes"][0]["cql_port"]}],
                },
            }),
        );
        make(
            &lab,
            &serde_json::json!({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": {"name": "db-superuser", "namespace": "default"},
                "stringData": {"username": "cassay", "password": password},
            }),
        );
        Theirs {
            node,
            password,
            _lab: lab,
        }
    }

    fn end(self) {
        kubectl(&["delete", "service/db", "secret/db-superuser"]);
        self.node.interrupt();
        self.node.end();
        wait_until("nothing of ours is left there", || left().is_empty());
    }

    /// That the password is in no file of a lab, and in nothing that a command has said.
    #[track_caller]
    fn assert_untold(&self, lab: &Lab, said: &Said) {
        let is_told = all_texts(lab, said).contains(&self.password);
        assert!(!is_told, "the password is told");
    }
}

/// It is found, entered and loaded from pods; with an agent in its container its process is in
/// sight, and is paused and seen to be. Its password is nowhere.
#[test]
#[ignore = "needs a Kubernetes: cargo xtask kubernetes"]
fn a_cluster_is_attached_to_by_its_service_and_its_secret() {
    let theirs = Theirs::new();
    let target = "target: {attach: {kubernetes: {context: admin, service: db, secret: \
                  db-superuser}}}";
    let study = STUDY.replace("target: {attach: {contact_points: [ADDRESS]}}", target);
    let field = Field {
        lab: Lab::with(&study.replace("reads: none, sample: 0", "reads: all, sample: 100")),
        _null: None,
    };
    let lab = &field.lab;
    let untrusted = lab.cassay(&["plan", "study.yaml"]).ended_with(2);
    untrusted.says(&["`target.attach.kubernetes`", "say --trust"]);
    let run = field.run(2, &["--set=data.load={operations: 500}"]);
    let mut run = texts(&run);
    // The other command's keyspace is there.
    run.retain(|word| !word.starts_with("--allow"));
    run.extend(["--set=keyspace.name=mine", "--allow=create=mine"]);
    let said = lab.cassay(&run).measured(lab);
    let trial = said.json()["trials"][0].clone();
    assert_eq!(rule(&trial, "V14")["result"], "pass", "{trial:#}");
    assert_eq!(
        trial["clients"].as_array().map(Vec::len),
        Some(2),
        "{trial:#}"
    );
    theirs.assert_untold(lab, &said);

    let said = lab.cassay(&[
        "run",
        "study.yaml",
        "--json",
        "--trust",
        "--allow=write=mine,signal",
        "--set=keyspace.name=mine",
        "--set=target.attach.kubernetes.agents={container: cassandra}",
        "--set=window.measure=12s",
        "--set=faults=[{at: 3s, kind: node-pause, where: {node: 1}, for: 2s}]",
    ]);
    let findings = said.json();
    let verdict = &findings["faults"][0]["verdict"];
    assert_eq!(verdict, "confirmed", "{findings:#}\n{}", said.stderr);
    assert!(
        !said.stderr.contains("`probes.processes`"),
        "{}",
        said.stderr
    );
    theirs.assert_untold(lab, &said);

    let ann = "--set=target.attach.kubernetes.context=ann";
    let said = lab.cassay(&["plan", "study.yaml", "--trust", ann]);
    said.says(&["Forbidden", "cassay kubernetes rbac"]);
    theirs.end();
}
