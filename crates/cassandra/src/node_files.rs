//! Locations of a managed node's files, and the agent for access to these files.

use crate::jolokia::Jolokia;
use anyhow::{Context, Result};
use host::Agent;
use std::path::{Path, PathBuf};

pub struct NodeFiles<'a> {
    pub name: &'a str,
    pub host: &'a Agent,
    pub folder: &'a Path,
    pub version: &'a str,
    /// MBeans of the node. `None` if the node has no Jolokia agent.
    pub agent: Option<&'a Jolokia>,
}

impl<'a> NodeFiles<'a> {
    /// # Errors
    /// The node has no Jolokia agent.
    pub fn agent(&self) -> Result<&'a Jolokia> {
        self.agent.with_context(|| {
            format!(
                "{} has no Jolokia agent, but snapshots and online restores need one\nhint: run \
                 once without CASSANDRA_HOME to download the agent, or restore offline",
                self.name
            )
        })
    }

    pub fn log(&self) -> PathBuf {
        self.folder.join("logs").join("system.log")
    }

    /// # Errors
    /// The host of the node does not answer.
    pub fn has(&self, folder: &Path) -> Result<bool> {
        Ok(self.host.list(folder, None)?.is_some())
    }

    /// Returns the folder of a table's live files. `id` is the table id as hexadecimal digits.
    pub fn table_folder(&self, keyspace: &str, table: &str, id: &str) -> PathBuf {
        let folder = self.folder.join("data").join(keyspace);
        folder.join(format!("{table}-{id}"))
    }
}

#[cfg(test)]
impl<'a> NodeFiles<'a> {
    pub(crate) fn for_test(host: &'a Agent, folder: &'a Path) -> NodeFiles<'a> {
        NodeFiles {
            name: "node1",
            host,
            folder,
            version: "5.0.8",
            agent: None,
        }
    }
}
