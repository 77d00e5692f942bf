//! Whether the files of a snapshot are still what was put away, byte for byte.
//!
//! A changed byte in a table's file is not found when it is imported, and changes what is measured.
//! So all bytes are read before a snapshot is used: `Data.db` against the CRC-32 that the server
//! has written beside it, all other files against the one that was reckoned when the snapshot was
//! made.
//!
//! What must hold: a file is read once and not for every restore, as long as it is the same inode
//! with the same size and time of its last change. Hard links share that time, so that a change
//! through a table's own link is seen as well. What was read leaves no trace in the page cache,
//! which belongs to what is measured.

use super::layout::{self, File, Sstable, TableFiles};
use super::manifest::{self, Manifest};
use anyhow::{Context, Result, bail};
use rustix::fs::OFlags;
use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// How much of a file is read at a time.
const READ_BYTES: usize = 1 << 20;

/// What memory and offsets of direct reads are a multiple of, on all devices that are sold.
const ALIGNMENT: usize = 4096;

/// How many files a message names.
const PROBLEMS_SHOWN: usize = 8;

/// A file as it was when its bytes were found right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    device: u64,
    inode: u64,
    bytes: u64,
    changed_ns: i128,
    crc: u32,
}

/// The files that this process has read and found right.
static SEEN: Mutex<BTreeSet<Seen>> = Mutex::new(BTreeSet::new());

/// Which files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// Those that have not been read yet, or changed since.
    Once,
    /// All.
    Always,
}

/// Gives every file its CRC-32, of the bytes that it has now.
///
/// # Errors
/// A file cannot be read, or a `Data.db` is not what its own digest says.
pub(super) fn seal(folder: &Path, files: &mut TableFiles) -> Result<()> {
    let mut problems = Vec::new();
    for sstable in &mut files.sstables {
        let digest = sstable.identity.digest;
        let data = format!("{}{}", sstable.prefix, layout::DATA);
        for file in &mut sstable.files {
            let path = folder.join(&file.name);
            let expected = (file.name == data).then_some(digest);
            let crc = remembered_crc(&path)?;
            if let Some(expected) = expected.filter(|expected| *expected != crc) {
                problems.push(damaged(&path, crc, expected));
            }
            file.crc32 = Some(crc);
        }
    }
    for file in &mut files.indexes {
        file.crc32 = Some(remembered_crc(&folder.join(&file.name))?);
    }
    refuse(&problems)
}

/// Compares the files of a snapshot's folder with its manifest.
///
/// # Errors
/// The files that are missing, or other than they were, by name.
pub(super) fn check(folder: &Path, which: Reading) -> Result<()> {
    let manifest = Manifest::read(folder)?;
    let mut problems = Vec::new();
    for table in &manifest.tables {
        let at = manifest::table_folder(folder, &manifest.keyspace, &table.name);
        let wanted = table.files();
        for sstable in &wanted.sstables {
            check_digest(&at, sstable, &mut problems)?;
            let data = format!("{}{}", sstable.prefix, layout::DATA);
            for file in &sstable.files {
                let is_data = file.name == data;
                let crc = if is_data {
                    Some(sstable.identity.digest)
                } else {
                    file.crc32
                };
                problems.extend(check_file(&at, file, crc, which)?);
            }
        }
        for file in &wanted.indexes {
            problems.extend(check_file(&at, file, file.crc32, which)?);
        }
    }
    refuse(&problems)
}

