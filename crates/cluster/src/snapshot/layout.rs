//! What SSTables a table consists of: read from a folder, and compared.
//!
//! File names change with every import, so that the identity of an SSTable is what stands in its
//! `Digest.crc32` (the CRC-32 of its whole `Data.db`) together with the size of `Data.db`. The
//! multiset of these is the same after every restore and differs between nodes. Where files are
//! out of sight (an attached cluster), the server's own counts take their place.

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// The component that holds the rows.
pub(super) const DATA: &str = "Data.db";

/// The component that holds the decimal CRC-32 of [`DATA`].
pub(super) const DIGEST: &str = "Digest.crc32";

/// How many hexadecimal digits a fingerprint is shown with: 64 bits tell any number of layouts
/// that one laboratory will ever see apart.
const HEX_DIGITS_SHOWN: usize = 16;

/// The layout of some tables on one node. [`fmt::Display`] gives 16 hexadecimal digits that are
/// equal exactly where layouts are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint {
    /// By name of the table.
    pub tables: BTreeMap<String, TableLayout>,
}

/// The SSTables of one table on one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableLayout {
    /// How many.
    pub sstables: u64,
    /// Bytes of all their files.
    pub bytes: u64,
    /// SSTables per level, where the compaction strategy has levels and the server told.
    pub levels: Option<Vec<u64>>,
    /// Each of them, ascending; none where files are out of sight.
    pub identities: Option<Vec<SstableIdentity>>,
}

/// What makes an SSTable this one, whatever its files are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SstableIdentity {
    /// CRC-32 of `Data.db`, as the server wrote it down.
    pub digest: u32,
    /// Size of `Data.db` in bytes.
    pub data_bytes: u64,
}

impl Fingerprint {
    /// How `self` differs from what it should be, in words; `None` if it does not.
    ///
    /// Levels are compared where both sides have them: a table whose compaction strategy was
    /// changed since is still the same files.
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

    /// SSTables of all tables.
    pub fn sstables(&self) -> u64 {
        self.tables.values().map(|table| table.sstables).sum()
    }

    /// Bytes of all files of all tables.
    pub fn bytes(&self) -> u64 {
        self.tables.values().map(|table| table.bytes).sum()
    }
}

