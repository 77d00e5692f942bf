//! Reads the metrics of one node from MBeans through a Jolokia agent, or from the `system_metrics`
//! tables. These tables exist since 6.0, and need only CQL.
//!
//! In both cases, an MBean name and an attribute select a value. The tables provide no values for
//! MBeans outside `org.apache.cassandra.metrics`.

mod tables;

use crate::credentials::Access;
use crate::jolokia::{Bulk, Jolokia};
use crate::mbeans::table_metric;
use crate::session::CONTROL_TIMEOUT;
use anyhow::{Context, Result};
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;
use tables::MetricTables;
use versions::Release;

#[derive(Clone, Debug)]
pub enum Metrics {
    ByAgent(Jolokia),
    ByTables { node: SocketAddr, access: Access },
}

/// Reader that repeatedly reads a fixed set of MBean attributes.
pub trait Ask: Send {
    /// Returns the values in the order of the attributes. A value is `None` if its MBean or
    /// attribute does not exist.
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
    /// Returns a reader of `attributes`, each given with its MBean. Each read takes at most
    /// `limit`.
    pub fn asking(&self, attributes: &[(&str, &str)], limit: Duration) -> Box<dyn Ask> {
        match self {
            Metrics::ByAgent(agent) => Box::new(AskAgent {
                agent: agent.with_limit(limit),
                bulk: Bulk::new(attributes),
            }),
            Metrics::ByTables { node, access } => {
                Box::new(MetricTables::new((*node, access), attributes, limit))
            }
        }
    }

    /// # Errors
    /// The node does not answer.
    pub fn read(&self, attributes: &[(&str, &str)]) -> Result<Vec<Option<Value>>> {
        self.asking(attributes, CONTROL_TIMEOUT).ask()
    }

    /// Returns the number of a table's live SSTables, and their size in bytes.
    ///
    /// # Errors
    /// The node does not answer, or has no such table.
    pub fn live_sstables(&self, keyspace: &str, table: &str) -> Result<(u64, u64)> {
        let count = table_metric(keyspace, table, "LiveSSTableCount");
        let bytes = table_metric(keyspace, table, "LiveDiskSpaceUsed");
        let answers = self.read(&[(&count, "Value"), (&bytes, "Count")])?;
        let number = |index: usize| answers.get(index)?.as_ref()?.as_u64();
        number(0).zip(number(1)).with_context(|| {
            format!("the node does not report the number of SSTables of {keyspace}.{table}")
        })
    }
}

impl From<&Jolokia> for Metrics {
    fn from(agent: &Jolokia) -> Metrics {
        Metrics::ByAgent(agent.clone())
    }
}

pub fn has_metric_tables(version: &str) -> bool {
    Release::built(version).is_some_and(|release| release.line().has_metric_tables)
}
