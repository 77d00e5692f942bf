//! Readings of all nodes together: storage of tables, counts of operations, exceptions, other
//! clients and estimates.

use crate::cluster::Cluster;
use anyhow::Result;
use cassandra::{
    COUNTS_SOURCE, Estimate, OperationCounts, OtherClients, SelfReport, TableStorage, data_file,
};
use std::collections::BTreeMap;

impl Cluster {
    /// Flushes tables of managed nodes, and reads their storage. Returns `None` for attached nodes,
    /// which cassay must not flush without permission.
    ///
    /// # Errors
    /// A node does not answer, or does not report its storage.
    pub fn flushed_storage(&self, keyspace: &str, tables: &[&str]) -> Result<Option<TableStorage>> {
        if self.local().is_none() {
            return Ok(None);
        }
        for node in self.all() {
            node.flush(keyspace, tables)?;
        }
        self.storage(keyspace, tables).map(Some)
    }

    /// Reads the storage of tables on managed nodes, without memtables. Returns `None` for attached
    /// nodes.
    ///
    /// # Errors
    /// The errors of [`Cluster::flushed_storage`].
    pub fn table_storage(&self, keyspace: &str, tables: &[&str]) -> Result<Option<TableStorage>> {
        self.local().map(|_| self.storage(keyspace, tables)).transpose()
    }

    /// Returns the number of the tables' SSTables by format version. Returns `None` for attached
    /// nodes.
    ///
    /// # Errors
    /// The folders of the nodes cannot be listed.
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
        for node in self.all() {
            sum.add(&node.table_storage(keyspace, tables)?);
        }
        Ok(sum)
    }

    /// Returns the server's counts of client operations on `keyspace`, summed over the nodes. A
    /// node's counts begin at zero when it starts, so callers must compare two readings. Returns
    /// `None` if the server does not count operations.
    ///
    /// # Errors
    /// A node does not answer.
    pub fn operation_counts(&self, keyspace: &str) -> Result<Option<OperationCounts>> {
        if let Some(server) = self.null_server() {
            let counts = server.counts();
            return Ok(Some(OperationCounts {
                source: "the null target".to_owned(),
                reads: counts.reads,
                writes: counts.writes,
                incomplete: None,
            }));
        }
        let (mut writes, mut reads) = (0, 0);
        for node in self.all() {
            let Some(counts) = node.operation_counts(keyspace)? else {
                return Ok(None);
            };
            writes += counts.writes;
            reads += counts.reads;
        }
        Ok(Some(OperationCounts {
            source: COUNTS_SOURCE.to_owned(),
            reads,
            writes,
            incomplete: self.first()?.uncounted(keyspace)?,
        }))
    }

    pub fn query_reports(&self) -> SelfReport {
        let mut told = SelfReport::default();
        for node in self.all() {
            told.add(&node);
        }
        told
    }

    /// Returns the connections of other clients. Returns `None` if a node is older than Cassandra
    /// 4.0, or does not show this user its connections.
    ///
    /// # Errors
    /// A node cannot be queried.
    pub fn other_clients(&self) -> Result<Option<OtherClients>> {
        let mut others = Vec::new();
        for node in self.all() {
            let Some(found) = node.other_clients()? else {
                return Ok(None);
            };
            others.extend(found);
        }
        others.sort();
        Ok(Some(OtherClients(others)))
    }

    /// Returns the estimated size of each table of a keyspace. Returns `None` if a node does not
    /// show this user its estimates.
    ///
    /// # Errors
    /// A node cannot be queried.
    pub fn estimates(&self, keyspace: &str) -> Result<Option<BTreeMap<String, Estimate>>> {
        let mut all: BTreeMap<String, Estimate> = BTreeMap::new();
        for node in self.all() {
            let Some(found) = node.estimates(keyspace)? else {
                return Ok(None);
            };
            for (table, estimate) in found {
                all.entry(table).or_default().add(estimate);
            }
        }
        Ok(Some(all))
    }
}