/// Forgets what was read: the next check reads everything again.
pub(super) fn doubt() {
    SEEN.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

fn refuse(problems: &[String]) -> Result<()> {
    if problems.is_empty() {
        return Ok(());
    }
    let more = problems.len().saturating_sub(PROBLEMS_SHOWN);
    let shown = &problems[..problems.len() - more];
    let more = match more {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    bail!("{}{more}", shown.join("; "))
}

/// The digest beside the data must be the one that was put away with it.
fn check_digest(at: &Path, sstable: &Sstable, problems: &mut Vec<String>) -> Result<()> {
    let path = at.join(format!("{}{}", sstable.prefix, layout::DIGEST));
    match layout::read_digest(&path) {
        Ok(Some(digest)) if digest != sstable.identity.digest => {
            problems.push(format!("the digest in {} is another", path.display()));
        }
        // That it is missing is said with the other files.
        Ok(_) => {}
        Err(error) => problems.push(format!("{error:#}")),
    }
    Ok(())
}

/// What is wrong with a file, if anything is. Without a checksum only its size is known.
fn check_file(at: &Path, file: &File, crc: Option<u32>, which: Reading) -> Result<Option<String>> {
    let path = at.join(&file.name);
    let metadata = match std::fs::metadata(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Some(format!("{} is missing", path.display())));
        }
        metadata => metadata.with_context(|| format!("look at {}", path.display()))?,
    };
    if metadata.len() != file.bytes {
        return Ok(Some(format!(
            "{} has {} bytes instead of {}",
            path.display(),
            metadata.len(),
            file.bytes
        )));
    }
    let Some(expected) = crc else {
        return Ok(None);
    };
    let seen = Seen::new(&metadata, expected);
    let is_known = || {
        SEEN.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(&seen)
    };
    if which == Reading::Once && is_known() {
        return Ok(None);
    }
    let found = crc_of(&path)?;
    if found != expected {
        return Ok(Some(damaged(&path, found, expected)));
    }
    remember(seen);
    Ok(None)
}

fn damaged(path: &Path, found: u32, expected: u32) -> String {
    format!(
        "{} is damaged: its CRC-32 is {found}, and {expected} was put away",
        path.display()
    )
}

/// The checksum of a file, which is then known.
fn remembered_crc(path: &Path) -> Result<u32> {
    let metadata =
        std::fs::metadata(path).with_context(|| format!("look at {}", path.display()))?;
    let crc = crc_of(path)?;
    remember(Seen::new(&metadata, crc));
    Ok(crc)
}

fn remember(seen: Seen) {
    SEEN.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(seen);
}

impl Seen {
    /// Of a file as it was before it was read: what is changed meanwhile is read again.
    fn new(metadata: &std::fs::Metadata, crc: u32) -> Seen {
        Seen {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            changed_ns: i128::from(metadata.mtime()) * 1_000_000_000
                + i128::from(metadata.mtime_nsec()),
            crc,
        }
    }
}

/// The CRC-32 of a file, read past the page cache where its file system can do that.
fn crc_of(path: &Path) -> Result<u32> {
    let direct = || -> std::io::Result<u32> {
        let flags = OFlags::DIRECT.bits() as i32;
        let file = std::fs::OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(path)?;
        crc_of_all(file)
    };
    let plain = || crc_of_all(std::fs::File::open(path)?);
    direct()
        .or_else(|_| plain())
        .with_context(|| format!("read {}", path.display()))
}

