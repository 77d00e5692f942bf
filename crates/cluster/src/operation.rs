//! Work that a node is told to do by its MBeans, and that takes it a while.

use crate::handle::NodeControl;
use anyhow::Result;
use serde_json::json;
use std::time::Duration;

const STORAGE: &str = "org.apache.cassandra.db:type=StorageService";

/// Something that a node is told to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// All data of a keyspace is compacted into one file per table (or as its strategy has it).
    Compact {
        /// Its name.
        keyspace: String,
    },
}

impl NodeControl {
    /// Tells a node to do something, and waits until it has; what it said of it.
    ///
    /// # Errors
    /// It refuses, fails, or has not done it within `limit`.
    pub fn perform(&self, what: &Operation, limit: Duration) -> Result<String> {
        let agent = self.0.with_limit(limit);
        match what {
            Operation::Compact { keyspace } => {
                let operation =
                    "forceKeyspaceCompaction(boolean,java.lang.String,[Ljava.lang.String;)";
                agent.call(
                    STORAGE,
                    operation,
                    &[json!(false), json!(keyspace), json!([])],
                )?;
                Ok(format!("{keyspace} was compacted"))
            }
        }
    }
}
