//! Imports an exported snapshot into a managed cluster, where it becomes an ordinary snapshot.
//!
//! Invariants: the import refuses an unsuitable export before it copies anything. The cluster's own
//! data does not change until a restore. An export may come from an untrusted source. So the import
//! opens files only below the export's folder, follows no links, and verifies sizes and checksums,
//! also after the transfer. The parts get their final names after all parts are complete.

use super::assign_parts::{self, Fitting};
use super::comparison::Comparison;
use super::export::{members, partitioner};
use super::export_json::{Export, ExportedNode, files};
use super::progress::{Counter, with_progress};
use super::{on_all, on_each};
use crate::cluster::Cluster;
use anyhow::{Context, Result, bail, ensure};
use cassandra::snapshot::checksums::{self, Reading};
use cassandra::snapshot::manifest::{self, Manifest, TableRecord, check_name};
use cassandra::snapshot::sstables::File;
use cassandra::snapshot::{contents, definition_differences, hard_links};
use cassandra::status::replications;
use cassandra::{NodeFiles, Replication};
use host::{Bytes, FileStep};
use measure::number::{bytes, counted};
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use versions::Line;

/// Number of bytes that must remain free for the node: the need of TRUNCATE and a reserve.
const SPARE_BYTES: u64 = 128 << 20;

#[derive(Clone, Debug)]
pub struct ImportResult {
    /// Name of the snapshot in this cluster.
    pub name: String,
    /// Exported node whose part a node received, by the name of the receiving node.
    pub parts: BTreeMap<String, String>,
    /// Exported nodes whose part is unused, each with the exported node with the same token ranges
    /// whose part is used instead.
    pub left_out: BTreeMap<String, String>,
    pub comparison: Comparison,
}

