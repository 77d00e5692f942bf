//! Operations on the files of nodes.

use anyhow::Result;
use cassandra::DataFile;
use host::FileStep;
use serde_json::{Map, Value};
use std::path::PathBuf;
use target_spec::NodeIndex;

/// Files of nodes.
pub trait NodeFiles {
    /// Returns the path of the largest data file of a node, and its size in bytes. Files of
    /// Cassandra's own tables are ignored.
    ///
    /// # Errors
    /// The node has no such file, or the folders cannot be read.
    fn data_file(&mut self, node: NodeIndex) -> Result<(PathBuf, u64)>;

    /// Returns true if a node's data folders are empty.
    ///
    /// # Errors
    /// The folders cannot be read.
    fn is_empty(&mut self, node: NodeIndex) -> Result<bool>;

    /// Returns the data files of a node in these keyspaces. If a snapshot name is given, returns
    /// the files of that snapshot.
    ///
    /// # Errors
    /// The folders cannot be read.
    fn data_files(
        &mut self,
        node: NodeIndex,
        keyspaces: &[String],
        snapshot: Option<&str>,
    ) -> Result<Vec<DataFile>>;

    /// Returns the steps that remove a snapshot of these keyspaces from a node's disk.
    ///
    /// # Errors
    /// The folders cannot be read.
    fn clearing(
        &mut self,
        node: NodeIndex,
        keyspaces: &[String],
        tag: &str,
    ) -> Result<Vec<FileStep>>;

    /// Keeps all files of a node that was drained and is stopped.
    ///
    /// # Errors
    /// The host of the node cannot keep the files.
    fn keep_files(&mut self, node: NodeIndex) -> Result<()>;

    /// Replaces the files of a stopped node by the files that [`NodeFiles::keep_files`] has kept.
    ///
    /// # Errors
    /// No files were kept, or the host of the node cannot replace the files.
    fn put_files_back(&mut self, node: NodeIndex) -> Result<()>;

    /// Returns the steps that change keys in a node's `cassandra.yaml`, and the steps that undo the
    /// change.
    ///
    /// # Errors
    /// The file cannot be read, or cassay does not permit changing one of the keys.
    fn configured(
        &mut self,
        node: NodeIndex,
        yaml: &Map<String, Value>,
    ) -> Result<(FileStep, FileStep)>;
}
