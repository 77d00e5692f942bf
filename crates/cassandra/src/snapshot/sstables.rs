//! Reads the SSTables of a table from a folder, and compares tables.
//!
//! File names change with every import. So cassay identifies an SSTable by its `Digest.crc32` (the
//! CRC-32 of its `Data.db`) and the size of `Data.db`. The multiset of these identities remains the
//! same after every restore, and differs between nodes. If the files are not accessible, as on
//! attached clusters, cassay compares the server's counts instead.

use anyhow::{Context, Result};
use data_encoding::HEXLOWER;
use host::{Agent, Entry, FileId};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::Path;

/// Component that contains the rows.
pub const DATA: &str = "Data.db";

/// Component that contains the CRC-32 of [`DATA`] as a decimal number.
pub const DIGEST: &str = "Digest.crc32";

/// Number of hexadecimal digits of a fingerprint in messages. 64 bits distinguish all layouts in a
/// laboratory.
const HEX_DIGITS_SHOWN: usize = 16;

/// Layout of a set of tables on one node. [`fmt::Display`] writes 16 hexadecimal digits of a hash.
/// Equal layouts have equal hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint {
    pub tables: BTreeMap<String, TableLayout>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableLayout {
    pub sstables: u64,
    /// Total size of the SSTables' files, in bytes.
    pub bytes: u64,
    /// Number of SSTables per level. `None` if the compaction strategy has no levels, or the server
    /// does not report levels.
    pub levels: Option<Vec<u64>>,
    /// Identities in ascending order. `None` if the files are not accessible.
    pub identities: Option<Vec<SstableIdentity>>,
}

/// Identity of an SSTable, independent of file names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SstableIdentity {
    /// CRC-32 of `Data.db`, as the server recorded it.
    pub digest: u32,
    /// Size of `Data.db` in bytes.
    pub data_bytes: u64,
}

impl Fingerprint {
    /// Describes the first difference of each table from the expected layout. Returns `None` for
    /// equal layouts. Compares levels only if both layouts have levels, because a change of the
    /// compaction strategy does not change the files.
    pub fn difference(&self, wanted: &Fingerprint) -> Option<String> {
        let mut differences = Vec::new();
        for (name, wanted) in &wanted.tables {
            let found = self.tables.get(name).cloned().unwrap_or_default();
            if let Some(difference) = found.difference(wanted) {
                differences.push(format!("table {name} {difference}"));
            }
        }
        (!differences.is_empty()).then(|| differences.join("; "))
    }

    pub fn sstables(&self) -> u64 {
        self.tables.values().map(|table| table.sstables).sum()
    }

    /// Returns the total size of all tables' files, in bytes.
    pub fn bytes(&self) -> u64 {
        self.tables.values().map(|table| table.bytes).sum()
    }
}

impl TableLayout {
    /// Describes the first difference from the expected layout. Returns `None` for equal layouts.
    pub fn difference(&self, wanted: &TableLayout) -> Option<String> {
        if self.sstables != wanted.sstables {
            return Some(format!(
                "has {} SSTables instead of {}",
                self.sstables, wanted.sstables
            ));
        }
        match (&self.identities, &wanted.identities) {
            (Some(found), Some(wanted)) if found != wanted => {
                let foreign = found.iter().filter(|one| !wanted.contains(one)).count();
                let missing = wanted.iter().filter(|one| !found.contains(one)).count();
                return Some(format!(
                    "lacks {missing} of the {} SSTables of the snapshot, and has {foreign} other \
                     SSTables (by CRC-32 and size of Data.db)",
                    wanted.len()
                ));
            }
            (Some(_), Some(_)) => {}
            _ if self.bytes != wanted.bytes => {
                return Some(format!(
                    "has {} bytes instead of {}",
                    self.bytes, wanted.bytes
                ));
            }
            _ => {}
        }
        match (&self.levels, &wanted.levels) {
            (Some(found), Some(wanted)) if found != wanted => Some(format!(
                "has SSTables in the levels {found:?} instead of {wanted:?}"
            )),
            _ => None,
        }
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut hash = Sha256::new();
        for (name, table) in &self.tables {
            hash.update(format!("{name} {}\n", table.sstables));
            match &table.identities {
                Some(identities) => {
                    for one in identities {
                        hash.update(format!("{} {}\n", one.digest, one.data_bytes));
                    }
                }
                None => hash.update(format!("{} bytes\n", table.bytes)),
            }
            if let Some(levels) = &table.levels {
                hash.update(format!("levels {levels:?}\n"));
            }
        }
        let digits = HEXLOWER.encode(&hash.finalize());
        f.write_str(&digits[..HEX_DIGITS_SHOWN])
    }
}

/// SSTable: a group of files in one folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sstable {
    /// Common prefix of the file names, such as `nb-10-big-`.
    pub prefix: String,
    pub identity: SstableIdentity,
    pub files: Vec<File>,
}

