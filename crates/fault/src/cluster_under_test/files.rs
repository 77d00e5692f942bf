//! Operations on the files of nodes.

use anyhow::Result;
use cassandra::DataFile;
use host::FileStep;
use serde_json::{Map, Value};
use std::path::PathBuf;
use target_spec::NodeIndex;

pub trait NodeFiles {
    /// Returns the path of a node's largest data file, and its size in bytes. Files of user tables
    /// take precedence over those of Cassandra's own tables.
    ///
    /// # Errors
    /// The node has no data file, or its folders cannot be read.
    fn data_file(&mut self, node: NodeIndex) -> Result<(PathBuf, u64)>;

    /// # Errors
    /// The folders cannot be read.
    fn is_empty(&mut self, node: NodeIndex) -> Result<bool>;

    /// Returns a node's data files in these keyspaces, or those of a snapshot.
    ///
    /// # Errors
    /// The folders cannot be read.
    fn data_files(
        &mut self,
        node: NodeIndex,
        keyspaces: &[String],
        snapshot: Option<&str>,
    ) -> Result<Vec<DataFile>>;

    /// Returns the steps that delete a snapshot of these keyspaces from a node's disk.
    ///
    /// # Errors
    /// The folders cannot be read.
    fn clearing(
        &mut self,
        node: NodeIndex,
        keyspaces: &[String],
        tag: &str,
    ) -> Result<Vec<FileStep>>;

    /// Saves all files of a node that was drained and is stopped.
    ///
    /// # Errors
    /// The node's host cannot save the files.
    fn keep_files(&mut self, node: NodeIndex) -> Result<()>;

    /// Replaces the files of a stopped node by those that [`NodeFiles::keep_files`] saved.
    ///
    /// # Errors
    /// No files were saved, or the node's host cannot replace the files.
    fn put_files_back(&mut self, node: NodeIndex) -> Result<()>;

    /// Returns the step that changes keys in a node's `cassandra.yaml`, and the step that undoes
    /// the change.
    ///
    /// # Errors
    /// The file cannot be read, or only cassay may set one of the keys.
    fn configured(
        &mut self,
        node: NodeIndex,
        yaml: &Map<String, Value>,
    ) -> Result<(FileStep, FileStep)>;
}
