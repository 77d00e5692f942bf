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
    /// It leaves the ring, and streams its data to those who own it then; though copies become
    /// fewer than a keyspace asks for.
    Decommission,
    /// It takes another node out of the ring that is down, whose data the others stream to each
    /// other.
    RemoveNode {
        /// The other one's.
        host_id: String,
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
            Operation::Decommission => {
                agent.call(STORAGE, "decommission(boolean)", &[json!(true)])?;
                Ok("it has left the ring".to_owned())
            }
            Operation::RemoveNode { host_id } => {
                agent.call(STORAGE, "removeNode(java.lang.String)", &[json!(host_id)])?;
                Ok(format!("{host_id} was taken out of the ring"))
            }
        }
    }
}
