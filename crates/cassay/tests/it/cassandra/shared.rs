//! Shares one node between tests that accept any Cassandra, each with separate keyspaces. The first
//! test starts the node, which ends with the process of the tests in every case.
//!
//! `cargo xtask ci` runs the tests of this module in sequence, in as few processes as fit the time.
//! If a process is killed, the next process finds its folder and clears it, as any command does.
//! `cargo xtask cassandra` clears the folder at once.

mod accounts;
mod attached;
mod attached_kinds;
mod clean;
mod imports;
mod own_table;
mod recorded_traffic;
mod stress;
mod verdicts;
mod versions;

use super::{
    agent, assert_counts_agree, assert_rows_are_right, dirs_with, only_trial, patient, tool,
};
use crate::program::HANG_LIMIT;
use ::cassandra::{Access, Session};
use cluster::Cluster;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use target_spec::{LocalSpec, Target};

/// Folder below cargo's folder for tests. `xtask/src/ci.rs` also uses this folder.
const FOLDER: &str = "shared-nodes";

/// Environment variable with the number of the gate's process. `xtask/src/ci/units.rs` also uses
/// this variable.
const UNIT: &str = "CASSAY_UNIT";

fn users_workload(keyspace: &str) -> String {
    const USERS: &str = "\
keyspace: KEYSPACE
schema:
  - CREATE TABLE users (id bigint PRIMARY KEY, name text)
values: {id: row, name: text(5..20)}
statements:
  write: INSERT INTO users (id, name) VALUES (:id, :name)
  read: SELECT id, name FROM users WHERE id = :id
mix: {write: 1}
rows: uniform
load: write
";
    USERS.replace("KEYSPACE", keyspace)
}

/// Nodes that several tests use in sequence. The nodes are never dropped, because the kernel ends
/// them with the last thread of this process.
pub struct Shared(Mutex<Cluster>);

impl Shared {
    /// Returns the parent of the folder of clusters. The name of the parent contains the name of
    /// these nodes and the number of the gate's process, because several processes may have such
    /// nodes.
    pub fn folder(name: &str) -> PathBuf {
        let unit = std::env::var(UNIT).unwrap_or_default();
        Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(FOLDER)
            .join(format!("{name}{unit}"))
    }

    pub fn start(name: &str, spec: LocalSpec) -> Shared {
        let dirs = dirs_with(&Shared::folder(name));
        cluster::leftovers::clear(&dirs, &mut |_| ());
        let started = cluster::start(&Target::Local(spec), &dirs, &mut |_| ());
        Shared(Mutex::new(started.expect("nodes")))
    }

    /// Returns the CQL addresses of the nodes. Asserts that every node is alive and in the ring,
    /// and that the nodes agree on the schema. Otherwise, a test could fail because of an earlier
    /// test.
    pub fn whole(&self) -> Vec<SocketAddr> {
        let cluster = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let died = cluster.died(&[]);
        assert!(died.is_empty(), "shared nodes have died: {died:?}");
        let nodes: Vec<SocketAddr> = cluster.nodes().iter().map(|node| node.address).collect();
        for node in &nodes {
            let mut session =
                Session::open(*node, &Access::default(), HANG_LIMIT).expect("a session");
            let asked = session.query("SELECT bootstrapped FROM system.local");
            let is = asked.expect("an answer").rows[0][0].to_string();
            assert_eq!(is, "COMPLETED", "{node} is in the ring");
            session.wait_for_schema_agreement(HANG_LIMIT).expect("one schema");
        }
        nodes
    }
}

mod one_node {
    use super::{Shared, patient};
    use std::net::SocketAddr;
    use std::path::PathBuf;
    use std::sync::OnceLock;

    const NAME: &str = "one";

    /// Returns the parent of the folder that contains the node's cluster.
    pub fn clusters() -> PathBuf {
        Shared::folder(NAME).join("clusters")
    }

    /// Returns the CQL address of the node, after checking the node.
    pub fn address() -> SocketAddr {
        static NODE: OnceLock<Shared> = OnceLock::new();
        NODE.get_or_init(|| Shared::start(NAME, patient(1))).whole()[0]
    }
}
