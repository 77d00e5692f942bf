//! A real Kubernetes, which `cargo xtask kubernetes` makes: clients in pods do what one does;
//! what happens to a pod is said; what somebody may not do is told before anything is made; and
//! whoever is killed, nothing stays.

use crate::null_target::fleet::{counts, lines};
use crate::null_target::rule;
use crate::program::{Lab, Said, Started, command, wait_until};
use serde_json::Value;
use std::net::UdpSocket;

const STUDY: &str = "\
study: pods
question: What do clients in pods do?
target: {attach: {contact_points: [ADDRESS]}}
workload: {use: standard1, mix: {write: 1, read: 1}}
data: {load: {operations: 1k}}
procedure: {fixed: {rate: 600}}
window: {warmup: 0s, measure: 4s}
verify: {reads: none, sample: 0}
";

const NODES: &str = "\
study: nodes
question: What do two nodes in pods do?
target:
  local:
    hosts: 2
    heap: 512MiB
    class_sharing: true
    start_timeout: 10m
    yaml: {read_request_timeout: 60s, write_request_timeout: 60s}
    pods: {context: admin, image: 'IMAGE', cpus: 0.7, memory: 1500MiB, one_per_node: false}
keyspace: {replication: {dc1: 2}}
workload: {use: standard1, mix: {write: 1, read: 1}, consistency: LOCAL_QUORUM}
data: {load: {operations: 5k}, settle: none, reset: snapshot}
procedure: {fixed: {threads: 4}}
window: {warmup: 2s, measure: 6s}
verify: {reads: all, sample: 500}
repeat: {blocks: 2}
";

const TRUST: [&str; 2] = ["--trust", "--allow=create=keyspace1"];

/// What `kubectl` answers as who may do all; nothing where it fails.
fn kubectl(words: &[&str]) -> String {
    let said = command("kubectl").args(words).output().expect("kubectl");
    String::from_utf8_lossy(&said.stdout).trim().to_owned()
}

/// The image of the pods.
fn image() -> String {
    std::env::var("CASSAY_TEST_IMAGE").expect("`cargo xtask kubernetes` names an image")
}

/// A null target that pods reach, and a study of it.
struct Field {
    lab: Lab,
    _null: Option<Started>,
}

impl Field {
    fn new() -> Field {
        let lab = Lab::new();
        // The address by which this machine would go elsewhere; nothing is sent.
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
        socket.connect("192.0.2.1:9").expect("a way out");
        let address = socket.local_addr().expect("an address").ip().to_string();
        let mut null = lab.start(&["null", "--port", "0", "--address", &address]);
        let at = null.first_line();
        lab.write("study.yaml", &STUDY.replace("ADDRESS", &format!("'{at}'")));
        Field {
            lab,
            _null: Some(null),
        }
    }

    /// The arguments of a run with so many clients in pods.
    fn run(&self, clients: usize, more: &[&str]) -> Vec<String> {
        let pods = format!(
            "client.kubernetes={{context: admin, clients: {clients}, cpus: 0.5, memory: 128MiB, \
             image: '{}', one_per_node: false}}",
            image()
        );
        let words = ["run", "study.yaml", "--json", "--set", &pods];
        let words = words.iter().chain(&TRUST).chain(more);
        words.map(|word| (*word).to_owned()).collect()
    }
}

fn texts(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

/// Jobs and pods of ours.
fn left() -> String {
    kubectl(&[
        "get",
        "jobs,pods",
        "-A",
        "-l",
        "app.kubernetes.io/name=cassay",
        "-o",
        "name",
    ])
}

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
    // The role is enough for a run.
    with(&rbac, "run").measured(&field.lab);
    wait_until("nothing of ours is left there", || left().is_empty());
}

/// The pods that run.
fn running() -> Vec<String> {
    let how = "--field-selector=status.phase=Running";
    let label = "app.kubernetes.io/name=cassay";
    let said = kubectl(&["get", "pods", "-l", label, how, "-o", "name"]);
    said.lines().map(str::to_owned).collect()
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
    let field = Field::new();
    for when in ["made", "running", "measuring"] {
        let arguments = field.run(2, &["--set=window.measure=60s"]);
        let mut started = Started::new(field.lab.command(&texts(&arguments)));
        let is_on = || match when {
            "made" => !left().is_empty(),
            "running" => !running().is_empty(),
            _ => !lines(&field.lab, "clients.ndjson").is_empty(),
        };
        started.wait_until(when, is_on);
        started.kill();
        let begin = measure::clock::now_ns();
        wait_until("nothing of ours is left there", || left().is_empty());
        let seconds = (measure::clock::now_ns() - begin) / 1_000_000_000;
        assert!(seconds < 70, "{when}: {seconds} s");
        std::fs::remove_dir_all(field.lab.path().join("results")).ok();
    }
}

/// What a pod cannot be made of is said in a sentence, and nothing is left.
#[test]
#[ignore = "needs a Kubernetes: cargo xtask kubernetes"]
fn a_pod_that_cannot_run_is_told_of() {
    let field = Field::new();
    let said = |set: &str| -> Said { field.lab.cassay(&texts(&field.run(1, &["--set", set]))) };
    let image = said("client.kubernetes.image=nobody.invalid/nothing:1");
    assert!(image.stderr.contains("does not run"), "{}", image.stderr);
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

/// Two nodes of ours in pods: started, loaded, snapshotted and restored, and gone.
#[test]
#[ignore = "needs a Kubernetes: cargo xtask kubernetes"]
fn nodes_of_ours_run_in_pods_and_are_restored() {
    let lab = Lab::new();
    let image = std::env::var("CASSAY_TEST_JAVA_IMAGE").expect("an image with a Java");
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
    let image = std::env::var("CASSAY_TEST_JAVA_IMAGE").expect("an image with a Java");
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
            "running" => running().len() == 2,
            _ => !lines(&lab, "intervals.ndjson").is_empty(),
        };
        started.wait_until(when, is_on);
        started.kill();
        let begin = measure::clock::now_ns();
        wait_until("nothing of ours is left there", || left().is_empty());
        let seconds = (measure::clock::now_ns() - begin) / 1_000_000_000;
        assert!(seconds < 70, "{when}: {seconds} s");
        // The next command finds nothing that it would have to clear, and says nothing of it.
        let said = lab.cassay(&["target", "status"]).ended_with(0);
        assert!(!said.stderr.contains("error"), "{}", said.stderr);
    }
}

/// Makes an object.
fn make(lab: &Lab, object: &Value) {
    let file = lab.write("object.json", &object.to_string());
    let said = command("kubectl").args(["apply", "-f"]).arg(&file).output().expect("kubectl");
    assert!(
        said.status.success(),
        "{}",
        String::from_utf8_lossy(&said.stderr)
    );
    std::fs::remove_file(file).expect("the file of an object");
}

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
        let image = std::env::var("CASSAY_TEST_JAVA_IMAGE").expect("an image with a Java");
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