/// File below a table's folder.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct File {
    /// Name of the file, or `.index/name` in an index folder.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// CRC-32 of the bytes at the creation of the snapshot. `None` for live files and in older
    /// snapshots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crc32: Option<u32>,
}

/// Files of a live table, or of a table in a snapshot.
#[derive(Clone, Debug, Default)]
pub struct TableFiles {
    /// Complete SSTables, by prefix.
    pub sstables: Vec<Sstable>,
    /// Files of the indexes' SSTables, which are in separate folders (`.index/`).
    pub indexes: Vec<File>,
    /// Number of incomplete SSTables, which the server is writing or deleting.
    pub incomplete: u64,
    pub ids: HashMap<String, FileId>,
}

impl TableFiles {
    /// Returns the layout of the table. `levels` contains the number of SSTables per level.
    pub fn layout(&self, levels: Option<Vec<u64>>) -> TableLayout {
        let mut identities: Vec<_> = self.sstables.iter().map(|one| one.identity).collect();
        identities.sort_unstable();
        let files = self.sstables.iter().flat_map(|one| &one.files);
        TableLayout {
            // An incomplete SSTable also counts, because it makes the state of the table undefined.
            sstables: self.sstables.len() as u64 + self.incomplete,
            bytes: files.map(|file| file.bytes).sum(),
            levels,
            identities: Some(identities),
        }
    }

    /// Returns all files, including those of indexes.
    pub fn all(&self) -> impl Iterator<Item = &File> {
        let of_sstables = self.sstables.iter().flat_map(|one| &one.files);
        of_sstables.chain(&self.indexes)
    }
}

/// Reads the SSTables of a folder. A missing folder is empty.
///
/// # Errors
/// The folder or a digest cannot be read.
pub fn scan(host: &Agent, folder: &Path) -> Result<TableFiles> {
    let mut found = TableFiles::default();
    let mut groups: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for (name, entry) in entries(host, folder)? {
        found.ids.insert(name.clone(), entry.id);
        match name.rsplit_once('-') {
            _ if name.contains('/') => found.indexes.push(file(entry)),
            Some((prefix, _)) => groups.entry(format!("{prefix}-")).or_default().push(entry),
            None => {}
        }
    }
    for (prefix, files) in groups {
        match sstable(folder, prefix, files)? {
            Some(sstable) => found.sstables.push(sstable),
            None => found.incomplete += 1,
        }
    }
    Ok(found)
}

/// Returns the SSTable files in a folder and its index folders, by name. A digest file includes its
/// text. SSTable files have names such as `nb-10-big-Data.db`, unlike the server's manifest.json,
/// schema.cql and logs.
///
/// # Errors
/// The host cannot list a folder.
pub fn entries(host: &Agent, folder: &Path) -> Result<BTreeMap<String, Entry>> {
    let mut found = BTreeMap::new();
    let in_folder = |folder: &Path| -> Result<Vec<Entry>> {
        let entries = host.list(folder, Some(DIGEST))?;
        Ok(entries.unwrap_or_default())
    };
    let mut add = |entry: Entry| {
        if !entry.is_folder && entry.name.contains('-') {
            found.insert(entry.name.clone(), entry);
        }
    };
    for entry in in_folder(folder)? {
        if entry.is_folder && entry.name.starts_with('.') {
            for mut file in in_folder(&folder.join(&entry.name))? {
                file.name = format!("{}/{}", entry.name, file.name);
                add(file);
            }
        } else {
            add(entry);
        }
    }
    Ok(found)
}

fn file(entry: Entry) -> File {
    File {
        name: entry.name,
        bytes: entry.bytes,
        crc32: None,
    }
}

/// Builds an SSTable. Returns `None` if the data file or the digest is missing.
fn sstable(folder: &Path, prefix: String, files: Vec<Entry>) -> Result<Option<Sstable>> {
    let named = |end: &str| files.iter().find(|file| file.name[prefix.len()..] == *end);
    let Some(data_bytes) = named(DATA).map(|file| file.bytes) else {
        return Ok(None);
    };
    let digest = named(DIGEST).map(|file| read_digest(folder, file));
    let Some(digest) = digest.transpose()?.flatten() else {
        return Ok(None);
    };
    Ok(Some(Sstable {
        prefix,
        identity: SstableIdentity { digest, data_bytes },
        files: files.into_iter().map(file).collect(),
    }))
}

