//! Tables that remain on a cluster after the end of a run.

use serde::{Deserialize, Serialize};

/// Tables that cassay created but did not drop, on a cluster that it did not start.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RemainsRecord {
    /// Cluster that contains the tables, in the format of `--target`, such as `attach:10.0.0.1`.
    #[serde(default)]
    pub target: String,
    /// Names of the tables, in the form `keyspace.table`.
    #[serde(default)]
    pub tables: Vec<String>,
}

impl RemainsRecord {
    /// Describes the tables that remain, with the command that drops them.
    pub fn words(&self) -> String {
        let tables = self.tables.join(", ");
        let target = &self.target;
        let address = target.strip_prefix("attach:").unwrap_or(target);
        format!("{tables} remains on {address}; to drop it: cassay clean --target {target}")
    }
}
