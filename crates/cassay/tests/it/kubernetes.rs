//! Tests a real Kubernetes cluster, which `cargo xtask kubernetes` creates. Clients in pods do the
//! same as one client. cassay reports events of a pod. It reports missing rights before it creates
//! anything. After any kill, no object of cassay remains.

mod attached;
mod clients;
mod foreign_cluster;
mod inside;
mod nodes;

use crate::program::{Lab, Started, command, wait_until};
use measure::clock;
use serde_json::Value;
use std::collections::BTreeSet;
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

/// Runs `kubectl` with all rights. Returns an empty text if `kubectl` fails.
fn kubectl(words: &[&str]) -> String {
    let said = command("kubectl").args(words).output().expect("kubectl");
    String::from_utf8_lossy(&said.stdout).trim().to_owned()
}

fn image() -> String {
    std::env::var("CASSAY_TEST_IMAGE").expect("`cargo xtask kubernetes` names an image")
}

/// A null target that pods can reach, and a study that uses this target.
struct Field {
    lab: Lab,
    _null: Option<Started>,
}

impl Field {
    fn new() -> Field {
        let lab = Lab::new();
        // The connection sends nothing. It only determines this machine's address for outgoing
        // connections.
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

/// Returns cassay's objects in the cluster.
fn left() -> String {
    kubectl(&[
        "get",
        "jobs,pods,statefulsets,networkpolicies",
        "-A",
        "-l",
        "app.kubernetes.io/name=cassay",
        "-o",
        "name",
    ])
}

/// Maximum time until the objects of a killed command have disappeared.
const REMOVAL_LIMIT_NS: u64 = 70 * clock::SECOND_NS;

/// Asserts that cassay's objects disappear in time. `when` states when the command was killed.
#[track_caller]
fn assert_gone_in_time(when: &str) {
    let begin_ns = clock::now_ns();
    wait_until("nothing of ours is left there", || left().is_empty());
    assert!(clock::now_ns() - begin_ns < REMOVAL_LIMIT_NS, "{when}");
}

/// Kills a command at each of its phases. The next command starts while remains of the previous
/// command may still exist. In the end, all objects of all commands are gone. `start` starts a
/// command, and `measures` returns true while the command is measuring. Returns the folders of the
/// commands.
#[track_caller]
fn assert_gone_of_each(
    mut start: impl FnMut() -> (Lab, Started),
    measures: fn(&Lab) -> bool,
) -> Vec<Lab> {
    let mut killed: Vec<(&str, String, u64)> = Vec::new();
    let mut labs = Vec::new();
    for when in ["made", "running", "measuring"] {
        let before = sets();
        let (lab, mut started) = start();
        let made = || sets().difference(&before).next().cloned();
        started.wait_until("made", || made().is_some());
        let set = made().expect("a set of its own");
        started.wait_until(when, || match when {
            "made" => true,
            "running" => running().iter().any(|pod| pod.starts_with(&format!("pod/{set}-"))),
            _ => measures(&lab),
        });
        started.kill();
        killed.push((when, set, clock::now_ns()));
        labs.push(lab);
    }
    wait_until("nothing of ours is left there", || {
        let left = left();
        for (when, set, since_ns) in &killed {
            let is_late = clock::now_ns() - since_ns > REMOVAL_LIMIT_NS;
            assert!(!is_late || !left.contains(set), "{when}: {left}");
        }
        left.is_empty()
    });
    labs
}

/// Returns the names of cassay's Jobs, which own all other objects of cassay.
fn sets() -> BTreeSet<String> {
    let label = "app.kubernetes.io/name=cassay";
    let said = kubectl(&[
        "get",
        "jobs",
        "-l",
        label,
        "-o",
        "jsonpath={..metadata.name}",
    ]);
    said.split_whitespace().map(str::to_owned).collect()
}

fn running() -> Vec<String> {
    let how = "--field-selector=status.phase=Running";
    let label = "app.kubernetes.io/name=cassay";
    let said = kubectl(&["get", "pods", "-l", label, how, "-o", "name"]);
    said.lines().map(str::to_owned).collect()
}

fn java_image() -> String {
    std::env::var("CASSAY_TEST_JAVA_IMAGE").expect("`cargo xtask kubernetes` names an image")
}

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
