//! Finds the reason why nodes refuse requests, in the logs and on the volumes of all nodes.

use crate::cluster::Cluster;
use cassandra::{LogMarks, ServerLog, refused_requests};

impl Cluster {
    /// Returns the current lengths of the nodes' logs. On an attached cluster, only logs that
    /// cassay can read count.
    pub fn log_marks(&self) -> LogMarks {
        match self.local() {
            Some(nodes) => LogMarks::read(&nodes.files()),
            None => LogMarks::read_logs(&self.attached_logs()),
        }
    }

    /// Returns a sentence for each node with a known cause. The sentence describes the state of the
    /// node's volume, and contains the first log line since `marks` that names the reason.
    pub fn causes(&self, marks: &LogMarks) -> Vec<String> {
        match self.local() {
            Some(nodes) => refused_requests::causes(&nodes.files(), marks),
            None => {
                let logs = self.attached_logs().into_iter().enumerate();
                logs.filter_map(|(index, log)| log.cause(marks.length(index))).collect()
            }
        }
    }

    /// Returns the server logs of those attached nodes that can be reached.
    fn attached_logs(&self) -> Vec<ServerLog<'_>> {
        let hosts = self.attached_hosts();
        let nodes = self.nodes().iter().enumerate();
        nodes
            .filter_map(|(index, node)| {
                let hosts = hosts?;
                let (folder, _) = hosts.logs(index)?.ok()?;
                Some(ServerLog {
                    node: &node.name,
                    host: &hosts.for_node(index)?.agent,
                    path: folder.join("system.log"),
                })
            })
            .collect()
    }
}
