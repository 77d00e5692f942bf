//! Files of a real cluster's nodes.

use super::Live;
use crate::cluster_under_test::NodeFiles;
use anyhow::Result;
use cluster::DataFile;
use host::FileStep;
use serde_json::{Map, Value};
use std::path::PathBuf;

impl NodeFiles for Live {
    fn data_file(&mut self, node: usize) -> Result<(PathBuf, u64)> {
        self.at(node)?.data_file()
    }

    fn is_empty(&mut self, node: usize) -> Result<bool> {
        self.at(node)?.is_empty()
    }

    fn data_files(
        &mut self,
        node: usize,
        keyspaces: &[String],
        snapshot: Option<&str>,
    ) -> Result<Vec<DataFile>> {
        self.at(node)?.data_files(keyspaces, snapshot)
    }

    fn clearing(&mut self, node: usize, keyspaces: &[String], tag: &str) -> Result<Vec<FileStep>> {
        self.at(node)?.clearing(keyspaces, tag)
    }

    fn keep_files(&mut self, node: usize) -> Result<()> {
        self.at(node)?.keep_files()
    }

    fn put_files_back(&mut self, node: usize) -> Result<()> {
        self.at(node)?.put_files_back()
    }

    fn configured(
        &mut self,
        node: usize,
        yaml: &Map<String, Value>,
    ) -> Result<(FileStep, FileStep)> {
        self.at(node)?.configured(yaml)
    }
}
