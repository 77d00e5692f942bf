//! Cassandra's own metrics of one node, by what it shows them with: MBeans over a Jolokia agent, or
//! the tables of `system_metrics`, which Cassandra has since 6.0 and for which CQL is enough.
//!
//! Both are asked by the names of MBeans and their attributes. What is no metric (an MBean outside
//! of `org.apache.cassandra.metrics`) has no value where there are only tables.

mod tables;

use crate::access::Access;
use crate::cluster::{CONTROL_TIMEOUT, Cluster};
use crate::jolokia::{Bulk, Jolokia};
use crate::mbeans::table_metric;
use crate::node::NodeInfo;
use anyhow::{Context, Result};
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;
use tables::MetricTables;
use versions::Release;

/// Where the metrics of a node are read.
#[derive(Clone, Debug)]
pub(crate) enum Metrics {
    /// In its JVM.
    ByAgent(Jolokia),
    /// Over CQL.
    ByTables {
        /// Where it answers.
        node: SocketAddr,
        /// How a client gets in.
        access: Access,
    },
}

/// Attributes of MBeans that are read again and again, by a request that is written once.
pub(crate) trait Ask: Send {
    /// Their values, in their order; `None` where there is no such MBean or attribute.
    ///
    /// # Errors
    /// The node does not answer.
    fn ask(&mut self) -> Result<Vec<Option<Value>>>;
}

struct AskAgent {
    agent: Jolokia,
    bulk: Bulk,
}

impl Ask for AskAgent {
    fn ask(&mut self) -> Result<Vec<Option<Value>>> {
        self.agent.read_bulk(&self.bulk)
    }
}

impl Metrics {
    /// What asks for attributes, each of an MBean; no answer takes longer than `limit`.
    pub fn asking(&self, attributes: &[(&str, &str)], limit: Duration) -> Box<dyn Ask> {
        match self {
            Metrics::ByAgent(agent) => Box::new(AskAgent {
                agent: agent.with_limit(limit),
                bulk: Bulk::of(attributes),
            }),
            Metrics::ByTables { node, access } => {
                Box::new(MetricTables::new((*node, access), attributes, limit))
            }
        }
    }

    /// Asks once.
    ///
    /// # Errors
    /// The node does not answer.
    pub fn read(&self, attributes: &[(&str, &str)]) -> Result<Vec<Option<Value>>> {
        self.asking(attributes, CONTROL_TIMEOUT).ask()
    }

    /// Count and bytes of the live SSTables of a table, as the server keeps them.
    ///
    /// # Errors
    /// The node does not answer, or has no such table.
    pub fn live_sstables(&self, keyspace: &str, table: &str) -> Result<(u64, u64)> {
        let count = table_metric(keyspace, table, "LiveSSTableCount");
        let bytes = table_metric(keyspace, table, "LiveDiskSpaceUsed");
        let answers = self.read(&[(&count, "Value"), (&bytes, "Count")])?;
        let number = |index: usize| answers.get(index)?.as_ref()?.as_u64();
        number(0)
            .zip(number(1))
            .with_context(|| format!("the node does not count the SSTables of {keyspace}.{table}"))
    }
}

impl From<&Jolokia> for Metrics {
    fn from(agent: &Jolokia) -> Metrics {
        Metrics::ByAgent(agent.clone())
    }
}

impl Cluster {
    /// The metrics of one node, or why they are out of sight.
    pub(crate) fn metrics(&self, node: &NodeInfo) -> std::result::Result<Metrics, String> {
        match self.agent(&node.name) {
            Ok(agent) => Ok(Metrics::ByAgent(agent.clone())),
            Err(_) if has_tables(&node.version) => Ok(Metrics::ByTables {
                node: node.address,
                access: self.access().clone(),
            }),
            Err(why) => Err(why),
        }
    }
}

/// Whether a node of such a version shows its metrics as tables.
pub(crate) fn has_tables(version: &str) -> bool {
    Release::built(version).is_some_and(|release| release.line().has_metric_tables)
}
