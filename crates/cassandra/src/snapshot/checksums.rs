//! Verifies the files of a snapshot, byte for byte.
//!
//! An import does not detect a changed byte in a table's file, although the byte changes the
//! measurement. So cassay reads all bytes before it uses a snapshot. It compares `Data.db` with the
//! server's CRC-32, and each other file with the CRC-32 from the creation of the snapshot.
//!
//! Invariants: the agent on the file's host reads the file only once while the inode, size and
//! modification time remain the same. Hard links share the modification time, so the check also
//! detects a change through a link in the table's folder. Reading does not fill the page cache,
//! because cached pages would change the measurement.

use super::manifest::{self, Manifest, TableRecord};
use super::sstables::{self, TableFiles};
use anyhow::{Result, bail};
use host::process::Identity;
use host::{Agent, Entry, FileId};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

const PROBLEMS_SHOWN: usize = 8;

/// Metadata of a file when it was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct CheckedFile {
    agent: Identity,
    /// File id from before the read. A change during the read invalidates this id, so the next
    /// check reads the file again.
    id: FileId,
    bytes: u64,
    crc: u32,
}

static CHECKED_FILES: LazyLock<Mutex<HashSet<CheckedFile>>> = LazyLock::new(Mutex::default);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Read only files that are not verified or have changed since.
    Once,
    /// Read every file.
    Always,
}

/// Computes the CRC-32 of every file from its current bytes.
///
/// # Errors
/// A file cannot be read, or a `Data.db` does not match the digest next to it.
pub fn seal(host: &Agent, folder: &Path, files: &mut TableFiles) -> Result<()> {
    let names: Vec<String> = files.all().map(|file| file.name.clone()).collect();
    let mut sums = host.sums(folder, &names)?.into_iter();
    let mut problems = Vec::new();
    let ids = &files.ids;
    let mut give = |file: &mut sstables::File| {
        file.crc32 = sums.next();
        if let (Some(crc), Some(id)) = (file.crc32, ids.get(&file.name)) {
            remember(CheckedFile {
                agent: host.process(),
                id: *id,
                bytes: file.bytes,
                crc,
            });
        }
    };
    for sstable in &mut files.sstables {
        let digest = sstable.identity.digest;
        let data = format!("{}{}", sstable.prefix, sstables::DATA);
        for file in &mut sstable.files {
            give(file);
            let other = file.crc32.filter(|crc| file.name == data && *crc != digest);
            problems.extend(other.map(|crc| damaged(folder, &file.name, crc, digest)));
        }
    }
    files.indexes.iter_mut().for_each(give);
    refuse(&problems)
}

/// Compares the files in a snapshot's folder with the snapshot's manifest.
///
/// # Errors
/// Files are missing or changed. The message names these files.
pub fn check(host: &Agent, folder: &Path, which: Reading) -> Result<()> {
    let manifest = Manifest::read(host, folder)?;
    let mut problems = Vec::new();
    for table in &manifest.tables {
        let at = manifest::table_folder(folder, &manifest.keyspace, &table.name);
        let found = sstables::entries(host, &at)?;
        let unread = compare(host, &at, table, &found, which, &mut problems);
        let names: Vec<String> = unread.iter().map(|(name, _)| name.clone()).collect();
        for ((name, seen), crc) in unread.into_iter().zip(host.sums(&at, &names)?) {
            if crc == seen.crc {
                remember(seen);
            } else {
                problems.push(damaged(&at, &name, crc, seen.crc));
            }
        }
    }
    refuse(&problems)
}

/// Compares the sizes and digests of a table's files without reading the files. Returns the files
/// to read, each with the record to store if the bytes are correct.
fn compare(
    host: &Agent,
    at: &Path,
    table: &TableRecord,
    found: &BTreeMap<String, Entry>,
    which: Reading,
    problems: &mut Vec<String>,
) -> Vec<(String, CheckedFile)> {
    let mut unread = Vec::new();
    let mut look = |file: &sstables::File, crc: Option<u32>| {
        let path = at.join(&file.name);
        let Some(entry) = found.get(&file.name) else {
            return Some(format!("{} is missing", path.display()));
        };
        if entry.bytes != file.bytes {
            return Some(format!(
                "{} has {} bytes instead of {}",
                path.display(),
                entry.bytes,
                file.bytes
            ));
        }
        // Without a checksum in the manifest, only the size can be compared.
        let seen = crc.map(|crc| CheckedFile {
            agent: host.process(),
            id: entry.id,
            bytes: entry.bytes,
            crc,
        });
        let seen = seen.filter(|seen| which == Reading::Always || !is_known(seen));
        unread.extend(seen.map(|seen| (file.name.clone(), seen)));
        None
    };
    for sstable in &table.sstables {
        let named = |end: &str| format!("{}{end}", sstable.prefix);
        match found.get(&named(sstables::DIGEST)).map(|one| sstables::read_digest(at, one)) {
            Some(Ok(Some(digest))) if digest != sstable.digest => {
                let path = at.join(named(sstables::DIGEST));
                problems.push(format!(
                    "the digest in {} differs from the digest that the snapshot recorded",
                    path.display()
                ));
            }
            Some(Err(error)) => problems.push(format!("{error:#}")),
            // The loop below reports a missing digest file.
            _ => {}
        }
        for file in &sstable.files {
            let is_data = file.name == named(sstables::DATA);
            let crc = if is_data {
                Some(sstable.digest)
            } else {
                file.crc32
            };
            problems.extend(look(file, crc));
        }
    }
    problems.extend(table.indexes.iter().filter_map(|file| look(file, file.crc32)));
    unread
}