/// Parses the content of a `Digest.crc32`. Returns `None` if the file is still empty.
///
/// # Errors
/// The content is not a decimal CRC-32.
pub fn read_digest(folder: &Path, file: &Entry) -> Result<Option<u32>> {
    let text = file.text.as_deref().map(str::trim).unwrap_or("?");
    if text.is_empty() {
        return Ok(None);
    }
    let digest = text.parse();
    let path = folder.join(&file.name);
    let digest = digest.with_context(|| format!("{} does not contain a CRC-32", path.display()))?;
    Ok(Some(digest))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::snapshot) fn write(folder: &Path, prefix: &str, data: &[u8]) {
        std::fs::create_dir_all(folder).unwrap();
        let digest = crc32fast::hash(data).to_string();
        for (name, bytes) in [(DATA, data), (DIGEST, digest.as_bytes()), ("TOC.txt", b"x")] {
            std::fs::write(folder.join(format!("{prefix}{name}")), bytes).unwrap();
        }
    }

    fn fingerprint(host: &Agent, folder: &Path, levels: Option<Vec<u64>>) -> Fingerprint {
        let layout = scan(host, folder).unwrap().layout(levels);
        Fingerprint {
            tables: BTreeMap::from([("t".to_string(), layout)]),
        }
    }

    #[test]
    fn renamed_sstables_keep_their_fingerprint() {
        let root = tempfile::tempdir().unwrap();
        let host = agent::in_thread(root.path()).unwrap();
        let (a, b) = (root.path().join("a"), root.path().join("b"));
        write(&a, "nb-1-big-", b"one");
        write(&a, "nb-10-big-", b"two");
        write(&b, "da-3gr5_0abc-bti-", b"two");
        write(&b, "nb-7-big-", b"one");
        std::fs::write(b.join("manifest.json"), "{}").unwrap();
        std::fs::create_dir_all(b.join("snapshots/x-y")).unwrap();
        let (a, b) = (fingerprint(&host, &a, None), fingerprint(&host, &b, None));
        assert_eq!(a.difference(&b), None);
        assert_eq!(a.to_string(), b.to_string());
        assert_eq!((a.sstables(), a.to_string().len()), (2, HEX_DIGITS_SHOWN));
    }

    #[test]
    fn a_difference_is_named() {
        let root = tempfile::tempdir().unwrap();
        let host = agent::in_thread(root.path()).unwrap();
        let folder = |name: &str, data: &[&[u8]]| {
            let folder = root.path().join(name);
            for (index, data) in data.iter().enumerate() {
                write(&folder, &format!("nb-{index}-big-"), data);
            }
            folder
        };
        let wanted = folder("wanted", &[b"one", b"two"]);
        let is = |found: &Path, part: &str| {
            let found = fingerprint(&host, found, None);
            let wanted = fingerprint(&host, &wanted, None);
            let text = found.difference(&wanted).expect("a difference");
            assert!(text.contains(part), "{text}");
            assert_ne!(found.to_string(), wanted.to_string());
        };
        is(
            &folder("twice", &[b"one", b"two", b"one", b"two"]),
            "4 SSTables instead of 2",
        );
        is(
            &folder("other", &[b"one", b"six"]),
            "lacks 1 of the 2 SSTables of the snapshot, and has 1 other",
        );
        is(
            &folder("same", &[b"one", b"one"]),
            "lacks 1 of the 2 SSTables of the snapshot, and has 0 other",
        );
        is(&root.path().join("absent"), "0 SSTables instead of 2");
        let half = folder("half", &[b"one", b"two"]);
        std::fs::remove_file(half.join("nb-1-big-Digest.crc32")).unwrap();
        is(&half, "lacks 1 of the 2 SSTables");
        let levels = |levels: &[u64]| fingerprint(&host, &wanted, Some(levels.to_vec()));
        let text = levels(&[2, 0]).difference(&levels(&[0, 2])).unwrap();
        assert!(text.contains("levels [2, 0] instead of [0, 2]"), "{text}");
        let without = fingerprint(&host, &wanted, None);
        assert_eq!(levels(&[2]).difference(&without), None);
    }

    #[test]
    fn counts_stand_in_for_files_that_are_out_of_sight() {
        let seen = |sstables, bytes| Fingerprint {
            tables: BTreeMap::from([(
                "t".to_string(),
                TableLayout {
                    sstables,
                    bytes,
                    levels: None,
                    identities: None,
                },
            )]),
        };
        assert_eq!(seen(2, 9).difference(&seen(2, 9)), None);
        let text = seen(2, 8).difference(&seen(2, 9)).unwrap();
        assert!(text.contains("8 bytes instead of 9"), "{text}");
        assert_ne!(seen(2, 8).to_string(), seen(2, 9).to_string());
    }

    #[test]
    fn files_of_an_index_are_kept_but_do_not_count() {
        let root = tempfile::tempdir().unwrap();
        let host = agent::in_thread(root.path()).unwrap();
        write(root.path(), "nb-1-big-", b"one");
        let alone = fingerprint(&host, root.path(), None);
        write(&root.path().join(".by_city"), "nb-1-big-", b"index");
        let found = scan(&host, root.path()).unwrap();
        let names: Vec<&str> = found.indexes.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names[0], ".by_city/nb-1-big-Data.db");
        assert_eq!(names.len(), 3);
        assert_eq!(fingerprint(&host, root.path(), None), alone);
    }
}
