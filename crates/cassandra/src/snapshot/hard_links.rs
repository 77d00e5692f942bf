//! A node's part of a snapshot: hard links on the node's volume.
//!
//! The server first takes its own snapshot, because only the server can prevent the removal of
//! SSTables meanwhile. cassay then links these files into a folder that DROP and `nodetool
//! clearsnapshot` do not affect. Finally, cassay removes the server's snapshot.

use super::checksums::{self, Reading};
use super::manifest::{self, Manifest, TableRecord};
use super::sstables::{self, Fingerprint, TableFiles};
use super::table_definitions::Tables;
use crate::mbeans;
use crate::node_files::NodeFiles;
use anyhow::{Context, Result, anyhow, bail};
use host::FileStep;
use std::path::PathBuf;

/// Takes the snapshot of one node. The folder gets its final name after the manifest is complete.
///
/// # Errors
/// The node does not answer, or has SSTables with missing files.
pub fn create(place: &NodeFiles<'_>, mut manifest: Manifest, tables: &Tables) -> Result<Manifest> {
    let agent = place.agent()?;
    let (name, keyspace) = (manifest.name.clone(), manifest.keyspace.clone());
    let names: Vec<&str> = tables.keys().map(String::as_str).collect();
    let tag = format!("cassay-{name}");
    let making = manifest::folder_in_making(place.folder, &name);
    // A killed command may have left this folder behind.
    place.host.change(vec![FileStep::Remove(making.clone())])?;
    mbeans::clear_snapshot(agent, &tag, &keyspace)?;
    mbeans::take_snapshot(agent, &tag, &keyspace, &names)?;
    let levels = mbeans::levels(agent, &keyspace, &names)?;
    for ((table, id), levels) in tables.iter().zip(levels) {
        let from = place.table_folder(&keyspace, table, id).join("snapshots").join(&tag);
        let mut files = sstables::scan(place.host, &from)?;
        if files.incomplete > 0 {
            bail!(
                "{} has SSTables without Data.db or Digest.crc32",
                from.display()
            );
        }
        let to = manifest::table_folder(&making, &keyspace, table);
        place.host.change(vec![link(&files, from.clone(), to)])?;
        checksums::seal(place.host, &from, &mut files)?;
        let record = TableRecord::new(table.clone(), id.clone(), levels, files);
        manifest.tables.push(record);
    }
    mbeans::clear_snapshot(agent, &tag, &keyspace)?;
    place.host.change(vec![
        FileStep::Folder(making.clone()),
        manifest.write(&making)?,
        FileStep::Rename {
            from: making,
            to: manifest::folder(place.folder, &name),
        },
    ])?;
    Ok(manifest)
}

/// Returns the manifest of a node's part of a snapshot.
///
/// # Errors
/// The node has no part of this snapshot. The message lists the node's snapshots.
pub fn read(place: &NodeFiles<'_>, name: &str) -> Result<Manifest> {
    let folder = manifest::folder(place.folder, name);
    if !place.has(&folder)? {
        let names = manifest::names(place)?.join(", ");
        let known = if names.is_empty() {
            "none".to_string()
        } else {
            names
        };
        bail!("{} has no snapshot {name}; it has: {known}", place.name);
    }
    Manifest::read(place.host, &folder).with_context(|| place.name.to_string())
}

/// Checks a node's part of a snapshot before use. Does not read files again that this process has
/// already verified.
///
/// # Errors
/// Files are damaged or missing. The message names these files.
pub fn refuse_damaged(place: &NodeFiles<'_>, name: &str) -> Result<()> {
    let folder = manifest::folder(place.folder, name);
    checksums::check(place.host, &folder, Reading::Once).map_err(|error| {
        anyhow!(
            "the node's part of the snapshot {name} differs from the original, so cassay restored \
             nothing: {error:#}\nhint: remove the snapshot (`cassay snapshot remove`) and create \
             it again from newly loaded data"
        )
    })
}

/// Returns the step that links files from one folder into another.
pub fn link(files: &TableFiles, from: PathBuf, to: PathBuf) -> FileStep {
    let names = files.all().map(|file| file.name.clone()).collect();
    FileStep::Link { from, to, names }
}

pub struct TableNow {
    pub name: String,
    pub folder: PathBuf,
    pub files: TableFiles,
    /// Number of SSTables per level, if the compaction strategy has levels.
    pub levels: Option<Vec<u64>>,
}

/// Returns a node's current tables. The files come from the node's folders, the levels from the
/// server.
///
/// # Errors
/// The folders cannot be listed, or the node does not answer.
pub fn tables_now(place: &NodeFiles<'_>, keyspace: &str, tables: &Tables) -> Result<Vec<TableNow>> {
    let names: Vec<&str> = tables.keys().map(String::as_str).collect();
    let levels = match place.agent {
        Some(agent) => mbeans::levels(agent, keyspace, &names)?,
        None => vec![None; names.len()],
    };
    let now = |((table, id), levels): ((&String, &String), _)| {
        let folder = place.table_folder(keyspace, table, id);
        Ok(TableNow {
            name: table.clone(),
            files: sstables::scan(place.host, &folder)?,
            folder,
            levels,
        })
    };
    tables.iter().zip(levels).map(now).collect()
}

pub fn layout_of(tables: &[TableNow]) -> Fingerprint {
    let layout = |table: &TableNow| {
        let layout = table.files.layout(table.levels.clone());
        (table.name.clone(), layout)
    };
    Fingerprint {
        tables: tables.iter().map(layout).collect(),
    }
}

/// # Errors
/// The errors of [`tables_now`].
pub fn fingerprint(place: &NodeFiles<'_>, keyspace: &str, tables: &Tables) -> Result<Fingerprint> {
    Ok(layout_of(&tables_now(place, keyspace, tables)?))
}

/// Removes a node's part of a snapshot, if it exists.
///
/// # Errors
/// The host of the node cannot remove the files.
pub fn remove(place: &NodeFiles<'_>, name: &str) -> Result<()> {
    let (from, to) = (
        manifest::folder(place.folder, name),
        manifest::folder_in_making(place.folder, name),
    );
    let mut steps = vec![FileStep::Remove(to.clone())];
    // After the rename, a partly removed snapshot never looks complete.
    if place.has(&from)? {
        steps.push(FileStep::Rename {
            from,
            to: to.clone(),
        });
        steps.push(FileStep::Remove(to));
    }
    place.host.change(steps)
}