/// Makes the next check read all files again.
pub fn doubt() {
    CHECKED_FILES.lock().unwrap_or_else(PoisonError::into_inner).clear();
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

fn damaged(folder: &Path, name: &str, found: u32, expected: u32) -> String {
    format!(
        "{} is damaged: its CRC-32 is {found} instead of {expected}",
        folder.join(name).display()
    )
}

fn is_known(seen: &CheckedFile) -> bool {
    let known = CHECKED_FILES.lock().unwrap_or_else(PoisonError::into_inner);
    known.contains(seen)
}

fn remember(seen: CheckedFile) {
    CHECKED_FILES.lock().unwrap_or_else(PoisonError::into_inner).insert(seen);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::manifest::TableRecord;
    use std::path::PathBuf;

    /// Creates a snapshot of one table. Returns its folder, its agent, and the folder of the
    /// table's files.
    fn snapshot(root: &Path) -> (PathBuf, Agent, PathBuf) {
        let host = agent::in_thread(root).unwrap();
        let folder = manifest::folder(root, "s");
        let table = manifest::table_folder(&folder, "k", "t");
        sstables::tests::write(&table, "nb-1-big-", b"some rows");
        sstables::tests::write(&table.join(".index"), "nb-1-big-", b"an index");
        let mut manifest = Manifest::new("s", "k", "5.0.8", Vec::new());
        let mut files = sstables::scan(&host, &table).unwrap();
        seal(&host, &table, &mut files).unwrap();
        manifest.tables.push(TableRecord::new("t".into(), "00".into(), None, files));
        host.change(vec![manifest.write(&folder).unwrap()]).unwrap();
        (folder, host, table)
    }

    fn why(host: &Agent, folder: &Path, which: Reading) -> String {
        match check(host, folder, which) {
            Ok(()) => "whole".to_string(),
            Err(error) => format!("{error:#}"),
        }
    }

    /// A real server imported and served four changed bytes without an error.
    #[test]
    fn a_changed_byte_in_any_file_is_found_by_its_name() {
        let root = tempfile::tempdir().unwrap();
        let (folder, host, table) = snapshot(root.path());
        assert_eq!(why(&host, &folder, Reading::Once), "whole");
        let files = sstables::scan(&host, &table).unwrap();
        let names: Vec<String> = files.all().map(|file| file.name.clone()).collect();
        assert_eq!(names.len(), 6, "{names:?}");
        for name in names {
            let path = table.join(&name);
            let before = std::fs::read(&path).unwrap();
            let mut after = before.clone();
            after[0] ^= 1;
            std::fs::write(&path, &after).unwrap();
            // The clock of a file system may not advance for some milliseconds.
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(std::time::UNIX_EPOCH).unwrap();
            let text = why(&host, &folder, Reading::Once);
            assert!(text.contains(&name), "{name}: {text}");
            std::fs::remove_file(&path).unwrap();
            assert!(
                why(&host, &folder, Reading::Once).contains("is missing"),
                "{name}"
            );
            std::fs::write(&path, [&before[..], b"x"].concat()).unwrap();
            assert!(
                why(&host, &folder, Reading::Once).contains("bytes instead of"),
                "{name}"
            );
            std::fs::write(&path, &before).unwrap();
            assert_eq!(why(&host, &folder, Reading::Once), "whole", "{name}");
        }
    }

    #[test]
    fn a_file_is_read_once_and_again_after_a_doubt() {
        let root = tempfile::tempdir().unwrap();
        let (folder, host, table) = snapshot(root.path());
        let path = table.join("nb-1-big-Data.db");
        assert_eq!(why(&host, &folder, Reading::Once), "whole");
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        let modified = file.metadata().unwrap().modified().unwrap();
        std::os::unix::fs::FileExt::write_at(&file, b"X", 0).unwrap();
        // A failing disk returns different bytes with unchanged metadata.
        file.set_modified(modified).unwrap();
        assert_eq!(why(&host, &folder, Reading::Once), "whole");
        assert!(why(&host, &folder, Reading::Always).contains("is damaged"));
        doubt();
        assert!(why(&host, &folder, Reading::Once).contains("nb-1-big-Data.db is damaged"));
    }

    #[test]
    fn data_that_is_damaged_before_it_is_put_away_is_refused() {
        let root = tempfile::tempdir().unwrap();
        sstables::tests::write(root.path(), "nb-1-big-", b"some rows");
        std::fs::write(root.path().join("nb-1-big-Digest.crc32"), "7").unwrap();
        let host = agent::in_thread(root.path()).unwrap();
        let mut files = sstables::scan(&host, root.path()).unwrap();
        let error = format!("{:#}", seal(&host, root.path(), &mut files).unwrap_err());
        assert!(error.contains("instead of 7"), "{error}");
    }

    #[test]
    fn a_snapshot_of_an_older_version_is_checked_where_possible() {
        let root = tempfile::tempdir().unwrap();
        let (folder, host, table) = snapshot(root.path());
        let text = std::fs::read_to_string(folder.join("manifest.json")).unwrap();
        let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
        for file in json["tables"][0]["sstables"][0]["files"].as_array_mut().unwrap() {
            file.as_object_mut().unwrap().remove("crc32");
        }
        std::fs::write(folder.join("manifest.json"), json.to_string()).unwrap();
        assert_eq!(why(&host, &folder, Reading::Once), "whole");
        std::fs::write(table.join("nb-1-big-Data.db"), b"same size").unwrap();
        assert!(why(&host, &folder, Reading::Always).contains("Data.db is damaged"));
    }
}
