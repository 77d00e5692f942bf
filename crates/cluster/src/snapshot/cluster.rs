//! What a cluster does with snapshots: by its files where its nodes are ours, by what its servers
//! offer where they are not.

use super::manifest::check_name;
use super::{Fingerprint, RestoreHow, Restored, Snapshot, attached, offline, online, own, schema};
use crate::cluster::Cluster;
use anyhow::{Result, bail};
use std::collections::BTreeMap;

impl Cluster {
    /// Puts the data of `tables` (none: all) of `keyspace` away under `name`: flushes, and links
    /// every SSTable. Settle first: what is put away unsettled is brought back unsettled.
    ///
    /// # Errors
    /// The name is taken or cannot be used, there is no such table, or the cluster gives no access
    /// to what this needs; the message names the node and what is missing.
    pub fn snapshot_create(
        &self,
        name: &str,
        keyspace: &str,
        tables: &[&str],
        say: &mut dyn FnMut(&str),
    ) -> Result<Snapshot> {
        check_name(name)?;
        match self.local() {
            Some(nodes) => own::create(self, &nodes.files(), name, keyspace, tables, say),
            None => attached::create(self, name, keyspace, tables, say),
        }
    }

    /// All snapshots, by name: those that every node has a part of.
    ///
    /// # Errors
    /// A node does not answer, or its files cannot be read.
    pub fn snapshots(&self) -> Result<Vec<Snapshot>> {
        match self.local() {
            Some(nodes) => own::list(&nodes.files()),
            None => attached::list(self),
        }
    }

    /// Brings the tables of a snapshot back to what they were, and checks on every node that they
    /// consist of the same SSTables. What was written since is gone. All bytes of a snapshot of
    /// ours are read the first time that this process uses it.
    ///
    /// # Errors
    /// There is no such snapshot, a file of it is damaged, a volume has no room, a node is down,
    /// refuses, or has other SSTables afterwards; the message names the node and the table or file,
    /// and says what is left and how to go on if anything was changed.
    pub fn snapshot_restore(
        &mut self,
        name: &str,
        how: RestoreHow,
        say: &mut dyn FnMut(&str),
    ) -> Result<Restored> {
        check_name(name)?;
        match how {
            RestoreHow::Online => match self.local() {
                Some(nodes) => online::restore(nodes, name, say),
                None => attached::restore(self, name, say),
            },
            RestoreHow::Offline => {
                let not_ours = "an attached cluster cannot be restored offline: its processes are \
                                not ours to stop; restore online";
                self.restarting(not_ours, |nodes| offline::restore(nodes, name, say))
            }
        }
    }

    /// Reads every file of a snapshot and compares it with what was put away: by node, whether its
    /// part is whole.
    ///
    /// # Errors
    /// There is no such snapshot, or it is on the disks of an attached cluster, out of sight.
    pub fn snapshot_verify(&self, name: &str) -> Result<Vec<(String, Result<(), String>)>> {
        check_name(name)?;
        match self.local() {
            Some(nodes) => own::verify(&nodes.files(), name),
            None => bail!(
                "the files of an attached cluster are out of sight: {name} is compared only when \
                 it is restored"
            ),
        }
    }

    /// Removes a snapshot on all nodes, a part too that only some of them have.
    ///
    /// # Errors
    /// No node has it, or it cannot be removed.
    pub fn snapshot_remove(&self, name: &str) -> Result<()> {
        check_name(name)?;
        match self.local() {
            Some(nodes) => own::remove(&nodes.files(), name),
            None => attached::remove(self, name),
        }
    }

    /// The layout of `tables` (none: all) of `keyspace` on each node, by its name. It means
    /// something while nothing is compacted.
    ///
    /// # Errors
    /// There is no such table, or a node's files and MBeans are both out of sight.
    pub fn fingerprints(
        &self,
        keyspace: &str,
        tables: &[&str],
    ) -> Result<BTreeMap<String, Fingerprint>> {
        let tables = schema::tables(&mut self.session()?, keyspace, tables)?;
        match self.local() {
            Some(nodes) => own::fingerprints(&nodes.files(), keyspace, &tables),
            None => attached::fingerprints(self, keyspace, &tables),
        }
    }
}
