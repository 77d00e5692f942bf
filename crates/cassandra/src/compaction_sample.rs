//! Compactions of a node at one moment, read from its MBeans or only from its virtual tables.

use crate::mbeans::{self, METRICS};
use crate::metrics::Metrics;
use crate::node::Node;
use anyhow::{Context, Result};
use serde_json::Value;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactionSample {
    pub running: u64,
    /// Number of bytes that the running compactions have processed, and the total number of bytes
    /// that these compactions must process.
    pub progress: (u64, u64),
    /// The server's estimate. `None` if the server does not report an estimate.
    pub pending: Option<u64>,
    /// Number of bytes compacted since the node started.
    pub bytes_compacted: Option<u64>,
    pub sstables: Option<u64>,
}

impl CompactionSample {
    pub fn is_busy(&self) -> bool {
        self.running > 0 || self.pending.is_some_and(|pending| pending > 0)
    }

    pub fn describe(&self) -> String {
        let text = |number: Option<u64>| number.map_or("unknown".to_string(), |n| n.to_string());
        format!(
            "{} running, {} pending, {} SSTables",
            self.running,
            text(self.pending),
            text(self.sstables)
        )
    }
}

impl Node<'_> {
    /// Takes a sample from the MBeans of the node.
    ///
    /// # Errors
    /// The node does not answer, or does not report its compactions.
    pub fn compactions(&self, keyspace: &str, tables: &[&str]) -> Result<CompactionSample> {
        const RUNNING: &str = "org.apache.cassandra.db:type=CompactionManager";
        let answers = self.agent()?.read(&[(RUNNING, "Compactions")])?;
        let running = answers
            .first()
            .and_then(Option::as_ref)
            .and_then(Value::as_array)
            .context("the node does not report its compactions")?;
        // The node reports the numbers of a compaction as text.
        let sum = |key: &str| {
            let number = |task: &Value| task[key].as_str()?.parse::<u64>().ok();
            running.iter().filter_map(number).sum()
        };
        Ok(CompactionSample {
            running: running.len() as u64,
            progress: (sum("completed"), sum("total")),
            ..counted(&self.agent()?.into(), keyspace, tables)?
        })
    }

    /// Takes a sample from virtual tables. In releases before 6.0, virtual tables show only running
    /// compactions.
    ///
    /// # Errors
    /// The node does not answer.
    pub fn compactions_by_tables(
        &self,
        keyspace: &str,
        tables: &[&str],
    ) -> Result<CompactionSample> {
        let mut session = self.session()?;
        let tasks = session.query("SELECT progress, total FROM system_views.sstable_tasks")?;
        let sum = |column: usize| {
            let number = |row: &Vec<cql::Value>| u64::try_from(row.get(column)?.as_i64()?).ok();
            tasks.rows.iter().filter_map(number).sum()
        };
        let counted = match self.metrics() {
            Ok(metrics) => counted(&metrics, keyspace, tables)?,
            Err(_) => CompactionSample::default(),
        };
        Ok(CompactionSample {
            running: tasks.rows.len() as u64,
            progress: (sum(0), sum(1)),
            ..counted
        })
    }
}

/// Reads all values of a sample except those of running compactions, which are not metrics.
fn counted(metrics: &Metrics, keyspace: &str, tables: &[&str]) -> Result<CompactionSample> {
    let of_compactions = |name: &str| format!("{METRICS}:type=Compaction,name={name}");
    let (pending, bytes) = (
        of_compactions("PendingTasks"),
        of_compactions("BytesCompacted"),
    );
    let count = |table: &&str| mbeans::table_metric(keyspace, table, "LiveSSTableCount");
    let counts: Vec<String> = tables.iter().map(count).collect();
    let mut attributes = vec![(pending.as_str(), "Value"), (bytes.as_str(), "Count")];
    attributes.extend(counts.iter().map(|mbean| (mbean.as_str(), "Value")));
    let answers = metrics.read(&attributes)?;
    let number = |index: usize| answers.get(index)?.as_ref()?.as_u64();
    Ok(CompactionSample {
        pending: Some(number(0).context("the node does not report pending compactions")?),
        bytes_compacted: number(1),
        sstables: Some((2..answers.len()).filter_map(number).sum()),
        ..CompactionSample::default()
    })
}
