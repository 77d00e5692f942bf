//! Manifest of a node's part of a snapshot (`snapshots/NAME/manifest.json`).
//!
//! A folder gets its final name only after cassay has written the manifest, so a snapshot with a
//! manifest is complete. The manifest includes the table definitions.

use super::sstables::{File, Fingerprint, Sstable, SstableIdentity, TableFiles};
use crate::node_files::NodeFiles;
use anyhow::{Context, Result, bail, ensure};
use host::{Agent, Entry, FileStep};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const FORMAT: u32 = 1;

const FILE: &str = "manifest.json";

/// Folder of all snapshots, within a node's folder. It is on the volume of Cassandra's data, but
/// `nodetool clearsnapshot` and DROP do not affect it.
const FOLDER: &str = "snapshots";

/// Maximum length of a snapshot name, which becomes part of a folder name on the server.
const NAME_CHARS_MAX: usize = 80;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u32,
    pub name: String,
    pub keyspace: String,
    /// Nanoseconds since 1970.
    pub created_unix_ns: u64,
    /// Cassandra version that wrote the files.
    pub version: String,
    /// Statements that create the keyspace and its tables.
    pub schema: Vec<String>,
    pub tables: Vec<TableRecord>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableRecord {
    pub name: String,
    /// Table id at the time of the snapshot, as 32 hexadecimal digits.
    pub id: String,
    /// Number of SSTables per level, if the compaction strategy has levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<Vec<u64>>,
    pub sstables: Vec<SstableRecord>,
    /// Files of indexes, which are in separate folders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indexes: Vec<File>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SstableRecord {
    /// Common prefix of the file names.
    pub prefix: String,
    /// CRC-32 of the data file.
    pub digest: u32,
    /// Size of the data file, in bytes.
    pub data_bytes: u64,
    pub files: Vec<File>,
}

impl TableRecord {
    pub fn new(name: String, id: String, levels: Option<Vec<u64>>, files: TableFiles) -> Self {
        let record = |one: Sstable| SstableRecord {
            prefix: one.prefix,
            digest: one.identity.digest,
            data_bytes: one.identity.data_bytes,
            files: one.files,
        };
        TableRecord {
            name,
            id,
            levels,
            sstables: files.sstables.into_iter().map(record).collect(),
            indexes: files.indexes,
        }
    }

    pub fn files(&self) -> TableFiles {
        let sstable = |one: &SstableRecord| Sstable {
            prefix: one.prefix.clone(),
            identity: SstableIdentity {
                digest: one.digest,
                data_bytes: one.data_bytes,
            },
            files: one.files.clone(),
        };
        TableFiles {
            sstables: self.sstables.iter().map(sstable).collect(),
            indexes: self.indexes.clone(),
            ..TableFiles::default()
        }
    }
}

impl Manifest {
    /// Creates a manifest without tables.
    pub fn new(name: &str, keyspace: &str, version: &str, schema: Vec<String>) -> Manifest {
        Manifest {
            format: FORMAT,
            name: name.to_string(),
            keyspace: keyspace.to_string(),
            created_unix_ns: measure::clock::unix_ns(),
            version: version.to_string(),
            schema,
            tables: Vec::new(),
        }
    }

    pub fn fingerprint(&self) -> Fingerprint {
        let layout = |table: &TableRecord| {
            let layout = table.files().layout(table.levels.clone());
            (table.name.clone(), layout)
        };
        Fingerprint {
            tables: self.tables.iter().map(layout).collect(),
        }
    }

    pub fn files_count(&self) -> u64 {
        let count = |table: &TableRecord| table.files().all().count() as u64;
        self.tables.iter().map(count).sum()
    }

    /// Returns the step that writes the manifest to a snapshot's folder.
    ///
    /// # Errors
    /// The manifest cannot be encoded.
    pub fn write(&self, snapshot: &Path) -> Result<FileStep> {
        let text = serde_json::to_vec_pretty(self).context("write the manifest")?;
        Ok(FileStep::write(snapshot.join(FILE), text))
    }

    /// Reads the manifest in a snapshot's folder.
    ///
    /// # Errors
    /// The manifest is missing, or has another format.
    pub fn read(host: &Agent, snapshot: &Path) -> Result<Manifest> {
        let path = snapshot.join(FILE);
        let manifest: Manifest = serde_json::from_slice(&host.read(&path)?)
            .with_context(|| format!("read {}", path.display()))?;
        manifest.check_format().with_context(|| path.display().to_string())?;
        Ok(manifest)
    }

