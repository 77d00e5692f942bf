//! Finds the reason why nodes refuse requests, in the logs and on the volumes of all nodes.

use crate::cluster::Cluster;
use cassandra::LogMarks;

impl Cluster {
    /// Returns the current lengths of the nodes' logs. On an attached cluster, only logs that
    /// cassay can read are included.
    pub fn log_marks(&self) -> LogMarks {
        self.control().log_marks(self.nodes())
    }

    /// Returns a sentence for each node with a known cause. The sentence describes the state of the
    /// node's volume, and contains the first log line since `marks` that names the cause.
    pub fn causes(&self, marks: &LogMarks) -> Vec<String> {
        self.control().causes(marks, self.nodes())
    }
}
