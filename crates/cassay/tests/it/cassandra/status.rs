//! Compares the shown state and ownership of nodes with the figures of the server.

use super::{KeptClusterGuard, agent, authentication, dirs, small};
use crate::program::{HANG_LIMIT, Lab, is_of_line, wait_until};
use ::cassandra::{Access, Session};
use cluster::{Cluster, kept_cluster};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use target_spec::{Authentication, LocalSpec};

/// Largest rounding error of a share. The server sums up one float for each token range of a node,
/// and rounds each float to six decimals. A node has the ranges of its own 16 tokens, and of the
/// tokens of two other nodes.
const ROUNDING: f64 = 48.0 * 1e-6;

/// Keyspaces on three nodes in two racks. One rack has only one node, so this node has more data
/// than the others.
const KEYSPACES: [(&str, &str); 4] = [
    (
        "simple1",
        "{'class': 'SimpleStrategy', 'replication_factor': 1}",
    ),
    (
        "simple2",
        "{'class': 'SimpleStrategy', 'replication_factor': 2}",
    ),
    ("racks2", "{'class': 'NetworkTopologyStrategy', 'dc1': 2}"),
    ("racks3", "{'class': 'NetworkTopologyStrategy', 'dc1': 3}"),
];

fn make_keyspaces(node: SocketAddr, access: &Access) {
    let mut session = Session::open(node, access, HANG_LIMIT).expect("a session");
    for (name, replication) in KEYSPACES {
        let cql = format!("CREATE KEYSPACE {name} WITH replication = {replication}");
        session.execute_schema(&cql).expect("a keyspace");
    }
}

/// Returns the share that each address owns, as reported by the agent of node 1.
fn owned_by_server(lab: &Lab, keyspace: &str) -> BTreeMap<String, f64> {
    let operation = "effectiveOwnership(java.lang.String)";
    let answer = agent::call(&lab.clusters(), operation, &[json!(keyspace)]);
    let owned = answer.as_object().expect("shares");
    let share = |(address, share): (&String, &Value)| {
        // Java prints an address as name/address.
        let address = address.rsplit('/').next().unwrap_or_default();
        (address.to_owned(), share.as_f64().expect("a share"))
    };
    owned.iter().map(share).collect()
}

#[track_caller]
fn assert_shares(what: &str, ours: &BTreeMap<String, f64>, server: &BTreeMap<String, f64>) {
    assert_eq!(ours.len(), server.len(), "{what}: {ours:?} {server:?}");
    for (address, share) in ours {
        let theirs = server.get(address).copied().expect("the same nodes");
        assert!(
            (share - theirs).abs() < ROUNDING,
            "{what} {address}: {share}, server {theirs}"
        );
    }
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn states_and_owned_shares_are_the_servers_own() {
    // Before Cassandra 4.1, clients see no gossip, and roles are read from one replica.
    if !is_of_line("4.1") {
        return;
    }
    let lab = Lab::new();
    let _kept = KeptClusterGuard(&lab);
    let spec = LocalSpec {
        racks: ["r1", "r1", "r2"].map(str::to_owned).to_vec(),
        // With authentication, every node stores the roles, so the owner can log in even when a
        // node is down.
        authentication: Authentication::Password,
        ..small(3)
    };
    kept_cluster::up(&spec, &dirs(&lab), &mut |_| ()).expect("three nodes");
    let cluster = kept_cluster::open(&dirs(&lab), None, &mut |_| ()).expect("the three");
    owned_shares_are_the_servers_own(&lab, &cluster);
    drop(cluster);
    a_silent_node_is_down_and_the_table_is_still_printed(&lab);
}

fn owned_shares_are_the_servers_own(lab: &Lab, cluster: &Cluster) {
    let (address, password) = (cluster.nodes()[0].address, authentication::password(lab));
    authentication::assert_closed(address, &password);
    make_keyspaces(address, &authentication::access("cassay", &password));
    let addresses: BTreeMap<String, String> = cluster
        .nodes()
        .iter()
        .map(|node| (node.name.clone(), node.address.ip().to_string()))
        .collect();
    for (keyspace, _) in KEYSPACES {
        let ours = cluster
            .ownership(keyspace)
            .expect("shares")
            .into_iter()
            .map(|(name, share)| (addresses[&name].clone(), share));
        assert_shares(keyspace, &ours.collect(), &owned_by_server(lab, keyspace));
    }
    let uneven = cluster.ownership("racks2").expect("shares");
    assert!(
        (uneven["node3"] - 1.0).abs() < 1e-9,
        "alone in its rack: {uneven:?}"
    );
    let error = cluster.ownership("nobodys").expect_err("no such keyspace").to_string();
    assert!(
        error.contains("keyspace nobodys does not exist") && error.contains("racks2"),
        "{error}"
    );
    let states = cluster.states().expect("states");
    assert!(
        states.iter().all(|one| one.state == "UN" && one.load_bytes > Some(0)),
        "{states:?}"
    );
}

/// Returns true if a process has ended, or is a zombie. A process that is ending has already lost
/// its command line.
fn has_ended(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    let state = |stat: &str| stat.rsplit_once(") ")?.1.chars().next();
    stat.map_or(true, |stat| matches!(state(&stat), Some('Z' | 'X')))
}

fn a_silent_node_is_down_and_the_table_is_still_printed(lab: &Lab) {
    let status = |more: &[&str]| {
        let words = [&["target", "status", "--json"][..], more].concat();
        lab.cassay(&words).ended_with(0).json()[0].clone()
    };
    let mut now = Value::Null;
    // A node that gets no CPU time does not answer in time, so cassay rightly reports the node as
    // down.
    let mut wait_for_states = |more: &[&str], wanted: [&str; 3]| {
        wait_until(&wanted.join(" "), || {
            now = status(more);
            (0..3).all(|index| now["nodes"][index]["state"] == wanted[index])
        });
        now.clone()
    };
    let nodes = wait_for_states(&[], ["UN", "UN", "UN"])["nodes"].clone();
    let pid = nodes[1]["pid"].as_i64().expect("a process") as i32;
    kill_process(Pid::from_raw(pid).expect("a process"), Signal::KILL).expect("a signal");
    // Until the kernel has removed the process, cassay rightly reports the process as running.
    wait_until("an end of the node", || has_ended(pid));

    let now = wait_for_states(&["--keyspace", "simple1"], ["UN", "DN", "UN"]);
    assert_eq!(now["nodes"][1]["pid"], Value::Null, "{now:#}");
    assert_eq!(
        now["nodes"][1]["tokens"], 16,
        "the ring still has it: {now:#}"
    );
    let owned = |index: usize| now["nodes"][index]["owned"]["simple1"].as_f64().unwrap();
    let all = owned(0) + owned(1) + owned(2);
    assert!((all - 1.0).abs() < 1e-9, "{now:#}");

    let said = lab.cassay(&["target", "status", "--keyspace", "nobodys"]).ended_with(1);
    said.says(&["keyspace nobodys does not exist; the keyspaces are: racks2"]);
    let table = lab.cassay(&["target", "status"]).ended_with(0);
    for part in ["State ", "Owns simple1", "\n  DN has ended "] {
        assert!(table.stdout.contains(part), "{part:?}: {table}");
    }
}
