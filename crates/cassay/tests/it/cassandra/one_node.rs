//! One node for all tests that only need some Cassandra, each with keyspaces of its own: it is
//! started by the first that asks for it, and dies with the tests' process, however that ends.
//!
//! Its folder is where the next tests' process finds it and clears it, as any command does with
//! what a killed one has left; `cargo xtask cassandra` does so at once.

use super::{dirs_with, patient};
use cluster::Cluster;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use target::Target;

/// Below cargo's folder for tests; `xtask/src/ci.rs` knows it too.
const FOLDER: &str = "one-node";

/// The folder of its cluster's folder.
pub fn clusters() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(FOLDER).join("clusters")
}

/// Where it answers CQL.
pub fn address() -> SocketAddr {
    // Dropped by nobody: with the last thread of this process the kernel ends the node.
    static NODE: OnceLock<(SocketAddr, Mutex<Cluster>)> = OnceLock::new();
    let start = || {
        let dirs = dirs_with(&Path::new(env!("CARGO_TARGET_TMPDIR")).join(FOLDER));
        cluster::leftovers::clear(&dirs, &mut |_| ());
        let started = cluster::start(&Target::Local(patient(1)), &dirs, &mut |_| ());
        let cluster = started.expect("a node");
        (cluster.nodes()[0].address, Mutex::new(cluster))
    };
    NODE.get_or_init(start).0
}
