//! Snapshots of nodes of ours: hard links on the nodes' own volumes.
//!
//! The server makes the links first, in its own snapshot, since only it can hold its SSTables still
//! meanwhile; they are linked again to where DROP and `nodetool clearsnapshot` cannot reach, and the
//! server's snapshot goes.

use super::layout::{self, Fingerprint, TableFiles};
use super::manifest::{self, Manifest, TableRecord};
use super::schema::Tables;
use super::{NodeSnapshot, Place, Snapshot, on_all, schema};
use crate::cluster::Cluster;
use crate::mbeans;
use anyhow::{Context, Result, bail};
use std::io::Read;
use std::path::Path;

/// How much of a file is read at a time to verify it.
const READ_BYTES: usize = 1 << 20;

pub(super) fn create(
    cluster: &Cluster,
    places: &[Place<'_>],
    name: &str,
    keyspace: &str,
    tables: &[&str],
    say: &mut dyn FnMut(&str),
) -> Result<Snapshot> {
    for place in places {
        place.agent()?;
        if manifest::folder(&place.folder, name).exists() {
            bail!(
                "{} has a snapshot {name} already: remove it first, or take another name",
                place.name
            );
        }
    }
    let mut session = cluster.session()?;
    let tables = schema::tables(&mut session, keyspace, tables)?;
    schema::refuse_views(&mut session, keyspace, &tables)?;
    let statements = schema::describe(&mut session, keyspace, &tables)?;
    say(&format!("putting {keyspace} away as {name}"));
    let made = on_all(places, |place| {
        let manifest = Manifest::new(name, keyspace, place.version, statements.clone());
        create_on(place, manifest, &tables)
    });
    if made.is_err() {
        // What some nodes have is no snapshot. The first error is the one to tell.
        let _ = on_all(places, |place| remove_on(place, name));
    }
    combine(places, made?)
}

/// One node's part. Its manifest is written last, and the folder gets its name after that.
fn create_on(place: &Place<'_>, mut manifest: Manifest, tables: &Tables) -> Result<Manifest> {
    let agent = place.agent()?;
    let (name, keyspace) = (manifest.name.clone(), manifest.keyspace.clone());
    let names: Vec<&str> = tables.keys().map(String::as_str).collect();
    let tag = format!("cassay-{name}");
    let making = manifest::folder_in_making(&place.folder, &name);
    // What a killed command has left.
    remove_folder(&making)?;
    mbeans::clear_snapshot(agent, &tag, &keyspace)?;
    mbeans::take_snapshot(agent, &tag, &keyspace, &names)?;
    let levels = mbeans::levels(agent, &keyspace, &names)?;
    for ((table, id), levels) in tables.iter().zip(levels) {
        let from = place
            .table_folder(&keyspace, table, id)
            .join("snapshots")
            .join(&tag);
        let files = layout::scan(&from)?;
        if files.incomplete > 0 {
            bail!(
                "{} has SSTables without Data.db or Digest.crc32",
                from.display()
            );
        }
        link(
            &files,
            &from,
            &manifest::table_folder(&making, &keyspace, table),
        )?;
        let record = TableRecord::new(table.clone(), id.clone(), levels, files);
        manifest.tables.push(record);
    }
    mbeans::clear_snapshot(agent, &tag, &keyspace)?;
    std::fs::create_dir_all(&making).with_context(|| format!("make {}", making.display()))?;
    manifest.write(&making)?;
    let folder = manifest::folder(&place.folder, &name);
    std::fs::rename(&making, &folder)
        .with_context(|| format!("rename {} to {}", making.display(), folder.display()))?;
    Ok(manifest)
}

/// Links files from one folder into another, which is made.
///
/// # Errors
/// A link cannot be made; the message has both names.
pub(super) fn link(files: &TableFiles, from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to).with_context(|| format!("make {}", to.display()))?;
    for file in files.all() {
        let (from, to) = (from.join(&file.name), to.join(&file.name));
        if let Some(folder) = to.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("make {}", folder.display()))?;
        }
        std::fs::hard_link(&from, &to)
            .with_context(|| format!("link {} to {}", from.display(), to.display()))?;
    }
    Ok(())
}

