//! Effective settings of all nodes, and their comparison with the requested settings.

use crate::cluster::Cluster;
use crate::local::{NodePlace, NodeReports};
use anyhow::Result;
use cassandra::{Proof, SchemaOption};
use std::collections::BTreeMap;

impl Cluster {
    /// Returns each node's name and `system_views.settings`. Returns an empty list if a node lacks
    /// this table, or hides it from this user.
    ///
    /// # Errors
    /// A node does not answer.
    pub fn settings(&self) -> Result<Vec<(String, BTreeMap<String, String>)>> {
        let mut all = Vec::with_capacity(self.nodes().len());
        // A null target has only the settings of its plan.
        for node in self.all().iter().filter(|_| self.null_server().is_none()) {
            match node.settings()? {
                Some(settings) => all.push((node.name().to_owned(), settings)),
                None => return Ok(Vec::new()),
            }
        }
        Ok(all)
    }

    /// Compares the requested options of each table with every node's schema. The keys of `tables`
    /// are table names.
    ///
    /// # Errors
    /// A node does not answer, or lacks one of the tables.
    pub fn table_proofs(
        &self,
        keyspace: &str,
        tables: &BTreeMap<String, Vec<SchemaOption>>,
    ) -> Result<Vec<Proof>> {
        let mut proofs = Vec::new();
        for node in self.all() {
            proofs.extend(node.table_proofs(keyspace, tables)?);
        }
        Ok(proofs)
    }

    /// Compares the requested options of a keyspace with every node's schema.
    ///
    /// # Errors
    /// The errors of [`Cluster::table_proofs`].
    pub fn keyspace_proofs(&self, keyspace: &str, options: &[SchemaOption]) -> Result<Vec<Proof>> {
        let mut proofs = Vec::new();
        for node in self.all() {
            proofs.extend(node.keyspace_proofs(keyspace, options)?);
        }
        Ok(proofs)
    }

    /// Returns every node's report, with a comparison of the requested settings. The reports of a
    /// null target are empty.
    ///
    /// # Errors
    /// A node does not answer.
    pub fn observe(&self) -> Result<NodeReports> {
        match self.null_server() {
            Some(_) => Ok(NodeReports::default()),
            None => self.control().observe(&self.all()),
        }
    }

    /// Returns the CPUs and memory location of the running nodes, according to the kernel. For an
    /// attached cluster, returns only nodes with visible processes.
    ///
    /// # Errors
    /// The agent of a managed host does not report the CPUs or the memory location.
    pub fn places(&self) -> Result<Vec<NodePlace>> {
        self.control().places(self.nodes())
    }
}
