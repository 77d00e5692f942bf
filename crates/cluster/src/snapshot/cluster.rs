//! Snapshot operations of a cluster, by files on managed nodes and by MBeans on attached nodes.

use super::{RestoreHow, RestoreResult, Snapshot, all_parts, attached, offline, online};
use crate::cluster::Cluster;
use anyhow::{Result, bail};
use cassandra::Fingerprint;
use cassandra::snapshot::manifest::check_name;
use cassandra::snapshot::table_definitions;
use std::collections::BTreeMap;

impl Cluster {
    /// Takes the snapshot `name` of `tables` of `keyspace`. An empty list means all tables. The
    /// caller settles the cluster first, because a restore would bring back pending compactions.
    ///
    /// # Errors
    /// The name is taken or invalid, a table does not exist, or the cluster lacks the required
    /// access. The message contains the node and the missing access.
    pub fn snapshot_create(
        &self,
        name: &str,
        keyspace: &str,
        tables: &[&str],
        say: &mut dyn FnMut(&str),
    ) -> Result<Snapshot> {
        check_name(name)?;
        match self.local() {
            Some(nodes) => all_parts::create(self, &nodes.files(), name, keyspace, tables, say),
            None => attached::create(self, name, keyspace, tables, say),
        }
    }

    /// Returns the snapshots that are complete on all nodes, by name.
    ///
    /// # Errors
    /// A node does not answer, or its files cannot be read.
    pub fn snapshots(&self) -> Result<Vec<Snapshot>> {
        match self.local() {
            Some(nodes) => all_parts::list(&nodes.files()),
            None => attached::list(self),
        }
    }

    /// Restores the tables of a snapshot, and verifies on every node that they consist of the same
    /// SSTables. Writes since the snapshot are lost. The first use of a managed cluster's snapshot
    /// in a process reads all bytes of the snapshot.
    ///
    /// # Errors
    /// The snapshot does not exist, one of its files is damaged, or a volume is too small. A node
    /// is down, refuses, or has other SSTables afterwards. The message contains the node and the
    /// table or file. If something has changed, it also contains the remaining state and the next
    /// step.
    pub fn snapshot_restore(
        &mut self,
        name: &str,
        how: RestoreHow,
        say: &mut dyn FnMut(&str),
    ) -> Result<RestoreResult> {
        check_name(name)?;
        match how {
            RestoreHow::Online => match self.local() {
                Some(nodes) => online::restore(nodes, name, say),
                None => attached::restore(self, name, say),
            },
            RestoreHow::Offline => {
                let not_ours = "cassay cannot restore an attached cluster offline, because cassay \
                                did not start the processes of that cluster: restore online";
                self.restarting(not_ours, |nodes| offline::restore(nodes, name, say))
            }
        }
    }

    /// Compares every file of a snapshot with its checksum. Returns the result by node.
    ///
    /// # Errors
    /// The snapshot does not exist, or the cluster is attached, so that its files are not
    /// accessible.
    pub fn snapshot_verify(&self, name: &str) -> Result<Vec<(String, Result<(), String>)>> {
        check_name(name)?;
        match self.local() {
            Some(nodes) => all_parts::verify(&nodes.files(), name),
            None => bail!(
                "cassay cannot read the files of an attached cluster: it verifies {name} only \
                 during a restore"
            ),
        }
    }

    /// Removes a snapshot on all nodes, even if only some of them have a part of it.
    ///
    /// # Errors
    /// No node has a part of the snapshot, or a part cannot be removed.
    pub fn snapshot_remove(&self, name: &str) -> Result<()> {
        check_name(name)?;
        match self.local() {
            Some(nodes) => all_parts::remove(&nodes.files(), name),
            None => attached::remove(self, name),
        }
    }

    /// Returns the layout of `tables` of `keyspace` by node name. An empty list means all tables.
    /// The result is meaningful only while no compaction runs.
    ///
    /// # Errors
    /// A table does not exist, or neither files nor MBeans of a node are accessible.
    pub fn fingerprints(
        &self,
        keyspace: &str,
        tables: &[&str],
    ) -> Result<BTreeMap<String, Fingerprint>> {
        let tables = table_definitions::tables(&mut self.session()?, keyspace, tables)?;
        match self.local() {
            Some(nodes) => all_parts::fingerprints(&nodes.files(), keyspace, &tables),
            None => attached::fingerprints(self, keyspace, &tables),
        }
    }
}