    /// # Errors
    /// The format differs. The message contains both format numbers.
    pub fn check_format(&self) -> Result<()> {
        ensure!(
            self.format == FORMAT,
            "the manifest has the format {}, but this version of cassay supports only the format \
             {FORMAT}",
            self.format
        );
        Ok(())
    }
}

pub fn snapshots_folder(node: &Path) -> PathBuf {
    node.join(FOLDER)
}

pub fn folder(node: &Path, name: &str) -> PathBuf {
    snapshots_folder(node).join(name)
}

/// Returns the folder of a snapshot under construction. Its name is not a valid snapshot name.
pub fn folder_in_making(node: &Path, name: &str) -> PathBuf {
    snapshots_folder(node).join(format!(".making-{name}"))
}

/// Returns the folder of a table's files within a snapshot's folder.
pub fn table_folder(snapshot: &Path, keyspace: &str, table: &str) -> PathBuf {
    snapshot.join(keyspace).join(table)
}

/// Returns the sorted names of a node's complete snapshots.
///
/// # Errors
/// The host cannot list a folder.
pub fn names(place: &NodeFiles<'_>) -> Result<Vec<String>> {
    let folder = snapshots_folder(place.folder);
    let entries = place.host.list(&folder, None)?.unwrap_or_default();
    let mut names = Vec::new();
    for name in entries.into_iter().map(|entry| entry.name) {
        let inside = place.host.list(&folder.join(&name), None);
        let is_manifest = |entry: &Entry| entry.name == FILE && !entry.is_folder;
        if !name.starts_with('.') && inside?.unwrap_or_default().iter().any(is_manifest) {
            names.push(name);
        }
    }
    Ok(names)
}

/// Checks a name, which becomes the name of a folder and of a server's snapshot.
///
/// # Errors
/// The name is empty, longer than 80 characters, or contains characters other than letters, digits,
/// `-` and `_`.
pub fn check_name(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if name.is_empty() || name.chars().count() > NAME_CHARS_MAX || !name.chars().all(plain) {
        bail!(
            "cassay cannot use the snapshot name {name:?}: use 1 to {NAME_CHARS_MAX} letters, \
             digits, '-' and '_'"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::sstables;

    #[test]
    fn a_manifest_is_read_as_it_was_written_and_knows_its_files() {
        let root = tempfile::tempdir().unwrap();
        let host = agent::in_thread(root.path()).unwrap();
        let snapshot = folder(root.path(), "s1");
        let table = table_folder(&snapshot, "k", "t");
        sstables::tests::write(&table, "nb-1-big-", b"one");
        let mut manifest = Manifest::new("s1", "k", "5.0.8", vec!["CREATE KEYSPACE k".into()]);
        let files = sstables::scan(&host, &table).unwrap();
        let record = TableRecord::new("t".into(), "00ff".into(), Some(vec![1, 0]), files);
        manifest.tables.push(record);
        let place = NodeFiles::for_test(&host, root.path());
        assert_eq!(
            names(&place).unwrap(),
            Vec::<String>::new(),
            "the manifest is missing"
        );
        host.change(vec![manifest.write(&snapshot).unwrap()]).unwrap();
        let read = Manifest::read(&host, &snapshot).unwrap();
        assert_eq!(read, manifest);
        assert_eq!(read.files_count(), 3);
        let digits = crc32fast::hash(b"one").to_string().len() as u64;
        let found = read.fingerprint();
        assert_eq!((found.sstables(), found.bytes()), (1, 3 + digits + 1));
        assert_eq!(names(&place).unwrap(), ["s1"]);
    }

    #[test]
    fn another_format_is_refused_with_both_numbers() {
        let root = tempfile::tempdir().unwrap();
        let mut manifest = Manifest::new("s1", "k", "5.0.8", Vec::new());
        manifest.format = 9;
        let host = agent::in_thread(root.path()).unwrap();
        host.change(vec![manifest.write(root.path()).unwrap()]).unwrap();
        let error = format!("{:#}", Manifest::read(&host, root.path()).unwrap_err());
        assert!(
            error.contains(
                "has the format 9, but this version of cassay supports only the format 1"
            ),
            "{error}"
        );
        assert!(Manifest::read(&host, &root.path().join("absent")).is_err());
    }

    #[test]
    fn a_name_is_plain() {
        for good in ["s1", "after-load", "A_9"] {
            check_name(good).unwrap();
        }
        let long = "x".repeat(NAME_CHARS_MAX + 1);
        for bad in ["", ".making-x", "a/b", "..", "a b", "ä", &long] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
