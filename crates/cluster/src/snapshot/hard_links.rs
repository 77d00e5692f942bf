//! Snapshots of managed nodes: hard links on the nodes' own volumes.
//!
//! The server first creates the links in its own snapshot, because only it can prevent the removal
//! of SSTables during that time. cassay links the files again into a folder beyond the reach of
//! DROP and `nodetool clearsnapshot`. Then it removes the server's snapshot.

use super::checksums::{self, Reading};
use super::manifest::{self, Manifest, TableRecord};
use super::sstables::{self, Fingerprint, TableFiles};
use super::table_definitions::Tables;
use super::{NodeSnapshot, Snapshot, on_all, table_definitions};
use crate::cluster::Cluster;
use anyhow::{Context, Result, anyhow, bail};
use cassandra::{NodeFiles, mbeans};
use host::FileStep;
use std::collections::BTreeMap;
use std::path::PathBuf;

pub(crate) fn create(
    cluster: &Cluster,
    places: &[NodeFiles<'_>],
    name: &str,
    keyspace: &str,
    tables: &[&str],
    say: &mut dyn FnMut(&str),
) -> Result<Snapshot> {
    for place in places {
        place.agent()?;
        if place.has(&manifest::folder(place.folder, name))? {
            bail!(
                "{} has a snapshot {name} already: remove it first, or take another name",
                place.name
            );
        }
    }
    let mut session = cluster.session()?;
    let tables = table_definitions::tables(&mut session, keyspace, tables)?;
    table_definitions::refuse_views(&mut session, keyspace, &tables)?;
    let statements = table_definitions::describe(&mut session, keyspace, &tables)?;
    say(&format!("saving {keyspace} as {name}"));
    let made = on_all(places, |place| {
        let manifest = Manifest::new(name, keyspace, place.version, statements.clone());
        create_on(place, manifest, &tables)
    });
    if made.is_err() {
        // Parts on only some nodes are removed. The first error is the one to report.
        let _ = on_all(places, |place| remove_on(place, name));
    }
    combine(places, made?)
}

/// Takes one node's part. Its manifest is written last, and then the folder gets its name.
fn create_on(place: &NodeFiles<'_>, mut manifest: Manifest, tables: &Tables) -> Result<Manifest> {
    let agent = place.agent()?;
    let (name, keyspace) = (manifest.name.clone(), manifest.keyspace.clone());
    let names: Vec<&str> = tables.keys().map(String::as_str).collect();
    let tag = format!("cassay-{name}");
    let making = manifest::folder_in_making(place.folder, &name);
    // A killed command may have left this folder.
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

/// Returns the step that links files from one folder into another.
pub(super) fn link(files: &TableFiles, from: PathBuf, to: PathBuf) -> FileStep {
    let names = files.all().map(|file| file.name.clone()).collect();
    FileStep::Link { from, to, names }
}

pub(crate) fn list(places: &[NodeFiles<'_>]) -> Result<Vec<Snapshot>> {
    let names = on_all(places, manifest::names)?;
    let mut common = names.first().cloned().unwrap_or_default();
    common.retain(|name| names.iter().all(|of_node| of_node.contains(name)));
    common.iter().map(|name| combine(places, read(places, name)?)).collect()
}

/// Returns the manifests of all nodes, in node order.
///
/// # Errors
/// A node has no part of the snapshot. The message lists its snapshots.
pub(super) fn read(places: &[NodeFiles<'_>], name: &str) -> Result<Vec<Manifest>> {
    let read = |place: &NodeFiles<'_>| {
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
    };
    places.iter().map(read).collect()
}

fn combine(places: &[NodeFiles<'_>], manifests: Vec<Manifest>) -> Result<Snapshot> {
    let first = manifests.first().context("the cluster has no node")?;
    let node = |(place, manifest): (&NodeFiles<'_>, &Manifest)| {
        let fingerprint = manifest.fingerprint();
        NodeSnapshot {
            node: place.name.to_string(),
            sstables: fingerprint.sstables(),
            files: manifest.files_count(),
            bytes: fingerprint.bytes(),
            fingerprint: fingerprint.to_string(),
        }
    };
    Ok(Snapshot {
        name: first.name.clone(),
        keyspace: first.keyspace.clone(),
        tables: first.tables.iter().map(|table| table.name.clone()).collect(),
        created_unix_ns: first.created_unix_ns,
        schema: first.schema.clone(),
        nodes: places.iter().zip(&manifests).map(node).collect(),
    })
}

/// Returns the layouts of all nodes' tables, by node name.
pub(crate) fn fingerprints(
    places: &[NodeFiles<'_>],
    keyspace: &str,
    tables: &Tables,
) -> Result<BTreeMap<String, Fingerprint>> {
    let found = on_all(places, |place| fingerprint(place, keyspace, tables))?;
    let names = places.iter().map(|place| place.name.to_string());
    Ok(names.zip(found).collect())
}

/// Present state of a table on a node.
pub(super) struct TableNow {
    pub name: String,
    pub folder: PathBuf,
    pub files: TableFiles,
    pub levels: Option<Vec<u64>>,
}

/// Returns a node's current tables: files from its folders, levels from the server.
pub(super) fn tables_now(
    place: &NodeFiles<'_>,
    keyspace: &str,
    tables: &Tables,
) -> Result<Vec<TableNow>> {
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

/// Returns the layout of present tables.
pub(super) fn layout_of(tables: &[TableNow]) -> Fingerprint {
    let layout = |table: &TableNow| {
        let layout = table.files.layout(table.levels.clone());
        (table.name.clone(), layout)
    };
    Fingerprint {
        tables: tables.iter().map(layout).collect(),
    }
}

/// Returns the layout of a node's current tables.
pub(super) fn fingerprint(
    place: &NodeFiles<'_>,
    keyspace: &str,
    tables: &Tables,
) -> Result<Fingerprint> {
    Ok(layout_of(&tables_now(place, keyspace, tables)?))
}

pub(crate) fn verify(
    places: &[NodeFiles<'_>],
    name: &str,
) -> Result<Vec<(String, Result<(), String>)>> {
    refuse_unknown(places, name)?;
    let found = on_all(places, |place| {
        let folder = manifest::folder(place.folder, name);
        Ok(checksums::check(place.host, &folder, Reading::Always))
    })?;
    let text = |result: Result<()>| result.map_err(|error| format!("{error:#}"));
    let names = places.iter().map(|place| place.name.to_string());
    Ok(names.zip(found.into_iter().map(text)).collect())
}

/// Refuses a snapshot with damaged or missing files on any node before it is used. Files that this
/// process has verified before are trusted.
///
/// # Errors
/// The damaged files and their node. Nothing has changed.
pub(super) fn refuse_damaged(places: &[NodeFiles<'_>], name: &str) -> Result<()> {
    on_all(places, |place| {
        let folder = manifest::folder(place.folder, name);
        checksums::check(place.host, &folder, Reading::Once).map_err(|error| {
            anyhow!(
                "its part of the snapshot {name} differs from the original, so cassay restored \
                 nothing: {error:#}\nhint: remove the snapshot (`cassay snapshot remove`) and \
                 make it again from newly loaded data"
            )
        })
    })
    .map(drop)
}

pub(crate) fn remove(places: &[NodeFiles<'_>], name: &str) -> Result<()> {
    refuse_unknown(places, name)?;
    on_all(places, |place| remove_on(place, name)).map(drop)
}

/// Refuses a name for which no node has a part.
fn refuse_unknown(places: &[NodeFiles<'_>], name: &str) -> Result<()> {
    for place in places {
        if place.has(&manifest::folder(place.folder, name))? {
            return Ok(());
        }
    }
    read(places, name).map(drop)
}

pub(super) fn remove_on(place: &NodeFiles<'_>, name: &str) -> Result<()> {
    let (from, to) = (
        manifest::folder(place.folder, name),
        manifest::folder_in_making(place.folder, name),
    );
    let mut steps = vec![FileStep::Remove(to.clone())];
    // The folder is renamed first, so that a partly removed snapshot never looks complete.
    if place.has(&from)? {
        steps.push(FileStep::Rename {
            from,
            to: to.clone(),
        });
        steps.push(FileStep::Remove(to));
    }
    place.host.change(steps)
}
