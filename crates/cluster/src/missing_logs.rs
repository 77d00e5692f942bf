//! Logs and observations of nodes that can no longer be read. If a host is lost, both are lost.

use crate::cluster::Cluster;
use crate::local::LocalNode;
use cassandra::NodeInfo;
use cassandra::log_position::Marks;
use std::path::PathBuf;

/// Data of a node that was lost, or that cassay never could read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Name of the node.
    pub node: String,
    /// Name of the node's host.
    pub host: String,
    /// Reason why the data cannot be read.
    pub why: String,
}

impl Cluster {
    /// Returns the nodes on hosts that no longer answer. The readings of their probes since that
    /// time are lost.
    pub fn unheard(&self) -> Vec<Gap> {
        let nodes = self.nodes().iter().enumerate();
        nodes
            .filter_map(|(index, node)| {
                let place = self.log_place(index)?;
                Some(gap(node, place.host, place.agent.lost()?))
            })
            .collect()
    }

    /// Returns the location of a node's logs. Returns `None` if the host of the node cannot be
    /// reached.
    pub(crate) fn log_place(&self, index: usize) -> Option<LogPlace<'_>> {
        match self.local() {
            Some(nodes) => Some(LogPlace::own_node(nodes.all().get(index)?)),
            None => {
                let hosts = self.attached_hosts()?;
                let host = hosts.for_node(index)?;
                let logs = hosts.logs(index).and_then(Result::ok);
                Some(LogPlace {
                    host: &host.name,
                    agent: &host.agent,
                    folder: logs.map(|(folder, marks)| (folder.to_owned(), Some(marks))),
                })
            }
        }
    }
}

/// Location of a node's logs.
pub(crate) struct LogPlace<'a> {
    pub host: &'a str,
    pub agent: &'a host::Agent,
    /// Log folder, if it can be read. For attached nodes, also the lengths of its files when cassay
    /// attached.
    pub folder: Option<(PathBuf, Option<&'a Marks>)>,
}

impl<'a> LogPlace<'a> {
    fn own_node(node: &'a LocalNode) -> LogPlace<'a> {
        LogPlace {
            host: &node.layout.host,
            agent: &node.host,
            folder: Some((node.layout.logs(), None)),
        }
    }
}

/// Builds the gap that describes the missing data of a node.
pub(crate) fn gap(node: &NodeInfo, host: &str, why: String) -> Gap {
    Gap {
        node: node.name.clone(),
        host: host.to_owned(),
        why,
    }
}
