//! What a fault asks of the files of nodes.

use anyhow::Result;
use cluster::DataFile;
use host::Step as FileStep;
use serde_json::{Map, Value};
use std::path::PathBuf;

/// Files of nodes, and what is done to them.
pub trait NodeFiles {
    /// The largest file of a node with data of tables that are not Cassandra's own, and its bytes.
    ///
    /// # Errors
    /// It has none, or nobody can look.
    fn data_file(&mut self, node: usize) -> Result<(PathBuf, u64)>;

    /// Whether nothing stands in those folders.
    ///
    /// # Errors
    /// Nobody can look.
    fn is_empty(&mut self, node: usize) -> Result<bool>;

    /// The files with data that are on the disk of a node, of these keyspaces; of their snapshot of
    /// a name, if one is given.
    ///
    /// # Errors
    /// Nobody can look.
    fn data_files(
        &mut self,
        node: usize,
        keyspaces: &[String],
        snapshot: Option<&str>,
    ) -> Result<Vec<DataFile>>;

    /// What removes a snapshot of these keyspaces from the disk of a node.
    ///
    /// # Errors
    /// Nobody can look.
    fn clearing(&mut self, node: usize, keyspaces: &[String], tag: &str) -> Result<Vec<FileStep>>;

    /// Keeps all files of a node that was drained and does not run.
    ///
    /// # Errors
    /// Its host does not do it.
    fn keep_files(&mut self, node: usize) -> Result<()>;

    /// Gives a node that does not run the files that were kept, in place of those that it has.
    ///
    /// # Errors
    /// None were kept, or its host does not do it.
    fn put_files_back(&mut self, node: usize) -> Result<()>;

    /// What gives the `cassandra.yaml` of a node other values for some keys, and what undoes it.
    ///
    /// # Errors
    /// It cannot be read, or a key is not to be set.
    fn configured(
        &mut self,
        node: usize,
        yaml: &Map<String, Value>,
    ) -> Result<(FileStep, FileStep)>;
}
