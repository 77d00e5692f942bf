//! Files of a real cluster's nodes.

use super::Live;
use crate::cluster_under_test::NodeFiles;
use anyhow::Result;
use cassandra::DataFile;
use host::FileStep;
use serde_json::{Map, Value};
use std::path::PathBuf;
use target_spec::NodeIndex;

impl NodeFiles for Live {
    fn data_file(&mut self, node: NodeIndex) -> Result<(PathBuf, u64)> {
        self.node_handle(node)?.data_file()
    }

    fn is_empty(&mut self, node: NodeIndex) -> Result<bool> {
        self.node_handle(node)?.is_empty()
    }

    fn data_files(
        &mut self,
        node: NodeIndex,
        keyspaces: &[String],
        snapshot: Option<&str>,
    ) -> Result<Vec<DataFile>> {
        self.node_handle(node)?.data_files(keyspaces, snapshot)
    }

    fn clearing(
        &mut self,
        node: NodeIndex,
        keyspaces: &[String],
        tag: &str,
    ) -> Result<Vec<FileStep>> {
        self.node_handle(node)?.clearing(keyspaces, tag)
    }

    fn keep_files(&mut self, node: NodeIndex) -> Result<()> {
        self.node_handle(node)?.keep_files()
    }

    fn put_files_back(&mut self, node: NodeIndex) -> Result<()> {
        self.node_handle(node)?.put_files_back()
    }

    fn configured(
        &mut self,
        node: NodeIndex,
        yaml: &Map<String, Value>,
    ) -> Result<(FileStep, FileStep)> {
        self.node_handle(node)?.configured(yaml)
    }
}