fn crc_of_all(mut file: std::fs::File) -> std::io::Result<u32> {
    // Behind the end of a file of odd size a direct read is refused by some file systems.
    let mut left = file.metadata()?.len();
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; READ_BYTES + ALIGNMENT];
    let first = buffer.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
    let buffer = &mut buffer[first..first + READ_BYTES];
    while left > 0 {
        let count = file.read(buffer)?;
        if count == 0 {
            break;
        }
        hasher.update(&buffer[..count]);
        left = left.saturating_sub(count as u64);
    }
    Ok(hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::manifest::TableRecord;
    use std::path::PathBuf;

    /// A snapshot of one table in a folder of its own; the folder of the table's files.
    fn snapshot(root: &Path) -> (PathBuf, PathBuf) {
        let folder = manifest::folder(root, "s");
        let table = manifest::table_folder(&folder, "k", "t");
        layout::tests::write(&table, "nb-1-big-", b"some rows");
        layout::tests::write(&table.join(".index"), "nb-1-big-", b"an index");
        let mut manifest = Manifest::new("s", "k", "5.0.8", Vec::new());
        let mut files = layout::scan(&table).unwrap();
        seal(&table, &mut files).unwrap();
        manifest
            .tables
            .push(TableRecord::new("t".into(), "00".into(), None, files));
        manifest.write(&folder).unwrap();
        (folder, table)
    }

    fn why(folder: &Path, which: Reading) -> String {
        match check(folder, which) {
            Ok(()) => "whole".to_string(),
            Err(error) => format!("{error:#}"),
        }
    }

    /// Four changed bytes were imported, served, and found by nobody.
    #[test]
    fn a_changed_byte_in_any_file_is_found_by_its_name() {
        let root = tempfile::tempdir().unwrap();
        let (folder, table) = snapshot(root.path());
        assert_eq!(why(&folder, Reading::Once), "whole");
        let files = layout::scan(&table).unwrap();
        let names: Vec<String> = files.all().map(|file| file.name.clone()).collect();
        assert_eq!(names.len(), 6, "{names:?}");
        for name in names {
            let path = table.join(&name);
            let before = std::fs::read(&path).unwrap();
            let mut after = before.clone();
            after[0] ^= 1;
            std::fs::write(&path, &after).unwrap();
            // The clock of a file system may stand still for some milliseconds.
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(std::time::UNIX_EPOCH).unwrap();
            let text = why(&folder, Reading::Once);
            assert!(text.contains(&name), "{name}: {text}");
            std::fs::remove_file(&path).unwrap();
            assert!(why(&folder, Reading::Once).contains("is missing"), "{name}");
            std::fs::write(&path, [&before[..], b"x"].concat()).unwrap();
            assert!(
                why(&folder, Reading::Once).contains("bytes instead of"),
                "{name}"
            );
            std::fs::write(&path, &before).unwrap();
            assert_eq!(why(&folder, Reading::Once), "whole", "{name}");
        }
    }

    /// A file that seems untouched is believed, until somebody doubts or asks for all bytes.
    #[test]
    fn a_file_is_read_once_and_again_after_a_doubt() {
        let root = tempfile::tempdir().unwrap();
        let (folder, table) = snapshot(root.path());
        let path = table.join("nb-1-big-Data.db");
        assert_eq!(why(&folder, Reading::Once), "whole");
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        let modified = file.metadata().unwrap().modified().unwrap();
        std::os::unix::fs::FileExt::write_at(&file, b"X", 0).unwrap();
        // What a dying disk does: other bytes, and no trace of it.
        file.set_modified(modified).unwrap();
        assert_eq!(why(&folder, Reading::Once), "whole");
        assert!(why(&folder, Reading::Always).contains("is damaged"));
        doubt();
        assert!(why(&folder, Reading::Once).contains("nb-1-big-Data.db is damaged"));
    }

    #[test]
    fn data_that_is_damaged_before_it_is_put_away_is_refused() {
        let root = tempfile::tempdir().unwrap();
        layout::tests::write(root.path(), "nb-1-big-", b"some rows");
        std::fs::write(root.path().join("nb-1-big-Digest.crc32"), "7").unwrap();
        let mut files = layout::scan(root.path()).unwrap();
        let error = format!("{:#}", seal(root.path(), &mut files).unwrap_err());
        assert!(error.contains("and 7 was put away"), "{error}");
    }

    #[test]
    fn a_snapshot_of_an_older_version_is_checked_as_far_as_it_can_be() {
        let root = tempfile::tempdir().unwrap();
        let (folder, table) = snapshot(root.path());
        let text = std::fs::read_to_string(folder.join("manifest.json")).unwrap();
        let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
        for file in json["tables"][0]["sstables"][0]["files"]
            .as_array_mut()
            .unwrap()
        {
            file.as_object_mut().unwrap().remove("crc32");
        }
        std::fs::write(folder.join("manifest.json"), json.to_string()).unwrap();
        assert_eq!(why(&folder, Reading::Once), "whole");
        std::fs::write(table.join("nb-1-big-Data.db"), b"same size").unwrap();
        assert!(why(&folder, Reading::Always).contains("Data.db is damaged"));
    }
}