pub(super) fn list(places: &[Place<'_>]) -> Result<Vec<Snapshot>> {
    let names = on_all(places, |place| manifest::names(&place.folder))?;
    let mut common = names.first().cloned().unwrap_or_default();
    common.retain(|name| names.iter().all(|of_node| of_node.contains(name)));
    common
        .iter()
        .map(|name| combine(places, read(places, name)?))
        .collect()
}

/// The manifests of all nodes, in their order.
///
/// # Errors
/// A node has no part of the snapshot; the message lists the snapshots that it has.
pub(super) fn read(places: &[Place<'_>], name: &str) -> Result<Vec<Manifest>> {
    let read = |place: &Place<'_>| {
        let folder = manifest::folder(&place.folder, name);
        if !folder.exists() {
            let names = manifest::names(&place.folder)?.join(", ");
            let known = if names.is_empty() {
                "none".to_string()
            } else {
                names
            };
            bail!("{} has no snapshot {name}; it has: {known}", place.name);
        }
        Manifest::read(&folder).with_context(|| place.name.to_string())
    };
    places.iter().map(read).collect()
}

fn combine(places: &[Place<'_>], manifests: Vec<Manifest>) -> Result<Snapshot> {
    let first = manifests.first().context("the cluster has no node")?;
    let node = |(place, manifest): (&Place<'_>, &Manifest)| {
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
        tables: first
            .tables
            .iter()
            .map(|table| table.name.clone())
            .collect(),
        created_unix_ns: first.created_unix_ns,
        schema: first.schema.clone(),
        nodes: places.iter().zip(&manifests).map(node).collect(),
    })
}

/// The layout of a node's tables as they are now: files from its folders, levels from the server.
pub(super) fn fingerprint(
    place: &Place<'_>,
    keyspace: &str,
    tables: &Tables,
) -> Result<Fingerprint> {
    let names: Vec<&str> = tables.keys().map(String::as_str).collect();
    let levels = match place.agent {
        Some(agent) => mbeans::levels(agent, keyspace, &names)?,
        None => vec![None; names.len()],
    };
    let layout = |((table, id), levels): ((&String, &String), _)| {
        let files = layout::scan(&place.table_folder(keyspace, table, id))?;
        Ok((table.clone(), files.layout(levels)))
    };
    let layouts: Result<_> = tables.iter().zip(levels).map(layout).collect();
    Ok(Fingerprint { tables: layouts? })
}

pub(super) fn verify(
    places: &[Place<'_>],
    name: &str,
) -> Result<Vec<(String, Result<(), String>)>> {
    if !places
        .iter()
        .any(|place| manifest::folder(&place.folder, name).exists())
    {
        read(places, name)?;
    }
    let found = on_all(places, |place| {
        Ok(verify_on(&manifest::folder(&place.folder, name)))
    })?;
    let text = |result: Result<()>| result.map_err(|error| format!("{error:#}"));
    let names = places.iter().map(|place| place.name.to_string());
    Ok(names.zip(found.into_iter().map(text)).collect())
}

/// Compares the files of a snapshot's folder with its manifest, and every `Data.db` with the
/// CRC-32 that the server has written beside it.
fn verify_on(folder: &Path) -> Result<()> {
    let manifest = Manifest::read(folder)?;
    let mut problems = Vec::new();
    for table in &manifest.tables {
        let at = manifest::table_folder(folder, &manifest.keyspace, &table.name);
        let wanted = table.files();
        let found = layout::scan(&at)?;
        for file in wanted.all() {
            match found.all().find(|one| one.name == file.name) {
                Some(one) if one.bytes == file.bytes => {}
                Some(one) => problems.push(format!(
                    "{} has {} bytes instead of {}",
                    at.join(&file.name).display(),
                    one.bytes,
                    file.bytes
                )),
                None => problems.push(format!("{} is missing", at.join(&file.name).display())),
            }
        }
        for sstable in &wanted.sstables {
            let path = at.join(format!("{}{}", sstable.prefix, layout::DATA));
            let digest =
                layout::read_digest(&at.join(format!("{}{}", sstable.prefix, layout::DIGEST)));
            let crc = path.is_file().then(|| crc_of(&path)).transpose()?;
            if digest? != Some(sstable.identity.digest) {
                problems.push(format!("the digest of {} is another", path.display()));
            } else if crc.is_some_and(|crc| crc != sstable.identity.digest) {
                problems.push(format!(
                    "{} is damaged: its CRC-32 is {}, and its digest says {}",
                    path.display(),
                    crc.unwrap_or_default(),
                    sstable.identity.digest
                ));
            }
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    bail!(problems.join("; "))
}

fn crc_of(path: &Path) -> Result<u32> {
    let context = || format!("read {}", path.display());
    let mut file = std::fs::File::open(path).with_context(context)?;
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match file.read(&mut buffer).with_context(context)? {
            0 => return Ok(hasher.finalize()),
            count => hasher.update(&buffer[..count]),
        }
    }
}

pub(super) fn remove(places: &[Place<'_>], name: &str) -> Result<()> {
    if !places
        .iter()
        .any(|place| manifest::folder(&place.folder, name).exists())
    {
        read(places, name)?;
    }
    on_all(places, |place| remove_on(place, name)).map(drop)
}

fn remove_on(place: &Place<'_>, name: &str) -> Result<()> {
    // Out of its name first: half a snapshot must not look like a whole one.
    let (folder, making) = (
        manifest::folder(&place.folder, name),
        manifest::folder_in_making(&place.folder, name),
    );
    if folder.exists() {
        remove_folder(&making)?;
        std::fs::rename(&folder, &making)
            .with_context(|| format!("rename {}", folder.display()))?;
    }
    remove_folder(&making)
}

fn remove_folder(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}
