//! Storage of tables according to Cassandra: size on disk, and number of written bytes.

use crate::jolokia::Jolokia;
use crate::mbeans;
use crate::node::Node;
use anyhow::{Context, Result};
use serde_json::Value;

/// Storage of a set of tables, on one node or summed over nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableStorage {
    /// Number of live SSTables.
    pub sstables: u64,
    /// Size of live SSTables in bytes, including indexes and filters.
    pub live_bytes: u64,
    /// Uncompressed size in bytes, computed from each table's compression ratio.
    pub uncompressed_bytes: f64,
    /// Number of uncompressed bytes that flushes have written since the nodes started.
    pub flushed_bytes: u64,
    /// Number of compressed bytes that finished compactions have written since the nodes started.
    pub compacted_bytes: u64,
}

/// Metrics of each table, each with its name and attribute.
const TABLE_METRICS: [(&str, &str); 5] = [
    ("LiveSSTableCount", "Value"),
    ("LiveDiskSpaceUsed", "Count"),
    ("CompressionRatio", "Value"),
    ("BytesFlushed", "Count"),
    ("CompactionBytesWritten", "Count"),
];

impl Node<'_> {
    /// Flushes the memtables of tables, and waits until the data is on disk.
    ///
    /// # Errors
    /// The node does not answer, or refuses the operation.
    pub fn flush(&self, keyspace: &str, tables: &[&str]) -> Result<()> {
        mbeans::flush(self.agent()?, keyspace, tables)
    }

    /// Reads the storage of tables, without memtables.
    ///
    /// # Errors
    /// The node does not answer, or does not report its storage.
    pub fn table_storage(&self, keyspace: &str, tables: &[&str]) -> Result<TableStorage> {
        let agent = self.agent()?;
        let mut sum = TableStorage::default();
        for table in tables {
            let read = read(agent, keyspace, table);
            sum.add(
                &read.with_context(|| format!("ask {} for the storage of {table}", self.name()))?,
            );
        }
        Ok(sum)
    }
}

impl TableStorage {
    pub fn add(&mut self, other: &TableStorage) {
        self.sstables += other.sstables;
        self.live_bytes += other.live_bytes;
        self.uncompressed_bytes += other.uncompressed_bytes;
        self.flushed_bytes += other.flushed_bytes;
        self.compacted_bytes += other.compacted_bytes;
    }

    fn parse(answers: &[Option<Value>]) -> Option<TableStorage> {
        let answer = |index: usize| answers.get(index)?.as_ref();
        let count = |index: usize| answer(index)?.as_u64();
        let live_bytes = count(1)?;
        // Ratio of compressed to uncompressed size. The server reports a negative ratio if no
        // SSTable is compressed.
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
    let asked = TABLE_METRICS.map(mbean);
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
