//! Snapshots save and restore data in a time that depends on the number of files, not on their
//! size.
//!
//! A snapshot of a managed cluster consists of hard links in each node's folder, on the volume of
//! Cassandra's own folders: `snapshots/NAME/manifest.json` and `snapshots/NAME/KEYSPACE/TABLE/*`.
//! SSTables are immutable, so a link is as good as a copy. A restore is *online*, by TRUNCATE and
//! import, or *offline*, by replacing files while the nodes are down. cassay verifies the checksums
//! of a snapshot before a restore, and every node's layout afterwards.
//!
//! The user can move a snapshot to another managed cluster ([`export`], [`import`]). An attached
//! cluster keeps its snapshots in its own folders, see [`attached`].

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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub name: String,
    pub keyspace: String,
    pub tables: Vec<String>,
    /// Nanoseconds since 1970, or 0 if the server does not report the creation time.
    pub created_unix_ns: u64,
    /// Statements that create the keyspace and the tables with their ids. Empty for an attached
    /// cluster, where cassay does not create tables.
    pub schema: Vec<String>,
    pub nodes: Vec<NodeSnapshot>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSnapshot {
    pub node: String,
    pub sstables: u64,
    /// Number of files, or 0 if they are not accessible.
    pub files: u64,
    /// Size of all files, in bytes. They need additional disk space only after the table has
    /// stopped using them.
    pub bytes: u64,
    /// Layout of the node's tables, as [`cassandra::Fingerprint`] formats it.
    pub fingerprint: String,
}

measure::word_enum! {
    pub enum RestoreHow {
        /// By TRUNCATE and import while all nodes run, in about a second.
        Online = "online",
        /// By replacing files while the nodes are down. JVMs, commit logs, hints and caches start
        /// anew.
        Offline = "offline",
    }
}

/// Result of a verified restore.
#[derive(Clone, Debug, PartialEq)]
pub struct RestoreResult {
    pub how: RestoreHow,
    /// Total duration of the restore.
    pub seconds: f64,
    /// Duration of TRUNCATE. For an offline restore, the time for stopping all nodes.
    pub truncate_s: f64,
    /// Duration of importing or linking on all nodes.
    pub import_s: f64,
    /// On all nodes.
    pub sstables: u64,
    /// Total size of the restored SSTables' files on all nodes.
    pub bytes: u64,
    /// Layout by node, as [`cassandra::Fingerprint`] formats it.
    pub fingerprints: BTreeMap<String, String>,
}

/// Runs `work` on all nodes in parallel. Returns the results in node order, or the first error in
/// node order with the name of the node.
fn on_all<T: Send>(
    places: &[NodeFiles<'_>],
    work: impl Fn(&NodeFiles<'_>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    on_each(places, &vec![(); places.len()], |place, ()| work(place))
}

/// Runs `work` like [`on_all`], with an argument for each node in node order.
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
