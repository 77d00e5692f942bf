//! Tests clusters as other people may run them. The cluster of this module accepts no protocol
//! older than version 5. Clients reach its nodes at other addresses than the nodes report. Tests of
//! other clusters are in `shared::versions` and `shared_pair`.

use super::{assert_rows_are_right, dirs, only_trial, patient};
use crate::null_target::rule;
use crate::program::Lab;
use cluster::Cluster;
use cql::Version;
use serde_json::json;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use target_spec::Target;

const STUDY: &str = "\
study: others
question: Is somebody's cluster measured as our own?
target: {attach: ATTACH}
workload: {use: WORKLOAD, mix: {write: 1, read: 1}, consistency: ALL}
client: {timeout: 60s, CLIENT}
keyspace: {name: NAME, replication: 2}
data: {load: {operations: ROWS}}
procedure: {fixed: {rate: RATE}}
window: {warmup: 0s, measure: 4s}
verify: {reads: all, sample: 100}
";

/// A workload with rows that are larger than a segment of protocol version 5.
const LARGE: &str = "kv, params: {value_size: fixed(300000)}";
const FEW: &[(&str, &str)] = &[("ROWS", "50"), ("RATE", "10")];

/// Starts nodes with settings of `cassandra.yaml`.
fn nodes(lab: &Lab, count: usize, yaml: &[(&str, serde_json::Value)]) -> Cluster {
    let mut spec = patient(count);
    spec.yaml
        .extend(yaml.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    cluster::start(&Target::Local(spec), &dirs(lab), &mut |_| ()).expect("nodes")
}

/// Starts a forwarder on a free port. Returns its address, and a counter of the forwarded bytes.
fn forwarder(to: SocketAddr) -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    let all = Arc::new(AtomicU64::new(0));
    let bytes = Arc::clone(&all);
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(to).expect("the node");
            for (from, into) in [
                (
                    client.try_clone().expect("a socket"),
                    server.try_clone().expect("a socket"),
                ),
                (server, client),
            ] {
                let bytes = Arc::clone(&bytes);
                std::thread::spawn(move || pass_on(from, into, &bytes));
            }
        }
    });
    (address, all)
}

fn pass_on(mut from: TcpStream, mut into: TcpStream, bytes: &AtomicU64) {
    let mut room = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut room) {
        if into.write_all(&room[..count]).is_err() {
            break;
        }
        bytes.fetch_add(count as u64, Ordering::Relaxed);
    }
    let _ = into.shutdown(Shutdown::Write);
}

/// Runs the study with a separate keyspace. Checks that no operation failed and that all compared
/// rows are right.
pub(super) fn run(lab: &Lab, changes: &[(&str, &str)]) {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let keyspace = format!("others{}", RUNS.fetch_add(1, Ordering::Relaxed));
    let usual = [
        ("WORKLOAD", "standard1"),
        ("CLIENT", "workers: 1"),
        ("NAME", &*keyspace),
        ("ROWS", "500"),
        ("RATE", "200"),
    ];
    let mut study = STUDY.to_owned();
    for (key, value) in changes.iter().chain(&usual) {
        study = study.replace(key, value);
    }
    lab.write("study.yaml", &study);
    let allow = format!("create={keyspace}");
    let measure = || lab.cassay(&["run", "study.yaml", "--json", "--allow", &allow]).measured(lab);
    let mut said = measure();
    // If the machine has stopped the client for seconds, the trial ends before it reads rows. In
    // this case rule V4 fails, and the test repeats the run once.
    if rule(&only_trial(&said), "V4")["result"] == "fail" {
        said = measure();
    }
    let trial = only_trial(&said);
    assert_rows_are_right(&trial, 60);
    assert_eq!(trial["errors"], json!({}), "{said}");
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn nodes_of_version_five_are_measured_through_port_forwards() {
    let lab = Lab::new();
    let only_newest = ("native_transport_allow_older_protocols", json!(false));
    let cluster = nodes(&lab, 2, &[only_newest]);
    let at: Vec<SocketAddr> = cluster.nodes().iter().map(|node| node.address).collect();
    let forwarders: Vec<_> = at.iter().map(|node| forwarder(*node)).collect();
    let lines: Vec<String> = at
        .iter()
        .zip(&forwarders)
        .map(|(node, (reached, _))| format!("{}: '{reached}'", node.ip()))
        .collect();
    let point = forwarders[0].0;
    let attach = format!(
        "{{contact_points: ['{point}'], addresses: {{{}}}}}",
        lines.join(", ")
    );
    let went = || forwarders.iter().map(|(_, bytes)| bytes.load(Ordering::Relaxed));
    for (client, workload, more) in [
        ("workers: 1", "standard1", &[][..]),
        ("workers: 2, compression: lz4", "standard1", &[]),
        ("workers: 1, machines: [here, here]", "standard1", &[]),
        ("workers: 1", LARGE, FEW),
        ("workers: 1, compression: lz4", LARGE, FEW),
    ] {
        let before: Vec<u64> = went().collect();
        let changes = [
            ("ATTACH", &*attach),
            ("CLIENT", client),
            ("WORKLOAD", workload),
        ];
        run(&lab, &[more, &changes].concat());
        // Each node must receive load. If a node received only cassay's queries, the forwarder
        // would count far fewer bytes.
        for (before, after) in before.into_iter().zip(went()) {
            assert!(
                after - before > 100_000,
                "{client} {workload}: {before} to {after}"
            );
        }
    }
    let snappy = STUDY
        .replace("ATTACH", &attach)
        .replace("CLIENT", "compression: snappy")
        .replace("WORKLOAD", "standard1")
        .replace("NAME", "others")
        .replace("ROWS", "500")
        .replace("RATE", "200");
    lab.write("study.yaml", &snappy);
    let refused = lab.cassay(&["run", "study.yaml", "--allow", "create=others"]);
    refused.says(&["native protocol v5, which has no compression by snappy"]);
    // If a server gets a request in an older protocol version, it only answers that it refuses this
    // version.
    let mut frame = Vec::new();
    cql::request::startup(&mut frame, Version::V4, 0, None);
    let mut socket = TcpStream::connect(at[0]).expect("the node");
    socket.write_all(&frame).expect("it listens");
    let mut answer = vec![0; 200];
    let count = socket.read(&mut answer).expect("it answers");
    let said = String::from_utf8_lossy(&answer[..count]).into_owned();
    assert!(said.contains("Rejecting Protocol Version"), "{said}");
}