/// Imports the export in the folder `from` as the snapshot `name`.
///
/// # Errors
/// The folder is not a valid export, the export does not fit this cluster, a file is damaged, or a
/// volume is too small. After an error, no node has files of the import.
pub(super) fn import(
    cluster: &Cluster,
    places: &[NodeFiles<'_>],
    from: &Path,
    name: Option<&str>,
    say: &mut dyn FnMut(&str),
) -> Result<ImportResult> {
    let export = Export::read(from)?;
    let name = name.unwrap_or(&export.name);
    check_name(name)?;
    for place in places {
        ensure!(
            !place.has(&manifest::folder(place.folder, name))?,
            "{} already has a snapshot {name}: remove that snapshot first, or import this one with \
             `--as` and another name",
            place.name
        );
        formats_fit(&export, place.version)?;
    }
    let fitting = fit(cluster, &export)?;
    let folder = Folder::open(from)?;
    let parts: Vec<&ExportedNode> = fitting.parts.iter().map(|part| &export.nodes[*part]).collect();
    for part in parts.iter().map(|part| part.node.as_str()).collect::<BTreeSet<_>>() {
        let part = export.nodes.iter().find(|one| one.node == part);
        folder.check_sizes(part.context("an invalid part")?)?;
    }
    check_room(cluster, places, &parts)?;
    let total = parts.iter().map(|part| part.bytes()).sum();
    say(&format!(
        "importing {name}: {} to {}",
        bytes(total),
        counted(places.len(), "node")
    ));
    let brought = with_progress(total, say, |counter| {
        on_each(places, &parts, |place, part| {
            bring(place, part, &folder, name, counter)
        })
    });
    let named = brought.and_then(|brought| {
        on_all(places, |place| {
            let making = manifest::folder_in_making(place.folder, name);
            let to = manifest::folder(place.folder, name);
            place.host.change(vec![FileStep::Rename { from: making, to }])
        })?;
        Ok(brought)
    });
    if named.is_err() {
        // If only some nodes have their part, cassay removes these parts. The first error is more
        // important than an error of the removal.
        let _ = on_all(places, |place| hard_links::remove(place, name));
    }
    let sides = parts.iter().zip(named?).zip(places);
    let comparison = sides.map(|((part, here), place)| {
        let wanted = (part.fingerprint.clone(), part.contents.clone());
        (place.name.to_owned(), wanted, here)
    });
    let comparison = Comparison::new(comparison);
    Ok(imported(&export, &fitting, places, name, comparison))
}

fn imported(
    export: &Export,
    fitting: &Fitting,
    places: &[NodeFiles<'_>],
    name: &str,
    comparison: Comparison,
) -> ImportResult {
    let node = |index: usize| export.nodes[index].node.clone();
    let parts = places.iter().zip(&fitting.parts);
    let left_out = fitting.left_out.iter();
    ImportResult {
        name: name.to_owned(),
        parts: parts.map(|(place, part)| (place.name.to_owned(), node(*part))).collect(),
        left_out: left_out.map(|(part, same)| (node(*part), node(*same))).collect(),
        comparison,
    }
}

/// Checks that each table has the same definition or does not exist, and assigns parts to nodes.
fn fit(cluster: &Cluster, export: &Export) -> Result<Fitting> {
    let mut session = cluster.session()?;
    let here = partitioner(&mut session)?;
    ensure!(
        here == export.partitioner,
        "the export is from a cluster with the partitioner {}, but this cluster has {here}: rows \
         would be on other nodes, so cassay copied nothing",
        export.partitioner
    );
    let (keyspace, tables) = (&export.keyspace, export.tables());
    definition_differences::refuse_different(&mut session, keyspace, &tables, export.schema())?;
    // The replication of an existing keyspace takes precedence.
    let replication = match replications(&mut session)?.get(keyspace) {
        Some(options) => Replication::parse(options)?,
        None => export.replication()?,
    };
    assign_parts::fit(export, &members(cluster, &mut session)?, &replication)
}

/// Refuses SSTables in a format that this Cassandra version cannot read. For an unknown release
/// line, this check is left to the server.
fn formats_fit(export: &Export, version: &str) -> Result<()> {
    let Some(line) = Line::find(version) else {
        return Ok(());
    };
    for format in export.formats() {
        ensure!(
            line.formats.reads(format),
            "the export has SSTables of the format {format} (of Cassandra {}), but Cassandra \
             {version} reads {}. cassay copied nothing\nhint: import the export into a cluster of \
             the same version (`cassay target up --like FROM`)",
            export.version,
            line.formats.describe()
        );
    }
    Ok(())
}

/// Checks the size of the volumes before the import copies files.
fn check_room(cluster: &Cluster, places: &[NodeFiles<'_>], parts: &[&ExportedNode]) -> Result<()> {
    let are_apart = cluster.local().is_some_and(crate::local::Nodes::are_on_machines);
    let mut needs: BTreeMap<(String, u64), (u64, &NodeFiles<'_>)> = BTreeMap::new();
    for (place, part) in places.iter().zip(parts) {
        // Nodes share a disk if they are on the same machine and have the same device number.
        let machine = if are_apart { place.host.name() } else { "" };
        let entries = place.host.list(place.folder, None)?.unwrap_or_default();
        let device = entries.first().map_or(0, |entry| entry.id.device);
        let (need, _) = needs.entry((machine.to_owned(), device)).or_insert((0, place));
        *need += part.bytes();
    }
    for (need, place) in needs.values() {
        let free = place.host.space(place.folder)?.available_bytes;
        ensure!(
            free >= need.saturating_add(SPARE_BYTES),
            "{} has only {} free at {}, but the imported files need {}, and the node itself needs \
             {}. cassay copied nothing\nhint: free some space, or use a larger volume",
            place.name,
            bytes(free),
            place.folder.display(),
            bytes(*need),
            bytes(SPARE_BYTES)
        );
    }
    Ok(())
}

/// Copies a part to its node. Returns its fingerprint and contents, as read back on the node.
fn bring(
    place: &NodeFiles<'_>,
    part: &ExportedNode,
    folder: &Folder,
    name: &str,
    counter: &Counter,
) -> Result<(String, contents::NodeContents)> {
    let making = manifest::folder_in_making(place.folder, name);
    // A killed command may have left this folder behind.
    place.host.change(vec![FileStep::Remove(making.clone())])?;
    let manifest = Manifest {
        name: name.to_owned(),
        ..part.manifest.clone()
    };
    for table in &manifest.tables {
        let to = manifest::table_folder(&making, &manifest.keyspace, &table.name);
        place.host.change(folders(table, &to))?;
        for file in files(table) {
            let from = folder.file(&part.node, table, file)?;
            send(place, from, &to.join(&file.name), counter)
                .with_context(|| folder.path(&part.node, table, file).display().to_string())?;
        }
    }
    place.host.change(vec![manifest.write(&making)?])?;
    // A file may be damaged at its source or in transit.
    checksums::check(place.host, &making, Reading::Always).with_context(|| {
        format!(
            "the copied part of {} differs from the export, so cassay imported nothing",
            part.node
        )
    })?;
    let contents = contents::read_snapshot(place.host, &making, &manifest)?;
    // Later measurements must not find these files in the page cache.
    place.host.uncache(&making)?;
    Ok((manifest.fingerprint().to_string(), contents))
}

/// Returns the steps that create the folder of a table and of its indexes.
fn folders(table: &TableRecord, to: &Path) -> Vec<FileStep> {
    let indexes: BTreeSet<_> =
        table.indexes.iter().filter_map(|f| f.name.split_once('/')).collect();
    let indexes: BTreeSet<&str> = indexes.into_iter().map(|(index, _)| index).collect();
    let below = indexes.into_iter().map(|index| FileStep::Folder(to.join(index)));
    std::iter::once(FileStep::Folder(to.to_owned())).chain(below).collect()
}

/// Sends a file to a node's host in pieces.
fn send(
    place: &NodeFiles<'_>,
    mut from: std::fs::File,
    to: &Path,
    counter: &Counter,
) -> Result<()> {
    place.host.change(vec![FileStep::write(to.to_owned(), Vec::new())])?;
    let mut buffer = vec![0; host::files::PIECE_BYTES];
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        let (path, bytes) = (to.to_owned(), Bytes(buffer[..count].to_vec()));
        place.host.change(vec![FileStep::Append { path, bytes }])?;
        counter.add(count)?;
    }
}

/// Folder of an export. The import opens files only below this folder.
struct Folder {
    path: PathBuf,
    open: OwnedFd,
}

impl Folder {
    fn open(path: &Path) -> Result<Folder> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = openat(CWD, path, flags, Mode::empty())
            .with_context(|| format!("open {}", path.display()))?;
        Ok(Folder {
            path: path.to_owned(),
            open,
        })
    }

    fn path(&self, node: &str, table: &TableRecord, file: &File) -> PathBuf {
        self.path.join(node).join(&table.name).join(&file.name)
    }

    /// Opens a file of the export without following links, and checks its size.
    fn file(&self, node: &str, table: &TableRecord, file: &File) -> Result<std::fs::File> {
        let path = self.path(node, table, file);
        let mut above = [node, &table.name].map(str::to_owned).to_vec();
        above.extend(file.name.split('/').map(str::to_owned));
        let last = above.pop().context("find the name of the file")?;
        let opened = || -> rustix::io::Result<OwnedFd> {
            let mut at = rustix::io::dup(&self.open)?;
            let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC;
            for part in &above {
                at = openat(
                    &at,
                    part,
                    flags | OFlags::PATH | OFlags::DIRECTORY,
                    Mode::empty(),
                )?;
            }
            // Does not block at a FIFO.
            openat(
                &at,
                &last,
                flags | OFlags::RDONLY | OFlags::NONBLOCK,
                Mode::empty(),
            )
        };
        let opened = match opened() {
            Err(rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR) => bail!(
                "{} is behind a symbolic link, or a file has the name of one of its folders. An \
                 export contains only files and folders, and cassay follows no links in it",
                path.display()
            ),
            opened => opened.with_context(|| format!("open {}", path.display()))?,
        };
        let found = fstat(&opened).with_context(|| path.display().to_string())?;
        ensure!(
            FileType::from_raw_mode(found.st_mode) == FileType::RegularFile,
            "{} is not a file",
            path.display()
        );
        ensure!(
            u64::try_from(found.st_size) == Ok(file.bytes),
            "{} has {} bytes instead of {}: the export is damaged or incomplete",
            path.display(),
            found.st_size,
            file.bytes
        );
        Ok(opened.into())
    }

    /// Checks that all files of a part exist with the stated sizes.
    fn check_sizes(&self, part: &ExportedNode) -> Result<()> {
        for table in &part.manifest.tables {
            for file in files(table) {
                self.file(&part.node, table, file)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
