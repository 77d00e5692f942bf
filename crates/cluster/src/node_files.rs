//! Where the files of a node of ours are, and by whom everything is done with them.

use crate::jolokia::Jolokia;
use anyhow::{Context, Result};
use host::Agent;
use std::path::{Path, PathBuf};

/// A node of ours, as those need it who work on its files.
pub(crate) struct NodeFiles<'a> {
    pub name: &'a str,
    /// By which everything is done with its files.
    pub host: &'a Agent,
    /// Its folder, as its host has it.
    pub folder: &'a Path,
    pub version: &'a str,
    pub agent: Option<&'a Jolokia>,
}

impl<'a> NodeFiles<'a> {
    pub(crate) fn agent(&self) -> Result<&'a Jolokia> {
        self.agent.with_context(|| {
            format!(
                "{} has no Jolokia agent, which snapshots and online restores need\nhint: run \
                 once without CASSANDRA_HOME to fetch it, or restore offline",
                self.name
            )
        })
    }

    /// The server's own log.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join("logs").join("system.log")
    }

    /// Whether there is a folder.
    pub(crate) fn has(&self, folder: &Path) -> Result<bool> {
        Ok(self.host.list(folder, None)?.is_some())
    }

    /// The folder of a table's live files, by its id (hexadecimal digits).
    pub(crate) fn table_folder(&self, keyspace: &str, table: &str, id: &str) -> PathBuf {
        let folder = self.folder.join("data").join(keyspace);
        folder.join(format!("{table}-{id}"))
    }
}

#[cfg(test)]
impl<'a> NodeFiles<'a> {
    pub(crate) fn of_test(host: &'a Agent, folder: &'a Path) -> NodeFiles<'a> {
        NodeFiles {
            name: "node1",
            host,
            folder,
            version: "5.0.8",
            agent: None,
        }
    }
}