impl TableLayout {
    pub(super) fn difference(&self, wanted: &TableLayout) -> Option<String> {
        if self.sstables != wanted.sstables {
            return Some(format!(
                "has {} SSTables instead of {}",
                self.sstables, wanted.sstables
            ));
        }
        match (&self.identities, &wanted.identities) {
            (Some(found), Some(wanted)) if found != wanted => {
                let foreign = found.iter().filter(|one| !wanted.contains(one)).count();
                return Some(format!(
                    "has {} SSTables, but {foreign} of them are not those of the snapshot \
                     (CRC-32 and size of Data.db)",
                    found.len()
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
                "has its SSTables in levels {found:?} instead of {wanted:?}"
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
        let digits = hash
            .finalize()
            .iter()
            .fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        f.write_str(&digits[..HEX_DIGITS_SHOWN])
    }
}

/// An SSTable as files of one folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sstable {
    /// What the names of its files begin with: `nb-10-big-`.
    pub prefix: String,
    pub identity: SstableIdentity,
    /// Its files, by name.
    pub files: Vec<File>,
}

/// A file below a table's folder.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct File {
    /// Its name, or for the file of an index in a folder of its own, `.index/name`.
    pub name: String,
    pub bytes: u64,
    /// Of its bytes when it was put away; absent of what is not, and in older snapshots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crc32: Option<u32>,
}

/// What stands in a table's folder, or in that of its snapshot.
#[derive(Clone, Debug, Default)]
pub(super) struct TableFiles {
    /// Whole SSTables, by name.
    pub sstables: Vec<Sstable>,
    /// SSTables of indexes that have folders of their own (`.index/`).
    pub indexes: Vec<File>,
    /// SSTables that are just being written or deleted: some component is missing.
    pub incomplete: u64,
}

impl TableFiles {
    pub fn layout(&self, levels: Option<Vec<u64>>) -> TableLayout {
        let mut identities: Vec<_> = self.sstables.iter().map(|one| one.identity).collect();
        identities.sort_unstable();
        let files = self.sstables.iter().flat_map(|one| &one.files);
        TableLayout {
            // What is incomplete counts: a table that has such a thing is in no known state.
            sstables: self.sstables.len() as u64 + self.incomplete,
            bytes: files.map(|file| file.bytes).sum(),
            levels,
            identities: Some(identities),
        }
    }

    /// All files, those of indexes too.
    pub fn all(&self) -> impl Iterator<Item = &File> {
        let of_sstables = self.sstables.iter().flat_map(|one| &one.files);
        of_sstables.chain(&self.indexes)
    }
}

/// Reads the SSTables of a folder; none if there is no such folder.
///
/// # Errors
/// The folder or a digest cannot be read.
pub(super) fn scan(folder: &Path) -> Result<TableFiles> {
    let context = || format!("read {}", folder.display());
    let mut found = TableFiles::default();
    let mut groups: BTreeMap<String, Vec<File>> = BTreeMap::new();
    for (name, is_folder, bytes) in entries(folder).with_context(context)? {
        if is_folder && name.starts_with('.') {
            let inside = entries(&folder.join(&name)).with_context(context)?;
            let inside = inside
                .into_iter()
                .filter(|(file, is_folder, _)| !is_folder && file.contains('-'));
            found.indexes.extend(inside.map(|(file, _, bytes)| File {
                name: format!("{name}/{file}"),
                bytes,
                crc32: None,
            }));
        }
        // `nb-10-big-Data.db`; the server's manifest.json, schema.cql and logs have no such form.
        if let Some((prefix, _)) = name.rsplit_once('-').filter(|_| !is_folder) {
            let file = File {
                name: name.clone(),
                bytes,
                crc32: None,
            };
            groups.entry(format!("{prefix}-")).or_default().push(file);
        }
    }
    found.indexes.sort_by(|a, b| a.name.cmp(&b.name));
    for (prefix, files) in groups {
        match sstable(folder, prefix, files)? {
            Some(sstable) => found.sstables.push(sstable),
            None => found.incomplete += 1,
        }
    }
    Ok(found)
}

/// `None` if it has no data or no digest.
fn sstable(folder: &Path, prefix: String, mut files: Vec<File>) -> Result<Option<Sstable>> {
    files.sort_by(|a, b| a.name.cmp(&b.name));
    let data = files.iter().find(|file| file.name[prefix.len()..] == *DATA);
    let Some(data_bytes) = data.map(|file| file.bytes) else {
        return Ok(None);
    };
    let Some(digest) = read_digest(&folder.join(format!("{prefix}{DIGEST}")))? else {
        return Ok(None);
    };
    Ok(Some(Sstable {
        prefix,
        identity: SstableIdentity { digest, data_bytes },
        files,
    }))
}

/// The number in a `Digest.crc32`; `None` if there is no such file, or nothing in it yet.
///
/// # Errors
/// It cannot be read, or holds something else.
pub(super) fn read_digest(path: &Path) -> Result<Option<u32>> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        text => text.with_context(|| format!("read {}", path.display()))?,
    };
    if text.trim().is_empty() {
        return Ok(None);
    }
    let digest = text.trim().parse();
    let digest = digest.with_context(|| format!("{} holds no CRC-32", path.display()))?;
    Ok(Some(digest))
}

