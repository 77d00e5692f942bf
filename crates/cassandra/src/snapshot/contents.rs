//! Contents of tables as comparable numbers, such as rows, SSTables per level and format versions.
//!
//! If the fingerprints ([`super::sstables::Fingerprint`]) of two nodes differ, these numbers show
//! by how much. They come from the SSTables, so they are also available for a snapshot that no
//! server has loaded.

use super::hard_links::TableNow;
use super::manifest::{self, Manifest};
use super::sstables::{DATA, Sstable, TableFiles};
use super::statistics::{self, Counts};
use anyhow::Result;
use host::Agent;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Suffix of the component with the numbers of partitions and rows.
const STATISTICS: &str = "Statistics.db";

/// Suffix of the component with the compression parameters.
const COMPRESSION: &str = "CompressionInfo.db";

/// Number of bytes at the beginning of the component [`COMPRESSION`] that contain the name and the
/// options of the compressor, and the uncompressed size.
const COMPRESSION_BYTES: usize = 16 << 10;

/// Maximum size of a `Statistics.db` that cassay reads, in bytes. Servers write tens of kB.
const STATISTICS_BYTES_MAX: u64 = 4 << 20;

/// Contents of a table on one node, summed over all SSTables of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableContents {
    /// Number of rows, summed over the SSTables. A row in two SSTables counts twice, and a deleted
    /// row counts once. `None` if an SSTable does not contain the number of its rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Number of partitions, summed over the SSTables. A partition in two SSTables counts twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partitions: Option<u64>,
    /// Total size of all `Data.db` files, in bytes.
    pub data_bytes: u64,
    /// Size of the same data before compression, in bytes. `None` if an SSTable does not contain
    /// this size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncompressed_bytes: Option<u64>,
    /// Number of SSTables.
    pub sstables: u64,
    /// Number of SSTables per level, if the compaction strategy has levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<Vec<u64>>,
    /// Number of SSTables by format version, such as `nb`, `oa` or `da`.
    pub formats: BTreeMap<String, u64>,
}

impl TableContents {
    /// Returns the average number of bytes in `Data.db` per row. `None` if the number of rows is 0
    /// or unknown.
    pub fn bytes_per_row(&self) -> Option<f64> {
        let rows = self.rows.filter(|rows| *rows > 0)?;
        Some(self.data_bytes as f64 / rows as f64)
    }

    /// Returns the size on disk divided by the uncompressed size. `None` if the latter is 0 or
    /// unknown.
    pub fn compression_ratio(&self) -> Option<f64> {
        let whole = self.uncompressed_bytes.filter(|bytes| *bytes > 0)?;
        Some(self.data_bytes as f64 / whole as f64)
    }
}

/// Contents of a node's tables, by table name.
pub type NodeContents = BTreeMap<String, TableContents>;

/// Returns the format version from a file name prefix, such as `nb` from `nb-10-big-`.
pub fn format_of(prefix: &str) -> &str {
    prefix.split('-').next().unwrap_or_default()
}

/// Returns the contents of a table with files in `folder`.
///
/// # Errors
/// A file cannot be read. A file that cannot be parsed is not an error: its numbers are absent.
pub fn read_table(
    host: &Agent,
    folder: &Path,
    files: &TableFiles,
    levels: Option<Vec<u64>>,
) -> Result<TableContents> {
    let mut sum = TableContents {
        rows: Some(0),
        partitions: Some(0),
        uncompressed_bytes: Some(0),
        sstables: files.sstables.len() as u64,
        levels,
        ..TableContents::default()
    };
    for sstable in &files.sstables {
        let counts = counts(host, folder, sstable)?;
        let rows = counts.and_then(|counts| counts.rows);
        sum.rows = added(sum.rows, rows);
        sum.partitions = added(sum.partitions, counts.map(|counts| counts.partitions));
        let whole = uncompressed_bytes(host, folder, sstable)?;
        sum.uncompressed_bytes = added(sum.uncompressed_bytes, whole);
        sum.data_bytes = sum.data_bytes.saturating_add(sstable.identity.data_bytes);
        *sum.formats.entry(format_of(&sstable.prefix).to_owned()).or_default() += 1;
    }
    Ok(sum)
}

fn added(sum: Option<u64>, one: Option<u64>) -> Option<u64> {
    sum?.checked_add(one?)
}

