//! Exports a snapshot to a folder on this machine, which the user can move with any tool.
//!
//! The agents on the nodes' hosts send the files. The export computes checksums during the
//! transfer, and ends at a mismatch. The folder gets its final name after all files are on disk, so
//! a folder with that name is complete.

use super::export_json::{Export, ExportedNode, FILE};
use super::progress::{Counter, with_progress};
use super::unfinished_folder::UnfinishedFolder;
use super::{all_parts, on_each};
use crate::cluster::Cluster;
use anyhow::{Context, Result, bail, ensure};
use cassandra::snapshot::contents;
use cassandra::snapshot::manifest::{self, Manifest, TableRecord};
use cassandra::snapshot::sstables::{DATA, File};
use cassandra::{NodeFiles, NodeInfo, Session, joined_nodes};
use foreign::FileKind;
use measure::number::{bytes, counted};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Size of the buffer for a file, in bytes, as large as an agent's pieces.
const BUFFER_BYTES: usize = host::files::PIECE_BYTES;

/// Number of bytes that must remain free on the disk for `export.json` and other users.
const SPARE_BYTES: u64 = 64 << 20;

/// Exports the snapshot `name` to the new folder `to`.
///
/// # Errors
/// The snapshot does not exist, `to` exists, its disk is too small, or a file is damaged or
/// unreadable. After an error, `to` does not exist.
pub(super) fn export(
    cluster: &Cluster,
    places: &[NodeFiles<'_>],
    name: &str,
    to: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<Export> {
    let manifests = all_parts::read(places, name)?;
    let above = above(to)?;
    // The removal of leftovers frees space.
    let making = UnfinishedFolder::within(&above, say)?;
    let total: u64 = manifests.iter().map(bytes_of).sum();
    let disk = rustix::fs::statvfs(&above)
        .with_context(|| format!("get the free space at {}", above.display()))?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    ensure!(
        free >= total.saturating_add(SPARE_BYTES),
        "{} has only {} free, but the snapshot {name} has {}\nhint: free some space, or export to \
         another disk",
        above.display(),
        bytes(free),
        bytes(total)
    );
    let mut session = cluster.session()?;
    let members = members(cluster, &mut session)?;
    let partitioner = partitioner(&mut session)?;
    say(&format!(
        "exporting {name}: {} of {}",
        bytes(total),
        counted(places.len(), "node")
    ));
    let parts = with_progress(total, say, |counter| {
        on_each(places, &manifests, |place, manifest| {
            bring(place, manifest, making.path(), counter)
        })
    })?;
    let node = |((manifest, contents), member): ((Manifest, _), &NodeInfo)| ExportedNode {
        node: member.name.clone(),
        datacenter: member.datacenter.clone(),
        rack: member.rack.clone(),
        tokens: member.tokens.clone(),
        fingerprint: manifest.fingerprint().to_string(),
        contents,
        manifest,
    };
    let nodes: Vec<ExportedNode> = parts.into_iter().zip(&members).map(node).collect();
    let export = Export::new(&manifests[0], partitioner, nodes);
    finish(&export, making, to)?;
    Ok(export)
}

/// Writes the description of the export, and gives the folder its final name.
fn finish(export: &Export, making: UnfinishedFolder, to: &Path) -> Result<()> {
    // JSON without blanks, so that even a list of many files does not exceed the maximum size for
    // reading.
    let text = serde_json::to_vec(export).context("write the export")?;
    // Refuses an export that could not be imported now, while the cluster still exists.
    Export::parse(&text).context("export this snapshot")?;
    let most = FileKind::Export.bytes_max();
    ensure!(
        text.len() as u64 <= most,
        "cassay cannot export this snapshot: the list of its files has {} bytes, but the limit is \
         {most}\nhint: create the snapshot again with `data.settle: compactions`, so that it has \
         fewer files",
        text.len()
    );
    let path = making.path().join(FILE);
    let mut file = std::fs::File::create_new(&path)?;
    file.write_all(&text)
        .and_then(|()| file.sync_all())
        .with_context(|| format!("write {}", path.display()))?;
    refuse_taken(to)?;
    making.name(to)
}

/// Returns the parent folder of `to`, in which the export is built.
///
/// # Errors
/// `to` exists or has no file name, or its parent folder does not exist.
fn above(to: &Path) -> Result<PathBuf> {
    refuse_taken(to)?;
    ensure!(
        to.file_name().is_some(),
        "{} is not a valid folder name",
        to.display()
    );
    let above = to
        .parent()
        .filter(|above| !above.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    ensure!(
        above.is_dir(),
        "the parent folder {} of the export does not exist",
        above.display()
    );
    Ok(above.to_owned())
}

fn refuse_taken(to: &Path) -> Result<()> {
    if to.symlink_metadata().is_ok() {
        bail!(
            "{} already exists, and cassay does not overwrite it: use another name, or remove it",
            to.display()
        );
    }
    Ok(())
}

/// Returns the nodes of a cluster, with the ring positions that the queried node reports.
///
/// # Errors
/// The node does not answer, or its ring does not consist of exactly the cluster's nodes.
pub(super) fn members(cluster: &Cluster, session: &mut Session) -> Result<Vec<NodeInfo>> {
    let ring = joined_nodes(session)?;
    ensure!(
        ring.len() == cluster.nodes().len(),
        "the ring has {}, but cassay's cluster has {}: cassay exports and imports only if both \
         numbers are equal",
        counted(ring.len(), "member"),
        counted(cluster.nodes().len(), "node")
    );
    let member = |node: &NodeInfo| {
        let found = ring
            .iter()
            .find(|member| member.address == node.address)
            .with_context(|| format!("{} is not a member of the ring", node.name))?;
        let mut tokens = found.tokens.clone();
        tokens.sort_unstable();
        Ok(NodeInfo {
            name: node.name.clone(),
            tokens,
            ..found.clone()
        })
    };
    cluster.nodes().iter().map(member).collect()
}

/// # Errors
/// The node does not answer.
pub(super) fn partitioner(session: &mut Session) -> Result<String> {
    let found = session.query("SELECT partitioner FROM system.local")?;
    let cell = found.rows.first().and_then(|row| row.first());
    let text = cell.and_then(cql::Value::as_str).map(str::to_owned);
    text.context("the node does not report its partitioner")
}

fn bytes_of(manifest: &Manifest) -> u64 {
    let tables = manifest.tables.iter();
    tables.flat_map(super::export_json::files).map(|file| file.bytes).sum()
}

/// Fetches one node's files. Returns their manifest with checksums, and the contents of the tables.
pub(super) fn bring(
    place: &NodeFiles<'_>,
    manifest: &Manifest,
    making: &Path,
    counter: &Counter,
) -> Result<(Manifest, contents::NodeContents)> {
    let mut manifest = manifest.clone();
    let folder = manifest::folder(place.folder, &manifest.name);
    let contents = contents::read_snapshot(place.host, &folder, &manifest)?;
    let to = making.join(place.name);
    for table in &mut manifest.tables {
        let from = manifest::table_folder(&folder, &manifest.keyspace, &table.name);
        let to = to.join(&table.name);
        std::fs::create_dir_all(&to).with_context(|| format!("make {}", to.display()))?;
        for (file, wanted) in with_sums(table) {
            file.crc32 = Some(bring_file(place, &from, &to, file, wanted, counter)?);
        }
    }
    // Later measurements must not find these files in the page cache.
    place.host.uncache(&folder)?;
    Ok((manifest, contents))
}

/// Returns all files of a table, each with its recorded checksum if any.
fn with_sums(table: &mut TableRecord) -> impl Iterator<Item = (&mut File, Option<u32>)> {
    let sstables = table.sstables.iter_mut().flat_map(|sstable| {
        let data = format!("{}{DATA}", sstable.prefix);
        let digest = sstable.digest;
        sstable.files.iter_mut().map(move |file| {
            let wanted = if file.name == data {
                Some(digest)
            } else {
                file.crc32
            };
            (file, wanted)
        })
    });
    let indexes = table.indexes.iter_mut().map(|file| {
        let wanted = file.crc32;
        (file, wanted)
    });
    sstables.chain(indexes)
}

/// Fetches one file, and returns the CRC-32 of the received bytes.
fn bring_file(
    place: &NodeFiles<'_>,
    from: &Path,
    to: &Path,
    file: &File,
    wanted: Option<u32>,
    counter: &Counter,
) -> Result<u32> {
    let (from, to) = (from.join(&file.name), to.join(&file.name));
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    }
    let mut written =
        std::fs::File::create_new(&to).with_context(|| format!("make {}", to.display()))?;
    let mut reader = place.host.reader(&from, 0);
    let mut buffer = vec![0; BUFFER_BYTES];
    let (mut sum, mut size) = (crc32fast::Hasher::new(), 0u64);
    loop {
        let count = reader.read(&mut buffer).with_context(|| from.display().to_string())?;
        if count == 0 {
            break;
        }
        sum.update(&buffer[..count]);
        size += count as u64;
        written
            .write_all(&buffer[..count])
            .with_context(|| format!("write {}", to.display()))?;
        counter.add(count)?;
    }
    let found = sum.finalize();
    ensure!(
        size == file.bytes && wanted.is_none_or(|wanted| wanted == found),
        "{} is damaged: it has {size} bytes with the CRC-32 {found} instead of {} bytes with {}. \
         cassay exported nothing\nhint: `cassay snapshot verify` finds all damaged files",
        from.display(),
        file.bytes,
        wanted.map_or("another".to_owned(), |wanted| wanted.to_string())
    );
    written.sync_all().with_context(|| format!("write {}", to.display()))?;
    Ok(found)
}
