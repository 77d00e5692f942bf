//! Imports a node's part of a snapshot into emptied tables, and verifies the result.

use super::hard_links;
use super::manifest::{self, Manifest};
use super::table_definitions::Tables;
use crate::mbeans;
use crate::metrics::Metrics;
use crate::node_files::NodeFiles;
use anyhow::{Context, Result, anyhow, bail};
use measure::clock::{self, Deadline};
use std::time::Duration;

/// Time limit for the server to delete the files of removed SSTables in the background.
const LEFTOVERS_LIMIT: Duration = Duration::from_secs(10);

const POLL: Duration = Duration::from_millis(50);

/// Imports the files of the snapshot into the empty tables of one node.
///
/// # Errors
/// A table is not empty, or the node refuses the files.
pub fn import(place: &NodeFiles<'_>, manifest: &Manifest) -> Result<()> {
    let agent = place.agent()?;
    let keyspace = manifest.keyspace.as_str();
    let snapshot = manifest::folder(place.folder, &manifest.name);
    for table in &manifest.tables {
        let (count, _) = Metrics::from(agent).live_sstables(keyspace, &table.name)?;
        if count > 0 {
            bail!(
                "{keyspace}.{} has {count} SSTables after TRUNCATE, so cassay imported nothing: \
                 another client writes to the table. Stop that client and restore again",
                table.name
            );
        }
        if table.sstables.is_empty() {
            continue;
        }
        let folder = manifest::table_folder(&snapshot, keyspace, &table.name);
        let folder = folder.to_str().context("the path of the node's folder is not UTF-8")?;
        mbeans::import(agent, place.version, keyspace, &table.name, folder)?;
    }
    Ok(())
}

/// Waits until the tables of a node match the manifest.
///
/// # Errors
/// The tables still differ after 10 s. The message contains the difference.
pub fn compare(place: &NodeFiles<'_>, manifest: &Manifest, tables: &Tables) -> Result<()> {
    let wanted = manifest.fingerprint();
    let deadline = Deadline::after(LEFTOVERS_LIMIT);
    loop {
        let found = hard_links::fingerprint(place, &manifest.keyspace, tables)?;
        let Some(difference) = found.difference(&wanted) else {
            return Ok(());
        };
        if deadline.passed() {
            return Err(anyhow!(
                "after the restore, {difference}: do not measure this data. Run `cassay snapshot \
                 verify {}` to check that the files are intact, and restore again",
                manifest.name
            ));
        }
        clock::sleep(POLL);
    }
}