/// Names in a folder, whether they are folders, and their sizes; what vanishes meanwhile is left
/// out, since servers delete files at any time.
fn entries(folder: &Path) -> std::io::Result<Vec<(String, bool, u64)>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        let name = entry.file_name().to_string_lossy().into_owned();
        found.push((name, metadata.is_dir(), metadata.len()));
    }
    Ok(found)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Writes an SSTable whose data is `data`.
    pub(in crate::snapshot) fn write(folder: &Path, prefix: &str, data: &[u8]) {
        std::fs::create_dir_all(folder).unwrap();
        let digest = crc32fast::hash(data).to_string();
        for (name, bytes) in [(DATA, data), (DIGEST, digest.as_bytes()), ("TOC.txt", b"x")] {
            std::fs::write(folder.join(format!("{prefix}{name}")), bytes).unwrap();
        }
    }

    fn fingerprint(folder: &Path, levels: Option<Vec<u64>>) -> Fingerprint {
        let layout = scan(folder).unwrap().layout(levels);
        Fingerprint {
            tables: BTreeMap::from([("t".to_string(), layout)]),
        }
    }

    #[test]
    fn the_same_sstables_under_other_names_have_the_same_fingerprint() {
        let root = tempfile::tempdir().unwrap();
        let (a, b) = (root.path().join("a"), root.path().join("b"));
        write(&a, "nb-1-big-", b"one");
        write(&a, "nb-10-big-", b"two");
        write(&b, "da-3gr5_0abc-bti-", b"two");
        write(&b, "nb-7-big-", b"one");
        // What belongs to no SSTable does not count.
        std::fs::write(b.join("manifest.json"), "{}").unwrap();
        std::fs::create_dir_all(b.join("snapshots/x-y")).unwrap();
        let (a, b) = (fingerprint(&a, None), fingerprint(&b, None));
        assert_eq!(a.difference(&b), None);
        assert_eq!(a.to_string(), b.to_string());
        assert_eq!((a.sstables(), a.to_string().len()), (2, HEX_DIGITS_SHOWN));
    }

    #[test]
    fn a_difference_is_named() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: &str, data: &[&[u8]]| {
            let folder = root.path().join(name);
            for (index, data) in data.iter().enumerate() {
                write(&folder, &format!("nb-{index}-big-"), data);
            }
            folder
        };
        let wanted = folder("wanted", &[b"one", b"two"]);
        let is = |found: &Path, part: &str| {
            let found = fingerprint(found, None);
            let wanted = fingerprint(&wanted, None);
            let text = found.difference(&wanted).expect("a difference");
            assert!(text.contains(part), "{text}");
            assert_ne!(found.to_string(), wanted.to_string());
        };
        // What importing twice gives: the rows are the same, the SSTables are not.
        is(
            &folder("twice", &[b"one", b"two", b"one", b"two"]),
            "4 SSTables instead of 2",
        );
        is(
            &folder("other", &[b"one", b"six"]),
            "1 of them are not those of the snapshot",
        );
        is(&folder("same", &[b"one", b"one"]), "0 of them");
        is(&root.path().join("absent"), "0 SSTables instead of 2");
        let half = folder("half", &[b"one", b"two"]);
        std::fs::remove_file(half.join("nb-1-big-Digest.crc32")).unwrap();
        is(&half, "are not those");
        let levels = |levels: &[u64]| fingerprint(&wanted, Some(levels.to_vec()));
        let text = levels(&[2, 0]).difference(&levels(&[0, 2])).unwrap();
        assert!(text.contains("levels [2, 0] instead of [0, 2]"), "{text}");
        assert_eq!(levels(&[2]).difference(&fingerprint(&wanted, None)), None);
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
        write(root.path(), "nb-1-big-", b"one");
        let alone = fingerprint(root.path(), None);
        write(&root.path().join(".by_city"), "nb-1-big-", b"index");
        let found = scan(root.path()).unwrap();
        let names: Vec<&str> = found
            .indexes
            .iter()
            .map(|file| file.name.as_str())
            .collect();
        assert_eq!(names[0], ".by_city/nb-1-big-Data.db");
        assert_eq!(names.len(), 3);
        assert_eq!(fingerprint(root.path(), None), alone);
    }
}
