//! What a node of ours shows of itself to whoever has not told it to do anything: to a client, and
//! on its disk.

use crate::data_file::{self, DataFile};
use crate::handle::NodeHandle;
use crate::operation::is_own;
use crate::session::Session;
use anyhow::{Context, Result};
use cql::Value;
use host::Step;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// A virtual table of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// The repairs that it has begun: `id`, `completed`.
    Repairs,
    /// What it has compared for repairs, its own and those of others: `id`, `initiator` (the
    /// address of who has begun the repair), `keyspace_name`, `table_name`, `completed`.
    Validations,
    /// What it compacts now: `task_id`, `keyspace_name`, `table_name`, `kind`, `sstables` (how many
    /// go into it), `completion_ratio`.
    Tasks,
    /// Its settings: `name`, `value`.
    Settings,
    /// What it is: `release_version`, `schema_version`.
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

/// A row of a view: what stands there as text, by the names of its columns. What is absent is
/// empty.
pub type Row = BTreeMap<String, String>;

impl NodeHandle {
    /// What it shows to a client.
    ///
    /// # Errors
    /// It does not answer within `limit`, or has no such view.
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

    /// Its largest file with data, and its bytes: of tables of clients, or else of Cassandra's own.
    ///
    /// # Errors
    /// It has none, or its folders cannot be listed.
    pub fn data_file(&self) -> Result<(PathBuf, u64)> {
        let files = self.data_files(&[], None)?.into_iter();
        let largest = files
            .max_by_key(|file| (!is_own(&file.keyspace), file.bytes))
            .map(|file| (file.table.join(file.name), file.bytes));
        largest.with_context(|| format!("{} has no file with data", self.name))
    }

    /// The files with data that are on its disk of these keyspaces, of all if none is named; of
    /// their snapshot of a name, if one is given.
    ///
    /// # Errors
    /// Its folders cannot be listed.
    pub fn data_files(
        &self,
        keyspaces: &[String],
        snapshot: Option<&str>,
    ) -> Result<Vec<DataFile>> {
        data_file::all(&self.agent, &self.own()?.folder, keyspaces, snapshot)
    }

    /// What removes a snapshot of keyspaces from its disk, whoever does it.
    ///
    /// # Errors
    /// Its folders cannot be listed.
    pub fn clearing(&self, keyspaces: &[String], tag: &str) -> Result<Vec<Step>> {
        let tables = data_file::tables(&self.agent, &self.own()?.folder, keyspaces)?.into_iter();
        let folders = tables.map(|(_, table)| table.join("snapshots").join(tag));
        Ok(folders.map(Step::Remove).collect())
    }
}
