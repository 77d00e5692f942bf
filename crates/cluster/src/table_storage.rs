//! Size of tables on the nodes' disks, and bytes written, as Cassandra counts them.

use crate::cluster::Cluster;
use anyhow::{Context, Result};
use cassandra::{Jolokia, NodeInfo, data_file, mbeans};
use serde_json::Value;
use std::collections::BTreeMap;

/// Storage of some tables, summed over all nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableStorage {
    /// Number of live SSTables.
    pub sstables: u64,
    /// Their bytes, including indexes and filters.
    pub live_bytes: u64,
    /// Bytes without compression, calculated from each table's compression ratio.
    pub uncompressed_bytes: f64,
    /// Bytes written by flushes since the nodes started, before compression.
    pub flushed_bytes: u64,
    /// Bytes written by finished compactions since the nodes started, after compression.
    pub compacted_bytes: u64,
}

/// Metrics of each table: name and attribute.
const ASKED: [(&str, &str); 5] = [
    ("LiveSSTableCount", "Value"),
    ("LiveDiskSpaceUsed", "Count"),
    ("CompressionRatio", "Value"),
    ("BytesFlushed", "Count"),
    ("CompactionBytesWritten", "Count"),
];

impl Cluster {
    /// Flushes tables of managed nodes and reads their storage. `None` for attached nodes, which
    /// cassay must not flush without permission.
    ///
    /// # Errors
    /// A node does not answer, or does not report it.
    pub fn flushed_storage(&self, keyspace: &str, tables: &[&str]) -> Result<Option<TableStorage>> {
        if self.local().is_none() {
            return Ok(None);
        }
        for node in self.nodes() {
            mbeans::flush(self.agent_of(node)?, keyspace, tables)?;
        }
        self.storage(keyspace, tables).map(Some)
    }

    /// Reads the storage of tables on managed nodes. Memtables do not count. `None` for attached
    /// nodes.
    ///
    /// # Errors
    /// As [`Cluster::flushed_storage`].
    pub fn table_storage(&self, keyspace: &str, tables: &[&str]) -> Result<Option<TableStorage>> {
        self.local().map(|_| self.storage(keyspace, tables)).transpose()
    }

    /// Returns the number of SSTables of these tables by format version, as in the file names.
    /// `None` for attached nodes.
    ///
    /// # Errors
    /// Their folders cannot be listed.
    pub fn sstable_formats(
        &self,
        keyspace: &str,
        tables: &[&str],
    ) -> Result<Option<BTreeMap<String, u64>>> {
        let Some(nodes) = self.local() else {
            return Ok(None);
        };
        let mut formats = BTreeMap::new();
        for place in nodes.files() {
            let files = data_file::all(place.host, place.folder, &[keyspace.to_owned()], None)?;
            for file in files.iter().filter(|file| tables.iter().any(|table| file.is_of(table))) {
                *formats.entry(file.format().to_owned()).or_default() += 1;
            }
        }
        Ok(Some(formats))
    }

    fn storage(&self, keyspace: &str, tables: &[&str]) -> Result<TableStorage> {
        let mut sum = TableStorage::default();
        for node in self.nodes() {
            let agent = self.agent_of(node)?;
            for table in tables {
                let read = read(agent, keyspace, table);
                sum.add(&read.with_context(|| format!("ask {} for {table}", node.name))?);
            }
        }
        Ok(sum)
    }

    fn agent_of(&self, node: &NodeInfo) -> Result<&Jolokia> {
        self.agent(&node.name).map_err(anyhow::Error::msg)
    }
}

impl TableStorage {
    fn add(&mut self, other: &TableStorage) {
        self.sstables += other.sstables;
        self.live_bytes += other.live_bytes;
        self.uncompressed_bytes += other.uncompressed_bytes;
        self.flushed_bytes += other.flushed_bytes;
        self.compacted_bytes += other.compacted_bytes;
    }

    /// Parses the answers to [`ASKED`].
    fn parse(answers: &[Option<Value>]) -> Option<TableStorage> {
        let answer = |index: usize| answers.get(index)?.as_ref();
        let count = |index: usize| answer(index)?.as_u64();
        let live_bytes = count(1)?;
        // Ratio compressed / uncompressed; below 0 if no SSTable is compressed.
        let ratio = answer(2)?.as_f64().filter(|ratio| *ratio > 0.0).unwrap_or(1.0);
        Some(TableStorage {
            sstables: count(0)?,
            live_bytes,
            uncompressed_bytes: live_bytes as f64 / ratio,
            flushed_bytes: count(3)?,
            compacted_bytes: count(4)?,
        })
    }
}

fn read(agent: &Jolokia, keyspace: &str, table: &str) -> Result<TableStorage> {
    let mbean = |(metric, attribute): (&str, &'static str)| {
        (mbeans::table_metric(keyspace, table, metric), attribute)
    };
    let asked = ASKED.map(mbean);
    let attributes = asked.each_ref().map(|(mbean, attribute)| (mbean.as_str(), *attribute));
    let answers = agent.read(&attributes)?;
    TableStorage::parse(&answers)
        .with_context(|| format!("the node does not report the size of {keyspace}.{table} on disk"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tables_that_are_compressed_and_those_that_are_not_are_added() {
        let of = |sstables: u64, live: u64, ratio: f64| {
            let answers = [
                json!(sstables),
                json!(live),
                json!(ratio),
                json!(7),
                json!(5),
            ];
            TableStorage::parse(&answers.map(Some)).expect("all answers")
        };
        let mut sum = of(2, 500, 0.5);
        assert_eq!(sum.uncompressed_bytes, 1000.0);
        sum.add(&of(1, 100, -1.0));
        assert_eq!((sum.live_bytes, sum.uncompressed_bytes), (600, 1100.0));
        assert_eq!((sum.flushed_bytes, sum.compacted_bytes), (14, 10));
        assert_eq!(TableStorage::parse(&[Some(json!(1)), None]), None);
    }
}
