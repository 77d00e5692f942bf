//! Snapshots save and restore data in a time that depends on the number of files, not on the number
//! of bytes.
//!
//! A snapshot of a managed cluster consists of hard links in each node's folder, on the same volume
//! as Cassandra's own folders: `snapshots/NAME/manifest.json` and
//! `snapshots/NAME/KEYSPACE/TABLE/*`. SSTables are immutable, so a link is as good as a copy. A
//! snapshot is restored *online*, by TRUNCATE and import, or *offline*, by replacing files while
//! the nodes are down. In both cases, cassay compares the layout of every node with that of the
//! snapshot before measurements. It compares all bytes of the snapshot with their checksums before
//! it uses the snapshot. The hosts' agents do this work, because they have access to the files.
//!
//! The user can move a snapshot of a managed cluster to another managed cluster ([`export`],
//! [`import`]).
//!
//! An attached cluster keeps its snapshots in its own folders, see [`attached`].

mod all_parts;
mod assign_parts;
mod attached;
mod cluster;
mod comparison;
mod export;
mod export_json;
mod import;
mod offline;
mod online;
mod progress;
mod transfer;
mod unfinished_folder;

pub use comparison::{ComparedTable, Comparison};
pub use export_json::{Export, ExportedNode};
pub use import::ImportResult;

use anyhow::{Context, Result, anyhow};
use cassandra::NodeFiles;
use std::collections::BTreeMap;

/// Description of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Name of the snapshot.
    pub name: String,
    /// Keyspace of the snapshot's tables.
    pub keyspace: String,
    /// Names of the snapshot's tables.
    pub tables: Vec<String>,
    /// Creation time in nanoseconds since 1970, or 0 if the server does not report it.
    pub created_unix_ns: u64,
    /// Statements that create the keyspace and the tables, with the ids of the tables. Empty for an
    /// attached cluster, where cassay does not create tables.
    pub schema: Vec<String>,
    /// Parts of the nodes.
    pub nodes: Vec<NodeSnapshot>,
}

/// A node's part of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSnapshot {
    /// Name of the node.
    pub node: String,
    /// Number of SSTables.
    pub sstables: u64,
    /// Number of files, or 0 if files are not accessible.
    pub files: u64,
    /// Size of all files, in bytes. The files take additional disk space only when the table has
    /// stopped using them.
    pub bytes: u64,
    /// Layout of the node's tables, in the form of [`cassandra::Fingerprint`].
    pub fingerprint: String,
}

measure::word_enum! {
    /// Method by which cassay restores a snapshot.
    pub enum RestoreHow {
        /// By TRUNCATE and import, while all nodes run. An online restore takes about a second.
        Online = "online",
        /// By replacing files while the nodes are down. This takes as long as stopping and starting
        /// the nodes. JVMs, commit logs, hints and caches are fresh afterwards.
        Offline = "offline",
    }
}

/// Result of a restore, after cassay has verified it.
#[derive(Clone, Debug, PartialEq)]
pub struct RestoreResult {
    /// Method by which the snapshot was restored.
    pub how: RestoreHow,
    /// Total duration of the restore, in seconds.
    pub seconds: f64,
    /// Time that TRUNCATE took, in seconds. For an offline restore, the time to stop all nodes.
    pub truncate_s: f64,
    /// Time that importing or linking on all nodes took, in seconds.
    pub import_s: f64,
    /// Number of SSTables on all nodes.
    pub sstables: u64,
    /// Total size of the restored SSTables' files on all nodes, in bytes.
    pub bytes: u64,
    /// Layout by node, in the form of [`cassandra::Fingerprint`].
    pub fingerprints: BTreeMap<String, String>,
}

/// Runs `work` on all nodes in parallel, and waits until the work on all nodes has ended. Returns
/// the results in node order.
///
/// # Errors
/// `work` fails on a node. The error is that of the first such node, with the name of the node.
fn on_all<T: Send>(
    places: &[NodeFiles<'_>],
    work: impl Fn(&NodeFiles<'_>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    on_each(places, &vec![(); places.len()], |place, ()| work(place))
}

/// Runs `work` on all nodes like [`on_all`], with an argument for each node, in node order.
///
/// # Errors
/// The errors of [`on_all`].
fn on_each<G: Sync, T: Send>(
    places: &[NodeFiles<'_>],
    given: &[G],
    work: impl Fn(&NodeFiles<'_>, &G) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let work = &work;
    let results: Vec<Result<T>> = std::thread::scope(|scope| {
        let spawn = |(place, given)| scope.spawn(move || work(place, given));
        let threads: Vec<_> = places.iter().zip(given).map(spawn).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<T>>| {
            let panicked = |_| Err(anyhow!("the thread of this node panicked"));
            thread.join().unwrap_or_else(panicked)
        };
        threads.into_iter().map(join).collect()
    });
    let named = results.into_iter().zip(places);
    named
        .map(|(result, place)| result.with_context(|| place.name.to_string()))
        .collect()
}
