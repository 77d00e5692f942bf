//! Finds the cause of refused requests in the logs and on the volumes of all nodes.

use crate::cluster::Cluster;
use cassandra::LogMarks;

impl Cluster {
    /// Returns the current lengths of the nodes' logs. For an attached cluster, only readable logs
    /// are included.
    pub fn log_marks(&self) -> LogMarks {
        self.control().log_marks(self.nodes())
    }

    /// Returns one sentence for each node with a known cause, which the node's volume or the first
    /// matching log line since `marks` shows.
    pub fn causes(&self, marks: &LogMarks) -> Vec<String> {
        self.control().causes(marks, self.nodes())
    }
}
