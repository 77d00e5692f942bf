//! Locations of a managed node's files, and the agent through which cassay accesses them.

use crate::jolokia::Jolokia;
use anyhow::{Context, Result};
use host::Agent;
use std::path::{Path, PathBuf};

/// Access to the files of a managed node.
pub struct NodeFiles<'a> {
    /// Name of the node.
    pub name: &'a str,
    /// Agent through which cassay accesses the files.
    pub host: &'a Agent,
    /// Folder of the node, as a path on its host.
    pub folder: &'a Path,
    /// Cassandra version of the node.
    pub version: &'a str,
    /// MBeans of the node. `None` if the node has no Jolokia agent.
    pub agent: Option<&'a Jolokia>,
}

impl<'a> NodeFiles<'a> {
    /// Returns the MBeans of the node.
    ///
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

    /// Returns the path of the server's main log.
    pub fn log(&self) -> PathBuf {
        self.folder.join("logs").join("system.log")
    }

    /// Returns true if the folder exists.
    ///
    /// # Errors
    /// The host of the node does not answer.
    pub fn has(&self, folder: &Path) -> Result<bool> {
        Ok(self.host.list(folder, None)?.is_some())
    }

    /// Returns the folder of a table's live files. `id` is the id of the table, as hexadecimal
    /// digits.
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