fn counts(host: &Agent, folder: &Path, sstable: &Sstable) -> Result<Option<Counts>> {
    let name = format!("{}{STATISTICS}", sstable.prefix);
    let file = sstable.files.iter().find(|file| file.name == name);
    let Some(file) = file.filter(|file| file.bytes <= STATISTICS_BYTES_MAX) else {
        return Ok(None);
    };
    let bytes = host.read(&folder.join(&file.name))?;
    Ok(statistics::counts(format_of(&sstable.prefix), &bytes))
}

fn uncompressed_bytes(host: &Agent, folder: &Path, sstable: &Sstable) -> Result<Option<u64>> {
    let name = format!("{}{COMPRESSION}", sstable.prefix);
    if !sstable.files.iter().any(|file| file.name == name) {
        // An uncompressed SSTable has no `CompressionInfo.db`.
        let data = sstable.files.iter().find(|file| file.name[sstable.prefix.len()..] == *DATA);
        return Ok(data.map(|data| data.bytes));
    }
    let path = folder.join(name);
    let piece = host.piece(&path, host::From::Byte(0))?;
    let mut bytes = piece.map(|piece| piece.bytes.0).unwrap_or_default();
    bytes.truncate(COMPRESSION_BYTES);
    Ok(statistics::uncompressed_bytes(&bytes))
}

/// Returns the contents of a node's part of a snapshot.
///
/// # Errors
/// A file cannot be read.
pub fn read_snapshot(host: &Agent, folder: &Path, manifest: &Manifest) -> Result<NodeContents> {
    let of = |table: &manifest::TableRecord| {
        let at = manifest::table_folder(folder, &manifest.keyspace, &table.name);
        let contents = read_table(host, &at, &table.files(), table.levels.clone())?;
        Ok((table.name.clone(), contents))
    };
    manifest.tables.iter().map(of).collect()
}

/// # Errors
/// A file cannot be read.
pub fn read_tables(host: &Agent, tables: &[TableNow]) -> Result<NodeContents> {
    let of = |table: &TableNow| {
        let contents = read_table(host, &table.folder, &table.files, table.levels.clone())?;
        Ok((table.name.clone(), contents))
    };
    tables.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::sstables;

    #[test]
    fn sstables_of_two_formats_are_added_up_by_what_they_say() {
        let root = tempfile::tempdir().unwrap();
        let host = agent::in_thread(root.path()).unwrap();
        let folder = root.path().join("t");
        for (prefix, format) in [("nb-1-big-", "nb"), ("da-3gr5_0abc-bti-", "da")] {
            sstables::tests::write(&folder, prefix, &[b'x'; 100]);
            let put = |name: &str, bytes: Vec<u8>| {
                std::fs::write(folder.join(format!("{prefix}{name}")), bytes).unwrap();
            };
            put(STATISTICS, statistics::tests::statistics(format, 4, 10));
            put(COMPRESSION, statistics::tests::compression(400));
        }
        sstables::tests::write(&folder, "nb-2-big-", &[b'x'; 50]);
        let plain = statistics::tests::statistics("nb", 2, 5);
        std::fs::write(folder.join(format!("nb-2-big-{STATISTICS}")), plain).unwrap();
        let of = || {
            let files = sstables::scan(&host, &folder).unwrap();
            read_table(&host, &folder, &files, Some(vec![3, 0])).unwrap()
        };
        let found = of();
        assert_eq!((found.rows, found.partitions), (Some(25), Some(10)));
        assert_eq!(
            (found.data_bytes, found.uncompressed_bytes),
            (250, Some(850))
        );
        assert_eq!(found.bytes_per_row(), Some(10.0));
        assert_eq!(found.compression_ratio(), Some(250.0 / 850.0));
        let formats = [("da".to_owned(), 1), ("nb".to_owned(), 2)];
        assert_eq!(found.formats, BTreeMap::from(formats));
        // If one number is missing, the sum is unknown, because a partial sum would be too small.
        std::fs::remove_file(folder.join(format!("nb-2-big-{STATISTICS}"))).unwrap();
        let found = of();
        assert_eq!(
            (found.rows, found.partitions, found.sstables),
            (None, None, 3)
        );
        assert_eq!(found.bytes_per_row(), None);
    }
}
