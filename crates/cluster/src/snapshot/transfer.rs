//! Export, import and comparison of a cluster's snapshots.

use super::comparison::{Comparison, Side};
use super::export_json::Export;
use super::import::{self, ImportResult};
use super::{all_parts, export, on_each};
use crate::cluster::Cluster;
use crate::local::Nodes;
use anyhow::{Context, Result};
use cassandra::NodeFiles;
use cassandra::snapshot::manifest::{self, check_name};
use cassandra::snapshot::{contents, hard_links, table_definitions};
use std::path::Path;

const NOT_OURS: &str = "cassay neither reads nor writes the folders of an attached cluster, so it \
                        cannot export or import its snapshots\nhint: use a kept cluster (`cassay \
                        target up`)";

impl Cluster {
    /// Exports the snapshot `name` to the new folder `to` on this machine: all files with
    /// checksums, definitions, and each node's ring position.
    ///
    /// # Errors
    /// The cluster is not managed, the snapshot does not exist, `to` exists or its disk is too
    /// small, or a file is damaged. After an error, `to` contains no files of the export.
    pub fn snapshot_export(
        &self,
        name: &str,
        to: &Path,
        say: &mut dyn FnMut(&str),
    ) -> Result<Export> {
        check_name(name)?;
        export::export(self, &self.own_nodes()?.files(), name, to, say)
    }

    /// Imports the export in `from` into this cluster as the snapshot `name`, or under its exported
    /// name. The cluster's data changes only when the snapshot is restored.
    ///
    /// # Errors
    /// The cluster is not managed, a file is damaged, the free space does not suffice, or the
    /// export is invalid or does not fit (other ranges, other definitions, a newer format). After
    /// an error, no node has files of the import.
    pub fn snapshot_import(
        &self,
        from: &Path,
        name: Option<&str>,
        say: &mut dyn FnMut(&str),
    ) -> Result<ImportResult> {
        import::import(self, &self.own_nodes()?.files(), from, name, say)
    }

    /// Compares the contents of a snapshot with the current contents of its tables. Returns `None`
    /// for an attached cluster, whose files are not accessible.
    ///
    /// # Errors
    /// The snapshot does not exist, or a file cannot be read.
    pub fn snapshot_compare(&self, name: &str) -> Result<Option<Comparison>> {
        check_name(name)?;
        let Some(nodes) = self.local() else {
            return Ok(None);
        };
        let places = nodes.files();
        let manifests = all_parts::read(&places, name)?;
        let first = manifests.first().context("the cluster has no node")?;
        let names: Vec<&str> = first.tables.iter().map(|table| table.name.as_str()).collect();
        let tables = table_definitions::tables(&mut self.session()?, &first.keyspace, &names)?;
        let sides = on_each(&places, &manifests, |place, manifest| {
            let folder = manifest::folder(place.folder, name);
            let was = contents::read_snapshot(place.host, &folder, manifest)?;
            let now = hard_links::tables_now(place, &manifest.keyspace, &tables)?;
            let is = contents::read_tables(place.host, &now)?;
            let print = hard_links::layout_of(&now);
            Ok((
                (manifest.fingerprint().to_string(), was),
                (print.to_string(), is),
            ))
        })?;
        let named =
            |(place, (was, is)): (&NodeFiles<'_>, (Side, Side))| (place.name.to_owned(), was, is);
        Ok(Some(Comparison::new(places.iter().zip(sides).map(named))))
    }

    fn own_nodes(&self) -> Result<&Nodes> {
        self.local().context(NOT_OURS)
    }
}
