//! Queries about a managed node that need no MBeans. The sources are virtual tables over CQL and
//! the node's files on disk.

use crate::data_file::{self, DataFile};
use crate::fault_handle::NodeHandle;
use crate::operation::is_own;
use crate::session::Session;
use anyhow::{Context, Result};
use cql::Value;
use host::FileStep;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Repairs that the node has started. Columns: `id`, `completed`.
    Repairs,
    /// Validations on this node, for repairs of any node. Columns: `id`, `initiator` (address of
    /// the node that started the repair), `keyspace_name`, `table_name` and `completed`.
    Validations,
    /// Running compactions. Columns: `task_id`, `keyspace_name`, `table_name`, `kind`, `sstables`
    /// (number of input SSTables), `completion_ratio`.
    Tasks,
    /// Settings of the node. Columns: `name`, `value`.
    Settings,
    /// Versions of the node. Columns: `release_version`, `schema_version`.
    Itself,
}

impl View {
    fn statement(self) -> &'static str {
        match self {
            View::Repairs => "SELECT id, completed FROM system_views.repairs",
            View::Validations => {
                "SELECT id, initiator, keyspace_name, table_name, completed \
                 FROM system_views.repair_validations"
            }
            View::Tasks => {
                "SELECT task_id, keyspace_name, table_name, kind, sstables, completion_ratio \
                 FROM system_views.sstable_tasks"
            }
            View::Itself => "SELECT release_version, schema_version FROM system.local",
            View::Settings => "SELECT name, value FROM system_views.settings",
        }
    }
}

/// Row of a virtual table: the text of each cell by column name. A null cell has an empty text.
pub type Row = BTreeMap<String, String>;

impl NodeHandle {
    /// Reads a virtual table over CQL.
    ///
    /// # Errors
    /// The node does not answer within `limit`, or does not have this table.
    pub fn rows(&self, view: View, limit: Duration) -> Result<Vec<Row>> {
        let mut session = Session::open(self.address, &self.access, limit)?;
        let result = session.query(view.statement())?;
        let text = |value: &Value| match value {
            Value::Null => String::new(),
            other => other.as_str().map_or_else(|| other.to_string(), str::to_owned),
        };
        let row = |cells: &Vec<Value>| {
            let columns = result.columns.iter().cloned();
            columns.zip(cells.iter().map(text)).collect()
        };
        Ok(result.rows.iter().map(row).collect())
    }

    /// Returns the largest data file and its size in bytes. Prefers files of user tables to files
    /// of Cassandra's system tables.
    ///
    /// # Errors
    /// The node has no data file, or its folders cannot be listed.
    pub fn data_file(&self) -> Result<(PathBuf, u64)> {
        let files = self.data_files(&[], None)?.into_iter();
        let largest = files
            .max_by_key(|file| (!is_own(&file.keyspace), file.bytes))
            .map(|file| (file.table.join(file.name), file.bytes));
        largest.with_context(|| format!("{} has no SSTable with a data file", self.name))
    }

    /// Returns the data files of `keyspaces`. An empty list means all keyspaces. With `snapshot`,
    /// returns the files of that snapshot instead of the live files.
    ///
    /// # Errors
    /// The folders of the node cannot be listed.
    pub fn data_files(
        &self,
        keyspaces: &[String],
        snapshot: Option<&str>,
    ) -> Result<Vec<DataFile>> {
        data_file::all(&self.agent, &self.own()?.folder, keyspaces, snapshot)
    }

    /// Returns the steps that delete the files of a snapshot of keyspaces.
    ///
    /// # Errors
    /// The folders of the node cannot be listed.
    pub fn clearing(&self, keyspaces: &[String], tag: &str) -> Result<Vec<FileStep>> {
        let tables = data_file::tables(&self.agent, &self.own()?.folder, keyspaces)?.into_iter();
        let folders = tables.map(|(_, table)| table.join("snapshots").join(tag));
        Ok(folders.map(FileStep::Remove).collect())
    }
}
