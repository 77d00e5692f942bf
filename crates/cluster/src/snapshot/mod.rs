//! Data put away and brought back, in time that follows the number of files and not of bytes.
//!
//! A snapshot of a cluster of ours is hard links in each node's folder, beside Cassandra's own
//! folders on the same volume: `snapshots/NAME/manifest.json` and
//! `snapshots/NAME/KEYSPACE/TABLE/*`. SSTables are never changed once they are written, so that a
//! link is as good as a copy. It is brought back *online*, by TRUNCATE and import, or *offline*, by
//! swapping files while the nodes are down. Either way the layout of every node is compared with
//! the snapshot's before anybody may measure, and all bytes of the snapshot with its checksums
//! before it is used. All of it is done by the agents of the hosts, where the files are; what they
//! consist of is known here.
//!
//! A snapshot of ours can be brought to another cluster ([`export`], [`import`]).
//!
//! An attached cluster keeps its snapshots in its own folders; see [`attached`].

mod attached;
mod cluster;
mod comparison;
mod contents;
mod definitions;
mod export;
mod exported;
mod fitting;
mod import;
mod layout;
mod making;
mod manifest;
mod offline;
mod online;
mod own;
mod progress;
mod room;
pub(crate) mod schema;
mod statistics;
mod travel;
mod whole;

pub use comparison::{ComparedTable, Comparison};
pub use contents::{NodeContents, TableContents};
pub use exported::{Export, ExportedNode};
pub use import::Imported;
pub use layout::{Fingerprint, SstableIdentity, TableLayout};

use crate::node_files::NodeFiles;
use anyhow::{Context, Result, anyhow};
use std::collections::BTreeMap;

/// Data that was put away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Its name.
    pub name: String,
    /// The keyspace that its tables are in.
    pub keyspace: String,
    /// Its tables, by name.
    pub tables: Vec<String>,
    /// When it was made, in nanoseconds since 1970; 0 where the server does not tell.
    pub created_unix_ns: u64,
    /// Statements that make the keyspace and the tables again, ids included; empty for an attached
    /// cluster, where nothing is made again.
    pub schema: Vec<String>,
    /// Each node's part.
    pub nodes: Vec<NodeSnapshot>,
}

/// One node's part of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSnapshot {
    /// The node.
    pub node: String,
    /// How many SSTables.
    pub sstables: u64,
    /// How many files; 0 where files are out of sight.
    pub files: u64,
    /// Bytes of all files. They take room on the volume only once a table has let go of them.
    pub bytes: u64,
    /// The layout, as [`Fingerprint`] shows it.
    pub fingerprint: String,
}

measure::word_enum! {
    /// How data is brought back.
    pub enum RestoreHow {
        /// TRUNCATE and import, while all nodes run. Takes about a second.
        Online = "online",
        /// Files are swapped while the nodes are down. Takes as long as nodes take to stop and
        /// start; JVMs, commit logs, hints and caches are fresh afterwards.
        Offline = "offline",
    }
}

/// Data that was brought back, and is what it was.
#[derive(Clone, Debug, PartialEq)]
pub struct Restored {
    /// How the data was restored.
    pub how: RestoreHow,
    /// How long it took, everything included, in seconds.
    pub seconds: f64,
    /// Of that, TRUNCATE, or for offline the stop of all nodes.
    pub truncate_s: f64,
    /// Of that, importing or linking on all nodes.
    pub import_s: f64,
    /// SSTables, all nodes.
    pub sstables: u64,
    /// Bytes of their files, all nodes.
    pub bytes: u64,
    /// The layout of each node, as [`Fingerprint`] shows it.
    pub fingerprints: BTreeMap<String, String>,
}

/// Does something on all nodes at once; the results in their order.
///
/// # Errors
/// The first node's that failed, with its name. All have ended by then.
fn on_all<T: Send>(
    places: &[NodeFiles<'_>],
    work: impl Fn(&NodeFiles<'_>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    on_each(places, &vec![(); places.len()], |place, ()| work(place))
}

/// The same with something of each node's own, in the order of the nodes.
///
/// # Errors
/// As [`on_all`].
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
            let panicked = |_| Err(anyhow!("the thread of this node has panicked"));
            thread.join().unwrap_or_else(panicked)
        };
        threads.into_iter().map(join).collect()
    });
    let named = results.into_iter().zip(places);
    named
        .map(|(result, place)| result.with_context(|| place.name.to_string()))
        .collect()
}
